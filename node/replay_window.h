/* replay_window.h - was this number of this series met before? Bounded memory, never a wrong "no".
 *
 * Requests of one origin carry rising numbers. A message that arrives twice must not take its
 * own first arrival for somebody else's earlier add. Each series keeps a sliding window of
 * REPLAY_WINDOW_NUMBERS numbers; what is older, or belongs to a series that may have been
 * forgotten, counts as met. Series are told apart by all that names them, each number whole: packed
 * or hashed, two of them would take each other's messages for repeats.
 *
 * Bounds:  176 bytes a series, REPLAY_WINDOW_SERIES of them.
 * Errors:  none; a full table forgets the series used longest ago.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_REPLAY_WINDOW_H
#define ORBLOOM_NODE_REPLAY_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum { REPLAY_WINDOW_SERIES = 256, REPLAY_WINDOW_NUMBERS = 1024 };

/* Whose numbers rise. */
struct replay_window_key {
    uint64_t producer_id; /* the origin's */
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t group;
};

struct replay_window_series {
    struct replay_window_key key;
    uint64_t highest;
    uint64_t used; /* clock of the table at the last use; 0: free */
    uint64_t met[REPLAY_WINDOW_NUMBERS / 64];
};

struct replay_window {
    uint64_t clock;
    bool forgot; /* some series was evicted: an unknown one may have been met */
    struct replay_window_series series[REPLAY_WINDOW_SERIES];
};

/* A zeroed table is ready. Marks the number; true when it was, or may have been, met before. */
bool replay_window_met(struct replay_window *self, const struct replay_window_key *key,
                       uint64_t number);

#endif
