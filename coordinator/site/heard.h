/* heard.h - what was heard of a filter that is in sites: what the others have told of themselves,
 * and what links have told that their streams from those have brought.
 *
 * It is in memory only, and whoever starts anew hears it again. What another site tells is kept
 * until it tells more, or another life of it does: what F of its members have fenced once they have
 * fenced for good. Evidence is a link's: it counts while that link lives and repeats it, and while
 * both sites have the lives that it is of. Of several links what began last says most.
 *
 * Bounds:  SITE_SET_MAX sites; HEARD_MAX_EVIDENCE, of more the oldest goes.
 * Errors:  false: nothing new, or no memory; it is told again.
 * Owner:   in_sites_fini() frees; a zeroed struct has heard nothing.
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_SITE_HEARD_H
#define ORBLOOM_COORDINATOR_SITE_HEARD_H

#include "coordinator/plan/sites.h"
#include "map/document.h"
#include "proto/site/state.h"

enum { HEARD_MAX_EVIDENCE = 32 };

/* What is not repeated for so long says nothing any more: links tell again within a minute. */
#define HEARD_FOR_US 180000000u

struct coordinator;

/* What another site has told last. */
struct site_heard {
    struct site_id id;
    bool dropped;         /* there the filter was dropped everywhere ... */
    uint64_t last_return; /* ... in that return; an earlier one's says nothing of a later one */
    struct site_life life;
    uint64_t revision;
    bool takes_adds; /* ... as its document says */
    bool says_absent;
    bool settled;
    uint64_t keys;
    bool is_fenced; /* in that life; else nothing is known */
    struct site_set fenced;
    struct done_with {
        struct site_id leaver;
        struct site_life life; /* in which it leaves: it may come back, and leave again */
    } done[SITE_SET_MAX_LIVE];
    uint32_t ndone;
};

struct link_evidence {
    char link[DOCUMENT_NAME_BYTES];
    uint64_t told_us;
    struct site_evidence what;
};

/* A filter in sites, as far as it is not in its document: a note, see notes.h. */
struct in_sites {
    struct filter_uid uid;

    /* F of each slot group have fenced a document with this set. Within a life that stays so. */
    bool is_fenced;
    struct site_set fenced;

    struct site_life put_back; /* of this site: in it others remember more of it; none: 0 */
    bool news;                 /* something was heard since the last look */
    bool fencing;              /* the document's set is not fenced yet */
    uint64_t looked;           /* revision of the document then; 0: never */
    uint64_t next_us;          /* look again then, also without news; 0: no need */
    uint64_t told;             /* numbers what links are told of it; see tell.h */
    uint64_t revision;         /* ... which was of this one */
    struct site_id done[SITE_SET_MAX_LIVE]; /* ... */
    uint32_t ndone;

    struct site_heard *sites;
    size_t nsites;
    size_t sites_room;
    struct link_evidence *evidence;
    size_t nevidence;
    size_t evidence_room;
};

void in_sites_fini(struct in_sites *self);

/* Without faults, and not of the own site. True: it says something new. */
bool in_sites_hear(struct in_sites *self, const struct site_filter *told);

/* The same; by that link. */
bool in_sites_witness(struct in_sites *self, uint64_t now_us, const char *link,
                      const struct site_evidence *told);

/* What is noted of the filter of that uid; NULL: it is not here, or not in sites. */
struct in_sites *in_sites_of(const struct coordinator *self, const struct filter_uid *uid);

/* NULL: nothing was heard of that one. */
const struct site_heard *in_sites_find(const struct in_sites *self, const struct site_id *id);

/* What can be decided by: `out` borrows from all of them. `self` NULL: nothing was heard. */
struct sites_view in_sites_view(const struct coordinator *coordinator, uint64_t now_us,
                                const struct in_sites *self, const struct site_set *document,
                                struct sites_peer out[SITE_SET_MAX]);

#endif
