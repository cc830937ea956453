/* memory_disk_private.h - what a disk in memory consists of; shared by memory_disk*.c only.
 *
 *   memory_disk.c        files, names, and the seam
 *   memory_disk_crash.c  what of them outlives a process, or the power
 */
#ifndef ORBLOOM_TESTS_SUPPORT_MEMORY_DISK_PRIVATE_H
#define ORBLOOM_TESTS_SUPPORT_MEMORY_DISK_PRIVATE_H

#include "tests/support/memory_disk.h"

enum { MAX_FILES = 512, MAX_HANDLES = 64, MAX_FOLDER_OPS = 256 };

struct write {
    struct write *next;
    uint64_t offset;
    size_t size;
    bool failed; /* it may be found after a crash, not before */
    uint8_t bytes[];
};

/* What was written and not synced is in `bytes` and in the list; `synced` lacks it. */
struct file {
    uint8_t *bytes;
    size_t size;
    uint8_t *synced;
    size_t synced_size;
    struct write *writes; /* in order */
    struct write **tail;
    unsigned names; /* present and durable ones */
};

struct name {
    char text[DISK_NAME_BYTES];
    int file; /* -1: none of that name */
};

struct folder {
    struct name names[MAX_FILES];
    size_t count;
};

enum folder_op_kind { OP_CREATE, OP_RENAME, OP_REMOVE };

struct folder_op {
    enum folder_op_kind kind;
    char from[DISK_NAME_BYTES];
    char to[DISK_NAME_BYTES];
    int file;
};

struct memory_disk {
    struct disk seam;
    struct file *files[4 * MAX_FILES];
    int nfiles;
    struct folder now;
    struct folder durable;
    struct folder_op ops[MAX_FOLDER_OPS];
    size_t nops;
    int handles[MAX_HANDLES]; /* file or -1 */
    uint64_t room;
    int64_t left; /* operations before one fails, or MEMORY_DISK_NEVER */
    bool once;
    enum status failure;
    uint64_t operations;
    uint64_t syncs;
    uint64_t reads;
};

void memory_disk_apply(struct folder *folder, const struct folder_op *op);
void memory_disk_resize(uint8_t **bytes, size_t *size, size_t wanted);
void memory_disk_put_bytes(uint8_t **bytes, size_t *size, uint64_t offset, const uint8_t *from,
                           size_t count);
void memory_disk_forget_writes(struct file *file);

/* Free the files that no name and no handle leads to. */
void memory_disk_collect(struct memory_disk *self);

#endif
