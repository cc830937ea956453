/* plain_disk.h - a disk in memory for tests of files: bytes at hand, operations that fail.
 *
 * Knows nothing of crashes: what was written is there.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_PLAIN_DISK_H
#define ORBLOOM_TESTS_SUPPORT_PLAIN_DISK_H

#include "base/disk.h"

#include <stdbool.h>

enum { PLAIN_DISK_FILES = 128, PLAIN_DISK_NEVER = -1 };

struct plain_file {
    char name[DISK_NAME_BYTES]; /* "": none */
    uint8_t *bytes;
    uint64_t size;
    uint64_t unsynced; /* writes since the last sync */
    unsigned opened;
};

struct plain_disk {
    struct disk disk;
    struct plain_file files[PLAIN_DISK_FILES];
    uint64_t room;           /* bytes that files may still grow by */
    int fail_after;          /* operations that succeed before one fails, or PLAIN_DISK_NEVER */
    enum status fail_status; /* what that one says */
    unsigned unsynced_names; /* names made or removed since the last sync of the folder */
};

/* Boundless room, no failures. */
void plain_disk_init(struct plain_disk *self);
void plain_disk_fini(struct plain_disk *self);

/* NULL: no such file. */
struct plain_file *plain_disk_find(struct plain_disk *self, const char *name);

/* Make the file that long; zeros are appended. */
void plain_disk_resize(struct plain_file *file, uint64_t size);

size_t plain_disk_nfiles(const struct plain_disk *self);
size_t plain_disk_nopen(const struct plain_disk *self);

#endif
