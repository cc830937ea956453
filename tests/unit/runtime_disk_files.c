/* A disk of real files keeps the contract of base/disk.h: names, bytes, ends, other threads. */
#include "base/heap.h"
#include "runtime_disk.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { SIZE = 100000 };

TestSuite(runtime_disk_files, .init = disk_set_up, .fini = disk_tear_down, .timeout = 60);

/* Zeros of the size asked for, with room on the disk, for their owner alone. */
Test(runtime_disk_files, a_new_file_is_zeros_with_room)
{
    static uint8_t bytes[SIZE];
    struct disk_files *files;
    struct disk *disk;
    struct stat about;
    uint32_t file = 0;

    (void)umask(0);
    files = disk_open();
    disk = disk_files_disk(files);
    cr_assert_eq(disk->create(disk->context, "a", SIZE, &file), STATUS_OK);
    cr_assert_neq(file, 0);
    bytes[0] = bytes[SIZE - 1] = 1;
    cr_assert_eq(disk->read(disk->context, file, 0, bytes, SIZE), STATUS_OK);
    for (size_t i = 0; i < SIZE; i++) {
        cr_assert_eq(bytes[i], 0);
    }
    cr_assert_eq(stat(disk_path("a"), &about), 0);
    cr_assert_eq(about.st_mode & 07777, 0600);
    cr_assert_eq(about.st_size, SIZE);
    cr_assert_geq(about.st_blocks * 512, SIZE, "its room is reserved");
    cr_assert_eq(stat(disk_folder, &about), 0);
    cr_assert_eq(about.st_mode & 07777, 0700);
    cr_assert_eq(stat(disk_path("lock"), &about), 0);
    cr_assert_eq(about.st_mode & 07777, 0600);
    cr_assert_eq(disk_count(), 1);
    disk_files_close(&files);
}

Test(runtime_disk_files, a_file_may_be_empty_and_grow)
{
    struct disk_files *files = disk_open();
    struct disk *disk = disk_files_disk(files);
    uint64_t size = 1;
    uint8_t byte = 0;
    uint32_t file;

    cr_assert_eq(disk->create(disk->context, "a", 0, &file), STATUS_OK);
    cr_assert_eq(disk->read(disk->context, file, 0, &byte, 1), STATUS_MALFORMED);
    cr_assert_eq(disk->read(disk->context, file, 0, &byte, 0), STATUS_OK);
    cr_assert_eq(disk->write(disk->context, file, 5, span_text("x")), STATUS_OK);
    cr_assert_eq(disk->read(disk->context, file, 5, &byte, 1), STATUS_OK);
    cr_assert_eq(byte, 'x');
    disk->close(disk->context, file);
    cr_assert_eq(disk->open(disk->context, "a", &file, &size), STATUS_OK);
    cr_assert_eq(size, 6);
    disk->close(disk->context, file);
    disk_files_close(&files);
}

/* Read back, also after the folder was opened again. */
Test(runtime_disk_files, what_was_written_is_read_back)
{
    static uint8_t bytes[SIZE];
    static uint8_t got[SIZE];
    struct disk_files *files = disk_open();
    struct disk *disk = disk_files_disk(files);
    uint64_t size = 0;
    uint32_t file;

    for (size_t i = 0; i < SIZE; i++) {
        bytes[i] = (uint8_t)(i * 7 + i / 251);
    }
    cr_assert_eq(disk->create(disk->context, "a", 2 * SIZE, &file), STATUS_OK);
    cr_assert_eq(disk->write(disk->context, file, 777, span_of(bytes, SIZE)), STATUS_OK);
    cr_assert_eq(disk->sync(disk->context, file), STATUS_OK);
    cr_assert_eq(disk->sync_folder(disk->context), STATUS_OK);
    disk_files_close(&files);

    files = disk_open();
    disk = disk_files_disk(files);
    cr_assert_eq(disk->open(disk->context, "a", &file, &size), STATUS_OK);
    cr_assert_eq(size, 2 * SIZE);
    cr_assert_eq(disk->read(disk->context, file, 777, got, SIZE), STATUS_OK);
    cr_assert_arr_eq(got, bytes, SIZE);
    disk->close(disk->context, file);
    disk_files_close(&files);
}

/* Not even in part: a read that passes the end says so. */
Test(runtime_disk_files, a_read_beyond_the_end_is_malformed)
{
    struct disk_files *files = disk_open();
    struct disk *disk = disk_files_disk(files);
    uint8_t bytes[10];
    uint32_t file;

    cr_assert_eq(disk->create(disk->context, "a", 10, &file), STATUS_OK);
    cr_assert_eq(disk->read(disk->context, file, 0, bytes, 10), STATUS_OK);
    cr_assert_eq(disk->read(disk->context, file, 1, bytes, 10), STATUS_MALFORMED);
    cr_assert_eq(disk->read(disk->context, file, UINT64_MAX, bytes, 1), STATUS_MALFORMED);
    cr_assert_eq(disk->write(disk->context, file, UINT64_MAX, span_text("x")), STATUS_NO_SPACE);
    disk_files_close(&files);
}

