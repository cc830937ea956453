/* Rebuilding from a list: which step is legal when, what it writes, and what fences suffice. */
#include "base/heap.h"
#include "coordinator/plan/rebuild.h"
#include "map/history/keyset.h"
#include "tests/support/expansion_cluster.h"
#include "tests/support/sample_cluster.h"
#include "tests/support/story.h"

#include <criterion/criterion.h>

enum { RING = 5 /* nodes, and as many slot groups */ };

static struct expansion_cluster cluster;
static struct evidence evidence;

static struct filter_document *document(void)
{
    return &cluster.document;
}

static void make(uint32_t nnodes)
{
    expansion_cluster_init(&cluster, nnodes);
    document()->durability = DURABILITY_SYNC;
}

static void teardown(void)
{
    evidence_fini(&evidence);
    expansion_cluster_fini(&cluster);
    if (heap_live() != 0) {
        abort();
    }
}

TestSuite(rebuild, .fini = teardown);

static enum rebuild_verdict may_begin(void)
{
    return rebuild_may_begin(&cluster.view).verdict;
}

static uint32_t begin(void)
{
    struct rebuild_answer answer = rebuild_may_begin(&cluster.view);

    cr_assert_eq(answer.verdict, REBUILD_VERDICT_WRITE);
    rebuild_begin(document(), &answer);
    cr_assert_eq(evidence_open(&evidence, document()), STATUS_OK);
    return answer.keyset;
}

static void fence(uint32_t node)
{
    cr_assert(evidence_fence(&evidence, document(), node, SAMPLE_INCARNATION + node));
}

static void fence_all(void)
{
    cr_assert_eq(evidence_open(&evidence, document()), STATUS_OK);
    for (uint32_t node = 1; node <= cluster.view.nnodes; node++) {
        fence(node);
    }
}

static enum rebuild_verdict may_commit(uint32_t keyset, bool empty)
{
    return rebuild_may_commit(document(), keyset, &evidence, empty).verdict;
}

Test(rebuild, past_the_last_number_none_begins)
{
    make(3);
    document()->content.last_keyset = UINT32_MAX;
    cr_assert_eq(may_begin(), REBUILD_VERDICT_WORN);
    document()->content.last_keyset = UINT32_MAX - 1;
    cr_assert_eq(begin(), UINT32_MAX);
}

/* What was meant for one that was aborted gets into no other one. */
Test(rebuild, a_number_is_never_used_again)
{
    make(3);
    document()->revision = 1000;
    cr_assert_eq(begin(), 2, "the number is no revision");
    rebuild_abort(document());
    cr_assert_eq(begin(), 3);
    rebuild_commit(document());
    cr_assert_eq(begin(), 4);
    rebuild_abort(document());
    cr_assert_eq(document()->content.last_keyset, 4);
    keyset_skip(&document()->content, 6);
    cr_assert_eq(begin(), 11, "as many may have been begun where nobody was asked");
    rebuild_abort(document());
    keyset_skip(&document()->content, UINT32_MAX);
    cr_assert_eq(may_begin(), REBUILD_VERDICT_WORN);
}

static const char *word(enum rebuild_verdict verdict)
{
    static const char *const words[] = {
        [REBUILD_VERDICT_WRITE] = "WRITE",   [REBUILD_VERDICT_JOINS] = "JOINS",
        [REBUILD_VERDICT_FENCES] = "FENCES", [REBUILD_VERDICT_NOT_OPEN] = "NOT_OPEN",
        [REBUILD_VERDICT_OTHER] = "OTHER",   [REBUILD_VERDICT_EMPTY] = "EMPTY",
    };

    cr_assert(verdict < sizeof words / sizeof words[0] && words[verdict] != NULL, "verdict %d",
              (int)verdict);
    return words[verdict];
}

/* Where the rebuild stands, what may be fed to whatever is open, to 2, to 1; may 2 be committed? */
static void tell(struct story *story, const char *when)
{
    story_tell(story, "%s: epoch %u, serves %u, next %u, %u fed; feed %s, 2 %s, 1 %s; commit %s",
               when, (unsigned)document()->epoch, rebuild_serving(document()),
               rebuild_keyset(document()), (unsigned)document()->fed_keys,
               word(rebuild_may_feed(document(), 0).verdict),
               word(rebuild_may_feed(document(), 2).verdict),
               word(rebuild_may_feed(document(), 1).verdict), word(may_commit(2, false)));
}

