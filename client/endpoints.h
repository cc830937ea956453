/* endpoints.h - processes that can stand in for each other, such as a client's routers.
 *
 * A send goes to the one that worked last. When it cannot be reached the others are tried in
 * turn; when none can, nothing is tried again before a growing pause has passed. Links are
 * opened when first needed.
 *
 * Shape:   one to SESSION_MAX_ENDPOINTS endpoints; 0 is fine until something is sent.
 * Errors:  endpoints_send: STATUS_UNAVAILABLE, nothing was sent.
 * Owner:   endpoints_fini() closes the links; texts are copied.
 * Threads: none.
 */
#ifndef ORBLOOM_CLIENT_ENDPOINTS_H
#define ORBLOOM_CLIENT_ENDPOINTS_H

#include "base/actor.h"
#include "client/session.h"

struct endpoints {
    char names[SESSION_MAX_ENDPOINTS][DOCUMENT_TEXT_BYTES];
    uint32_t links[SESSION_MAX_ENDPOINTS]; /* 0: not open */
    uint32_t count;
    uint32_t current;      /* the one that worked last */
    uint64_t paused_until; /* nothing could be reached: not before then; 0: no */
    uint64_t pause_us;
    const char *role; /* "router": for messages */
};

void endpoints_init(struct endpoints *self, const char *role,
                    const char names[][DOCUMENT_TEXT_BYTES], uint32_t count);
void endpoints_fini(struct endpoints *self, const struct effects *effects);

/* Send to the first that can be reached, beginning with number *index; *index is then the one
 * that took it. */
MUST_USE enum status endpoints_send(struct endpoints *self, const struct effects *effects,
                                    uint64_t now_us, struct span frame, uint32_t *index);

/* The endpoint after `index`. */
uint32_t endpoints_after(const struct endpoints *self, uint32_t index);

/* Number `index` has not answered: later sends begin with the one after it. */
void endpoints_suspect(struct endpoints *self, uint32_t index);

/* Whose link it is; false: none of these. */
bool endpoints_find(const struct endpoints *self, uint32_t link, uint32_t *index);

/* "tcp://a:1, tcp://b:1" cut to `size` bytes. Returns `text`. */
const char *endpoints_show(const struct endpoints *self, char *text, size_t size);

#endif
