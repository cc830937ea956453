/* codec_body.h - private to proto/: for each kind of frame a table or a pair of functions.
 *
 * put: describe frame->body to protobuf-c, borrowing from the frame and the scratch.
 *      STATUS_NOMEM, STATUS_TOO_LARGE, STATUS_INVALID.
 * get: validate an unpacked message into frame->body, borrowing from the arena.
 *      STATUS_MALFORMED, STATUS_TOO_LARGE.
 * read: in place of get, a hot kind from its bytes, borrowing from them and the arena.
 */
#ifndef ORBLOOM_PROTO_CODEC_BODY_H
#define ORBLOOM_PROTO_CODEC_BODY_H

#include "proto/codec_field.h"

typedef enum status codec_put_fn(const struct frame *frame, struct codec_scratch *scratch,
                                 ProtobufCMessage **out);
typedef enum status codec_get_fn(const ProtobufCMessage *message, struct codec_arena *arena,
                                 struct frame *frame);
typedef enum status codec_read_fn(struct span body, struct codec_arena *arena, struct frame *frame);

/* Kinds that a table says all of. */
binding_table_fn binding_client_reply;
binding_table_fn binding_node_reply;
binding_table_fn binding_documents;
binding_table_fn binding_sync_request;
binding_table_fn binding_sync_reply;
binding_table_fn binding_hint;
binding_table_fn binding_fence_request;
binding_table_fn binding_fence_reply;
binding_table_fn binding_boot_request;
binding_table_fn binding_boot_reply;
binding_table_fn binding_admin_request;
binding_table_fn binding_admin_reply;
binding_table_fn binding_info_request;
binding_table_fn binding_info_reply;
binding_table_fn binding_stats_request;
binding_table_fn binding_stats_reply;
binding_table_fn binding_dump_request;
binding_table_fn binding_dump_reply;
binding_table_fn binding_load_request;
binding_table_fn binding_pull_request;
binding_table_fn binding_pull_reply;
binding_table_fn binding_site_tail_request;
binding_table_fn binding_site_tail_reply;
binding_table_fn binding_site_cursor_request;
binding_table_fn binding_site_cursor_reply;
binding_table_fn binding_site_age_request;
binding_table_fn binding_site_age_reply;
binding_table_fn binding_site_lag_request;
binding_table_fn binding_site_lag_reply;
binding_table_fn binding_error_reply;
binding_table_fn binding_site_hello;
binding_table_fn binding_site_open;
binding_table_fn binding_site_batch_message;
binding_table_fn binding_site_applied;
binding_table_fn binding_site_mark;
binding_table_fn binding_site_marked;
binding_table_fn binding_site_close;
binding_table_fn binding_site_filters;
binding_table_fn binding_site_confirm;
binding_table_fn binding_site_confirmed;
binding_table_fn binding_site_offer;
binding_table_fn binding_site_held;

/* Parts of several kinds; what WIRE_ is for: proto/binding.h. */
#define WIRE_filter_summary Orbloom__V1__FilterSummary
#define WIRE_replica_report Orbloom__V1__ReplicaReport
binding_table_fn binding_filter_summary;
binding_table_fn binding_replica_report;
#define WIRE_user_use           Orbloom__V1__CredentialUse
#define WIRE_user_change        Orbloom__V1__UserChange
#define WIRE_user_page          Orbloom__V1__UserPage
#define WIRE_record_site_cursor Orbloom__V1__SiteCursor
#define WIRE_record_site_source Orbloom__V1__SiteCursorSource
binding_table_fn binding_record_site_cursor;
binding_table_fn binding_record_site_source;
binding_table_fn binding_user_use;
binding_table_fn binding_user_change;
binding_table_fn binding_user_page;

#define WIRE_link_place    Orbloom__V1__LinkPlace
#define WIRE_site_set      Orbloom__V1__SiteSet
#define WIRE_site_filter   Orbloom__V1__SiteFilter
#define WIRE_site_evidence Orbloom__V1__SiteEvidence
binding_table_fn binding_link_place;
binding_table_fn binding_site_set;
binding_table_fn binding_site_filter;
binding_table_fn binding_site_evidence;

codec_put_fn codec_put_client_request;
codec_put_fn codec_put_node_request;

codec_get_fn codec_get_node_request;

codec_read_fn codec_read_client_request;

#endif
