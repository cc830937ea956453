/* shell_core_options.h - rows of options that every program with a router's core in it has: the
 * router itself, and a link. `at` is the field's offset in the program's settings.
 */
#ifndef ORBLOOM_ROUTER_SHELL_CORE_OPTIONS_H
#define ORBLOOM_ROUTER_SHELL_CORE_OPTIONS_H

#include "runtime/daemon.h"

#define ROUTER_OPTION_MAX_INFLIGHT(at)                                                           \
    {                                                                                            \
        .name = "max_inflight", .kind = OPTION_BYTES, .offset = (at), .min = UINT64_C(1) << 20,  \
        .max = UINT64_C(1) << 34, .unit = "bytes", .range = "1 MiB to 16 GiB", .value = "64MiB", \
        .help = "of requests under way, beyond which they are OVERLOADED; with users as "        \
                "much again of those that wait for their turn",                                  \
    }

#define ROUTER_OPTION_RETRY_INTERVAL(at)                                                 \
    DAEMON_OPTION_DURATION(                                                              \
        "retry_interval", at, DAEMON_MS, 60 * DAEMON_SECOND, "1ms to 60s", "250ms",      \
        "a node that has not answered is asked again after this, then after up to four " \
        "times as long")

#define ROUTER_OPTION_SYNC_INTERVAL(at)                                                            \
    DAEMON_OPTION_DURATION("sync_interval", at, 10 * DAEMON_MS, 60 * DAEMON_SECOND, "10ms to 60s", \
                           "1s", "how often this router asks a coordinator for news")

#endif
