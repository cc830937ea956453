/* A link's conversation with the nodes of its site, about how far others have been applied there.
 */
#include "proto/codec_body.h"

static const struct binding record_site_source_rows[] = {
    ROW(record_site_source, incarnation, UINT64), ROW(record_site_source, boot, UINT64),
    ROW(record_site_source, offset, UINT64),      ROW(record_site_source, epoch, UINT64),
    ROW(record_site_source, node, UINT32),
};
BINDING_TABLE(record_site_source, site_cursor_source, NULL);

static const struct binding record_site_cursor_rows[] = {
    ROW(record_site_cursor, keyset, UINT32),
    ROW_AS(record_site_cursor, site[0], site_high, UINT64),
    ROW_AS(record_site_cursor, site[1], site_low, UINT64),
    ROW_AS(record_site_cursor, site_life.number, site_life, UINT64),
    ROW_AS(record_site_cursor, site_life.tag, site_tag, UINT64),
    ROW_AS(record_site_cursor, own_life.number, own_life, UINT64),
    ROW_AS(record_site_cursor, own_life.tag, own_tag, UINT64),
    ROW(record_site_cursor, loss, UINT64),
    ROW(record_site_cursor, site_group, UINT32),
    ARRAY(record_site_cursor, sources, nsources, record_site_source, STATUS_TOO_LARGE),
};
BINDING_TABLE(record_site_cursor, site_cursor, NULL);

#define WIRE_site_cursor_request Orbloom__V1__SiteCursorRequest
static const struct binding site_cursor_request_rows[] = {
    ROW(site_cursor_request, filter_id, UINT64),
    ROW(site_cursor_request, epoch, UINT64),
    ROW(site_cursor_request, epoch_hash, UINT64),
    ROW(site_cursor_request, group, UINT32),
    ROW(site_cursor_request, put, BOOL),
    ROW(site_cursor_request, boot, UINT64),
    LIST(site_cursor_request, cursors, ncursors, record_site_cursor, CODEC_MAX_SITE_CURSORS,
         STATUS_TOO_LARGE),
};
BINDING_TABLE(site_cursor_request, site_cursor_request, NULL);

#define WIRE_site_cursor_reply Orbloom__V1__SiteCursorReply
static const struct binding site_cursor_reply_rows[] = {
    ROW(site_cursor_reply, status, STATUS),
    ROW(site_cursor_reply, filter_id, UINT64),
    ROW(site_cursor_reply, epoch, UINT64),
    ROW(site_cursor_reply, epoch_hash, UINT64),
    ROW(site_cursor_reply, group, UINT32),
    ROW(site_cursor_reply, node_id, UINT32),
    ROW(site_cursor_reply, incarnation, UINT64),
    ENUM(site_cursor_reply, state, REPLICA_NONE, REPLICA_FULL),
    LIST(site_cursor_reply, cursors, ncursors, record_site_cursor, CODEC_MAX_SITE_CURSORS,
         STATUS_TOO_LARGE),
    ROW(site_cursor_reply, document, DOCUMENT),
};
BINDING_TABLE(site_cursor_reply, site_cursor_reply, NULL);
