/* Over one line on a terminal; else a line of its own only now and then, so that logs stay
 * short. */
#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

enum { LINE_EVERY_US = 5000000 };

void progress_open(struct progress *self)
{
    *self = (struct progress){.terminal = isatty(STDERR_FILENO) != 0};
}

void progress_open_later(struct progress *self, uint64_t now_us)
{
    progress_open(self);
    self->line_us = now_us + LINE_EVERY_US;
}

void progress_show(struct progress *self, uint64_t now_us, const char *line)
{
    if (self->terminal) {
        (void)fprintf(stderr, "\r%s\033[K", line);
    } else if (now_us >= self->line_us) {
        self->line_us = now_us + LINE_EVERY_US;
        (void)fprintf(stderr, "%s\n", line);
    }
}

void progress_end(const struct progress *self)
{
    if (self->terminal) {
        (void)fputs("\r\033[K", stderr);
    }
}

const char *progress_bar(double share, char text[PROGRESS_BAR_BYTES])
{
    int cells = PROGRESS_BAR_BYTES - 3;
    int full = (int)(share * cells);

    text[0] = '[';
    for (int i = 0; i < cells; i++) {
        text[1 + i] = i < full ? '#' : '.';
    }
    text[1 + cells] = ']';
    text[2 + cells] = '\0';
    return text;
}
