/* Which features a cluster uses, signed. */
#include "proto/codec_field.h"
#include "proto/codec_signed.h"

enum status codec_features_sign(const struct cluster_features *record,
                                const struct cluster_key *key, struct buffer *out)
{
    Orbloom__V1__ClusterFeatures wire = ORBLOOM__V1__CLUSTER_FEATURES__INIT;

    wire.revision = record->revision;
    wire.in_use = record->in_use;
    return codec_signed_append(&wire.base, DOCUMENT_FEATURES, key, out);
}

static enum status decode(struct codec_arena *arena, struct span content, void *out)
{
    struct cluster_features *record = out;
    const Orbloom__V1__ClusterFeatures *wire;
    ProtobufCMessage *message = NULL;
    enum status status = arena_unpack(arena, &orbloom__v1__cluster_features__descriptor,
                                      content.data, content.size, &message);

    if (status != STATUS_OK) {
        return status;
    }
    wire = (const Orbloom__V1__ClusterFeatures *)message;
    *record = (struct cluster_features){.revision = wire->revision, .in_use = wire->in_use};
    return wire->revision != 0 ? STATUS_OK : STATUS_MALFORMED;
}

enum status codec_features_open(struct span bytes, const struct cluster_key *key,
                                struct cluster_features *out)
{
    *out = (struct cluster_features){0};
    return codec_signed_open(bytes, DOCUMENT_FEATURES, key, decode, out);
}
