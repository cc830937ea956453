/* Which cluster this is, signed. */
#include "proto/codec_field.h"
#include "proto/codec_signed.h"

enum status codec_cluster_sign(const struct cluster_id *id, const struct cluster_key *key,
                               struct buffer *out)
{
    Orbloom__V1__ClusterRecord wire = ORBLOOM__V1__CLUSTER_RECORD__INIT;

    if (!cluster_id_known(id)) {
        return STATUS_INVALID;
    }
    wire.id = codec_put_span(cluster_id_span(id));
    return codec_signed_append(&wire.base, DOCUMENT_CLUSTER, key, out);
}

static enum status decode(struct codec_arena *arena, struct span content, void *out)
{
    ProtobufCMessage *message = NULL;
    enum status status = arena_unpack(arena, &orbloom__v1__cluster_record__descriptor, content.data,
                                      content.size, &message);

    if (status == STATUS_OK &&
        !cluster_id_get(codec_get_span(((const Orbloom__V1__ClusterRecord *)message)->id), out)) {
        status = STATUS_MALFORMED;
    }
    return status;
}

enum status codec_cluster_open(struct span bytes, const struct cluster_key *key,
                               struct cluster_id *out)
{
    *out = (struct cluster_id){{0}};
    return codec_signed_open(bytes, DOCUMENT_CLUSTER, key, decode, out);
}
