/* codec_field.h - private to proto/: the kinds of fields that many messages share.
 *
 * put: from our structs to protobuf-c's, which borrow. get: the way back, validated, into the
 * arena; what a get returns is never NULL, not even for nothing.
 *
 * Errors:  put STATUS_NOMEM, STATUS_TOO_LARGE, STATUS_INVALID (a text that may not travel);
 *          get STATUS_MALFORMED, STATUS_TOO_LARGE.
 */
#ifndef ORBLOOM_PROTO_CODEC_FIELD_H
#define ORBLOOM_PROTO_CODEC_FIELD_H

#include "proto/arena.h"
#include "proto/codec.h"
#include "proto/codec_scratch.h"
#include "proto/orbloom.pb-c.h"

static inline size_t codec_plane_words(size_t count)
{
    return (count + 63) / 64;
}

/* Enums start at 1: 0 on the wire is a field left out. */
static inline bool codec_enum_known(int value, int last)
{
    return value >= 1 && value <= last;
}

static inline ProtobufCBinaryData codec_put_span(struct span bytes)
{
    return (ProtobufCBinaryData){.len = bytes.size, .data = (uint8_t *)bytes.data};
}

static inline struct span codec_get_span(ProtobufCBinaryData data)
{
    return span_of(data.len > 0 ? (const void *)data.data : "", data.len);
}

/* NULL reads as "". */
MUST_USE enum status codec_put_text(const char *text, ProtobufCBinaryData *out);

/* Never refused: an explanation is cleaned and cut rather than lost. */
MUST_USE enum status codec_put_message(struct codec_scratch *scratch, const char *text,
                                       ProtobufCBinaryData *out);

MUST_USE enum status codec_get_text(struct codec_arena *arena, ProtobufCBinaryData data,
                                    const char **out);

/* NULL and all-zero planes are left out. */
ProtobufCBinaryData codec_put_plane(const uint64_t *words, size_t count);

MUST_USE enum status codec_get_plane(struct codec_arena *arena, ProtobufCBinaryData data,
                                     size_t count, const uint64_t **out);

/* Signed documents, at most CODEC_MAX_DOCUMENTS of at most DOCUMENT_MAX_BYTES. */
MUST_USE enum status codec_put_documents(struct codec_scratch *scratch, const struct span *items,
                                         size_t count, ProtobufCBinaryData **out);
MUST_USE enum status codec_get_documents(struct codec_arena *arena,
                                         const ProtobufCBinaryData *items, size_t count,
                                         const struct span **out);

MUST_USE enum status codec_put_reports(struct codec_scratch *scratch,
                                       const struct replica_report *reports, size_t count,
                                       Orbloom__V1__ReplicaReport ***out);
MUST_USE enum status codec_get_reports(struct codec_arena *arena,
                                       Orbloom__V1__ReplicaReport *const *reports, size_t count,
                                       const struct replica_report **out);

/* What a node holds, and hands on; what a coordinator wants of it. */
MUST_USE enum status codec_put_held(const struct sync_request *request,
                                    struct codec_scratch *scratch, Orbloom__V1__SyncRequest *wire);
MUST_USE enum status codec_get_held(const Orbloom__V1__SyncRequest *wire, struct codec_arena *arena,
                                    struct sync_request *request);
MUST_USE enum status codec_get_wanted(const Orbloom__V1__SyncReply *wire, struct codec_arena *arena,
                                      const uint64_t **out);

/* What map backup and map restore say: proto/codec_map.c. */
MUST_USE enum status codec_put_map(const struct map_parameters *map, struct codec_scratch *scratch,
                                   Orbloom__V1__MapParameters **out);
MUST_USE enum status codec_get_map(struct codec_arena *arena,
                                   const Orbloom__V1__MapParameters *wire,
                                   struct map_parameters *map);
MUST_USE enum status codec_put_map_page(const struct map_page *page, struct codec_scratch *scratch,
                                        Orbloom__V1__MapPage **out);
MUST_USE enum status codec_get_map_page(struct codec_arena *arena, const Orbloom__V1__MapPage *wire,
                                        struct map_page *page);

