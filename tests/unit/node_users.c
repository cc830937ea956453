/* What a node knows of users: by the record that it was handed, kept over a restart as documents
 * are, and told to a coordinator whose store lacks it. */
#include "base/heap.h"
#include "map/access/identity.h"
#include "node/former.h"
#include "node/private.h"
#include "proto/signed_document.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { WATCHER = 4, REVISION = 7, COUNT = 1000, BATCHES = 60, EXPIRES_MS = 5000 };

static const uint8_t known[CURVE_KEY_BYTES] = {7};
static const uint8_t unknown[CURVE_KEY_BYTES] = {8};

static struct node_stage stage;

/* A monitor with a key. */
static void sign(uint64_t revision, const struct cluster_key *key, struct buffer *bytes)
{
    struct user_key owned = {.id = 1, .expires_ms = EXPIRES_MS};
    struct user user = {.id = WATCHER,
                        .name = "watch",
                        .role = USER_MONITOR,
                        .keys = &owned,
                        .nkeys = 1,
                        .last_credential = 1};
    const struct user_list users = {
        .revision = revision, .last_id = WATCHER, .users = &user, .count = 1};

    memcpy(owned.key, known, sizeof known);
    buffer_init(bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_users_sign(&users, key, bytes), STATUS_OK);
}

static void hand(uint64_t revision)
{
    struct buffer bytes;

    sign(revision, sample_key(), &bytes);
    node_stage_hand_signed(&stage, buffer_span(&bytes));
    buffer_fini(&bytes);
}

static uint64_t revision_held(void)
{
    return stage.node->documents.users.revision;
}

/* ---- who somebody is ---- */

static bool is_pending(const uint8_t key[CURVE_KEY_BYTES])
{
    struct peer peer = {.size = 4};

    return node_identify(stage.node, key, &peer) && peer.user == PEER_PENDING;
}

static bool is_watcher(void)
{
    struct peer peer = {.size = 4};

    return node_identify(stage.node, known, &peer) && peer.user == WATCHER &&
           peer.role == PEER_MONITOR;
}

Test(node_users, nobody_is_kept_out_before_a_coordinator_has_told)
{
    struct peer peer = {.size = 4, .role = PEER_NODE, .user = 1};

    node_stage_init(&stage, 1 << 30);
    cr_assert(is_pending(known));
    node_stage_register(&stage);
    cr_assert_not(node_identify(stage.node, known, &peer));
    cr_assert(peer.role == PEER_NODE && peer.user == 1);
    hand(REVISION);
    cr_assert(is_watcher());
    cr_assert_not(node_identify(stage.node, unknown, &peer));
    stage.fake.date_ms = EXPIRES_MS;
    cr_assert_not(is_watcher());
    node_stage_fini(&stage);
}

/* ---- what is kept ---- */

static void open_disk(void)
{
    node_stage_init_disk(&stage);
    cr_assert_eq(node_stage_open(&stage), 0);
    hand(REVISION);
    node_stage_settle(&stage);
}

static void close_disk(void)
{
    node_stage_fini_disk(&stage);
    cr_assert_eq(heap_live(), 0);
}

/* No coordinator has answered yet: who is in the record is known, who is not is put off. */
static void expect_known_after(enum stage_end how)
{
    node_stage_end(&stage, how);
    node_stage_start(&stage);
    cr_assert(is_pending(known));
    node_stage_settle(&stage);
    cr_assert_not(node_registered(stage.node));
    cr_assert_eq(revision_held(), REVISION);
    cr_assert(is_watcher());
    cr_assert(is_pending(unknown));
    cr_assert_eq(node_stage_meet(&stage), 0);
    cr_assert_not(is_pending(unknown));
    node_stage_settle(&stage);
}

Test(node_users, they_are_known_after_a_restart)
{
    open_disk();
    expect_known_after(STAGE_END_CLEAN);
    expect_known_after(STAGE_END_KILL);
    expect_known_after(STAGE_END_POWER);
    close_disk();
}

