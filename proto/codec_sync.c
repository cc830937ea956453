/* What keeps nodes and routers in step with the store: documents, changes, hints; fences, which the
 * coordinator has nodes put up; and what nodes ask each other about a start. */
#include "proto/codec_body.h"

/* ---- documents handed on ---- */

#define WIRE_documents Orbloom__V1__Documents
static const struct binding documents_rows[] = {
    DOCUMENTS(documents, items, count),
};
BINDING_TABLE(documents, documents, NULL);

/* ---- what a node or a router tells ---- */

#define WIRE_held_document Orbloom__V1__HeldDocument
static const struct binding held_document_rows[] = {
    ROW(held_document, filter_id, UINT64),
    ROW(held_document, revision, UINT64),
    ROW(held_document, fence, UINT64),
    ROW(held_document, hash, UINT64),
};
static BINDING_TABLE(held_document, held_document, NULL);

#define WIRE_report_page Orbloom__V1__ReportPage
static const struct binding report_page_rows[] = {
    ROW_AS(report_page, from.filter_id, from_filter, UINT64),
    ROW_AS(report_page, from.group, from_group, UINT32),
    ROW_AS(report_page, to.filter_id, to_filter, UINT64),
    ROW_AS(report_page, to.group, to_group, UINT32),
};
static BINDING_TABLE(report_page, report_page, NULL);

/* Of everything: left out. */
static bool is_part(const void *ours)
{
    const struct report_page *page = &((const struct sync_request *)ours)->page;

    return !report_page_begins(page) || !report_page_ends(page);
}

/* None: left out. Another number of bytes, or zeros, no peer sends. */
static enum status get_cluster(struct codec_arena *arena, const void *wire, void *ours)
{
    const Orbloom__V1__SyncRequest *message = wire;
    const struct sync_request *request = ours;

    (void)arena;
    return message->cluster.len == 0 || cluster_id_known(&request->cluster) ? STATUS_OK
                                                                            : STATUS_MALFORMED;
}

/* Routers have no MAC. */
static bool is_node(const void *ours)
{
    return ((const struct sync_request *)ours)->role == SYNC_NODE;
}

#define WIRE_link_peer Orbloom__V1__LinkPeer
static const struct binding link_peer_rows[] = {
    ROW(link_peer, name, CHARS),
    ROW_AS(link_peer, id.high, id_high, UINT64),
    ROW_AS(link_peer, id.low, id_low, UINT64),
    ROW(link_peer, connected, BOOL),
    ROW(link_peer, round_trip_us, UINT64),
};
static BINDING_TABLE(link_peer, link_peer, NULL);

#define WIRE_link_report Orbloom__V1__LinkReport
static const struct binding link_report_rows[] = {
    ROW_AS(link_report, id.high, id_high, UINT64),
    ROW_AS(link_report, id.low, id_low, UINT64),
    ARRAY(link_report, peers, npeers, link_peer, STATUS_MALFORMED),
};
static BINDING_TABLE(link_report, link_report, NULL);

static bool is_link(const void *ours)
{
    return link_report_said(&((const struct sync_request *)ours)->link);
}

/* Is it a page at all? */
static enum status get_held_bounds(struct codec_arena *arena, const void *wire, void *ours)
{
    const Orbloom__V1__SyncRequest *message = wire;
    const struct sync_request *request = ours;

    (void)arena;
    return message->n_held > CODEC_MAX_HELD || request->held_count < message->n_held ||
                   (request->held_to != 0 && request->held_to <= request->held_after)
               ? STATUS_MALFORMED
               : STATUS_OK;
}

/* Filters in order, none beyond the page; the records come first. */
static bool in_order(const struct sync_request *request)
{
    uint64_t before = request->held_after;

    for (size_t i = 0; i < request->nheld; i++) {
        uint64_t id = request->held[i].filter_id;

        if (i < STORE_AGE_RECORDS && store_age_is_record(id)) {
            continue;
        }
        if (id <= before || store_age_is_record(id) ||
            (request->held_to != 0 && id > request->held_to)) {
            return false;
        }
        before = id;
    }
    return true;
}

static enum status get_held_order(struct codec_arena *arena, const void *wire, void *ours)
{
    (void)arena;
    (void)wire;
    return in_order(ours) ? STATUS_OK : STATUS_MALFORMED;
}

static enum status check_page(const void *ours)
{
    const struct sync_request *request = ours;

    return report_page_fits(&request->page, request->replicas, request->nreplicas)
               ? STATUS_OK
               : STATUS_MALFORMED;
}

