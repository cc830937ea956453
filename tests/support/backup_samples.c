/* As a backup is written by the command, without the command. */
#include "tests/support/backup_samples.h"

#include <stdlib.h>
#include <string.h>

static void must(enum status status)
{
    if (status != STATUS_OK) {
        abort();
    }
}

struct backup_head backup_sample_head(enum backup_seal seal)
{
    struct backup_head head = {.id = 7, .begun_ms = 1795816291459, .seal = seal};

    if (seal == BACKUP_SEAL_PASSPHRASE) {
        head.passes = 3;
        head.memory_kib = 65536;
        memset(head.salt, 5, sizeof head.salt);
    }
    return head;
}

struct backup_filter backup_sample_filter(const char *name)
{
    struct backup_filter filter = {
        .uid = {.high = 1, .low = 2},
        .source = 3,
        .dump = 4,
        .begun_ms = 1795816291460,
        .capacity = 1000,
        .rate = 0.01,
        .max_capacity = 64000,
        .max_staleness = 0,
        .acks = 2,
        .rule = {3, 2, 2},
        .hash = HASH_SIPHASH24,
        .when_unavailable = WHEN_UNAVAILABLE_ERROR,
        .when_full = WHEN_FULL_EXPAND,
        .durability = DURABILITY_SYNC,
    };

    memset(filter.sealed, 9, sizeof filter.sealed);
    memcpy(filter.name, name, strlen(name) + 1);
    return filter;
}

struct backup_chunk backup_sample_chunk(unsigned which)
{
    static const uint64_t keys[] = {UINT64_C(0x0000000000010000), UINT64_C(0x00000000abcdef01),
                                    UINT64_C(0x00007ffffffffff0)};
    uint64_t middle = dump_iterator(UINT64_C(1) << 47);

    return which == 0 ? (struct backup_chunk){DUMP_FIRST, middle, keys, 3}
                      : (struct backup_chunk){middle, DUMP_END, NULL, 0};
}

static void put(struct backup_writer *writer, struct buffer *out)
{
    must(buffer_append(out, buffer_span(&writer->out)));
    buffer_clear(&writer->out);
}

void backup_sample_write(const struct backup_key *key, struct buffer *out)
{
    static const uint64_t ends[] = {0, UINT64_MAX};
    const struct backup_head head = backup_sample_head(key != NULL ? BACKUP_SEAL_PASSPHRASE
                                                                   : BACKUP_SEAL_CLUSTER);
    const struct backup_chunk all = {DUMP_FIRST, DUMP_END, ends, 2};
    struct backup_filter filter = backup_sample_filter("urls");
    struct backup_writer writer;

    must(backup_writer_begin(&writer, &head, key));
    must(backup_put_filter(&writer, &filter));
    for (unsigned which = 0; which < 2; which++) {
        struct backup_chunk chunk = backup_sample_chunk(which);

        must(backup_put_chunk(&writer, &chunk));
        put(&writer, out);
    }
    must(backup_put_filter_end(&writer));
    filter = backup_sample_filter("x");
    must(backup_put_filter(&writer, &filter));
    must(backup_put_chunk(&writer, &all));
    must(backup_put_filter_end(&writer));
    must(backup_put_end(&writer));
    put(&writer, out);
    backup_writer_fini(&writer);
}

enum status backup_sample_read(struct span bytes, size_t fed, const struct backup_key *key,
                               uint64_t *keys)
{
    struct backup_reader reader;
    struct backup_record record;
    enum status status;

    must(backup_reader_init(&reader));
    *keys = 0;
    for (;;) {
        status = backup_reader_next(&reader, &record);
        if (status == STATUS_NOT_FOUND && bytes.size > 0) {
            size_t size = bytes.size < fed ? bytes.size : fed;
            uint8_t *room;

            must(backup_reader_room(&reader, size, &room));
            memcpy(room, bytes.data, size);
            backup_reader_put(&reader, size);
            bytes = span_of(bytes.data + size, bytes.size - size);
        } else if (status != STATUS_OK) {
            break;
        } else if (record.kind == BACKUP_HEAD && key != NULL) {
            backup_reader_use(&reader, key);
        } else if (record.kind == BACKUP_CHUNK) {
            *keys += record.chunk.count;
        }
    }
    status = status == STATUS_NOT_FOUND ? backup_reader_close(&reader) : status;
    backup_reader_fini(&reader);
    return status;
}
