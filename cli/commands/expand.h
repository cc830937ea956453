/* expand.h - how fast a filter is on its way, and the line that shows it.
 *
 * Pace: replicas read their keys again; what they have read since the watch began, by the time that
 * took. Unknown until something has moved.
 *
 * Threads: any; pure.
 */
#ifndef ORBLOOM_CLI_COMMANDS_EXPAND_H
#define ORBLOOM_CLI_COMMANDS_EXPAND_H

#include "cli/show/expansion.h"

struct watch_pace {
    uint64_t begin_us; /* 0: not begun */
    double begin_share;
    double keys_per_s; /* 0: unknown */
    double left_s;     /* < 0: unknown */
};

void watch_pace_note(struct watch_pace *self, uint64_t now_us, const struct expansion_state *state);

/* "[#####...............]  25 %, 12 of 48 shards, 4,100,000 keys/s, 12 s left; node-1 builds" */
enum { WATCH_LINE_BYTES = 256 };

const char *watch_line(const struct expansion_state *state, const struct watch_pace *pace,
                       const char *awaited, char text[WATCH_LINE_BYTES]);

#endif
