/* When a mark counts, and when it never does; what is told of the newest one. */
#include "base/heap.h"
#include "site/mark.h"

#include <criterion/criterion.h>

enum { TAG = 77, GROUPS = 2, READ = 2 };

static const struct mark_scope scope = {
    .own = {.number = 1, .tag = 11},
    .source = {.number = 2, .tag = 22},
    .set_hash = 33,
    .keyset = 1,
};

/* Two nodes of each of two groups. */
static const struct mark_log ends[] = {
    {.group = 0, .node = 1, .incarnation = 5, .boot = 50, .offset = 100},
    {.group = 0, .node = 2, .incarnation = 6, .boot = 60, .offset = 200},
    {.group = 1, .node = 2, .incarnation = 6, .boot = 60, .offset = 200},
    {.group = 1, .node = 3, .incarnation = 7, .boot = 70, .offset = 300},
};
enum { NENDS = sizeof ends / sizeof ends[0] };

static struct marks marks;

static void set_up(void)
{
    marks_init(&marks, TAG);
    marks_enter(&marks, &scope);
}

static void end(void)
{
    marks_fini(&marks);
    cr_assert_eq(heap_live(), 0);
}

TestSuite(site_mark, .init = set_up);

static struct mark_id begin(uint64_t now_us)
{
    struct mark_id id = {0};

    cr_assert_eq(marks_begin(&marks, now_us, &id), STATUS_OK);
    return id;
}

static enum status answer(struct mark_id id)
{
    return marks_answered(&marks, &id, GROUPS, READ, ends, NENDS);
}

static void apply(size_t at, uint64_t offset)
{
    struct mark_log log = ends[at];

    log.offset = offset;
    cr_assert_eq(marks_applied(&marks, &log), STATUS_OK);
}

static void apply_all(void)
{
    for (size_t i = 0; i < NENDS; i++) {
        apply(i, ends[i].offset);
    }
}

static bool is_known(void)
{
    return marks_tell(&marks, 0, UINT64_MAX).known;
}

Test(site_mark, one_counts_once_all_is_applied)
{
    cr_assert_eq(answer(begin(1000)), STATUS_OK);
    for (size_t i = 0; i < NENDS; i++) {
        cr_assert_not(is_known(), "%zu of %d are applied", i, NENDS);
        apply(i, ends[i].offset - 1);
        cr_assert_not(is_known());
        apply(i, ends[i].offset);
    }
    cr_assert_eq(marks_tell(&marks, 0, 1500).age_us, 501, "rounded up");
    end();
}

Test(site_mark, what_was_applied_before_it_is_answered_counts)
{
    struct mark_id id = begin(1000);

    apply_all();
    cr_assert_not(is_known());
    cr_assert_eq(answer(id), STATUS_OK);
    cr_assert(is_known());
    end();
}

Test(site_mark, an_age_is_of_when_it_was_begun)
{
    struct mark_id id = begin(1000);

    apply_all();
    cr_assert_eq(answer(id), STATUS_OK);
    cr_assert_eq(marks_tell(&marks, 0, 1000).age_us, 1);
    cr_assert_eq(marks_tell(&marks, 0, 5000).age_us, 4001);
    cr_assert_not(marks_tell(&marks, 0, 999).known, "that clock can't be right");
    end();
}

Test(site_mark, the_newest_counts_in_whatever_order)
{
    struct mark_id first = begin(1000);
    struct mark_id second = begin(2000);
    struct mark_id third = begin(3000);

    apply_all();
    cr_assert_eq(answer(second), STATUS_OK);
    cr_assert_eq(marks_tell(&marks, 0, 4000).age_us, 2001);
    cr_assert_eq(answer(first), STATUS_NOT_FOUND, "it has nothing to add");
    cr_assert_eq(marks_tell(&marks, 0, 4000).age_us, 2001);
    cr_assert_eq(answer(third), STATUS_OK);
    cr_assert_eq(marks_tell(&marks, 0, 4000).age_us, 1001);
    end();
}

Test(site_mark, after_is_by_the_order_of_events)
{
    struct mark_id first = begin(1000);
    uint64_t before = marks_begun(&marks);
    struct mark_id second = begin(1000);

    apply_all();
    cr_assert_eq(answer(first), STATUS_OK);
    cr_assert_not(marks_tell(&marks, before, 1000).after, "it was begun before");
    cr_assert_eq(answer(second), STATUS_OK);
    cr_assert(marks_tell(&marks, before, 1000).after);
    cr_assert_not(marks_tell(&marks, marks_begun(&marks), 1000).after);
    end();
}

