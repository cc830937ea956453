/* Records of the store on their way to a backup, and back. */
#include "proto/codec_field.h"

#define WIRE_map_record Orbloom__V1__MapRecord
static const struct binding map_record_rows[] = {
    ROW(map_record, value, SPAN),
    ROW(map_record, key, TEXT),
};
static BINDING_TABLE(map_record, map_record, NULL);

static enum status put_names(struct codec_scratch *scratch, const void *ours, void *wire)
{
    const struct map_parameters *map = ours;
    Orbloom__V1__MapParameters *message = wire;
    ProtobufCBinaryData *names = codec_scratch_take(scratch, map->nconfirmed_off, sizeof *names);
    enum status status = STATUS_OK;

    if (names == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < map->nconfirmed_off && status == STATUS_OK; i++) {
        status = codec_put_text(map->confirmed_off[i], &names[i]);
    }
    message->n_confirmed_off = map->nconfirmed_off;
    message->confirmed_off = names;
    return status;
}

static enum status get_names(struct codec_arena *arena, const void *wire, void *ours)
{
    const Orbloom__V1__MapParameters *message = wire;
    struct map_parameters *map = ours;
    const char **names;
    enum status status = STATUS_OK;

    if (message->n_confirmed_off > DOCUMENT_MAX_NODES) {
        return STATUS_MALFORMED;
    }
    names = arena_take(arena, message->n_confirmed_off, sizeof *names);
    if (names == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (size_t i = 0; i < message->n_confirmed_off && status == STATUS_OK; i++) {
        status = codec_get_text(arena, message->confirmed_off[i], &names[i]);
    }
    map->confirmed_off = names;
    map->nconfirmed_off = message->n_confirmed_off;
    return status;
}

static const struct binding map_parameters_rows[] = {
    ROW(map_parameters, since, UINT64),
    ROW(map_parameters, key, UINT64),
    ROW(map_parameters, accept_losses, BOOL),
    BY_HAND(map_parameters, confirmed_off, put_names, get_names),
    LIST(map_parameters, records, nrecords, map_record, CODEC_MAX_RECORDS, STATUS_MALFORMED),
};
BINDING_TABLE(map_parameters, map_parameters, NULL);

static const struct binding map_page_rows[] = {
    ROW(map_page, key, UINT64),
    ROW(map_page, cluster, CLUSTER),
    ROW(map_page, store, UINT64),
    ROW(map_page, change, UINT64),
    ROW(map_page, more, BOOL),
    LIST(map_page, records, nrecords, map_record, CODEC_MAX_RECORDS, STATUS_MALFORMED),
};
BINDING_TABLE(map_page, map_page, NULL);
