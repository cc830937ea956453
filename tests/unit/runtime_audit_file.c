/* The file of the audit log: who may use it, whole lines, what is there after a rotation. */
#include "runtime/audit_file.h"
#include "tests/support/command.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OTHER_USER = 65534, PATH_BYTES = 96 };

static char folder[64];
static char path[PATH_BYTES];
static char moved[PATH_BYTES];

static void make_folder(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/orbloom-audit-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/audit.log", folder);
    (void)snprintf(moved, sizeof moved, "%s/audit.log.1", folder);
}

static void remove_folder(void)
{
    (void)unlink(path);
    (void)unlink(moved);
    cr_assert_eq(rmdir(folder), 0);
}

TestSuite(runtime_audit_file, .init = make_folder, .fini = remove_folder);

static struct audit_file *open_file(void)
{
    struct audit_file *file = NULL;

    cr_assert_eq(audit_file_open(path, &file), STATUS_OK);
    return file;
}

static enum status write_line(const struct audit_file *file, const char *line)
{
    const struct audit_sink *sink = audit_file_sink(file);

    return sink->write(sink->context, span_text(line));
}

static void expect_content(const char *of, const char *expected)
{
    char *content = command_read_file(of);

    cr_assert_not_null(content, "%s", of);
    cr_assert_str_eq(content, expected);
    free(content);
}

Test(runtime_audit_file, lines_are_appended_to_a_file_of_mode_600)
{
    struct audit_file *file;
    struct stat about;

    (void)umask(0);
    file = open_file();
    cr_assert_eq(write_line(file, "one\n"), STATUS_OK);
    audit_file_close(&file);
    file = open_file();
    cr_assert_eq(write_line(file, "two\n"), STATUS_OK);
    audit_file_close(&file);
    cr_assert_null(file);
    expect_content(path, "one\ntwo\n");
    cr_assert_eq(stat(path, &about), 0);
    cr_assert_eq(about.st_mode & 0777, 0600);
}

Test(runtime_audit_file, a_file_that_was_moved_is_left_when_told)
{
    struct audit_file *file = open_file();

    cr_assert_eq(write_line(file, "one\n"), STATUS_OK);
    cr_assert_eq(rename(path, moved), 0);
    cr_assert_eq(write_line(file, "two\n"), STATUS_OK);
    cr_assert_eq(audit_file_reopen(file), STATUS_OK);
    cr_assert_eq(write_line(file, "three\n"), STATUS_OK);
    expect_content(moved, "one\ntwo\n");
    expect_content(path, "three\n");
    audit_file_close(&file);
}

static void expect_refused(const char *which)
{
    struct audit_file *file = NULL;

    cr_assert_neq(audit_file_open(which, &file), STATUS_OK);
    cr_assert_null(file);
}

Test(runtime_audit_file, a_file_that_others_may_use_is_refused)
{
    int descriptor = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    cr_assert_geq(descriptor, 0);
    cr_assert_eq(fchmod(descriptor, 0640), 0);
    expect_refused(path);
    cr_assert_eq(fchmod(descriptor, 0602), 0);
    expect_refused(path);
    cr_assert_eq(close(descriptor), 0);
}

Test(runtime_audit_file, what_can_not_be_opened_is_refused)
{
    char below[PATH_BYTES + 8];

    (void)snprintf(below, sizeof below, "%s/none/audit", folder);
    expect_refused(below);
    expect_refused(folder);
    cr_assert_eq(mkfifo(path, 0600), 0); /* Nobody reads it. */
    expect_refused(path);
}

/* Root may do all: become somebody else. What was open goes on. */
Test(runtime_audit_file, a_folder_that_is_read_only_by_now_keeps_what_was_open)
{
    struct audit_file *file = open_file();
    bool root = geteuid() == 0;

    cr_assert_eq(rename(path, moved), 0);
    cr_assert_eq(chmod(folder, 0555), 0);
    cr_assert(!root || seteuid(OTHER_USER) == 0);
    cr_assert_eq(audit_file_reopen(file), STATUS_IO);
    expect_refused(path);
    cr_assert(!root || seteuid(0) == 0);
    cr_assert_eq(chmod(folder, 0755), 0);
    cr_assert_eq(write_line(file, "one\n"), STATUS_OK);
    expect_content(moved, "one\n");
    audit_file_close(&file);
}

Test(runtime_audit_file, a_full_device_takes_no_line)
{
    struct audit_file *file = NULL;

    cr_assert_eq(audit_file_open("/dev/full", &file), STATUS_OK);
    cr_assert_eq(write_line(file, "one\n"), STATUS_IO);
    audit_file_close(&file);
}

/* A reader that does not read holds nobody up. */
Test(runtime_audit_file, a_full_pipe_takes_no_line)
{
    struct audit_file *file;
    enum status status = STATUS_OK;
    int reader;

    cr_assert_eq(mkfifo(path, 0600), 0);
    reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    cr_assert_geq(reader, 0);
    file = open_file();
    for (int i = 0; i < 100000 && status == STATUS_OK; i++) {
        status = write_line(file, "a line that fills the pipe by and by, as nobody reads it\n");
    }
    cr_assert_eq(status, STATUS_IO);
    audit_file_close(&file);
    cr_assert_eq(close(reader), 0);
}

static void limit_files(rlim_t bytes)
{
    const struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};

    (void)signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The next line begins a line of its own. */
Test(runtime_audit_file, a_line_that_fits_in_part_only_is_ended)
{
    struct audit_file *file = open_file();

    limit_files(6);
    cr_assert_eq(write_line(file, "one\n"), STATUS_OK);
    cr_assert_eq(write_line(file, "two\n"), STATUS_IO);
    cr_assert_eq(write_line(file, "three\n"), STATUS_IO);
    limit_files(RLIM_INFINITY);
    cr_assert_eq(write_line(file, "four\n"), STATUS_OK);
    expect_content(path, "one\ntw\nfour\n");
    audit_file_close(&file);
}
