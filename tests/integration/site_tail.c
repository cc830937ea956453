/* A link reads the logs of real nodes: all that was acknowledged is in the tails of W of them, each
 * record once, also of a node that was killed; what a place no longer means is said. */
#include "map/site_tail.h"

#include "tests/support/playground.h"
#include "tests/support/stranger.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_S = 120, ANSWER_MS = 20000, KEYS = 20000, NODES = 3, WRITE = 2 };

static struct playground playground;

/* What is known of one node, and what it has told. */
struct tail {
    const char *name;
    struct stranger link;
    struct member source;
    uint64_t boot;
    uint64_t next;
    struct site_tail_filter filter;
    bool compare; /* of the filter */
    uint64_t keys;
    uint64_t digests; /* added up */
};

static struct tail tails[NODES] = {{.name = "node-1"}, {.name = "node-2"}, {.name = "node-3"}};
static struct frame answer;

/* `known`: the node has been told the list. */
static const struct site_tail_reply *ask(struct tail *tail, uint32_t wait_ms, bool known)
{
    struct frame frame = {.correlation = 7, .kind = FRAME_SITE_TAIL_REQUEST};
    struct site_tail_request *request = &frame.body.site_tail_request;

    *request = (struct site_tail_request){
        .source = tail->source,
        .boot = tail->boot,
        .from = tail->next,
        .max_bytes = 1 << 16,
        .wait_ms = wait_ms,
        .list = site_tail_list(&tail->filter, 1),
        .filters = &tail->filter,
        .nfilters = known ? 0 : 1,
    };
    stranger_send_frame(&tail->link, &frame);
    cr_assert(stranger_receive(&tail->link, ANSWER_MS, &answer));
    cr_assert_eq(answer.kind, FRAME_SITE_TAIL_REPLY);
    return &answer.body.site_tail_reply;
}

/* Who it is, and which epoch it has: refusals say so. */
static void meet(struct tail *tail)
{
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    const struct site_tail_reply *reply;

    playground_endpoint(&playground, tail->name, endpoint);
    stranger_open(&tail->link, endpoint);
    tail->filter = (struct site_tail_filter){.filter_id = 1};
    tail->source.node = 1;
    for (int i = 0; i < NODES && ask(tail, 0, false)->status == STATUS_NOT_READY; i++) {
        tail->source.node++;
    }
    reply = ask(tail, 0, false);
    cr_assert_eq(reply->status, STATUS_STALE, "%s", reply->message);
    tail->source = reply->source;
    tail->boot = reply->boot;
    reply = ask(tail, 0, false);
    cr_assert_eq(reply->status, STATUS_OK, "%s", reply->message);
    cr_assert_eq(reply->nrefusals, 1);
    cr_assert_eq(reply->refusals[0].status, STATUS_STALE);
    cr_assert_eq(reply->ndocuments, 1);
    tail->filter.epoch = reply->refusals[0].epoch;
    tail->filter.epoch_hash = reply->refusals[0].epoch_hash;
}

/* To the end of what is there. */
static void follow(struct tail *tail)
{
    const struct site_tail_reply *reply = ask(tail, 0, false);

    while (reply->status == STATUS_OK && reply->nrefusals == 0 && reply->nrecords > 0) {
        uint64_t used = 0;

        for (size_t i = 0; i < reply->nrecords; i++) {
            const struct site_tail_record *record = &reply->records[i];

            cr_assert_eq(record->digest,
                         site_tail_digest(reply->fingerprints + used, record->count));
            used += record->count;
            tail->keys += record->count;
            tail->digests += record->digest;
        }
        tail->next = reply->next;
        reply = ask(tail, 0, true);
    }
    cr_assert_eq(reply->status, STATUS_OK, "%s", reply->message);
    tail->compare = reply->nrefusals > 0 && reply->refusals[0].compare;
    cr_assert(tail->compare || reply->nrefusals == 0);
}

static void add_keys(uint32_t first)
{
    char line[160];

    (void)snprintf(line, sizeof line, "seq %u %u | %s/orbloom add seen >/dev/null 2>&1", first,
                   first + KEYS - 1, ORBLOOM_BIN_DIR);
    cr_assert_eq(system(line), 0);
}

/* What all have told, as often as they have. */
static uint64_t told(void)
{
    uint64_t keys = 0;

    for (int i = 0; i < NODES; i++) {
        keys += tails[i].keys;
    }
    return keys;
}

Test(site_tail, all_that_was_acknowledged_is_in_the_tails, .timeout = LIMIT_S)
{
    uint64_t records;

    playground_start(&playground, &(struct playground_plan){.nodes = NODES});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "1M", "--fpr", "1%");
    add_keys(1);
    for (int i = 0; i < NODES; i++) {
        meet(&tails[i]);
        follow(&tails[i]);
        cr_assert_leq(tails[i].keys, KEYS, "each once, none that others brought");
    }
    cr_assert_geq(told(), (uint64_t)WRITE * KEYS);
    records = playground_counter(&playground, "node-1", "site_tail_records_total");
    cr_assert_gt(records, 0);
    add_keys(KEYS + 1);
    for (int i = 0; i < NODES; i++) {
        follow(&tails[i]);
        cr_assert_leq(tails[i].keys, 2 * KEYS);
    }
    cr_assert_geq(told(), (uint64_t)WRITE * 2 * KEYS);
    cr_assert_gt(playground_counter(&playground, "node-1", "site_tail_records_total"), records);
    for (int i = 0; i < NODES; i++) {
        stranger_close(&tails[i].link);
    }
    playground_stop(&playground);
}

/* A kill may have taken something that others brought back: this replica is to be compared; what
 * comes after that is told. */
Test(site_tail, a_killed_node_says_that_it_is_to_be_compared, .timeout = LIMIT_S)
{
    struct tail *tail = &tails[0];
    uint64_t keys;

    playground_start(&playground, &(struct playground_plan){.nodes = NODES});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "1M", "--fpr", "1%");
    add_keys(1);
    meet(tail);
    follow(tail);
    cr_assert_not(tail->compare);
    playground_kill(&playground, "node-1");
    playground_restart(&playground, "node-1");
    playground_wait_counter(&playground, "node-1", "replicas_full", 1);
    stranger_close(&tail->link);
    tail->compare = false;
    {
        char endpoint[PLAYGROUND_ENDPOINT_BYTES];

        playground_endpoint(&playground, tail->name, endpoint);
        stranger_open(&tail->link, endpoint);
    }
    follow(tail);
    cr_assert(tail->compare);
    /* As if it had been, up to here. */
    cr_assert_eq(ask(tail, 0, false)->status, STATUS_OK);
    tail->boot = answer.body.site_tail_reply.boot;
    tail->next = answer.body.site_tail_reply.durable;
    keys = tail->keys;
    add_keys(KEYS + 1);
    follow(tail);
    cr_assert_not(tail->compare);
    cr_assert_gt(tail->keys, keys);
    stranger_close(&tail->link);
    playground_stop(&playground);
}
