/* The simulated disk keeps the contract of base/disk.h, and nothing beyond it. */
#include "tests/sim/sim_disk.h"

#include <criterion/criterion.h>
#include <string.h>

enum { SEEDS = 200, FILE_BYTES = 4096, SECTORS = FILE_BYTES / MEMORY_SECTOR_BYTES };

static struct sim_disk disk;
static uint64_t now_us;

static void begin(uint64_t seed)
{
    now_us = 1000;
    sim_disk_init(&disk, seed, 1, &now_us);
    sim_disk_attach(&disk);
}

static void end(void)
{
    sim_disk_fini(&disk);
}

static void crash(void)
{
    sim_disk_detach(&disk);
    sim_disk_lose_power(&disk);
    sim_disk_attach(&disk);
}

static uint32_t create(const char *name)
{
    uint32_t file;

    cr_assert_eq(disk.memory.seam.create(&disk.memory, name, FILE_BYTES, &file), STATUS_OK);
    return file;
}

static enum status sync_file(uint32_t file)
{
    return disk.memory.seam.sync(&disk.memory, file);
}

static enum status sync_folder(void)
{
    return disk.memory.seam.sync_folder(&disk.memory);
}

/* A file all of whose bytes are `value`. */
static enum status fill(uint32_t file, uint8_t value)
{
    uint8_t bytes[FILE_BYTES];

    memset(bytes, value, sizeof bytes);
    return disk.memory.seam.write(&disk.memory, file, 0, span_of(bytes, sizeof bytes));
}

/* Sectors of the file that hold that value only; -1: there is no such file. */
static int count_sectors(const char *name, uint8_t value)
{
    const struct memory_file *file = memory_disk_find(&disk.memory, name);
    int count = 0;

    if (file == NULL) {
        return -1;
    }
    for (size_t at = 0; at + MEMORY_SECTOR_BYTES <= file->seen.size; at += MEMORY_SECTOR_BYTES) {
        bool same = true;

        for (size_t i = 0; i < MEMORY_SECTOR_BYTES; i++) {
            same = same && file->seen.bytes[at + i] == value;
        }
        count += same;
    }
    return count;
}

static uint32_t create_durable(const char *name, uint8_t value)
{
    uint32_t file = create(name);

    cr_assert_eq(fill(file, value), STATUS_OK);
    cr_assert_eq(sync_file(file), STATUS_OK);
    cr_assert_eq(sync_folder(), STATUS_OK);
    return file;
}

Test(sim_disk, what_was_synced_survives_power_loss)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed);
        (void)create_durable("a", 7);
        crash();
        cr_assert_eq(count_sectors("a", 7), SECTORS);
        end();
    }
}

Test(sim_disk, a_killed_process_leaves_all_that_it_wrote)
{
    begin(1);
    cr_assert_eq(fill(create("a"), 7), STATUS_OK);
    sim_disk_detach(&disk);
    sim_disk_attach(&disk);
    cr_assert_eq(count_sectors("a", 7), SECTORS);
    end();
}

Test(sim_disk, what_a_killed_process_did_not_sync_may_go_with_the_power_later)
{
    int lost = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed);
        cr_assert_eq(fill(create_durable("a", 1), 2), STATUS_OK);
        sim_disk_detach(&disk);
        sim_disk_attach(&disk);
        crash();
        lost += count_sectors("a", 2) < SECTORS;
        end();
    }
    cr_assert_gt(lost, 0);
}

Test(sim_disk, unsynced_sectors_are_kept_lost_and_torn)
{
    int all = 0;
    int none = 0;
    int some = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        int kept;

        begin(seed);
        cr_assert_eq(fill(create_durable("a", 1), 2), STATUS_OK);
        crash();
        kept = count_sectors("a", 2);
        cr_assert_eq(kept + count_sectors("a", 1), SECTORS);
        all += kept == SECTORS;
        none += kept == 0;
        some += kept > 0 && kept < SECTORS;
        end();
    }
    cr_assert(all > 0 && none > 0 && some > 0, "%d %d %d", all, none, some);
}

/* Write half a file, then the other half. */
static void write_halves(uint32_t file)
{
    uint8_t bytes[FILE_BYTES / 2];

    memset(bytes, 2, sizeof bytes);
    cr_assert_eq(disk.memory.seam.write(&disk.memory, file, 0, span_of(bytes, sizeof bytes)),
                 STATUS_OK);
    cr_assert_eq(
        disk.memory.seam.write(&disk.memory, file, sizeof bytes, span_of(bytes, sizeof bytes)),
        STATUS_OK);
}

