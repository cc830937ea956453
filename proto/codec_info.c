/* What is said of replicas and filters, in several conversations; what anyone may ask anyone, and
 * refusals. */
#include "proto/codec_body.h"

#include <string.h>

/* ---- a replica ---- */

static const struct binding replica_report_rows[] = {
    ROW(replica_report, filter_id, UINT64),
    ROW(replica_report, group, UINT32),
    ROW(replica_report, node_id, UINT32),
    ROW(replica_report, incarnation, UINT64),
    ROW(replica_report, fence, UINT64),
    ENUM(replica_report, state, REPLICA_NONE, REPLICA_FULL),
    ROW(replica_report, bytes, UINT64),
    ROW(replica_report, keys, UINT64),
    ROW(replica_report, bits_set, UINT64),
    ROW(replica_report, bits_seen, UINT64),
    ROW(replica_report, progress, FRACTION),
    ENUM(replica_report, phase, PHASE_NONE, PHASE_GROWING),
    ROW(replica_report, complete, UINT64),
    ROW(replica_report, disk_bytes, UINT64),
    ROW(replica_report, generation, UINT32),
    ROW(replica_report, shards_grown, UINT32),
    ROW(replica_report, overflow_keys, UINT64),
    ROW(replica_report, keys_next, UINT64),
    ROW(replica_report, keys_kept, UINT64),
    ROW(replica_report, probe_hits, UINT64),
    ROW(replica_report, probes, UINT64),
};

static enum status check_report(const void *ours)
{
    const struct replica_report *report = ours;

    return report->bits_set <= report->bits_seen && report->probe_hits <= report->probes
               ? STATUS_OK
               : STATUS_MALFORMED;
}

BINDING_TABLE(replica_report, replica_report, check_report);

/* ---- a filter ---- */

#define WIRE_generation_summary Orbloom__V1__GenerationSummary
static const struct binding generation_summary_rows[] = {
    ROW(generation_summary, id, UINT32),   ROW(generation_summary, capacity, UINT64),
    ROW(generation_summary, rate, DOUBLE), ROW(generation_summary, lines, UINT64),
    ROW(generation_summary, z, UINT32),
};
static BINDING_TABLE(generation_summary, generation_summary, NULL);

/* A chain is of generations that are there. */
static enum status get_chain(struct codec_arena *arena, const void *wire, void *ours)
{
    struct filter_summary *summary = ours;
    const Orbloom__V1__FilterSummary *message = wire;
    uint32_t most = summary->ngenerations;

    (void)arena;
    summary->nchain = message->nchain < most ? message->nchain : most;
    return STATUS_OK;
}

static enum status put_chain(struct codec_scratch *scratch, const void *ours, void *wire)
{
    (void)scratch;
    ((Orbloom__V1__FilterSummary *)wire)->nchain = ((const struct filter_summary *)ours)->nchain;
    return STATUS_OK;
}

/* A message of its own while a rebuild is open. */
static enum status put_rebuild(struct codec_scratch *scratch, const void *ours, void *wire)
{
    const struct filter_summary *summary = ours;
    Orbloom__V1__RebuildSummary *rebuild;

    if (summary->rebuild_keyset == 0) {
        return STATUS_OK;
    }
    rebuild = codec_scratch_take(scratch, 1, sizeof *rebuild);
    if (rebuild == NULL) {
        return STATUS_NOMEM;
    }
    *rebuild = (Orbloom__V1__RebuildSummary)ORBLOOM__V1__REBUILD_SUMMARY__INIT;
    rebuild->keyset = summary->rebuild_keyset;
    rebuild->fed_keys = summary->fed_keys;
    rebuild->keys = summary->rebuild_keys;
    ((Orbloom__V1__FilterSummary *)wire)->rebuild = rebuild;
    return STATUS_OK;
}

static enum status get_rebuild(struct codec_arena *arena, const void *wire, void *ours)
{
    const Orbloom__V1__RebuildSummary *rebuild =
        ((const Orbloom__V1__FilterSummary *)wire)->rebuild;
    struct filter_summary *summary = ours;

    (void)arena;
    if (rebuild != NULL) {
        summary->rebuild_keyset = rebuild->keyset;
        summary->fed_keys = rebuild->fed_keys;
        summary->rebuild_keys = rebuild->keys;
    }
    return STATUS_OK;
}

