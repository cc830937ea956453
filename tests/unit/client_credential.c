/* The file: nobody else may read it, and it is never overwritten by chance. */
#include "base/heap.h"
#include "client/shell_credential.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char path[128];
static char why[FILE_REASON_BYTES];

static void setup(void)
{
    (void)snprintf(folder, sizeof folder, "%s", "/tmp/orbloom-credential-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        abort();
    }
    (void)snprintf(path, sizeof path, "%s/credential", folder);
}

static void teardown(void)
{
    (void)unlink(path);
    (void)rmdir(folder);
}

TestSuite(credential_file, .init = setup, .fini = teardown);

static struct credential sample(void)
{
    uint8_t seed[CURVE_KEY_BYTES] = {9};
    struct credential self = {.user = "crawler", .role = USER_CLIENT};

    seal_pair_of_seed(seed, &self.pair);
    for (int kind = 0; kind < CURVE_NKINDS; kind++) {
        self.processes.of[kind].count = 1;
        memset(self.processes.of[kind].keys[0], kind + 1, CURVE_KEY_BYTES);
    }
    return self;
}

Test(credential_file, it_is_made_of_mode_600_and_read_again)
{
    struct credential before = sample();
    struct credential after = {.role = USER_CLIENT};
    struct stat about;

    cr_assert_eq(credential_file_write(path, true, &before, why), STATUS_OK, "%s", why);
    cr_assert_eq(stat(path, &about), 0);
    cr_assert_eq(about.st_mode & 07777, 0600);
    cr_assert_eq(credential_file_read(path, &after, why), STATUS_OK, "%s", why);
    cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
}

Test(credential_file, one_that_is_there_is_replaced_only_where_that_is_meant)
{
    struct credential one = sample();

    cr_assert_eq(credential_file_write(path, true, &one, why), STATUS_OK);
    cr_assert_eq(credential_file_write(path, true, &one, why), STATUS_IO);
    cr_assert(strstr(why, "never overwritten") != NULL, "%s", why);
    cr_assert_eq(credential_file_write(path, false, &one, why), STATUS_OK);
}

/* As where a secret is mounted. */
Test(credential_file, one_behind_a_link_is_replaced_there)
{
    struct credential one = sample();
    struct stat about;
    char link[160];

    (void)snprintf(link, sizeof link, "%s.link", path);
    cr_assert_eq(credential_file_write(path, true, &one, why), STATUS_OK);
    cr_assert_eq(symlink("credential", link), 0);
    memset(one.processes.of[CURVE_NODE].keys[0], 77, CURVE_KEY_BYTES);
    cr_assert_eq(credential_file_write(link, false, &one, why), STATUS_OK);
    cr_assert(lstat(link, &about) == 0 && S_ISLNK(about.st_mode));
    cr_assert_eq(unlink(link), 0);
    one = sample();
    cr_assert_eq(credential_file_read(path, &one, why), STATUS_OK, "%s", why);
    cr_assert_eq(one.processes.of[CURVE_NODE].keys[0][0], 77);
}

/* Every bit that lets others in, alone; but for reading by the file's group, which is ours. */
Test(credential_file, what_others_may_use_is_refused_with_the_remedy)
{
    struct credential one = sample();

    cr_assert_eq(credential_file_write(path, true, &one, why), STATUS_OK);
    for (unsigned bit = 0; bit < 5; bit++) {
        struct credential out = {.user = "untouched"};

        cr_assert_eq(chmod(path, 0600 | 1U << bit), 0);
        cr_assert_eq(credential_file_read(path, &out, why), STATUS_INVALID, "%o", 1U << bit);
        cr_assert(strstr(why, "chmod 600") != NULL, "%s", why);
        cr_assert(strstr(why, path) != NULL, "%s", why);
        cr_assert_str_eq(out.user, "untouched");
    }
    cr_assert_eq(chmod(path, 0400), 0);
    cr_assert_eq(credential_file_read(path, &one, why), STATUS_OK);
}

Test(credential_file, what_is_no_credential_says_how_to_get_one)
{
    struct credential out;

    cr_assert_eq(credential_file_read(path, &out, why), STATUS_IO);
    cr_assert(strstr(why, "No such file") != NULL && strstr(why, "orbloom user create") != NULL,
              "%s", why);
    cr_assert_eq(file_write(path, 0600, span_text("user x\n")), STATUS_OK);
    cr_assert_eq(credential_file_read(path, &out, why), STATUS_MALFORMED);
    cr_assert(strstr(why, "is this a credential?") != NULL, "%s", why);
    cr_assert_eq(credential_file_read(folder, &out, why), STATUS_IO);
}

Test(credential_file, every_lack_of_memory_is_survived)
{
    struct credential one = sample();
    enum status status = STATUS_NOMEM;
    size_t before = heap_live();

    for (unsigned n = 0; status != STATUS_OK; n++) {
        heap_fault_after(n);
        status = credential_file_write(path, false, &one, why);
        status = status == STATUS_OK ? credential_file_read(path, &one, why) : status;
        heap_fault_clear();
        cr_assert_lt(n, 10);
    }
    cr_assert_eq(heap_live(), before);
}
