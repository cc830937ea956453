/* Opens a pseudo-terminal and its other end, and says which of these failed. */
#include "tests/support/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *explain(const char *what)
{
    static char text[160];

    (void)snprintf(text, sizeof text, "no pseudo-terminal can be had here: %s: %s", what,
                   strerror(errno));
    return text;
}

/* The other end, as the program would have it. */
static const char *try_end(int fd)
{
    const char *path = grantpt(fd) == 0 && unlockpt(fd) == 0 ? ptsname(fd) : NULL;
    int end = path != NULL ? open(path, O_RDWR | O_NOCTTY) : -1;

    if (end < 0) {
        return explain(path != NULL ? path : "its other end");
    }
    (void)close(end);
    return NULL;
}

const char *terminal_lacking(void)
{
    int fd = posix_openpt(O_RDWR | O_NOCTTY);
    const char *reason;

    if (fd < 0) {
        return explain("/dev/ptmx");
    }
    reason = try_end(fd);
    (void)close(fd);
    return reason;
}
