/* Every operation, read and allocation fails once: it is told, and nothing stays behind. */
#include "tests/unit/storage_run_sample.h"

TestSuite(run_failures, .init = setup, .fini = teardown);

/* Whichever operation fails, its status is told and nothing stays behind. */
Test(run_failures, every_operation_of_writing_may_fail)
{
    const enum status statuses[] = {STATUS_IO, STATUS_NO_SPACE};
    size_t live = heap_live();

    for (size_t s = 0; s < 2; s++) {
        int n = 0;

        for (enum status status = STATUS_IO; status != STATUS_OK; n++) {
            struct record_run run = {.number = 1234};

            cr_assert_lt(n, 100);
            memory_disk_fail_once(memory, n, statuses[s]);
            status = write_run(numbers, MANY, 1000, &run);
            memory_disk_fail_after(memory, MEMORY_DISK_NEVER);
            if (status == STATUS_OK) {
                assert_holds(&run, numbers, MANY);
                remove_run(&run);
            } else {
                cr_assert_eq(status, statuses[s]);
                cr_assert_eq(run.number, 1234);
            }
            cr_assert_eq(count_files(), 0, "operation %d", n);
            cr_assert_eq(memory_disk_open_files(memory), 0);
            cr_assert_eq(heap_live(), live);
        }
        cr_assert_gt(n, 8); /* create, 4 blocks, index, header, sync, folder */
    }
}

Test(run_failures, a_full_disk_is_told)
{
    struct record_run run = {0};

    memory_disk_limit(memory, run_bytes(MANY) - 1);
    cr_assert_eq(write_run(numbers, MANY, 1000, &run), STATUS_NO_SPACE);
    cr_assert_eq(count_files(), 0);
    memory_disk_limit(memory, run_bytes(MANY));
    cr_assert_eq(write_run(numbers, MANY, 1000, &run), STATUS_OK);
}

Test(run_failures, a_writer_that_failed_goes_on_failing)
{
    struct run_writer *writer = NULL;
    struct record_run run = {0};

    cr_assert_eq(run_writer_create(&disk, CLUSTER, &sample, MANY, &writer), STATUS_OK);
    memory_disk_fail_once(memory, 0, STATUS_IO);
    cr_assert_eq(run_writer_add(writer, numbers, MANY), STATUS_IO);
    cr_assert_eq(run_writer_add(writer, numbers + MANY - 1, 1), STATUS_IO);
    cr_assert_eq(run_writer_finish(writer, &run), STATUS_IO);
    run_writer_destroy(&writer);
    cr_assert_eq(count_files(), 0);
}

Test(run_failures, every_read_may_fail)
{
    struct record_run run = write_good(numbers, MANY);
    uint64_t *read = heap_alloc(MANY, sizeof *read);
    size_t live = heap_live();
    enum status status = STATUS_IO;
    int n = 0;

    for (; status != STATUS_OK; n++) {
        size_t nread = 0;

        cr_assert_lt(n, 100);
        reads_left = n;
        status = read_run(&run, 0, read, &nread);
        reads_left = -1;
        cr_assert(status == STATUS_OK || status == STATUS_MALFORMED);
        cr_assert_eq(memory_disk_open_files(memory), 0);
        cr_assert_eq(heap_live(), live);
    }
    cr_assert_gt(n, 6); /* header, index, 4 blocks */
    heap_free(read);
}

Test(run_failures, every_allocation_may_fail)
{
    struct record_run run = {0};
    size_t live = heap_live();
    enum status status = STATUS_NOMEM;

    for (unsigned n = 0; status != STATUS_OK; n++) {
        cr_assert_lt(n, 20);
        heap_fault_after(n);
        status = write_run(numbers, MANY, 1000, &run);
        heap_fault_clear();
        cr_assert(status == STATUS_OK || status == STATUS_NOMEM);
        cr_assert_eq(count_files(), status == STATUS_OK);
        cr_assert_eq(heap_live(), live);
    }
    status = STATUS_NOMEM;
    for (unsigned n = 0; status != STATUS_OK; n++) {
        struct run_reader *reader = NULL;

        cr_assert_lt(n, 20);
        heap_fault_after(n);
        status = run_reader_create(&disk, CLUSTER, &run, &reader);
        heap_fault_clear();
        cr_assert_eq(status == STATUS_OK, reader != NULL);
        run_reader_destroy(&reader);
        cr_assert_eq(memory_disk_open_files(memory), 0);
        cr_assert_eq(heap_live(), live);
    }
}
