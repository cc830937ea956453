/* orbloom.h - the C library of orbloom: have we seen this key?
 *
 * A handle is one client of a cluster. Adds and checks go to its routers in batches, one
 * at a time (orbloom_add, orbloom_check) or many in flight (orbloom_submit, orbloom_wait).
 *
 *     struct orbloom *cluster = NULL;
 *     if (orbloom_connect(NULL, &cluster) != ORBLOOM_OK) { ... }
 *     if (orbloom_add_key(cluster, "seen", url, strlen(url), &answer) != ORBLOOM_OK) {
 *         fprintf(stderr, "%s\n", orbloom_error(cluster));
 *     } else if (answer != ORBLOOM_PRESENT) { ... first seen ... }
 *     orbloom_close(&cluster);
 *
 * Promise: a key whose add was answered is never reported ORBLOOM_ABSENT. ORBLOOM_UNKNOWN
 *          means "not sure" and never "absent"; for an add it means "not acknowledged".
 * Keys:    1 to ORBLOOM_MAX_KEY_BYTES bytes each, any values. A batch holds up to
 *          ORBLOOM_MAX_BATCH_KEYS keys, and ORBLOOM_MAX_BATCH_BYTES bytes of them.
 * Errors:  functions return a code of enum orbloom_code; orbloom_error() has the cause and
 *          the remedy. Connecting succeeds without a cluster: what is asked then ends in
 *          ORBLOOM_DEADLINE, and a cluster that comes back is used again by itself. One that
 *          does not let this client in ends what is asked in ORBLOOM_UNAUTHENTIC.
 * Owner:   whoever called orbloom_connect() calls orbloom_close(). Keys and texts passed in
 *          are borrowed for the call.
 * Threads: one thread a handle at a time; any number of handles.
 * fork():  a child closes the handles of its parent, or leaves them; all else that it asks of them
 *          is ORBLOOM_INVALID. It connects anew.
 */
#ifndef ORBLOOM_H
#define ORBLOOM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* Of this header; orbloom_version() tells that of the library which is there when a program runs.
 */
#define ORBLOOM_VERSION "0.1.0"

#define ORBLOOM_MAX_KEY_BYTES   65536
#define ORBLOOM_MAX_BATCH_KEYS  65536
#define ORBLOOM_MAX_BATCH_BYTES 8000000

#define ORBLOOM_MAX_STALENESS_US UINT64_C(2592000000000) /* 30 days */

/* By how many sites an add is acknowledged, this one too: 2 to ORBLOOM_MAX_ACKS, or one of these.
 */
#define ORBLOOM_MAX_ACKS   8
#define ORBLOOM_ACKS_LOCAL 1   /* this one alone */
#define ORBLOOM_ACKS_EACH  255 /* each that counts */

/* Codes, as on the wire: numbers are never reused. */
enum orbloom_code {
    ORBLOOM_OK = 0,
    ORBLOOM_NOMEM = 1,
    ORBLOOM_INVALID = 2,
    ORBLOOM_SHAPE = 3,
    ORBLOOM_MALFORMED = 4,
    ORBLOOM_TOO_LARGE = 5,
    ORBLOOM_VERSION_UNSERVED = 6,
    ORBLOOM_NOT_FOUND = 7,
    ORBLOOM_EXISTS = 8,
    ORBLOOM_CONFLICT = 9,
    ORBLOOM_STALE = 10,
    ORBLOOM_NEED_DOC = 11,
    ORBLOOM_NOT_READY = 12,
    ORBLOOM_UNAVAILABLE = 13,
    ORBLOOM_OVERLOADED = 14,
    ORBLOOM_DEADLINE = 15,
    ORBLOOM_NO_SPACE = 16,
    ORBLOOM_FULL = 17,
    ORBLOOM_NAME_BUSY = 18,
    ORBLOOM_UNAUTHENTIC = 19,
    ORBLOOM_IO = 20,
    ORBLOOM_USAGE = 21,
    ORBLOOM_DROPPED = 22,
    ORBLOOM_INTERNAL = 23,
    ORBLOOM_OVER_QUOTA = 24,
    ORBLOOM_BEHIND = 25 /* a check: another site may have keys that this one does not have yet, see
                           orbloom_check_within(); an add: not all sites that are to have it have
                           confirmed it, see orbloom_add_in_sites() */
};

const char *orbloom_version(void);

/* "NOT_FOUND". */
const char *orbloom_code_name(int code);

