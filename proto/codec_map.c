/* Records of the store on their way to a backup, and back. */
#include "proto/codec_field.h"

static enum status put_records(const struct map_record *records, size_t n,
                               struct codec_scratch *scratch, Orbloom__V1__MapRecord ***out)
{
    Orbloom__V1__MapRecord *items = codec_scratch_take(scratch, n, sizeof *items);
    Orbloom__V1__MapRecord **list = codec_scratch_take(scratch, n, sizeof *list);
    enum status status = STATUS_OK;

    if (items == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < n && status == STATUS_OK; i++) {
        items[i] = (Orbloom__V1__MapRecord)ORBLOOM__V1__MAP_RECORD__INIT;
        items[i].value = codec_put_span(records[i].value);
        list[i] = &items[i];
        status = codec_put_text(records[i].key, &items[i].key);
    }
    *out = list;
    return status;
}

static enum status get_records(struct codec_arena *arena, Orbloom__V1__MapRecord *const *wire,
                               size_t n, const struct map_record **out)
{
    struct map_record *records;
    enum status status = STATUS_OK;

    if (n > CODEC_MAX_RECORDS) {
        return STATUS_MALFORMED;
    }
    records = arena_take(arena, n, sizeof *records);
    if (records == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (size_t i = 0; i < n && status == STATUS_OK; i++) {
        records[i].value = codec_get_span(wire[i]->value);
        status = codec_get_text(arena, wire[i]->key, &records[i].key);
    }
    *out = records;
    return status;
}

enum status codec_put_map(const struct map_parameters *map, struct codec_scratch *scratch,
                          Orbloom__V1__MapParameters **out)
{
    Orbloom__V1__MapParameters *wire = codec_scratch_take(scratch, 1, sizeof *wire);
    ProtobufCBinaryData *names = codec_scratch_take(scratch, map->nconfirmed_off, sizeof *names);
    enum status status = STATUS_OK;

    if (wire == NULL || names == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__MapParameters)ORBLOOM__V1__MAP_PARAMETERS__INIT;
    wire->since = map->since;
    wire->key = map->key;
    wire->n_records = map->nrecords;
    wire->n_confirmed_off = map->nconfirmed_off;
    wire->confirmed_off = names;
    wire->accept_losses = map->accept_losses;
    for (size_t i = 0; i < map->nconfirmed_off && status == STATUS_OK; i++) {
        status = codec_put_text(map->confirmed_off[i], &names[i]);
    }
    *out = wire;
    return status != STATUS_OK ? status
                               : put_records(map->records, map->nrecords, scratch, &wire->records);
}

enum status codec_get_map(struct codec_arena *arena, const Orbloom__V1__MapParameters *wire,
                          struct map_parameters *map)
{
    const char **names;
    enum status status = STATUS_OK;

    if (wire == NULL || wire->n_confirmed_off > DOCUMENT_MAX_NODES) {
        return STATUS_MALFORMED;
    }
    names = arena_take(arena, wire->n_confirmed_off, sizeof *names);
    if (names == NULL) {
        return STATUS_TOO_LARGE;
    }
    *map = (struct map_parameters){
        .since = wire->since,
        .key = wire->key,
        .nrecords = wire->n_records,
        .confirmed_off = names,
        .nconfirmed_off = wire->n_confirmed_off,
        .accept_losses = wire->accept_losses != 0,
    };
    for (size_t i = 0; i < wire->n_confirmed_off && status == STATUS_OK; i++) {
        status = codec_get_text(arena, wire->confirmed_off[i], &names[i]);
    }
    return status != STATUS_OK ? status
                               : get_records(arena, wire->records, wire->n_records, &map->records);
}

enum status codec_put_map_page(const struct map_page *page, struct codec_scratch *scratch,
                               Orbloom__V1__MapPage **out)
{
    Orbloom__V1__MapPage *wire;

    if (page->records == NULL && page->key == 0) {
        return STATUS_OK; /* Another command's answer. */
    }
    wire = codec_scratch_take(scratch, 1, sizeof *wire);
    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__MapPage)ORBLOOM__V1__MAP_PAGE__INIT;
    wire->key = page->key;
    wire->cluster = codec_put_span(cluster_id_span(&page->cluster));
    wire->store = page->store;
    wire->change = page->change;
    wire->more = page->more;
    wire->n_records = page->nrecords;
    *out = wire;
    return put_records(page->records, page->nrecords, scratch, &wire->records);
}

enum status codec_get_map_page(struct codec_arena *arena, const Orbloom__V1__MapPage *wire,
                               struct map_page *page)
{
    *page = (struct map_page){0};
    if (wire == NULL) {
        return STATUS_OK;
    }
    *page = (struct map_page){
        .key = wire->key,
        .store = wire->store,
        .change = wire->change,
        .more = wire->more != 0,
        .nrecords = wire->n_records,
    };
    (void)cluster_id_get(codec_get_span(wire->cluster), &page->cluster);
    return get_records(arena, wire->records, wire->n_records, &page->records);
}
