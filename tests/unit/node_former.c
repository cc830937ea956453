/* A node's log that begins with documents of a key which is gone. */
#include "base/heap.h"
#include "node/former.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

static const struct quorum_rule rule = {3, 2, 2};

static struct former former;
static struct document_cache documents;

static void setup(void)
{
    former = (struct former){0};
    documents = (struct document_cache){0};
}

static void teardown(void)
{
    former_fini(&former);
    document_cache_fini(&documents);
    cr_assert_eq(heap_live(), 0);
}

TestSuite(node_former, .init = setup, .fini = teardown);

static void sign(uint64_t revision, const struct cluster_key *key, struct filter_document *document,
                 struct buffer *bytes)
{
    sample_document(7, "urls", &rule, 3, document);
    document->revision = revision;
    sample_sign(document, key, bytes);
}

static void note_filter(uint64_t revision)
{
    struct filter_document document;
    struct buffer bytes;

    sign(revision, sample_foreign_key(), &document, &bytes);
    cr_assert_eq(former_note(&former, buffer_span(&bytes)), STATUS_OK);
    document_fini(&document);
    buffer_fini(&bytes);
}

static void hold_filter(uint64_t revision)
{
    struct filter_document document;
    struct buffer bytes;
    bool changed;

    sign(revision, sample_key(), &document, &bytes);
    cr_assert_eq(document_cache_take(&documents, &document, buffer_span(&bytes), &changed),
                 STATUS_OK);
    cr_assert(changed);
    buffer_fini(&bytes);
}

Test(node_former, nothing_to_judge_is_fine)
{
    cr_assert_eq(former_judge(&former, &documents), STATUS_OK);
}

Test(node_former, a_later_document_takes_the_place)
{
    note_filter(3);
    note_filter(4);
    hold_filter(5);
    cr_assert_eq(former_judge(&former, &documents), STATUS_OK);
}

Test(node_former, without_a_later_one_the_node_does_not_start)
{
    note_filter(3);
    cr_assert_eq(former_judge(&former, &documents), STATUS_UNAUTHENTIC);
    cr_assert_eq(former_judge(&former, &documents), STATUS_OK, "judged and forgotten");
    note_filter(5);
    hold_filter(4);
    cr_assert_eq(former_judge(&former, &documents), STATUS_UNAUTHENTIC);
}

Test(node_former, node_lists_count_like_documents)
{
    struct buffer bytes;

    sample_node_list(3, 2, sample_foreign_key(), &bytes);
    cr_assert_eq(former_note(&former, buffer_span(&bytes)), STATUS_OK);
    cr_assert_eq(former_judge(&former, &documents), STATUS_UNAUTHENTIC);
    cr_assert_eq(former_note(&former, buffer_span(&bytes)), STATUS_OK);
    documents.nodes.revision = 3;
    cr_assert_eq(former_judge(&former, &documents), STATUS_OK);
    buffer_fini(&bytes);
}

Test(node_former, what_is_no_document_replaces_nothing)
{
    hold_filter(5);
    cr_assert_eq(former_note(&former, span_text("garbage")), STATUS_OK);
    cr_assert_eq(former_judge(&former, &documents), STATUS_UNAUTHENTIC);
}
