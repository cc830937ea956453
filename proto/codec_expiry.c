/* When a filter is to be dropped by itself. */
#include "proto/codec_field.h"

enum status codec_put_expiry(struct codec_scratch *scratch, const struct expiry_wish *wish,
                             Orbloom__V1__ExpireParameters **out)
{
    Orbloom__V1__ExpireParameters *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__ExpireParameters)ORBLOOM__V1__EXPIRE_PARAMETERS__INIT;
    wire->never = wish->never;
    wire->after_us = wish->after_us;
    wire->dated = wish->dated;
    wire->at_ms = wish->at_ms;
    wire->if_none = wish->if_none;
    wire->if_some = wish->if_some;
    wire->if_later = wish->if_later;
    wire->if_sooner = wish->if_sooner;
    *out = wire;
    return STATUS_OK;
}

enum status codec_get_expiry(const Orbloom__V1__ExpireParameters *wire, struct expiry_wish *wish)
{
    if (wire == NULL) {
        return STATUS_MALFORMED; /* Nothing said would mean: at once. */
    }
    *wish = (struct expiry_wish){
        .never = wire->never != 0,
        .after_us = wire->after_us,
        .dated = wire->dated != 0,
        .at_ms = wire->at_ms,
        .if_none = wire->if_none != 0,
        .if_some = wire->if_some != 0,
        .if_later = wire->if_later != 0,
        .if_sooner = wire->if_sooner != 0,
    };
    return STATUS_OK;
}
