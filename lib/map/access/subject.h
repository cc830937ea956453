/* subject.h - the subject of a certificate as text, in the one form that it is compared in.
 *
 *   CN=crawler,O=Example\, Inc,C=DE
 *
 * As `openssl x509 -noout -subject -nameopt RFC2253` prints it: the last part of the name first,
 * names of attributes as OpenSSL writes them, no spaces around what separates parts, special
 * characters behind a backslash, and every byte that is no printable ASCII as \C3. Two texts name
 * one subject only if they are equal, so one of another form names nobody.
 *
 * Source:  RFC 2253; XN_FLAG_RFC2253 of OpenSSL.
 * Errors:  none.
 * Threads: none.
 */
#ifndef ORBLOOM_MAP_ACCESS_SUBJECT_H
#define ORBLOOM_MAP_ACCESS_SUBJECT_H

/* Why no certificate has this subject; NULL: one may have it. */
const char *subject_fault(const char *text);

#endif
