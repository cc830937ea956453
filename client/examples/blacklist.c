/* blacklist.c - a blacklist that a whole cluster shares:
 *     orbloom create bad.hosts --capacity 1M --fpr 0.01%
 *     blacklist bad.hosts add FILE       # list every line of FILE
 *     blacklist bad.hosts check FILE     # print every line behind listed, clear or unsure
 *     blacklist bad.hosts export FILE    # print only the lines that are listed
 *
 * It fails closed: blocking a good line for a while is the lesser harm, so one that the cluster
 * is not sure about counts as listed (check calls it unsure). stderr says why; the status is 1. */
#include "orbloom.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct action {
    const char *name;
    int (*ask)(struct orbloom *, const char *, const struct orbloom_keys *, uint8_t *);
    const char *shown[4]; /* before lines that are UNKNOWN, PRESENT, ABSENT, MAYBE; NULL: nothing */
} actions[] = {
    {"add", orbloom_add, {NULL, NULL, NULL, NULL}},
    {"check", orbloom_check, {"unsure ", "listed ", "clear ", "unsure "}},
    {"export", orbloom_check, {"", "", NULL, ""}},
};

enum { BYTES = 65536 };                           /* of a batch, not counting its last key */
static char bytes[BYTES + ORBLOOM_MAX_KEY_BYTES]; /* lines without newlines, one after the other */
static uint32_t lengths[BYTES];                   /* enough: a key has 1 byte or more */
static uint8_t answers[BYTES];
static struct orbloom_keys batch = {bytes, lengths, 0};
static int status; /* to exit with */

static void complain(const char *subject, const char *problem)
{
    fprintf(stderr, "blacklist: %s: %s\n", subject, problem);
    status = 1;
}

/* As many lines as fit into a batch; 0 at the end of the input. */
static size_t read_batch(void)
{
    static char *line; /* getline() makes it grow; it is used until the program ends */
    static size_t room;
    ssize_t length;

    for (size_t at = batch.count = 0; at < BYTES && (length = getline(&line, &room, stdin)) > 0;) {
        length -= line[length - 1] == '\n';
        if (length < 1 || length > ORBLOOM_MAX_KEY_BYTES) {
            complain("a line is left out", "a key has 1 to 65,536 bytes");
            continue;
        }
        memcpy(bytes + at, line, (size_t)length);
        at += lengths[batch.count++] = (uint32_t)length;
    }
    return batch.count;
}

static void ask(struct orbloom *cluster, const char *list, const struct action *action)
{
    if (action->ask(cluster, list, &batch, answers) != ORBLOOM_OK) { /* some keys are UNKNOWN */
        complain(action->name, orbloom_error(cluster));
    }
    for (size_t i = 0, at = 0; i < batch.count; at += lengths[i++]) {
        if (action->shown[answers[i]] != NULL) {
            fputs(action->shown[answers[i]], stdout);
            fwrite(bytes + at, 1, lengths[i], stdout);
            putchar('\n');
        }
    }
}

int main(int argc, char **argv)
{
    struct orbloom *cluster = NULL;
    struct orbloom_info info;
    size_t chosen = 0;

    while (argc == 4 && chosen < 3 && strcmp(argv[2], actions[chosen].name) != 0) {
        chosen++;
    }
    if (argc != 4 || chosen == 3) {
        fprintf(stderr, "usage: blacklist NAME add|check|export FILE\n");
        return 2;
    }
    if (freopen(argv[3], "r", stdin) == NULL) {
        complain(argv[3], strerror(errno));
    } else if (orbloom_connect(NULL, &cluster) != ORBLOOM_OK ||
               orbloom_info(cluster, argv[1], &info) != ORBLOOM_OK) {
        complain(argv[1], orbloom_error(cluster)); /* no cluster, or no such list */
    } else {
        while (read_batch() > 0) {
            ask(cluster, argv[1], &actions[chosen]);
        }
        if (ferror(stdin) || fflush(stdout) != 0) {
            complain(argv[3], "cannot be read, or stdout not written");
        }
    }
    orbloom_close(&cluster);
    return status;
}
