#include "runtime/process.h"

#include <ctype.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    /* Frames come and go by the thousand and are up to 8 MiB long: with glibc's own thresholds
     * each is mapped, faulted in and unmapped anew, which took a fifth of all CPU time. */
    MMAP_THRESHOLD_BYTES = 32 << 20, /* the most that glibc takes */
    TRIM_THRESHOLD_BYTES = 512 << 20,
};

void process_prepare(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES);
    (void)signal(SIGPIPE, SIG_IGN);
}

void process_announce(const char *endpoint)
{
    (void)printf("ready %s\n", endpoint);
    (void)fflush(stdout);
}

void process_host(char *name, size_t size)
{
    char host[HOST_NAME_MAX + 1] = "";

    if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') {
        (void)snprintf(host, sizeof host, "localhost");
    }
    for (char *c = host; *c != '\0'; c++) {
        if (!isalnum((unsigned char)*c) && strchr("._:-", *c) == NULL) {
            *c = '-';
        }
    }
    (void)snprintf(name, size, "%s", host);
}
