/* Filter documents, signed. */
#include "base/heap.h"
#include "proto/codec_scratch.h"
#include "proto/codec_signed.h"
#include "proto/orbloom.pb-c.h"

#include <string.h>

const char *codec_document_remedy(enum status status)
{
    if (status == STATUS_UNAUTHENTIC) {
        return "; is it the right cluster_key_file?";
    }
    return status == STATUS_VERSION
               ? "; another version of orbloom has written it: run that one. What was written "
                 "before the first release no later version reads: begin with an empty store and "
                 "empty data folders"
               : "";
}

static void put_document(const struct filter_document *document, Orbloom__V1__FilterDocument *wire)
{
    wire->id = document->id;
    wire->revision = document->revision;
    wire->epoch = document->epoch;
    wire->epoch_content = (ProtobufCBinaryData){.len = document->epoch_size,
                                                .data = document->epoch_bytes};
    wire->needs = features_of(document);
    wire->capacity = document->capacity;
    wire->rate = document->rate;
    wire->max_capacity = document->max_capacity;
    wire->hash = (Orbloom__V1__HashKind)document->hash;
    wire->when_unavailable = (Orbloom__V1__WhenUnavailable)document->when_unavailable;
    wire->when_full = (Orbloom__V1__WhenFull)document->when_full;
    wire->keylog = (Orbloom__V1__Keylog)document->keylog;
    wire->durability = (Orbloom__V1__Durability)document->durability;
    wire->window_us = document->window_us;
    wire->nslices = document->nslices;
    wire->fed_keys = document->fed_keys;
    wire->expiry = document->expiry.number;
    wire->expire_after_us = document->expiry.after_us;
    wire->expiry_counted_us = document->expiry.counted_us;
    wire->expires_at_ms = document->expiry.at_ms;
    wire->former_name = (ProtobufCBinaryData){.len = strlen(document->former_name),
                                              .data = (uint8_t *)document->former_name};
    wire->replaces = document->replaces;
    wire->load_source = document->load_source;
    wire->loaded = document->loaded;
}

static void put_generation(const struct generation *generation, Orbloom__V1__Generation *wire)
{
    *wire = (Orbloom__V1__Generation)ORBLOOM__V1__GENERATION__INIT;
    wire->id = generation->id;
    wire->seed = generation->geometry.seed;
    wire->lines = generation->geometry.lines;
    wire->z = generation->geometry.z;
    wire->shard_bits = generation->geometry.shard_bits;
    wire->capacity = generation->capacity;
    wire->rate = generation->rate;
}

enum status codec_filter_document_sign(struct filter_document *document,
                                       const struct cluster_key *key, struct buffer *out)
{
    Orbloom__V1__FilterDocument wire = ORBLOOM__V1__FILTER_DOCUMENT__INIT;
    Orbloom__V1__Generation generations[DOCUMENT_MAX_GENERATIONS];
    Orbloom__V1__Generation *list[DOCUMENT_MAX_GENERATIONS];
    const char *reason = NULL;
    enum status status = document_validate(document, &reason);
    uint32_t i;

    if (status != STATUS_OK) {
        return status;
    }
    if (document->epoch_bytes == NULL) {
        status = codec_epoch_encode(document);
        if (status != STATUS_OK) {
            return status;
        }
    }
    put_document(document, &wire);
    for (i = 0; i < document->ngenerations; i++) {
        put_generation(&document->generations[i], &generations[i]);
        list[i] = &generations[i];
    }
    wire.n_generations = document->ngenerations;
    wire.generations = list;
    wire.n_turns = document->nturns;
    wire.turns = document->turns;
    wire.growth_held = document->growth_held;
    return codec_signed_append(&wire.base, DOCUMENT_FILTER, key, out);
}

