/* What a RESP server holds of requests that are never finished, and how it serves others meanwhile.
 *
 *   unfinished SOCKET PID [--clients 1000] [--bytes 32505856] [--argument 1048576] [--for 60s]
 *              [--rest 1s] [--again]
 *
 * Prints a name and a value a line: the server's memory of its own before (memory_before), at its
 * peak (memory_peak) and a second after all have left (memory_after), clients that were closed with
 * and without an error (told, mute), those that had sent all in the end (waiting), bytes sent, and
 * the worst PING of another client (worst_ping_us). --again: whoever is closed dials anew, until
 * the time is over.
 */
#include "base/number.h"
#include "bench/crowd.h"
#include "bench/onlooker.h"
#include "runtime/hub.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, AFTER_US = 1000000, MOST_CLIENTS = 100000, MOST_BYTES = 32 << 20 };

static bool parse_count(const char *text, uint32_t most, uint32_t *out)
{
    uint64_t value;

    if (number_parse_count(text, &value) != STATUS_OK || value == 0 || value > most) {
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

static bool parse_flag(struct crowd_plan *plan, const char *name, const char *value)
{
    if (value == NULL) {
        return false;
    }
    if (strcmp(name, "--clients") == 0) {
        return parse_count(value, MOST_CLIENTS, &plan->clients);
    }
    if (strcmp(name, "--bytes") == 0) {
        return parse_count(value, MOST_BYTES, &plan->request_bytes);
    }
    if (strcmp(name, "--argument") == 0) {
        return parse_count(value, MOST_BYTES, &plan->argument_bytes);
    }
    if (strcmp(name, "--for") == 0) {
        return number_parse_duration(value, &plan->for_us) == STATUS_OK;
    }
    return strcmp(name, "--rest") == 0 && number_parse_duration(value, &plan->rest_us) == STATUS_OK;
}

static bool parse(int argc, char **argv, struct crowd_plan *plan, pid_t *pid)
{
    uint32_t number = 0;

    if (argc < 3 || !parse_count(argv[2], INT32_MAX, &number)) {
        return false;
    }
    plan->path = argv[1];
    *pid = (pid_t)number;
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "--again") == 0) {
            plan->again = true;
        } else if (!parse_flag(plan, argv[i], i + 1 < argc ? argv[i + 1] : NULL)) {
            return false;
        } else {
            i++;
        }
    }
    return true;
}

static void show(const struct crowd_result *result, const struct onlooker *onlooker)
{
    (void)printf("memory_before %" PRIu64 "\nmemory_peak %" PRIu64 "\nmemory_after %" PRIu64
                 "\ntold %" PRIu64 "\nmute %" PRIu64 "\nwaiting %" PRIu64 "\nsent %" PRIu64
                 "\npings %" PRIu64 "\nworst_ping_us %" PRIu64 "\n",
                 onlooker->first_bytes, onlooker->peak_bytes, onlooker->last_bytes, result->told,
                 result->mute, result->waiting, result->sent_bytes, onlooker->pings,
                 onlooker->worst_ping_us);
}

int main(int argc, char **argv)
{
    struct crowd_plan plan = {.clients = 1000,
                              .request_bytes = 31 << 20,
                              .argument_bytes = 1 << 20,
                              .for_us = 60000000,
                              .rest_us = 1000000};
    static struct onlooker onlooker;
    struct crowd_result result;
    char reason[CROWD_REASON_BYTES];
    pid_t pid;
    bool good;

    if (!parse(argc, argv, &plan, &pid)) {
        (void)fprintf(stderr, "usage: unfinished SOCKET PID [--clients N] [--bytes N] "
                              "[--argument N] [--for TIME] [--rest TIME] [--again]\n");
        return EXIT_USAGE;
    }
    if (!onlooker_start(&onlooker, plan.path, pid)) {
        (void)fprintf(stderr, "unfinished: %s\n", onlooker.reason);
        return 1;
    }
    good = crowd_run(&plan, &result, reason);
    (void)usleep(AFTER_US);
    if (!onlooker_stop(&onlooker)) {
        (void)snprintf(reason, sizeof reason, "%s", onlooker.reason);
        good = false;
    }
    if (!good) {
        (void)fprintf(stderr, "unfinished: %s\n", reason);
        return 1;
    }
    show(&result, &onlooker);
    return 0;
}
