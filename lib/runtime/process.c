/* What a process needs before anything else: allocator thresholds, signals, standard
 * descriptors; and who and where it is. */
#include "runtime/process.h"

#include <ctype.h>
#include <fcntl.h>
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

void process_announce(const char *endpoint)
{
    (void)printf("ready %s\n", endpoint);
    (void)fflush(stdout);
}

/* 32 hexadecimal digits with dashes, all but six bits of them random. */
static uint64_t fold(const char *id)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t folded = 0;

    for (; *id != '\0'; id++) {
        const char *digit = strchr(digits, *id);

        if (digit != NULL) {
            folded = (folded << 4 | folded >> 60) ^ (uint64_t)(digit - digits);
        }
    }
    return folded;
}

uint64_t process_kernel_boot(void)
{
    char id[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file == NULL) {
        return 0;
    }
    if (fgets(id, sizeof id, file) == NULL) {
        id[0] = '\0';
    }
    (void)fclose(file);
    return fold(id);
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
