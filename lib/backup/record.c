/* Fields are put and taken in one order, each way by a function of its own; what is read is judged
 * as a document would be, so that nothing that was bent gets as far as a cluster. */
#include "backup/record.h"

#include "map/acks.h"
#include "map/staleness.h"
#include "site/rice.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

enum {
    HEAD_BYTES = 48,
    FILTER_BYTES = 152, /* then the name */
    CHUNK_BYTES = 32,   /* then the code */
    FILTER_END_BYTES = 48,
    END_BYTES = 48,
    SUM_AT = 8,
};

const uint8_t backup_magic[BACKUP_MAGIC_BYTES] = {'O', 'R', 'B', 'B', 'A', 'K', 'P', 1};

/* ---- bytes ---- */

/* Where the next field belongs; room for all was looked at before. */
struct cursor {
    uint8_t *out;
    const uint8_t *in;
};

static void put(struct cursor *self, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        *self->out++ = (uint8_t)(value >> (8 * i));
    }
}

static void put_bytes(struct cursor *self, const void *bytes, size_t size)
{
    memcpy(self->out, bytes, size);
    self->out += size;
}

static uint64_t take(struct cursor *self, size_t size)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size; i++) {
        value |= (uint64_t)*self->in++ << (8 * i);
    }
    return value;
}

static void take_bytes(struct cursor *self, void *bytes, size_t size)
{
    memcpy(bytes, self->in, size);
    self->in += size;
}

/* Of the body, seeded with the sum of what the front has before it. */
static uint64_t sum_of(struct span bytes, uint64_t before)
{
    uint64_t seed = XXH3_64bits_withSeed(bytes.data, SUM_AT, before);

    return XXH3_64bits_withSeed(bytes.data + BACKUP_FRONT_BYTES, bytes.size - BACKUP_FRONT_BYTES,
                                seed);
}

/* ---- head ---- */

static bool head_good(const struct backup_head *head)
{
    bool costs = head->passes > 0 && head->memory_kib > 0;

    return head->id != 0 &&
           (head->seal == BACKUP_SEAL_PASSPHRASE
                ? costs
                : head->seal == BACKUP_SEAL_CLUSTER && head->passes == 0 && head->memory_kib == 0);
}

static void put_head(struct cursor *at, const struct backup_head *head)
{
    put(at, head->id, 8);
    put(at, head->begun_ms, 8);
    put(at, head->seal, 4);
    put(at, head->passes, 4);
    put(at, head->memory_kib, 4);
    put(at, 0, 4);
    put_bytes(at, head->salt, sizeof head->salt);
}

static bool take_head(struct cursor *at, struct backup_head *head)
{
    uint64_t rest;

    head->id = take(at, 8);
    head->begun_ms = take(at, 8);
    head->seal = (enum backup_seal)take(at, 4);
    head->passes = (uint32_t)take(at, 4);
    head->memory_kib = (uint32_t)take(at, 4);
    rest = take(at, 4);
    take_bytes(at, head->salt, sizeof head->salt);
    return rest == 0 && head_good(head);
}

/* ---- filter ---- */

static bool filter_good(const struct backup_filter *filter)
{
    return (filter->uid.high != 0 || filter->uid.low != 0) && filter->source != 0 &&
           filter->dump != 0 && filter->capacity > 0 && filter->capacity <= filter->max_capacity &&
           filter->rate > 0 && filter->rate < 1 && staleness_valid(filter->max_staleness) &&
           acks_valid(filter->acks) && quorum_rule_check(&filter->rule) == STATUS_OK &&
           (filter->hash == HASH_SIPHASH24 || filter->hash == HASH_XXH3) &&
           (filter->when_unavailable == WHEN_UNAVAILABLE_ERROR ||
            filter->when_unavailable == WHEN_UNAVAILABLE_MAYBE) &&
           (filter->when_full == WHEN_FULL_REFUSE || filter->when_full == WHEN_FULL_EXPAND) &&
           (filter->durability == DURABILITY_OS || filter->durability == DURABILITY_SYNC) &&
           document_name_valid(span_text(filter->name));
}

static void put_filter(struct cursor *at, const struct backup_filter *filter)
{
    size_t name_bytes = strlen(filter->name);
    uint64_t rate_bits;

    memcpy(&rate_bits, &filter->rate, sizeof rate_bits);
    put(at, filter->uid.high, 8);
    put(at, filter->uid.low, 8);
    put(at, filter->source, 8);
    put(at, filter->dump, 8);
    put(at, filter->begun_ms, 8);
    put(at, filter->capacity, 8);
    put(at, rate_bits, 8);
    put(at, filter->max_capacity, 8);
    put(at, filter->max_staleness, 8);
    put(at, filter->acks, 4);
    put(at, filter->rule.replicas, 1);
    put(at, filter->rule.write, 1);
    put(at, filter->rule.read, 1);
    put(at, filter->hash, 1);
    put(at, filter->when_unavailable, 1);
    put(at, filter->when_full, 1);
    put(at, filter->durability, 1);
    put(at, name_bytes, 1);
    put(at, filter->expires_min, 4);
    put_bytes(at, filter->sealed, sizeof filter->sealed);
    put_bytes(at, filter->name, name_bytes);
}

