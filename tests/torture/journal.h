/* journal.h - what happened when: DIR/journal, and on the terminal what people should see.
 *
 * Threads: any.
 */
#ifndef ORBLOOM_TESTS_TORTURE_JOURNAL_H
#define ORBLOOM_TESTS_TORTURE_JOURNAL_H

#include "base/span.h"

#include <stdint.h>

void journal_open(const char *dir);
void journal_close(void);

/* A line with the time since journal_open(). */
void journal_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and on stdout. */
void journal_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

uint64_t journal_now_ms(void); /* of a monotonic clock */
void journal_pause_ms(uint64_t pause_ms);

#endif
