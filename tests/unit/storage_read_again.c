/* Is a disk that fails asked again, with pauses, and at last believed to be damaged? */
#include "log/read_again.h"

#include <criterion/criterion.h>

struct tries {
    unsigned fail; /* so many reads fail */
    enum status failure;
    unsigned reads;
    unsigned pauses; /* each told which one it is */
};

static enum status fail_or_read(void *context, uint32_t file, uint64_t offset, void *into,
                                size_t size)
{
    struct tries *tries = context;

    cr_assert(file == 3 && offset == 64 && size == 1);
    *(uint8_t *)into = 9;
    return ++tries->reads <= tries->fail ? tries->failure : STATUS_OK;
}

static void count_pause(void *context, unsigned number)
{
    struct tries *tries = context;

    cr_assert_eq(number, ++tries->pauses);
}

static enum status read_with(struct tries *tries, bool pauses)
{
    const struct disk disk = {
        .context = tries, .read = fail_or_read, .pause = pauses ? count_pause : NULL};
    uint8_t byte = 0;

    return read_again(&disk, 3, 64, &byte, 1);
}

Test(storage_read_again, waits_between_reads)
{
    struct tries tries = {.fail = 2, .failure = STATUS_IO};

    cr_assert_eq(read_with(&tries, true), STATUS_OK);
    cr_assert_eq(tries.reads, 3);
    cr_assert_eq(tries.pauses, 2);
}

Test(storage_read_again, gives_up_some_time)
{
    struct tries tries = {.fail = 1000, .failure = STATUS_IO};

    cr_assert_eq(read_with(&tries, true), STATUS_MALFORMED);
    cr_assert_eq(tries.reads, READ_TRIES);
    cr_assert_eq(tries.pauses, READ_TRIES - 1);
}

Test(storage_read_again, a_disk_in_memory_need_not_wait)
{
    struct tries tries = {.fail = 1, .failure = STATUS_IO};

    cr_assert_eq(read_with(&tries, false), STATUS_OK);
    cr_assert_eq(tries.reads, 2);
}

Test(storage_read_again, no_other_failure_is_tried_again)
{
    struct tries tries = {.fail = 1, .failure = STATUS_NOMEM};

    cr_assert_eq(read_with(&tries, true), STATUS_NOMEM);
    cr_assert_eq(tries.reads, 1);
}