static bool is_there(const char *name)
{
    char other[DISK_NAME_BYTES];

    for (unsigned i = 0; node_stage_file(&stage, "log-", i, other); i++) {
        if (strcmp(name, other) == 0) {
            return true;
        }
    }
    return false;
}

/* By a checkpoint, once what the log said before it is gone. */
Test(node_users, they_are_known_after_the_log_was_cut)
{
    static uint64_t keys[COUNT * BATCHES];
    struct filter_document document;
    char first[DISK_NAME_BYTES];

    open_disk();
    cr_assert(node_stage_file(&stage, "log-", 0, first));
    node_stage_filter(&stage, 5, DURABILITY_SYNC, &document);
    sample_fingerprints(&document, 0, 1, COUNT * BATCHES, keys);
    for (uint32_t i = 0; i < BATCHES; i++) {
        cr_assert_eq(node_stage_add(&stage, &document, keys + (size_t)i * COUNT, COUNT), STATUS_OK);
    }
    node_stage_settle_long(&stage);
    cr_assert_not(is_there(first), "the log was not cut");
    expect_known_after(STAGE_END_KILL);
    document_fini(&document);
    close_disk();
}

/* The key that it was signed with may be gone: then another record is to be in its place. */
Test(node_users, a_record_of_a_key_that_is_gone_is_not_given_up)
{
    struct document_cache documents = {0};
    struct former former = {0};
    struct buffer bytes;

    sign(3, sample_foreign_key(), &bytes);
    cr_assert_eq(former_note(&former, buffer_span(&bytes)), STATUS_OK);
    cr_assert_eq(former_judge(&former, &documents), STATUS_UNAUTHENTIC);
    cr_assert_eq(former_note(&former, buffer_span(&bytes)), STATUS_OK);
    documents.users.revision = 4;
    cr_assert_eq(former_judge(&former, &documents), STATUS_OK);
    buffer_fini(&bytes);
    cr_assert_eq(heap_live(), 0);
}

/* ---- what is told ---- */

/* The next report; what it holds is valid until the next frame is taken. */
static struct sync_request take_report(void)
{
    struct fake_sent sent = {0};

    while (sent.frame.kind != FRAME_SYNC_REQUEST) {
        if (!fake_take(&stage.fake, &sent)) {
            stage.now_us += 1000000;
            stage.actor.time(stage.actor.self, stage.now_us);
            cr_assert(fake_take(&stage.fake, &sent), "no report");
        }
    }
    return sent.frame.body.sync_request;
}

/* A store that was put back lacks it: users must not come back by that, nor go. */
Test(node_users, a_coordinator_that_lacks_the_record_is_given_it)
{
    const uint64_t wanted[] = {USER_LIST_ID};
    struct frame frame = {.kind = FRAME_SYNC_REPLY,
                          .body.sync_reply = {.status = STATUS_OK,
                                              .message = "",
                                              .change = 1,
                                              .node_id = 1,
                                              .wanted = wanted,
                                              .nwanted = 1}};
    struct sync_request report;
    struct buffer bytes;

    node_stage_init(&stage, 1 << 30);
    node_stage_register(&stage);
    hand(REVISION);
    report = take_report();
    cr_assert_eq(report.ndocuments, 0);
    frame.correlation = stage.incarnation;
    fake_answer(&stage.actor, stage.now_us, STAGE_COORDINATOR, &frame);
    stage.actor.time(stage.actor.self, stage.now_us);
    report = take_report();
    cr_assert_eq(report.held[0].filter_id, USER_LIST_ID);
    cr_assert_eq(report.held[0].revision, REVISION);
    sign(REVISION, sample_key(), &bytes);
    cr_assert_eq(report.ndocuments, 1);
    cr_assert(span_equal(report.documents[0], buffer_span(&bytes)));
    buffer_fini(&bytes);
    node_stage_fini(&stage);
}
