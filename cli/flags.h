/* flags.h - the flags that commands share: whom to ask, and how long to wait.
 *
 * A command's settings begin with a struct flags_common, its table ends with FLAGS_COMMON.
 *
 * Owner:   texts point into argv.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_FLAGS_H
#define ORBLOOM_CLI_FLAGS_H

#include "client/endpoint_list.h"
#include "client/shell_channel.h"
#include "map/access/credential.h"
#include "runtime/options/options.h"

struct flags_common {
    const char *routers;
    const char *coordinators;
    const char *credential;
    uint64_t timeout_us;
    const struct credential *held; /* no flag: in place of a file; NULL: none */
};

/* tcp://HOST:PORT, at most as many as a channel may have, separated by commas. */
bool flags_endpoints_valid(const char *text);

/* A bound of checks: a time of at most 30 days, or 0. */
bool flags_bound_valid(const char *text);

/* ... as documents and requests have it, see map/staleness.h; NULL: none. */
uint64_t flags_bound(const char *text);

/* Acknowledgements of several sites: "local", a number of sites, or "each". */
bool flags_acks_valid(const char *text);

/* ... as documents and requests have it, see map/acks.h; NULL: 0. */
uint32_t flags_acks(const char *text);

/* Whom a channel leads to, and who asks there; borrows the texts. */
struct channel_options flags_channel(const struct flags_common *common);

#define FLAG_ENDPOINTS(flag, member, text)                                                    \
    {                                                                                         \
        .name = (flag), .kind = OPTION_TEXT, .offset = offsetof(struct flags_common, member), \
        .accepts = flags_endpoints_valid, .sample = "ENDPOINTS",                              \
        .range = "tcp://HOST:PORT, several by commas", .help = (text),                        \
    }

/* A time to wait, at `at` in the settings. */
#define FLAG_TIMEOUT_OF(at, time, text)                                                       \
    {                                                                                         \
        .name = "timeout", .kind = OPTION_DURATION, .offset = (at), .min = 1000,              \
        .max = UINT64_C(3600000000), .sample = "TIME", .range = "1ms to 1h", .value = (time), \
        .help = (text),                                                                       \
    }
#define FLAG_TIMEOUT(at) FLAG_TIMEOUT_OF(at, "5s", "no answer after this is an error")

/* Who asks, at `at` in the settings. */
#define FLAG_CREDENTIAL(at)                                                                    \
    {                                                                                          \
        .name = "credential", .kind = OPTION_TEXT, .offset = (at), .sample = "FILE",           \
        .range = "a file, or none",                                                            \
        .help = "the user who asks, where the cluster speaks CURVE; else $ORBLOOM_CREDENTIAL", \
    }

/* A bound of checks, a borrowed text at `at` in the settings; NULL without the flag. */
#define FLAG_MAX_STALENESS(at, text)                                   \
    {                                                                  \
        .name = "max-staleness", .kind = OPTION_TEXT, .offset = (at),  \
        .accepts = flags_bound_valid, .sample = "TIME",                \
        .range = "0, or a time such as 5s, up to 30d", .help = (text), \
    }

/* Acknowledgements of several sites, a borrowed text at `at` in the settings; NULL without the
 * flag.
 */
#define FLAG_ACKS(at, text)                                                               \
    {                                                                                     \
        .name = "acks", .kind = OPTION_TEXT, .offset = (at), .accepts = flags_acks_valid, \
        .sample = "SITES", .range = "local, 2 to 8 sites, or each", .help = (text),       \
    }

#define FLAGS_WHOM                                                                                 \
    FLAG_ENDPOINTS("router", routers,                                                              \
                   "routers to ask; else $ORBLOOM_ROUTER, else " ENDPOINT_DEFAULT_ROUTER),         \
        FLAG_ENDPOINTS(                                                                            \
            "coordinator", coordinators,                                                           \
            "coordinators to ask; else $ORBLOOM_COORDINATOR, else " ENDPOINT_DEFAULT_COORDINATOR), \
        FLAG_CREDENTIAL(offsetof(struct flags_common, credential))

#define FLAGS_COMMON FLAGS_WHOM, FLAG_TIMEOUT(offsetof(struct flags_common, timeout_us))

/* The rates that a filter may have: SIZING_RATE_MIN to SIZING_RATE_MAX. */
#define FLAG_RATE_BOUNDS .min = 1, .max = OPTION_RATE_ONE / 2, .range = "1e-9 to 50%"

#endif