#define WIRE_sync_request Orbloom__V1__SyncRequest
static const struct binding sync_request_rows[] = {
    ENUM(sync_request, role, SYNC_ROUTER, SYNC_NODE),
    ROW(sync_request, incarnation, UINT64),
    ROW(sync_request, memory_limit_bytes, UINT64),
    ROW(sync_request, memory_used_bytes, UINT64),
    ROW(sync_request, boot, UINT64),
    ROW(sync_request, boot_before, UINT64),
    ROW_AS(sync_request, replaces.incarnation, replaces_incarnation, UINT64),
    ROW_AS(sync_request, replaces.boot, replaces_boot, UINT64),
    ROW(sync_request, number, UINT64),
    ROW(sync_request, durable, BOOL),
    ROW(sync_request, disk_used_bytes, UINT64),
    ROW(sync_request, position, UINT64),
    ROW(sync_request, since, UINT64),
    ROW(sync_request, features, UINT64),
    ROW(sync_request, curve, BOOL),
    ROW(sync_request, key, UINT64),
    ROW(sync_request, cluster, CLUSTER),
    BY_HAND(sync_request, cluster, NULL, get_cluster),
    BYTES_IF(sync_request, mac, is_node),
    ROW(sync_request, name, TEXT),
    ROW(sync_request, endpoint, TEXT),
    ROW(sync_request, host, TEXT),
    ROW(sync_request, zone, TEXT),
    ROW(sync_request, site, TEXT),
    ROW(sync_request, store, UINT64),
    ROW(sync_request, held_count, UINT64),
    ROW(sync_request, held_after, UINT64),
    ROW(sync_request, held_to, UINT64),
    BY_HAND(sync_request, held, NULL, get_held_bounds),
    LIST(sync_request, held, nheld, held_document, CODEC_MAX_HELD, STATUS_MALFORMED),
    BY_HAND(sync_request, held, NULL, get_held_order),
    DOCUMENTS(sync_request, documents, ndocuments),
    OPTIONAL(sync_request, page, report_page, is_part, NULL),
    LIST(sync_request, replicas, nreplicas, replica_report, UNBOUNDED, STATUS_OK),
    OPTIONAL(sync_request, link, link_report, is_link, NULL),
    LIST(sync_request, uses, nuses, user_use, CODEC_MAX_USES, STATUS_MALFORMED),
    LIST(sync_request, states, nstates, site_filter, SITE_MAX_FILTERS, STATUS_MALFORMED),
    LIST(sync_request, evidence, nevidence, site_evidence, SITE_MAX_EVIDENCE, STATUS_MALFORMED),
    ROW(sync_request, states_since, UINT64),
    ROW(sync_request, states_of, UINT64),
};
BINDING_TABLE(sync_request, sync_request, check_page);

/* ---- what a coordinator answers ---- */

#define WIRE_sealed_secret Orbloom__V1__SealedSecret
static const struct binding sealed_secret_rows[] = {
    ROW(sealed_secret, filter_id, UINT64),
    ROW(sealed_secret, sealed, SPAN),
};

static enum status check_secret(const void *ours)
{
    const struct sealed_secret *secret = ours;

    return secret->sealed.size == SEAL_SECRET_BYTES ? STATUS_OK : STATUS_MALFORMED;
}

static BINDING_TABLE(sealed_secret, sealed_secret, check_secret);

static const struct binding link_place_rows[] = {
    ROW(link_place, endpoint, TEXT),
    ROW(link_place, curve, BOOL),
};
BINDING_TABLE(link_place, link_place, NULL);

#define WIRE_sync_reply Orbloom__V1__SyncReply
static const struct binding sync_reply_rows[] = {
    ROW(sync_reply, status, STATUS),
    ROW(sync_reply, change, UINT64),
    ROW(sync_reply, more, BOOL),
    ROW(sync_reply, node_id, UINT32),
    ROW_AS(sync_reply, present.incarnation, present_incarnation, UINT64),
    ROW_AS(sync_reply, present.boot, present_boot, UINT64),
    ROW(sync_reply, store, UINT64),
    ROW(sync_reply, held_lacks, BOOL),
    ROW(sync_reply, held_after, UINT64),
    ROW(sync_reply, cluster, SPAN),
    ROW(sync_reply, routers, UINT32),
    NUMBERS(sync_reply, wanted, nwanted, uint64_t, CODEC_MAX_WANTED, STATUS_MALFORMED),
    ROW(sync_reply, message, MESSAGE),
    DOCUMENTS(sync_reply, documents, ndocuments),
    LIST(sync_reply, secrets, nsecrets, sealed_secret, UNBOUNDED, STATUS_OK),
    LIST(sync_reply, links, nlinks, link_place, CODEC_MAX_LINKS, STATUS_MALFORMED),
    LIST(sync_reply, states, nstates, site_filter, SITE_MAX_FILTERS, STATUS_MALFORMED),
    ROW(sync_reply, states_to, UINT64),
    ROW(sync_reply, states_of, UINT64),
    ROW(sync_reply, states_more, BOOL),
};
BINDING_TABLE(sync_reply, sync_reply, NULL);