/* Which processes know which features: proto/codec_upgrade.c. */
MUST_USE enum status codec_put_upgrade(const struct upgrade_page *page,
                                       struct codec_scratch *scratch,
                                       Orbloom__V1__UpgradePage **out);
MUST_USE enum status codec_get_upgrade(struct codec_arena *arena,
                                       const Orbloom__V1__UpgradePage *wire,
                                       struct upgrade_page *page);

MUST_USE enum status codec_put_filter_summary(struct codec_scratch *scratch,
                                              const struct filter_summary *summary,
                                              Orbloom__V1__FilterSummary *out);
/* The steps of making a filter of a dump: proto/codec_load.c. */
MUST_USE enum status codec_put_load(struct codec_scratch *scratch,
                                    const struct load_parameters *load,
                                    Orbloom__V1__LoadParameters **out);
MUST_USE enum status codec_get_load(const Orbloom__V1__LoadParameters *wire,
                                    struct load_parameters *load);

MUST_USE enum status codec_put_rebuild(struct codec_scratch *scratch,
                                       const struct rebuild_parameters *rebuild,
                                       Orbloom__V1__RebuildParameters **out);
MUST_USE enum status codec_get_rebuild(const Orbloom__V1__RebuildParameters *wire,
                                       struct rebuild_parameters *rebuild);
MUST_USE enum status codec_put_expiry(struct codec_scratch *scratch, const struct expiry_wish *wish,
                                      Orbloom__V1__ExpireParameters **out);
MUST_USE enum status codec_get_expiry(const Orbloom__V1__ExpireParameters *wire,
                                      struct expiry_wish *wish);
MUST_USE enum status codec_put_seen(struct codec_scratch *scratch, const struct admin_seen *seen,
                                    Orbloom__V1__Seen **out);
void codec_get_seen(const Orbloom__V1__Seen *wire, struct admin_seen *seen);
MUST_USE enum status codec_put_rename(struct codec_scratch *scratch,
                                      const struct rename_parameters *rename,
                                      Orbloom__V1__RenameParameters **out);
MUST_USE enum status codec_get_rename(struct codec_arena *arena,
                                      const Orbloom__V1__RenameParameters *wire,
                                      struct rename_parameters *rename);
MUST_USE enum status codec_put_loss(struct codec_scratch *scratch,
                                    const struct loss_parameters *loss,
                                    Orbloom__V1__LossParameters **out);
MUST_USE enum status codec_get_loss(const Orbloom__V1__LossParameters *wire,
                                    struct loss_parameters *loss);

/* Lives that are vouched for: STATUS_MALFORMED where there are too many, or of no node. */
MUST_USE enum status codec_put_lives(struct codec_scratch *scratch,
                                     const struct vouched_life *lives, size_t n,
                                     Orbloom__V1__VouchedLife ***out);
MUST_USE enum status codec_get_lives(struct codec_arena *arena,
                                     Orbloom__V1__VouchedLife *const *wire, size_t n,
                                     const struct vouched_life **out);

MUST_USE enum status codec_put_intervals(struct codec_scratch *scratch,
                                         const struct pull_interval *intervals, size_t count,
                                         Orbloom__V1__PullInterval ***out);

/* Numbers that run over the end of their range belong to no router: STATUS_MALFORMED. */
MUST_USE enum status codec_get_intervals(struct codec_arena *arena,
                                         Orbloom__V1__PullInterval *const *wire, size_t count,
                                         const struct pull_interval **out);

/* Losses that were accepted, in the content of an epoch. */
MUST_USE enum status codec_put_losses(const struct epoch_content *content,
                                      struct codec_scratch *scratch,
                                      Orbloom__V1__EpochContent *wire);
MUST_USE enum status codec_get_losses(const Orbloom__V1__EpochContent *wire,
                                      struct epoch_content *content);

MUST_USE enum status codec_get_filter_summary(struct codec_arena *arena,
                                              const Orbloom__V1__FilterSummary *wire,
                                              struct filter_summary *out);

#endif
