/* show.h - figures as people read them: "9.43 M", "0.391 ms", "12.5 MiB".
 *
 * Units:   in the names; NAN shows as "-".
 * Errors:  none.
 * Threads: any; the text is the caller's, and returned.
 */
#ifndef ORBLOOM_BENCH_REPORT_SHOW_H
#define ORBLOOM_BENCH_REPORT_SHOW_H

enum { SHOW_BYTES = 40 };

/* Three figures: 9434712 -> "9.43 M", 94100 -> "94.1 k", 512 -> "512". */
const char *show_rate(double per_s, char text[SHOW_BYTES]);

/* 391 -> "391 us", 22015 -> "22.0 ms". */
const char *show_time(double time_us, char text[SHOW_BYTES]);

/* 118.4 -> "118 ns", 12700 -> "12.7 us". */
const char *show_cpu(double time_ns, char text[SHOW_BYTES]);

/* 34000000 -> "32.4 MiB". */
const char *show_bytes(double size_bytes, char text[SHOW_BYTES]);

/* By the unit that a row names: "s", "us", "B" -> "8.02 B", "bytes" (shown as MiB), "B/s" ->
 * "117 MB/s", "/s" (a rate), "" (a plain number). */
const char *show_value(double value, const char *unit, char text[SHOW_BYTES]);

/* 7.43 -> "7.43 x", 118.2 -> "118 x". */
const char *show_ratio(double ratio, char text[SHOW_BYTES]);

#endif
