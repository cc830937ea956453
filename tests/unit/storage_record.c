/* Records give back what was put into them, and nothing that was bent is taken for one. */
#include "log/record.h"
#include "tests/support/log_samples.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { BOOT = 0xb0, OFFSET = 4096, DURABLE = 2048 };

static _Alignas(8) uint8_t record[SAMPLE_RECORD_MAX];

static struct span make(enum record_type type)
{
    uint32_t size = sample_record(record, type, OFFSET, BOOT, DURABLE);

    return span_of(record, size);
}

Test(record, a_sealed_one_is_opened_with_its_header)
{
    for (int type = RECORD_IDENTITY; type <= RECORD_LAST; type++) {
        struct span bytes = make((enum record_type)type);
        struct record_header header;

        cr_assert_eq(bytes.size % 8, 0);
        cr_assert_eq(record_open(bytes, &header), STATUS_OK);
        cr_assert_eq(header.size, bytes.size);
        cr_assert_eq(header.type, type);
        cr_assert_eq(header.boot, BOOT);
        cr_assert_eq(header.offset, OFFSET);
        cr_assert_eq(header.durable, DURABLE);
    }
}

Test(record, bytes_behind_it_do_not_matter)
{
    struct span bytes = make(RECORD_FENCE);
    struct record_header header;

    record[bytes.size] = 1;
    cr_assert_eq(record_open(span_of(record, sizeof record), &header), STATUS_OK);
    cr_assert_eq(header.size, bytes.size);
}

