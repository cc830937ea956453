/* settings.h - what `orbloom bench` is asked to do.
 *
 * Owner:   texts point into argv and the environment.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_BENCH_SETTINGS_H
#define ORBLOOM_CLI_BENCH_SETTINGS_H

#include "cli/bench/place.h"
#include "cli/bench/resp.h"
#include "cli/cmd.h"

struct bench_settings {
    struct flags_common common;
    const char *target;
    const char *method;
    const char *redis;
    const char *filter;
    const char *operation;
    uint64_t keys;
    uint64_t batch;
    uint64_t in_flight;
    uint64_t size;
    uint64_t fresh;
    uint64_t pace;   /* 0: as fast as answers come */
    uint64_t for_us; /* 0: until all keys are sent */
    double rate;
    const char *hash;
    const char *dir;
    bool filled;
    bool no_header;
    bool json;

    /* What follows from them. */
    bool is_redis;
    bool is_fill;
    enum redis_method redis_method;
    struct redis_place place;
};

const struct option_table *bench_flags(void);

/* Parse, check what must fit together, and set what was left out; CMD_OK or CMD_USAGE after
 * printing why. */
int bench_settings_parse(struct bench_settings *self, int argc, char **argv);

#endif