Test(runtime_disk_files, names_that_are_none_are_refused)
{
    static const char *const names[] = {"",
                                        ".",
                                        "..",
                                        "lock",
                                        "A",
                                        "a/b",
                                        "../a",
                                        "a b",
                                        "a~",
                                        "0123456789012345678901234567890123456789"
                                        "012345678901234567890123"};
    static const char longest[] = "012345678901234567890123456789012345678901234567890123456789abc";
    struct disk_files *files = disk_open();
    struct disk *disk = disk_files_disk(files);
    uint64_t size = 7;
    uint32_t file = 7;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cr_assert_eq(disk->create(disk->context, names[i], 0, &file), STATUS_INVALID, "%s",
                     names[i]);
        cr_assert_eq(disk->open(disk->context, names[i], &file, &size), STATUS_INVALID);
        cr_assert_eq(disk->rename(disk->context, names[i], "b"), STATUS_INVALID);
        cr_assert_eq(disk->rename(disk->context, "b", names[i]), STATUS_INVALID);
        cr_assert_eq(disk->remove(disk->context, names[i]), STATUS_INVALID);
    }
    cr_assert(file == 7 && size == 7);
    cr_assert_eq(disk_count(), 0);
    disk_make(disk, longest, 0);
    disk_files_close(&files);
}

Test(runtime_disk_files, names_that_are_taken_or_missing_are_told_apart)
{
    struct disk_files *files = disk_open();
    struct disk *disk = disk_files_disk(files);
    uint64_t size = 7;
    uint32_t file = 7;

    cr_assert_eq(disk->open(disk->context, "a", &file, &size), STATUS_NOT_FOUND);
    cr_assert_eq(disk->rename(disk->context, "a", "b"), STATUS_NOT_FOUND);
    cr_assert_eq(disk->remove(disk->context, "a"), STATUS_NOT_FOUND);
    disk_make(disk, "a", 5);
    cr_assert_eq(disk->create(disk->context, "a", 9, &file), STATUS_EXISTS);
    cr_assert(file == 7 && size == 7);
    cr_assert_eq(disk->open(disk->context, "a", &file, &size), STATUS_OK);
    cr_assert_eq(size, 5, "what was there is as it was");
    disk_files_close(&files);
}

Test(runtime_disk_files, a_rename_replaces_what_was_there)
{
    struct disk_files *files = disk_open();
    struct disk *disk = disk_files_disk(files);
    uint64_t size = 0;
    uint32_t file;

    disk_make(disk, "a", 5);
    disk_make(disk, "b", 9);
    cr_assert_eq(disk->rename(disk->context, "a", "b"), STATUS_OK);
    cr_assert_eq(disk->open(disk->context, "a", &file, &size), STATUS_NOT_FOUND);
    cr_assert_eq(disk->open(disk->context, "b", &file, &size), STATUS_OK);
    cr_assert_eq(size, 5);
    cr_assert_eq(disk->remove(disk->context, "b"), STATUS_OK);
    cr_assert_eq(disk_count(), 0);
    disk_files_close(&files);
}

static void note_name(void *context, const char *name)
{
    char *names = context;

    (void)strcat(strcat(names, name), " ");
}

/* Plain files with names of ours; no folders, links, strangers' files, nor the lock. */
Test(runtime_disk_files, what_is_not_ours_is_not_listed)
{
    struct disk_files *files = disk_open();
    struct disk *disk = disk_files_disk(files);
    char names[256] = "";

    disk_make(disk, "b.1", 0);
    cr_assert_eq(mkdir(disk_path("folder"), 0700), 0);
    cr_assert_eq(symlink("b.1", disk_path("link")), 0);
    cr_assert_eq(mkfifo(disk_path("pipe"), 0600), 0);
    cr_assert_geq(open(disk_path("README"), O_CREAT | O_CLOEXEC, 0600), 0);
    cr_assert_eq(disk->list(disk->context, note_name, names), STATUS_OK);
    cr_assert_str_eq(names, "b.1 ");
    cr_assert_eq(disk->list(disk->context, note_name, names), STATUS_OK);
    cr_assert_str_eq(names, "b.1 b.1 ", "each time from the start");
    disk_files_close(&files);
}

/* No name leads out of the folder, and a pipe keeps nobody waiting. */
Test(runtime_disk_files, links_are_not_followed_and_pipes_not_opened)
{
    struct disk_files *files = disk_open();
    struct disk *disk = disk_files_disk(files);
    char outside[96];
    uint64_t size;
    uint32_t file;

    (void)snprintf(outside, sizeof outside, "%s/outside", disk_parent);
    cr_assert_geq(open(outside, O_CREAT | O_CLOEXEC, 0600), 0);
    cr_assert_eq(symlink(outside, disk_path("link")), 0);
    cr_assert_eq(symlink("/nowhere", disk_path("dangling")), 0);
    cr_assert_eq(symlink(outside, disk_path("half~")), 0);
    cr_assert_eq(mkfifo(disk_path("pipe"), 0600), 0);
    cr_assert_eq(disk->open(disk->context, "link", &file, &size), STATUS_IO);
    cr_assert_eq(disk->open(disk->context, "pipe", &file, &size), STATUS_IO);
    cr_assert_eq(disk->create(disk->context, "dangling", 5, &file), STATUS_EXISTS);
    cr_assert_eq(disk->create(disk->context, "half", 5, &file), STATUS_IO);
    disk_files_close(&files);
}