/* As many bytes as there are shards, once any was given up. */
static enum status put_loss(struct codec_scratch *scratch, const void *ours, void *wire)
{
    const struct filter_summary *summary = ours;
    Orbloom__V1__FilterSummary *message = wire;

    (void)scratch;
    if (summary->loss_epoch != 0) {
        message->loss_shards.data = (uint8_t *)summary->loss_shards;
        message->loss_shards.len = summary->nshards <= DOCUMENT_MAX_SHARDS
                                       ? (summary->nshards + 7) / 8
                                       : sizeof summary->loss_shards;
    }
    return STATUS_OK;
}

static enum status get_loss(struct codec_arena *arena, const void *wire, void *ours)
{
    const Orbloom__V1__FilterSummary *message = wire;
    struct filter_summary *summary = ours;

    (void)arena;
    if (message->loss_shards.len > sizeof summary->loss_shards) {
        return STATUS_TOO_LARGE;
    }
    if (message->loss_shards.len > 0) {
        memcpy(summary->loss_shards, message->loss_shards.data, message->loss_shards.len);
    }
    return STATUS_OK;
}

static const struct binding filter_summary_rows[] = {
    ROW(filter_summary, id, UINT64),
    ROW_AS(filter_summary, uid.high, uid_high, UINT64),
    ROW_AS(filter_summary, uid.low, uid_low, UINT64),
    ENUM(filter_summary, state, FILTER_ACTIVE, FILTER_DROPPED),
    ROW(filter_summary, revision, UINT64),
    ROW(filter_summary, epoch, UINT64),
    ROW(filter_summary, capacity, UINT64),
    ROW(filter_summary, max_capacity, UINT64),
    ROW(filter_summary, rate, DOUBLE),
    ROW_AS(filter_summary, rule.replicas, replicas, UINT32),
    ROW_AS(filter_summary, rule.write, write_quorum, UINT32),
    ROW_AS(filter_summary, rule.read, read_quorum, UINT32),
    ENUM(filter_summary, hash, HASH_SIPHASH24, HASH_XXH3),
    ENUM(filter_summary, when_unavailable, WHEN_UNAVAILABLE_ERROR, WHEN_UNAVAILABLE_MAYBE),
    ENUM(filter_summary, when_full, WHEN_FULL_REFUSE, WHEN_FULL_EXPAND),
    ENUM(filter_summary, keylog, KEYLOG_ON, KEYLOG_OFF),
    ENUM(filter_summary, durability, DURABILITY_MEMORY, DURABILITY_SYNC),
    ROW(filter_summary, nshards, UINT32),
    ROW(filter_summary, ngroups, UINT32),
    ROW(filter_summary, shard_bytes, UINT64),
    ROW(filter_summary, lines, UINT64),
    ROW(filter_summary, z, UINT32),
    ROW(filter_summary, growth_held, BOOL),
    ROW(filter_summary, shards_grown, UINT64),
    ROW(filter_summary, shards_growing, UINT64),
    ROW(filter_summary, window_us, UINT64),
    ROW(filter_summary, nslices, UINT32),
    ROW(filter_summary, max_staleness, UINT64),
    ROW(filter_summary, acks, UINT32),
    ROW(filter_summary, newest_slice, UINT64),
    ROW(filter_summary, expiry, UINT64),
    ROW(filter_summary, expires_left_us, UINT64),
    ROW(filter_summary, expires_at_ms, UINT64),
    ROW(filter_summary, load_source, UINT64),
    ROW(filter_summary, loaded, UINT64),
    ROW(filter_summary, owner, UINT32),
    ROW(filter_summary, keyset, UINT32),
    ROW(filter_summary, shards_lacking, UINT32),
    ROW(filter_summary, fewest_full, UINT32),
    ROW(filter_summary, loss_epoch, UINT64),
    ROW(filter_summary, name, TEXT),
    BY_HAND(filter_summary, rebuild, put_rebuild, get_rebuild),
    ROW(filter_summary, rebuild_awaited, MESSAGE),
    BY_HAND(filter_summary, loss_shards, put_loss, get_loss),
    ROW(filter_summary, lacking, MESSAGE),
    ROW(filter_summary, lacking_remedy, MESSAGE),
    ROW(filter_summary, window_awaited, MESSAGE),
    ROW(filter_summary, expiry_awaited, MESSAGE),
    NUMBERS(filter_summary, turns, nturns, uint32_t, DOCUMENT_MAX_TURNS, STATUS_TOO_LARGE),
    ARRAY(filter_summary, generations, ngenerations, generation_summary, STATUS_TOO_LARGE),
    BY_HAND(filter_summary, nchain, put_chain, get_chain),
    ROW(filter_summary, growth_awaited, MESSAGE),
    ROW(filter_summary, growth_refused, MESSAGE),
};
BINDING_TABLE(filter_summary, filter_summary, NULL);

