/* proto_samples.h - a frame of every kind, every field set, for the tests of proto/.
 *
 * sample_frame(kind, size): SAMPLE_EMPTY has nothing repeated and zeros, SAMPLE_FULL a value of
 * its own in every field, SAMPLE_LARGE the most that limits allow where that is cheap.
 * The frame borrows static memory; the next sample of that kind uses it again.
 */
#ifndef ORBLOOM_TESTS_UNIT_PROTO_SAMPLES_H
#define ORBLOOM_TESTS_UNIT_PROTO_SAMPLES_H

#include "tests/unit/proto_pull_samples.h"

enum { SAMPLE_NKINDS = FRAME_ERROR + 1, SAMPLE_ARENA_BYTES = 64 << 20 };

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
    }
}

static inline void sample_client_reply(enum sample_size size, struct client_reply *out)
{
    static uint64_t present[CODEC_MAX_KEYS / 64];
    static uint64_t absent[CODEC_MAX_KEYS / 64];
    size_t count = sample_count(size, 77, CODEC_MAX_KEYS);

    sample_plane(present, count, 2);
    sample_plane(absent, count, 3);
    *out = (struct client_reply){
        .message = "", .count = count, .present = present, .absent = absent};
    if (size != SAMPLE_EMPTY) {
        out->op = (struct op_id){{11, 12}, 13};
        out->attempt = 14;
        out->status = STATUS_UNAVAILABLE;
        out->message = "too few; retry";
        out->filter_id = 15;
        out->epoch = 16;
        out->copies = 17;
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
        };
    }
    for (size_t i = 0; i < n * each; i++) {
        fingerprints[i] = sample_random(&seed);
    }
    *out = (struct node_request){subrequests, n, fingerprints, n * each};
}

static inline void sample_node_reply(enum sample_size size, struct node_reply *out)
{
    static const struct span documents[] = {{(const uint8_t *)"first\0", 6}, {NULL, 0}};
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
        };
    }
    *out = (struct node_reply){
        .subrequests = subrequests, .nsubrequests = n, .documents = documents};
    if (size != SAMPLE_EMPTY) {
        out->node_id = 21;
        out->incarnation = 22;
        out->ndocuments = 2;
    }
}

static inline void sample_documents(enum sample_size size, struct documents *out)
{
    static struct span items[CODEC_MAX_DOCUMENTS];
    static uint8_t bytes[DOCUMENT_MAX_BYTES];
    size_t n = sample_count(size, 3, CODEC_MAX_DOCUMENTS);

    for (size_t i = 0; i < n; i++) {
        items[i] = span_of(bytes, size == SAMPLE_FULL && i == 1 ? sizeof bytes : i % 50);
    }
    *out = (struct documents){items, n};
}

static inline void sample_reports(enum sample_size size, const struct replica_report **out,
                                  size_t *count)
{
    static struct replica_report reports[20000];

    *count = sample_count(size, 4, sizeof reports / sizeof reports[0]);
    for (size_t i = 0; i < *count; i++) {
        reports[i] = (struct replica_report){
            .filter_id = i + 31,
            .group = (uint32_t)i + 32,
            .node_id = (uint32_t)i + 33,
            .incarnation = i + 34,
            .fence = i + 35,
            .state = (enum replica_state)(i % 4),
            .bytes = i + 36,
            .keys = i + 37,
            .bits_set = i + 38,
            .bits_seen = i + 39,
            .progress = i % 3 == 0 ? 0 : 1.0 / (double)i,
            .phase = (enum replica_phase)(i % 4),
            .complete = i + 40,
            .disk_bytes = i + 41,
            .generation = (uint32_t)i + 42,
            .shards_grown = (uint32_t)i + 43,
            .overflow_keys = i + 44,
            .keys_next = i + 45,
            .keys_kept = i + 46,
        };
    }
    *out = reports;
}

static inline void sample_sync_request(enum sample_size size, struct sync_request *out)
{
    *out = (struct sync_request){
        .role = SYNC_ROUTER, .name = "", .endpoint = "", .host = "", .zone = ""};
    sample_reports(size, &out->replicas, &out->nreplicas);
    if (size != SAMPLE_EMPTY) {
        out->role = SYNC_NODE;
        out->name = "node-1";
        out->endpoint = "tcp://127.0.0.1:7410";
        out->host = "machine";
        out->zone = "east";
        out->incarnation = 41;
        out->memory_limit_bytes = 42;
        out->memory_used_bytes = 43;
        out->page = (struct report_page){.from = {30, 7}, .to = {30000, 8}};
        out->since = 44;
        out->boot = 45;
        out->boot_before = 46;
        out->replaces = (struct boot_life){48, 49};
        out->number = 50;
        out->position = 47;
        out->durable = true;
        out->disk_used_bytes = 47;
        out->cluster = (struct cluster_id){{51, [15] = 52}};
        out->features = 54;
    }
}

