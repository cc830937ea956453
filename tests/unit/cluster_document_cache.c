/* The newest valid document is taken; two contents under one number are a conflict for good. */
#include "base/heap.h"
#include "map/document_cache.h"
#include "proto/codec.h"
#include "proto/signed_document.h"
#include "tests/support/sample_cluster.h"
#include "tests/support/story.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct story story;
static struct document_cache cache; /* Each test is a process of its own. */

/* Make a document with these numbers; `capacity` changes the revision's content, `read` the
 * epoch's. */
static void make(uint64_t id, const char *name, uint64_t revision, uint64_t epoch,
                 uint64_t capacity, uint32_t read, struct filter_document *document,
                 struct buffer *bytes)
{
    sample_document(id, name, &rule, 3, document);
    document->revision = revision;
    document->epoch = epoch;
    document->capacity = capacity;
    document->content.rule.read = read;
    sample_sign(document, sample_key(), bytes);
}

static enum status take_as(uint64_t id, const char *name, uint64_t revision, uint64_t epoch,
                           uint64_t capacity, uint32_t read, bool *changed)
{
    struct filter_document document;
    struct buffer bytes;
    enum status status;

    make(id, name, revision, epoch, capacity, read, &document, &bytes);
    status = document_cache_take(&cache, &document, buffer_span(&bytes), changed);
    cr_assert_eq(*changed, document.id == 0, "moved exactly when it changed");
    document_fini(&document);
    buffer_fini(&bytes);
    return status;
}

static enum status take(uint64_t revision, uint64_t epoch, uint64_t capacity, uint32_t read,
                        bool *changed)
{
    return take_as(7, "urls", revision, epoch, capacity, read, changed);
}

static void expect_held(uint64_t revision, uint64_t epoch, bool conflict)
{
    const struct document_entry *entry = document_cache_find(&cache, 7);

    cr_assert_not_null(entry);
    cr_assert_eq(entry->document.revision, revision);
    cr_assert_eq(entry->document.epoch, epoch);
    cr_assert_eq(entry->conflict, conflict);
}

static void tell_take(uint64_t revision, uint64_t epoch, uint64_t capacity, uint32_t read)
{
    bool changed;
    enum status status = take(revision, epoch, capacity, read, &changed);
    const struct document_entry *entry = document_cache_find(&cache, 7);

    cr_assert_not_null(entry);
    story_tell(&story, "revision %u, epoch %u: %s%s; held: %u, %u%s", (unsigned)revision,
               (unsigned)epoch, status_code(status), changed ? ", changed" : "",
               (unsigned)entry->document.revision, (unsigned)entry->document.epoch,
               entry->conflict ? ", conflict" : "");
}

Test(document_cache, takes_what_is_new_and_ignores_what_is_old_or_the_same)
{
    cr_assert_null(document_cache_find(&cache, 7));
    tell_take(3, 2, 10000, 2);
    tell_take(3, 2, 10000, 2);
    tell_take(2, 2, 9999, 2);
    tell_take(1, 1, 9999, 3);
    tell_take(4, 2, 20000, 2);
    tell_take(5, 3, 20000, 3);
    story_expect(&story, "revision 3, epoch 2: OK, changed; held: 3, 2\n"
                         "revision 3, epoch 2: OK; held: 3, 2\n"
                         "revision 2, epoch 2: OK; held: 3, 2\n"
                         "revision 1, epoch 1: OK; held: 3, 2\n"
                         "revision 4, epoch 2: OK, changed; held: 4, 2\n"
                         "revision 5, epoch 3: OK, changed; held: 5, 3\n");
    document_cache_fini(&cache);
    cr_assert_eq(heap_live(), 0);
}

