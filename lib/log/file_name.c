/* Names are parsed as strictly as they are made, so that a stranger's file is never taken for
 * one of ours. */
#include "log/file_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS = 16 };

void file_name_put(const char *prefix, uint64_t number, char name[DISK_NAME_BYTES])
{
    (void)snprintf(name, DISK_NAME_BYTES, "%s%016" PRIx64, prefix, number);
}

bool file_name_parse(const char *prefix, const char *name, uint64_t *number)
{
    static const char digits[] = "0123456789abcdef";
    size_t skip = strlen(prefix);
    uint64_t value = 0;

    if (strncmp(name, prefix, skip) != 0 || strlen(name + skip) != DIGITS ||
        strspn(name + skip, digits) != DIGITS) {
        return false;
    }
    for (const char *at = name + skip; *at != '\0'; at++) {
        value = value << 4 | (uint64_t)(strchr(digits, *at) - digits);
    }
    *number = value;
    return true;
}
