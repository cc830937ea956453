/* What the disk can do for a log: 4 KiB written behind the last, then synced, again and again, by
 * several writers at once, each in a file of its own, as nodes that share a disk do.
 *
 *   disk DIR [--writers 3] [--for 3s]
 *
 * Files are made in DIR/bench-disk and removed; their room is reserved first, as the log's is.
 * Prints a row as bench/rows.h reads them: the latency is that of the first writer, syncs a second
 * are of all.
 */
#include "base/heap.h"
#include "base/number.h"
#include "base/telemetry/latency.h"
#include "runtime/disk_files.h"
#include "runtime/hub.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITERS_MAX = 16, WRITE_BYTES = 4096, FILE_BYTES = 64 << 20, EXIT_USAGE = 2 };

struct writer {
    pthread_t thread;
    const struct disk *disk;
    char name[DISK_NAME_BYTES];
    uint64_t until_us;
    uint64_t count;
    struct latency latency;
};

static void need(enum status status, const char *what)
{
    if (status != STATUS_OK) {
        (void)fprintf(stderr, "disk: %s: %s\n", what, status_meaning(status));
        exit(1);
    }
}

static void *run(void *context)
{
    struct writer *self = context;
    static const uint8_t bytes[WRITE_BYTES] = {1};
    uint64_t now_us = hub_now_us();
    uint32_t file;

    need(self->disk->create(self->disk->context, self->name, FILE_BYTES, &file), self->name);
    for (uint64_t place = 0; now_us < self->until_us; place += WRITE_BYTES) {
        uint64_t start_us = now_us;

        need(self->disk->write(self->disk->context, file, place % FILE_BYTES,
                               span_of(bytes, sizeof bytes)),
             self->name);
        need(self->disk->sync(self->disk->context, file), self->name);
        now_us = hub_now_us();
        latency_add(&self->latency, now_us - start_us);
        self->count++;
    }
    self->disk->close(self->disk->context, file);
    need(self->disk->remove(self->disk->context, self->name), self->name);
    return NULL;
}

static void measure(struct disk *disk, struct writer *writers, uint64_t nwriters, uint64_t for_us)
{
    uint64_t until_us = hub_now_us() + for_us;
    uint64_t count = 0;

    for (uint64_t i = 0; i < nwriters; i++) {
        writers[i].disk = disk;
        writers[i].until_us = until_us;
        (void)snprintf(writers[i].name, sizeof writers[i].name, "sync-%" PRIu64, i);
        need(pthread_create(&writers[i].thread, NULL, run, &writers[i]) == 0 ? STATUS_OK
                                                                             : STATUS_NOMEM,
             "a thread can't be started");
    }
    for (uint64_t i = 0; i < nwriters; i++) {
        (void)pthread_join(writers[i].thread, NULL);
        count += writers[i].count;
    }
    (void)printf("{\"target\": \"disk\", \"method\": \"sync\", \"op\": \"write\", \"batch\": 1, "
                 "\"in_flight\": %" PRIu64 ", \"size\": %d, \"keys_per_s\": %.9g, "
                 "\"p50_us\": %" PRIu64 ", \"p99_us\": %" PRIu64 "}\n",
                 nwriters, WRITE_BYTES, (double)count * 1e6 / (double)for_us,
                 latency_quantile_us(&writers[0].latency, 0.5),
                 latency_quantile_us(&writers[0].latency, 0.99));
}

static bool parse(int argc, char **argv, uint64_t *nwriters, uint64_t *for_us)
{
    for (int i = 2; i + 1 < argc; i += 2) {
        bool good = strcmp(argv[i], "--writers") == 0
                        ? number_parse_count(argv[i + 1], nwriters) == STATUS_OK
                        : strcmp(argv[i], "--for") == 0 &&
                              number_parse_duration(argv[i + 1], for_us) == STATUS_OK;

        if (!good) {
            return false;
        }
    }
    return argc >= 2 && argc % 2 == 0 && *nwriters >= 1 && *nwriters <= WRITERS_MAX && *for_us > 0;
}

int main(int argc, char **argv)
{
    static struct writer writers[WRITERS_MAX];
    struct disk_files *files = NULL;
    uint64_t nwriters = 3;
    uint64_t for_us = 3000000;
    char path[4096];
    char lock[sizeof path + sizeof "/lock"];

    if (!parse(argc, argv, &nwriters, &for_us)) {
        (void)fprintf(stderr, "usage: disk DIR [--writers 3 (1 .. %d)] [--for 3s]\n", WRITERS_MAX);
        return EXIT_USAGE;
    }
    (void)snprintf(path, sizeof path, "%s/bench-disk", argv[1]);
    need(disk_files_open(path, &files), path);
    measure(disk_files_disk(files), writers, nwriters, for_us);
    disk_files_close(&files);
    (void)snprintf(lock, sizeof lock, "%s/lock", path);
    (void)unlink(lock);
    (void)rmdir(path);
    return 0;
}