/* What is handed on are the bytes that came. */
Test(document_cache, keeps_the_bytes_as_received)
{
    struct filter_document document;
    struct buffer bytes;
    const struct document_entry *entry;
    bool changed;

    make(7, "urls", 1, 1, 10000, 2, &document, &bytes);
    cr_assert_eq(document_cache_take(&cache, &document, buffer_span(&bytes), &changed), STATUS_OK);
    entry = document_cache_find(&cache, 7);
    cr_assert(span_equal(span_of(entry->signed_bytes, entry->signed_size), buffer_span(&bytes)));
    document_fini(&document);
    buffer_fini(&bytes);
    document_cache_fini(&cache);
}

Test(document_cache, another_content_under_one_revision_is_a_conflict)
{
    bool changed;

    cr_assert_eq(take(3, 2, 10000, 2, &changed), STATUS_OK);
    cr_assert_eq(take(3, 2, 20000, 2, &changed), STATUS_CONFLICT);
    cr_assert_not(changed);
    expect_held(3, 2, true);
}

/* Whoever has judged an entry has to look again. */
Test(document_cache, what_may_have_changed_an_entry_is_counted)
{
    uint64_t before;
    bool changed;

    cr_assert_eq(take(3, 2, 10000, 2, &changed), STATUS_OK);
    before = cache.changes;
    cr_assert_gt(before, 0);
    cr_assert_eq(take(4, 2, 20000, 2, &changed), STATUS_OK);
    cr_assert_gt(cache.changes, before);
    before = cache.changes;
    cr_assert_eq(take(4, 2, 10000, 2, &changed), STATUS_CONFLICT);
    cr_assert_gt(cache.changes, before);
    document_cache_fini(&cache);
}

Test(document_cache, another_content_under_one_epoch_is_a_conflict_whatever_the_revision)
{
    bool changed;

    for (uint64_t revision = 2; revision <= 4; revision++) {
        cache = (struct document_cache){0};
        cr_assert_eq(take(3, 2, 10000, 2, &changed), STATUS_OK);
        cr_assert_eq(take(revision, 2, 10000, 3, &changed), STATUS_CONFLICT, "revision %d",
                     (int)revision);
        expect_held(3, 2, true);
        document_cache_fini(&cache);
    }
}

Test(document_cache, an_epoch_that_goes_back_is_a_conflict)
{
    bool changed;

    cr_assert_eq(take(5, 4, 10000, 2, &changed), STATUS_OK);
    cr_assert_eq(take(6, 3, 10000, 3, &changed), STATUS_CONFLICT, "revision up, epoch down");
    expect_held(5, 4, true);
    document_cache_fini(&cache);
    cr_assert_eq(take(9, 4, 10000, 2, &changed), STATUS_OK);
    cr_assert_eq(take(8, 5, 10000, 3, &changed), STATUS_CONFLICT, "revision down, epoch up");
    expect_held(9, 4, true);
}

Test(document_cache, another_uid_is_a_conflict)
{
    struct filter_document document;
    struct buffer bytes;
    bool changed;

    cr_assert_eq(take(5, 4, 10000, 2, &changed), STATUS_OK);
    sample_document(7, "urls", &rule, 3, &document);
    document.revision = 6;
    document.epoch = 5;
    document.content.uid.low++;
    sample_sign(&document, sample_key(), &bytes);
    cr_assert_eq(document_cache_take(&cache, &document, buffer_span(&bytes), &changed),
                 STATUS_CONFLICT);
    expect_held(5, 4, true);
    document_fini(&document);
    buffer_fini(&bytes);
}

/* Nothing that comes later heals it in this process. */
Test(document_cache, what_is_in_conflict_stays_so)
{
    bool changed;

    cr_assert_eq(take(3, 2, 10000, 2, &changed), STATUS_OK);
    cr_assert_eq(take(3, 2, 20000, 2, &changed), STATUS_CONFLICT);
    (void)take(3, 2, 10000, 2, &changed);
    (void)take(9, 8, 10000, 2, &changed);
    cr_assert(document_cache_find(&cache, 7)->conflict);
}