#define WIRE_hint Orbloom__V1__Hint
static const struct binding hint_rows[] = {
    ROW(hint, change, UINT64),
};
BINDING_TABLE(hint, hint, NULL);

/* ---- the coordinator's questions to nodes ---- */

#define WIRE_fence_request Orbloom__V1__FenceRequest
static const struct binding fence_request_rows[] = {
    ROW(fence_request, filter_id, UINT64),  ROW(fence_request, epoch, UINT64),
    ROW(fence_request, epoch_hash, UINT64), ROW(fence_request, document, DOCUMENT),
    ROW(fence_request, slice, UINT64),
};
BINDING_TABLE(fence_request, fence_request, NULL);

#define WIRE_fence_reply Orbloom__V1__FenceReply
static const struct binding fence_reply_rows[] = {
    ROW(fence_reply, status, STATUS),   ROW(fence_reply, filter_id, UINT64),
    ROW(fence_reply, epoch, UINT64),    ROW(fence_reply, epoch_hash, UINT64),
    ROW(fence_reply, node_id, UINT32),  ROW(fence_reply, incarnation, UINT64),
    ROW(fence_reply, position, UINT64), ROW(fence_reply, boot, UINT64),
    ROW(fence_reply, slice, UINT64),    ROW(fence_reply, counted_us, UINT64),
    ROW(fence_reply, expiry, UINT64),   ROW(fence_reply, expiry_us, UINT64),
};
BINDING_TABLE(fence_reply, fence_reply, NULL);

/* ---- nodes among each other, about a start ---- */

/* Starts before, each with where its log ended: two lists of numbers, of one length. */
static enum status put_before(struct codec_scratch *scratch, const void *ours, void *wire)
{
    const struct boot_question *question = &((const struct boot_request *)ours)->question;
    Orbloom__V1__BootRequest *message = wire;

    (void)scratch;
    if (question->nbefore > BOOT_MAX_BEFORE) {
        return STATUS_TOO_LARGE;
    }
    message->before = (uint64_t *)question->before;
    message->n_before = question->nbefore;
    message->ends = (uint64_t *)question->ends;
    message->n_ends = question->nbefore;
    return STATUS_OK;
}

static enum status get_before(struct codec_arena *arena, const void *wire, void *ours)
{
    const Orbloom__V1__BootRequest *message = wire;
    struct boot_question *question = &((struct boot_request *)ours)->question;

    (void)arena;
    if (message->n_before > BOOT_MAX_BEFORE) {
        return STATUS_TOO_LARGE;
    }
    if (message->n_ends != message->n_before) {
        return STATUS_MALFORMED;
    }
    question->nbefore = (uint32_t)message->n_before;
    for (size_t i = 0; i < message->n_before; i++) {
        question->before[i] = message->before[i];
        question->ends[i] = message->ends[i];
    }
    return STATUS_OK;
}

#define WIRE_boot_request Orbloom__V1__BootRequest
static const struct binding boot_request_rows[] = {
    ROW_AS(boot_request, question.node, node, UINT32),
    ROW_AS(boot_request, question.incarnation, incarnation, UINT64),
    ROW_AS(boot_request, question.boot, boot, UINT64),
    ROW_AS(boot_request, question.position, position, UINT64),
    ROW_AS(boot_request, question.reached, reached, UINT64),
    ROW(boot_request, confirm, BOOL),
    ROW(boot_request, nodes, DOCUMENT),
    BY_HAND(boot_request, before, put_before, get_before),
    BY_HAND(boot_request, ends, NULL, NULL),
    ROW(boot_request, mac, BYTES),
};
BINDING_TABLE(boot_request, boot_request, NULL);

#define WIRE_boot_reply Orbloom__V1__BootReply
static const struct binding boot_reply_rows[] = {
    ROW(boot_reply, status, STATUS),      ROW(boot_reply, node, UINT32),
    ROW(boot_reply, incarnation, UINT64), ROW(boot_reply, boot, UINT64),
    ROW(boot_reply, confirmed, BOOL),     ROW(boot_reply, position, UINT64),
    ROW(boot_reply, mac, BYTES),
};
BINDING_TABLE(boot_reply, boot_reply, NULL);
