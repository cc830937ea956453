/* Links to other nodes: opened on demand, one question at a time, bounded, closed when idle. */
#include "node/sync/peers.h"
#include "proto/signed_document.h"
#include "tests/support/fake_effects.h"
#include "tests/support/sample_cluster.h"
#include "tests/support/story.h"

#include <criterion/criterion.h>
#include <string.h>

enum { NOW = 1000000, BYTES = 1 << 20 };

static struct fake_effects fake;
static struct node_peers peers;
static struct node_list nodes;
static struct buffer spare;
static struct peer_topic topic;
static struct story story;

static void list_nodes(uint32_t count, uint64_t revision)
{
    struct buffer bytes;

    node_list_fini(&nodes);
    sample_node_list(count, revision, sample_key(), &bytes);
    cr_assert_eq(codec_node_list_open(buffer_span(&bytes), sample_key(), &nodes), STATUS_OK);
    buffer_fini(&bytes);
}

static void setup(void)
{
    fake_init(&fake);
    buffer_init(&spare, CODEC_MAX_FRAME_BYTES);
    list_nodes(40, 1);
}

static void teardown(void)
{
    node_peers_fini(&peers);
    node_list_fini(&nodes);
    buffer_fini(&spare);
    fake_fini(&fake);
}

TestSuite(node_peers, .init = setup, .fini = teardown);

static enum status ask(uint64_t now_us, uint32_t node, enum pull_purpose purpose, uint64_t bytes)
{
    const struct peer_topic about = {.filter_id = node, .serial = 2, .item = 3};
    struct frame frame = {.kind = FRAME_PULL_REQUEST, .body.pull_request = {.kind = PULL_RUNS}};
    size_t sent;

    return node_peers_ask(&peers, &fake.effects, now_us, &nodes, node, purpose, bytes,
                          PEERS_DEADLINE_US, &about, &frame, &spare, &sent);
}

static uint64_t sent_correlation(uint32_t *link)
{
    struct fake_sent sent;

    cr_assert(fake_take(&fake, &sent));
    *link = sent.link;
    return sent.frame.correlation;
}

static void tell_ask(uint64_t now_us, uint32_t node, enum pull_purpose purpose)
{
    enum status status = ask(now_us, node, purpose, BYTES);

    story_tell(&story, "ask node %u %s: %s, %u links", node,
               purpose == PULL_SYNC ? "SYNC" : "DELTA", status_code(status), fake.nlinks);
}

static void tell_answer(const char *whose, uint32_t link, uint64_t correlation)
{
    if (node_peers_answered(&peers, link, correlation, &topic)) {
        story_tell(&story, "%s answer: filter %u, serial %u, item %u", whose,
                   (unsigned)topic.filter_id, (unsigned)topic.serial, (unsigned)topic.item);
    } else {
        story_tell(&story, "%s answer: dropped", whose);
    }
}

Test(node_peers, one_question_a_peer_and_purpose)
{
    uint64_t correlation;
    uint32_t link;

    tell_ask(NOW, 2, PULL_SYNC);
    tell_ask(NOW, 2, PULL_SYNC);
    correlation = sent_correlation(&link);
    cr_assert_eq(link, fake_link(&fake, "tcp://node-2:7000"));
    tell_ask(NOW, 2, PULL_DELTA);
    tell_ask(NOW, 3, PULL_SYNC);
    tell_answer("another question's", link, correlation + 77);
    tell_answer("another node's", link + 1, correlation);
    tell_answer("its own", link, correlation);
    tell_answer("its own again", link, correlation);
    tell_ask(NOW, 2, PULL_SYNC);
    story_expect(&story, "ask node 2 SYNC: OK, 1 links\n"
                         "ask node 2 SYNC: OVERLOADED, 1 links\n"
                         "ask node 2 DELTA: OK, 1 links\n"
                         "ask node 3 SYNC: OK, 2 links\n"
                         "another question's answer: dropped\n"
                         "another node's answer: dropped\n"
                         "its own answer: filter 2, serial 2, item 3\n"
                         "its own again answer: dropped\n"
                         "ask node 2 SYNC: OK, 2 links\n");
    cr_assert(node_peers_has(&peers, link));
    cr_assert_not(node_peers_has(&peers, 99));
    cr_assert_not(node_peers_has(&peers, 0));
}

Test(node_peers, awaited_bytes_are_bounded)
{
    uint32_t most = PEERS_MAX_AWAITED_BYTES / BYTES;
    uint64_t correlation;
    uint32_t link;

    for (uint32_t i = 0; i < most; i++) {
        cr_assert_eq(ask(NOW, i + 1, PULL_SYNC, BYTES), STATUS_OK);
    }
    cr_assert_eq(ask(NOW, most + 1, PULL_SYNC, BYTES), STATUS_OVERLOADED);
    correlation = sent_correlation(&link);
    cr_assert(node_peers_answered(&peers, link, correlation, &topic));
    cr_assert_eq(ask(NOW, most + 1, PULL_SYNC, BYTES), STATUS_OK);
}

Test(node_peers, a_deadline_ends_a_question)
{
    uint64_t correlation;
    uint32_t link;

    cr_assert_eq(node_peers_next_us(&peers), ACTOR_NEVER);
    cr_assert_eq(ask(NOW, 2, PULL_SYNC, BYTES), STATUS_OK);
    correlation = sent_correlation(&link);
    cr_assert_eq(node_peers_next_us(&peers), NOW + PEERS_DEADLINE_US);
    cr_assert_not(node_peers_expired(&peers, NOW + PEERS_DEADLINE_US - 1, &topic));
    cr_assert(node_peers_expired(&peers, NOW + PEERS_DEADLINE_US, &topic));
    cr_assert_eq(topic.filter_id, 2);
    cr_assert_not(node_peers_expired(&peers, NOW + PEERS_DEADLINE_US, &topic));
    cr_assert_not(node_peers_answered(&peers, link, correlation, &topic), "too late");
    cr_assert_eq(peers.awaited_bytes, 0);
}