static inline void sample_sync_reply(enum sample_size size, struct sync_reply *out)
{
    static uint8_t boxes[1000][SEAL_SECRET_BYTES];
    static struct sealed_secret secrets[1000];
    struct documents documents;
    uint64_t seed = 5;

    sample_documents(size, &documents);
    *out = (struct sync_reply){.message = "",
                               .documents = documents.items,
                               .ndocuments = documents.count,
                               .secrets = secrets,
                               .nsecrets = sample_count(size, 2, 1000)};
    for (size_t i = 0; i < out->nsecrets; i++) {
        boxes[i][0] = (uint8_t)sample_random(&seed);
        secrets[i] = (struct sealed_secret){i + 51, span_of(boxes[i], SEAL_SECRET_BYTES)};
    }
    if (size != SAMPLE_EMPTY) {
        out->status = STATUS_CONFLICT;
        out->message = "why";
        out->change = 52;
        out->more = true;
        out->node_id = 53;
        out->cluster = span_text("signed");
    }
}

static inline void sample_fence(enum sample_size size, struct frame *out)
{
    static const uint8_t bytes[DOCUMENT_MAX_BYTES] = {1, 2, 3};

    if (out->kind == FRAME_FENCE_REQUEST) {
        out->body.fence_request = (struct fence_request){0};
        if (size != SAMPLE_EMPTY) {
            out->body.fence_request = (struct fence_request){
                61, 62, 63, span_of(bytes, sample_count(size, 3, sizeof bytes)), 54};
        }
    } else {
        out->body.fence_reply = (struct fence_reply){0};
        if (size != SAMPLE_EMPTY) {
            out->body.fence_reply = (struct fence_reply){
                STATUS_NEED_DOC, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74};
        }
    }
}

static inline void sample_boot(enum sample_size size, struct frame *out)
{
    static const uint8_t bytes[DOCUMENT_MAX_BYTES] = {1, 2, 3};

    if (out->kind == FRAME_BOOT_REQUEST) {
        struct boot_request *request = &out->body.boot_request;

        *request = (struct boot_request){.nodes = span_of(bytes, 0)};
        if (size != SAMPLE_EMPTY) {
            request->question = (struct boot_question){
                .node = 161, .incarnation = 162, .boot = 163, .position = 164, .reached = 165};
            request->question.nbefore = (uint32_t)sample_count(size, 2, BOOT_MAX_BEFORE);
            for (uint32_t i = 0; i < request->question.nbefore; i++) {
                request->question.before[i] = 166 + i;
                request->question.ends[i] = 168 + i;
            }
            request->confirm = true;
            request->nodes = span_of(bytes, sample_count(size, 3, sizeof bytes));
            memset(request->mac, 7, sizeof request->mac);
        }
    } else {
        out->body.boot_reply = (struct boot_reply){0};
        if (size != SAMPLE_EMPTY) {
            out->body.boot_reply = (struct boot_reply){STATUS_STALE, 171, 172,      173,
                                                       true,         174, {1, 2, 3}};
        }
    }
}

static const struct admin_seen sample_seen = {301, 302, 303, 304, 305, 306, 307, 308, 309, 310};

static inline void sample_admin_request(enum sample_size size, struct admin_request *out)
{
    static const struct vouched_life off[] = {{{UINT32_MAX, UINT64_MAX}, false}, {{1, 2}, true}};

    *out = (struct admin_request){.action = ADMIN_STATUS, .name = "", .successor = ""};
    if (size != SAMPLE_EMPTY) {
        *out = (struct admin_request){
            .action = size == SAMPLE_FULL ? ADMIN_CREATE : ADMIN_EXPAND,
            .timeout_ms = 71,
            .confirmed_off = size != SAMPLE_FULL ? off : NULL,
            .nconfirmed_off = size != SAMPLE_FULL ? 2 : 0,
            .filter_id = size != SAMPLE_FULL ? 72 : 0,
            .name = "seen-urls",
            .successor = size != SAMPLE_FULL ? "node-4" : "",
            .undo = size != SAMPLE_FULL,
            .dry_run = size != SAMPLE_FULL,
            .seen = sample_seen,
        };
    }
    if (out->action == ADMIN_EXPAND) {
        out->expand = (struct expand_parameters){.capacity = 74, .rate = 0.002, .abort = true};
    }
    if (size == SAMPLE_FULL) {
        out->create = (struct create_parameters){
            .capacity = 72,
            .rate = 0.001,
            .max_capacity = 73,
            .rule = {5, 4, 3},
            .hash = HASH_XXH3,
            .when_unavailable = WHEN_UNAVAILABLE_MAYBE,
            .when_full = WHEN_FULL_EXPAND,
            .keylog = KEYLOG_OFF,
            .durability = DURABILITY_SYNC,
            .window_us = 75,
            .nslices = 76,
        };
    }
}

