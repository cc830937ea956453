/* known_names.h - which filters names were bound to, as routers have told.
 *
 * What is known may be old: then a router tells another id, which is noted in place of it.
 *
 * Shape:   KNOWN_NAMES of them; the oldest are forgotten.
 * Threads: none.
 */
#ifndef ORBLOOM_CLIENT_KNOWN_NAMES_H
#define ORBLOOM_CLIENT_KNOWN_NAMES_H

#include "map/document.h"

enum { KNOWN_NAMES = 16 };

/* Zeroed, none is known. */
struct known_names {
    struct {
        char name[DOCUMENT_NAME_BYTES];
        uint64_t filter_id;
    } items[KNOWN_NAMES];
    uint32_t noted; /* so far */
};

/* The filter's id; 0: not known. */
uint64_t known_names_find(const struct known_names *self, const char *name);
void known_names_note(struct known_names *self, const char *name, uint64_t filter_id);

#endif