Test(node_peers, idle_links_are_closed)
{
    uint64_t correlation;
    uint32_t link;

    cr_assert_eq(ask(NOW, 2, PULL_SYNC, BYTES), STATUS_OK);
    node_peers_close_idle(&peers, &fake.effects, NOW + PEERS_IDLE_US);
    correlation = sent_correlation(&link);
    cr_assert_not(fake.closed[link - 1], "a question is under way");
    cr_assert(node_peers_answered(&peers, link, correlation, &topic));
    cr_assert_eq(node_peers_next_us(&peers), NOW + PEERS_IDLE_US);
    node_peers_close_idle(&peers, &fake.effects, NOW + PEERS_IDLE_US);
    cr_assert(fake.closed[link - 1]);
    cr_assert_not(node_peers_has(&peers, link));
    cr_assert_eq(node_peers_next_us(&peers), ACTOR_NEVER);
    cr_assert_eq(ask(NOW, 2, PULL_SYNC, BYTES), STATUS_OK);
    cr_assert_eq(fake.nlinks, 2);
}

Test(node_peers, a_node_that_moved_is_followed)
{
    uint64_t correlation;
    uint32_t link;

    cr_assert_eq(ask(NOW, 2, PULL_SYNC, BYTES), STATUS_OK);
    correlation = sent_correlation(&link);
    cr_assert(node_peers_answered(&peers, link, correlation, &topic));
    (void)strcpy(nodes.nodes[1].endpoint, "tcp://elsewhere:1");
    cr_assert_eq(ask(NOW, 2, PULL_SYNC, BYTES), STATUS_OK);
    cr_assert(fake.closed[link - 1]);
    cr_assert_gt(fake_link(&fake, "tcp://elsewhere:1"), 0);
    cr_assert_eq(ask(NOW, 4711, PULL_SYNC, BYTES), STATUS_NOT_FOUND);
}

Test(node_peers, what_was_not_sent_is_not_awaited)
{
    fake.deaf = true;
    cr_assert_eq(ask(NOW, 2, PULL_SYNC, BYTES), STATUS_UNAVAILABLE);
    cr_assert_eq(peers.awaited_bytes, 0);
    fake.deaf = false;
    cr_assert_eq(ask(NOW, 2, PULL_SYNC, BYTES), STATUS_OK);
}

/* Once however much is under way, longer each time; an answer ends it. */
/* For how many times the first pause. */
static void tell_silent(uint32_t node, uint64_t now_us)
{
    uint64_t until_us;

    if (node_peers_silent(&peers, node, &until_us)) {
        cr_assert_eq((until_us - now_us) % PEERS_SILENT_US, 0);
        story_tell(&story, "node %u is silent for %u times", node,
                   (unsigned)((until_us - now_us) / PEERS_SILENT_US));
    } else {
        story_tell(&story, "node %u is not silent", node);
    }
}

static void tell_expired(uint64_t now_us)
{
    cr_assert(node_peers_expired(&peers, now_us, &topic));
    story_tell(&story, "expired: node %u %s", topic.node,
               topic.call == PULL_SYNC ? "SYNC" : "DELTA");
}

Test(node_peers, who_does_not_answer_is_let_be)
{
    uint64_t now_us = NOW;
    uint64_t until_us;
    uint64_t correlation;
    uint32_t link;

    for (unsigned round = 0; round < 3; round++) {
        tell_ask(now_us, 2, PULL_SYNC);
        tell_ask(now_us, 2, PULL_DELTA);
        tell_silent(2, now_us);
        now_us += PEERS_DEADLINE_US;
        tell_expired(now_us);
        tell_expired(now_us);
        tell_silent(2, now_us);
        cr_assert(node_peers_silent(&peers, 2, &until_us));
        cr_assert_leq(node_peers_next_us(&peers), until_us);
        now_us = until_us;
    }
    tell_silent(3, now_us);
    fake_forget(&fake);
    tell_ask(now_us, 2, PULL_SYNC);
    correlation = sent_correlation(&link);
    tell_answer("its", link, correlation);
    tell_silent(2, now_us);
    story_expect(&story, "ask node 2 SYNC: OK, 1 links\n"
                         "ask node 2 DELTA: OK, 1 links\n"
                         "node 2 is not silent\n"
                         "expired: node 2 SYNC\n"
                         "expired: node 2 DELTA\n"
                         "node 2 is silent for 1 times\n"
                         "ask node 2 SYNC: OK, 1 links\n"
                         "ask node 2 DELTA: OK, 1 links\n"
                         "node 2 is silent for 0 times\n"
                         "expired: node 2 SYNC\n"
                         "expired: node 2 DELTA\n"
                         "node 2 is silent for 2 times\n"
                         "ask node 2 SYNC: OK, 1 links\n"
                         "ask node 2 DELTA: OK, 1 links\n"
                         "node 2 is silent for 0 times\n"
                         "expired: node 2 SYNC\n"
                         "expired: node 2 DELTA\n"
                         "node 2 is silent for 4 times\n"
                         "node 3 is not silent\n"
                         "ask node 2 SYNC: OK, 1 links\n"
                         "its answer: filter 2, serial 2, item 3\n"
                         "node 2 is not silent\n");
}
