/* proto_samples.h - a frame of every kind, every field set, for the tests of proto/.
 *
 * sample_frame(kind, size): SAMPLE_EMPTY has nothing repeated and zeros, SAMPLE_FULL a value of
 * its own in every field, SAMPLE_LARGE the most that limits allow where that is cheap.
 * The frame borrows static memory; the next sample of that kind uses it again.
 *
 * proto_rows.h makes them; here is what rows BY_HAND need, and what fields of one message must
 * have in common.
 */
#ifndef ORBLOOM_TESTS_UNIT_PROTO_SAMPLES_H
#define ORBLOOM_TESTS_UNIT_PROTO_SAMPLES_H

#include "tests/unit/proto_pull_samples.h"
#include "tests/unit/proto_rows.h"
#include "tests/unit/proto_site_tail_samples.h"

enum { SAMPLE_NKINDS = FRAME_ERROR + 1, SAMPLE_ARENA_BYTES = 64 << 20 };

/* ---- by hand ---- */

static inline void sample_client_request(enum sample_size size, struct client_request *out)
{
    static uint8_t keys[CODEC_MAX_KEYS * 60];
    static uint32_t lengths[CODEC_MAX_KEYS];
    size_t count = sample_count(size, 5, CODEC_MAX_KEYS);
    uint64_t seed = 1;
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        lengths[i] = (uint32_t)(sample_random(&seed) % 61);
        used += lengths[i];
    }
    if (size == SAMPLE_FULL) { /* an empty key and a longest one */
        lengths[1] = 0;
        lengths[3] = CODEC_MAX_KEY_BYTES;
        used = lengths[0] + lengths[2] + lengths[3] + lengths[4];
    }
    for (size_t i = 0; i < used; i++) {
        keys[i] = (uint8_t)sample_random(&seed);
    }
    *out = (struct client_request){
        .filter = size == SAMPLE_EMPTY ? "" : sample_name,
        .operation = OPERATION_CHECK,
        .keys = span_of(keys, used),
        .lengths = lengths,
        .count = count,
    };
    if (size != SAMPLE_EMPTY) {
        out->filter_id = UINT64_MAX;
        out->operation = size == SAMPLE_FULL ? OPERATION_FEED : OPERATION_ADD;
        out->op = (struct op_id){{0x0123456789abcdef, 0xfedcba9876543210}, UINT64_MAX};
        out->attempt = UINT32_MAX;
        out->timeout_ms = 5000;
        out->slots = 0x7f;
        out->keyset = UINT32_MAX;
        out->max_staleness = UINT64_MAX;
        out->acks = UINT32_MAX;
    }
}

static inline void sample_node_request(enum sample_size size, struct node_request *out)
{
    static struct subrequest subrequests[CODEC_MAX_SUBREQUESTS];
    static uint64_t fingerprints[CODEC_MAX_KEYS];
    size_t n = sample_count(size, 3, CODEC_MAX_SUBREQUESTS);
    uint32_t each = size == SAMPLE_LARGE ? CODEC_MAX_KEYS / CODEC_MAX_SUBREQUESTS : 4;
    uint64_t seed = 4;

    for (size_t i = 0; i < n; i++) {
        uint64_t x = i * 100;

        subrequests[i] = (struct subrequest){
            .tag = x,
            .filter_id = x + 1,
            .epoch = x + 2,
            .epoch_hash = sample_random(&seed),
            .group = (uint32_t)x + 3,
            .operation = i % 2 == 0 ? OPERATION_ADD : OPERATION_CHECK,
            .op = {{x + 4, x + 5}, x + 6},
            .attempt = (uint32_t)x + 7,
            .batch = {x + 8, x + 9},
            .count = each,
            .keyset = (uint32_t)x + 11,
            .user = (uint32_t)x + 12,
            .relayed = i % 4 == 2,
        };
    }
    for (size_t i = 0; i < n * each; i++) {
        fingerprints[i] = sample_random(&seed);
    }
    *out = (struct node_request){subrequests, n, fingerprints, n * each};
}