/* The answer about one key. */
enum orbloom_answer {
    ORBLOOM_UNKNOWN = 0, /* not sure; an add: not acknowledged */
    ORBLOOM_PRESENT = 1, /* seen before, or one of the filter's false positives */
    ORBLOOM_ABSENT = 2,  /* never acknowledged before; an add: it is now, and was new */
    ORBLOOM_MAYBE = 3,   /* check: the filter fails open; add: acknowledged, history unsure */
    ORBLOOM_NEW = ORBLOOM_ABSENT,
    ORBLOOM_MAYBE_NEW = ORBLOOM_MAYBE
};

struct orbloom;

/* All zero is fine: the environment, then the defaults. */
struct orbloom_options {
    const char *routers;      /* "tcp://a:7401,tcp://b:7401"; NULL: $ORBLOOM_ROUTER, else
                                 tcp://127.0.0.1:7401 */
    const char *coordinators; /* NULL: $ORBLOOM_COORDINATOR, else tcp://127.0.0.1:7400 */
    uint32_t timeout_ms;      /* of every operation; 0: 5,000 */
    uint32_t attempt_ms;      /* no answer for so long: ask the next router; once all were silent
                                 each has twice as long, up to eight times; 0: 1,000 */
    uint32_t max_in_flight;   /* batches submitted and not yet collected; 0: 64; most 4,096 */
    size_t max_bytes;         /* of keys in flight; 0: 64 MiB */
    int in_order;             /* 1: batches go one way, so that of equal keys in flight the first
                                 is the NEW one; 0: several routers share them */
    int fail_over; /* which routers are asked, where `routers` names those of several sites, about
                      filters that are in these; see orbloom_site(). 0: those of one site, that of
                      the first router that answers. 1: once none of that site answers any more,
                      those of another one: what the first one had acknowledged ORBLOOM_ACKS_LOCAL
                      may be ORBLOOM_ABSENT there until it has come across */
    const char *credential; /* the user's file, of mode 600, for a cluster that speaks CURVE; NULL:
                               $ORBLOOM_CREDENTIAL, else none; "none": none. Who has one speaks
                               CURVE with all that is asked. Read again for each new connection, so
                               that renewing the file is enough */
};

/* `options` may be NULL. After an error *out is a handle good for orbloom_error() and
 * orbloom_close() only, or NULL when memory was out. */
int orbloom_connect(const struct orbloom_options *options, struct orbloom **out);

/* What is in flight is given up: an add may or may not have happened. NULL is fine, for either. */
void orbloom_close(struct orbloom **handle);

/* "NOT_FOUND: no filter \"x\"; create it first": the newest error of the handle, "" without
 * one. Valid until the next call. */
const char *orbloom_error(const struct orbloom *handle);

/* Of which site the routers are that are asked about filters in several; "" before one has answered
 * about such a filter. Valid until the next call. */
const char *orbloom_site(const struct orbloom *handle);

/* ---- keys ---- */

struct orbloom_keys {
    const void *bytes;       /* the keys, one after the other */
    const uint32_t *lengths; /* of each */
    size_t count;
};

/* Add a batch; of no keys is fine and asks nobody. answers[i] is an enum orbloom_answer about key
 * i, also after an error: then the keys left ORBLOOM_UNKNOWN are not acknowledged, and adding them
 * again is safe. */
int orbloom_add(struct orbloom *handle, const char *filter, const struct orbloom_keys *keys,
                uint8_t *answers);

/* Check a batch; as above, ORBLOOM_UNKNOWN means not sure. */
int orbloom_check(struct orbloom *handle, const char *filter, const struct orbloom_keys *keys,
                  uint8_t *answers);

/* The same for one key. */
int orbloom_add_key(struct orbloom *handle, const char *filter, const void *key, size_t size,
                    enum orbloom_answer *answer);
int orbloom_check_key(struct orbloom *handle, const char *filter, const void *key, size_t size,
                      enum orbloom_answer *answer);