static inline void sample_filter_summary(size_t i, struct filter_summary *out)
{
    static const uint32_t turns[DOCUMENT_MAX_TURNS] = {3, 4, 5};

    *out = (struct filter_summary){
        .id = i + 81,
        .name = sample_name,
        .state = FILTER_DROPPED,
        .revision = i + 82,
        .epoch = i + 83,
        .capacity = i + 84,
        .max_capacity = i + 85,
        .rate = 0.01 + (double)i,
        .rule = {3, 2, 1},
        .hash = HASH_SIPHASH24,
        .when_unavailable = WHEN_UNAVAILABLE_ERROR,
        .when_full = WHEN_FULL_REFUSE,
        .keylog = KEYLOG_ON,
        .durability = DURABILITY_MEMORY,
        .nshards = (uint32_t)i + 86,
        .ngroups = (uint32_t)i + 87,
        .shard_bytes = i + 88,
        .lines = i + 89,
        .z = 2,
        .generations = {{1, i + 90, 0.01, i + 91, 1}, {7, i + 92, 0.001, i + 93, 2}},
        .ngenerations = (uint32_t)(i % 3),
        .nchain = (uint32_t)(i % 3 == 2 ? i % 2 + 1 : 0),
        .turns = turns,
        .nturns = i == 0 ? DOCUMENT_MAX_TURNS : i % 4,
        .growth_held = i % 2 == 0,
        .keyset = (uint32_t)i + 96,
        .rebuild_keyset = i % 2 == 0 ? (uint32_t)i + 97 : 0,
        .fed_keys = i % 2 == 0 ? i + 98 : 0,
        .rebuild_keys = i % 2 == 0 ? i + 99 : 0,
        .rebuild_awaited = i % 2 == 0 ? "" : "node-3 to confirm",
        .shards_lacking = (uint32_t)i,
        .fewest_full = 2,
        .loss_epoch = i % 2,
        .loss_shards = {i % 2 != 0 ? 0x81 : 0, 0, i % 2 != 0 ? 1 : 0},
        .lacking = i % 2 == 0 ? "" : "node-3 is silent",
        .lacking_remedy = i % 2 == 0 ? "" : "start node-3",
        .shards_grown = i + 94,
        .shards_growing = i + 95,
        .growth_awaited = i % 3 == 0 ? "" : "node-1 builds",
        .growth_refused = i % 3 != 1 ? "" : "node-2 lacks 1 GiB",
        .window_us = i + 100,
        .nslices = (uint32_t)i + 101,
        .newest_slice = i + 102,
        .window_awaited = i % 2 == 0 ? "" : "another slice begins in 1h",
        .expiry = i % 2 == 0 ? 0 : i + 103,
        .expires_left_us = i + 104,
        .expires_at_ms = i + 105,
        .expiry_awaited = i % 2 == 0 ? "" : "dropped in 1h",
        .load_source = i + 103,
        .uid = {i + 105, i + 106},
        .loaded = i + 104,
    };
}

static inline void sample_admin_reply(enum sample_size size, struct admin_reply *out)
{
    static struct filter_summary filters[2000];
    static struct node_summary nodes[1024];
    static struct change_summary changes[2000];

    *out = (struct admin_reply){
        .message = "", .filters = filters, .nodes = nodes, .changes = changes};
    out->nfilters = sample_count(size, 2, 2000);
    out->nnodes = sample_count(size, 2, 1024);
    out->nchanges = sample_count(size, 3, 2000);
    sample_reports(size, &out->replicas, &out->nreplicas);
    for (size_t i = 0; i < out->nfilters; i++) {
        sample_filter_summary(i, &filters[i]);
    }
    for (size_t i = 0; i < out->nnodes; i++) {
        uint32_t x = (uint32_t)i;

        nodes[i] = (struct node_summary){x + 91, "n",    "h",      "z",     "e",    x + 92, true,
                                         x + 93, x + 94, x + 95,   x + 96,  x + 97, x + 98, x + 99,
                                         true,   true,   "node-4", x + 100, "room"};
    }
    for (size_t i = 0; i < out->nchanges; i++) {
        changes[i] = (struct change_summary){i + 101, (enum change_step)(i % 3 + 1),
                                             (uint32_t)i + 102, i == 0 ? "" : "2 fences"};
    }
    if (size != SAMPLE_EMPTY) {
        out->status = STATUS_EXISTS;
        out->message = "it is there";
        out->created = true;
        out->moved = true;
        out->seen = sample_seen;
    }
}

