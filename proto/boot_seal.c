/* Lays a start's question or answer out as numbers in order and signs these, so that no other
 * encoding of it has a MAC. */
#include "proto/boot_seal.h"

#include <assert.h>
#include <string.h>

/* A question can't pass for an answer: their lengths differ, as their first words do. */
enum { WORDS = 2 * BOOT_MAX_BEFORE + 9, TAG_REQUEST = 1, TAG_REPLY = 2 };

struct claim {
    uint8_t bytes[WORDS * 8];
    size_t size;
};

static void put(struct claim *self, uint64_t number)
{
    assert(self->size + 8 <= sizeof self->bytes);
    for (size_t i = 0; i < 8; i++) {
        self->bytes[self->size++] = (uint8_t)(number >> (8 * i));
    }
}

static struct span request_claim(const struct boot_request *request, struct claim *out)
{
    const struct boot_question *question = &request->question;

    out->size = 0;
    put(out, TAG_REQUEST);
    put(out, question->node);
    put(out, question->incarnation);
    put(out, question->boot);
    put(out, question->position);
    put(out, question->reached);
    put(out, request->confirm);
    put(out, question->nbefore);
    for (uint32_t i = 0; i < question->nbefore; i++) {
        put(out, question->before[i]);
        put(out, question->ends[i]);
    }
    return span_of(out->bytes, out->size);
}

static struct span reply_claim(const struct boot_reply *reply, struct claim *out)
{
    out->size = 0;
    put(out, TAG_REPLY);
    put(out, (uint64_t)reply->status);
    put(out, reply->node);
    put(out, reply->incarnation);
    put(out, reply->boot);
    put(out, reply->confirmed);
    put(out, reply->position);
    return span_of(out->bytes, out->size);
}

void boot_request_sign(const struct cluster_key *key, struct boot_request *request)
{
    struct claim claim;

    seal_mac(key, SEAL_BOOT, request_claim(request, &claim), request->mac);
}

void boot_reply_sign(const struct cluster_key *key, struct boot_reply *reply)
{
    struct claim claim;

    seal_mac(key, SEAL_BOOT, reply_claim(reply, &claim), reply->mac);
}

enum status boot_request_verify(const struct cluster_key *key, const struct boot_request *request)
{
    struct claim claim;

    return seal_mac_verify(key, SEAL_BOOT, request_claim(request, &claim),
                           span_of(request->mac, sizeof request->mac));
}

enum status boot_reply_verify(const struct cluster_key *key, const struct boot_reply *reply)
{
    struct claim claim;

    return seal_mac_verify(key, SEAL_BOOT, reply_claim(reply, &claim),
                           span_of(reply->mac, sizeof reply->mac));
}