static bool take_filter(struct cursor *at, size_t size, struct backup_filter *filter)
{
    uint64_t rate_bits;
    size_t name_bytes;

    filter->uid.high = take(at, 8);
    filter->uid.low = take(at, 8);
    filter->source = take(at, 8);
    filter->dump = take(at, 8);
    filter->begun_ms = take(at, 8);
    filter->capacity = take(at, 8);
    rate_bits = take(at, 8);
    filter->max_capacity = take(at, 8);
    filter->max_staleness = take(at, 8);
    filter->acks = (uint32_t)take(at, 4);
    filter->rule.replicas = (uint32_t)take(at, 1);
    filter->rule.write = (uint32_t)take(at, 1);
    filter->rule.read = (uint32_t)take(at, 1);
    filter->hash = (enum hash_kind)take(at, 1);
    filter->when_unavailable = (enum when_unavailable)take(at, 1);
    filter->when_full = (enum when_full)take(at, 1);
    filter->durability = (enum durability)take(at, 1);
    name_bytes = (size_t)take(at, 1);
    filter->expires_min = (uint32_t)take(at, 4);
    take_bytes(at, filter->sealed, sizeof filter->sealed);
    memcpy(&filter->rate, &rate_bits, sizeof rate_bits);
    if (name_bytes != size - FILTER_BYTES || name_bytes >= sizeof filter->name) {
        return false;
    }
    take_bytes(at, filter->name, name_bytes);
    filter->name[name_bytes] = '\0';
    return strlen(filter->name) == name_bytes && filter_good(filter);
}

/* ---- chunk ---- */

static uint64_t last_of(const struct backup_chunk *chunk)
{
    return chunk->to == DUMP_END ? UINT64_MAX : dump_fingerprint(chunk->to) - 1;
}

static bool range_good(const struct backup_chunk *chunk)
{
    return chunk->from >= DUMP_FIRST && chunk->from < chunk->to && chunk->to <= DUMP_END &&
           chunk->count <= DUMP_MAX_KEYS;
}

static unsigned parameter_of(const struct backup_chunk *chunk)
{
    const uint64_t *keys = chunk->fingerprints;

    return chunk->count > 0 ? rice_parameter(chunk->count - 1, keys[chunk->count - 1] - keys[0])
                            : 0;
}

static size_t code_room(const struct backup_chunk *chunk)
{
    const uint64_t *keys = chunk->fingerprints;

    return chunk->count > 0
               ? rice_room(chunk->count - 1, parameter_of(chunk), keys[chunk->count - 1] - keys[0])
               : 0;
}

/* The bytes of the code. */
static size_t put_chunk(struct cursor *at, const struct backup_chunk *chunk)
{
    unsigned parameter = parameter_of(chunk);

    put(at, chunk->from, 8);
    put(at, chunk->to, 8);
    put(at, chunk->count > 0 ? chunk->fingerprints[0] : 0, 8);
    put(at, chunk->count, 4);
    put(at, parameter, 1);
    put(at, 0, 3);
    return chunk->count > 0 ? rice_encode(chunk->fingerprints, chunk->count, parameter, at->out)
                            : 0;
}

/* The parameter is the one that the writer would have taken: so there is one code of a chunk. */
static bool take_chunk(struct cursor *at, size_t size, uint64_t *room, struct backup_chunk *chunk)
{
    struct span code = span_of(at->in + CHUNK_BYTES, size - CHUNK_BYTES);
    uint64_t first;
    unsigned parameter;

    chunk->from = take(at, 8);
    chunk->to = take(at, 8);
    first = take(at, 8);
    chunk->count = (uint32_t)take(at, 4);
    parameter = (unsigned)take(at, 1);
    chunk->fingerprints = room;
    if (take(at, 3) != 0 || !range_good(chunk)) {
        return false;
    }
    if (chunk->count == 0) {
        return first == 0 && parameter == 0 && code.size == 0;
    }
    room[0] = first;
    return rice_decode(code, parameter, room, chunk->count) == STATUS_OK &&
           first >= dump_fingerprint(chunk->from) && room[chunk->count - 1] <= last_of(chunk) &&
           parameter == parameter_of(chunk);
}

/* ---- ends ---- */

static void put_end(struct cursor *at, uint64_t first, uint64_t second, const uint8_t *digest)
{
    put(at, first, 8);
    put(at, second, 8);
    put_bytes(at, digest, BACKUP_DIGEST_BYTES);
}

static void take_end(struct cursor *at, uint64_t *first, uint64_t *second, uint8_t *digest)
{
    *first = take(at, 8);
    *second = take(at, 8);
    take_bytes(at, digest, BACKUP_DIGEST_BYTES);
}

/* ---- records ---- */