Test(site_mark, answers_to_others_say_nothing)
{
    struct mark_id id = begin(1000);
    struct mark_id foreign = {.tag = TAG + 1, .number = id.number};

    apply_all();
    cr_assert_eq(answer(foreign), STATUS_NOT_FOUND, "of the link before this one was started");
    cr_assert_eq(answer((struct mark_id){TAG, id.number + 1}), STATUS_NOT_FOUND);
    cr_assert_not(is_known());
    end();
}

Test(site_mark, one_is_answered_once)
{
    struct mark_log less[NENDS];
    struct mark_id id = begin(1000);

    cr_assert_eq(answer(id), STATUS_OK);
    for (size_t i = 0; i < NENDS; i++) {
        less[i] = ends[i];
        less[i].offset = 0;
        apply(i, 1);
    }
    cr_assert_eq(marks_answered(&marks, &id, GROUPS, READ, less, NENDS), STATUS_NOT_FOUND);
    cr_assert_not(is_known());
    end();
}

/* ---- answers that say too little ---- */

static void refuses(uint32_t ngroups, uint32_t read, const struct mark_log *some, size_t count)
{
    struct mark_id id = begin(1000);

    cr_assert_eq(marks_answered(&marks, &id, ngroups, read, some, count), STATUS_MALFORMED);
    cr_assert_eq(answer(id), STATUS_OK, "it is as before");
    marks_fini(&marks);
    set_up();
    apply_all();
}

Test(site_mark, what_names_too_few_is_refused)
{
    struct mark_log some[NENDS];

    refuses(0, READ, ends, 0);
    refuses(GROUPS, 0, ends, NENDS);
    refuses(GROUPS, READ, ends, 0);
    refuses(GROUPS, READ, ends, NENDS - 1);
    refuses(GROUPS, READ + 1, ends, NENDS);
    refuses(GROUPS + 1, READ, ends, NENDS);
    refuses(GROUPS - 1, READ, ends, NENDS);
    refuses(DOCUMENT_MAX_SHARDS + 1, READ, ends, NENDS);
    refuses(GROUPS, QUORUM_MAX_REPLICAS + 1, ends, NENDS);
    for (int i = 0; i < 3; i++) {
        memcpy(some, ends, sizeof some);
        some[1].node = i == 0 ? 1 : i == 1 ? 0 : some[1].node;
        some[3].group = i == 2 ? 2 : some[3].group;
        refuses(GROUPS, READ, some, NENDS);
    }
    end();
}

/* ---- other lives of a node ---- */

Test(site_mark, what_another_boot_has_applied_is_of_another_log)
{
    struct mark_log other = ends[3];

    cr_assert_eq(answer(begin(1000)), STATUS_OK);
    for (size_t i = 0; i + 1 < NENDS; i++) {
        apply(i, ends[i].offset);
    }
    other.boot++;
    other.offset = UINT64_MAX;
    cr_assert_eq(marks_applied(&marks, &other), STATUS_OK);
    cr_assert_not(is_known());
    other = ends[3];
    other.incarnation++;
    other.offset = UINT64_MAX;
    cr_assert_eq(marks_applied(&marks, &other), STATUS_OK);
    cr_assert_not(is_known());
    apply(3, ends[3].offset);
    cr_assert(is_known());
    end();
}

Test(site_mark, an_end_that_was_reached_stays_so)
{
    struct mark_log other = ends[0];

    cr_assert_eq(answer(begin(1000)), STATUS_OK);
    apply(0, ends[0].offset);
    other.boot++;
    cr_assert_eq(marks_applied(&marks, &other), STATUS_OK);
    for (size_t i = 1; i < NENDS; i++) {
        apply(i, ends[i].offset);
    }
    cr_assert(is_known());
    cr_assert_eq(answer(begin(2000)), STATUS_OK);
    cr_assert_eq(marks_tell(&marks, 0, 2000).age_us, 1001, "but for that mark alone");
    end();
}

Test(site_mark, a_lower_offset_takes_nothing_back)
{
    apply_all();
    apply(0, 1);
    cr_assert_eq(answer(begin(1000)), STATUS_OK);
    cr_assert(is_known());
    end();
}

/* ---- scopes ---- */

Test(site_mark, the_same_scope_again_changes_nothing)
{
    cr_assert_eq(answer(begin(1000)), STATUS_OK);
    apply_all();
    marks_enter(&marks, &scope);
    cr_assert(is_known());
    end();
}

