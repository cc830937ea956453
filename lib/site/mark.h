/* mark.h - marks: of what moment everything that another site has acknowledged is here.
 *
 * A link begins a mark: it notes its clock, and then asks the other site, the source, how far the
 * logs of its nodes go. The source answers as for a check of all keys: of each slot group, the
 * durable ends of the logs of R replicas that count, gathered after it was asked. Whatever was
 * acknowledged there before the mark was begun is below one of these ends. Once all of the logs are
 * applied here up to them, the mark counts. Several may be under way.
 *
 * When the newest mark that counts was begun is told as an age, to somebody who asks now, and never
 * otherwise: an age that is kept, or sent unasked, is too young when it is used, and clocks of two
 * machines can't be compared. It is nowhere stored: after a restart it would be one of another
 * clock. So nothing here outlives the link, nor the scope that the marks were begun in.
 *
 * Units:   microseconds of CLOCK_BOOTTIME of this machine, which counts while it sleeps. A mark may
 *          be begun by a clock that was read before, which makes it older; an age must not be told
 *          by one that was read before the question came.
 * Errors:  as said at each function.
 * Owner:   marks_fini() frees; a zeroed struct is one that knows nothing and begins nothing.
 * Threads: none; pure.
 * Source:  tests/models/site_fresh.pml searches all of this, and loses a key with each shortcut.
 */
#ifndef ORBLOOM_SITE_MARK_H
#define ORBLOOM_SITE_MARK_H

#include "base/site_cursor.h"
#include "base/status.h"
#include "map/document.h"
#include "map/sites.h"

enum {
    MARK_MAX_PENDING = 8,
    MARK_MAX_ENDS = DOCUMENT_MAX_SHARDS * QUORUM_MAX_REPLICAS,
    MARK_MAX_LOGS = DOCUMENT_MAX_SHARDS *
                    RECORD_MAX_SOURCES, /* that are followed, while slots change */
};

/* What is still not answered then, or waits for a log that is not followed, makes room for others.
 */
#define MARK_PATIENCE_US 10000000u

/* What marks are about. Those of another scope are void: what was applied then may have been lost
 * here since, or at the source, or is not all that counts now. */
struct mark_scope {
    struct site_life own;
    struct site_life source;
    uint64_t set_hash; /* of what this site's epoch says of the set of sites */
    uint32_t keyset;
};

/* Who is in a set of sites, in which life and state. */
uint64_t mark_set_hash(const struct site_set *set);

/* A place in the log of one life of a node of the source, for one of its slot groups. */
struct mark_log {
    uint32_t group;
    uint32_t node;
    uint64_t incarnation;
    uint64_t boot;
    uint64_t offset; /* the end; or: everything below is applied here */
};

/* What an answer repeats: no two marks have the same one, of whatever links and starts of them. */
struct mark_id {
    uint64_t tag; /* of the link since its start */
    uint64_t number;
};

struct mark_end {
    struct mark_log log;
    bool reached; /* and stays so, whatever becomes of that log */
};

struct mark {
    uint64_t number;
    uint64_t begun_us;
    struct mark_end *ends; /* by rising groups and nodes; NULL: not answered yet */
    uint32_t nends;
    uint32_t left; /* of them not reached */
};

/* The marks of one link, of one filter and one source. */
struct marks {
    uint64_t tag; /* 0: marks_init() was not called */
    bool entered;
    struct mark_scope scope;
    uint64_t begun;                        /* so many in all: the number of the last one */
    struct mark pending[MARK_MAX_PENDING]; /* by rising numbers */
    uint32_t npending;
    uint64_t newest; /* number of the newest that counts; 0: none does */
    uint64_t newest_us;
    struct mark_log *logs; /* that are followed, by rising groups and nodes */
    size_t nlogs;
    size_t capacity;
};

/* What a question is told. */
struct mark_told {
    bool known;      /* else nothing, and the others are 0 */
    bool after;      /* the mark was begun after the question came, by the order of events: this
                        also holds where a clock stands still */
    uint64_t age_us; /* rounded up: the mark was begun no longer ago */
};

/* `tag` is random, drawn anew at each start of the link, and not 0. */
void marks_init(struct marks *self, uint64_t tag);
void marks_fini(struct marks *self);

/* From now on marks are about this. If that is another scope than before all of them are void, and
 * so is what marks_applied() has said. */
void marks_enter(struct marks *self, const struct mark_scope *scope);

/* Right before the source is asked. STATUS_NOT_READY: there is no scope; STATUS_OVERLOADED: as many
 * are under way as may be, and none has lost its patience: wait until one counts. */
MUST_USE enum status marks_begin(struct marks *self, uint64_t now_us, struct mark_id *id);

/* The source's answer: ends by rising groups and nodes, each node once in a group, of `read` nodes
 * or more in each of `ngroups` groups. STATUS_NOT_FOUND: it is no answer to a mark that is under
 * way; STATUS_MALFORMED: it says too little, or what makes no sense; STATUS_NOMEM. Then the mark is
 * as before. */
MUST_USE enum status marks_answered(struct marks *self, const struct mark_id *id, uint32_t ngroups,
                                    uint32_t read, const struct mark_log *ends, size_t nends);

/* Everything below is applied, with W replicas under one epoch; lower than before, it says nothing.
 * Another life or boot of the node takes the place of the one before: which of them may go on where
 * the one before ended is the caller's to say. STATUS_NOMEM, STATUS_TOO_LARGE: nothing has changed,
 * and marks wait for longer. */
MUST_USE enum status marks_applied(struct marks *self, const struct mark_log *log);

/* Forget what is under way: the connection that answers would have come by, and what they wait for,
 * is lost. */
void marks_disconnected(struct marks *self);

/* To be noted when a question comes, and given to marks_tell() when it is answered, at once or once
 * a mark that it waits for counts. */
uint64_t marks_begun(const struct marks *self);

struct mark_told marks_tell(const struct marks *self, uint64_t begun, uint64_t now_us);

#endif
