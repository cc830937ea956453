/* Is every rule of codec.h about what a peer may send enforced? Bounds of single fields, which the
 * tables have, tests/unit/proto_row_bounds.c tries.
 *
 * Frames are built with protobuf-c itself, so that they can say what our encoder never would.
 */
#include "proto/codec.h"
#include "proto/orbloom.pb-c.h"
#include "proto_samples.h"

#include <criterion/criterion.h>

static struct codec_arena *arena;
static struct frame frame;

static void setup(void)
{
    if (codec_arena_create(SAMPLE_ARENA_BYTES, &arena) != STATUS_OK) {
        abort();
    }
}

static void teardown(void)
{
    codec_arena_destroy(&arena);
}

TestSuite(refusals, .init = setup, .fini = teardown);

static enum status decode(Orbloom__V1__Frame *wire)
{
    size_t size;
    uint8_t *bytes;
    enum status status;

    wire->version = CODEC_VERSION;
    wire->correlation = 77;
    size = orbloom__v1__frame__get_packed_size(wire);
    bytes = malloc(size);
    cr_assert_eq(orbloom__v1__frame__pack(wire, bytes), size);
    status = codec_decode(arena, span_of(bytes, size), &frame);
    free(bytes);
    cr_assert_eq(frame.correlation, 77, "a refusal can name what it refuses");
    cr_assert_eq(frame.version, CODEC_VERSION);
    cr_assert_eq(frame.kind == FRAME_NONE, status != STATUS_OK);
    return status;
}

/* Wrap a message into a frame of that kind, and decode it. */
#define DECODE(UPPER, field, message)                                                              \
    decode(&(Orbloom__V1__Frame){.base = PROTOBUF_C_MESSAGE_INIT(&orbloom__v1__frame__descriptor), \
                                 .body_case = ORBLOOM__V1__FRAME__BODY_##UPPER,                    \
                                 .field = (message)})

static ProtobufCBinaryData text(const char *bytes, size_t size)
{
    return (ProtobufCBinaryData){.len = size, .data = (uint8_t *)bytes};
}

Test(refusals, lengths_must_add_up_to_the_keys)
{
    Orbloom__V1__ClientRequest wire = ORBLOOM__V1__CLIENT_REQUEST__INIT;
    uint32_t lengths[] = {3, 0, 2};

    wire.operation = ORBLOOM__V1__OPERATION__OPERATION_ADD;
    wire.keys = text("aaabb", 5);
    wire.lengths = lengths;
    wire.n_lengths = 3;
    cr_assert_eq(DECODE(CLIENT_REQUEST, client_request, &wire), STATUS_OK);
    wire.keys.len = 4;
    cr_assert_eq(DECODE(CLIENT_REQUEST, client_request, &wire), STATUS_MALFORMED);
    wire.keys.len = 5;
    wire.n_lengths = 2;
    cr_assert_eq(DECODE(CLIENT_REQUEST, client_request, &wire), STATUS_MALFORMED);
    wire.n_lengths = 0;
    cr_assert_eq(DECODE(CLIENT_REQUEST, client_request, &wire), STATUS_MALFORMED);
    wire.keys.len = 0;
    cr_assert_eq(DECODE(CLIENT_REQUEST, client_request, &wire), STATUS_OK, "no keys");
}

/* Lengths whose sum wraps around 2^32 to the size of the blob. */
Test(refusals, lengths_do_not_wrap)
{
    Orbloom__V1__ClientRequest wire = ORBLOOM__V1__CLIENT_REQUEST__INIT;
    static uint32_t lengths[65537];

    for (size_t i = 0; i < 65536; i++) {
        lengths[i] = 65536; /* 2^32 in all */
    }
    wire.operation = ORBLOOM__V1__OPERATION__OPERATION_ADD;
    wire.lengths = lengths;
    wire.n_lengths = 65536;
    cr_assert_eq(DECODE(CLIENT_REQUEST, client_request, &wire), STATUS_MALFORMED);
    lengths[0] = UINT32_MAX;
    lengths[1] = 1;
    wire.n_lengths = 2;
    cr_assert_eq(DECODE(CLIENT_REQUEST, client_request, &wire), STATUS_TOO_LARGE);
}

