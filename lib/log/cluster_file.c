/* Written under another name and renamed once it is durable: a crash leaves a whole file or
 * none. */
#include "log/cluster_file.h"

#include "log/read_again.h"

#include <string.h>
#include <xxhash.h>

enum { CHECKED_BYTES = CLUSTER_FILE_BYTES - 8 };

static const uint8_t magic[8] = {'O', 'R', 'B', 'C', 'L', 'S', 0, CLUSTER_FILE_VERSION};
static const char fresh_name[] = CLUSTER_FILE_NAME ".new";

void cluster_file_put(uint8_t bytes[CLUSTER_FILE_BYTES], const struct cluster_id *id)
{
    uint64_t checksum;

    memcpy(bytes, magic, sizeof magic);
    memcpy(bytes + sizeof magic, id->bytes, sizeof id->bytes);
    checksum = XXH3_64bits(bytes, CHECKED_BYTES);
    memcpy(bytes + CHECKED_BYTES, &checksum, sizeof checksum);
}

enum status cluster_file_get(const uint8_t bytes[CLUSTER_FILE_BYTES], struct cluster_id *id)
{
    struct cluster_id found;
    uint64_t checksum;

    memcpy(&checksum, bytes + CHECKED_BYTES, sizeof checksum);
    if (memcmp(bytes, magic, sizeof magic - 1) != 0 ||
        checksum != XXH3_64bits(bytes, CHECKED_BYTES)) {
        return STATUS_MALFORMED;
    }
    if (bytes[sizeof magic - 1] != CLUSTER_FILE_VERSION) {
        return STATUS_VERSION;
    }
    if (!cluster_id_get(span_of(bytes + sizeof magic, CLUSTER_ID_BYTES), &found)) {
        return STATUS_MALFORMED;
    }
    *id = found;
    return STATUS_OK;
}

enum status cluster_file_read(const struct disk *disk, struct cluster_id *id)
{
    uint8_t bytes[CLUSTER_FILE_BYTES];
    uint64_t size = 0;
    uint32_t file = 0;
    enum status status = disk->open(disk->context, CLUSTER_FILE_NAME, &file, &size);

    if (status != STATUS_OK) {
        return status;
    }
    status = size >= sizeof bytes ? read_again(disk, file, 0, bytes, sizeof bytes)
                                  : STATUS_MALFORMED;
    disk->close(disk->context, file);
    return status == STATUS_OK ? cluster_file_get(bytes, id) : status;
}

static enum status write_fresh(const struct disk *disk, const struct cluster_id *id)
{
    uint8_t bytes[CLUSTER_FILE_BYTES];
    uint32_t file = 0;
    enum status status = disk->create(disk->context, fresh_name, sizeof bytes, &file);

    if (status != STATUS_OK) {
        return status;
    }
    cluster_file_put(bytes, id);
    status = disk->write(disk->context, file, 0, span_of(bytes, sizeof bytes));
    if (status == STATUS_OK) {
        status = disk->sync(disk->context, file);
    }
    disk->close(disk->context, file);
    return status;
}

enum status cluster_file_write(const struct disk *disk, const struct cluster_id *id)
{
    enum status status = disk->remove(disk->context, fresh_name); /* of a start that was killed */

    if (status == STATUS_OK || status == STATUS_NOT_FOUND) {
        status = write_fresh(disk, id);
    }
    if (status == STATUS_OK) {
        status = disk->rename(disk->context, fresh_name, CLUSTER_FILE_NAME);
    }
    return status == STATUS_OK ? disk->sync_folder(disk->context) : status;
}
