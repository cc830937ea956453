/* coroutine.h - a function that can stand still in the middle, while whoever called it goes on.
 *
 * For an actor whose work reads best from top to bottom, and must wait for an answer on the way:
 *
 *   coroutine_resume() ---> body runs ---> coroutine_yield() ---> ... back in resume's caller
 *   coroutine_resume() ---> body goes on behind its coroutine_yield() ---> body returns: it is over
 *
 * Shape:   one stack of its own for each, COROUTINE_STACK_BYTES above a page that nobody may touch:
 *          whoever needs more crashes there, and overwrites nothing.
 * Errors:  coroutine_create: STATUS_NOMEM.
 * Owner:   coroutine_create()'s caller calls coroutine_destroy(), which forgets what the body has
 *          on its stack: a body that owns memory is to return before.
 * Threads: none; one thread resumes a coroutine, always the same one.
 * Source:  makecontext(3), swapcontext(3) of the C library.
 */
#ifndef ORBLOOM_BASE_COROUTINE_H
#define ORBLOOM_BASE_COROUTINE_H

#include "base/status.h"

#include <stdbool.h>

enum { COROUTINE_STACK_BYTES = 1 << 20 };

struct coroutine;

/* Its body does not run yet. */
MUST_USE enum status coroutine_create(void (*body)(void *context), void *context,
                                      struct coroutine **out);
void coroutine_destroy(struct coroutine **coroutine);

/* Let the body run until it yields or returns; not from inside, and not once it is over. */
void coroutine_resume(struct coroutine *self);

/* From inside: back to whoever has resumed it. */
void coroutine_yield(struct coroutine *self);

/* Is the caller inside of it? */
bool coroutine_runs(const struct coroutine *self);

bool coroutine_is_over(const struct coroutine *self);

#endif
