/* Subjects of certificates: what is refused is what no certificate has, by OpenSSL's own text. */
#include "map/access/subject.h"

#include <criterion/criterion.h>
#include <openssl/bio.h>
#include <openssl/x509.h>

static const char *const good[] = {
    "CN=crawler",
    "CN=crawler,O=Ex\\, Inc",
    "CN=a+UID=b,C=DE",
    "CN=\\#x\\ ,SN=y,GN=x,serialNumber=12,emailAddress=a@b,DC=example,UID=u1,street=Foo,OU=\\ "
    "lead,O=Ex\\, \\\"Inc\\\"\\; \\<a\\>,ST=B\\C3\\A4,C=DE",
    "2.5.4.77=#0C03616263,CN=x",
    "CN=a=b",
    "CN=a/b c",
    "CN=\\\\",
    "CN=\\0A",
    "x500UniqueIdentifier=y",
    "C=DE,O=Example,CN=crawler", /* Whose name begins with CN. */
};

static const char *const bad[] = {
    "",
    "crawler",
    "CN",
    "CN=",
    "=crawler",
    "/CN=crawler",
    "/O=Example/CN=crawler",
    "CN = crawler",
    "CN= crawler",
    "CN=crawler ",
    " CN=crawler",
    "CN=crawler, O=Example",
    "CN=crawler ,O=Example",
    "CN=crawler,",
    "CN=crawler,,O=Example",
    "CN=crawler+",
    "cn=crawler",
    "commonName=crawler",
    "E=a@b",
    "S=Bavaria",
    "STREET=x",
    "CN=crawler;O=Example",
    "CN=\"crawler\"",
    "CN=crawl\\er",
    "CN=J\xc3\xbcrgen",
    "CN=J\\c3\\bcrgen",
    "CN=a\\2Cb",
    "CN=a\\",
    "CN=a\\#",
    "CN=a\\ b",
    "CN=#x",
    "CN=#0c",
    "2.5.4.=x",
    "C N=x",
    "subject=CN=crawler,O= x",
};

Test(map_subject, what_a_certificate_may_have_is_taken)
{
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        cr_assert_null(subject_fault(good[i]), "%s: %s", good[i], subject_fault(good[i]));
    }
}

Test(map_subject, what_none_has_is_refused_with_the_form)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_not_null(subject_fault(bad[i]), "%s", bad[i]);
    }
}

/* Whatever bytes a value has, at its beginning, within it and at its end. */
Test(map_subject, every_value_that_openssl_writes_is_taken)
{
    for (int byte = 1; byte < 256; byte++) {
        unsigned char value[] = {(unsigned char)byte, 'x', (unsigned char)byte, 'y',
                                 (unsigned char)byte};
        X509_NAME *name = X509_NAME_new();
        BIO *out = BIO_new(BIO_s_mem());
        char text[256] = "";

        cr_assert_eq(
            X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC, value, sizeof value, -1, 0), 1);
        cr_assert_eq(X509_NAME_add_entry_by_txt(name, "CN", V_ASN1_T61STRING, value, 1, -1, 0), 1);
        cr_assert_geq(X509_NAME_print_ex(out, name, 0, XN_FLAG_RFC2253), 0);
        cr_assert_gt(BIO_read(out, text, sizeof text - 1), 0);
        cr_assert_null(subject_fault(text), "%s: %s", text, subject_fault(text));
        X509_NAME_free(name);
        BIO_free(out);
    }
}