static inline void sample_node_reply(enum sample_size size, struct node_reply *out)
{
    static struct subrequest_reply subrequests[CODEC_MAX_SUBREQUESTS];
    static uint64_t planes[CODEC_MAX_SUBREQUESTS][2][2];
    size_t n = sample_count(size, 4, CODEC_MAX_SUBREQUESTS);

    for (size_t i = 0; i < n; i++) {
        enum status status = i % 4 == 3 ? STATUS_STALE : STATUS_OK;
        uint32_t count = status != STATUS_OK ? 0 : size == SAMPLE_LARGE ? 16 : 65 + (uint32_t)i;

        sample_plane(planes[i][0], count, i);
        sample_plane(planes[i][1], count, i + 1);
        subrequests[i] = (struct subrequest_reply){
            .tag = i + 1,
            .status = status,
            .epoch = i + 2,
            .epoch_hash = i + 3,
            .state = (enum replica_state)(i % 4),
            .repeated = i % 2 == 1,
            .at_capacity = i % 3 == 1,
            .makes_room = i % 6 == 1,
            .count = count,
            .present = planes[i][0],
            .absent = planes[i][1],
            .boot = i % 4 == 2 ? UINT64_MAX - i : 0,
            .position = i % 4 == 2 ? i << 40 : 0,
        };
    }
    out->subrequests = subrequests;
    out->nsubrequests = n;
}

static inline void sample_boot_before(enum sample_size size, struct boot_question *out)
{
    out->nbefore = (uint32_t)sample_count(size, 2, BOOT_MAX_BEFORE);
    for (uint32_t i = 0; i < out->nbefore; i++) {
        out->before[i] = 166 + i;
        out->ends[i] = 168 + i;
    }
}

static inline void sample_filter_by_hand(size_t i, struct filter_summary *out)
{
    out->nchain = (uint32_t)(i % 3 == 2 ? i % 2 + 1 : 0);
    out->rebuild_keyset = i % 2 == 0 ? (uint32_t)i + 97 : 0;
    out->fed_keys = i % 2 == 0 ? i + 98 : 0;
    out->rebuild_keys = i % 2 == 0 ? i + 99 : 0;
    out->loss_epoch = i % 2;
    out->loss_shards[0] = i % 2 != 0 ? 0x81 : 0;
    out->loss_shards[2] = i % 2 != 0;
    out->nshards = (uint32_t)i + 86;
}

/* ---- what fields have in common ---- */

/* The page has all that is told: what is first in order is the smallest. */
static inline void sample_pages(struct sync_request *out)
{
    out->page.to.filter_id = UINT64_MAX;
    out->held_to = UINT64_MAX - 2;
}

/* The sample's action; its parts are filled whatever it is. */
static inline void sample_action(enum admin_action action, struct admin_request *out)
{
    static const char *const off[] = {"node-1", "node-2"};

    out->action = action;
    out->map.confirmed_off = off;
    out->map.nconfirmed_off = sizeof off / sizeof off[0];
    if (out->load.step != LOAD_BEGIN) {
        out->load.secret = span_text("");
    }
}

