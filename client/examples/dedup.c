/* dedup.c - print each line the first time that anybody in the cluster sees it, in input order.
 *
 *     orbloom create urls --capacity 10M --fpr 0.01%
 *     dedup urls < crawl.txt > new.txt
 * A line is left out only when the cluster says that it was added before. Without an answer
 * nobody knows, so the line is printed (twice is better than never); then the exit status is 1. */
#include "orbloom.h"

#include <stdio.h>
#include <string.h>

/* A chunk of the input: lines without newlines, one after the other as the library takes keys. */
enum { LINES = 32000, BYTES = 4 << 20, BATCH = 1000, WAIT_MS = 60000 };
static char bytes[BYTES + ORBLOOM_MAX_KEY_BYTES];
static size_t starts[LINES];
static uint32_t lengths[LINES];
static uint8_t answers[LINES];
static size_t count;
static int status; /* to exit with */

static void complain(const char *problem, const char *cause)
{
    fprintf(stderr, "dedup: %s%s\n", problem, cause);
    status = 1;
}

static size_t read_chunk(void)
{
    static char *line; /* getline() makes it grow; it is used until the program ends */
    static size_t room;
    size_t used = count = 0;
    ssize_t length;

    while (count < LINES && used < BYTES && (length = getline(&line, &room, stdin)) > 0) {
        length -= line[length - 1] == '\n';
        if (length < 1 || length > ORBLOOM_MAX_KEY_BYTES) {
            complain("a line is left out: ", "a key has 1 to 65,536 bytes");
            continue;
        }
        memcpy(bytes + used, line, (size_t)length);
        starts[count] = used;
        used += lengths[count++] = (uint32_t)length;
    }
    return count;
}

/* Add the chunk in batches that are all in flight at once, then print what is new. */
static void dedup_chunk(struct orbloom *cluster, const char *filter)
{
    struct orbloom_request add = {.filter = filter, .operation = ORBLOOM_ADD};
    struct orbloom_completion done;

    memset(answers, ORBLOOM_UNKNOWN, sizeof answers);
    for (size_t i = 0; i < count; i += BATCH) {
        add.keys = (struct orbloom_keys){bytes + starts[i], lengths + i, count - i};
        add.keys.count = add.keys.count < BATCH ? add.keys.count : BATCH;
        add.user = answers + i; /* where the answers belong */
        if (orbloom_submit(cluster, &add) != ORBLOOM_OK) {
            complain("printed all the same: ", orbloom_error(cluster));
        }
    }
    while (orbloom_wait(cluster, WAIT_MS, &done) == 1) { /* in any order; 0 after the last */
        memcpy(done.user, done.answers, done.count);
        if (done.code != ORBLOOM_OK) {
            complain("printed all the same: ", done.message);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (answers[i] != ORBLOOM_PRESENT) { /* NEW, MAYBE_NEW or UNKNOWN */
            fwrite(bytes + starts[i], 1, lengths[i], stdout);
            putchar('\n');
        }
    }
}

int main(int argc, char **argv)
{
    struct orbloom_options options = {.in_order = 1}; /* equal lines: the first is the new one */
    struct orbloom *cluster = NULL;
    struct orbloom_info info;

    if (argc != 2) {
        fprintf(stderr, "usage: dedup FILTER < LINES\n");
        return 2;
    }
    if (orbloom_connect(&options, &cluster) != ORBLOOM_OK ||
        orbloom_info(cluster, argv[1], &info) != ORBLOOM_OK) {
        complain("", orbloom_error(cluster)); /* no cluster, or no such filter */
    } else {
        while (!ferror(stdout) && read_chunk() > 0) {
            dedup_chunk(cluster, argv[1]);
        }
    }
    if (ferror(stdin) || fflush(stdout) != 0) {
        complain("stdin cannot be read, or stdout not written", "");
    }
    orbloom_close(&cluster);
    return status;
}
