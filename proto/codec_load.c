/* The steps of making a filter of a dump. */
#include "map/seal.h"
#include "proto/codec_field.h"

enum status codec_put_load(struct codec_scratch *scratch, const struct load_parameters *load,
                           Orbloom__V1__LoadParameters **out)
{
    Orbloom__V1__LoadParameters *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__LoadParameters)ORBLOOM__V1__LOAD_PARAMETERS__INIT;
    wire->step = (Orbloom__V1__LoadStep)load->step;
    wire->source = load->source;
    wire->from = load->from;
    wire->to = load->to;
    wire->secret = codec_put_span(load->secret);
    *out = wire;
    return STATUS_OK;
}

enum status codec_get_load(const Orbloom__V1__LoadParameters *wire, struct load_parameters *load)
{
    if (wire == NULL || !codec_enum_known((int)wire->step, LOAD_MOVE) ||
        wire->secret.len !=
            (wire->step == ORBLOOM__V1__LOAD_STEP__LOAD_STEP_BEGIN ? SEAL_SECRET_BYTES : 0)) {
        return STATUS_MALFORMED;
    }
    *load = (struct load_parameters){
        .step = (enum load_step)wire->step,
        .source = wire->source,
        .from = wire->from,
        .to = wire->to,
        .secret = codec_get_span(wire->secret),
    };
    return STATUS_OK;
}
