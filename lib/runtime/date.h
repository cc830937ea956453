/* date.h - the time of day, as this machine's clock shows it: for what people mean by dates.
 *
 * It may be wrong and may jump. Nothing is ordered by it.
 *
 * Units:   milliseconds since 1970.
 * Errors:  none.
 * Threads: any.
 */
#ifndef ORBLOOM_RUNTIME_DATE_H
#define ORBLOOM_RUNTIME_DATE_H

#include <stdint.h>

enum { DATE_TEXT_BYTES = 32 };

/* 0: before 1970. */
uint64_t date_now_ms(void);

/* 1900000000000 -> "2030-03-17 17:46:40 UTC"; "at no known date" past the calendar's end. Returns
 * `text`. */
const char *date_show(uint64_t date_ms, char text[DATE_TEXT_BYTES]);

#endif
