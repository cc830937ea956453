/* Names, sizes and headers of sorted runs: one place for what is written by run_writer.c and
 * read by run_reader.c. */
#include "log/run_format.h"

#include "log/file_name.h"

#include <endian.h>
#include <string.h>
#include <xxhash.h>

/* Numbers are copied as they are in memory. */
_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "runs are little-endian");
_Static_assert(sizeof(struct run_block) == 16, "an entry of the index has no padding");

enum { CHECKED_BYTES = RUN_HEADER_BYTES - 8, MAGIC_BYTES = 8 };

static const uint8_t magic[MAGIC_BYTES] = {'O', 'R', 'B', 'R', 'U', 'N', 0, RUN_VERSION};
static const char prefix[] = "run-";

void run_name(uint64_t number, char name[DISK_NAME_BYTES])
{
    file_name_put(prefix, number, name);
}

bool run_name_parse(const char *name, uint64_t *number)
{
    return file_name_parse(prefix, name, number);
}

uint64_t run_nblocks(uint64_t count)
{
    return count / RUN_BLOCK_KEYS + (count % RUN_BLOCK_KEYS != 0);
}

uint64_t run_index_offset(uint64_t count)
{
    return RUN_HEADER_BYTES + count * sizeof(uint64_t);
}

uint64_t run_bytes(uint64_t count)
{
    return run_index_offset(count) + run_nblocks(count) * sizeof(struct run_block) +
           sizeof(uint64_t);
}

void run_header_put(uint8_t bytes[RUN_HEADER_BYTES], uint64_t cluster, const struct record_run *run)
{
    const uint64_t fields[] = {cluster,    run->number,  run->filter_id,
                               run->slice, run->lineage, run->count};
    uint64_t checksum;

    memcpy(bytes, magic, MAGIC_BYTES);
    memcpy(bytes + MAGIC_BYTES, fields, sizeof fields);
    checksum = XXH3_64bits(bytes, CHECKED_BYTES);
    memcpy(bytes + CHECKED_BYTES, &checksum, sizeof checksum);
}

/* The checksum first: a changed bit must not be taken for another version. */
enum status run_header_check(const uint8_t bytes[RUN_HEADER_BYTES], uint64_t cluster,
                             const struct record_run *run)
{
    uint8_t expected[RUN_HEADER_BYTES];
    uint64_t checksum;

    memcpy(&checksum, bytes + CHECKED_BYTES, sizeof checksum);
    if (checksum != XXH3_64bits(bytes, CHECKED_BYTES) ||
        memcmp(bytes, magic, MAGIC_BYTES - 1) != 0) {
        return STATUS_MALFORMED;
    }
    if (bytes[MAGIC_BYTES - 1] != RUN_VERSION) {
        return STATUS_VERSION;
    }
    run_header_put(expected, cluster, run);
    return memcmp(bytes, expected, RUN_HEADER_BYTES) == 0 ? STATUS_OK : STATUS_MALFORMED;
}