Test(refusals, keys_are_bounded_in_size_and_count)
{
    static char blob[CODEC_MAX_KEY_BYTES + 1];
    static uint32_t lengths[CODEC_MAX_KEYS + 1];
    Orbloom__V1__ClientRequest wire = ORBLOOM__V1__CLIENT_REQUEST__INIT;

    wire.operation = ORBLOOM__V1__OPERATION__OPERATION_CHECK;
    wire.lengths = lengths;
    wire.n_lengths = CODEC_MAX_KEYS;
    cr_assert_eq(DECODE(CLIENT_REQUEST, client_request, &wire), STATUS_OK, "empty keys decode");
    cr_assert_eq(frame.body.client_request.count, CODEC_MAX_KEYS);
    wire.n_lengths = CODEC_MAX_KEYS + 1;
    cr_assert_eq(DECODE(CLIENT_REQUEST, client_request, &wire), STATUS_TOO_LARGE);
    lengths[0] = CODEC_MAX_KEY_BYTES;
    wire.keys = text(blob, lengths[0]);
    wire.n_lengths = 1;
    cr_assert_eq(DECODE(CLIENT_REQUEST, client_request, &wire), STATUS_OK);
    lengths[0]++;
    wire.keys.len++;
    cr_assert_eq(DECODE(CLIENT_REQUEST, client_request, &wire), STATUS_TOO_LARGE);
}

Test(refusals, operations_are_known)
{
    Orbloom__V1__ClientRequest wire = ORBLOOM__V1__CLIENT_REQUEST__INIT;

    for (int operation = -1; operation < 5; operation++) {
        wire.operation = (Orbloom__V1__Operation)operation;
        cr_assert_eq(DECODE(CLIENT_REQUEST, client_request, &wire),
                     operation >= 1 && operation <= 3 ? STATUS_OK : STATUS_MALFORMED, "%d",
                     operation);
    }
}

static Orbloom__V1__Subrequest subrequest(uint32_t count)
{
    Orbloom__V1__Subrequest wire = ORBLOOM__V1__SUBREQUEST__INIT;

    wire.operation = ORBLOOM__V1__OPERATION__OPERATION_ADD;
    wire.count = count;
    return wire;
}

Test(refusals, subrequests_must_add_up_to_the_fingerprints)
{
    Orbloom__V1__NodeRequest wire = ORBLOOM__V1__NODE_REQUEST__INIT;
    Orbloom__V1__Subrequest subrequests[] = {subrequest(2), subrequest(0), subrequest(1)};
    Orbloom__V1__Subrequest *list[] = {&subrequests[0], &subrequests[1], &subrequests[2]};
    uint64_t fingerprints[] = {1, 2, 3, 4};

    wire.subrequests = list;
    wire.n_subrequests = 3;
    wire.fingerprints = fingerprints;
    wire.n_fingerprints = 3;
    cr_assert_eq(DECODE(NODE_REQUEST, node_request, &wire), STATUS_OK);
    wire.n_fingerprints = 4;
    cr_assert_eq(DECODE(NODE_REQUEST, node_request, &wire), STATUS_MALFORMED,
                 "one belongs to none");
    wire.n_fingerprints = 3;
    subrequests[0].count = UINT32_MAX; /* with the next: 2^32 + 2, which would wrap to 2 */
    subrequests[1].count = 3;
    cr_assert_eq(DECODE(NODE_REQUEST, node_request, &wire), STATUS_MALFORMED, "wraps");
    subrequests[0] = subrequest(2);
    subrequests[1] = subrequest(0);
    subrequests[2].operation = ORBLOOM__V1__OPERATION__OPERATION_UNSPECIFIED;
    cr_assert_eq(DECODE(NODE_REQUEST, node_request, &wire), STATUS_MALFORMED, "no operation");
    subrequests[2].operation = ORBLOOM__V1__OPERATION__OPERATION_FEED;
    cr_assert_eq(DECODE(NODE_REQUEST, node_request, &wire), STATUS_MALFORMED, "clients' alone");
    subrequests[2].relayed = true;
    subrequests[2].operation = ORBLOOM__V1__OPERATION__OPERATION_CHECK;
    cr_assert_eq(DECODE(NODE_REQUEST, node_request, &wire), STATUS_MALFORMED, "a relayed check");
    subrequests[2].operation = ORBLOOM__V1__OPERATION__OPERATION_ADD;
    cr_assert_eq(DECODE(NODE_REQUEST, node_request, &wire), STATUS_OK, "a relayed add");
    subrequests[2].relayed = false;
    subrequests[2].operation = ORBLOOM__V1__OPERATION__OPERATION_ENDS;
    cr_assert_eq(DECODE(NODE_REQUEST, node_request, &wire), STATUS_MALFORMED, "ends with keys");
    subrequests[1].operation = ORBLOOM__V1__OPERATION__OPERATION_ENDS;
    subrequests[2].operation = ORBLOOM__V1__OPERATION__OPERATION_ADD;
    cr_assert_eq(DECODE(NODE_REQUEST, node_request, &wire), STATUS_OK, "ends");
    subrequests[1].relayed = true;
    cr_assert_eq(DECODE(NODE_REQUEST, node_request, &wire), STATUS_MALFORMED, "relayed ends");
    subrequests[1] = subrequest(0);
    wire.n_subrequests = 0;
    wire.n_fingerprints = 0;
    cr_assert_eq(DECODE(NODE_REQUEST, node_request, &wire), STATUS_OK, "nothing");
}