static inline void sample_info_reply(enum sample_size size, struct info_reply *out)
{
    *out = (struct info_reply){.message = ""};
    sample_reports(size, &out->replicas, &out->nreplicas);
    if (size != SAMPLE_EMPTY) {
        out->status = STATUS_NOT_FOUND;
        out->message = "none";
        out->has_filter = true;
        sample_filter_summary(7, &out->filter);
    }
}

static inline void sample_stats_reply(enum sample_size size, struct stats_reply *out)
{
    static struct stat_value values[1000];

    *out = (struct stats_reply){.program = "", .name = "", .values = values};
    out->nvalues = sample_count(size, 3, 1000);
    for (size_t i = 0; i < out->nvalues; i++) {
        values[i] = (struct stat_value){i % 2 == 0 ? "adds_total" : "checks_total", i * i};
    }
    if (size != SAMPLE_EMPTY) {
        out->program = "orbloom-node";
        out->name = "node-3";
    }
}

static inline void sample_error(enum sample_size size, struct error_reply *out)
{
    static char longest[CODEC_MAX_TEXT_BYTES + 1];

    memset(longest, 'x', CODEC_MAX_TEXT_BYTES);
    *out = (struct error_reply){.message = ""};
    if (size != SAMPLE_EMPTY) {
        *out = (struct error_reply){STATUS_INTERNAL,
                                    size == SAMPLE_FULL ? "cause; remedy" : longest};
    }
}

static inline void sample_frame(enum frame_kind kind, enum sample_size size, struct frame *out)
{
    memset(out, 0, sizeof *out);
    out->version = CODEC_VERSION;
    out->correlation = size == SAMPLE_EMPTY ? 0 : 0xc0ffee0000000000u + (uint64_t)kind;
    out->kind = kind;
    switch (kind) {
    case FRAME_CLIENT_REQUEST:
        sample_client_request(size, &out->body.client_request);
        break;
    case FRAME_CLIENT_REPLY:
        sample_client_reply(size, &out->body.client_reply);
        break;
    case FRAME_NODE_REQUEST:
        sample_node_request(size, &out->body.node_request);
        break;
    case FRAME_NODE_REPLY:
        sample_node_reply(size, &out->body.node_reply);
        break;
    case FRAME_DOCUMENTS:
        sample_documents(size, &out->body.documents);
        break;
    case FRAME_SYNC_REQUEST:
        sample_sync_request(size, &out->body.sync_request);
        break;
    case FRAME_SYNC_REPLY:
        sample_sync_reply(size, &out->body.sync_reply);
        break;
    case FRAME_HINT:
        out->body.hint.change = size == SAMPLE_EMPTY ? 0 : UINT64_MAX;
        break;
    case FRAME_FENCE_REQUEST:
    case FRAME_FENCE_REPLY:
        sample_fence(size, out);
        break;
    case FRAME_BOOT_REQUEST:
    case FRAME_BOOT_REPLY:
        sample_boot(size, out);
        break;
    case FRAME_ADMIN_REQUEST:
        sample_admin_request(size, &out->body.admin_request);
        break;
    case FRAME_ADMIN_REPLY:
        sample_admin_reply(size, &out->body.admin_reply);
        break;
    case FRAME_INFO_REQUEST:
        out->body.info_request = (struct info_request){sample_name, 101, 102};
        break;
    case FRAME_INFO_REPLY:
        sample_info_reply(size, &out->body.info_reply);
        break;
    case FRAME_STATS_REPLY:
        sample_stats_reply(size, &out->body.stats_reply);
        break;
    case FRAME_PULL_REQUEST:
        sample_pull_request(size, &out->body.pull_request);
        break;
    case FRAME_PULL_REPLY:
        sample_pull_reply(size, &out->body.pull_reply);
        break;
    case FRAME_ERROR:
        sample_error(size, &out->body.error);
        break;
    case FRAME_STATS_REQUEST:
    case FRAME_NONE:
        break;
    }
}

#endif
