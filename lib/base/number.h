/* number.h - the numbers that people type: "10M" keys, "8GiB", "1%", "5s".
 *
 * Decimal suffixes k M G T are powers of 1000, binary Ki Mi Gi Ti (with or without a
 * trailing B) powers of 1024. "1e6" and "2.5M" are accepted when the result is whole.
 *
 * Errors:  STATUS_INVALID for anything else: signs, blanks, unknown suffixes, overflow.
 *          The output is untouched then.
 */
#ifndef ORBLOOM_BASE_NUMBER_H
#define ORBLOOM_BASE_NUMBER_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { NUMBER_TEXT_BYTES = 32 };

/* "10M" -> 10000000, "8GiB" -> 8589934592. */
MUST_USE enum status number_parse_count(const char *text, uint64_t *value);

/* "1%" or "0.01" -> 0.01. Any finite number >= 0; range is the caller's to judge. */
MUST_USE enum status number_parse_rate(const char *text, double *rate);

/* "250us", "20ms", "5s", "7d" -> microseconds; the unit is mandatory. Units: us ms s m h d. */
MUST_USE enum status number_parse_duration(const char *text, uint64_t *duration_us);

/* 13107200 -> "12.5 MiB". Returns `text`. */
const char *number_show_bytes(uint64_t value_bytes, char text[NUMBER_TEXT_BYTES]);

/* 59231 -> "59,231". Returns `text`. */
const char *number_show_count(uint64_t value, char text[NUMBER_TEXT_BYTES]);

/* 129600000000 -> "1.5d", rounded to four digits. Returns `text`. */
const char *number_show_duration(uint64_t duration_us, char text[NUMBER_TEXT_BYTES]);

/* 0.001 -> "0.1 %". Returns `text`. */
const char *number_show_rate(double rate, char text[NUMBER_TEXT_BYTES]);

#endif
