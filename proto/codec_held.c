/* Which documents a node holds, those that it sends along, and those that are wanted. */
#include "proto/codec_field.h"

enum status codec_put_held(const struct sync_request *request, struct codec_scratch *scratch,
                           Orbloom__V1__SyncRequest *wire)
{
    size_t n = request->nheld;
    Orbloom__V1__HeldDocument *items = codec_scratch_take(scratch, n, sizeof *items);
    Orbloom__V1__HeldDocument **list = codec_scratch_take(scratch, n, sizeof *list);

    if (items == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        items[i] = (Orbloom__V1__HeldDocument)ORBLOOM__V1__HELD_DOCUMENT__INIT;
        items[i].filter_id = request->held[i].filter_id;
        items[i].revision = request->held[i].revision;
        items[i].fence = request->held[i].fence;
        items[i].hash = request->held[i].hash;
        list[i] = &items[i];
    }
    wire->store = request->store;
    wire->n_held = n;
    wire->held = list;
    wire->held_count = request->held_count;
    wire->held_after = request->held_after;
    wire->held_to = request->held_to;
    wire->n_documents = request->ndocuments;
    return codec_put_documents(scratch, request->documents, request->ndocuments, &wire->documents);
}

/* Filters in order, none beyond the page; the records come first. */
static bool in_order(const struct held_document *held, size_t count,
                     const struct sync_request *request)
{
    uint64_t before = request->held_after;

    for (size_t i = 0; i < count; i++) {
        uint64_t id = held[i].filter_id;

        if (i < STORE_AGE_RECORDS && (id == 0 || id == DROPPED_RECORD_ID)) {
            continue;
        }
        if (id <= before || id == DROPPED_RECORD_ID ||
            (request->held_to != 0 && id > request->held_to)) {
            return false;
        }
        before = id;
    }
    return true;
}

enum status codec_get_held(const Orbloom__V1__SyncRequest *wire, struct codec_arena *arena,
                           struct sync_request *request)
{
    struct held_document *held;

    if (wire->n_held > CODEC_MAX_HELD || wire->held_count < wire->n_held ||
        (wire->held_to != 0 && wire->held_to <= wire->held_after)) {
        return STATUS_MALFORMED;
    }
    held = arena_take(arena, wire->n_held, sizeof *held);
    if (held == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (size_t i = 0; i < wire->n_held; i++) {
        held[i] = (struct held_document){
            .filter_id = wire->held[i]->filter_id,
            .revision = wire->held[i]->revision,
            .fence = wire->held[i]->fence,
            .hash = wire->held[i]->hash,
        };
    }
    request->store = wire->store;
    request->held = held;
    request->nheld = wire->n_held;
    request->held_count = wire->held_count;
    request->held_after = wire->held_after;
    request->held_to = wire->held_to;
    if (!in_order(held, wire->n_held, request)) {
        return STATUS_MALFORMED;
    }
    request->ndocuments = wire->n_documents;
    return codec_get_documents(arena, wire->documents, wire->n_documents, &request->documents);
}

enum status codec_get_wanted(const Orbloom__V1__SyncReply *wire, struct codec_arena *arena,
                             const uint64_t **out)
{
    uint64_t *wanted;

    if (wire->n_wanted > CODEC_MAX_WANTED) {
        return STATUS_MALFORMED;
    }
    wanted = arena_take(arena, wire->n_wanted, sizeof *wanted);
    if (wanted == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (size_t i = 0; i < wire->n_wanted; i++) {
        wanted[i] = wire->wanted[i];
    }
    *out = wanted;
    return STATUS_OK;
}
