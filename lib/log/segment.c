/* Names and headers of the log's files; where and how they are made is segment_file.c's. */
#include "log/segment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

enum { CHECKED_BYTES = SEGMENT_HEADER_BYTES - 8, NAME_DIGITS = 16 };

static const uint8_t magic[8] = {'O', 'R', 'B', 'L', 'O', 'G', 0, SEGMENT_VERSION};
static const char prefix[] = "log-";

void segment_name(uint64_t number, char name[DISK_NAME_BYTES])
{
    (void)snprintf(name, DISK_NAME_BYTES, "%s%016" PRIx64, prefix, number);
}

bool segment_name_parse(const char *name, uint64_t *number)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = name + sizeof prefix - 1;
    uint64_t value = 0;

    if (strncmp(name, prefix, sizeof prefix - 1) != 0 || strlen(at) != NAME_DIGITS ||
        strspn(at, digits) != NAME_DIGITS) {
        return false;
    }
    for (; *at != '\0'; at++) {
        value = value << 4 | (uint64_t)(strchr(digits, *at) - digits);
    }
    *number = value;
    return true;
}

void segment_header_put(uint8_t bytes[SEGMENT_HEADER_BYTES], const struct segment_header *header)
{
    const uint64_t fields[] = {header->cluster, header->number,      header->first,
                               header->boot,    header->incarnation, header->bare};
    uint64_t checksum;

    memcpy(bytes, magic, sizeof magic);
    memcpy(bytes + sizeof magic, fields, sizeof fields);
    checksum = XXH3_64bits(bytes, CHECKED_BYTES);
    memcpy(bytes + CHECKED_BYTES, &checksum, sizeof checksum);
}

enum status segment_header_get(const uint8_t bytes[SEGMENT_HEADER_BYTES],
                               struct segment_header *header)
{
    uint64_t fields[6];
    uint64_t checksum;

    memcpy(&checksum, bytes + CHECKED_BYTES, sizeof checksum);
    if (memcmp(bytes, magic, sizeof magic - 1) != 0 ||
        checksum != XXH3_64bits(bytes, CHECKED_BYTES)) {
        return STATUS_MALFORMED;
    }
    if (bytes[sizeof magic - 1] != SEGMENT_VERSION) {
        return STATUS_VERSION;
    }
    memcpy(fields, bytes + sizeof magic, sizeof fields);
    if (fields[2] % 8 != 0 || fields[2] > INT64_MAX || fields[5] > fields[2]) {
        return STATUS_MALFORMED; /* No log begins there, nor gets so far. */
    }
    *header = (struct segment_header){.cluster = fields[0],
                                      .number = fields[1],
                                      .first = fields[2],
                                      .boot = fields[3],
                                      .incarnation = fields[4],
                                      .bare = fields[5]};
    return STATUS_OK;
}
