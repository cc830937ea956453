/* The C library in a child of fork(): handles of the parent are refused there, and closing them
 * does the parent no harm. */
#include "base/heap.h"
#include "client/orbloom.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Nobody listens on port 1. */
static const struct orbloom_options nobody = {
    .routers = "tcp://127.0.0.1:1", .coordinators = "tcp://127.0.0.1:1", .timeout_ms = 60000};

static const uint32_t length = 1;
static const struct orbloom_request request = {
    .filter = "f", .operation = ORBLOOM_ADD, .keys = {"k", &length, 1}};

static struct orbloom *connect_and_submit(void)
{
    struct orbloom *handle = NULL;
    struct orbloom_completion completion;

    cr_assert_eq(orbloom_connect(&nobody, &handle), ORBLOOM_OK);
    cr_assert_eq(orbloom_submit(handle, &request), ORBLOOM_OK);
    cr_assert_eq(orbloom_wait(handle, 1, &completion), 0); /* It is watched from now on. */
    return handle;
}

static size_t count_targets(const char *descriptor)
{
    char path[300];
    char line[256];
    size_t count = 0;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%s", descriptor);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        count += strncmp(line, "tfd:", 4) == 0;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return count;
}

/* Descriptors that this process is woken for, as Linux tells of its epoll instances. */
static size_t count_watched(void)
{
    DIR *folder = opendir("/proc/self/fdinfo");
    size_t count = 0;

    cr_assert_neq(folder, NULL);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count += count_targets(entry->d_name);
    }
    (void)closedir(folder);
    return count;
}

/* `act` in a child; what it returns is the child's exit status. */
static int in_child(int (*act)(struct orbloom *), struct orbloom *handle)
{
    int status = 0;
    pid_t child = fork();

    cr_assert_geq(child, 0);
    if (child == 0) {
        _exit(act(handle));
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int close_it(struct orbloom *handle)
{
    orbloom_close(&handle);
    return handle == NULL && heap_live() == 0 ? 0 : 1;
}

Test(fork, a_child_that_closes_leaves_the_parent_awake)
{
    struct orbloom *handle = connect_and_submit();
    size_t watched = count_watched();

    cr_assert_gt(watched, 0);
    cr_assert_eq(in_child(close_it, handle), 0);
    cr_assert_eq(count_watched(), watched);
    cr_assert_eq(orbloom_in_flight(handle), 1);
    cr_assert_eq(orbloom_submit(handle, &request), ORBLOOM_OK);
    orbloom_close(&handle);
    cr_assert_eq(heap_live(), 0);
}

static bool is_refused(struct orbloom *handle, int code)
{
    return code == ORBLOOM_INVALID && strstr(orbloom_error(handle), "forked") != NULL;
}

static int ask_all(struct orbloom *handle)
{
    const struct orbloom_filter filter = {.name = "f", .capacity = 10, .rate = 0.01};
    enum orbloom_answer answer = ORBLOOM_ABSENT;
    struct orbloom_completion completion;

    if (!is_refused(handle, orbloom_check_key(handle, "f", "k", 1, &answer)) ||
        answer != ORBLOOM_UNKNOWN) {
        return 1;
    }
    if (!is_refused(handle, orbloom_submit(handle, &request))) {
        return 2;
    }
    if (!is_refused(handle, orbloom_create(handle, &filter, NULL))) {
        return 3;
    }
    if (orbloom_in_flight(handle) != 0 || orbloom_wait(handle, 60000, &completion) != 0) {
        return 4;
    }
    return 0;
}

Test(fork, a_child_is_told_to_connect_itself)
{
    struct orbloom *handle = connect_and_submit();

    cr_assert_eq(in_child(ask_all, handle), 0);
    orbloom_close(&handle);
}

static int connect_anew(struct orbloom *handle)
{
    struct orbloom *own = NULL;

    (void)handle;
    if (orbloom_connect(&nobody, &own) != ORBLOOM_OK) {
        return 1;
    }
    if (orbloom_submit(own, &request) != ORBLOOM_OK || orbloom_in_flight(own) != 1) {
        return 2;
    }
    orbloom_close(&own);
    return 0;
}

Test(fork, a_child_has_handles_of_its_own)
{
    struct orbloom *handle = connect_and_submit();

    cr_assert_eq(in_child(connect_anew, handle), 0);
    orbloom_close(&handle);
}
