/* What a node's claim covers, laid out in order, and the chain of MACs over all that it reports
 * and holds. */
#include "proto/registration.h"

#include <assert.h>

enum {
    CLAIM_BYTES = 5 * (CODEC_MAX_TEXT_BYTES + 1) + 20 * 8 + CLUSTER_ID_BYTES + 3 + SEAL_MAC_BYTES,
    REPORT_BYTES = 19 * 8,
    HELD_BYTES = 4 * 8,
    CHUNK_REPORTS = 32,
};

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

/* Whose report it is the claim says. */
static size_t put_report(uint8_t *out, size_t at, const struct replica_report *report)
{
    uint64_t progress;

    _Static_assert(sizeof progress == sizeof report->progress, "a double has 8 bytes");
    memcpy(&progress, &report->progress, sizeof progress);
    at = put_number(out, at, report->filter_id);
    at = put_number(out, at, report->group);
    at = put_number(out, at, report->fence);
    at = put_number(out, at, (uint64_t)report->state);
    at = put_number(out, at, report->bytes);
    at = put_number(out, at, report->keys);
    at = put_number(out, at, report->bits_set);
    at = put_number(out, at, report->bits_seen);
    at = put_number(out, at, progress);
    at = put_number(out, at, (uint64_t)report->phase);
    at = put_number(out, at, report->complete);
    at = put_number(out, at, report->disk_bytes);
    at = put_number(out, at, report->generation);
    at = put_number(out, at, report->shards_grown);
    at = put_number(out, at, report->overflow_keys);
    at = put_number(out, at, report->keys_next);
    at = put_number(out, at, report->keys_kept);
    if (report->probes > 0) { /* As before of one that tells of none. */
        at = put_number(out, at, report->probes);
        at = put_number(out, at, report->probe_hits);
    }
    return at;
}

static size_t put_held(uint8_t *out, size_t at, const struct held_document *held)
{
    at = put_number(out, at, held->filter_id);
    at = put_number(out, at, held->revision);
    at = put_number(out, at, held->fence);
    return put_number(out, at, held->hash);
}

/* The chain goes on over the documents held; without any it is as it was. */
static void mac_held(const struct seal_key *key, const struct sync_request *request,
                     uint8_t mac[SEAL_MAC_BYTES])
{
    uint8_t chunk[SEAL_MAC_BYTES + CHUNK_REPORTS * HELD_BYTES];

    for (size_t i = 0; i < request->nheld;) {
        size_t size = SEAL_MAC_BYTES;

        memcpy(chunk, mac, SEAL_MAC_BYTES);
        for (size_t n = 0; n < CHUNK_REPORTS && i < request->nheld; n++, i++) {
            size = put_held(chunk, size, &request->held[i]);
        }
        seal_mac_by(key, SEAL_REPORTS, span_of(chunk, size), mac);
    }
}

/* A chain of MACs, each over the one before and some reports more: no memory for all of them. */
static void mac_reports(const struct seal_key *key, const struct sync_request *request,
                        uint8_t mac[SEAL_MAC_BYTES])
{
    uint8_t chunk[SEAL_MAC_BYTES + CHUNK_REPORTS * REPORT_BYTES];

    memset(mac, 0, SEAL_MAC_BYTES);
    for (size_t i = 0; i < request->nreplicas;) {
        size_t size = SEAL_MAC_BYTES;

        memcpy(chunk, mac, SEAL_MAC_BYTES);
        for (size_t n = 0; n < CHUNK_REPORTS && i < request->nreplicas; n++, i++) {
            size = put_report(chunk, size, &request->replicas[i]);
        }
        seal_mac_by(key, SEAL_REPORTS, span_of(chunk, size), mac);
    }
}

static size_t put_identity(uint8_t *claim, const struct sync_request *request)
{
    size_t size = put_text(claim, 0, request->name);

    size = put_text(claim, size, request->host);
    size = put_text(claim, size, request->zone);
    size = put_text(claim, size, request->endpoint);
    size = put_number(claim, size, request->incarnation);
    size = put_number(claim, size, request->boot);
    size = put_number(claim, size, request->boot_before);
    size = put_number(claim, size, request->replaces.incarnation);
    return put_number(claim, size, request->replaces.boot);
}

static struct span claim_of(const struct seal_key *key, const struct sync_request *request,
                            uint8_t claim[CLAIM_BYTES])
{
    size_t size = put_identity(claim, request);

    size = put_number(claim, size, request->number);
    size = put_number(claim, size, request->memory_limit_bytes);
    size = put_number(claim, size, request->memory_used_bytes);
    size = put_number(claim, size, request->disk_used_bytes);
    size = put_number(claim, size, request->position);
    size = put_number(claim, size, request->page.from.filter_id);
    size = put_number(claim, size, request->page.from.group);
    size = put_number(claim, size, request->page.to.filter_id);
    size = put_number(claim, size, request->page.to.group);
    size = put_number(claim, size, request->nreplicas);
    size = put_number(claim, size, request->nheld);
    size = put_number(claim, size, request->held_count);
    size = put_number(claim, size, request->held_after);
    size = put_number(claim, size, request->held_to);
    size = put_number(claim, size, request->features);
    memcpy(claim + size, request->cluster.bytes, CLUSTER_ID_BYTES);
    size += CLUSTER_ID_BYTES;
    claim[size++] = request->durable;
    if (request->curve) { /* Of a plain node as it was before there was another one. */
        claim[size++] = 1;
    }
    if (request->site != NULL && request->site[0] != '\0') { /* As before of one that says none. */
        claim[size++] = 2;
        size = put_text(claim, size, request->site);
    }
    assert(size + SEAL_MAC_BYTES <= CLAIM_BYTES); /* A new field takes room there, too. */
    mac_reports(key, request, claim + size);
    mac_held(key, request, claim + size);
    return span_of(claim, size + SEAL_MAC_BYTES);
}

void registration_sign(const struct cluster_key *key, struct sync_request *request)
{
    const struct seal_key *first = &key->keys[0];
    uint8_t claim[CLAIM_BYTES];

    seal_mac_by(first, SEAL_REGISTRATION, claim_of(first, request, claim), request->mac);
}

enum status registration_verify(const struct cluster_key *key, const struct sync_request *request)
{
    uint8_t claim[CLAIM_BYTES];

    for (uint32_t i = 0; i < key->count; i++) {
        const struct seal_key *one = &key->keys[i];

        if (seal_mac_matches(one, SEAL_REGISTRATION, claim_of(one, request, claim),
                             span_of(request->mac, sizeof request->mac))) {
            return STATUS_OK;
        }
    }
    return STATUS_UNAUTHENTIC;
}
