/* A body that stands still and goes on where it stood, with its own stack. */
#include "base/coroutine.h"
#include "base/heap.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct coroutine *coroutine;
static char trace[256];
static char name[] = "in";

static void note(const char *what)
{
    size_t used = strlen(trace);

    (void)snprintf(trace + used, sizeof trace - used, "%s ", what);
}

static void body(void *context)
{
    const char *which = context;
    char own[64];

    (void)snprintf(own, sizeof own, "%s:1", which);
    note(own);
    coroutine_yield(coroutine);
    own[strlen(own) - 1] = '2';
    note(own);
    coroutine_yield(coroutine);
    own[strlen(own) - 1] = '3';
    note(own);
}

Test(base_coroutine, goes_on_where_it_stood)
{
    cr_assert_eq(coroutine_create(body, name, &coroutine), STATUS_OK);
    for (int i = 0; !coroutine_is_over(coroutine); i++) {
        cr_assert_lt(i, 4);
        note("out");
        coroutine_resume(coroutine);
        cr_assert_not(coroutine_runs(coroutine));
    }
    cr_assert_str_eq(trace, "out in:1 out in:2 out in:3 ");
    coroutine_destroy(&coroutine);
    cr_assert_null(coroutine);
    cr_assert_eq(heap_live(), 0);
}

static void tell_inside(void *context)
{
    bool *inside = context;

    *inside = coroutine_runs(coroutine);
}

Test(base_coroutine, knows_who_is_inside)
{
    bool inside = false;

    cr_assert_eq(coroutine_create(tell_inside, &inside, &coroutine), STATUS_OK);
    cr_assert_not(coroutine_runs(coroutine));
    coroutine_resume(coroutine);
    cr_assert(inside);
    coroutine_destroy(&coroutine);
}

/* What has never run, and what stands still, may be forgotten. */
Test(base_coroutine, ends_at_any_time)
{
    cr_assert_eq(coroutine_create(body, name, &coroutine), STATUS_OK);
    coroutine_destroy(&coroutine);
    cr_assert_eq(coroutine_create(body, name, &coroutine), STATUS_OK);
    coroutine_resume(coroutine);
    coroutine_destroy(&coroutine);
    coroutine_destroy(&coroutine);
    cr_assert_eq(heap_live(), 0);
}

Test(base_coroutine, each_allocation_may_fail)
{
    enum status status = STATUS_NOMEM;

    for (unsigned n = 0; status == STATUS_NOMEM; n++) {
        cr_assert_lt(n, 8);
        heap_fault_after(n);
        status = coroutine_create(body, name, &coroutine);
        heap_fault_clear();
        cr_assert(status == STATUS_OK || (coroutine == NULL && heap_live() == 0));
    }
    coroutine_destroy(&coroutine);
}

/* Its stack is its own, and ends at a guard. */
static void use_most_of_it(void *context)
{
    volatile char own[COROUTINE_STACK_BYTES / 2];

    (void)context;
    for (size_t i = 0; i < sizeof own; i += 1024) {
        own[i] = 1;
    }
    coroutine_yield(coroutine);
    for (size_t i = 0; i < sizeof own; i += 1024) {
        cr_assert_eq(own[i], 1);
    }
}

Test(base_coroutine, has_a_stack_of_its_own)
{
    volatile char mine[COROUTINE_STACK_BYTES / 4];

    cr_assert_eq(coroutine_create(use_most_of_it, NULL, &coroutine), STATUS_OK);
    coroutine_resume(coroutine);
    for (size_t i = 0; i < sizeof mine; i += 1024) {
        mine[i] = 2;
    }
    coroutine_resume(coroutine);
    cr_assert(coroutine_is_over(coroutine));
    coroutine_destroy(&coroutine);
}

static void dig(unsigned depth)
{
    volatile char own[4096];

    own[0] = (char)depth;
    if (depth > 0) {
        dig(depth - 1);
    }
    own[1] = own[0];
}

static void overflow(void *context)
{
    (void)context;
    dig(COROUTINE_STACK_BYTES / 2048);
}

#ifdef __SANITIZE_ADDRESS__
#define OVERFLOW_SIGNAL SIGABRT
#else
#define OVERFLOW_SIGNAL SIGSEGV
#endif

Test(base_coroutine, a_stack_that_is_too_small_crashes_at_its_end, .signal = OVERFLOW_SIGNAL)
{
    cr_assert_eq(coroutine_create(overflow, NULL, &coroutine), STATUS_OK);
    coroutine_resume(coroutine);
}