Test(sim_disk, a_later_write_may_outlive_an_earlier_one)
{
    int outlived = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct span bytes;

        begin(seed);
        write_halves(create_durable("a", 1));
        crash();
        bytes = memory_disk_bytes(&disk.memory, "a");
        outlived += bytes.data[0] == 1 && bytes.data[FILE_BYTES - 1] == 2;
        end();
    }
    cr_assert_gt(outlived, 0);
}

/* Within a sector the order of writes holds: none of its states was never there. */
Test(sim_disk, a_sector_shows_what_was_in_it_at_some_time)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct span bytes;
        uint32_t file;

        begin(seed);
        file = create_durable("a", 0);
        for (uint8_t i = 0; i < 100; i++) {
            const uint8_t value = 9;

            cr_assert_eq(disk.memory.seam.write(&disk.memory, file, i, span_of(&value, 1)),
                         STATUS_OK);
        }
        crash();
        bytes = memory_disk_bytes(&disk.memory, "a");
        for (size_t i = 1; i < 100; i++) {
            cr_assert_leq(bytes.data[i], bytes.data[i - 1]);
        }
        end();
    }
}

Test(sim_disk, names_that_were_not_synced_may_be_found_or_not)
{
    int counts[3][2] = {0};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed);
        (void)create_durable("old", 1);
        (void)create_durable("gone", 1);
        (void)create("new");
        cr_assert_eq(disk.memory.seam.remove(&disk.memory, "gone"), STATUS_OK);
        cr_assert_eq(disk.memory.seam.rename(&disk.memory, "old", "renamed"), STATUS_OK);
        crash();
        counts[0][memory_disk_find(&disk.memory, "new") != NULL]++;
        counts[1][memory_disk_find(&disk.memory, "gone") != NULL]++;
        counts[2][memory_disk_find(&disk.memory, "renamed") != NULL]++;
        cr_assert_neq(memory_disk_find(&disk.memory, "old") != NULL,
                      memory_disk_find(&disk.memory, "renamed") != NULL);
        end();
    }
    for (int i = 0; i < 3; i++) {
        cr_assert(counts[i][0] > 0 && counts[i][1] > 0, "edit %d: %d and %d", i, counts[i][0],
                  counts[i][1]);
    }
}

Test(sim_disk, a_new_file_without_its_own_sync_may_be_short)
{
    int shorter = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed);
        (void)create("a");
        cr_assert_eq(sync_folder(), STATUS_OK);
        crash();
        cr_assert_not_null(memory_disk_find(&disk.memory, "a"));
        shorter += memory_disk_bytes(&disk.memory, "a").size < FILE_BYTES;
        end();
    }
    cr_assert_gt(shorter, 0);
}

Test(sim_disk, an_operation_of_a_job_takes_a_while)
{
    uint32_t file;

    begin(1);
    file = create_durable("a", 1);
    cr_assert_eq(disk.spent_us, 0);
    sim_disk_job_begins(&disk);
    cr_assert_eq(sync_file(file), STATUS_OK);
    cr_assert_gt(sim_disk_job_ends(&disk), 20);
    end();
}

Test(sim_disk, after_a_failed_sync_another_one_is_worth_nothing)
{
    int lost = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint32_t file;

        begin(seed);
        file = create_durable("a", 1);
        cr_assert_eq(fill(file, 2), STATUS_OK);
        sim_disk_fail(&disk, SIM_DISK_EIO, 1);
        cr_assert_eq(sync_file(file), STATUS_IO);
        cr_assert_eq(sync_file(file), STATUS_OK);
        cr_assert_eq(count_sectors("a", 2), SECTORS);
        crash();
        lost += count_sectors("a", 2) < SECTORS;
        end();
    }
    cr_assert_gt(lost, 0);
}

static bool on_fault(void *context, enum sim_disk_fault fault)
{
    *(int *)context += fault == SIM_DISK_CRASH;
    return true;
}

Test(sim_disk, from_a_crash_on_nothing_works)
{
    int crashes = 0;

    begin(1);
    disk.on_fault = on_fault;
    disk.fault_context = &crashes;
    sim_disk_fail(&disk, SIM_DISK_CRASH, 3);
    (void)create("a");
    cr_assert_eq(sync_folder(), STATUS_OK);
    cr_assert_eq(sync_folder(), STATUS_IO);
    cr_assert_eq(crashes, 1);
    cr_assert_eq(sync_folder(), STATUS_IO);
    cr_assert_eq(crashes, 1);
    sim_disk_detach(&disk);
    sim_disk_attach(&disk);
    cr_assert_eq(sync_folder(), STATUS_OK);
    end();
}

