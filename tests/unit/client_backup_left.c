/* What is left of a backup: how far of it may be gone on with. */
#include "cli/backup/left.h"
#include "runtime/date.h"
#include "tests/support/backup_samples.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PASSPHRASE "correct horse battery staple"

static const uint64_t within_us = UINT64_C(3600000000);
static struct passphrase passphrase;
static struct backup_key key;
static struct backup_writer writer;
static struct save_filter wanted[] = {{.name = "first", .uid = {1, 1}},
                                      {.name = "second", .uid = {2, 2}}};
static struct left left;

/* ---- a part ---- */

static void begin(enum backup_seal seal)
{
    struct backup_head head = backup_sample_head(seal);

    head.begun_ms = date_now_ms();
    if (seal == BACKUP_SEAL_PASSPHRASE) {
        head.passes = 1;
        head.memory_kib = 8192;
        passphrase.size = strlen(PASSPHRASE);
        memcpy(passphrase.bytes, PASSPHRASE, passphrase.size);
        cr_assert_eq(passphrase_key(&passphrase, &head, &key), STATUS_OK);
    }
    cr_assert_eq(backup_writer_begin(&writer, &head, seal == BACKUP_SEAL_PASSPHRASE ? &key : NULL),
                 STATUS_OK);
}

static void put_filter(const struct save_filter *which)
{
    const struct hash_secret secret = {{7}};
    const uint8_t nonce[SEAL_NONCE_BYTES] = {8};
    struct backup_filter filter = backup_sample_filter(which->name);

    filter.uid = which->uid;
    backup_secret_seal(&key, filter.source, &secret, nonce, filter.sealed);
    cr_assert_eq(backup_put_filter(&writer, &filter), STATUS_OK);
}

static void put_chunk(unsigned which)
{
    const struct backup_chunk chunk = backup_sample_chunk(which);

    cr_assert_eq(backup_put_chunk(&writer, &chunk), STATUS_OK);
}

static uint64_t put_first(void)
{
    put_filter(&wanted[0]);
    put_chunk(0);
    put_chunk(1);
    cr_assert_eq(backup_put_filter_end(&writer), STATUS_OK);
    return writer.place.bytes;
}

/* Is what was written gone on with? */
static bool goes_on(bool sealed, const struct wanted *filters)
{
    const struct left_wish wish = {
        .wanted = filters, .within_us = within_us, .passphrase = sealed ? &passphrase : NULL};
    char path[] = "/tmp/orbloom-left-XXXXXX";
    int fd = mkstemp(path);
    struct input input;
    bool good;

    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, writer.out.data, writer.out.size), (ssize_t)writer.out.size);
    (void)close(fd);
    left = (struct left){0};
    cr_assert_eq(input_open(&input, path), STATUS_OK);
    good = left_read(&left, &input, &wish);
    input_close(&input);
    (void)unlink(path);
    return good;
}

static void end(void)
{
    left_fini(&left);
    backup_writer_fini(&writer);
}

static const struct wanted both = {.all = true, .items = wanted, .count = 2};

/* ---- */

Test(client_backup_left, goes_on_behind_the_last_record)
{
    uint64_t whole;

    begin(BACKUP_SEAL_CLUSTER);
    whole = put_first();
    put_filter(&wanted[1]);
    put_chunk(0);
    cr_assert(goes_on(false, &both));
    cr_assert_eq(left.end.place.bytes, writer.out.size);
    cr_assert(left.end.place.in_filter);
    cr_assert_eq(left.whole.place.bytes, whole);
    cr_assert_eq(left.count, 2);
    end();
}

/* Its chunks have checksums that anybody can make, and would be vouched for with the next ones. */
Test(client_backup_left, with_a_passphrase_goes_on_where_a_digest_vouches_for_all)
{
    uint64_t whole;

    begin(BACKUP_SEAL_PASSPHRASE);
    whole = put_first();
    put_filter(&wanted[1]);
    put_chunk(0);
    cr_assert(goes_on(true, &both));
    cr_assert_eq(left.end.place.bytes, whole);
    cr_assert_not(left.end.place.in_filter);
    cr_assert_eq(left.count, 1, "the other one is to be written anew");
    end();
}

Test(client_backup_left, with_a_passphrase_half_a_filter_is_begun_anew)
{
    const struct wanted first_only = {.items = wanted, .count = 1};

    begin(BACKUP_SEAL_PASSPHRASE);
    put_filter(&wanted[0]);
    put_chunk(0);
    cr_assert_not(goes_on(true, &first_only));
    end();
}

/* Another one may have its name by now. */
Test(client_backup_left, with_a_filter_that_is_gone_is_begun_anew)
{
    const struct wanted second_only = {.all = true, .items = &wanted[1], .count = 1};

    begin(BACKUP_SEAL_CLUSTER);
    (void)put_first();
    cr_assert(goes_on(false, &both));
    left_fini(&left);
    cr_assert_not(goes_on(false, &second_only));
    end();
}
