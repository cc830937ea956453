/* What a real folder may refuse: sharing, permission, room. Each has its reason in the log. */
#include "runtime_disk.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { LIMIT_BYTES = 65536, OTHER_USER = 65534, TMPFS_BYTES = 1 << 20 };

TestSuite(runtime_disk_refusals, .init = disk_set_up, .fini = disk_tear_down, .timeout = 60);

/* A process that has the folder open until it is killed; it writes one byte when it has. */
static pid_t start_holder(void)
{
    int ready[2];
    char byte = 0;
    pid_t pid;

    cr_assert_eq(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        struct disk_files *files = NULL;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* when the test fails */
        if (disk_files_open(disk_folder, &files) != STATUS_OK || write(ready[1], "x", 1) != 1) {
            _exit(1);
        }
        for (;;) {
            (void)pause();
        }
    }
    (void)close(ready[1]);
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    return pid;
}

/* The other process is named; its lock ends with it, even by kill -9. */
Test(runtime_disk_refusals, one_process_at_a_time)
{
    pid_t holder = start_holder();
    struct disk_files *files;
    char text[64];

    (void)snprintf(text, sizeof text, "in use by process %d; stop it", (int)holder);
    disk_expect_refused(disk_folder, STATUS_EXISTS, text);
    cr_assert_eq(kill(holder, SIGKILL), 0);
    cr_assert_eq(waitpid(holder, NULL, 0), holder);
    files = disk_open();
    (void)snprintf(text, sizeof text, "in use by process %d; stop it", (int)getpid());
    disk_expect_refused(disk_folder, STATUS_EXISTS, text);
    disk_files_close(&files);
    files = disk_open();
    disk_files_close(&files);
}

Test(runtime_disk_refusals, a_folder_that_is_none_is_refused)
{
    char path[PATH_MAX + 16];

    (void)snprintf(path, sizeof path, "%s/none/data", disk_parent);
    disk_expect_refused(path, STATUS_IO, "make its parent folder first");
    (void)snprintf(path, sizeof path, "%s/file", disk_parent);
    cr_assert_geq(open(path, O_CREAT | O_CLOEXEC, 0600), 0);
    disk_expect_refused(path, STATUS_IO, "choose a folder");
}

/* A lock that is a link would have its target overwritten. */
Test(runtime_disk_refusals, a_lock_that_is_a_link_is_refused)
{
    cr_assert_eq(mkdir(disk_folder, 0700), 0);
    cr_assert_eq(symlink("/etc/passwd", disk_path("lock")), 0);
    disk_expect_refused(disk_folder, STATUS_IO, "symbolic link");
}

/* Root may do all: become somebody else. The lock may be ours where the folder is not. */
Test(runtime_disk_refusals, a_folder_of_another_user_is_refused)
{
    bool root = geteuid() == 0;

    cr_assert_eq(mkdir(disk_folder, 0755), 0);
    cr_assert_geq(open(disk_path("lock"), O_CREAT | O_CLOEXEC, 0600), 0);
    if (root) {
        cr_assert_eq(chown(disk_path("lock"), OTHER_USER, OTHER_USER), 0);
        cr_assert_eq(seteuid(OTHER_USER), 0);
    } else {
        cr_assert_eq(chmod(disk_folder, 0500), 0);
    }
    disk_expect_refused(disk_folder, STATUS_IO, "must own the folder");
    if (root) {
        cr_assert_eq(seteuid(0), 0);
        cr_assert_eq(chmod(disk_folder, 0700), 0);
        cr_assert_eq(seteuid(OTHER_USER), 0);
        disk_expect_refused(disk_folder, STATUS_IO, "must own the folder");
        cr_assert_eq(seteuid(0), 0);
    } else {
        cr_assert_eq(chmod(disk_folder, 0700), 0);
    }
}

/* No file may grow past LIMIT_BYTES. */
static void limit_files(void)
{
    const struct rlimit limit = {.rlim_cur = LIMIT_BYTES, .rlim_max = RLIM_INFINITY};

    (void)signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Half a file is worse than none. */
Test(runtime_disk_refusals, a_file_without_room_is_not_left)
{
    struct disk_files *files = disk_open();
    struct disk *disk = disk_files_disk(files);
    uint32_t file = 7;

    limit_files();
    cr_assert_eq(disk->create(disk->context, "a", LIMIT_BYTES + 1, &file), STATUS_NO_SPACE);
    cr_assert_eq(disk->create(disk->context, "a", UINT64_MAX, &file), STATUS_NO_SPACE);
    cr_assert_eq(file, 7);
    cr_assert_eq(disk_count(), 0);
    disk_make(disk, "a", LIMIT_BYTES);
    disk_files_close(&files);
}

/* The kernel takes what fits and refuses the rest: a short write is gone on with, then told. */
Test(runtime_disk_refusals, a_write_without_room_is_told)
{
    static uint8_t bytes[LIMIT_BYTES];
    struct disk_files *files = disk_open();
    struct disk *disk = disk_files_disk(files);
    uint32_t file;

    limit_files();
    cr_assert_eq(disk->create(disk->context, "a", 10, &file), STATUS_OK);
    cr_assert_eq(disk->write(disk->context, file, 0, span_of(bytes, sizeof bytes)), STATUS_OK);
    cr_assert_eq(disk->write(disk->context, file, 10, span_of(bytes, sizeof bytes)),
                 STATUS_NO_SPACE);
    disk_files_close(&files);
}

/* A small disk of our own over the folder; false where this is not permitted. */
static bool mount_small(void)
{
    cr_assert_eq(mkdir(disk_folder, 0700), 0);
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", disk_folder, "tmpfs", 0, "size=1m,mode=700") == 0;
}

Test(runtime_disk_refusals, a_full_disk_takes_no_file_and_keeps_those_it_has)
{
    static uint8_t bytes[TMPFS_BYTES / 2];
    struct disk_files *files;
    struct disk *disk;
    uint64_t room = 0;
    uint32_t file;
    uint32_t other = 7;

    if (!mount_small()) {
        cr_skip_test("a disk can't be mounted here");
    }
    files = disk_open();
    disk = disk_files_disk(files);
    cr_assert_eq(disk->create(disk->context, "a", sizeof bytes, &file), STATUS_OK);
    cr_assert_eq(disk->create(disk->context, "b", sizeof bytes, &other), STATUS_NO_SPACE);
    cr_assert_eq(disk_count(), 1);
    cr_assert_eq(disk->room(disk->context, &room), STATUS_OK);
    cr_assert_gt(room, 0);
    cr_assert_lt(room, sizeof bytes);
    disk_make(disk, "c", room);
    cr_assert_eq(disk->room(disk->context, &room), STATUS_OK);
    cr_assert_eq(room, 0);
    cr_assert_eq(disk->write(disk->context, file, 0, span_of(bytes, sizeof bytes)), STATUS_OK,
                 "its room was reserved");
    cr_assert_eq(disk->write(disk->context, file, sizeof bytes, span_text("x")), STATUS_NO_SPACE);
    cr_assert_eq(other, 7);
    disk_files_close(&files);
    files = disk_open(); /* without room for the process's number */
    disk_files_close(&files);
    cr_assert_eq(umount(disk_folder), 0);
}

Test(runtime_disk_refusals, a_disk_that_is_read_only_is_refused)
{
    if (!mount_small()) {
        cr_skip_test("a disk can't be mounted here");
    }
    cr_assert_eq(mount(NULL, disk_folder, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    disk_expect_refused(disk_folder, STATUS_IO, "mount its file system for writing");
    cr_assert_eq(umount(disk_folder), 0);
}
