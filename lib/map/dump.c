/* Bytes of headers and chunks, and the way back, which believes no byte: a dump may come from
 * anybody. */
#include "map/dump.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

enum {
    VERSION = 1,
    KIND_HEADER = 1,
    KIND_CHUNK = 2,
    SUM_BYTES = 8,
    FRONT_BYTES = 24, /* of both: magic, version, kind, source */
    CHUNK_BYTES = FRONT_BYTES + 24,
};

static const char magic[8] = {'O', 'R', 'B', 'L', 'O', 'O', 'M', 'D'};

/* ---- bytes ---- */

static uint64_t load(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

static void store(uint8_t *bytes, size_t size, uint64_t value)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
}

static void write_front(uint8_t *bytes, uint32_t kind, uint64_t source)
{
    memcpy(bytes, magic, sizeof magic);
    store(bytes + 8, 4, VERSION);
    store(bytes + 12, 4, kind);
    store(bytes + 16, 8, source);
}

static void write_sum(uint8_t *bytes, size_t size)
{
    store(bytes + size, SUM_BYTES, XXH3_64bits(bytes, size));
}

/* Whole, of this kind, and named. */
static enum status read_front(struct span bytes, uint32_t kind, size_t least, uint64_t *source)
{
    if (bytes.size < least || memcmp(bytes.data, magic, sizeof magic) != 0) {
        return STATUS_MALFORMED;
    }
    if (load(bytes.data + bytes.size - SUM_BYTES, SUM_BYTES) !=
        XXH3_64bits(bytes.data, bytes.size - SUM_BYTES)) {
        return STATUS_MALFORMED;
    }
    if (load(bytes.data + 8, 4) != VERSION) {
        return STATUS_VERSION;
    }
    *source = load(bytes.data + 16, 8);
    return load(bytes.data + 12, 4) == kind && *source != 0 ? STATUS_OK : STATUS_MALFORMED;
}

/* ---- places ---- */

uint64_t dump_source(const struct filter_document *document, const struct hash_secret *secret)
{
    uint8_t bytes[16 + HASH_SECRET_BYTES];
    uint64_t source;

    store(bytes, 8, document->id);
    store(bytes + 8, 4, document->hash);
    store(bytes + 12, 4, document->content.keysets[0].id); /* that serves */
    memcpy(bytes + 16, secret->bytes, HASH_SECRET_BYTES);
    source = XXH3_64bits(bytes, sizeof bytes);
    return source != 0 ? source : 1;
}

uint64_t dump_fingerprint(uint64_t iterator)
{
    assert(iterator >= DUMP_FIRST && iterator < DUMP_END);
    return (iterator - DUMP_FIRST) << DUMP_STEP_BITS;
}

uint64_t dump_iterator(uint64_t fingerprint)
{
    return (fingerprint >> DUMP_STEP_BITS) + DUMP_FIRST;
}

/* ---- headers ---- */

enum status dump_header_write(const struct dump_header *header, struct buffer *out)
{
    uint64_t rate_bits;
    uint8_t *bytes;
    enum status status = buffer_extend(out, DUMP_HEADER_BYTES, &bytes);

    if (status != STATUS_OK) {
        return status;
    }
    memset(bytes, 0, DUMP_HEADER_BYTES);
    memcpy(&rate_bits, &header->rate, sizeof rate_bits);
    write_front(bytes, KIND_HEADER, header->source);
    store(bytes + 24, 8, header->capacity);
    store(bytes + 32, 8, rate_bits);
    store(bytes + 40, 8, header->max_capacity);
    bytes[48] = (uint8_t)header->rule.replicas;
    bytes[49] = (uint8_t)header->rule.write;
    bytes[50] = (uint8_t)header->rule.read;
    bytes[51] = (uint8_t)header->hash;
    bytes[52] = (uint8_t)header->when_unavailable;
    bytes[53] = (uint8_t)header->when_full;
    memcpy(bytes + 56, header->secret.bytes, HASH_SECRET_BYTES);
    write_sum(bytes, DUMP_HEADER_BYTES - SUM_BYTES);
    return STATUS_OK;
}

