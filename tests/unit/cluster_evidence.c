/* Does evidence count for one epoch and one life of a node only? */
#include "base/heap.h"
#include "cluster/evidence.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct filter_document document;
static struct evidence evidence;

static void setup(void)
{
    sample_document(7, "urls", &rule, 4, &document); /* group g: nodes g + 1, g + 2, g + 3 */
    document.revision = 9;
    document.epoch = 5;
    cr_assert_eq(evidence_open(&evidence, &document), STATUS_OK);
}

static void teardown(void)
{
    evidence_fini(&evidence);
    document_fini(&document);
    if (heap_live() != 0) {
        abort();
    }
}

TestSuite(evidence, .init = setup, .fini = teardown);

Test(evidence, a_fence_counts_in_every_group_of_the_member)
{
    cr_assert(evidence_fence(&evidence, &document, 2, SAMPLE_INCARNATION + 2));
    cr_assert_eq(evidence.groups[0].current_fenced, 1U << 1);
    cr_assert_eq(evidence.groups[1].current_fenced, 1U << 0);
    cr_assert_eq(evidence.groups[2].current_fenced, 0, "nodes 3, 4, 1");
    cr_assert_eq(evidence.groups[3].current_fenced, 1U << 2);
    cr_assert_eq(evidence.groups[0].incoming_fenced, 0);
}

Test(evidence, another_life_of_the_node_does_not_count_unless_somebody_vouches)
{
    cr_assert_not(evidence_fence(&evidence, &document, 2, SAMPLE_INCARNATION + 99));
    cr_assert_eq(evidence.groups[0].current_fenced, 0);
    cr_assert_not(evidence_fence(&evidence, &document, 9, 0), "no member");
    cr_assert_not(evidence_fence(&evidence, &document, 0, 0), "no node");
    cr_assert(evidence_fence(&evidence, &document, 2, 0));
    cr_assert_eq(evidence.groups[0].current_fenced, 1U << 1);
}

Test(evidence, the_halves_of_a_pair_are_told_apart)
{
    document.content.groups[0].slots[1].incoming = (struct member){2, 2002};
    cr_assert(evidence_fence(&evidence, &document, 2, 2002));
    cr_assert_eq(evidence.groups[0].current_fenced, 0);
    cr_assert_eq(evidence.groups[0].incoming_fenced, 1U << 1);
    cr_assert(evidence_complete(&evidence, &document, 0, 2, 2002));
    cr_assert_eq(evidence.groups[0].complete, 1U << 1);
}

Test(evidence, only_incoming_members_are_complete)
{
    document.content.groups[0].slots[1].incoming = (struct member){2, 2002};
    cr_assert_not(evidence_complete(&evidence, &document, 0, 2, SAMPLE_INCARNATION + 2));
    cr_assert_not(evidence_complete(&evidence, &document, 1, 2, 2002), "no pair there");
    cr_assert_not(evidence_complete(&evidence, &document, 4, 2, 2002), "no such group");
    cr_assert_not(evidence_complete(&evidence, &document, 0, 2, 0), "nobody vouches for that");
    cr_assert_eq(evidence.groups[0].complete, 0);
}

Test(evidence, another_epoch_begins_with_nothing)
{
    cr_assert(evidence_fence(&evidence, &document, 2, 0));
    cr_assert(evidence_fits(&evidence, &document));
    document.epoch = 6;
    cr_assert_not(evidence_fits(&evidence, &document));
    cr_assert_eq(evidence_open(&evidence, &document), STATUS_OK);
    cr_assert(evidence_fits(&evidence, &document));
    cr_assert_eq(evidence.groups[0].current_fenced, 0);
    document.id = 8;
    cr_assert_not(evidence_fits(&evidence, &document));
}

Test(evidence, without_memory_it_stays_as_it_was)
{
    cr_assert(evidence_fence(&evidence, &document, 2, 0));
    document.epoch = 6;
    heap_fault_after(0);
    cr_assert_eq(evidence_open(&evidence, &document), STATUS_NOMEM);
    heap_fault_clear();
    cr_assert_eq(evidence.epoch, 5);
    cr_assert_neq(evidence.groups[0].current_fenced, 0);
}

/* Under v3 the old member may have been read a moment ago, the new one is read now. */
Test(evidence, a_slot_that_reads_its_newcomer_is_silent_when_both_have_fenced)
{
    struct slot *slot = &document.content.groups[0].slots[1];

    cr_assert(evidence_fence(&evidence, &document, 1, 0));
    cr_assert(evidence_fence(&evidence, &document, 2, SAMPLE_INCARNATION + 2));
    cr_assert_eq(evidence_silenced(&evidence, &document, 0), 3);
    slot->incoming = (struct member){2, 2002};
    cr_assert_eq(evidence_silenced(&evidence, &document, 0), 3, "nobody reads the newcomer");
    slot->reads_incoming = true;
    cr_assert_eq(evidence_silenced(&evidence, &document, 0), 1);
    cr_assert(evidence_fence(&evidence, &document, 2, 2002));
    cr_assert_eq(evidence_silenced(&evidence, &document, 0), 3);
}
