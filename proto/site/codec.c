/* What links of two sites tell each other, and what routers ask the links of their own. */
#include "proto/codec_body.h"

#define WIRE_site_source Orbloom__V1__SiteSource
static const struct binding site_source_rows[] = {
    ROW(site_source, group, UINT32),       ROW(site_source, node, UINT32),
    ROW(site_source, incarnation, UINT64), ROW(site_source, boot, UINT64),
    ROW(site_source, offset, UINT64),      ROW(site_source, epoch, UINT64),
};
static BINDING_TABLE(site_source, site_source, NULL);

#define WIRE_site_hello Orbloom__V1__SiteHello
static const struct binding site_hello_rows[] = {
    ROW(site_hello, version, UINT32),
    ROW(site_hello, answer, BOOL),
    ROW(site_hello, site, CHARS),
    ROW_AS(site_hello, id.high, site_high, UINT64),
    ROW_AS(site_hello, id.low, site_low, UINT64),
    ROW(site_hello, boot, UINT64),
    ROW(site_hello, round_trip_us, UINT64),
    ROW(site_hello, streams, UINT32),
    ROW(site_hello, streams_sum, UINT64),
    ROW(site_hello, asks_streams, BOOL),
    LIST(site_hello, logs, nlogs, site_source, SITE_MAX_SOURCES, STATUS_TOO_LARGE),
    NUMBERS(site_hello, busy, nbusy, uint64_t, SITE_MAX_BUSY, STATUS_TOO_LARGE),
    ROW(site_hello, paused, BOOL),
    ROW(site_hello, connection, UINT32),
    ROW(site_hello, connections, UINT32),
    ROW(site_hello, wants_connections, BOOL),
};
BINDING_TABLE(site_hello, site_hello, NULL);

#define WIRE_site_open Orbloom__V1__SiteOpen
static const struct binding site_open_rows[] = {
    ROW(site_open, stream, UINT64),
    ROW_AS(site_open, uid.high, uid_high, UINT64),
    ROW_AS(site_open, uid.low, uid_low, UINT64),
    ROW_AS(site_open, source_life.number, source_life, UINT64),
    ROW_AS(site_open, source_life.tag, source_tag, UINT64),
    ROW_AS(site_open, own_life.number, own_life, UINT64),
    ROW_AS(site_open, own_life.tag, own_tag, UINT64),
    ROW(site_open, keyset, UINT32),
    ROW(site_open, room, UINT64),
    LIST(site_open, sources, nsources, site_source, SITE_MAX_SOURCES, STATUS_TOO_LARGE),
    ROW(site_open, compares, BOOL),
};
BINDING_TABLE(site_open, site_open, NULL);

#define WIRE_site_batch_message Orbloom__V1__SiteBatch
static const struct binding site_batch_message_rows[] = {
    ROW(site_batch_message, stream, UINT64),
    ROW(site_batch_message, number, UINT64),
    ROW(site_batch_message, batch, SPAN),
    ROW(site_batch_message, connections, UINT32),
    ROW(site_batch_message, wants_connections, BOOL),
};
BINDING_TABLE(site_batch_message, site_batch, NULL);

#define WIRE_site_applied Orbloom__V1__SiteApplied
static const struct binding site_applied_rows[] = {
    ROW(site_applied, stream, UINT64),
    ROW(site_applied, number, UINT64),
    ROW(site_applied, room, UINT64),
    NUMBERS(site_applied, arrived, narrived, uint64_t, SITE_MAX_CONNECTIONS, STATUS_TOO_LARGE),
};
BINDING_TABLE(site_applied, site_applied, NULL);

#define WIRE_site_offer Orbloom__V1__SiteOffer
static const struct binding site_offer_rows[] = {
    ROW(site_offer, stream, UINT64),
    ROW(site_offer, number, UINT64),
    ROW(site_offer, bits, UINT32),
    NUMBERS(site_offer, prefixes, nprefixes, uint64_t, SITE_MAX_OFFERED, STATUS_TOO_LARGE),
    NUMBERS(site_offer, digests, ndigests, uint64_t, SITE_MAX_OFFERED *PULL_PARTS,
            STATUS_TOO_LARGE),
};
BINDING_TABLE(site_offer, site_offer, NULL);

#define WIRE_site_held Orbloom__V1__SiteHeld
static const struct binding site_held_rows[] = {
    ROW(site_held, stream, UINT64),
    ROW(site_held, number, UINT64),
    NUMBERS(site_held, held, nheld, uint64_t, SITE_MAX_OFFERED, STATUS_TOO_LARGE),
    ROW(site_held, unsure, BOOL),
};
BINDING_TABLE(site_held, site_held, NULL);

#define WIRE_site_mark Orbloom__V1__SiteMark
static const struct binding site_mark_rows[] = {
    ROW(site_mark, stream, UINT64),
    ROW(site_mark, mark, UINT64),
};
BINDING_TABLE(site_mark, site_mark, NULL);

#define WIRE_site_boot Orbloom__V1__SiteBoot
static const struct binding site_boot_rows[] = {
    ROW(site_boot, node, UINT32),
    ROW(site_boot, incarnation, UINT64),
    ROW(site_boot, boot, UINT64),
};
static BINDING_TABLE(site_boot, site_boot, NULL);

