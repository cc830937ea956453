/* The steps of a rebuild from a list. */
#include "proto/codec_field.h"

enum status codec_put_rebuild(struct codec_scratch *scratch,
                              const struct rebuild_parameters *rebuild,
                              Orbloom__V1__RebuildParameters **out)
{
    Orbloom__V1__RebuildParameters *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__RebuildParameters)ORBLOOM__V1__REBUILD_PARAMETERS__INIT;
    wire->step = (Orbloom__V1__RebuildStep)rebuild->step;
    wire->lineage = rebuild->lineage;
    wire->fed_keys = rebuild->fed_keys;
    wire->empty = rebuild->empty;
    *out = wire;
    return STATUS_OK;
}

enum status codec_get_rebuild(const Orbloom__V1__RebuildParameters *wire,
                              struct rebuild_parameters *rebuild)
{
    if (wire == NULL || !codec_enum_known((int)wire->step, REBUILD_ABORT)) {
        return STATUS_MALFORMED;
    }
    *rebuild = (struct rebuild_parameters){
        .step = (enum rebuild_step)wire->step,
        .lineage = wire->lineage,
        .fed_keys = wire->fed_keys,
        .empty = wire->empty != 0,
    };
    return STATUS_OK;
}