Test(document_cache, a_filter_that_changes_its_name_is_a_conflict)
{
    bool changed;

    cr_assert_eq(take_as(7, "urls", 1, 1, 10000, 2, &changed), STATUS_OK);
    cr_assert_eq(take_as(7, "hosts", 2, 2, 10000, 2, &changed), STATUS_CONFLICT);
    cr_assert_null(document_cache_find_name(&cache, "hosts"));
}

static void take_state(uint64_t id, const char *name, uint64_t number, enum filter_state state)
{
    struct filter_document document;
    struct buffer bytes;
    bool changed;

    sample_document(id, name, &rule, 3, &document);
    document.revision = number;
    document.epoch = number;
    document.content.state = state;
    sample_sign(&document, sample_key(), &bytes);
    cr_assert_eq(document_cache_take(&cache, &document, buffer_span(&bytes), &changed), STATUS_OK);
    document_fini(&document);
    buffer_fini(&bytes);
}

/* A name means the filter that serves under it now. */
Test(document_cache, names_follow_drops_and_new_bindings)
{
    take_state(7, "urls", 1, FILTER_ACTIVE);
    take_state(3, "aaa", 1, FILTER_ACTIVE);
    take_state(9, "zzz", 1, FILTER_ACTIVE);
    cr_assert_eq(document_cache_find_name(&cache, "urls")->document.id, 7);
    take_state(7, "urls", 2, FILTER_DROPPING);
    cr_assert_null(document_cache_find_name(&cache, "urls"));
    take_state(7, "urls", 3, FILTER_DROPPED);
    cr_assert_null(document_cache_find_name(&cache, "urls"));
    take_state(8, "urls", 1, FILTER_ACTIVE);
    cr_assert_eq(document_cache_find_name(&cache, "urls")->document.id, 8);
    cr_assert_eq(document_cache_find(&cache, 7)->document.content.state, FILTER_DROPPED);
    cr_assert_null(document_cache_find_name(&cache, "url"));
    cr_assert_null(document_cache_find_name(&cache, "urls2"));
    cr_assert_null(document_cache_find_name(&cache, ""));
}

Test(document_cache, finds_each_of_many)
{
    char name[16];

    for (uint64_t i = 0; i < 200; i++) {
        uint64_t id = i * 37 % 200 + 1; /* not in order */

        (void)snprintf(name, sizeof name, "f%d", (int)(id * 91 % 200));
        take_state(id, name, 1, FILTER_ACTIVE);
    }
    for (uint64_t id = 1; id <= 200; id++) {
        (void)snprintf(name, sizeof name, "f%d", (int)(id * 91 % 200));
        cr_assert_eq(document_cache_find(&cache, id)->document.id, id);
        cr_assert_eq(document_cache_find_name(&cache, name)->document.id, id);
    }
    cr_assert_null(document_cache_find(&cache, 0));
    cr_assert_null(document_cache_find(&cache, 201));
}

/* With no memory a document is refused whole: it stays the caller's, what was held stays. */
static void fail_each_allocation(uint64_t id, uint64_t number, uint64_t held)
{
    enum status status = STATUS_NOMEM;

    for (unsigned n = 0; status == STATUS_NOMEM; n++) {
        struct filter_document document;
        struct buffer bytes;
        bool changed = true;

        make(id, "urls", number, number, 10000, 2, &document, &bytes);
        heap_fault_after(n);
        status = document_cache_take(&cache, &document, buffer_span(&bytes), &changed);
        heap_fault_clear();
        if (status == STATUS_NOMEM) {
            const struct document_entry *entry = document_cache_find(&cache, id);

            cr_assert_not(changed);
            cr_assert_eq(document.id, id, "still the caller's");
            cr_assert_eq(entry != NULL ? entry->document.revision : 0, held);
        }
        document_fini(&document);
        buffer_fini(&bytes);
    }
    cr_assert_eq(status, STATUS_OK);
}

