/* Files: whole or not at all, bounded, and a cluster key that only its owner may use. */
#include "base/heap.h"
#include "map/access/seal.h"
#include "runtime/file.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

static void set_up(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/orbloom-file-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        abort();
    }
}

static void tear_down(void)
{
    char command[128];

    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0) {
        abort();
    }
}

TestSuite(runtime_file, .init = set_up, .fini = tear_down, .timeout = 60);

static const char *in_folder(const char *name)
{
    static char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static unsigned count_files(void)
{
    DIR *open = opendir(folder);
    unsigned count = 0;

    cr_assert_not_null(open);
    while (readdir(open) != NULL) {
        count++;
    }
    cr_assert_eq(closedir(open), 0);
    return count - 2; /* "." and ".." */
}

/* What is written is read back, whatever bytes; a second write replaces it, and the mode. */
Test(runtime_file, what_was_written_is_read_back)
{
    static uint8_t content[100000];
    const char *path = in_folder("a");
    struct buffer read;
    struct stat about;

    for (size_t i = 0; i < sizeof content; i++) {
        content[i] = (uint8_t)(i * 7);
    }
    buffer_init(&read, 1 << 20);
    cr_assert_eq(file_write(path, 0644, span_text("old")), STATUS_OK);
    cr_assert_eq(file_write(path, 0600, span_of(content, sizeof content)), STATUS_OK);
    cr_assert_eq(file_read(path, &read), STATUS_OK);
    cr_assert(span_equal(buffer_span(&read), span_of(content, sizeof content)));
    cr_assert_eq(stat(path, &about), 0);
    cr_assert_eq(about.st_mode & 07777, 0600);
    cr_assert_eq(file_read(path, &read), STATUS_OK, "it appends");
    cr_assert_eq(read.size, 2 * sizeof content);
    cr_assert_eq(count_files(), 1, "no temporary file is left");
    buffer_fini(&read);
}

/* What is known to be too long takes no memory first. */
Test(runtime_file, of_a_file_that_is_far_too_long_nothing_is_read)
{
    const char *path = in_folder("a");
    struct buffer read;

    buffer_init(&read, 1 << 20);
    cr_assert_eq(file_write(path, 0600, span_text("x")), STATUS_OK);
    cr_assert_eq(truncate(path, (off_t)3 << 30), 0);
    cr_assert_eq(file_read(path, &read), STATUS_TOO_LARGE);
    cr_assert_eq(read.capacity, 0);
    buffer_fini(&read);
}

/* A file longer than the buffer's maximum leaves the buffer as it was. */
Test(runtime_file, a_file_that_is_too_long_is_refused)
{
    const char *path = in_folder("a");
    struct buffer read;

    buffer_init(&read, 10);
    cr_assert_eq(buffer_append(&read, span_text("12345")), STATUS_OK);
    cr_assert_eq(file_write(path, 0600, span_text("123456")), STATUS_OK);
    cr_assert_eq(file_read(path, &read), STATUS_TOO_LARGE);
    cr_assert_eq(read.size, 5);
    cr_assert_eq(file_write(path, 0600, span_text("12345")), STATUS_OK);
    cr_assert_eq(file_read(path, &read), STATUS_OK);
    cr_assert_eq(read.size, 10);
    buffer_fini(&read);
}

/* What is no plain file is refused, and never waited for. */
Test(runtime_file, only_plain_files_are_read)
{
    struct buffer read;

    buffer_init(&read, 10);
    cr_assert_eq(file_read(in_folder("none"), &read), STATUS_IO);
    cr_assert_eq(errno, ENOENT);
    cr_assert_eq(file_read(folder, &read), STATUS_IO);
    cr_assert_eq(errno, EISDIR);
    cr_assert_eq(mkfifo(in_folder("pipe"), 0600), 0);
    cr_assert_eq(file_read(in_folder("pipe"), &read), STATUS_IO);
    buffer_fini(&read);
}

/* A file that is made replaces none, and is whole at once. */
Test(runtime_file, a_file_that_exists_is_not_made)
{
    const char *path = in_folder("a");
    struct buffer read;
    struct stat about;

    buffer_init(&read, 10);
    cr_assert_eq(file_make(path, 0640, span_text("first")), STATUS_OK);
    cr_assert_eq(file_make(path, 0600, span_text("second")), STATUS_IO);
    cr_assert_eq(errno, EEXIST);
    cr_assert_eq(file_read(path, &read), STATUS_OK);
    cr_assert(span_equal(buffer_span(&read), span_text("first")));
    cr_assert_eq(stat(path, &about), 0);
    cr_assert_eq(about.st_mode & 07777, 0640);
    cr_assert_eq(count_files(), 1, "no temporary file is left");
    buffer_fini(&read);
}

/* What a link leads to is replaced, in its own folder; the link is one still. */
Test(runtime_file, a_link_is_followed)
{
    struct buffer read;
    struct stat about;

    buffer_init(&read, 10);
    cr_assert_eq(mkdir(in_folder("deep"), 0700), 0);
    cr_assert_eq(file_write(in_folder("deep/a"), 0644, span_text("old")), STATUS_OK);
    cr_assert_eq(symlink("deep/a", in_folder("b")), 0);
    cr_assert_eq(symlink("b", in_folder("c")), 0);
    cr_assert_eq(file_write(in_folder("c"), 0600, span_text("new")), STATUS_OK);
    cr_assert(lstat(in_folder("c"), &about) == 0 && S_ISLNK(about.st_mode));
    cr_assert(lstat(in_folder("b"), &about) == 0 && S_ISLNK(about.st_mode));
    cr_assert(lstat(in_folder("deep/a"), &about) == 0 && S_ISREG(about.st_mode));
    cr_assert_eq(about.st_mode & 07777, 0600);
    cr_assert_eq(file_read(in_folder("deep/a"), &read), STATUS_OK);
    cr_assert(span_equal(buffer_span(&read), span_text("new")));
    cr_assert_eq(count_files(), 3, "no temporary file is left");
    buffer_fini(&read);
}

Test(runtime_file, root_replaces_a_file_of_its_owner)
{
    enum { SOMEBODY = 65534 };
    const char *path = in_folder("a");
    struct stat about;

    if (geteuid() != 0) {
        cr_skip_test("only root gives files away");
    }
    cr_assert_eq(file_write(path, 0600, span_text("old")), STATUS_OK);
    cr_assert_eq(chown(path, SOMEBODY, SOMEBODY), 0);
    cr_assert_eq(file_write(path, 0600, span_text("new")), STATUS_OK);
    cr_assert_eq(stat(path, &about), 0);
    cr_assert(about.st_uid == SOMEBODY && about.st_gid == SOMEBODY);
    cr_assert_eq(about.st_mode & 07777, 0600);
}

/* It may be somebody who waits for what root writes there. */
Test(runtime_file, in_a_folder_of_everybody_root_gives_nothing_away)
{
    enum { SOMEBODY = 65534 };
    const char *path = in_folder("a");
    struct stat about;

    if (geteuid() != 0) {
        cr_skip_test("only root gives files away");
    }
    cr_assert_eq(file_write(path, 0600, span_text("old")), STATUS_OK);
    cr_assert_eq(chown(path, SOMEBODY, SOMEBODY), 0);
    cr_assert_eq(chmod(folder, 01777), 0);
    cr_assert_eq(file_write(path, 0600, span_text("new")), STATUS_OK);
    cr_assert_eq(stat(path, &about), 0);
    cr_assert_eq(about.st_uid, geteuid());
}

Test(runtime_file, a_link_that_leads_nowhere_becomes_a_file)
{
    struct stat about;

    cr_assert_eq(symlink("nowhere", in_folder("a")), 0);
    cr_assert_eq(file_write(in_folder("a"), 0600, span_text("new")), STATUS_OK);
    cr_assert_eq(lstat(in_folder("a"), &about), 0);
    cr_assert(S_ISREG(about.st_mode));
    cr_assert_eq(count_files(), 1);
}

/* A write that fails leaves what was there, and nothing else. */
Test(runtime_file, a_failed_write_changes_nothing)
{
    cr_assert_eq(file_write(in_folder("none/a"), 0600, span_text("x")), STATUS_IO);
    cr_assert_eq(errno, ENOENT);
    cr_assert_eq(mkdir(in_folder("a"), 0700), 0);
    cr_assert_eq(file_write(in_folder("a"), 0600, span_text("x")), STATUS_IO);
    cr_assert_eq(errno, EISDIR);
    cr_assert_eq(count_files(), 1);
}

Test(runtime_file, folders_are_made_with_their_parents)
{
    struct stat about;

    cr_assert_eq(file_make_folder(in_folder("a/b/c/")), STATUS_OK);
    cr_assert_eq(file_make_folder(in_folder("a/b/c")), STATUS_OK, "again is fine");
    cr_assert_eq(stat(in_folder("a/b/c"), &about), 0);
    cr_assert_eq(about.st_mode & 07777, 0700);
    cr_assert_eq(file_write(in_folder("file"), 0600, span_text("x")), STATUS_OK);
    cr_assert_eq(file_make_folder(in_folder("file")), STATUS_IO);
    cr_assert_eq(errno, ENOTDIR);
    cr_assert_eq(file_make_folder(in_folder("file/b")), STATUS_IO);
    cr_assert_eq(file_make_folder(""), STATUS_IO);
}

#define HEX "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

Test(runtime_file, a_cluster_key_is_64_hexadecimal_digits)
{
    const char *path = in_folder("key");
    struct cluster_key key = {.count = 0};
    struct cluster_key again = {.count = 0};

    cr_assert_eq(file_write(path, 0600, span_text(HEX "\n")), STATUS_OK);
    cr_assert_eq(file_read_secret(&file_cluster_key, path, cluster_key_read, &key), STATUS_OK);
    cr_assert_eq(file_write(path, 0400, span_text(HEX)), STATUS_OK);
    cr_assert_eq(file_read_secret(&file_cluster_key, path, cluster_key_read, &again), STATUS_OK);
    cr_assert(cluster_key_equal(&key, &again));
    cr_assert_eq(file_write(path, 0600, span_text("")), STATUS_OK);
    cr_assert_eq(file_read_secret(&file_cluster_key, path, cluster_key_read, &key),
                 STATUS_MALFORMED);
    cr_assert_eq(file_write(path, 0600, span_text("x" HEX)), STATUS_OK);
    cr_assert_eq(file_read_secret(&file_cluster_key, path, cluster_key_read, &key),
                 STATUS_MALFORMED);
    cr_assert_eq(file_read_secret(&file_cluster_key, in_folder("none"), cluster_key_read, &key),
                 STATUS_IO);
}

/* A key that others may use is no secret. */
Test(runtime_file, a_cluster_key_of_others_is_refused)
{
    static const unsigned modes[] = {0604, 0660, 0460, 0450, 0410, 0602, 0644, 0444, 0401, 0777};
    struct cluster_key key;

    for (unsigned i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        cr_assert_eq(file_write(in_folder("key"), modes[i], span_text(HEX)), STATUS_OK);
        cr_assert_eq(file_read_secret(&file_cluster_key, in_folder("key"), cluster_key_read, &key),
                     STATUS_INVALID, "%o", modes[i]);
    }
}

/* ---- of a process that is of some groups ---- */

enum { OWN_USER = 10001, OWN_GROUP = 10002, MORE_GROUP = 10003, STRANGE_GROUP = 10004 };

struct owned {
    unsigned mode;
    uid_t user;
    gid_t group;
    const char *credentials; /* a folder that systemd has made; NULL: none */
    enum status status;
};

/* A child that is nobody here but of these groups; it ends with what it was told. */
static enum status read_as_user(const char *credentials)
{
    static const gid_t groups[] = {MORE_GROUP};
    struct cluster_key key;
    int ended = -1;
    pid_t child = fork();

    cr_assert_geq(child, 0);
    if (child == 0) {
        if ((credentials == NULL ? unsetenv("CREDENTIALS_DIRECTORY")
                                 : setenv("CREDENTIALS_DIRECTORY", credentials, 1)) != 0 ||
            setgroups(1, groups) != 0 || setgid(OWN_GROUP) != 0 || setuid(OWN_USER) != 0) {
            _exit(255);
        }
        _exit((int)file_read_secret(&file_cluster_key, in_folder("key"), cluster_key_read, &key));
    }
    cr_assert_eq(waitpid(child, &ended, 0), child);
    cr_assert(WIFEXITED(ended) && WEXITSTATUS(ended) != 255);
    return (enum status)WEXITSTATUS(ended);
}

static void expect_owned(const struct owned *owned)
{
    const char *path = in_folder("key");
    enum status status;

    cr_assert_eq(file_write(path, 0600, span_text(HEX)), STATUS_OK);
    cr_assert_eq(chown(path, owned->user, owned->group), 0);
    cr_assert_eq(chmod(path, owned->mode), 0);
    status = read_as_user(owned->credentials);
    cr_expect_eq(status, owned->status, "%o of %u:%u, credentials %s: %s", owned->mode,
                 (unsigned)owned->user, (unsigned)owned->group,
                 owned->credentials != NULL ? owned->credentials : "none", status_meaning(status));
    (void)unlink(path);
}

/* As a volume of Kubernetes has it (fsGroup), and files of a package. */
Test(runtime_file, ones_own_group_may_read_a_secret)
{
    const struct owned cases[] = {
        {0440, 0, OWN_GROUP, NULL, STATUS_OK},
        {0640, 0, OWN_GROUP, NULL, STATUS_OK},
        {0440, 0, MORE_GROUP, NULL, STATUS_OK},
        {0440, OWN_USER, OWN_GROUP, NULL, STATUS_OK},
        {0440, OWN_USER, STRANGE_GROUP, NULL, STATUS_INVALID},
        {0640, OWN_USER, 0, NULL, STATUS_INVALID},
        {0660, 0, OWN_GROUP, NULL, STATUS_INVALID},
        {0460, OWN_USER, OWN_GROUP, NULL, STATUS_INVALID},
        {0450, OWN_USER, OWN_GROUP, NULL, STATUS_INVALID},
        {0444, 0, OWN_GROUP, NULL, STATUS_INVALID},
        {0441, OWN_USER, OWN_GROUP, NULL, STATUS_INVALID},
        {0400, OWN_USER, STRANGE_GROUP, NULL, STATUS_OK},
    };

    if (geteuid() != 0) {
        (void)fprintf(stderr, "SKIPPED runtime_file::ones_own_group_may_read_a_secret: not root\n");
        return;
    }
    cr_assert_eq(chmod(folder, 0755), 0);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_owned(&cases[i]);
    }
}

