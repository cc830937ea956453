/* Counters of a process, again and again: watch ENDPOINT COUNTER... [--every 20ms] [--for 60s]
 *
 * Prints a line for each answer: the time (seconds since 1970, as the shell's $EPOCHREALTIME), then
 * the counters. A process that does not answer, or is not there, makes no lines; it is found again
 * when it is back. Ends after --for, or by a signal.
 */
#include "base/number.h"
#include "client/shell_channel.h"
#include "runtime/hub.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

enum { COUNTERS_MAX = 16, ANSWER_US = 500000, EXIT_USAGE = 2 };

struct watch {
    const char *endpoint;
    const char *counters[COUNTERS_MAX];
    size_t count;
    uint64_t every_us;
    uint64_t for_us;
};

static uint64_t value_of(const struct stats_reply *reply, const char *name)
{
    for (size_t i = 0; i < reply->nvalues; i++) {
        if (strcmp(reply->values[i].name, name) == 0) {
            return reply->values[i].value;
        }
    }
    return 0;
}

static void on_answer(void *context, const struct session_result *result)
{
    const struct watch *self = context;
    struct timeval now;

    if (result->status != STATUS_OK) {
        return;
    }
    (void)gettimeofday(&now, NULL);
    (void)printf("%lld.%06ld", (long long)now.tv_sec, (long)now.tv_usec);
    for (size_t i = 0; i < self->count; i++) {
        (void)printf(" %" PRIu64, value_of(&result->frame->body.stats_reply, self->counters[i]));
    }
    (void)putchar('\n');
    (void)fflush(stdout); /* Whoever reads it wants to know now. */
}

static void run(struct watch *self, struct channel *channel)
{
    struct frame frame = {.kind = FRAME_STATS_REQUEST};
    uint64_t start_us = hub_now_us();

    while (hub_now_us() - start_us < self->for_us && ferror(stdout) == 0) {
        uint64_t next_us = hub_now_us() + self->every_us;

        channel_ask(channel, ANSWER_US, &frame, on_answer, self);
        while (hub_now_us() < next_us) {
            channel_run(channel, next_us - hub_now_us());
        }
    }
}

static bool parse(int argc, char **argv, struct watch *self)
{
    for (int i = 1; i < argc; i++) {
        bool every = strcmp(argv[i], "--every") == 0;

        if (every || strcmp(argv[i], "--for") == 0) {
            uint64_t *value = every ? &self->every_us : &self->for_us;

            if (++i == argc || number_parse_duration(argv[i], value) != STATUS_OK) {
                return false;
            }
        } else if (self->endpoint == NULL) {
            self->endpoint = argv[i];
        } else if (self->count < COUNTERS_MAX) {
            self->counters[self->count++] = argv[i];
        } else {
            return false;
        }
    }
    return self->count > 0;
}

int main(int argc, char **argv)
{
    struct watch watch = {.every_us = 20000, .for_us = 60000000};
    struct channel_options options = {.attempt_us = ANSWER_US};
    struct channel *channel = NULL;
    char reason[CHANNEL_REASON_BYTES];

    if (!parse(argc, argv, &watch)) {
        (void)fprintf(stderr, "usage: watch ENDPOINT COUNTER... [--every 20ms] [--for 60s]\n");
        return EXIT_USAGE;
    }
    options.routers = watch.endpoint;
    if (channel_open(&options, &channel, reason) != STATUS_OK) {
        (void)fprintf(stderr, "watch: %s\n", reason);
        return EXIT_USAGE;
    }
    run(&watch, channel);
    channel_close(&channel);
    return 0;
}