/* ---- filters in several sites ----
 *
 * In several datacentres ORBLOOM_ABSENT means: never acknowledged here, nor elsewhere but for what
 * is still on its way. Within a bound of D it counts all that any site had acknowledged more than D
 * before the check; with D = 0, a fresh check, all that was acknowledged before the check, at a
 * round trip between sites that all checks share which wait at that moment.
 *
 * What can't be told within the bound until the timeout stays ORBLOOM_UNKNOWN, and the code is
 * ORBLOOM_BEHIND; orbloom_error() names the site and how far behind it is. It is not asked again by
 * itself. ORBLOOM_MAYBE where the filter fails open. ORBLOOM_PRESENT never waits for other sites.
 *
 * An add is acknowledged by its own site (ORBLOOM_ACKS_LOCAL), by so many of those that count, its
 * own too, which is safe from the loss of all but one of them; or by each that counts
 * (ORBLOOM_ACKS_EACH): no site then calls ABSENT what was answered anywhere.
 *
 * What other sites have not confirmed until the timeout stays ORBLOOM_UNKNOWN, that is not
 * acknowledged, and the code is ORBLOOM_BEHIND; orbloom_error() names a site that has not. It is
 * not added again by itself; doing so is safe. It is written here all the same, so the next answer
 * about it may be ORBLOOM_PRESENT, here and anywhere.
 */

/* As orbloom_check(), within a bound of 0 to ORBLOOM_MAX_STALENESS_US. Of this one and the filter's
 * own the smaller one counts. A filter in one site is fresh by itself. */
int orbloom_check_within(struct orbloom *handle, const char *filter, uint64_t max_staleness_us,
                         const struct orbloom_keys *keys, uint8_t *answers);

/* As orbloom_add(), acknowledged by so many sites: ORBLOOM_ACKS_LOCAL, 2 to ORBLOOM_MAX_ACKS, or
 * ORBLOOM_ACKS_EACH. Of this and the filter's own the one that takes more sites counts. Before so
 * many sites count nothing is acknowledged: ORBLOOM_BEHIND at once. */
int orbloom_add_in_sites(struct orbloom *handle, const char *filter, uint32_t acks,
                         const struct orbloom_keys *keys, uint8_t *answers);

/* ---- many batches in flight ---- */

enum orbloom_operation { ORBLOOM_CHECK = 1, ORBLOOM_ADD = 2, ORBLOOM_FEED = 3 };

struct orbloom_request {
    const char *filter;
    enum orbloom_operation operation;
    struct orbloom_keys keys;
    uint32_t replicas;   /* checks: bit set of the replica slots to ask; 0: all */
    uint32_t timeout_ms; /* 0: the handle's */
    void *user;          /* given back with the completion */
    uint32_t keyset;     /* feeds: see orbloom_rebuild_begin() */
    int bounded; /* checks: 1: within max_staleness_us, see orbloom_check_within(); 0: within
                    the filter's own bound */
    uint64_t max_staleness_us;
    uint32_t acks; /* adds: see orbloom_add_in_sites(); 0: the filter's own */
};

struct orbloom_completion {
    void *user;
    int code;            /* ORBLOOM_OK: every key is answered */
    const char *message; /* cause and remedy; "" when OK */
    const uint8_t *answers;
    size_t count;
    uint32_t attempts;   /* frames sent, but for one that asks which filter has the
                            name; 0: no router could be reached, or needed to be */
    uint64_t latency_us; /* from submit to the answer */
};

/* ORBLOOM_OVERLOADED: too much in flight, nothing was sent; call orbloom_wait() first. Every
 * accepted request ends in exactly one completion, by its deadline; one of no keys at once. */
int orbloom_submit(struct orbloom *handle, const struct orbloom_request *request);

/* Collect the next completion, in any order. Returns 1, or 0 when there was none within
 * timeout_ms (0: do not wait) or nothing is in flight. What *out points at is valid until
 * the next call with this handle. */
int orbloom_wait(struct orbloom *handle, uint32_t timeout_ms, struct orbloom_completion *out);

/* Requests accepted and not yet collected. */
size_t orbloom_in_flight(const struct orbloom *handle);

/* ---- filters ---- */

/* How a filter turns keys into fingerprints, for good; both with a secret of its own.
 *
 * SipHash-2-4 is keyed by the secret: whoever chooses keys, but has not got the secret, can't
 * find keys that collide. XXH3 takes half of the secret as its seed and is faster, above all
 * on long keys, but it is no cryptographic function: who chooses keys might find such that
 * collide and make a filter call keys present that were never added. For trusted keys only. */
enum orbloom_hash { ORBLOOM_SIPHASH = 1, ORBLOOM_XXH3 = 2 };

