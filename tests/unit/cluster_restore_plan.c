/* What does a lost store become, and when would that lose keys? */
#include "coordinator/plan/restore_plan.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};

/* A document of nodes 1 to 3 as a cache has it. */
static struct document_entry entry_of(uint64_t revision, uint64_t epoch, enum filter_state state)
{
    struct document_entry entry = {.signed_hash = revision};

    sample_document(7, "urls", &rule, 3, &entry.document);
    entry.document.revision = revision;
    entry.document.epoch = epoch;
    entry.document.content.state = state;
    return entry;
}

static const struct member asked[] = {
    {.node = 1, .incarnation = SAMPLE_INCARNATION + 1},
    {.node = 2, .incarnation = SAMPLE_INCARNATION + 2},
    {.node = 3, .incarnation = SAMPLE_INCARNATION + 3},
};

static struct restore_decision decide(const struct document_entry *stored,
                                      const struct document_entry *found, size_t nasked)
{
    struct restore_filter filter = {.stored = stored, .found = found, .has_secret = true};

    return restore_decide(&filter, asked, nasked);
}

Test(cluster_restore_plan, the_newest_goes_on_past_all_numbers)
{
    struct document_entry old = entry_of(4, 3, FILTER_ACTIVE);
    struct document_entry new = entry_of(9, 5, FILTER_ACTIVE);
    struct restore_filter filter = {.stored = &old, .found = &new, .fence = 6, .has_secret = true};
    struct restore_decision decision = restore_decide(&filter, asked, 3);

    cr_assert_eq(decision.action, RESTORE_RENEW);
    cr_assert_eq(decision.newest, &new);
    cr_assert_eq(decision.state, FILTER_ACTIVE);
    cr_assert_gt(decision.epoch, 6, "past the fence");
    cr_assert_gt(decision.revision, 9);
    cr_assert_geq(decision.revision, decision.epoch);
    cr_assert_not(decision.lost || decision.too_few || decision.two_contents);
    filter = (struct restore_filter){.stored = &new, .found = &old, .has_secret = true};
    cr_assert_eq(restore_decide(&filter, asked, 3).newest, &new, "whoever has it");
    document_fini(&old.document);
    document_fini(&new.document);
}

Test(cluster_restore_plan, what_was_dropped_stays_dropped)
{
    struct document_entry active = entry_of(4, 3, FILTER_ACTIVE);
    struct document_entry gone = entry_of(6, 5, FILTER_DROPPED);
    struct document_entry other = entry_of(6, 5, FILTER_DROPPED);

    other.signed_hash = 99;
    cr_assert_eq(decide(&active, &gone, 3).action, RESTORE_COPY);
    cr_assert_eq(decide(&active, &gone, 3).state, FILTER_DROPPED);
    cr_assert_eq(decide(&gone, &active, 3).action, RESTORE_KEEP);
    cr_assert_eq(decide(&gone, NULL, 3).action, RESTORE_KEEP);
    cr_assert_eq(decide(&gone, &other, 3).action, RESTORE_RENEW, "two contents of one number");
    cr_assert_eq(decide(&gone, &other, 3).state, FILTER_DROPPED);
    document_fini(&active.document);
    document_fini(&gone.document);
    document_fini(&other.document);
}

Test(cluster_restore_plan, a_filter_without_secret_or_name_is_dropped)
{
    struct document_entry held = entry_of(4, 3, FILTER_ACTIVE);
    struct restore_filter filter = {.found = &held};
    struct restore_decision decision = restore_decide(&filter, asked, 3);

    cr_assert(decision.lost);
    cr_assert_eq(decision.state, FILTER_DROPPING, "its nodes still serve it");
    filter = (struct restore_filter){.stored = &held, .has_secret = true, .name_taken = true};
    decision = restore_decide(&filter, asked, 3);
    cr_assert_not(decision.lost);
    cr_assert_eq(decision.state, FILTER_DROPPED);
    document_fini(&held.document);
}

/* With N=3, W=2, R=2 two of three: one of them has fenced what came into force later. */
Test(cluster_restore_plan, too_few_asked_is_said)
{
    struct document_entry held = entry_of(4, 3, FILTER_ACTIVE);

    cr_assert_not(decide(&held, NULL, 2).too_few);
    cr_assert(decide(&held, NULL, 1).too_few);
    held.document.content.groups[0].slots[0].current.incarnation = 5;
    cr_assert(decide(&held, NULL, 2).too_few, "another life knows nothing of the former one");
    held.document.content.rule = (struct quorum_rule){.replicas = 3, .write = 3, .read = 1};
    cr_assert_not(decide(&held, NULL, 2).too_few, "any writer knows");
    document_fini(&held.document);
}

