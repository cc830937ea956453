/* sim_keyset.h - whose keys count, one stretch after the other: what the oracle knows of rebuilds.
 *
 * A binding of a name has one keyset from its create, and one more for each rebuild that is begun.
 * Adds enter every keyset that is open; checks read one of them: until the next one is committed,
 * and as long as that is not confirmed perhaps a former one, too.
 *
 * A key is promised in a keyset when it was fed into it, or was added by an operation that began
 * after the keyset's `begin` had returned, and that was acknowledged.
 *
 * Owner:   sim_keysets_fini() frees them; zeroed there are none.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_KEYSET_H
#define ORBLOOM_TESTS_SIM_KEYSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SIM_MAX_KEYS = 384,
    SIM_MOST_KEYS = 1024, /* with those that a load may add of which no record is kept */
    SIM_FIRST_KEYSET = 1,
};

#define SIM_OPEN UINT64_MAX

struct sim;
struct sim_add;
struct sim_process;

struct sim_keyset {
    uint32_t id;
    uint64_t written_us;             /* the store names it: keys may enter */
    uint64_t begun_us;               /* no add sent from then on may miss it; SIM_OPEN: not yet */
    uint64_t read_us;                /* its commit was written: checks may read it */
    uint64_t passed_us;              /* the next one's was written; SIM_OPEN: not yet */
    uint64_t gone_us;                /* ... and confirmed: no check may read this one any more */
    uint64_t acked_us[SIM_MAX_KEYS]; /* promised since then; 0: not */
    uint64_t sent_us[SIM_MAX_KEYS];  /* ... by an operation that began then */
    uint64_t lost_us[SIM_MAX_KEYS];  /* an accepted loss left it nowhere; 0: none did */
    bool was_new[SIM_MAX_KEYS];
};

struct sim_keysets {
    struct sim_keyset *items;
    size_t count;
    size_t capacity;
};

void sim_keysets_fini(struct sim_keysets *self);

/* The first one: of a filter that is being created. */
void sim_keysets_create(struct sim_keysets *self, uint64_t now_us);

/* NULL: there is none of that id. */
struct sim_keyset *sim_keysets_find(const struct sim_keysets *self, uint32_t id);

/* The one whose commit was written last. */
struct sim_keyset *sim_keysets_serving(const struct sim_keysets *self);

/* The name's document in the store is another one. */
void sim_keysets_follow(struct sim *sim, uint32_t name);

/* The operator was told so: `begin` has returned, `commit` has. */
void sim_keysets_begun(struct sim *sim, uint32_t name, uint64_t filter_id, uint32_t id);
void sim_keysets_committed(struct sim *sim, uint32_t name, uint64_t filter_id, uint32_t id);

/* May checks that ran at that time have read it? */
bool sim_keyset_is_read(const struct sim_keyset *self, uint64_t from_us, uint64_t to_us);

/* May the add, or what was fed, have entered it? */
bool sim_keyset_may_have(const struct sim_keyset *self, const struct sim_add *add);

/* After each turn of a node: what does it serve now? */
void sim_keysets_note(struct sim_process *process);

/* Do a router and a node take that filter, which the name was bound to before, for live? A router
 * that has just started is told by whoever comes first. */
bool sim_keysets_lag(const struct sim *sim, uint32_t name, uint64_t filter_id);

/* Does a router go by another document than the newest? */
bool sim_keysets_router_lags(const struct sim *sim, uint32_t name);

/* Some replicas, but fewer than R, may serve a keyset of before the last commit; or no more than
 * the N - F that fences leave, a filter that the name was bound to before. One of them alone may
 * still find a key, see docs/simulator.md. */
bool sim_keysets_minority(const struct sim *sim, uint32_t name);

#endif