/* Whoever is killed while a file is made leaves a name that nobody lists and the next removes. */
Test(runtime_disk_files, half_files_are_removed_when_the_folder_is_opened)
{
    struct disk_files *files = disk_open();

    disk_make(disk_files_disk(files), "a", 0);
    cr_assert_geq(open(disk_path("b~"), O_CREAT | O_CLOEXEC, 0600), 0);
    disk_files_close(&files);
    cr_assert_eq(disk_count(), 2);
    files = disk_open();
    cr_assert_eq(disk_count(), 1);
    disk_files_close(&files);
}

Test(runtime_disk_files, it_tells_the_room_that_is_left)
{
    struct disk_files *files = disk_open();
    struct disk *disk = disk_files_disk(files);
    struct statvfs about;
    uint64_t bytes = 0;

    cr_assert_eq(statvfs(disk_folder, &about), 0);
    cr_assert_eq(disk->room(disk->context, &bytes), STATUS_OK);
    cr_assert_gt(bytes, 0);
    cr_assert_leq(bytes, (uint64_t)about.f_blocks * about.f_frsize);
    disk_files_close(&files);
}

/* A number that was closed is found out, though the kernel has given its descriptor away. */
Test(runtime_disk_files, a_closed_file_is_not_another, .signal = SIGABRT)
{
    struct disk_files *files = disk_open();
    struct disk *disk = disk_files_disk(files);
    uint32_t old;
    uint32_t file;

    cr_assert_eq(disk->create(disk->context, "a", 5, &old), STATUS_OK);
    disk->close(disk->context, old);
    cr_assert_eq(disk->create(disk->context, "b", 5, &file), STATUS_OK);
    (void)disk->write(disk->context, old, 0, span_text("x"));
}

enum { WORKERS = 4, ROUNDS = 200, OPEN = 20 };

struct worker {
    struct disk *disk;
    pthread_t thread;
    unsigned index;
    unsigned wrong;
};

/* Some files stay open, so that the table grows while others use it. */
static void *use_files(void *context)
{
    struct worker *self = context;
    struct disk *disk = self->disk;
    uint32_t file;

    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned wanted = self->index << 16 | i;
        unsigned got = 0;
        char name[32];

        (void)snprintf(name, sizeof name, "file-%u-%u", self->index, i);
        if (disk->create(disk->context, name, sizeof wanted, &file) != STATUS_OK) {
            self->wrong++;
            continue;
        }
        self->wrong += disk->write(disk->context, file, 0, span_of(&wanted, sizeof wanted)) != 0;
        self->wrong += disk->read(disk->context, file, 0, &got, sizeof got) != 0 || got != wanted;
        self->wrong += i >= OPEN && disk->remove(disk->context, name) != 0;
        if (i >= OPEN) {
            disk->close(disk->context, file);
        }
    }
    return NULL;
}

Test(runtime_disk_files, threads_share_it)
{
    struct disk_files *files = disk_open();
    struct worker workers[WORKERS];

    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.disk = disk_files_disk(files), .index = i};
        cr_assert_eq(pthread_create(&workers[i].thread, NULL, use_files, &workers[i]), 0);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        cr_assert_eq(pthread_join(workers[i].thread, NULL), 0);
        cr_assert_eq(workers[i].wrong, 0);
    }
    cr_assert_eq(disk_count(), WORKERS * OPEN);
    disk_files_close(&files);
}

static enum status open_two(void)
{
    struct disk_files *files = NULL;
    enum status status = disk_files_open(disk_folder, &files);
    uint32_t file = 7;

    for (unsigned i = 0; i < 20 && status == STATUS_OK; i++) { /* past the table's first size */
        struct disk *disk = disk_files_disk(files);
        char name[16];

        (void)snprintf(name, sizeof name, "file-%u", i);
        status = disk->create(disk->context, name, 1, &file);
        if (status != STATUS_OK) {
            cr_assert_eq(disk_count(), i, "what could not be opened is not left");
        }
    }
    disk_files_close(&files);
    return status;
}

/* Every allocation fails once; nothing is left behind. */
Test(runtime_disk_files, lack_of_memory_is_survived)
{
    enum status status = STATUS_NOMEM;
    size_t before = heap_live();
    unsigned n;

    for (n = 0; status != STATUS_OK; n++) {
        char command[128];

        heap_fault_after(n);
        status = open_two();
        heap_fault_clear();
        cr_assert(status == STATUS_OK || status == STATUS_NOMEM);
        cr_assert_eq(heap_live(), before);
        (void)snprintf(command, sizeof command, "rm -rf %s", disk_folder);
        cr_assert_eq(system(command), 0);
    }
    cr_assert_geq(n, 3);
}