Test(record, any_changed_bit_is_seen)
{
    for (int type = RECORD_IDENTITY; type <= RECORD_LAST; type++) {
        struct span bytes = make((enum record_type)type);

        for (size_t bit = 0; bit < 8 * bytes.size; bit++) {
            struct record_header header = {.size = 1};

            record[bit / 8] ^= (uint8_t)(1 << bit % 8);
            cr_assert_neq(record_open(bytes, &header), STATUS_OK, "type %d bit %zu", type, bit);
            cr_assert_eq(header.size, 1, "an output was touched");
            record[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

Test(record, a_part_asks_for_more)
{
    struct span bytes = make(RECORD_BATCH);

    for (size_t size = 0; size < bytes.size; size++) {
        uint8_t *part = malloc(size + 1);
        struct record_header header;

        memcpy(part, bytes.data, size);
        cr_assert_eq(record_open(span_of(part, size), &header), STATUS_TOO_LARGE, "%zu", size);
        free(part);
    }
}

Test(record, sizes_that_none_has_are_malformed)
{
    static const uint32_t sizes[] = {0, 8, 32, 41, 44, RECORD_MAX_BYTES + 8, UINT32_MAX};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct record_header header;

        (void)make(RECORD_CLEAN);
        memcpy(record + 8, &sizes[i], sizeof sizes[i]);
        cr_assert_eq(record_open(span_of(record, sizeof record), &header), STATUS_MALFORMED);
        cr_assert_eq(record_peek(span_of(record, sizeof record), &header), STATUS_MALFORMED);
    }
}

Test(record, the_longest_is_opened)
{
    uint8_t *bytes = malloc(RECORD_MAX_BYTES);
    struct record_header header;

    cr_assert_eq(sample_begin(bytes, RECORD_DOCUMENT, 0, RECORD_MAX_BYTES - RECORD_HEADER_BYTES),
                 RECORD_MAX_BYTES);
    record_seal(bytes, BOOT, 0);
    cr_assert_eq(record_open(span_of(bytes, RECORD_MAX_BYTES), &header), STATUS_OK);
    free(bytes);
}

Test(record, a_batch_comes_back)
{
    struct record_batch batch;

    cr_assert_eq(record_batch_get(make(RECORD_BATCH), &batch), STATUS_OK);
    cr_assert_eq(batch.filter_id, sample_batch.filter_id);
    cr_assert_eq(batch.epoch, sample_batch.epoch);
    cr_assert_eq(batch.batch_producer, sample_batch.batch_producer);
    cr_assert_eq(batch.batch_number, sample_batch.batch_number);
    cr_assert_eq(batch.group, sample_batch.group);
    cr_assert(batch.repaired);
    cr_assert_eq(batch.ntargets, 2);
    cr_assert_eq(batch.targets[1].slice, sample_batch.targets[1].slice);
    cr_assert_eq(batch.targets[1].keyset, sample_batch.targets[1].keyset);
    cr_assert_eq(batch.count, 3);
    cr_assert_eq((uintptr_t)batch.fingerprints % 8, 0);
    cr_assert_arr_eq(batch.fingerprints, sample_batch.fingerprints, 3 * sizeof(uint64_t));
}

/* Checksums are right here: what is bent was written so. */
static enum status get_bent(size_t at, uint8_t value)
{
    struct span bytes = make(RECORD_BATCH);
    struct record_batch batch;

    record[RECORD_HEADER_BYTES + at] = value;
    record_seal(record, BOOT, DURABLE);
    return record_batch_get(bytes, &batch);
}

Test(record, a_batch_that_does_not_add_up_is_malformed)
{
    cr_assert_eq(get_bent(0, 1), STATUS_OK);
    cr_assert_eq(get_bent(36, 1), STATUS_MALFORMED, "what nothing is in yet");
    cr_assert_eq(get_bent(38, 1), STATUS_MALFORMED, "too few targets for its size");
    cr_assert_eq(get_bent(38, RECORD_MAX_TARGETS + 1), STATUS_MALFORMED);
    cr_assert_eq(get_bent(40, 4), STATUS_MALFORMED, "more fingerprints than there are");
    cr_assert_eq(get_bent(43, 0xff), STATUS_MALFORMED, "very many fingerprints");
}

/* Not damage: what such a record means only a newer version knows. */
Test(record, an_unknown_flag_is_a_newer_version)
{
    struct record_header header;

    cr_assert_eq(get_bent(44, 31), STATUS_OK);
    cr_assert_eq(get_bent(44, 32), STATUS_VERSION);
    cr_assert_eq(get_bent(47, 0x80), STATUS_VERSION);
    cr_assert_eq(record_open(span_of(record, sizeof record), &header), STATUS_OK);
    cr_assert(record_is_newer(&header, span_of(record, header.size)));
    for (int type = RECORD_IDENTITY; type <= RECORD_LAST; type++) {
        struct span bytes = make((enum record_type)type);

        cr_assert_eq(record_open(bytes, &header), STATUS_OK);
        cr_assert_not(record_is_newer(&header, bytes), "type %d", type);
        header.flags = 4;
        cr_assert(record_is_newer(&header, bytes), "type %d, flags of its header", type);
        header.flags = 0;
        header.type = RECORD_LAST + 1;
        cr_assert(record_is_newer(&header, bytes));
    }
}

Test(record, an_identity_of_too_many_boots_is_malformed)
{
    struct span bytes = make(RECORD_IDENTITY);
    struct record_identity identity;

    record[RECORD_HEADER_BYTES + 32] = RECORD_MAX_BOOTS + 1;
    cr_assert_eq(record_identity_get(bytes, &identity), STATUS_MALFORMED);
    record[RECORD_HEADER_BYTES + 32] = RECORD_MAX_BOOTS;
    cr_assert_eq(record_identity_get(bytes, &identity), STATUS_OK);
    record[RECORD_HEADER_BYTES + 28] = 4;
    cr_assert_eq(record_identity_get(bytes, &identity), STATUS_VERSION, "an unknown flag");
}

Test(record, an_empty_batch_is_one)
{
    const struct record_batch empty = {.filter_id = 1};
    struct record_batch batch;
    uint32_t size = sample_begin(record, RECORD_BATCH, 0, record_batch_size(&empty));

    record_batch_put(record, &empty);
    cr_assert_eq(record_batch_get(span_of(record, size), &batch), STATUS_OK);
    cr_assert_eq(batch.count, 0);
}

Test(record, an_identity_a_fence_a_cursor_and_a_peer_come_back)
{
    struct record_identity identity;
    struct record_fence fence;
    struct record_cursor cursor;
    struct record_peer peer;

    cr_assert_eq(record_identity_get(make(RECORD_IDENTITY), &identity), STATUS_OK);
    cr_assert_eq(identity.incarnation, 11);
    cr_assert_eq(identity.boot, 12);
    cr_assert_eq(identity.kernel_boot, 13);
    cr_assert_eq(identity.node, 14);
    cr_assert(identity.unsynced);
    cr_assert(identity.confirmed);
    cr_assert_eq(identity.nbefore, 2);
    cr_assert_eq(identity.before[0], 15);
    cr_assert_eq(identity.before[1], 16);
    cr_assert_eq(identity.ends[0], 17);
    cr_assert_eq(identity.ends[1], 18);
    cr_assert_eq(identity.before[2], 0);
    cr_assert_eq(record_fence_get(make(RECORD_FENCE), &fence), STATUS_OK);
    cr_assert_eq(fence.filter_id, 21);
    cr_assert_eq(fence.epoch, 22);
    cr_assert_eq(fence.epoch_hash, 23);
    cr_assert_eq(record_cursor_get(make(RECORD_CURSOR), &cursor), STATUS_OK);
    cr_assert_eq(cursor.filter_id, 31);
    cr_assert_eq(cursor.group, 32);
    cr_assert_eq(cursor.keyset, 33);
    cr_assert_eq(cursor.slice, 34);
    cr_assert_eq(cursor.source, 35);
    cr_assert_eq(cursor.source_incarnation, 36);
    cr_assert_eq(cursor.offset, 37);
    cr_assert_eq(cursor.epoch, 38);
    cr_assert_eq(record_peer_get(make(RECORD_PEER), &peer), STATUS_OK);
    cr_assert_eq(peer.incarnation, 71);
    cr_assert_eq(peer.boot, 72);
    cr_assert_eq(peer.base, 73);
    cr_assert_eq(peer.node, 74);
}

Test(record, a_document_comes_back_whatever_its_size)
{
    uint8_t bytes[64];

    memset(bytes, 0xd0, sizeof bytes);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        struct span document;
        uint32_t whole = sample_begin(record, RECORD_DOCUMENT, 0,
                                      record_document_size(span_of(bytes, size)));

        record_document_put(record, span_of(bytes, size));
        cr_assert_eq(record_document_get(span_of(record, whole), &document), STATUS_OK);
        cr_assert(span_equal(document, span_of(bytes, size)));
        record[RECORD_HEADER_BYTES] = (uint8_t)(size + 8);
        cr_assert_eq(record_document_get(span_of(record, whole), &document), STATUS_MALFORMED);
    }
}

Test(record, a_manifest_comes_back)
{
    struct span bytes = make(RECORD_MANIFEST);
    struct record_manifest manifest;
    uint32_t many = UINT32_MAX;

    cr_assert_eq(record_manifest_get(bytes, &manifest), STATUS_OK);
    cr_assert_eq(manifest.merged, 99);
    cr_assert_eq(manifest.nremoved, 3);
    cr_assert_eq(manifest.nadded, 2);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(record_manifest_removed(&manifest, i), sample_removed[i]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct record_run run = record_manifest_added(&manifest, i);

        cr_assert_eq(run.number, sample_runs[i].number);
        cr_assert_eq(run.filter_id, sample_runs[i].filter_id);
        cr_assert_eq(run.slice, sample_runs[i].slice);
        cr_assert_eq(run.keyset, sample_runs[i].keyset);
        cr_assert_eq(run.count, sample_runs[i].count);
    }
    memcpy(record + RECORD_HEADER_BYTES + 12, &many, sizeof many);
    cr_assert_eq(record_manifest_get(bytes, &manifest), STATUS_MALFORMED);
}

Test(record, a_snapshot_says_what_it_was_told)
{
    struct record_snapshot snapshot;

    cr_assert_eq(record_snapshot_get(make(RECORD_SNAPSHOT), &snapshot), STATUS_OK);
    cr_assert_eq(snapshot.number, sample_snapshot.number);
    cr_assert_eq(snapshot.filter_id, sample_snapshot.filter_id);
    cr_assert_eq(snapshot.slice, sample_snapshot.slice);
    cr_assert_eq(snapshot.keyset, sample_snapshot.keyset);
    cr_assert_eq(snapshot.generation, sample_snapshot.generation);
    cr_assert_eq(snapshot.from, sample_snapshot.from);
    cr_assert_eq(snapshot.end, sample_snapshot.end);
}

Test(record, lines_say_what_they_were_told)
{
    uint8_t page[RECORD_PAGE_BYTES];
    struct record_lines lines;
    struct span bytes = make(RECORD_LINES);

    cr_assert_eq(record_lines_get(bytes, &lines), STATUS_OK);
    cr_assert_eq(lines.filter_id, sample_lines.filter_id);
    cr_assert_eq(lines.slice, sample_lines.slice);
    cr_assert_eq(lines.keyset, sample_lines.keyset);
    cr_assert_eq(lines.generation, sample_lines.generation);
    cr_assert_eq(lines.shard, sample_lines.shard);
    cr_assert_eq(lines.page, sample_lines.page);
    record_lines_page(&lines, page);
    cr_assert_arr_eq(page, sample_lines.bytes, RECORD_PAGE_BYTES);
    cr_assert_eq((uintptr_t)(lines.bytes - bytes.data) % 8, 0);
}

Test(record, a_batch_says_what_it_is)
{
    struct record_batch batch = sample_batch;

    for (int i = 0; i < 32; i++) {
        struct record_batch read;
        uint32_t size = sample_begin(record, RECORD_BATCH, OFFSET, record_batch_size(&batch));

        batch.bits = (i & 1) != 0;
        batch.repaired = (i & 2) != 0;
        batch.relayed = (i & 4) != 0;
        batch.fed = (i & 8) != 0;
        batch.partial = (i & 16) != 0;
        record_batch_put(record, &batch);
        cr_assert_eq(record_batch_get(span_of(record, size), &read), STATUS_OK);
        cr_assert_eq(read.bits, batch.bits);
        cr_assert_eq(read.repaired, batch.repaired);
        cr_assert_eq(read.relayed, batch.relayed);
        cr_assert_eq(read.fed, batch.fed);
        cr_assert_eq(read.partial, batch.partial);
        cr_assert_eq(read.batch_number, batch.batch_number);
        cr_assert_eq(read.ntargets, 2);
    }
}

Test(record, one_type_is_not_read_as_another)
{
    for (int type = RECORD_IDENTITY; type <= RECORD_LAST; type++) {
        struct span bytes = make((enum record_type)type);
        struct record_batch batch;
        struct record_identity identity;
        struct record_fence fence;
        struct record_cursor cursor;
        struct record_manifest manifest;
        struct record_snapshot snapshot;
        struct record_lines lines;
        struct span document;
        struct record_peer peer;
        struct record_site_cursor site;

        cr_assert_eq(record_site_cursor_get(bytes, &site) == STATUS_OK, type == RECORD_SITE_CURSOR);
        cr_assert_eq(record_snapshot_get(bytes, &snapshot) == STATUS_OK, type == RECORD_SNAPSHOT);
        cr_assert_eq(record_lines_get(bytes, &lines) == STATUS_OK, type == RECORD_LINES);
        cr_assert_eq(record_peer_get(bytes, &peer) == STATUS_OK, type == RECORD_PEER);
        cr_assert_eq(record_batch_get(bytes, &batch) == STATUS_OK, type == RECORD_BATCH);
        cr_assert_eq(record_identity_get(bytes, &identity) == STATUS_OK, type == RECORD_IDENTITY);
        cr_assert_eq(record_fence_get(bytes, &fence) == STATUS_OK, type == RECORD_FENCE);
        cr_assert_eq(record_cursor_get(bytes, &cursor) == STATUS_OK, type == RECORD_CURSOR);
        cr_assert_eq(record_manifest_get(bytes, &manifest) == STATUS_OK, type == RECORD_MANIFEST);
        cr_assert_eq(record_document_get(bytes, &document) == STATUS_OK, type == RECORD_DOCUMENT);
    }
}

Test(record, a_body_that_is_cut_is_malformed)
{
    for (int type = RECORD_IDENTITY; type <= RECORD_LAST; type++) {
        struct span bytes = make((enum record_type)type);
        struct record_batch batch;
        struct record_identity identity;
        struct record_fence fence;
        struct record_cursor cursor;
        struct record_manifest manifest;
        struct record_peer peer;
        struct span document;
        struct record_snapshot snapshot;
        struct record_lines lines;
        struct record_site_cursor site;
        struct span cut = span_of(bytes.data, bytes.size - 8);

        cr_assert_neq(record_site_cursor_get(cut, &site), STATUS_OK);
        cr_assert_neq(record_snapshot_get(cut, &snapshot), STATUS_OK);
        cr_assert_neq(record_lines_get(cut, &lines), STATUS_OK);
        if (type == RECORD_CLEAN) {
            continue;
        }
        cr_assert_neq(record_peer_get(cut, &peer), STATUS_OK);
        cr_assert_neq(record_batch_get(cut, &batch), STATUS_OK);
        cr_assert_neq(record_identity_get(cut, &identity), STATUS_OK);
        cr_assert_neq(record_fence_get(cut, &fence), STATUS_OK);
        cr_assert_neq(record_cursor_get(cut, &cursor), STATUS_OK);
        cr_assert_neq(record_manifest_get(cut, &manifest), STATUS_OK);
        cr_assert_neq(record_document_get(cut, &document), STATUS_OK);
    }
}
