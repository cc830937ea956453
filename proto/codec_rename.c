/* Another name for a filter. */
#include "proto/codec_field.h"

enum status codec_put_rename(struct codec_scratch *scratch, const struct rename_parameters *rename,
                             Orbloom__V1__RenameParameters **out)
{
    Orbloom__V1__RenameParameters *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__RenameParameters)ORBLOOM__V1__RENAME_PARAMETERS__INIT;
    wire->replace = rename->replace;
    *out = wire;
    return codec_put_text(rename->name, &wire->name);
}

enum status codec_get_rename(struct codec_arena *arena, const Orbloom__V1__RenameParameters *wire,
                             struct rename_parameters *rename)
{
    if (wire == NULL) {
        return STATUS_MALFORMED;
    }
    rename->replace = wire->replace != 0;
    return codec_get_text(arena, wire->name, &rename->name);
}