Test(refusals, subrequests_and_fingerprints_are_bounded)
{
    static Orbloom__V1__Subrequest *list[CODEC_MAX_SUBREQUESTS + 1];
    static uint64_t fingerprints[CODEC_MAX_KEYS + 1];
    Orbloom__V1__NodeRequest wire = ORBLOOM__V1__NODE_REQUEST__INIT;
    Orbloom__V1__Subrequest none = subrequest(0);
    Orbloom__V1__Subrequest all = subrequest(CODEC_MAX_KEYS);

    for (size_t i = 0; i <= CODEC_MAX_SUBREQUESTS; i++) {
        list[i] = &none;
    }
    list[0] = &all;
    wire.subrequests = list;
    wire.fingerprints = fingerprints;
    wire.n_subrequests = CODEC_MAX_SUBREQUESTS;
    wire.n_fingerprints = CODEC_MAX_KEYS;
    cr_assert_eq(DECODE(NODE_REQUEST, node_request, &wire), STATUS_OK);
    wire.n_subrequests++;
    cr_assert_eq(DECODE(NODE_REQUEST, node_request, &wire), STATUS_TOO_LARGE);
    wire.n_subrequests = 1;
    wire.n_fingerprints++;
    all.count++;
    cr_assert_eq(DECODE(NODE_REQUEST, node_request, &wire), STATUS_TOO_LARGE);
}