Test(rebuild, from_begin_to_commit)
{
    struct story story = {0};

    make(3);
    tell(&story, "made");
    cr_assert_eq(may_commit(rebuild_serving(document()), true), REBUILD_VERDICT_NOT_OPEN,
                 "nothing was ever committed");
    cr_assert_eq(begin(), 2, "the next one");
    tell(&story, "begun");
    rebuild_note_fed(document(), 10);
    rebuild_note_fed(document(), 20);
    tell(&story, "fed");
    fence(1);
    tell(&story, "one fence");
    fence(2);
    tell(&story, "two fences");
    rebuild_commit(document());
    tell(&story, "committed");
    cr_assert_not(rebuild_fenced(document(), &evidence), "fences of the epoch before");
    story_expect(&story,
                 "made: epoch 1, serves 1, next 0, 0 fed; feed NOT_OPEN, 2 NOT_OPEN, 1 NOT_OPEN; "
                 "commit NOT_OPEN\n"
                 "begun: epoch 2, serves 1, next 2, 0 fed; feed WRITE, 2 WRITE, 1 OTHER; "
                 "commit EMPTY\n"
                 "fed: epoch 2, serves 1, next 2, 30 fed; feed WRITE, 2 WRITE, 1 OTHER; "
                 "commit FENCES\n"
                 "one fence: epoch 2, serves 1, next 2, 30 fed; feed WRITE, 2 WRITE, 1 OTHER; "
                 "commit FENCES\n"
                 "two fences: epoch 2, serves 1, next 2, 30 fed; feed WRITE, 2 WRITE, 1 OTHER; "
                 "commit WRITE\n"
                 "committed: epoch 3, serves 2, next 0, 0 fed; feed NOT_OPEN, 2 NOT_OPEN, "
                 "1 NOT_OPEN; commit JOINS\n");
}

/* Fences count in every slot group: two nodes of five are in three groups of five together. */
Test(rebuild, every_slot_group_takes_f_fences)
{
    make(RING);
    (void)begin();
    for (uint32_t node = 1; node <= 3; node++) {
        cr_assert_not(rebuild_fenced(document(), &evidence), "without node %u", node);
        fence(node);
    }
    cr_assert_not(rebuild_fenced(document(), &evidence), "group 3 is on nodes 4, 5 and 1");
    cr_assert_eq(rebuild_fences_missing(document(), &evidence, 3), 1);
    cr_assert_eq(rebuild_fences_missing(document(), &evidence, 0), 0);
    fence(4);
    cr_assert(rebuild_fenced(document(), &evidence));
    cr_assert_not(rebuild_fenced(document(), NULL));
    document_epoch_advance(document());
    cr_assert_not(rebuild_fenced(document(), &evidence), "of another epoch");
}

Test(rebuild, an_abort_leaves_all_and_no_number_comes_again)
{
    uint32_t first;

    make(3);
    first = begin();
    rebuild_note_fed(document(), 10);
    cr_assert_eq(rebuild_may_abort(document(), 0).verdict, REBUILD_VERDICT_WRITE);
    rebuild_abort(document());
    cr_assert_eq(rebuild_serving(document()), 1);
    cr_assert_eq(rebuild_may_abort(document(), 0).verdict, REBUILD_VERDICT_NOT_OPEN);
    cr_assert_eq(document()->fed_keys, 0);
    cr_assert_gt(begin(), first);
    cr_assert_eq(rebuild_may_feed(document(), first).verdict, REBUILD_VERDICT_OTHER);
    cr_assert_eq(rebuild_may_abort(document(), first).verdict, REBUILD_VERDICT_OTHER);
    fence_all();
    cr_assert_eq(may_commit(first, true), REBUILD_VERDICT_OTHER);
}

Test(rebuild, a_list_that_is_empty_must_be_meant)
{
    make(3);
    (void)begin();
    fence_all();
    cr_assert_eq(may_commit(0, false), REBUILD_VERDICT_EMPTY);
    cr_assert_eq(may_commit(0, true), REBUILD_VERDICT_WRITE);
}