#define WIRE_site_marked Orbloom__V1__SiteMarked
static const struct binding site_marked_rows[] = {
    ROW(site_marked, stream, UINT64),
    ROW(site_marked, mark, UINT64),
    ROW(site_marked, number, UINT64),
    ROW(site_marked, groups, UINT32),
    ROW(site_marked, read, UINT32),
    LIST(site_marked, ends, nends, site_source, SITE_MAX_SOURCES, STATUS_TOO_LARGE),
    LIST(site_marked, boots, nboots, site_boot, DOCUMENT_MAX_NODES, STATUS_TOO_LARGE),
    ROW(site_marked, boots_all, BOOL),
    ROW(site_marked, vouched_set, UINT64),
};
BINDING_TABLE(site_marked, site_marked, NULL);

#define WIRE_site_close Orbloom__V1__SiteClose
static const struct binding site_close_rows[] = {
    ROW(site_close, stream, UINT64),
    ROW(site_close, status, STATUS),
    ROW(site_close, message, MESSAGE),
};
BINDING_TABLE(site_close, site_close, NULL);

#define WIRE_site_confirm Orbloom__V1__SiteConfirm
static const struct binding site_confirm_rows[] = {
    ROW(site_confirm, number, UINT64),
    ROW_AS(site_confirm, uid.high, uid_high, UINT64),
    ROW_AS(site_confirm, uid.low, uid_low, UINT64),
    ROW_AS(site_confirm, asker_life.number, asker_life, UINT64),
    ROW_AS(site_confirm, asker_life.tag, asker_tag, UINT64),
    ROW_AS(site_confirm, other_life.number, other_life, UINT64),
    ROW_AS(site_confirm, other_life.tag, other_tag, UINT64),
    ROW(site_confirm, wait_ms, UINT32),
    ROW(site_confirm, set_hash, UINT64),
    ROW(site_confirm, stream, UINT64),
    ROW(site_confirm, batch, UINT64),
    ROW(site_confirm, groups, UINT32),
    ROW(site_confirm, read, UINT32),
    LIST(site_confirm, ends, nends, site_source, SITE_MAX_SOURCES, STATUS_TOO_LARGE),
};
BINDING_TABLE(site_confirm, site_confirm, NULL);

#define WIRE_site_confirmed Orbloom__V1__SiteConfirmed
static const struct binding site_confirmed_rows[] = {
    ROW(site_confirmed, number, UINT64),
    ROW(site_confirmed, status, STATUS),
};
BINDING_TABLE(site_confirmed, site_confirmed, NULL);

#define WIRE_site_age_request Orbloom__V1__SiteAgeRequest
static const struct binding site_age_request_rows[] = {
    ROW(site_age_request, filter_id, UINT64),
    ROW(site_age_request, wait_ms, UINT32),
    ROW(site_age_request, confirms, BOOL),
    ROW(site_age_request, enough, UINT32),
};
BINDING_TABLE(site_age_request, site_age_request, NULL);

#define WIRE_site_age Orbloom__V1__SiteAge
static const struct binding site_age_rows[] = {
    ROW_AS(site_age, id.high, site_high, UINT64),
    ROW_AS(site_age, id.low, site_low, UINT64),
    ROW_AS(site_age, life.number, life, UINT64),
    ROW_AS(site_age, life.tag, tag, UINT64),
    ROW(site_age, known, BOOL),
    ROW(site_age, after, BOOL),
    ROW(site_age, age_us, UINT64),
    ROW(site_age, paused, BOOL),
};
static BINDING_TABLE(site_age, site_age, NULL);

#define WIRE_site_age_reply Orbloom__V1__SiteAgeReply
static const struct binding site_age_reply_rows[] = {
    ROW(site_age_reply, status, STATUS),
    ROW(site_age_reply, filter_id, UINT64),
    ROW_AS(site_age_reply, own_life.number, own_life, UINT64),
    ROW_AS(site_age_reply, own_life.tag, own_tag, UINT64),
    ROW(site_age_reply, keyset, UINT32),
    LIST(site_age_reply, sites, nsites, site_age, SITE_SET_MAX_LIVE - 1, STATUS_TOO_LARGE),
    ROW(site_age_reply, confirms, BOOL),
};
BINDING_TABLE(site_age_reply, site_age_reply, NULL);

#define WIRE_site_lag_request Orbloom__V1__SiteLagRequest
static const struct binding site_lag_request_rows[] = {
    ROW(site_lag_request, filter_id, UINT64),
};
BINDING_TABLE(site_lag_request, site_lag_request, NULL);

#define WIRE_site_lag Orbloom__V1__SiteLag
static const struct binding site_lag_rows[] = {
    ROW(site_lag, filter_id, UINT64),
    ROW_AS(site_lag, id.high, site_high, UINT64),
    ROW_AS(site_lag, id.low, site_low, UINT64),
    ROW(site_lag, paused_here, BOOL),
    ROW(site_lag, paused_there, BOOL),
    ROW(site_lag, waits, UINT32),
    ROW(site_lag, marked, BOOL),
    ROW(site_lag, age_us, UINT64),
    ROW(site_lag, in_keys, UINT64),
    ROW(site_lag, in_per_s, UINT64),
    ROW(site_lag, resync, UINT64),
    ROW(site_lag, copied, BOOL),
    ROW(site_lag, sends, BOOL),
    ROW(site_lag, holds, UINT32),
    ROW(site_lag, pending_keys, UINT64),
    ROW(site_lag, pending_us, UINT64),
    ROW(site_lag, out_per_s, UINT64),
    ROW(site_lag, copies, UINT32),
};
static BINDING_TABLE(site_lag, site_lag, NULL);

#define WIRE_site_lag_reply Orbloom__V1__SiteLagReply
static const struct binding site_lag_reply_rows[] = {
    LIST(site_lag_reply, lags, nlags, site_lag, SITE_MAX_LAGS, STATUS_TOO_LARGE),
};
BINDING_TABLE(site_lag_reply, site_lag_reply, NULL);
