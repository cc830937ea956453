/* What a node asks of another one. */
#include "proto/codec_body.h"

#include <assert.h>

/* ---- prefixes of ranges, as differences ---- */

static enum status put_prefixes(struct codec_scratch *scratch, const struct pull_request *request,
                                Orbloom__V1__PullRequest *wire)
{
    uint64_t *differences = codec_scratch_take(scratch, request->nprefixes, sizeof *differences);

    if (differences == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < request->nprefixes; i++) {
        differences[i] = request->prefixes[i] - (i > 0 ? request->prefixes[i - 1] : 0);
    }
    wire->cut = request->cut;
    wire->prefix_bits = request->prefix_bits;
    wire->prefixes = differences;
    wire->n_prefixes = request->nprefixes;
    return STATUS_OK;
}

static enum status get_prefixes(struct codec_arena *arena, const Orbloom__V1__PullRequest *wire,
                                struct pull_request *request)
{
    uint64_t *prefixes = arena_take(arena, wire->n_prefixes, sizeof *prefixes);
    uint64_t last = 0;

    if (prefixes == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (size_t i = 0; i < wire->n_prefixes; i++) {
        if (wire->prefixes[i] > UINT64_MAX - last) {
            return STATUS_MALFORMED;
        }
        last += wire->prefixes[i];
        prefixes[i] = last;
    }
    request->cut = wire->cut;
    request->prefix_bits = wire->prefix_bits;
    request->prefixes = prefixes;
    request->nprefixes = wire->n_prefixes;
    return pull_prefixes_good(request) ? STATUS_OK : STATUS_MALFORMED;
}

enum status codec_put_pull_request(const struct frame *frame, struct codec_scratch *scratch,
                                   ProtobufCMessage **out)
{
    const struct pull_request *request = &frame->body.pull_request;
    Orbloom__V1__PullRequest *wire = codec_scratch_take(scratch, 1, sizeof *wire);
    enum status status;

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    assert(request->kind == PULL_BODIES || request->nwanted == 0);
    assert(pull_prefixes_good(request));
    if (request->nwanted > PULL_MAX_WANTED) {
        return STATUS_TOO_LARGE;
    }
    *wire = (Orbloom__V1__PullRequest)ORBLOOM__V1__PULL_REQUEST__INIT;
    wire->kind = (Orbloom__V1__PullKind)request->kind;
    wire->filter_id = request->scope.filter_id;
    wire->epoch = request->scope.epoch;
    wire->epoch_hash = request->scope.epoch_hash;
    wire->group = request->scope.group;
    wire->lineage = request->scope.lineage;
    wire->slice = request->scope.slice;
    wire->source = request->source.node;
    wire->source_incarnation = request->source.incarnation;
    wire->sync = request->sync;
    wire->from = request->from;
    wire->to = request->to;
    wire->max_bytes = request->max_bytes;
    wire->n_wanted = request->nwanted;
    wire->generation = request->scope.generation;
    wire->geometry = request->scope.geometry;
    *out = &wire->base;
    status = put_prefixes(scratch, request, wire);
    return status != STATUS_OK
               ? status
               : codec_put_intervals(scratch, request->wanted, request->nwanted, &wire->wanted);
}

enum status codec_get_pull_request(const ProtobufCMessage *message, struct codec_arena *arena,
                                   struct frame *frame)
{
    const Orbloom__V1__PullRequest *wire = (const Orbloom__V1__PullRequest *)message;
    struct pull_request *request = &frame->body.pull_request;
    enum status status;

    if (wire->n_wanted > PULL_MAX_WANTED || wire->n_prefixes > PULL_MAX_PREFIXES) {
        return STATUS_TOO_LARGE;
    }
    if (!codec_enum_known((int)wire->kind, PULL_FILTERS) ||
        (wire->n_wanted > 0 && (int)wire->kind != PULL_BODIES)) {
        return STATUS_MALFORMED;
    }
    *request = (struct pull_request){
        .kind = (enum pull_kind)wire->kind,
        .scope =
            {
                .filter_id = wire->filter_id,
                .epoch = wire->epoch,
                .epoch_hash = wire->epoch_hash,
                .slice = wire->slice,
                .lineage = wire->lineage,
                .group = wire->group,
                .generation = wire->generation,
                .geometry = wire->geometry,
            },
        .source = {.node = wire->source, .incarnation = wire->source_incarnation},
        .sync = wire->sync,
        .from = wire->from,
        .to = wire->to,
        .max_bytes = wire->max_bytes,
        .nwanted = wire->n_wanted,
    };
    status = get_prefixes(arena, wire, request);
    return status != STATUS_OK
               ? status
               : codec_get_intervals(arena, wire->wanted, wire->n_wanted, &request->wanted);
}