/* What is left 0 takes its default. */
struct orbloom_filter {
    const char *name;           /* [A-Za-z0-9._:-]{1,128} */
    uint64_t capacity;          /* keys; required */
    double rate;                /* of false positives, at most; required: 0.01 is 1 % */
    uint64_t max_capacity;      /* 64 times the capacity */
    uint32_t replicas;          /* 3 */
    uint32_t write_quorum;      /* replicas / 2 + 1: 2 of 3 */
    uint32_t read_quorum;       /* replicas - write_quorum + 1: 2 of 3 */
    int maybe_when_unavailable; /* 1: too few replicas answer ORBLOOM_MAYBE, not UNKNOWN */
    enum orbloom_hash hash;     /* ORBLOOM_SIPHASH */
    int keylog_off;             /* 1: nodes keep bits only, on disk; see docs/cli.md, create */
    int refuse_when_full;       /* 1: adds are refused past the capacity, as where it can't grow;
                                   else it grows by itself, up to max_capacity */
    int bounded;                /* 1: checks in several sites have the bound that follows, see
                                   orbloom_check_within(); 0: they have none */
    uint64_t max_staleness_us;
    uint32_t acks; /* of adds in several sites, see orbloom_add_in_sites(); ORBLOOM_ACKS_LOCAL */
};

/* Fine when the filter exists with the same parameters, or has grown since and has at least these;
 * *created (may be NULL) tells. */
int orbloom_create(struct orbloom *handle, const struct orbloom_filter *filter, int *created);

/* Returns when no add or check can reach the filter any more. */
int orbloom_drop(struct orbloom *handle, const char *filter);

/* ---- a filter's keys, replaced by a list ----
 *
 * The way to forget keys, while the filter serves:
 *
 *   1  orbloom_rebuild_begin() returns. Adds sent from then on are kept, whatever the list says.
 *   2  Make the list of what is to be kept. An add that was under way when it returned may belong
 *      to the old keys alone: make the list after those have been answered, or put each key in
 *      your list before you add it.
 *   3  Feed the list: orbloom_feed(), or ORBLOOM_FEED requests; then orbloom_rebuild_fed().
 *   4  orbloom_rebuild_commit(). From then on what was neither fed nor added since 1 is forgotten.
 *      Or orbloom_rebuild_abort(), and all is as it was.
 *
 * It may stay open for as long as you like, and anybody may go on with it. `keyset` is the number
 * of the rebuild, that of the keyset which it makes: what is late for one that was aborted can't
 * get into the next one. 0 stands for whichever is open. */

/* ORBLOOM_DEADLINE: it has begun, but too few nodes have confirmed; call it again. One that is open
 * already is joined. *keyset (may be NULL) is its number. */
int orbloom_rebuild_begin(struct orbloom *handle, const char *filter, uint32_t *keyset);

/* As orbloom_add(), but into the new keys only; ORBLOOM_INVALID: that rebuild is not open. */
int orbloom_feed(struct orbloom *handle, const char *filter, uint32_t keyset,
                 const struct orbloom_keys *keys, uint8_t *answers);

/* So many keys were fed: without that a commit takes the list for empty. */
int orbloom_rebuild_fed(struct orbloom *handle, const char *filter, uint32_t keyset, uint64_t keys);

/* Returns when no check is answered from the former keys any more. `empty` 1: even if no list has
 * been fed. ORBLOOM_DEADLINE: call it again; one that is written already waits for the nodes that
 * have not confirmed it. */
int orbloom_rebuild_commit(struct orbloom *handle, const char *filter, uint32_t keyset, int empty);

int orbloom_rebuild_abort(struct orbloom *handle, const char *filter, uint32_t keyset);

/* ---- */

struct orbloom_info {
    uint64_t id;
    uint64_t epoch;
    uint64_t capacity;
    uint64_t max_capacity;
    double rate;
    uint32_t replicas;
    uint32_t write_quorum;
    uint32_t read_quorum;
    uint32_t shards;
    uint64_t bytes;            /* of one copy of the filter's bits; a cluster holds `replicas` */
    uint64_t keys;             /* distinct keys, estimated from the fill */
    uint32_t replicas_full;    /* per slot group: ready to answer */
    uint32_t replicas_waiting; /* building or joining */
    enum orbloom_hash hash;
    int bounded; /* 1: checks in several sites have this bound */
    uint64_t max_staleness_us;
    uint32_t acks; /* of adds in several sites: ORBLOOM_ACKS_LOCAL, 2 to 8, ORBLOOM_ACKS_EACH */
};

int orbloom_info(struct orbloom *handle, const char *filter, struct orbloom_info *out);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
