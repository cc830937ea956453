/* Other names for filters: which renames change a document, and whose a name is that several have.
 */
#include "map/document_cache.h"
#include "map/rename.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};

static struct document_cache cache; /* each test is a process of its own */

static enum status take(struct filter_document *from)
{
    struct filter_document copy;
    struct buffer bytes;
    bool changed;
    enum status status;

    sample_document(from->id, from->content.name, &rule, 3, &copy);
    copy.revision = from->revision;
    copy.epoch = from->epoch;
    copy.content.state = from->content.state;
    copy.content.named_epoch = from->content.named_epoch;
    memcpy(copy.former_name, from->former_name, sizeof copy.former_name);
    copy.replaces = from->replaces;
    sample_sign(&copy, sample_key(), &bytes);
    status = document_cache_take(&cache, &copy, buffer_span(&bytes), &changed);
    document_fini(&copy);
    buffer_fini(&bytes);
    return status;
}

static uint64_t find(const char *name)
{
    const struct document_entry *entry = document_cache_find_name(&cache, name);

    return entry != NULL ? entry->document.id : 0;
}

Test(rename, is_another_epoch_until_all_is_fenced)
{
    struct filter_document document;
    const char *reason = NULL;

    sample_document(5, "next", &rule, 3, &document);
    cr_assert_not(rename_is_open(&document));
    rename_begin(&document, "list", 9);
    cr_assert(rename_is_open(&document));
    cr_assert_str_eq(document.content.name, "list");
    cr_assert_str_eq(document.former_name, "next");
    cr_assert_eq(document.replaces, 9);
    cr_assert_eq(document.epoch, 2);
    cr_assert_eq(document.content.named_epoch, 2);
    cr_assert_eq(document_validate(&document, &reason), STATUS_OK, "%s", reason);
    rename_end(&document);
    cr_assert_not(rename_is_open(&document));
    cr_assert_eq(document.replaces, 0);
    cr_assert_eq(document.epoch, 2, "no request is disturbed");
    cr_assert_eq(document.revision, 3);
    cr_assert_eq(document_validate(&document, &reason), STATUS_OK, "%s", reason);
    document_fini(&document);
}

Test(rename, what_no_document_can_have)
{
    struct filter_document document;

    sample_document(5, "next", &rule, 3, &document);
    document.replaces = 9;
    cr_assert_not_null(rename_fault(&document));
    document.replaces = 0;
    document.content.named_epoch = document.epoch + 1;
    cr_assert_not_null(rename_fault(&document));
    document.content.named_epoch = 0;
    rename_begin(&document, "list", 5);
    cr_assert_not_null(rename_fault(&document), "itself");
    document.replaces = 0;
    cr_assert_null(rename_fault(&document));
    document.content.named_epoch = 0;
    cr_assert_not_null(rename_fault(&document));
    document.content.named_epoch = 2;
    memcpy(document.former_name, "list", 5);
    cr_assert_not_null(rename_fault(&document), "the same");
    memcpy(document.former_name, "a/b", 4);
    cr_assert_not_null(rename_fault(&document));
    document_fini(&document);
}

/* In whichever order documents come, and whichever filter is older, the name is never nobody's. */
static void switch_names(uint64_t old_id, uint64_t target_id, bool target_first)
{
    struct filter_document old;
    struct filter_document target;

    sample_document(old_id, "next", &rule, 3, &old);
    sample_document(target_id, "list", &rule, 3, &target);
    cr_assert_eq(take(&old), STATUS_OK);
    cr_assert_eq(take(&target), STATUS_OK);
    cr_assert_eq(find("list"), target_id);
    rename_begin(&old, "list", target_id);
    document_epoch_advance(&target);
    target.content.state = FILTER_DROPPING;
    cr_assert_eq(take(target_first ? &target : &old), STATUS_OK);
    cr_assert_eq(find("list"), target_first ? 0 : old_id);
    cr_assert_eq(take(target_first ? &old : &target), STATUS_OK);
    cr_assert_eq(find("list"), old_id);
    cr_assert_eq(find("next"), 0);
    document_fini(&old);
    document_fini(&target);
    document_cache_fini(&cache);
}

Test(rename, the_cache_follows_it)
{
    switch_names(3, 8, false);
    switch_names(3, 8, true);
    switch_names(8, 3, false);
    switch_names(8, 3, true);
}

/* What a restore of the store goes by. */
Test(rename, a_name_is_not_lost_to_a_filter_that_was_dropped_before)
{
    struct filter_document old;
    struct filter_document target;

    sample_document(1, "next", &rule, 3, &old);
    sample_document(2, "list", &rule, 3, &target);
    rename_begin(&old, "list", 2);
    cr_assert_not(rename_lost(&old, &target), "though its end is not known");
    cr_assert(rename_lost(&target, &old));
    rename_end(&old);
    target.content.state = FILTER_DROPPED;
    cr_assert_not(rename_lost(&old, &target));
    old.content.named_epoch = 0;
    cr_assert(rename_lost(&old, &target), "it was always called so, and the other one came later");
    document_fini(&old);
    document_fini(&target);
}

Test(rename, documents_from_before_do_not_contradict)
{
    struct filter_document old;
    struct filter_document before;
    struct filter_document others;

    sample_document(3, "next", &rule, 3, &old);
    sample_document(3, "next", &rule, 3, &before);
    cr_assert_eq(take(&old), STATUS_OK);
    rename_begin(&old, "list", 0);
    cr_assert_eq(take(&old), STATUS_OK);
    cr_assert_eq(take(&before), STATUS_OK, "an older one, which is ignored");
    cr_assert_eq(find("list"), 3);
    sample_document(3, "third", &rule, 3, &others);
    others.revision = others.epoch = 5;
    others.content.named_epoch = 2;
    cr_assert_eq(take(&others), STATUS_CONFLICT, "since epoch 2 it is called list");
    document_fini(&old);
    document_fini(&before);
    document_fini(&others);
    document_cache_fini(&cache);
}

Test(rename, the_order_of_names_stays_right)
{
    struct filter_document documents[20];

    for (uint64_t i = 0; i < 20; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "f%02d", (int)(i * 7 % 20));
        sample_document(i + 1, name, &rule, 3, &documents[i]);
        cr_assert_eq(take(&documents[i]), STATUS_OK);
    }
    for (uint64_t i = 0; i < 20; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "%c%02d", i % 2 == 0 ? 'a' : 'z', (int)i);
        rename_begin(&documents[i], name, 0);
        cr_assert_eq(take(&documents[i]), STATUS_OK);
        for (uint64_t k = 0; k < 20; k++) {
            cr_assert_eq(find(documents[k].content.name), k + 1);
        }
    }
    for (uint64_t i = 0; i < 20; i++) {
        document_fini(&documents[i]);
    }
    document_cache_fini(&cache);
}
