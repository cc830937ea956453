/* Appends lines to a text, and shows where it differs from the one that should be. */
#include "tests/support/story.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void story_tell(struct story *self, const char *format, ...)
{
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = vsnprintf(self->text + self->size, STORY_BYTES - self->size, format, arguments);
    va_end(arguments);
    cr_assert(size >= 0 && self->size + (size_t)size + 2 <= STORY_BYTES, "too long a story");
    self->size += (size_t)size;
    self->text[self->size++] = '\n';
    self->text[self->size] = '\0';
}

/* Where the first line begins that differs. */
static size_t parting(const char *one, const char *other)
{
    size_t line = 0;

    for (size_t i = 0; one[i] == other[i] && one[i] != '\0'; i++) {
        line = one[i] == '\n' ? i + 1 : line;
    }
    return line;
}

void story_expect(struct story *self, const char *expected)
{
    size_t at = parting(self->text, expected);

    cr_assert_str_eq(self->text, expected, "it should go on:\n%s\nbut it was:\n%s", expected + at,
                     self->text + at);
    *self = (struct story){0};
}