Test(sim_disk, a_crash_in_a_write_leaves_a_part_of_it)
{
    int parts = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        int kept;

        begin(seed);
        sim_disk_fail(&disk, SIM_DISK_CRASH, 5);
        cr_assert_eq(fill(create_durable("a", 1), 2), STATUS_IO);
        kept = count_sectors("a", 2);
        parts += kept > 0 && kept < SECTORS;
        end();
    }
    cr_assert_gt(parts, 0);
}

Test(sim_disk, a_full_disk_refuses_new_files_and_longer_ones)
{
    static const uint8_t more[FILE_BYTES];
    uint32_t file;
    uint64_t room;

    begin(1);
    file = create("a");
    memory_disk_limit(&disk.memory, FILE_BYTES - 1);
    cr_assert_eq(disk.memory.seam.create(&disk.memory, "b", FILE_BYTES, &file), STATUS_NO_SPACE);
    cr_assert_eq(disk.memory.seam.room(&disk.memory, &room), STATUS_OK);
    cr_assert_eq(room, FILE_BYTES - 1);
    cr_assert_eq(fill(file, 1), STATUS_OK);
    cr_assert_eq(disk.memory.seam.write(&disk.memory, file, FILE_BYTES, span_of(more, sizeof more)),
                 STATUS_NO_SPACE);
    memory_disk_limit(&disk.memory, UINT64_MAX);
    cr_assert_eq(disk.memory.seam.create(&disk.memory, "b", FILE_BYTES, &file), STATUS_OK);
    end();
}

Test(sim_disk, a_wiped_disk_is_empty_and_a_copy_takes_it_back)
{
    begin(1);
    (void)create_durable("a", 1);
    sim_disk_take_copy(&disk, 1, 0);
    (void)create_durable("b", 2);
    sim_disk_detach(&disk);
    sim_disk_wipe(&disk);
    cr_assert(sim_disk_empty(&disk));
    cr_assert(sim_disk_roll_back(&disk));
    cr_assert_eq(count_sectors("a", 1), SECTORS);
    cr_assert_eq(count_sectors("b", 2), -1);
    sim_disk_lose_power(&disk);
    cr_assert_eq(count_sectors("a", 1), SECTORS);
    end();
}

Test(sim_disk, without_a_copy_there_is_no_way_back)
{
    begin(1);
    sim_disk_detach(&disk);
    cr_assert_not(sim_disk_roll_back(&disk));
    end();
}

static int count_flipped(const char *name, uint8_t value, size_t from, size_t to)
{
    struct span bytes = memory_disk_bytes(&disk.memory, name);
    int bits = 0;

    for (size_t i = from; i < to; i++) {
        bits += __builtin_popcount((unsigned)(bytes.data[i] ^ value));
    }
    return bits;
}

/* What the newest sync wrote at the end of a log can't be told from a torn tail. */
Test(sim_disk, one_bit_flips_where_it_can_be_noticed)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint32_t file;
        const uint8_t tail = 3;

        begin(seed);
        file = create_durable("log-0000000000000001", 5);
        cr_assert_eq(disk.memory.seam.write(&disk.memory, file, FILE_BYTES / 2, span_of(&tail, 1)),
                     STATUS_OK);
        cr_assert_eq(sync_file(file), STATUS_OK);
        sim_disk_detach(&disk);
        cr_assert(sim_disk_flip(&disk));
        cr_assert_eq(count_flipped("log-0000000000000001", 5, 64, FILE_BYTES / 2), 1);
        end();
    }
}

Test(sim_disk, power_loss_is_another_boot_of_the_kernel)
{
    uint64_t boot;

    begin(1);
    boot = disk.kernel_boot;
    sim_disk_detach(&disk);
    sim_disk_attach(&disk);
    cr_assert_eq(disk.kernel_boot, boot);
    crash();
    cr_assert_neq(disk.kernel_boot, boot);
    end();
}

static uint64_t digest_of(uint64_t seed)
{
    uint64_t digest;

    begin(seed);
    write_halves(create_durable("a", 1));
    crash();
    (void)create("b");
    digest = disk.digest ^ disk.spent_us ^ (uint64_t)count_sectors("a", 2);
    end();
    return digest;
}

Test(sim_disk, the_same_seed_gives_the_same_disk)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        cr_assert_eq(digest_of(seed), digest_of(seed));
    }
}