Test(cluster_restore_plan, two_contents_under_one_number_are_said)
{
    struct document_entry held = entry_of(4, 3, FILTER_ACTIVE);

    held.conflict = true;
    cr_assert(decide(NULL, &held, 3).two_contents);
    document_fini(&held.document);
}

/* Whoever was not asked may know of other readers and keysets since the newest that is known. */
Test(cluster_restore_plan, readers_and_keysets_begin_anew)
{
    struct document_entry held = entry_of(4, 3, FILTER_ACTIVE);
    struct restore_decision decision = decide(NULL, &held, 3);
    struct filter_document *document = &held.document;
    struct filter_uid uid = document->content.uid;
    const char *reason = NULL;

    restore_renew(document, &decision);
    cr_assert_eq(document->epoch, decision.epoch);
    cr_assert_eq(document->revision, decision.revision);
    cr_assert(filter_uid_equal(&document->content.uid, &uid));
    cr_assert_eq(document->content.keysets[0].id, 1);
    cr_assert_eq(document->content.last_keyset, 1 + RESTORE_MARGIN);
    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        cr_assert_eq(document->content.groups[0].slots[i].read_since, document->epoch);
    }
    cr_assert_eq(document_validate(document, &reason), STATUS_OK, "%s", reason);
    document_fini(document);
}

/* ---- nodes ---- */

static struct node_record node(uint32_t id, const char *name, uint64_t incarnation, uint64_t boot)
{
    struct node_record record = {.id = id, .incarnation = incarnation, .boot = boot};

    (void)snprintf(record.name, sizeof record.name, "%s", name);
    return record;
}

Test(cluster_restore_plan, nodes_keep_ids_and_are_what_they_claim)
{
    struct node_record records[] = {node(1, "a", 10, 100), node(2, "b", 20, 200)};
    struct node_record claimed[] = {node(0, "c", 30, 300), node(0, "b", 20, 209)};
    struct node_list known = {.revision = 5, .count = 2, .nodes = records};
    struct restore_claim claims[] = {
        {.record = &claimed[0], .life = {.incarnation = 30, .boot = 300}},
        {.record = &claimed[1], .life = {.incarnation = 20, .boot = 209, .boot_before = 208}},
    };
    static const char *const off[] = {"a"};
    struct restore_nodes plan = {
        .known = &known,
        .claims = claims,
        .nclaims = 2,
        .off = off,
        .noff = 1,
        .last_id = 8,
        .revision = 12,
        .random = 1 << 20,
    };
    struct node_list out;

    cr_assert_eq(restore_plan_nodes(&plan, &out), STATUS_OK);
    cr_assert_eq(out.count, 3);
    cr_assert_gt(out.revision, 12);
    cr_assert_eq(node_list_find_name(&out, "a")->id, 1);
    cr_assert_neq(node_list_find_name(&out, "a")->incarnation, 10, "off for good");
    cr_assert_neq(node_list_find_name(&out, "a")->boot, 100);
    cr_assert_eq(node_list_find_name(&out, "b")->id, 2);
    cr_assert_eq(node_list_find_name(&out, "b")->boot, 209, "the backup's boots are older");
    cr_assert_eq(node_list_find_name(&out, "c")->id, 9, "never given before");
    node_list_fini(&out);

    plan.known_by_node = true; /* Then it is the node's folder that is older. */
    cr_assert_eq(restore_plan_nodes(&plan, &out), STATUS_OK);
    cr_assert_eq(node_list_find_name(&out, "b")->boot, 200);
    node_list_fini(&out);
}

Test(cluster_restore_plan, lists_of_other_nodes_are_told_apart)
{
    struct node_record a[] = {node(1, "a", 1, 0), node(2, "b", 1, 0)};
    struct node_record b[] = {node(2, "b", 9, 9), node(3, "c", 1, 0)};
    struct node_record c[] = {node(1, "b", 1, 0)};
    struct node_list list_a = {.count = 2, .nodes = a};
    struct node_list list_b = {.count = 2, .nodes = b};
    struct node_list list_c = {.count = 1, .nodes = c};

    cr_assert(restore_same_nodes(&list_a, &list_b));
    cr_assert_not(restore_same_nodes(&list_a, &list_c));
    cr_assert_not(restore_same_nodes(&list_c, &list_b));
}
