/* The files of a first cluster: whom they are for, and all or none. */
#include "cli/setup/write.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GROUP = 10002 };

static char folder[64];
static struct setup_options options;
static struct setup_plan plan;

static void set_up(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/orbloom-setup-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    options = (struct setup_options){.base_port = SETUP_BASE_PORT, .memory_bytes = 1 << 30};
    (void)snprintf(options.dir, sizeof options.dir, "%s/etc", folder);
    (void)snprintf(options.data, sizeof options.data, "%s", SETUP_DATA);
    (void)snprintf(options.key, sizeof options.key, "key\n");
    (void)snprintf(options.token, sizeof options.token, "token\n");
}

static void tear_down(void)
{
    char words[128];

    (void)snprintf(words, sizeof words, "rm -rf %s", folder);
    cr_assert_eq(system(words), 0);
}

TestSuite(client_setup, .init = set_up, .fini = tear_down, .timeout = 60);

static void expect_file(const char *path, unsigned mode, gid_t group)
{
    struct stat about;

    cr_assert_eq(stat(path, &about), 0, "%s", path);
    cr_expect_eq(about.st_mode & 07777, mode, "%s: %o", path, about.st_mode & 07777);
    cr_expect_eq(about.st_gid, group, "%s: group %u", path, (unsigned)about.st_gid);
}

Test(client_setup, the_group_of_the_units_may_read_secrets)
{
    if (geteuid() != 0) {
        cr_skip_test("only root gives files away");
    }
    setup_make_plan(&options, &plan);
    cr_assert_eq(plan.count, 7);
    cr_assert_eq(setup_write(&plan, NULL, GROUP), STATUS_OK);
    expect_file(options.dir, 0750, GROUP);
    for (size_t i = 0; i < plan.count; i++) {
        bool secret = plan.files[i].secret;

        expect_file(plan.files[i].path, secret ? 0640 : 0644, secret ? GROUP : getegid());
    }
}

/* The last one can't be made, as shows when the first one is there: all are gone again. */
Test(client_setup, what_fails_midway_leaves_nothing)
{
    struct setup_file *last;

    setup_make_plan(&options, &plan);
    last = &plan.files[plan.count - 1];
    (void)snprintf(last->path, sizeof last->path, "%.100s/cluster.key/below", options.dir);
    cr_assert_eq(setup_write(&plan, NULL, SETUP_NO_GROUP), STATUS_IO);
    for (size_t i = 0; i < plan.count; i++) {
        cr_expect_eq(access(plan.files[i].path, F_OK), -1, "%s", plan.files[i].path);
    }
}

/* As after a run that was killed: one look tells what is to be moved away. */
Test(client_setup, all_that_is_there_is_named)
{
    char errors[8192];
    size_t size;

    setup_make_plan(&options, &plan);
    cr_assert_eq(setup_write(&plan, NULL, SETUP_NO_GROUP), STATUS_OK);
    cr_assert_eq(unlink(plan.files[1].path), 0);
    cr_redirect_stderr();
    cr_assert_eq(setup_write(&plan, NULL, SETUP_NO_GROUP), STATUS_EXISTS);
    (void)fflush(stderr);
    size = fread(errors, 1, sizeof errors - 1, cr_get_redirected_stderr());
    errors[size] = '\0';
    for (size_t i = 0; i < plan.count; i++) {
        cr_expect_eq(strstr(errors, plan.files[i].path) != NULL, i != 1, "%s", errors);
    }
    cr_expect_eq(access(plan.files[1].path, F_OK), -1);
}

Test(client_setup, three_machines_share_secrets_and_nothing_else)
{
    cr_assert(setup_read_machines("10.0.0.1,b.example,10.0.0.3", &options));
    setup_make_plan(&options, &plan);
    cr_assert_eq(plan.count, 13, "four each, and a coordinator");
    for (size_t i = 0; i < plan.count; i++) {
        const struct setup_file *file = &plan.files[i];

        if (strstr(file->path, "cluster.key") != NULL) {
            cr_expect_str_eq(file->text, "key\n");
        } else if (strstr(file->path, "b.example/node-2.conf") != NULL) {
            cr_expect_not_null(strstr(file->text, "listen = \"tcp://*:7410\";"));
            cr_expect_not_null(strstr(file->text, "advertise = \"tcp://b.example:7410\";"));
            cr_expect_not_null(strstr(file->text, "host = \"b.example\";"));
            cr_expect_not_null(strstr(file->text, "transport = \"curve\";"));
            cr_expect_not_null(strstr(file->text, "coordinators = [\"tcp://10.0.0.1:7400\"];"));
        }
        cr_expect_null(strstr(file->path, "b.example/coordinator.conf"));
    }
    options.etcd = "http://a:2379,http://b:2379";
    setup_make_plan(&options, &plan);
    cr_expect_eq(plan.count, SETUP_MAX_FILES);
    cr_expect_not_null(
        strstr(plan.files[2].text, "etcd_endpoints = (\"http://a:2379\", \"http://b:2379\");"));
}
