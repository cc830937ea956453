/* A front of fixed size, which is laid out as a struct, the code of the keys, and cursors, of which
 * those that say the same of several groups are told together. The way back believes no byte: the
 * checksums tell what was damaged on its way, and not what somebody means. */
#include "site/batch.h"

#include "site/rice.h"

#include <assert.h>
#include <xxhash.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are stored as they are held");

enum {
    VERSION = 1,
    SUMMED_FROM = 16,
    GROUP_BYTES = 4,
    KNOWN_FLAGS = SITE_BATCH_FED | SITE_BATCH_COMPARED
};

struct front {
    char magic[7];
    uint8_t version;
    uint64_t front_sum;
    uint64_t body_sum;
    uint64_t uid[2];
    uint64_t sender[2];
    uint64_t receiver[2];
    uint64_t first;
    uint32_t nkeys;
    uint32_t code_bytes;
    uint32_t ncursors;
    uint16_t flags;
    uint8_t nkeysets;
    uint8_t parameter;
    uint32_t keysets[SITE_BATCH_MAX_KEYSETS];
};

struct source {
    uint64_t incarnation;
    uint64_t boot;
    uint64_t offset;
    uint64_t epoch;
    uint32_t node;
    uint32_t ngroups;
};

_Static_assert(sizeof(struct front) == SITE_BATCH_FRONT_BYTES, "as batch.h says");
_Static_assert(sizeof(struct source) == SITE_BATCH_SOURCE_BYTES, "as batch.h says");

static const char magic[7] = {'O', 'R', 'B', 'S', 'I', 'T', 'E'};

static uint64_t front_sum(const uint8_t *bytes)
{
    return XXH3_64bits(bytes + SUMMED_FROM, SITE_BATCH_FRONT_BYTES - SUMMED_FROM);
}

/* ---- what can be ---- */