Test(document_cache, survives_the_failure_of_every_allocation)
{
    fail_each_allocation(7, 1, 0);
    fail_each_allocation(7, 2, 1);
    for (uint64_t id = 8; id < 30; id++) {
        fail_each_allocation(id, 1, 0);
    }
    document_cache_fini(&cache);
    cr_assert_eq(heap_live(), 0, "leaked");
}

static enum status take_nodes(uint32_t nnodes, uint64_t revision, bool *changed)
{
    struct node_list nodes;
    struct buffer bytes;
    enum status status;

    sample_node_list(nnodes, revision, sample_key(), &bytes);
    cr_assert_eq(codec_node_list_open(buffer_span(&bytes), sample_key(), &nodes), STATUS_OK);
    status = document_cache_take_nodes(&cache, &nodes, buffer_span(&bytes), changed);
    node_list_fini(&nodes);
    buffer_fini(&bytes);
    return status;
}

static void tell_nodes(uint32_t count, uint64_t revision)
{
    bool changed;
    enum status status = take_nodes(count, revision, &changed);

    story_tell(&story, "%u nodes, revision %u: %s%s; held: %u", count, (unsigned)revision,
               status_code(status), changed ? ", changed" : "", (unsigned)cache.nodes.count);
}

Test(document_cache, the_node_list_follows_the_same_rule)
{
    tell_nodes(3, 5);
    tell_nodes(3, 5);
    tell_nodes(2, 4);
    tell_nodes(4, 5);
    tell_nodes(4, 6);
    story_expect(&story, "3 nodes, revision 5: OK, changed; held: 3\n"
                         "3 nodes, revision 5: OK; held: 3\n"
                         "2 nodes, revision 4: OK; held: 3\n"
                         "4 nodes, revision 5: CONFLICT; held: 3\n"
                         "4 nodes, revision 6: OK, changed; held: 4\n");
    document_cache_fini(&cache);
    cr_assert_eq(heap_live(), 0);
}

static enum status take_users(uint32_t count, uint64_t revision, bool *changed)
{
    struct user_list users = {.revision = revision, .last_id = count, .count = count};
    struct buffer bytes;
    enum status status;

    users.users = heap_zalloc(count, sizeof *users.users);
    for (uint32_t i = 0; i < count; i++) {
        users.users[i] = (struct user){.id = i + 1, .role = USER_CLIENT};
        (void)snprintf(users.users[i].name, USER_NAME_BYTES, "user-%u", i + 1);
    }
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_users_sign(&users, sample_key(), &bytes), STATUS_OK);
    status = document_cache_take_users(&cache, &users, buffer_span(&bytes), changed);
    cr_assert(*changed == (users.users == NULL), "moved if it was taken");
    user_list_fini(&users);
    buffer_fini(&bytes);
    return status;
}

static void tell_users(uint32_t count, uint64_t revision)
{
    bool changed;
    enum status status = take_users(count, revision, &changed);

    story_tell(&story, "%u users, revision %u: %s%s; held: %u", count, (unsigned)revision,
               status_code(status), changed ? ", changed" : "", (unsigned)cache.users.count);
}

Test(document_cache, so_does_the_record_of_users)
{
    tell_users(3, 5);
    tell_users(3, 5);
    tell_users(2, 4);
    tell_users(4, 5);
    tell_users(1, 6);
    story_expect(&story, "3 users, revision 5: OK, changed; held: 3\n"
                         "3 users, revision 5: OK; held: 3\n"
                         "2 users, revision 4: OK; held: 3\n"
                         "4 users, revision 5: CONFLICT; held: 3\n"
                         "1 users, revision 6: OK, changed; held: 1\n");
    document_cache_fini(&cache);
    cr_assert_eq(heap_live(), 0);
}

