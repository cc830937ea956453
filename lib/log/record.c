/* The fixed front of a record and the checksum over all of it; what kinds of records hold is in
 * files of their own. */
#include "log/record.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are stored as they are held");

enum {
    AT_SIZE = 8,
    AT_TYPE = 12,
    AT_FLAGS = 14,
    AT_BOOT = 16,
    AT_OFFSET = 24,
    AT_DURABLE = 32,
};

static uint16_t load16(const uint8_t *at)
{
    uint16_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t load32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t load64(const uint8_t *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static void store(uint8_t *at, const void *value, size_t size)
{
    memcpy(at, value, size);
}

static uint64_t checksum(const uint8_t *record, size_t size)
{
    return XXH3_64bits(record + AT_SIZE, size - AT_SIZE);
}

bool record_is_state(uint16_t type)
{
    return type != RECORD_BATCH && type != RECORD_LINES;
}

size_t record_size(size_t body_size)
{
    return (RECORD_HEADER_BYTES + body_size + 7) & ~(size_t)7;
}

void record_begin(uint8_t *at, const struct record_header *header)
{
    assert(header->size >= RECORD_HEADER_BYTES && header->size <= RECORD_MAX_BYTES);
    assert(header->size % 8 == 0);
    memset(at, 0, RECORD_HEADER_BYTES);
    store(at + AT_SIZE, &header->size, sizeof header->size);
    store(at + AT_TYPE, &header->type, sizeof header->type);
    store(at + AT_FLAGS, &header->flags, sizeof header->flags);
    store(at + AT_OFFSET, &header->offset, sizeof header->offset);
}

void record_seal(uint8_t *at, uint64_t boot, uint64_t durable)
{
    uint64_t sum;

    store(at + AT_BOOT, &boot, sizeof boot);
    store(at + AT_DURABLE, &durable, sizeof durable);
    sum = checksum(at, load32(at + AT_SIZE));
    store(at, &sum, sizeof sum);
}

enum status record_peek(struct span bytes, struct record_header *header)
{
    const uint8_t *at = bytes.data;
    uint32_t size;

    if (bytes.size < RECORD_HEADER_BYTES) {
        return STATUS_TOO_LARGE;
    }
    size = load32(at + AT_SIZE);
    if (size < RECORD_HEADER_BYTES || size > RECORD_MAX_BYTES || size % 8 != 0) {
        return STATUS_MALFORMED;
    }
    *header = (struct record_header){.size = size,
                                     .type = load16(at + AT_TYPE),
                                     .flags = load16(at + AT_FLAGS),
                                     .boot = load64(at + AT_BOOT),
                                     .offset = load64(at + AT_OFFSET),
                                     .durable = load64(at + AT_DURABLE)};
    return STATUS_OK;
}

enum status record_open(struct span bytes, struct record_header *header)
{
    struct record_header found;
    enum status status = record_peek(bytes, &found);

    if (status != STATUS_OK) {
        return status;
    }
    if (found.size > bytes.size) {
        return STATUS_TOO_LARGE;
    }
    if (load64(bytes.data) != checksum(bytes.data, found.size)) {
        return STATUS_MALFORMED;
    }
    *header = found;
    return STATUS_OK;
}
