/* Does evidence count for one epoch and one life of a node only? */
#include "base/heap.h"
#include "coordinator/plan/evidence.h"
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

Test(evidence, another_life_of_the_node_does_not_count)
{
    cr_assert_not(evidence_fence(&evidence, &document, 2, SAMPLE_INCARNATION + 99));
    cr_assert_not(evidence_fence(&evidence, &document, 9, SAMPLE_INCARNATION + 9), "no member");
    cr_assert_not(evidence_fence(&evidence, &document, 0, 0), "no node");
    cr_assert_not(evidence_fence(&evidence, &document, 2, 0), "no life");
    cr_assert_eq(evidence.groups[0].current_fenced, 0);
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
    cr_assert(evidence_fence(&evidence, &document, 2, SAMPLE_INCARNATION + 2));
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
    cr_assert(evidence_fence(&evidence, &document, 2, SAMPLE_INCARNATION + 2));
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

    cr_assert(evidence_fence(&evidence, &document, 1, SAMPLE_INCARNATION + 1));
    cr_assert(evidence_fence(&evidence, &document, 2, SAMPLE_INCARNATION + 2));
    cr_assert_eq(evidence_silenced(&evidence, &document, 0), 3);
    slot->incoming = (struct member){2, 2002};
    cr_assert_eq(evidence_silenced(&evidence, &document, 0), 3, "nobody reads the newcomer");
    slot->reads_incoming = true;
    cr_assert_eq(evidence_silenced(&evidence, &document, 0), 1);
    cr_assert(evidence_fence(&evidence, &document, 2, 2002));
    cr_assert_eq(evidence_silenced(&evidence, &document, 0), 3);
}

/* ---- the operator's word; group 0: nodes 1, 2, 3 ---- */

enum { NNODES = 4 };

static struct node_record records[NNODES];
static bool alive[NNODES];
static struct node_list list = {.revision = 1, .count = NNODES, .nodes = records};
static const struct evidence_nodes nodes = {&list, alive};

static void all_live(void)
{
    for (uint32_t i = 0; i < NNODES; i++) {
        records[i] = (struct node_record){.id = i + 1, .incarnation = SAMPLE_INCARNATION + i + 1};
        alive[i] = true;
    }
}

static bool vouch(uint32_t node, uint64_t incarnation, bool runs)
{
    const struct vouched_life word = {{node, incarnation}, runs};

    return evidence_vouch(&evidence, &document, &nodes, &word);
}

static uint8_t quiet(void)
{
    return evidence_quiet(&evidence, &document, &nodes, 0);
}

Test(evidence, who_is_silent_counts_by_name_only)
{
    all_live();
    cr_assert_not(vouch(2, SAMPLE_INCARNATION + 2, false), "it is heard of");
    alive[1] = alive[2] = false;
    cr_assert_eq(quiet(), 0, "nobody has vouched for anything");
    cr_assert(vouch(2, SAMPLE_INCARNATION + 2, false));
    cr_assert_eq(quiet(), 1U << 1, "and not node 3, which is as silent");
    cr_assert_eq(evidence_silenced(&evidence, &document, 0), 0, "it is no fence");
    cr_assert(evidence_fence(&evidence, &document, 1, SAMPLE_INCARNATION + 1));
    cr_assert_eq(quiet(), 3);
    alive[1] = true;
    cr_assert_eq(quiet(), 1, "it is heard of again, so it has to fence");
}

Test(evidence, a_word_is_about_the_life_that_was_seen_and_those_before)
{
    all_live();
    alive[1] = false;
    records[1].incarnation = 2002;
    cr_assert_not(vouch(2, SAMPLE_INCARNATION + 2, false), "another life has its place by now");
    cr_assert_not(vouch(2, 2001, false), "and that was not the one before it either");
    cr_assert_eq(quiet(), 0);
    cr_assert(vouch(2, 2002, false));
    cr_assert_eq(quiet(), 1U << 1, "the one before it");
}

/* It was alive when the operator looked. That it is silent now he has not seen. */
Test(evidence, of_a_node_that_was_seen_alive_only_former_lives_are_meant)
{
    all_live();
    alive[1] = false;
    cr_assert_not(vouch(2, SAMPLE_INCARNATION + 2, true));
    cr_assert_eq(quiet(), 0);
    records[1].incarnation = 2002;
    alive[1] = true;
    document.content.groups[0].slots[2].current = (struct member){2, 2002};
    cr_assert(vouch(2, 2002, true));
    cr_assert_eq(quiet(), 1U << 1);
}

Test(evidence, of_a_node_that_is_not_listed_one_life_is_meant)
{
    all_live();
    list.count = 2;
    cr_assert_not(vouch(3, SAMPLE_INCARNATION + 99, false));
    cr_assert_not(vouch(0, 0, false), "no node");
    cr_assert(vouch(3, SAMPLE_INCARNATION + 3, false));
    cr_assert_eq(quiet(), 1U << 2);
}

/* What was said before counts here, too: in the node list, or when a loss was accepted. */
Test(evidence, earlier_words_count)
{
    all_live();
    records[0].confirmed_off = SAMPLE_INCARNATION + 1;
    cr_assert_eq(quiet(), 0, "it is heard of");
    alive[0] = false;
    cr_assert_eq(quiet(), 1);
    records[0].incarnation = 2001;
    alive[0] = true;
    cr_assert_eq(quiet(), 1, "its former life was vouched for");
    document.content.groups[0].lost[0] = (struct member){3, SAMPLE_INCARNATION + 3};
    cr_assert_eq(quiet(), 5, "given up, though it is back");
}

Test(evidence, both_halves_of_a_pair_that_is_read_anew_are_needed)
{
    struct slot *slot = &document.content.groups[0].slots[1];

    all_live();
    slot->incoming = (struct member){4, SAMPLE_INCARNATION + 4};
    slot->reads_incoming = true;
    alive[1] = alive[3] = false;
    cr_assert(vouch(2, SAMPLE_INCARNATION + 2, false));
    cr_assert_eq(quiet(), 0);
    cr_assert(vouch(4, SAMPLE_INCARNATION + 4, false));
    cr_assert_eq(quiet(), 1U << 1);
}