Test(refusals, replies_of_subrequests_are_checked)
{
    static Orbloom__V1__SubrequestReply *list[CODEC_MAX_SUBREQUESTS + 1];
    Orbloom__V1__NodeReply wire = ORBLOOM__V1__NODE_REPLY__INIT;
    Orbloom__V1__SubrequestReply reply = ORBLOOM__V1__SUBREQUEST_REPLY__INIT;

    for (size_t i = 0; i <= CODEC_MAX_SUBREQUESTS; i++) {
        list[i] = &reply;
    }
    wire.subrequests = list;
    wire.n_subrequests = CODEC_MAX_SUBREQUESTS + 1;
    cr_assert_eq(DECODE(NODE_REPLY, node_reply, &wire), STATUS_TOO_LARGE, "subrequests");
    wire.n_subrequests = 1;
    reply.count = 3;
    cr_assert_eq(DECODE(NODE_REPLY, node_reply, &wire), STATUS_OK);
    reply.status = ORBLOOM__V1__STATUS__STATUS_STALE;
    cr_assert_eq(DECODE(NODE_REPLY, node_reply, &wire), STATUS_MALFORMED, "votes when not OK");
    reply.status = ORBLOOM__V1__STATUS__STATUS_OK;
    reply.state = (Orbloom__V1__ReplicaState)4;
    cr_assert_eq(DECODE(NODE_REPLY, node_reply, &wire), STATUS_MALFORMED, "state");
    reply.state = (Orbloom__V1__ReplicaState)-1;
    cr_assert_eq(DECODE(NODE_REPLY, node_reply, &wire), STATUS_MALFORMED, "state");
    reply.state = ORBLOOM__V1__REPLICA_STATE__REPLICA_FULL;
    reply.present = text("\x08", 1);
    cr_assert_eq(DECODE(NODE_REPLY, node_reply, &wire), STATUS_MALFORMED, "spare bit");
    reply.present.len = 0;
    reply.count = CODEC_MAX_KEYS + 1;
    cr_assert_eq(DECODE(NODE_REPLY, node_reply, &wire), STATUS_TOO_LARGE, "one count");
    reply.count = CODEC_MAX_KEYS / 2 + 1;
    wire.n_subrequests = 2;
    cr_assert_eq(DECODE(NODE_REPLY, node_reply, &wire), STATUS_TOO_LARGE, "their sum");
}

Test(refusals, starts_before_are_bounded_and_each_has_an_end)
{
    static uint64_t before[BOOT_MAX_BEFORE + 1];
    Orbloom__V1__BootRequest boot = ORBLOOM__V1__BOOT_REQUEST__INIT;

    boot.before = before;
    boot.n_before = BOOT_MAX_BEFORE;
    cr_assert_eq(DECODE(BOOT_REQUEST, boot_request, &boot), STATUS_MALFORMED, "no ends");
    boot.ends = before;
    boot.n_ends = BOOT_MAX_BEFORE;
    cr_assert_eq(DECODE(BOOT_REQUEST, boot_request, &boot), STATUS_OK);
    boot.n_before++;
    cr_assert_eq(DECODE(BOOT_REQUEST, boot_request, &boot), STATUS_TOO_LARGE);
}

Test(refusals, secrets_and_reports_are_checked)
{
    Orbloom__V1__SyncRequest request = ORBLOOM__V1__SYNC_REQUEST__INIT;
    Orbloom__V1__ReplicaReport report = ORBLOOM__V1__REPLICA_REPORT__INIT;
    Orbloom__V1__ReplicaReport *reports[] = {&report};
    Orbloom__V1__SyncReply reply = ORBLOOM__V1__SYNC_REPLY__INIT;
    Orbloom__V1__SealedSecret secret = ORBLOOM__V1__SEALED_SECRET__INIT;
    Orbloom__V1__SealedSecret *secrets[] = {&secret};
    Orbloom__V1__ReplicaReport *twice[] = {&report, &report};
    Orbloom__V1__ReportPage page = ORBLOOM__V1__REPORT_PAGE__INIT;

    cr_assert_eq(DECODE(SYNC_REQUEST, sync_request, &request), STATUS_MALFORMED, "no role");
    request.role = ORBLOOM__V1__SYNC_ROLE__SYNC_ROLE_NODE;
    request.replicas = reports;
    request.n_replicas = 1;
    cr_assert_eq(DECODE(SYNC_REQUEST, sync_request, &request), STATUS_OK);
    report.bits_set = 1;
    cr_assert_eq(DECODE(SYNC_REQUEST, sync_request, &request), STATUS_MALFORMED, "bits");
    report.bits_seen = 1;
    report.phase = ORBLOOM__V1__REPLICA_PHASE__PHASE_SYNCING;
    cr_assert_eq(DECODE(SYNC_REQUEST, sync_request, &request), STATUS_OK);
    report.probe_hits = 1;
    cr_assert_eq(DECODE(SYNC_REQUEST, sync_request, &request), STATUS_MALFORMED, "hits");
    report.probes = 1;
    cr_assert_eq(DECODE(SYNC_REQUEST, sync_request, &request), STATUS_OK);

    request.page = &page;
    report.filter_id = 5;
    report.group = 3;
    page.from_filter = 5;
    page.from_group = 3;
    page.to_filter = 5;
    page.to_group = 4;
    cr_assert_eq(DECODE(SYNC_REQUEST, sync_request, &request), STATUS_OK);
    report.group = 4;
    cr_assert_eq(DECODE(SYNC_REQUEST, sync_request, &request), STATUS_MALFORMED, "beyond");
    report.group = 2;
    cr_assert_eq(DECODE(SYNC_REQUEST, sync_request, &request), STATUS_MALFORMED, "before");
    report.group = 3;
    request.replicas = twice;
    request.n_replicas = 2;
    cr_assert_eq(DECODE(SYNC_REQUEST, sync_request, &request), STATUS_MALFORMED, "twice");
    request.n_replicas = 0;
    page.to_group = 3;
    cr_assert_eq(DECODE(SYNC_REQUEST, sync_request, &request), STATUS_MALFORMED, "empty");
    page.to_filter = 0;
    cr_assert_eq(DECODE(SYNC_REQUEST, sync_request, &request), STATUS_MALFORMED, "half an end");

    reply.secrets = secrets;
    reply.n_secrets = 1;
    cr_assert_eq(DECODE(SYNC_REPLY, sync_reply, &reply), STATUS_MALFORMED, "an empty secret");
}