static inline void sample_by_hand(enum sample_size size, struct frame *out)
{
    switch (out->kind) {
    case FRAME_CLIENT_REQUEST:
        sample_client_request(size, &out->body.client_request);
        break;
    case FRAME_NODE_REQUEST:
        sample_node_request(size, &out->body.node_request);
        break;
    case FRAME_NODE_REPLY:
        sample_node_reply(size, &out->body.node_reply);
        break;
    case FRAME_SYNC_REQUEST:
        if (size != SAMPLE_EMPTY) {
            sample_pages(&out->body.sync_request);
        }
        break;
    case FRAME_BOOT_REQUEST:
        sample_boot_before(size, &out->body.boot_request.question);
        break;
    case FRAME_ADMIN_REQUEST:
        sample_action(size == SAMPLE_LARGE ? ADMIN_EXPAND : ADMIN_CREATE, &out->body.admin_request);
        break;
    case FRAME_ADMIN_REPLY:
        for (size_t i = 0; i < out->body.admin_reply.nfilters; i++) {
            sample_filter_by_hand(
                i, (struct filter_summary *)(uintptr_t)&out->body.admin_reply.filters[i]);
        }
        break;
    case FRAME_INFO_REPLY:
        out->body.info_reply.has_filter = size != SAMPLE_EMPTY;
        if (size != SAMPLE_EMPTY) {
            sample_filter_by_hand(7, &out->body.info_reply.filter);
        }
        break;
    case FRAME_PULL_REQUEST:
        sample_pull_request(size, &out->body.pull_request);
        break;
    case FRAME_PULL_REPLY:
        sample_pull_reply(size, &out->body.pull_reply);
        break;
    case FRAME_SITE_TAIL_REQUEST:
        sample_site_tail_request(size, &out->body.site_tail_request);
        break;
    case FRAME_SITE_TAIL_REPLY:
        sample_site_tail_reply(size, &out->body.site_tail_reply);
        break;
    case FRAME_NONE:
    case FRAME_CLIENT_REPLY:
    case FRAME_DOCUMENTS:
    case FRAME_SYNC_REPLY:
    case FRAME_HINT:
    case FRAME_FENCE_REQUEST:
    case FRAME_FENCE_REPLY:
    case FRAME_BOOT_REPLY:
    case FRAME_INFO_REQUEST:
    case FRAME_STATS_REQUEST:
    case FRAME_STATS_REPLY:
    case FRAME_DUMP_REQUEST:
    case FRAME_DUMP_REPLY:
    case FRAME_LOAD_REQUEST:
    case FRAME_SITE_HELLO:
    case FRAME_SITE_OPEN:
    case FRAME_SITE_BATCH:
    case FRAME_SITE_APPLIED:
    case FRAME_SITE_MARK:
    case FRAME_SITE_MARKED:
    case FRAME_SITE_CLOSE:
    case FRAME_SITE_FILTERS:
    case FRAME_SITE_CONFIRM:
    case FRAME_SITE_CONFIRMED:
    case FRAME_SITE_OFFER:
    case FRAME_SITE_HELD:
    case FRAME_SITE_CURSOR_REQUEST:
    case FRAME_SITE_CURSOR_REPLY:
    case FRAME_SITE_AGE_REQUEST:
    case FRAME_SITE_AGE_REPLY:
    case FRAME_SITE_LAG_REQUEST:
    case FRAME_SITE_LAG_REPLY:
    case FRAME_ERROR:
        break;
    }
}

/* A kind's own, which lives on. */
static inline struct rows_filler sample_filler(enum frame_kind kind, enum sample_size size)
{
    static uint8_t *pools[SAMPLE_NKINDS];

    if (pools[kind] == NULL) {
        pools[kind] = malloc(ROWS_POOL_BYTES);
    }
    if (pools[kind] == NULL) {
        abort();
    }
    return (struct rows_filler){.size = size, .last = 100, .pool = pools[kind]};
}

static inline void sample_frame(enum frame_kind kind, enum sample_size size, struct frame *out)
{
    const struct binding_table *table = rows_table(kind);

    memset(out, 0, sizeof *out);
    out->version = CODEC_VERSION;
    out->correlation = size == SAMPLE_EMPTY ? 0 : 0xc0ffee0000000000u + (uint64_t)kind;
    out->kind = kind;
    if (table != NULL) {
        struct rows_filler filler = sample_filler(kind, size);

        rows_fill(&filler, table, &out->body);
    }
    sample_by_hand(size, out);
}

#endif