/* ---- about one filter ---- */

#define WIRE_info_request Orbloom__V1__InfoRequest
static const struct binding info_request_rows[] = {
    ROW(info_request, filter_id, UINT64),
    ROW(info_request, timeout_ms, UINT32),
    ROW(info_request, filter, TEXT),
};
BINDING_TABLE(info_request, info_request, NULL);

static bool has_filter(const void *ours)
{
    return ((const struct info_reply *)ours)->has_filter;
}

/* Said by the filter's being there. */
static enum status get_has_filter(struct codec_arena *arena, const void *wire, void *ours)
{
    struct info_reply *reply = ours;

    (void)arena;
    reply->has_filter = ((const Orbloom__V1__InfoReply *)wire)->filter != NULL;
    reply->filter.name = "";
    return STATUS_OK;
}

#define WIRE_info_reply Orbloom__V1__InfoReply
static const struct binding info_reply_rows[] = {
    ROW(info_reply, status, STATUS),
    ROW(info_reply, message, MESSAGE),
    BY_HAND(info_reply, filter, NULL, get_has_filter),
    OPTIONAL(info_reply, filter, filter_summary, has_filter, NULL),
    LIST(info_reply, replicas, nreplicas, replica_report, UNBOUNDED, STATUS_OK),
};
BINDING_TABLE(info_reply, info_reply, NULL);

/* ---- dumps ---- */

#define WIRE_dump_request Orbloom__V1__DumpRequest
static const struct binding dump_request_rows[] = {
    ROW(dump_request, iterator, UINT64), ROW(dump_request, timeout_ms, UINT32),
    ROW(dump_request, seal_as, UINT64),  ROW(dump_request, series, UINT64),
    ROW(dump_request, filter, TEXT),
};
BINDING_TABLE(dump_request, dump_request, NULL);

#define WIRE_dump_reply Orbloom__V1__DumpReply
static const struct binding dump_reply_rows[] = {
    ROW(dump_reply, status, STATUS),
    ROW(dump_reply, message, MESSAGE),
    ROW(dump_reply, next, UINT64),
    ROW(dump_reply, page, SPAN),
    ROW(dump_reply, sealed, SPAN),
    ROW_AS(dump_reply, uid.high, uid_high, UINT64),
    ROW_AS(dump_reply, uid.low, uid_low, UINT64),
};
BINDING_TABLE(dump_reply, dump_reply, NULL);

#define WIRE_load_request Orbloom__V1__LoadRequest
static const struct binding load_request_rows[] = {
    ROW(load_request, filter_id, UINT64),
    ROW(load_request, timeout_ms, UINT32),
    ROW(load_request, chunk, SPAN),
    ROW(load_request, filter, TEXT),
};
BINDING_TABLE(load_request, load_request, NULL);

/* ---- about a process, and refusals ---- */

/* Nothing is to be said. */
const struct binding_table *binding_stats_request(void)
{
    static const struct binding_table table = {
        .descriptor = &orbloom__v1__stats_request__descriptor,
        .wire_bytes = sizeof(Orbloom__V1__StatsRequest),
    };

    return &table;
}

#define WIRE_stat_value Orbloom__V1__StatValue
static const struct binding stat_value_rows[] = {
    ROW(stat_value, value, UINT64),
    ROW(stat_value, name, TEXT),
};
static BINDING_TABLE(stat_value, stat_value, NULL);

#define WIRE_stats_reply Orbloom__V1__StatsReply
static const struct binding stats_reply_rows[] = {
    ROW(stats_reply, program, TEXT),
    ROW(stats_reply, name, TEXT),
    LIST(stats_reply, values, nvalues, stat_value, UNBOUNDED, STATUS_OK),
};
BINDING_TABLE(stats_reply, stats_reply, NULL);

#define WIRE_error_reply Orbloom__V1__ErrorReply
static const struct binding error_reply_rows[] = {
    ROW(error_reply, status, STATUS),
    ROW(error_reply, message, MESSAGE),
};
BINDING_TABLE(error_reply, error_reply, NULL);