/* Room that the body takes, at least. */
static size_t body_room(const struct backup_record *record)
{
    switch (record->kind) {
    case BACKUP_HEAD:
        return HEAD_BYTES;
    case BACKUP_FILTER:
        return FILTER_BYTES + strlen(record->filter.name);
    case BACKUP_CHUNK:
        return CHUNK_BYTES + code_room(&record->chunk);
    case BACKUP_FILTER_END:
        return FILTER_END_BYTES;
    case BACKUP_END:
        return END_BYTES;
    }
    assert(!"a kind of record");
    return 0;
}

/* The bytes of the body. */
static size_t put_body(struct cursor *at, const struct backup_record *record)
{
    switch (record->kind) {
    case BACKUP_HEAD:
        put_head(at, &record->head);
        return HEAD_BYTES;
    case BACKUP_FILTER:
        put_filter(at, &record->filter);
        return FILTER_BYTES + strlen(record->filter.name);
    case BACKUP_CHUNK:
        return CHUNK_BYTES + put_chunk(at, &record->chunk);
    case BACKUP_FILTER_END:
        put_end(at, record->filter_end.keys, record->filter_end.chunks, record->filter_end.digest);
        return FILTER_END_BYTES;
    case BACKUP_END:
        put_end(at, record->end.filters, record->end.keys, record->end.digest);
        return END_BYTES;
    }
    assert(!"a kind of record");
    return 0;
}

static bool is_writable(const struct backup_record *record)
{
    return (record->kind != BACKUP_HEAD || head_good(&record->head)) &&
           (record->kind != BACKUP_FILTER || filter_good(&record->filter)) &&
           (record->kind != BACKUP_CHUNK || range_good(&record->chunk));
}

enum status backup_record_write(const struct backup_record *record, uint64_t before,
                                struct buffer *out)
{
    size_t begin = out->size;
    uint8_t *bytes;
    struct cursor at;
    enum status status;
    size_t size;

    if (!is_writable(record)) {
        return STATUS_MALFORMED;
    }
    status = buffer_extend(out, BACKUP_FRONT_BYTES + body_room(record), &bytes);
    if (status != STATUS_OK) {
        return status;
    }
    at.out = bytes + BACKUP_FRONT_BYTES;
    size = put_body(&at, record);
    out->size = begin + BACKUP_FRONT_BYTES + size;
    at.out = bytes;
    put(&at, record->kind, 4);
    put(&at, size, 4);
    put(&at, sum_of(span_of(bytes, BACKUP_FRONT_BYTES + size), before), 8);
    return STATUS_OK;
}

/* Has a body of that kind so many bytes? */
static bool size_good(uint64_t kind, uint64_t size)
{
    switch (kind) {
    case BACKUP_HEAD:
        return size == HEAD_BYTES;
    case BACKUP_FILTER:
        return size > FILTER_BYTES && size < FILTER_BYTES + DOCUMENT_NAME_BYTES;
    case BACKUP_CHUNK:
        return size >= CHUNK_BYTES && size <= BACKUP_MAX_BODY_BYTES;
    case BACKUP_FILTER_END:
        return size == FILTER_END_BYTES;
    case BACKUP_END:
        return size == END_BYTES;
    default:
        return false;
    }
}

enum status backup_record_size(const uint8_t *front, size_t *size)
{
    struct cursor at = {.in = front};
    uint64_t kind = take(&at, 4);
    uint64_t body = take(&at, 4);

    if (!size_good(kind, body)) {
        return STATUS_MALFORMED;
    }
    *size = BACKUP_FRONT_BYTES + (size_t)body;
    return STATUS_OK;
}

static bool take_body(struct cursor *at, size_t size, uint64_t *room, struct backup_record *record)
{
    switch (record->kind) {
    case BACKUP_HEAD:
        return take_head(at, &record->head);
    case BACKUP_FILTER:
        return take_filter(at, size, &record->filter);
    case BACKUP_CHUNK:
        return take_chunk(at, size, room, &record->chunk);
    case BACKUP_FILTER_END:
        take_end(at, &record->filter_end.keys, &record->filter_end.chunks,
                 record->filter_end.digest);
        return true;
    case BACKUP_END:
        take_end(at, &record->end.filters, &record->end.keys, record->end.digest);
        return true;
    }
    return false;
}

enum status backup_record_read(struct span bytes, uint64_t before, uint64_t *room,
                               struct backup_record *out)
{
    struct cursor at = {.in = bytes.data};
    struct backup_record record;
    size_t size;

    if (bytes.size < BACKUP_FRONT_BYTES || backup_record_size(bytes.data, &size) != STATUS_OK ||
        size != bytes.size) {
        return STATUS_MALFORMED;
    }
    record.kind = (enum backup_kind)take(&at, 4);
    (void)take(&at, 4);
    if (take(&at, 8) != sum_of(bytes, before) ||
        !take_body(&at, size - BACKUP_FRONT_BYTES, room, &record)) {
        return STATUS_MALFORMED;
    }
    *out = record;
    return STATUS_OK;
}