static Orbloom__V1__CreateParameters parameters(void)
{
    Orbloom__V1__CreateParameters wire = ORBLOOM__V1__CREATE_PARAMETERS__INIT;

    wire.hash = ORBLOOM__V1__HASH_KIND__HASH_XXH3;
    wire.when_unavailable = ORBLOOM__V1__WHEN_UNAVAILABLE__WHEN_UNAVAILABLE_ERROR;
    wire.when_full = ORBLOOM__V1__WHEN_FULL__WHEN_FULL_REFUSE;
    wire.keylog = ORBLOOM__V1__KEYLOG__KEYLOG_ON;
    wire.durability = ORBLOOM__V1__DURABILITY__DURABILITY_MEMORY;
    return wire;
}

Test(refusals, create_may_leave_some_to_the_coordinator)
{
    Orbloom__V1__AdminRequest wire = ORBLOOM__V1__ADMIN_REQUEST__INIT;
    Orbloom__V1__CreateParameters create = parameters();

    wire.action = ORBLOOM__V1__ADMIN_ACTION__ADMIN_CREATE;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "no parameters");
    wire.create = &create;
    create.when_full = ORBLOOM__V1__WHEN_FULL__WHEN_FULL_UNSPECIFIED;
    create.durability = ORBLOOM__V1__DURABILITY__DURABILITY_UNSPECIFIED;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_OK);
    create.hash = ORBLOOM__V1__HASH_KIND__HASH_UNSPECIFIED;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "hash");
    create = parameters();
    create.when_unavailable = ORBLOOM__V1__WHEN_UNAVAILABLE__WHEN_UNAVAILABLE_UNSPECIFIED;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "unavailable");
    create = parameters();
    create.keylog = ORBLOOM__V1__KEYLOG__KEYLOG_UNSPECIFIED;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "keylog");
}

Test(refusals, an_expansion_and_a_rebuild_have_parameters)
{
    Orbloom__V1__AdminRequest wire = ORBLOOM__V1__ADMIN_REQUEST__INIT;
    Orbloom__V1__ExpandParameters expand = ORBLOOM__V1__EXPAND_PARAMETERS__INIT;
    Orbloom__V1__RebuildParameters rebuild = ORBLOOM__V1__REBUILD_PARAMETERS__INIT;

    wire.action = ORBLOOM__V1__ADMIN_ACTION__ADMIN_EXPAND;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "no parameters");
    wire.expand = &expand;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_OK);
    wire.action = ORBLOOM__V1__ADMIN_ACTION__ADMIN_REBUILD;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "no parameters");
    wire.rebuild = &rebuild;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "no step");
    rebuild.step = ORBLOOM__V1__REBUILD_STEP__REBUILD_STEP_ABORT;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_OK);
}

