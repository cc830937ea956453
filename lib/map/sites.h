/* sites.h - the set of sites of a filter: the clusters in which it lives, as each of them knows it.
 *
 * The set is content of the epoch, so that no router acknowledges or answers under a set that has
 * been fenced. Each site has one of its own; they are merged, in any order and as often as one
 * likes, and are equal then. In it is every site that was ever heard of: one that is GONE stays, so
 * that nobody who was cut off meanwhile brings it back.
 *
 * A site's life rises when its data were put back: what an older life had may be lost, so with a
 * newer one it joins anew. And a site that is GONE may come back: as if it were another one, under
 * a number of its own, the return. Whoever knows of a return knows that all before it are gone.
 *
 * Bounds:  SITE_SET_MAX_LIVE sites that are not GONE, SITE_SET_MAX in all.
 * Errors:  as said at each function.
 * Owner:   a set owns nothing; a zeroed one is that of a filter without sites.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_SITES_H
#define ORBLOOM_MAP_SITES_H

#include "base/span.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SITE_SET_MAX_LIVE = 8,
    SITE_SET_MAX = 32,
    SITE_NAME_BYTES = 33,    /* [a-z0-9-]{1,32} and a NUL */
    SITE_ID_TEXT_BYTES = 33, /* 32 hexadecimal digits and a NUL */
    SITE_FIRST_LIFE = 1,     /* as who names a newcomer calls it; that one takes a higher one */
};

/* Of one life these only rise. */
enum site_state {
    SITE_JOINING = 1, /* may take adds, once all have it in their sets: fresh checks ask it; it is
                         no copy that an acknowledgement counts */
    SITE_COUNTED = 2, /* counts for acknowledgements, too */
    SITE_LEAVING = 3, /* takes no adds and counts no more; what it has is still being taken over */
    SITE_GONE = 4,    /* for good */
};

/* Made of the public key of the site's links. All 0: none. */
struct site_id {
    uint64_t high;
    uint64_t low;
};

/* The number of a life has two parts: below are those of one return, from SITE_FIRST_LIFE on, above
 * the returns, from 0 on. */
enum { SITE_RETURN_SHIFT = 48 };

/* No life has a number beyond it. */
#define SITE_LAST_LIFE (UINT64_MAX / 2)

/* One continuous life of a site's data, for one filter. */
struct site_life {
    uint64_t number; /* above every one heard of before */
    uint64_t tag;    /* random: tells apart two that took the same number */
};

struct site_entry {
    struct site_id id;
    char name[SITE_NAME_BYTES]; /* filled with NULs */
    struct site_life life;
    enum site_state state;

    /* What the operators of the site whose set it is have ordered about this one. It is told with
     * the set, but is no part of what sites merge, agree on, or fence. */
    bool paused;     /* nothing is sent there, nor taken from there */
    uint64_t resync; /* all of it is to be compared once more: the epoch of that order, which voids
                        site cursors of before it; 0: none */
};

struct site_set {
    struct site_entry entries[SITE_SET_MAX]; /* by rising ids */
    uint32_t count;                          /* 0: the filter has no sites */
    uint32_t own;                            /* the entry of the site whose set it is */

    /* What that site may do. */
    bool takes_adds;
    bool says_absent;
    bool settled; /* checks that are bounded by a time may be told "absent", too; false while what
                     only a site had that is GONE, without having left in order, may still be with
                     some of the others */
    bool joins_anew; /* its data were put back, or some of them are lost: it has not yet taken over
                        what the others have of what it acknowledged in former lives */
};

const char *site_state_name(enum site_state state);

/* The table of legal moves within one life. */
bool site_state_may(enum site_state from, enum site_state to);

bool site_name_valid(struct span name);

bool site_id_equal(const struct site_id *a, const struct site_id *b);

/* As people see it; returns `text`. */
const char *site_id_show(const struct site_id *id, char text[SITE_ID_TEXT_BYTES]);

/* Below 0, 0, above 0: is `a` the older life, the same one, the newer one? */
int site_life_compare(const struct site_life *a, const struct site_life *b);

/* How often a site that has lives of this number was GONE before. */
uint64_t site_life_return(uint64_t number);

/* The next number of the same return; 0: there is none. */
uint64_t site_life_next(uint64_t number);

/* The first number of the next return; 0: there is none. */
uint64_t site_life_first_of_next_return(uint64_t number);

/* NULL: there is none. */
const struct site_entry *site_set_find(const struct site_set *self, const struct site_id *id);

/* NULL: the filter has no sites. */
const struct site_entry *site_set_own(const struct site_set *self);

/* No orders: it becomes the set of another site. */
void site_set_forget_orders(struct site_set *self);

/* How many are not GONE. */
uint32_t site_set_live(const struct site_set *self);

/* The state that the set gives to that life of that site, GONE also where it knows a later return;
 * 0: it knows it not, or another life of that return. */
uint32_t site_set_state_of(const struct site_set *self, const struct site_entry *entry);

/* Has it a life that it has taken itself? Before that is known here it has taken no add: for that
 * all others have to have fenced the very set that it has. */
bool site_entry_has_own_life(const struct site_entry *entry);

/* How many returns of the site are gone, the first one counted as well. */
uint64_t site_entry_gone(const struct site_entry *entry);

/* Does it have all as GONE that `other` has so? */
bool site_set_knows_gone(const struct site_set *self, const struct site_set *other);

/* One that is not in it yet; the first one is the own one. STATUS_EXISTS, STATUS_TOO_LARGE,
 * STATUS_INVALID (no id, name, life or state); the set is as before then. */
MUST_USE enum status site_set_add(struct site_set *self, const struct site_entry *entry);

/* Everything later that `other` knows: the later return; of one return GONE, else the newer life
 * with its state and name, and within one life the later state. Not of an empty set.
 *
 * What the own site may do is cut down to what its entry allows then: nothing in a life that it
 * did not have before. And it is no longer settled where another site has become GONE; who knows
 * that all of that one was taken over says otherwise.
 *
 * Two names may be equal then, see sites_fault(). STATUS_TOO_LARGE: all of them are too many; the
 * set is as before then. */
MUST_USE enum status site_set_merge(struct site_set *self, const struct site_set *other);

/* The own site begins a life: its data were put back, or some are lost, or it comes back. It joins
 * anew, with all steps of joining before it. `number` is above every one heard of, and of a site
 * that leaves or is GONE of another return. */
void site_set_begin_life(struct site_set *self, const struct site_life *life);

/* May others have something of it that it lacks? Who joins anew is not through with it before it
 * counts. */
bool site_set_heals(const struct site_set *self);

/* Does it know all that `other` does, so that merging would change nothing? */
bool site_set_covers(const struct site_set *self, const struct site_set *other);

/* The same sites, with the same lives and states? */
bool site_set_agrees(const struct site_set *self, const struct site_set *other);

/* NULL, or what is wrong with a set that was decoded or edited. */
const char *sites_fault(const struct site_set *self);

#endif
