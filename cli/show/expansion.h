/* expansion.h - filters on their way to another capacity or rate, as `info`, `status` and `expand`
 * print them.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHOW_EXPANSION_H
#define ORBLOOM_CLI_SHOW_EXPANSION_H

#include "cli/output.h"
#include "proto/codec.h"

/* "10,000,000 keys at 1 %, 10.11 bits a key": of all shards together. */
enum { EXPANSION_TEXT_BYTES = 128 };

const char *expansion_size_text(const struct filter_summary *filter,
                                const struct generation_summary *generation,
                                char text[EXPANSION_TEXT_BYTES]);

/* The same of what the filter is for when it is there: of the wanted generation, or of a chain. */
const char *expansion_wanted_text(const struct filter_summary *filter,
                                  char text[EXPANSION_TEXT_BYTES]);

/* Is a generation listed that does not serve everywhere yet? */
bool expansion_is_running(const struct filter_summary *filter);

/* Does it serve everywhere, whatever follows it? */
bool expansion_is_there(const struct filter_summary *filter, uint32_t generation);

/* At how many keys it grows by itself: at the soonest, where they come fast, and in any case. Both
 * 0: it does not. Of a window those of a slice, of a chain those of its newest generation. */
struct expansion_at {
    uint64_t soonest;
    uint64_t latest;
};

struct expansion_at expansion_at_of(const struct filter_summary *filter);

/* In words, for `info`; "": nothing to say. */
const char *expansion_at_text(const struct filter_summary *filter, char text[EXPANSION_TEXT_BYTES]);

/* A line a generation, for `info`, and when it grows. */
void expansion_generations_text(const struct filter_summary *filter);

/* A paragraph for each filter with something to say; nothing else. */
void expansion_text(const struct admin_reply *reply);

/* Members of an open object: what documents tell, and what only a coordinator knows. */
void expansion_json(struct json *json, const struct filter_summary *filter);
void expansion_coordinator_json(struct json *json, const struct filter_summary *filter);
void expansion_at_json(struct json *json, const struct filter_summary *filter);

/* How far a filter is, from one answer. */
struct expansion_state {
    bool running;
    uint32_t wanted;   /* id of the generation */
    uint64_t grown;    /* shards of replicas ... */
    uint64_t shards;   /* ... of so many */
    double share;      /* 0 to 1, parts of shards included */
    uint64_t keys;     /* that all replicas have to read together */
    uint64_t overflow; /* keys, of the replica with most */
};

struct expansion_state expansion_state_of(const struct admin_reply *reply,
                                          const struct filter_summary *filter);

#endif