/* By its rights this process is root, of another group than root's, and by its name it is not. */
static void expect_handed(unsigned mode, enum status expected)
{
    const char *path = in_folder("key");
    struct cluster_key key;

    cr_assert_eq(file_write(path, 0600, span_text(HEX)), STATUS_OK);
    cr_assert_eq(chown(path, 0, 0), 0);
    cr_assert_eq(chmod(path, mode), 0);
    cr_expect_eq(file_read_secret(&file_cluster_key, path, cluster_key_read, &key), expected,
                 "%o, credentials in %s", mode, getenv("CREDENTIALS_DIRECTORY"));
}

static void expect_of_root(unsigned mode, uid_t user, enum status expected)
{
    const char *path = in_folder("key");
    struct cluster_key key;

    cr_assert_eq(file_write(path, 0600, span_text(HEX)), STATUS_OK);
    cr_assert_eq(chown(path, user, STRANGE_GROUP), 0);
    cr_assert_eq(chmod(path, mode), 0);
    cr_expect_eq(file_read_secret(&file_cluster_key, path, cluster_key_read, &key), expected,
                 "%o of %u", mode, (unsigned)user);
    (void)unlink(path);
}

/* Root's, readable by an access list, which shows as the group's right. */
Test(runtime_file, what_systemd_hands_over_is_a_secret)
{
    if (geteuid() != 0) {
        (void)fprintf(stderr,
                      "SKIPPED runtime_file::what_systemd_hands_over_is_a_secret: not root\n");
        return;
    }
    cr_assert_eq(chmod(folder, 0755), 0);
    expect_owned(&(struct owned){0440, OWN_USER, 0, folder, STATUS_INVALID}); /* not root's */
    cr_assert_eq(setgid(STRANGE_GROUP), 0);
    cr_assert_eq(setgroups(0, NULL), 0);
    cr_assert_eq(seteuid(OWN_USER), 0);
    (void)setfsuid(0);
    cr_assert_eq(setenv("CREDENTIALS_DIRECTORY", folder, 1), 0);
    expect_handed(0440, STATUS_OK);
    expect_handed(0444, STATUS_INVALID);
    expect_handed(0460, STATUS_INVALID);
    cr_assert_eq(setenv("CREDENTIALS_DIRECTORY", "/run/credentials/x", 1), 0);
    expect_handed(0440, STATUS_INVALID);
    folder[strlen(folder) - 1]++; /* A folder whose name begins likewise. */
    cr_assert_eq(setenv("CREDENTIALS_DIRECTORY", folder, 1), 0);
    folder[strlen(folder) - 1]--;
    expect_handed(0440, STATUS_INVALID);
    cr_assert_eq(setenv("CREDENTIALS_DIRECTORY", "", 1), 0);
    expect_handed(0440, STATUS_INVALID);
    cr_assert_eq(seteuid(0), 0);
}