static enum status take_record(uint64_t revision, struct id_interval ids, bool *changed)
{
    struct dropped_record record = {.revision = revision};
    struct buffer bytes;
    enum status status;

    cr_assert_eq(id_set_add_interval(&record.ids, ids), STATUS_OK);
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_dropped_sign(&record, sample_key(), &bytes), STATUS_OK);
    status = document_cache_take_dropped(&cache, &record, buffer_span(&bytes), changed);
    dropped_record_fini(&record);
    buffer_fini(&bytes);
    return status;
}

static bool release_all_but(void *context, struct document_entry *entry)
{
    return entry->document.id != *(const uint64_t *)context;
}

Test(document_cache, filters_of_the_record_are_gone_and_stay_so)
{
    uint64_t kept = 8;
    bool changed;

    cr_assert_eq(take_as(6, "six", 1, 1, 10000, 2, &changed), STATUS_OK);
    cr_assert_eq(take_as(7, "seven", 1, 1, 10000, 2, &changed), STATUS_OK);
    cr_assert_eq(take_as(8, "eight", 1, 1, 10000, 2, &changed), STATUS_OK);
    cr_assert_eq(take_record(2, (struct id_interval){7, 8}, &changed), STATUS_OK);
    cr_assert(changed);
    cr_assert_null(document_cache_find_name(&cache, "seven"), "its name is free");
    cr_assert_eq(document_cache_find(&cache, 7)->document.content.state, FILTER_DROPPED);
    cr_assert_gt(document_cache_find(&cache, 7)->document.epoch, 1);
    document_cache_sweep(&cache, release_all_but, &kept);
    cr_assert_null(document_cache_find(&cache, 7));
    cr_assert_not_null(document_cache_find(&cache, 8), "still in use");
    cr_assert_not_null(document_cache_find_name(&cache, "six"));
    kept = 0;
    document_cache_sweep(&cache, release_all_but, &kept);
    cr_assert_eq(cache.count, 1);
    cr_assert_eq(cache.ngone, 0);
    cr_assert_eq(take_as(7, "seven", 99, 99, 10000, 2, &changed), STATUS_OK);
    cr_assert_null(document_cache_find(&cache, 7), "however new");
    document_cache_fini(&cache);
    cr_assert_eq(heap_live(), 0);
}

static void tell_record(uint64_t revision, struct id_interval ids)
{
    bool changed = false;
    enum status status = take_record(revision, ids, &changed);
    char dropped[64] = "";

    for (uint64_t id = 1; id < 10; id++) {
        if (document_cache_is_dropped(&cache, id)) {
            (void)snprintf(dropped + strlen(dropped), sizeof dropped - strlen(dropped), " %u",
                           (unsigned)id);
        }
    }
    story_tell(&story, "revision %u, %u to %u: %s%s; dropped:%s", (unsigned)revision,
               (unsigned)ids.first, (unsigned)ids.last, status_code(status),
               changed ? ", changed" : "", dropped);
}

Test(document_cache, a_record_only_ever_gains_ids)
{
    tell_record(2, (struct id_interval){7, 8});
    tell_record(1, (struct id_interval){1, 1});
    tell_record(2, (struct id_interval){7, 8});
    tell_record(2, (struct id_interval){7, 9});
    tell_record(3, (struct id_interval){8, 9});
    tell_record(3, (struct id_interval){7, 9});
    story_expect(&story, "revision 2, 7 to 8: OK, changed; dropped: 7 8\n"
                         "revision 1, 1 to 1: OK; dropped: 7 8\n"
                         "revision 2, 7 to 8: OK; dropped: 7 8\n"
                         "revision 2, 7 to 9: CONFLICT; dropped: 7 8\n"
                         "revision 3, 8 to 9: CONFLICT; dropped: 7 8\n"
                         "revision 3, 7 to 9: OK, changed; dropped: 7 8 9\n");
    document_cache_fini(&cache);
    cr_assert_eq(heap_live(), 0);
}
