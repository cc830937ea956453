/* What sites tell each other of their filters. Whether it can be believed is not asked here: one
 * state that is wrong is no fault of the others in its frame. */
#include "proto/codec_body.h"
#include "proto/site/state_bytes.h"

#define WIRE_site_id Orbloom__V1__SiteId
static const struct binding site_id_rows[] = {
    ROW(site_id, high, UINT64),
    ROW(site_id, low, UINT64),
};
static BINDING_TABLE(site_id, site_id, NULL);

static bool has_document(const void *ours)
{
    return ((const struct site_filter *)ours)->document.count > 0;
}

static bool has_fenced(const void *ours)
{
    return ((const struct site_filter *)ours)->fenced.count > 0;
}

static const struct binding site_filter_rows[] = {
    ROW_AS(site_filter, uid.high, uid_high, UINT64),
    ROW_AS(site_filter, uid.low, uid_low, UINT64),
    ROW(site_filter, filter, TEXT),
    ROW_AS(site_filter, site.high, site_high, UINT64),
    ROW_AS(site_filter, site.low, site_low, UINT64),
    ROW(site_filter, revision, UINT64),
    ROW(site_filter, dropped, BOOL),
    OPTIONAL(site_filter, document, site_set, has_document, NULL),
    ROW(site_filter, is_fenced, BOOL),
    OPTIONAL(site_filter, fenced, site_set, has_fenced, NULL),
    ARRAY(site_filter, done, ndone, site_id, STATUS_MALFORMED),
    ENUM_UNJUDGED(site_filter, hash),
    ROW(site_filter, shard_bits, UINT32),
    ROW(site_filter, keyset, UINT32),
    ROW(site_filter, rate, DOUBLE),
    ROW(site_filter, capacity, UINT64),
    ROW(site_filter, max_capacity, UINT64),
    ENUM_UNJUDGED(site_filter, durability),
    ENUM_UNJUDGED(site_filter, when_unavailable),
    ROW(site_filter, keys, UINT64),
    ROW(site_filter, sealed_secret, SPAN),
    ROW_AS(site_filter, rule.replicas, replicas, UINT32),
    ROW_AS(site_filter, rule.write, write_quorum, UINT32),
    ROW_AS(site_filter, rule.read, read_quorum, UINT32),
    ROW(site_filter, max_staleness, UINT64),
    ROW(site_filter, acks, UINT32),
    ROW(site_filter, last_return, UINT64),
    ROW(site_filter, needs, UINT64),
};
BINDING_TABLE(site_filter, site_filter, NULL);

#define WIRE_site_filters Orbloom__V1__SiteFilters
static const struct binding site_filters_rows[] = {
    LIST(site_filters, states, nstates, site_filter, SITE_MAX_FILTERS, STATUS_MALFORMED),
};
BINDING_TABLE(site_filters, site_filters, NULL);

static bool has_marked(const void *ours)
{
    return ((const struct site_evidence *)ours)->marked.count > 0;
}

static bool has_compared(const void *ours)
{
    return ((const struct site_evidence *)ours)->compared.count > 0;
}

static bool has_compared_here(const void *ours)
{
    return ((const struct site_evidence *)ours)->compared_here.count > 0;
}

static const struct binding site_evidence_rows[] = {
    ROW_AS(site_evidence, uid.high, uid_high, UINT64),
    ROW_AS(site_evidence, uid.low, uid_low, UINT64),
    ROW_AS(site_evidence, site.high, site_high, UINT64),
    ROW_AS(site_evidence, site.low, site_low, UINT64),
    ROW_AS(site_evidence, source_life.number, source_life, UINT64),
    ROW_AS(site_evidence, source_life.tag, source_tag, UINT64),
    ROW_AS(site_evidence, own_life.number, own_life, UINT64),
    ROW_AS(site_evidence, own_life.tag, own_tag, UINT64),
    OPTIONAL(site_evidence, marked, site_set, has_marked, NULL),
    OPTIONAL(site_evidence, compared, site_set, has_compared, NULL),
    OPTIONAL(site_evidence, compared_here, site_set, has_compared_here, NULL),
    ROW(site_evidence, put_back, BOOL),
};
BINDING_TABLE(site_evidence, site_evidence, NULL);

/* ---- alone ---- */

enum status site_state_bytes_put(const struct site_filter *state, struct buffer *out)
{
    ProtobufCMessage *message = NULL;
    struct codec_scratch scratch;
    uint8_t *bytes = NULL;
    enum status status;

    codec_scratch_init(&scratch);
    status = binding_put_new(binding_site_filter(), &scratch, state, &message);
    if (status == STATUS_OK) {
        status = buffer_extend(out, protobuf_c_message_get_packed_size(message), &bytes);
    }
    if (status == STATUS_OK) {
        protobuf_c_message_pack(message, bytes);
    }
    codec_scratch_fini(&scratch);
    return status;
}

enum status site_state_bytes_get(struct codec_arena *arena, const struct span *bytes, size_t count,
                                 struct site_filter *out)
{
    enum status status = STATUS_OK;

    arena_reset(arena);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        ProtobufCMessage *message = NULL;

        status = arena_unpack(arena, &orbloom__v1__site_filter__descriptor, bytes[i].data,
                              bytes[i].size, &message);
        if (status == STATUS_OK) {
            status = binding_get(binding_site_filter(), arena, message, &out[i]);
        }
    }
    return status;
}
