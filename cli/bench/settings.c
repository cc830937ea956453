/* What the flags say, checked against each other, since targets don't take the same ones. */
#include "cli/bench/settings.h"

#include "cli/bench/bits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_DEFAULT_MOST = 1000000 };

static int refuse(const char *message)
{
    return cmd_fail(STATUS_USAGE, "%s", message);
}

static enum redis_method method_of(const char *name)
{
    if (strcmp(name, "bits") == 0) {
        return REDIS_BITS;
    }
    if (strcmp(name, "bloom") == 0) {
        return REDIS_BLOOM;
    }
    return strcmp(name, "bloom-one") == 0 ? REDIS_BLOOM_ONE : REDIS_SET;
}

static int check_redis(struct bench_settings *self)
{
    const char *place = self->redis != NULL ? self->redis : getenv("ORBLOOM_REDIS");

    self->method = self->method != NULL ? self->method : "set";
    self->redis_method = method_of(self->method);
    if (place == NULL || place[0] == '\0') {
        return refuse("no Redis server is named, and there is no default, so that nobody's is "
                      "filled by accident; give --redis HOST:PORT or unix:PATH, or set "
                      "$ORBLOOM_REDIS");
    }
    if (!redis_place_parse(place, &self->place)) {
        return cmd_fail(STATUS_INVALID,
                        "\"%.100s\" is no Redis server's endpoint; write HOST:PORT or unix:PATH "
                        "(at most 107 bytes)",
                        place);
    }
    if (self->redis_method == REDIS_BITS && bits_for_keys(self->size) > bits_most) {
        return cmd_fail(STATUS_INVALID,
                        "a Redis string holds the bits of %" PRIu64 " keys at most; give a "
                        "smaller --size",
                        bits_most / BITS_A_KEY);
    }
    return CMD_OK;
}

static int check_target(struct bench_settings *self)
{
    self->is_redis = strcmp(self->target, "redis") == 0;
    if (self->is_redis) {
        return check_redis(self);
    }
    if (self->method != NULL || self->redis != NULL) {
        return refuse("--method and --redis are for --target redis; add it, or leave them out");
    }
    self->method = "";
    return CMD_OK;
}

static int check_filter(const struct bench_settings *self)
{
    if (self->is_fill && self->filter == NULL) {
        return refuse("--op fill leaves a filter behind; give it a name with --filter NAME");
    }
    if (self->is_fill && self->filled) {
        return refuse("--op fill fills, --filled says that it is done; leave one of them out");
    }
    if (self->filled && (self->filter == NULL || self->size == 0)) {
        return refuse("--filled needs to know what holds how many keys; give --filter NAME "
                      "--size KEYS");
    }
    return CMD_OK;
}

static void set_size(struct bench_settings *self)
{
    uint64_t half = self->keys > 1 ? self->keys / 2 : 1;

    if (self->size == 0) {
        self->size = half < SIZE_DEFAULT_MOST ? half : SIZE_DEFAULT_MOST;
    }
}

int bench_settings_parse(struct bench_settings *self, int argc, char **argv)
{
    struct option_words words;
    int code;

    if (options_parse_command(bench_flags(), argc, argv, self, &words) != STATUS_OK ||
        (self->filter != NULL && !cmd_check_filter_name(self->filter))) {
        return CMD_USAGE;
    }
    self->is_fill = strcmp(self->operation, "fill") == 0;
    code = check_filter(self);
    if (code != CMD_OK) {
        return code;
    }
    set_size(self);
    if (self->fresh == 0) {
        self->fresh = self->size;
    }
    if (self->fresh < self->size) {
        return refuse("keys below --size are in the filter already; give a --fresh of at least "
                      "--size");
    }
    return check_target(self);
}
