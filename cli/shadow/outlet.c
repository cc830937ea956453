/* A pipe that can be written to has room for PIPE_BUF bytes. The stream's flags are shared with
 * whoever else has it, so it is asked, not made to never block. */
#include "cli/shadow/outlet.h"

#include <limits.h>
#include <poll.h>

static bool has_room(FILE *out, int wait_ms)
{
    struct pollfd wanted = {.fd = fileno(out), .events = POLLOUT};

    return poll(&wanted, 1, wait_ms) > 0;
}

bool outlet_put(FILE *out, struct span text, int wait_ms)
{
    while (text.size > 0 && has_room(out, wait_ms)) {
        size_t size = text.size < PIPE_BUF ? text.size : PIPE_BUF;

        (void)fwrite(text.data, 1, size, out);
        (void)fflush(out);
        text = span_of(text.data + size, text.size - size);
    }
    return text.size == 0;
}
