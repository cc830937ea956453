/* What /proc and the kernel tell of the machine. */
#include "node/shell_machine.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

uint64_t machine_boot(void)
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

void machine_host(char *name, size_t size)
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

uint64_t machine_memory_available(void)
{
    char line[256];
    unsigned long long available_kib = 0;
    FILE *file = fopen("/proc/meminfo", "re");

    if (file == NULL) {
        return 0;
    }
    while (available_kib == 0 && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemAvailable: %llu kB", &available_kib) != 1) {
            available_kib = 0;
        }
    }
    (void)fclose(file);
    return (uint64_t)available_kib * 1024;
}
