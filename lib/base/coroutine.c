/* Two contexts a coroutine: its own, and that of whoever has resumed it. Sanitizers follow what
 * stands on which stack, so they are told of each change. */
#include "base/coroutine.h"

#include "base/heap.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

enum { GUARD_BYTES = 64 << 10 /* a page, of whatever size pages are */ };

enum { MAPPED_BYTES = GUARD_BYTES + COROUTINE_STACK_BYTES };

struct coroutine {
    void (*body)(void *context);
    void *context;
    ucontext_t inside;
    ucontext_t outside;
    uint8_t *mapped; /* the guard, and the stack above it */
    bool runs;
    bool over;
#ifdef __SANITIZE_ADDRESS__
    void *fake_inside; /* AddressSanitizer's own, of a stack that stands still */
    void *fake_outside;
    const void *outer_stack;
    size_t outer_size;
#endif
#ifdef __SANITIZE_THREAD__
    void *fiber;
    void *outer_fiber;
#endif
};

/* ---- what sanitizers are told ---- */

static void tell_entering(struct coroutine *self)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&self->fake_outside, self->mapped + GUARD_BYTES,
                                   COROUTINE_STACK_BYTES);
#endif
#ifdef __SANITIZE_THREAD__
    self->outer_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(self->fiber, 0);
#endif
    (void)self;
}

static void tell_entered(struct coroutine *self)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(self->fake_inside, &self->outer_stack, &self->outer_size);
#endif
    (void)self;
}

static void tell_leaving(struct coroutine *self)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(self->over ? NULL : &self->fake_inside, self->outer_stack,
                                   self->outer_size);
#endif
#ifdef __SANITIZE_THREAD__
    __tsan_switch_to_fiber(self->outer_fiber, 0);
#endif
    (void)self;
}

static void tell_left(struct coroutine *self)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(self->fake_outside, NULL, NULL);
#endif
    (void)self;
}

/* ---- its life ---- */

/* makecontext() passes ints alone, so a pointer comes in two halves. */
static void enter(unsigned high, unsigned low)
{
    struct coroutine *self = (struct coroutine *)(uintptr_t)((uint64_t)high << 32 | low);

    tell_entered(self);
    self->body(self->context);
    self->over = true;
    coroutine_yield(self);
    assert(false); /* Nobody resumes what is over. */
}

enum status coroutine_create(void (*body)(void *context), void *context, struct coroutine **out)
{
    struct coroutine *self = heap_zalloc(1, sizeof *self);
    uint64_t address = (uint64_t)(uintptr_t)self;

    assert(body != NULL && *out == NULL);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->body = body;
    self->context = context;
    self->mapped = heap_pages_alloc(MAPPED_BYTES, false);
    if (self->mapped == NULL || mprotect(self->mapped, GUARD_BYTES, PROT_NONE) != 0 ||
        getcontext(&self->inside) != 0) {
        coroutine_destroy(&self);
        return STATUS_NOMEM;
    }
    self->inside.uc_stack.ss_sp = self->mapped + GUARD_BYTES;
    self->inside.uc_stack.ss_size = COROUTINE_STACK_BYTES;
    makecontext(&self->inside, (void (*)(void))enter, 2, (unsigned)(address >> 32),
                (unsigned)address);
#ifdef __SANITIZE_THREAD__
    self->fiber = __tsan_create_fiber(0);
#endif
    *out = self;
    return STATUS_OK;
}

void coroutine_destroy(struct coroutine **coroutine)
{
    struct coroutine *self = *coroutine;

    *coroutine = NULL;
    if (self == NULL) {
        return;
    }
    assert(!self->runs);
#ifdef __SANITIZE_THREAD__
    if (self->fiber != NULL) {
        __tsan_destroy_fiber(self->fiber);
    }
#endif
    if (self->mapped != NULL) {
        heap_pages_free(self->mapped, MAPPED_BYTES);
    }
    heap_free(self);
}

void coroutine_resume(struct coroutine *self)
{
    assert(!self->runs && !self->over);
    self->runs = true;
    tell_entering(self);
    (void)swapcontext(&self->outside, &self->inside); /* Fails for want of a stack alone. */
    tell_left(self);
    assert(!self->runs);
}

void coroutine_yield(struct coroutine *self)
{
    assert(self->runs);
    self->runs = false;
    tell_leaving(self);
    (void)swapcontext(&self->inside, &self->outside);
    tell_entered(self);
    assert(self->runs);
}

bool coroutine_runs(const struct coroutine *self)
{
    return self->runs;
}

bool coroutine_is_over(const struct coroutine *self)
{
    return self->over;
}
