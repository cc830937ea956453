/* What a program does before anything else. */
#include "runtime/hub.h"
#include "runtime/process.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void expect_null_device(int fd)
{
    struct stat expected;
    struct stat found;

    cr_assert_eq(stat("/dev/null", &expected), 0);
    cr_assert_eq(fstat(fd, &found), 0, "descriptor %d is closed", fd);
    cr_assert_eq(found.st_rdev, expected.st_rdev, "descriptor %d is something else", fd);
}

/* Else the event loop would take its place, and libuv abort when it closes that. */
Test(process, a_closed_standard_descriptor_leads_nowhere)
{
    cr_assert_eq(close(STDIN_FILENO), 0);
    cr_assert_eq(close(STDERR_FILENO), 0);
    process_prepare();
    expect_null_device(STDIN_FILENO);
    expect_null_device(STDERR_FILENO);
}

Test(process, open_standard_descriptors_stay_what_they_are)
{
    int pipe_ends[2];
    char byte;

    cr_assert_eq(pipe(pipe_ends), 0);
    cr_assert_eq(dup2(pipe_ends[0], STDIN_FILENO), STDIN_FILENO);
    process_prepare();
    cr_assert_eq(write(pipe_ends[1], "x", 1), 1);
    cr_assert_eq(read(STDIN_FILENO, &byte, 1), 1);
}

/* A limit on the size of files must not kill. */
Test(process, a_file_past_its_limit_is_an_error)
{
    const struct rlimit limit = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
    char path[] = "/tmp/orbloom-process-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);

    cr_assert_geq(fd, 0);
    cr_assert_eq(unlink(path), 0);
    process_prepare();
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(write(fd, "x", 1), -1);
    cr_assert_eq(errno, EFBIG);
}

/* libuv and libzmq would abort later. */
Test(process, too_few_files_are_refused_at_once)
{
    struct hub_options options = {.max_frame_bytes = 1};
    struct rlimit limit;
    struct hub *hub = NULL;

    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = 31;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_assert_eq(hub_create(&options, &hub), STATUS_IO);
    cr_assert_null(hub);
}