static void get_document(const Orbloom__V1__FilterDocument *wire, struct filter_document *document)
{
    document->id = wire->id;
    document->revision = wire->revision;
    document->epoch = wire->epoch;
    document->capacity = wire->capacity;
    document->rate = wire->rate;
    document->max_capacity = wire->max_capacity;
    document->hash = (enum hash_kind)wire->hash;
    document->when_unavailable = (enum when_unavailable)wire->when_unavailable;
    document->when_full = (enum when_full)wire->when_full;
    document->keylog = (enum keylog)wire->keylog;
    document->durability = (enum durability)wire->durability;
    document->window_us = wire->window_us;
    document->nslices = wire->nslices;
    document->fed_keys = wire->fed_keys;
    document->expiry = (struct expiry){
        .number = wire->expiry,
        .after_us = wire->expire_after_us,
        .counted_us = wire->expiry_counted_us,
        .at_ms = wire->expires_at_ms,
    };
    document->replaces = wire->replaces;
    document->load_source = wire->load_source;
    document->loaded = wire->loaded;
}

static enum status get_generations(const Orbloom__V1__FilterDocument *wire,
                                   struct filter_document *document)
{
    size_t i;

    if (wire->n_generations > DOCUMENT_MAX_GENERATIONS || wire->n_turns > DOCUMENT_MAX_TURNS) {
        return STATUS_MALFORMED;
    }
    document->nturns = (uint32_t)wire->n_turns;
    document->growth_held = wire->growth_held != 0;
    for (i = 0; i < wire->n_turns; i++) {
        document->turns[i] = wire->turns[i];
    }
    document->ngenerations = (uint32_t)wire->n_generations;
    for (i = 0; i < wire->n_generations; i++) {
        const Orbloom__V1__Generation *generation = wire->generations[i];

        document->generations[i] = (struct generation){
            .id = generation->id,
            .geometry = {.seed = generation->seed,
                         .lines = generation->lines,
                         .z = generation->z,
                         .shard_bits = generation->shard_bits},
            .capacity = generation->capacity,
            .rate = generation->rate,
        };
    }
    return STATUS_OK;
}

static enum status keep_epoch_bytes(const Orbloom__V1__FilterDocument *wire,
                                    struct filter_document *document)
{
    size_t size = wire->epoch_content.len;

    document->epoch_bytes = heap_alloc(size, 1);
    if (document->epoch_bytes == NULL) {
        return STATUS_NOMEM;
    }
    if (size > 0) {
        memcpy(document->epoch_bytes, wire->epoch_content.data, size);
    }
    document->epoch_size = size;
    document->epoch_hash = document_epoch_hash(span_of(document->epoch_bytes, size));
    return STATUS_OK;
}

static enum status decode(struct codec_arena *arena, struct span content, void *out)
{
    struct filter_document *document = out;
    const Orbloom__V1__FilterDocument *wire;
    ProtobufCMessage *message = NULL;
    const char *reason = NULL;
    enum status status = arena_unpack(arena, &orbloom__v1__filter_document__descriptor,
                                      content.data, content.size, &message);

    if (status != STATUS_OK) {
        return status;
    }
    wire = (const Orbloom__V1__FilterDocument *)message;
    if ((wire->needs & ~features_known()) != 0) {
        return STATUS_VERSION;
    }
    get_document(wire, document);
    status = codec_signed_text(wire->former_name, document->former_name,
                               sizeof document->former_name);
    status = status != STATUS_OK ? status : get_generations(wire, document);
    status = status != STATUS_OK ? status : keep_epoch_bytes(wire, document);
    status = status != STATUS_OK ? status : codec_epoch_decode(arena, document);
    if (status == STATUS_OK && document->content.uid.high == 0 && document->content.uid.low == 0) {
        return STATUS_VERSION; /* Written before filters had uids. */
    }
    return status != STATUS_OK ? status : document_validate(document, &reason);
}

enum status codec_filter_document_open(struct span bytes, const struct cluster_key *key,
                                       struct filter_document *out)
{
    enum status status;

    *out = (struct filter_document){0};
    status = codec_signed_open(bytes, DOCUMENT_FILTER, key, decode, out);
    if (status != STATUS_OK) {
        document_fini(out);
    }
    return status;
}
