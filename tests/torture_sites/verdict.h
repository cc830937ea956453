/* verdict.h - the first thing that went wrong; it ends the torture.
 *
 * Threads: any.
 */
#ifndef ORBLOOM_TESTS_TORTURE_SITES_VERDICT_H
#define ORBLOOM_TESTS_TORTURE_SITES_VERDICT_H

#include <stdbool.h>

/* The first reason stays. Also a line of the journal. */
void verdict_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* It is to end at once: as if it had failed. A signal's handler may say so. */
void verdict_interrupt(void);
bool verdict_interrupted(void);

bool verdict_failed(void);

/* "LOST: ..."; "interrupted"; "": nothing went wrong. */
const char *verdict_reason(void);

#endif
