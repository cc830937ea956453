/* What a look has found, and a change repeats. */
#include "proto/codec_field.h"

static bool is_empty(const struct admin_seen *seen)
{
    return (seen->filter_id | seen->revision | seen->binding | seen->target_id |
            seen->target_revision | seen->target_binding | seen->nodes_revision |
            seen->store_version | seen->node | seen->successor) == 0;
}

enum status codec_put_seen(struct codec_scratch *scratch, const struct admin_seen *seen,
                           Orbloom__V1__Seen **out)
{
    Orbloom__V1__Seen *wire;

    if (is_empty(seen)) {
        return STATUS_OK;
    }
    wire = codec_scratch_take(scratch, 1, sizeof *wire);
    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__Seen)ORBLOOM__V1__SEEN__INIT;
    wire->filter_id = seen->filter_id;
    wire->revision = seen->revision;
    wire->binding = seen->binding;
    wire->target_id = seen->target_id;
    wire->target_revision = seen->target_revision;
    wire->target_binding = seen->target_binding;
    wire->nodes_revision = seen->nodes_revision;
    wire->store_version = seen->store_version;
    wire->node = seen->node;
    wire->successor = seen->successor;
    *out = wire;
    return STATUS_OK;
}

void codec_get_seen(const Orbloom__V1__Seen *wire, struct admin_seen *seen)
{
    if (wire == NULL) {
        *seen = (struct admin_seen){0};
        return;
    }
    *seen = (struct admin_seen){
        .filter_id = wire->filter_id,
        .revision = wire->revision,
        .binding = wire->binding,
        .target_id = wire->target_id,
        .target_revision = wire->target_revision,
        .target_binding = wire->target_binding,
        .nodes_revision = wire->nodes_revision,
        .store_version = wire->store_version,
        .node = wire->node,
        .successor = wire->successor,
    };
}
