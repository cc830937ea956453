/* numbered_keys.h - keys "NAME-0", "NAME-1"... through the orbloom command.
 *
 * Errors: a failed cr_assert, but for those of numbered_keys_offer().
 */
#ifndef ORBLOOM_TESTS_SUPPORT_NUMBERED_KEYS_H
#define ORBLOOM_TESTS_SUPPORT_NUMBERED_KEYS_H

#include <stddef.h>

/* A line each, `count` of them from `first` on; free() it. */
char *numbered_keys_lines(const char *name, int first, int count);

/* All of them are acknowledged. */
void numbered_keys_add(const char *filter, const char *name, int first, int count);

/* The same of a filter that is full until it has grown: `refusal` may come a few times. */
void numbered_keys_offer(const char *filter, const char *name, int first, int count,
                         const char *refusal);

/* None of them is absent, and none is left unsure. */
void numbered_keys_expect_all(const char *filter, const char *name, int first, int count);

/* How many of them a check calls present. */
size_t numbered_keys_present(const char *filter, const char *name, int first, int count);

#endif
