/* expand_watch.h - a filter on its way, shown until it is there.
 *
 * Pace: replicas read their keys again; what they have read since the watch began, by the time that
 * took. Unknown until something has moved.
 *
 * Threads: the main thread; Ctrl-C ends the watch, not the change.
 */
#ifndef ORBLOOM_CLI_COMMANDS_EXPAND_WATCH_H
#define ORBLOOM_CLI_COMMANDS_EXPAND_WATCH_H

#include "cli/flags.h"
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

/* Show until it serves generation `wanted` alone. The exit code; what went wrong is printed. */
int watch_run(const struct flags_common *common, const char *name, uint64_t filter_id,
              uint32_t wanted);

#endif
