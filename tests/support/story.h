/* story.h - what happened in a test, line after line, to be compared as a whole with what should.
 *
 *   story_tell(&story, "ask node %u: %s", 2, status_code(ask(2)));
 *   ...
 *   story_expect(&story, "ask node 2: OK\n"
 *                        "ask node 2: OVERLOADED\n");
 *
 * Errors:  a failed cr_assert, which shows both stories where they part.
 * Owner:   nobody: a zeroed story is empty.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_STORY_H
#define ORBLOOM_TESTS_SUPPORT_STORY_H

#include <stddef.h>

enum { STORY_BYTES = 8192 };

struct story {
    char text[STORY_BYTES];
    size_t size;
};

/* One line more; the line's end is added. */
void story_tell(struct story *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* It was exactly that; from here on it begins anew. */
void story_expect(struct story *self, const char *expected);

#endif