Test(site_mark, in_another_scope_all_is_void)
{
    for (int i = 0; i < 6; i++) {
        struct mark_scope other = scope;
        struct mark_id pending;

        set_up();
        cr_assert_eq(answer(begin(1000)), STATUS_OK);
        apply_all();
        cr_assert(is_known());
        pending = begin(2000);
        other.own.number += i == 0;
        other.own.tag += i == 1;
        other.source.number += i == 2;
        other.source.tag += i == 3;
        other.set_hash += i == 4;
        other.keyset += i == 5;
        marks_enter(&marks, &other);
        cr_assert_not(is_known());
        cr_assert_eq(answer(pending), STATUS_NOT_FOUND);
        cr_assert_eq(answer(begin(3000)), STATUS_OK);
        cr_assert_not(is_known(), "what was applied before may be lost");
        apply_all();
        cr_assert_eq(marks_tell(&marks, 0, 3000).age_us, 1);
        end();
    }
}

Test(site_mark, who_comes_back_to_a_scope_begins_anew)
{
    struct mark_scope other = scope;
    struct mark_id pending = begin(1000);

    other.keyset++;
    marks_enter(&marks, &other);
    marks_enter(&marks, &scope);
    apply_all();
    cr_assert_eq(answer(pending), STATUS_NOT_FOUND);
    cr_assert_neq(begin(2000).number, pending.number);
    end();
}

Test(site_mark, zeros_know_nothing_and_begin_nothing)
{
    struct marks zeros = {0};
    struct mark_id id;

    cr_assert_eq(marks_begin(&zeros, 1000, &id), STATUS_NOT_READY);
    cr_assert_eq(marks_answered(&zeros, &(struct mark_id){0}, GROUPS, READ, ends, NENDS),
                 STATUS_NOT_FOUND);
    cr_assert_not(marks_tell(&zeros, 0, UINT64_MAX).known);
    marks_disconnected(&zeros);
    marks_fini(&zeros);
    end();
}

/* ---- bounds ---- */

static void fill(void)
{
    struct mark_id id;

    for (int i = 0; i < MARK_MAX_PENDING; i++) {
        (void)begin(1000);
    }
    cr_assert_eq(marks_begin(&marks, 1000 + MARK_PATIENCE_US - 1, &id), STATUS_OVERLOADED);
}

Test(site_mark, one_without_an_answer_makes_room_in_the_end)
{
    struct mark_id id;

    fill();
    (void)begin(1000 + MARK_PATIENCE_US);
    cr_assert_eq(marks_begin(&marks, 1000 + MARK_PATIENCE_US - 1, &id), STATUS_OVERLOADED);
    cr_assert_eq(marks.pending[0].number, 2, "the oldest");
    end();
}

/* ... and not one that is only slow: it will count, and those that took its place would not either.
 */
Test(site_mark, one_that_waits_for_logs_that_are_followed_stays)
{
    struct mark_id first = begin(1000);
    struct mark_id id;

    for (size_t i = 0; i < NENDS; i++) {
        apply(i, 1);
    }
    cr_assert_eq(answer(first), STATUS_OK);
    for (int i = 1; i < MARK_MAX_PENDING; i++) {
        cr_assert_eq(answer(begin(1000)), STATUS_OK);
    }
    cr_assert_eq(marks_begin(&marks, UINT64_MAX, &id), STATUS_OVERLOADED);
    apply_all();
    cr_assert(is_known());
    cr_assert_eq(marks.npending, 0);
    end();
}

Test(site_mark, one_that_waits_for_a_log_that_nobody_follows_makes_room)
{
    struct mark_log other = ends[2];
    struct mark_id id;

    for (size_t i = 0; i < NENDS; i++) {
        apply(i, 1);
    }
    for (int i = 0; i < MARK_MAX_PENDING; i++) {
        cr_assert_eq(answer(begin(1000)), STATUS_OK);
    }
    other.boot++;
    cr_assert_eq(marks_applied(&marks, &other), STATUS_OK);
    cr_assert_eq(marks_begin(&marks, 1000 + MARK_PATIENCE_US, &id), STATUS_OK);
    end();
}

/* Also what was answered: nobody knows any more what it waits for, and it would take the place of
 * another one for ever. */
Test(site_mark, what_is_under_way_on_a_lost_connection_is_forgotten)
{
    struct mark_id asked;

    cr_assert_eq(answer(begin(1000)), STATUS_OK);
    asked = begin(2000);
    marks_disconnected(&marks);
    cr_assert_eq(marks.npending, 0);
    cr_assert_eq(answer(asked), STATUS_NOT_FOUND);
    apply_all();
    cr_assert_not(is_known());
    end();
}

Test(site_mark, without_memory_it_is_as_before)
{
    struct mark_id id = begin(1000);

    heap_fault_after(0);
    cr_assert_eq(answer(id), STATUS_NOMEM);
    cr_assert_eq(marks_applied(&marks, &ends[0]), STATUS_NOMEM);
    heap_fault_clear();
    cr_assert_eq(heap_live(), 0);
    cr_assert_eq(answer(id), STATUS_OK);
    apply_all();
    cr_assert(is_known());
    end();
}