Test(rebuild, a_node_needs_its_shards_once_more)
{
    struct rebuild_answer answer;
    struct expansion_node *node;
    uint64_t more;

    make(3);
    node = expansion_cluster_node(&cluster, 2);
    more = document_nshards(document()) * document_shard_bytes(document());
    node->limit_bytes = node->used_bytes + more;
    cr_assert_eq(may_begin(), REBUILD_VERDICT_WRITE);
    node->limit_bytes--;
    answer = rebuild_may_begin(&cluster.view);
    cr_assert_eq(answer.verdict, REBUILD_VERDICT_NO_ROOM);
    cr_assert_eq(answer.node, 2);
    cr_assert_eq(answer.missing_bytes, 1);
    cr_assert_eq(answer.needed_bytes, node->used_bytes + more);
}

Test(rebuild, some_filters_and_moments_do_not_do)
{
    struct slot *slot;

    make(3);
    document()->keylog = KEYLOG_OFF;
    cr_assert_eq(may_begin(), REBUILD_VERDICT_NO_KEYLOG);
    document()->keylog = KEYLOG_ON;
    document()->durability = DURABILITY_MEMORY;
    cr_assert_eq(may_begin(), REBUILD_VERDICT_IN_MEMORY);
    document()->durability = DURABILITY_OS;
    document()->window_us = 1;
    cr_assert_eq(may_begin(), REBUILD_VERDICT_WINDOW);
    document()->window_us = 0;
    cr_assert_eq(document_put_sites(document(), &(struct site_set){.count = 1}), STATUS_OK);
    cr_assert_eq(may_begin(), REBUILD_VERDICT_SITES);
    cr_assert_eq(document_put_sites(document(), &(struct site_set){0}), STATUS_OK);
    document()->content.state = FILTER_DROPPING;
    cr_assert_eq(may_begin(), REBUILD_VERDICT_NOT_ACTIVE);
    document()->content.state = FILTER_ACTIVE;
    document()->load_source = 7;
    document()->loaded = DOCUMENT_LOAD_END - 1;
    cr_assert_eq(may_begin(), REBUILD_VERDICT_LOADS, "what was loaded would be forgotten");
    document()->loaded = DOCUMENT_LOAD_END;
    document()->ngenerations = 2;
    cr_assert_eq(may_begin(), REBUILD_VERDICT_GROWS);
    document()->ngenerations = 1;
    slot = &document()->content.groups[0].slots[1];
    slot->incoming = (struct member){2, 9};
    cr_assert_eq(may_begin(), REBUILD_VERDICT_REPLICAS);
    slot->incoming = (struct member){0};
    (void)begin();
    cr_assert_eq(may_begin(), REBUILD_VERDICT_JOINS);
    document()->loaded = DOCUMENT_LOAD_FIRST;
    cr_assert_eq(may_commit(0, true), REBUILD_VERDICT_LOADS, "begun by an older coordinator");
    cr_assert_eq(rebuild_may_abort(document(), 0).verdict, REBUILD_VERDICT_WRITE);
    document()->loaded = DOCUMENT_LOAD_END;
    slot->incoming = (struct member){2, 9};
    fence_all();
    cr_assert_eq(may_begin(), REBUILD_VERDICT_JOINS, "its answer only waits");
    cr_assert_eq(may_commit(0, true), REBUILD_VERDICT_REPLICAS);
    cr_assert_eq(rebuild_may_abort(document(), 0).verdict, REBUILD_VERDICT_REPLICAS);
    cr_assert_eq(rebuild_may_feed(document(), 0).verdict, REBUILD_VERDICT_WRITE);
    document()->content.state = FILTER_DROPPING;
    cr_assert_eq(may_commit(0, true), REBUILD_VERDICT_NOT_ACTIVE);
}

/* Both ways: see some_filters_and_moments_do_not_do. */
Test(rebuild, nothing_grows_meanwhile)
{
    const struct expansion_wish wish = {.capacity = 20000};

    make(3);
    cr_assert_eq(expansion_request(&cluster.view, &wish, 1).verdict, EXPANSION_VERDICT_BEGIN);
    (void)begin();
    cr_assert_eq(expansion_request(&cluster.view, &wish, 1).verdict, EXPANSION_VERDICT_REBUILDS);
}
