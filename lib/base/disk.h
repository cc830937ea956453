/* disk.h - the seam between what is stored and the disk: one flat folder of files.
 *
 * lib/runtime does it with real files, tests/support/memory_disk.h in memory, where it tears, loses
 * and reorders what was not synced. What a crash may do, and what code above must expect:
 *
 *   - a write is durable once sync() of its file has returned OK; before that any part of it, in
 *     any order of sectors (512 bytes), may or may not be found after a crash
 *   - create, rename and remove are durable once sync_folder() has returned OK; before that the
 *     old or the new name may be found
 *   - nothing else changes what was synced
 *
 * Names:   [a-z0-9.-]{1,63}, no folders; not ".", ".." nor "lock".
 * Units:   bytes.
 * Errors:  STATUS_IO (a write or sync that failed leaves the file in an unknown state: whoever
 *          needs it durable must not go on), STATUS_NO_SPACE, STATUS_NOT_FOUND, STATUS_EXISTS,
 *          STATUS_NOMEM; STATUS_MALFORMED: a read beyond the end; STATUS_INVALID: not a name.
 * Threads: any; one file by one thread at a time.
 */
#ifndef ORBLOOM_BASE_DISK_H
#define ORBLOOM_BASE_DISK_H

#include "base/span.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { DISK_NAME_BYTES = 64 };

struct disk {
    void *context;

    /* Tell every name, in any order; `visit` must not change the folder. */
    enum status (*list)(void *context, void (*visit)(void *argument, const char *name),
                        void *argument);

    /* A new file of zeros, its room on the disk reserved: writes within it never lack space. */
    enum status (*create)(void *context, const char *name, uint64_t size, uint32_t *file);
    enum status (*open)(void *context, const char *name, uint32_t *file, uint64_t *size);
    void (*close)(void *context, uint32_t file);

    /* All of it, or an error. Writing beyond the end makes the file longer. */
    enum status (*read)(void *context, uint32_t file, uint64_t offset, void *into, size_t size);
    enum status (*write)(void *context, uint32_t file, uint64_t offset, struct span bytes);
    enum status (*sync)(void *context, uint32_t file);

    enum status (*rename)(void *context, const char *from, const char *to); /* replaces `to` */
    enum status (*remove)(void *context, const char *name);
    enum status (*sync_folder)(void *context);

    /* What is left on the disk. */
    enum status (*room)(void *context, uint64_t *bytes);

    /* So much of it will be read soon: the system may begin to. NULL: that changes nothing. */
    void (*ahead)(void *context, uint32_t file, uint64_t offset, uint64_t size);

    /* Sleep before something that failed is tried again, for the n-th time, from 1 on; NULL: tried
     * at once. */
    void (*pause)(void *context, unsigned n);
};

#endif
