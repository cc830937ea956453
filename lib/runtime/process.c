/* Allocator thresholds, signals, standard descriptors. */
#include "runtime/process.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

enum {
    /* Frames come and go by the thousand and are up to 8 MiB long: with glibc's own thresholds
     * each is mapped, faulted in and unmapped anew, which took a fifth of all CPU time. */
    MMAP_THRESHOLD_BYTES = 32 << 20, /* the most that glibc takes */
    TRIM_THRESHOLD_BYTES = 512 << 20,
};

/* Whoever is started without one of them would have a socket or an event queue there: libuv aborts
 * on that, and what is meant for a terminal would go into it. The lowest free number is taken. */
static void open_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) {
            _exit(PROCESS_EXIT_FAILURE); /* Without /dev/null there is nobody to tell either. */
        }
    }
}

void process_prepare(void)
{
    open_standard_descriptors();
    (void)mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
}