/* As `orbloom setup` has it: root's, and the group of the units reads it. */
Test(runtime_file, root_uses_what_it_has_given_to_a_group)
{
    if (geteuid() != 0) {
        (void)fprintf(stderr,
                      "SKIPPED runtime_file::root_uses_what_it_has_given_to_a_group: not root\n");
        return;
    }
    expect_of_root(0640, 0, STATUS_OK);
    expect_of_root(0660, 0, STATUS_INVALID);
    expect_of_root(0644, 0, STATUS_INVALID);
    expect_of_root(0640, OWN_USER, STATUS_INVALID);
}

/* Every allocation fails once; nothing is left behind. */
Test(runtime_file, reading_survives_lack_of_memory)
{
    enum status status = STATUS_NOMEM;
    size_t before = heap_live();
    struct cluster_key key;

    cr_assert_eq(file_write(in_folder("key"), 0600, span_text(HEX)), STATUS_OK);
    for (unsigned n = 0; status == STATUS_NOMEM; n++) {
        heap_fault_after(n);
        status = file_read_secret(&file_cluster_key, in_folder("key"), cluster_key_read, &key);
        heap_fault_clear();
        cr_assert_lt(n, 10);
    }
    cr_assert_eq(status, STATUS_OK);
    cr_assert_eq(heap_live(), before);
}
