/* A new segment takes over the spare file if there is one, once the header of the old segment is
 * durably gone; else a fresh file is reserved and synced. */
#include "log/segment_file.h"

enum { SECTOR_BYTES = 512 /* what a power loss does not tear */ };

/* It must not come to its new name with the header of an older segment, so that is gone, durably,
 * first. NOT_FOUND: there is none of that size. */
static enum status reuse(const struct disk *disk, const char *name, uint64_t size, uint32_t *out)
{
    static const uint8_t zeros[SECTOR_BYTES];
    uint64_t found = 0;
    uint32_t file = 0;
    enum status status = disk->open(disk->context, SEGMENT_SPARE, &file, &found);

    if (status != STATUS_OK) {
        return status;
    }
    status = found == size ? STATUS_OK : STATUS_NOT_FOUND;
    if (status == STATUS_OK) {
        status = disk->write(disk->context, file, 0, span_of(zeros, sizeof zeros));
    }
    if (status == STATUS_OK) {
        status = disk->sync(disk->context, file);
    }
    if (status == STATUS_OK) {
        status = disk->rename(disk->context, SEGMENT_SPARE, name);
    }
    if (status != STATUS_OK) {
        disk->close(disk->context, file);
        return status;
    }
    *out = file;
    return STATUS_OK;
}

/* Its room is durably its own, or a full disk might have none for it after a power loss. */
static enum status reserve(const struct disk *disk, const char *name, uint64_t size, uint32_t *out)
{
    uint32_t file = 0;
    enum status status = disk->create(disk->context, name, size, &file);

    if (status != STATUS_OK) {
        return status;
    }
    status = disk->sync(disk->context, file);
    if (status != STATUS_OK) {
        disk->close(disk->context, file);
        return status;
    }
    *out = file;
    return STATUS_OK;
}

enum status segment_file_make(const struct disk *disk, uint64_t number, uint64_t size, bool spare,
                              uint32_t *out)
{
    char name[DISK_NAME_BYTES];
    uint32_t file = 0;
    enum status status;

    segment_name(number, name);
    status = spare ? reuse(disk, name, size, &file) : STATUS_NOT_FOUND;
    if (status == STATUS_NOT_FOUND) {
        status = reserve(disk, name, size, &file);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (disk->sync_folder(disk->context) != STATUS_OK) {
        disk->close(disk->context, file);
        return STATUS_IO;
    }
    *out = file;
    return STATUS_OK;
}

enum status segment_file_drop(const struct disk *disk, uint64_t number, bool spare)
{
    char name[DISK_NAME_BYTES];
    enum status status;

    segment_name(number, name);
    status = spare ? disk->rename(disk->context, name, SEGMENT_SPARE)
                   : disk->remove(disk->context, name);
    return status == STATUS_OK || status == STATUS_NOT_FOUND ? disk->sync_folder(disk->context)
                                                             : status;
}

enum status segment_file_remove_spare(const struct disk *disk)
{
    enum status status = disk->remove(disk->context, SEGMENT_SPARE);

    return status == STATUS_OK          ? disk->sync_folder(disk->context)
           : status == STATUS_NOT_FOUND ? STATUS_OK
                                        : status;
}