Test(refusals, backups_and_restores_have_parameters)
{
    Orbloom__V1__AdminRequest wire = ORBLOOM__V1__ADMIN_REQUEST__INIT;
    Orbloom__V1__MapParameters map = ORBLOOM__V1__MAP_PARAMETERS__INIT;

    for (int action = ADMIN_MAP_BACKUP; action <= ADMIN_MAP_FINISH; action++) {
        wire.action = (Orbloom__V1__AdminAction)action;
        wire.map = NULL;
        cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "%d", action);
        wire.map = &map;
        cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_OK, "%d", action);
    }
}

Test(refusals, an_expiry_has_parameters)
{
    Orbloom__V1__AdminRequest wire = ORBLOOM__V1__ADMIN_REQUEST__INIT;
    Orbloom__V1__ExpireParameters expire = ORBLOOM__V1__EXPIRE_PARAMETERS__INIT;

    wire.action = ORBLOOM__V1__ADMIN_ACTION__ADMIN_EXPIRE;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "no parameters");
    wire.expire = &expire;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_OK);
}

Test(refusals, a_rename_has_parameters)
{
    Orbloom__V1__AdminRequest wire = ORBLOOM__V1__ADMIN_REQUEST__INIT;
    Orbloom__V1__RenameParameters rename = ORBLOOM__V1__RENAME_PARAMETERS__INIT;

    wire.action = ORBLOOM__V1__ADMIN_ACTION__ADMIN_RENAME;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "no parameters");
    wire.rename = &rename;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_OK);
}

Test(refusals, steps_of_loads_are_known_and_a_secret_comes_with_the_first)
{
    Orbloom__V1__AdminRequest wire = ORBLOOM__V1__ADMIN_REQUEST__INIT;
    Orbloom__V1__LoadParameters load = ORBLOOM__V1__LOAD_PARAMETERS__INIT;
    Orbloom__V1__CreateParameters create = parameters();
    char sealed[SEAL_SECRET_BYTES] = "sealed";

    wire.action = ORBLOOM__V1__ADMIN_ACTION__ADMIN_LOAD;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "no parameters");
    wire.load = &load;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "no step");
    load.step = ORBLOOM__V1__LOAD_STEP__LOAD_STEP_MOVE;
    load.to = UINT64_MAX;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_OK);
    cr_assert_eq(frame.body.admin_request.load.to, UINT64_MAX, "the coordinator judges it");
    load.secret = text(sealed, sizeof sealed);
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "a secret");
    load.step = ORBLOOM__V1__LOAD_STEP__LOAD_STEP_BEGIN;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "of what?");
    wire.create = &create;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_OK);
    load.secret.len--;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "a short secret");
}

Test(refusals, losses_are_accepted_with_parameters)
{
    Orbloom__V1__AdminRequest wire = ORBLOOM__V1__ADMIN_REQUEST__INIT;
    Orbloom__V1__LossParameters loss = ORBLOOM__V1__LOSS_PARAMETERS__INIT;
    wire.action = ORBLOOM__V1__ADMIN_ACTION__ADMIN_ACCEPT_LOSS;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "no parameters");
    wire.loss = &loss;
    loss.shard = 7;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_OK);
    cr_assert_eq(frame.body.admin_request.loss.shard, 7);
    cr_assert(!frame.body.admin_request.loss.all);
}

Test(refusals, lives_that_are_vouched_for_are_of_a_node)
{
    Orbloom__V1__AdminRequest wire = ORBLOOM__V1__ADMIN_REQUEST__INIT;
    Orbloom__V1__VouchedLife life = ORBLOOM__V1__VOUCHED_LIFE__INIT;
    Orbloom__V1__VouchedLife *lives[] = {&life};

    wire.action = ORBLOOM__V1__ADMIN_ACTION__ADMIN_DROP;
    wire.confirmed_off = lives;
    wire.n_confirmed_off = 1;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "no node");
    life.node = 5;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_MALFORMED, "no life");
    life.incarnation = 7;
    cr_assert_eq(DECODE(ADMIN_REQUEST, admin_request, &wire), STATUS_OK);
}
