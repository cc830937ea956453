/* progress.h - a line on stderr that tells how far something is: over and over in one place on
 * a terminal, else a line of its own now and then.
 *
 * Threads: the main thread.
 */
#ifndef ORBLOOM_CLI_PROGRESS_H
#define ORBLOOM_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum { PROGRESS_BAR_BYTES = 23 };

struct progress {
    bool terminal;
    uint64_t line_us; /* when the next line is due */
};

void progress_open(struct progress *self);

/* ... of what may be over before anybody wants to know: off a terminal the first line has time. */
void progress_open_later(struct progress *self, uint64_t now_us);
void progress_show(struct progress *self, uint64_t now_us, const char *line);

/* Before anything else is printed. */
void progress_end(const struct progress *self);

/* "[#####...............]" for 0.25. */
const char *progress_bar(double share, char text[PROGRESS_BAR_BYTES]);

#endif