/* As a document would be; else a copy can't be made of it. */
static bool header_good(const struct dump_header *header)
{
    return header->capacity > 0 && header->capacity <= header->max_capacity && header->rate > 0 &&
           header->rate < 1 && quorum_rule_check(&header->rule) == STATUS_OK &&
           (header->hash == HASH_SIPHASH24 || header->hash == HASH_XXH3) &&
           (header->when_unavailable == WHEN_UNAVAILABLE_ERROR ||
            header->when_unavailable == WHEN_UNAVAILABLE_MAYBE) &&
           (header->when_full == WHEN_FULL_REFUSE || header->when_full == WHEN_FULL_EXPAND);
}

enum status dump_header_read(struct span bytes, struct dump_header *out)
{
    uint64_t rate_bits;
    enum status status = bytes.size <= DUMP_HEADER_BYTES
                             ? read_front(bytes, KIND_HEADER, DUMP_HEADER_BYTES, &out->source)
                             : STATUS_MALFORMED;

    if (status != STATUS_OK) {
        return status;
    }
    out->capacity = load(bytes.data + 24, 8);
    rate_bits = load(bytes.data + 32, 8);
    memcpy(&out->rate, &rate_bits, sizeof rate_bits);
    out->max_capacity = load(bytes.data + 40, 8);
    out->rule = (struct quorum_rule){bytes.data[48], bytes.data[49], bytes.data[50]};
    out->hash = (enum hash_kind)bytes.data[51];
    out->when_unavailable = (enum when_unavailable)bytes.data[52];
    out->when_full = (enum when_full)bytes.data[53];
    memcpy(out->secret.bytes, bytes.data + 56, HASH_SECRET_BYTES);
    return load(bytes.data + 54, 2) == 0 && header_good(out) ? STATUS_OK : STATUS_MALFORMED;
}

/* ---- chunks ---- */

enum status dump_chunk_write(uint64_t source, uint64_t from, uint64_t to,
                             const uint64_t *fingerprints, size_t count, struct buffer *out)
{
    size_t size = CHUNK_BYTES + count * sizeof *fingerprints;
    uint8_t *bytes;
    enum status status = buffer_extend(out, size + SUM_BYTES, &bytes);

    assert(from < to && to <= DUMP_END && count <= DUMP_MAX_KEYS);
    if (status != STATUS_OK) {
        return status;
    }
    write_front(bytes, KIND_CHUNK, source);
    store(bytes + 24, 8, from);
    store(bytes + 32, 8, to);
    store(bytes + 40, 8, count);
    for (size_t i = 0; i < count; i++) {
        store(bytes + CHUNK_BYTES + 8 * i, 8, fingerprints[i]);
    }
    write_sum(bytes, size);
    return STATUS_OK;
}

/* Ascending, each once, all within the range. */
static bool keys_good(const struct dump_chunk *chunk)
{
    uint64_t least = dump_fingerprint(chunk->from);
    uint64_t last = chunk->to == DUMP_END ? UINT64_MAX : dump_fingerprint(chunk->to) - 1;

    for (size_t i = 0; i < chunk->count; i++) {
        uint64_t fingerprint = load(chunk->packed.data + 8 * i, 8);

        if (fingerprint < least || fingerprint > last ||
            (fingerprint == last && i + 1 < chunk->count)) {
            return false;
        }
        least = fingerprint + (fingerprint < last);
    }
    return true;
}

enum status dump_chunk_read(struct span bytes, struct dump_chunk *out)
{
    enum status status = bytes.size <= DUMP_MAX_BYTES
                             ? read_front(bytes, KIND_CHUNK, CHUNK_BYTES + SUM_BYTES, &out->source)
                             : STATUS_MALFORMED;

    if (status != STATUS_OK) {
        return status;
    }
    out->from = load(bytes.data + 24, 8);
    out->to = load(bytes.data + 32, 8);
    out->count = (bytes.size - CHUNK_BYTES - SUM_BYTES) / 8;
    out->packed = span_of(bytes.data + CHUNK_BYTES, out->count * 8);
    if (out->from < DUMP_FIRST || out->from >= out->to || out->to > DUMP_END ||
        (bytes.size - CHUNK_BYTES) % 8 != 0 || load(bytes.data + 40, 8) != out->count) {
        return STATUS_MALFORMED;
    }
    return keys_good(out) ? STATUS_OK : STATUS_MALFORMED;
}

void dump_chunk_unpack(const struct dump_chunk *chunk, uint64_t *fingerprints)
{
    for (size_t i = 0; i < chunk->count; i++) {
        fingerprints[i] = load(chunk->packed.data + 8 * i, 8);
    }
}
