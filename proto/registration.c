#include "proto/registration.h"

enum { CLAIM_BYTES = 4 * (CODEC_MAX_TEXT_BYTES + 1) + 7 * 8 + 1 };

static size_t put_text(uint8_t *claim, size_t at, const char *text)
{
    size_t size = strlen(text) + 1; /* Texts hold no NUL, so the next one can't blend in. */

    memcpy(claim + at, text, size);
    return at + size;
}

static size_t put_number(uint8_t *claim, size_t at, uint64_t number)
{
    for (size_t i = 0; i < 8; i++) {
        claim[at + i] = (uint8_t)(number >> (8 * i));
    }
    return at + 8;
}

static struct span claim_of(const struct sync_request *request, uint8_t claim[CLAIM_BYTES])
{
    size_t size = put_text(claim, 0, request->name);

    size = put_text(claim, size, request->host);
    size = put_text(claim, size, request->zone);
    size = put_text(claim, size, request->endpoint);
    size = put_number(claim, size, request->incarnation);
    size = put_number(claim, size, request->memory_limit_bytes);
    size = put_number(claim, size, request->boot);
    size = put_number(claim, size, request->boot_before);
    size = put_number(claim, size, request->replaces.incarnation);
    size = put_number(claim, size, request->replaces.boot);
    size = put_number(claim, size, request->position);
    claim[size++] = request->durable;
    return span_of(claim, size);
}

void registration_sign(const struct cluster_key *key, struct sync_request *request)
{
    uint8_t claim[CLAIM_BYTES];

    seal_mac(key, SEAL_REGISTRATION, claim_of(request, claim), request->mac);
}

enum status registration_verify(const struct cluster_key *key, const struct sync_request *request)
{
    uint8_t claim[CLAIM_BYTES];

    return seal_mac_verify(key, SEAL_REGISTRATION, claim_of(request, claim),
                           span_of(request->mac, sizeof request->mac));
}