static bool keysets_good(const uint32_t *keysets, uint32_t count)
{
    if (count == 0 || count > SITE_BATCH_MAX_KEYSETS || keysets[0] == 0) {
        return false;
    }
    for (uint32_t i = 1; i < SITE_BATCH_MAX_KEYSETS; i++) {
        if (i < count ? keysets[i] <= keysets[i - 1] : keysets[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Nodes, incarnations and boots are never 0; a filter has no more groups than shards; an offset is
 * where a record begins or ends. */
static bool cursor_good(const struct site_batch_cursor *cursor)
{
    return cursor->node != 0 && cursor->incarnation != 0 && cursor->boot != 0 &&
           cursor->group < DOCUMENT_MAX_SHARDS && cursor->offset % 8 == 0 &&
           cursor->offset <= INT64_MAX;
}

static bool cursors_rise(const struct site_batch_cursor *one, const struct site_batch_cursor *next)
{
    return one->node < next->node || (one->node == next->node && one->group < next->group);
}

static bool same_source(const struct site_batch_cursor *one, const struct site_batch_cursor *other)
{
    return one->node == other->node && one->incarnation == other->incarnation &&
           one->boot == other->boot && one->offset == other->offset && one->epoch == other->epoch;
}

/* ---- writing ---- */

size_t site_batch_room(const struct site_batch *batch)
{
    return SITE_BATCH_FRONT_BYTES + 8 * (size_t)batch->nkeys + 10 +
           (size_t)batch->ncursors * (SITE_BATCH_SOURCE_BYTES + GROUP_BYTES);
}

/* How many from the first one on are one source. */
static uint32_t count_alike(const struct site_batch_cursor *cursors, uint32_t count)
{
    uint32_t alike = 1;

    while (alike < count && same_source(&cursors[0], &cursors[alike])) {
        alike++;
    }
    return alike;
}

/* Returns where it ends. */
static uint8_t *put_source(uint8_t *at, const struct site_batch_cursor *cursors, uint32_t ngroups)
{
    const struct source source = {.incarnation = cursors[0].incarnation,
                                  .boot = cursors[0].boot,
                                  .offset = cursors[0].offset,
                                  .epoch = cursors[0].epoch,
                                  .node = cursors[0].node,
                                  .ngroups = ngroups};

    memcpy(at, &source, sizeof source);
    at += sizeof source;
    for (uint32_t i = 0; i < ngroups; i++) {
        assert(cursor_good(&cursors[i]) && (i == 0 || cursors_rise(&cursors[i - 1], &cursors[i])));
        memcpy(at, &cursors[i].group, GROUP_BYTES);
        at += GROUP_BYTES;
    }
    return at;
}

static uint8_t *put_cursors(uint8_t *at, const struct site_batch_cursor *cursors, uint32_t count)
{
    uint32_t ngroups;

    for (uint32_t i = 0; i < count; i += ngroups) {
        assert(i == 0 || cursors_rise(&cursors[i - 1], &cursors[i]));
        ngroups = count_alike(cursors + i, count - i);
        at = put_source(at, cursors + i, ngroups);
    }
    return at;
}

static struct front front_of(const struct site_batch *batch)
{
    struct front front = {
        .version = VERSION,
        .uid = {batch->uid.high, batch->uid.low},
        .sender = {batch->sender.number, batch->sender.tag},
        .receiver = {batch->receiver.number, batch->receiver.tag},
        .nkeys = batch->nkeys,
        .ncursors = batch->ncursors,
        .flags = (uint16_t)batch->flags,
        .nkeysets = (uint8_t)batch->nkeysets,
    };

    memcpy(front.magic, magic, sizeof magic);
    memcpy(front.keysets, batch->keysets, batch->nkeysets * sizeof front.keysets[0]);
    return front;
}

size_t site_batch_encode(const struct site_batch *batch, const uint64_t *keys,
                         const struct site_batch_cursor *cursors, uint8_t *out)
{
    struct front front;
    uint8_t *body = out + SITE_BATCH_FRONT_BYTES;
    uint8_t *end;

    assert(batch->nkeys <= SITE_BATCH_MAX_KEYS && batch->ncursors <= SITE_BATCH_MAX_SOURCES);
    assert((batch->flags & ~(uint32_t)KNOWN_FLAGS) == 0 &&
           batch->nkeysets <= SITE_BATCH_MAX_KEYSETS);
    front = front_of(batch);
    assert(keysets_good(front.keysets, batch->nkeysets));
    if (batch->nkeys > 0) {
        front.first = keys[0];
        front.parameter = (uint8_t)rice_parameter(batch->nkeys - 1,
                                                  keys[batch->nkeys - 1] - keys[0]);
        front.code_bytes = (uint32_t)rice_encode(keys, batch->nkeys, front.parameter, body);
    }
    end = put_cursors(body + front.code_bytes, cursors, batch->ncursors);
    front.body_sum = XXH3_64bits(body, (size_t)(end - body));
    memcpy(out, &front, sizeof front);
    front.front_sum = front_sum(out);
    memcpy(out, &front, sizeof front);
    return (size_t)(end - out);
}

void site_batch_readdress(uint8_t *bytes, const struct site_life *receiver)
{
    struct front front;

    memcpy(&front, bytes, sizeof front);
    front.receiver[0] = receiver->number;
    front.receiver[1] = receiver->tag;
    memcpy(bytes, &front, sizeof front);
    front.front_sum = front_sum(bytes);
    memcpy(bytes, &front, sizeof front);
}

/* ---- reading ---- */

static struct front front_in(struct span bytes)
{
    struct front front;

    assert(bytes.size >= sizeof front);
    memcpy(&front, bytes.data, sizeof front);
    return front;
}

/* Can a batch of so many bytes have so much in it? No code is shorter than a bit a key, nor a
 * cursor than the number of its group. */
static bool lengths_good(const struct front *front, size_t size)
{
    size_t rest = size - SITE_BATCH_FRONT_BYTES;
    uint64_t cursors = front->ncursors;

    if (front->nkeys > SITE_BATCH_MAX_KEYS || front->code_bytes > 8 * front->nkeys ||
        front->code_bytes > rest || cursors > SITE_BATCH_MAX_SOURCES) {
        return false;
    }
    rest -= front->code_bytes;
    return (front->nkeys <= 1 || front->code_bytes >= front->nkeys / 8) &&
           rest >= cursors * GROUP_BYTES + (cursors > 0 ? SITE_BATCH_SOURCE_BYTES : 0) &&
           rest <= cursors * (GROUP_BYTES + SITE_BATCH_SOURCE_BYTES);
}

static bool front_good(const struct front *front)
{
    return keysets_good(front->keysets, front->nkeysets) &&
           front->parameter <= RICE_MAX_PARAMETER && (front->nkeys > 0 || front->first == 0) &&
           (front->nkeys > 1 || front->parameter == 0);
}

enum status site_batch_open(struct span bytes, struct site_batch *out)
{
    struct front front;

    if (bytes.size > SITE_BATCH_MAX_BYTES) {
        return STATUS_TOO_LARGE;
    }
    if (bytes.size < SITE_BATCH_FRONT_BYTES) {
        return STATUS_MALFORMED;
    }
    front = front_in(bytes);
    if (memcmp(front.magic, magic, sizeof magic) != 0) {
        return STATUS_MALFORMED;
    }
    if (front.version != VERSION) {
        return STATUS_VERSION;
    }
    if (front.front_sum != front_sum(bytes.data) || !lengths_good(&front, bytes.size) ||
        front.body_sum != XXH3_64bits(bytes.data + sizeof front, bytes.size - sizeof front)) {
        return STATUS_MALFORMED;
    }
    if ((front.flags & ~(unsigned)KNOWN_FLAGS) != 0) {
        return STATUS_VERSION;
    }
    if (!front_good(&front)) {
        return STATUS_MALFORMED;
    }
    *out = (struct site_batch){
        .uid = {.high = front.uid[0], .low = front.uid[1]},
        .sender = {.number = front.sender[0], .tag = front.sender[1]},
        .receiver = {.number = front.receiver[0], .tag = front.receiver[1]},
        .flags = front.flags,
        .nkeysets = front.nkeysets,
        .nkeys = front.nkeys,
        .ncursors = front.ncursors,
    };
    memcpy(out->keysets, front.keysets, sizeof front.keysets);
    return STATUS_OK;
}

enum status site_batch_keys(struct span bytes, uint64_t *keys)
{
    struct front front = front_in(bytes);

    if (front.nkeys > 0) {
        keys[0] = front.first;
    }
    return rice_decode(span_of(bytes.data + sizeof front, front.code_bytes), front.parameter, keys,
                       front.nkeys);
}

/* One source, of `most` cursors at most; how many it had is 0 where it can't be. */
static uint32_t take_source(struct span *rest, struct site_batch_cursor *cursors, uint32_t most)
{
    struct source source;

    if (rest->size < sizeof source) {
        return 0;
    }
    memcpy(&source, rest->data, sizeof source);
    *rest = span_of(rest->data + sizeof source, rest->size - sizeof source);
    if (source.ngroups > most || source.ngroups > rest->size / GROUP_BYTES) {
        return 0;
    }
    for (uint32_t i = 0; i < source.ngroups; i++) {
        cursors[i] = (struct site_batch_cursor){.node = source.node,
                                                .incarnation = source.incarnation,
                                                .boot = source.boot,
                                                .offset = source.offset,
                                                .epoch = source.epoch};
        memcpy(&cursors[i].group, rest->data + (size_t)i * GROUP_BYTES, GROUP_BYTES);
        if (!cursor_good(&cursors[i]) || (i > 0 && !cursors_rise(&cursors[i - 1], &cursors[i]))) {
            return 0;
        }
    }
    *rest = span_of(rest->data + (size_t)source.ngroups * GROUP_BYTES,
                    rest->size - (size_t)source.ngroups * GROUP_BYTES);
    return source.ngroups;
}

enum status site_batch_cursors(struct span bytes, struct site_batch_cursor *cursors)
{
    struct front front = front_in(bytes);
    size_t begin = sizeof front + front.code_bytes;
    struct span rest = span_of(bytes.data + begin, bytes.size - begin);
    uint32_t taken;

    for (uint32_t i = 0; i < front.ncursors; i += taken) {
        taken = take_source(&rest, cursors + i, front.ncursors - i);
        if (taken == 0 || (i > 0 && (!cursors_rise(&cursors[i - 1], &cursors[i]) ||
                                     same_source(&cursors[i - 1], &cursors[i])))) {
            return STATUS_MALFORMED;
        }
    }
    return rest.size == 0 ? STATUS_OK : STATUS_MALFORMED;
}
