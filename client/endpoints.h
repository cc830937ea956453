/* endpoints.h - processes that can stand in for each other, such as a client's routers.
 *
 * What is sent one at a time goes to the one that worked last; what is sent while other things
 * are under way goes to the one with the fewest bytes under way, so that all do their share;
 * what must keep its order goes to the one that worked last in any case. One that leaves
 * something unanswered is passed over for a growing while, one that refuses for a short one.
 * When the chosen one cannot be reached the others are tried in turn; when none can, nothing
 * is tried again before a growing pause has passed. Links are opened when first needed.
 *
 * Of filters in several sites what one site has acknowledged another may not have yet. So all
 * that are asked are of one site, that of the first one that answered: those of others are shut,
 * until, with fail_over, none of its own answers any more; then the other's are its own. Where all
 * are of others they are asked, as behind an address there may be several; what they say as another
 * site is not taken.
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
#include "map/sites.h"

enum { ENDPOINTS_REFUSAL_BYTES = 512 };

struct endpoint_load {
    uint64_t inflight_bytes;    /* sent and not settled */
    uint64_t avoided_until;     /* it left something unanswered, or refused: not before then */
    uint64_t avoid_us;          /* how long it was avoided for silence; 0: it answers */
    bool refused;               /* it did not let this client in, when that was tried last */
    char site[SITE_NAME_BYTES]; /* "": it has not told */
    struct site_id site_id;
};

struct endpoints {
    char names[SESSION_MAX_ENDPOINTS][DOCUMENT_TEXT_BYTES];
    uint32_t links[SESSION_MAX_ENDPOINTS]; /* 0: not open */
    struct endpoint_load loads[SESSION_MAX_ENDPOINTS];
    uint32_t count;
    uint32_t current;      /* the one that worked last */
    uint64_t paused_until; /* nothing could be reached: not before then; 0: no */
    uint64_t pause_us;
    bool answered; /* any of them has */
    bool fail_over;
    char site[SITE_NAME_BYTES];            /* whose answers are taken; "": none was told */
    struct site_id site_id;                /* which it is, whatever its name is */
    const char *role;                      /* "router": for messages */
    char refusal[ENDPOINTS_REFUSAL_BYTES]; /* why the last one did not let this client in */
};

void endpoints_init(struct endpoints *self, const char *role,
                    const char names[][DOCUMENT_TEXT_BYTES], uint32_t count);
void endpoints_fini(struct endpoints *self, const struct effects *effects);

/* The one that should take the next request. */
uint32_t endpoints_choose(const struct endpoints *self, uint64_t now_us, bool in_order);

/* Send to the first that can be reached, beginning with number *index; *index is then the one
 * that took it, with frame.size bytes more under way. */
MUST_USE enum status endpoints_send(struct endpoints *self, const struct effects *effects,
                                    uint64_t now_us, struct span frame, uint32_t *index);

/* The next endpoint after `index` that is not avoided; if all are, the next. None that is shut. */
uint32_t endpoints_after(const struct endpoints *self, uint64_t now_us, uint32_t index);

/* Number `index` answers for that site. False: it is another one than the one that is asked, and
 * its answer is not taken. */
bool endpoints_take_site(struct endpoints *self, uint64_t now_us, uint32_t index, const char *name,
                         const struct site_id *id);

/* Has number `index` told that it is of the site that is asked? */
bool endpoints_is_of_site(const struct endpoints *self, uint32_t index);

/* One that is shut, as it is of another site; NULL: there is none. `site`: which. */
const char *endpoints_shut(const struct endpoints *self, uint64_t now_us, const char **site);

/* What number `index` was sent is answered or given up. */
void endpoints_settle(struct endpoints *self, uint32_t index, uint64_t bytes);

/* Number `index` has answered what it was asked. */
void endpoints_trust(struct endpoints *self, uint32_t index);

/* Number `index` has refused: it gets a rest. */
void endpoints_spare(struct endpoints *self, uint64_t now_us, uint32_t index);

/* Number `index` has not answered: later sends begin with the one after it. */
void endpoints_suspect(struct endpoints *self, uint64_t now_us, uint32_t index);

/* Number `index` does not let this client in, for `cause`; until something can be sent there. */
void endpoints_refused(struct endpoints *self, uint64_t now_us, uint32_t index, const char *cause);

/* Does any of them not let this client in? Do all? */
bool endpoints_any_refuses(const struct endpoints *self);
bool endpoints_all_refuse(const struct endpoints *self);

/* Whose link it is; false: none of these. */
bool endpoints_find(const struct endpoints *self, uint32_t link, uint32_t *index);

/* "tcp://a:1, tcp://b:1" cut to `size` bytes. Returns `text`. */
const char *endpoints_show(const struct endpoints *self, char *text, size_t size);

#endif
