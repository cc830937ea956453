/* backup SEED COUNT: COUNT backups of filters made from SEED, each bent in some way, through a
 * reader.
 *
 * An input is a byte: its lowest bit says that checksums of all records are put right before it is
 * tried, the others how many bytes the reader is fed at a time; then a backup.
 *
 * An input passes when it is refused with a status that is documented, or when all records that
 * were read, written anew, are the same bytes. Prints "N passed, N failed".
 */
#include "tests/support/backup_samples.h"
#include "tests/support/fuzz_loop.h"
#include "tests/support/random.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { MOST_BENDS = 4 };

static void make(void *context, uint64_t seed, struct buffer *input)
{
    uint64_t random = seed;
    struct buffer bytes;
    size_t size;
    uint8_t how;

    (void)context;
    buffer_init(&bytes, FUZZ_INPUT_BYTES);
    backup_sample_write(NULL, &bytes);
    size = bytes.size;
    for (uint64_t n = random_below(&random, MOST_BENDS); n > 0; n--) {
        fuzz_bend(&random, bytes.data, &size);
    }
    how = (uint8_t)random_below(&random, 256);
    fuzz_put(input, &how, sizeof how);
    fuzz_put(input, bytes.data, size);
    buffer_fini(&bytes);
}

/* As far as records can be told apart. */
static void put_right(uint8_t *bytes, size_t size)
{
    size_t at = BACKUP_MAGIC_BYTES;
    size_t one;

    for (uint64_t before = 0; at + BACKUP_FRONT_BYTES <= size; before++) {
        uint64_t sum;

        if (backup_record_size(bytes + at, &one) != STATUS_OK || one > size - at) {
            return;
        }
        sum = XXH3_64bits_withSeed(bytes + at + BACKUP_FRONT_BYTES, one - BACKUP_FRONT_BYTES,
                                   XXH3_64bits_withSeed(bytes + at, 8, before));
        memcpy(bytes + at + 8, &sum, sizeof sum);
        at += one;
    }
}

static bool is_documented(enum status status)
{
    return status == STATUS_MALFORMED || status == STATUS_VERSION || status == STATUS_UNAUTHENTIC;
}

/* Feeds it, and writes anew what it tells. */
static enum status read_all(struct backup_reader *reader, struct span bytes, size_t fed,
                            struct buffer *anew)
{
    struct backup_record record;
    enum status status;

    for (;;) {
        status = backup_reader_next(reader, &record);
        if (status == STATUS_NOT_FOUND && bytes.size > 0) {
            size_t size = bytes.size < fed ? bytes.size : fed;
            uint8_t *room;

            if (backup_reader_room(reader, size, &room) != STATUS_OK) {
                abort();
            }
            memcpy(room, bytes.data, size);
            backup_reader_put(reader, size);
            bytes = span_of(bytes.data + size, bytes.size - size);
        } else if (status != STATUS_OK) {
            return status == STATUS_NOT_FOUND ? backup_reader_close(reader) : status;
        } else if (backup_record_write(&record, reader->place.records - 1, anew) != STATUS_OK) {
            return STATUS_INTERNAL;
        }
    }
}

static bool try_input(void *context, struct span input)
{
    struct backup_reader reader;
    struct buffer anew;
    uint8_t how;
    uint8_t *copy;
    enum status status;
    bool pass;

    (void)context;
    fuzz_take(&input, &how, sizeof how);
    copy = fuzz_copy(input);
    if ((how & 1) != 0) {
        put_right(copy, input.size);
    }
    buffer_init(&anew, 2 * (size_t)FUZZ_INPUT_BYTES);
    if (buffer_append(&anew, span_of(backup_magic, sizeof backup_magic)) != STATUS_OK ||
        backup_reader_init(&reader) != STATUS_OK) {
        abort();
    }
    status = read_all(&reader, span_of(copy, input.size), 1 + (size_t)how / 2, &anew);
    pass = (status == STATUS_OK || is_documented(status)) && anew.size <= input.size + 8 &&
           (anew.size == 8 || memcmp(anew.data, copy, anew.size) == 0) &&
           (status != STATUS_OK || anew.size == input.size);
    backup_reader_fini(&reader);
    buffer_fini(&anew);
    free(copy);
    return pass;
}

int main(int argc, char **argv)
{
    const struct fuzz_target target = {.name = "backup", .make = make, .try_input = try_input};

    return fuzz_loop(&target, argc, argv);
}
