/* A read that fails is tried a few times with pauses; only then it counts as damage. */
#include "log/read_again.h"

enum status read_again(const struct disk *disk, uint32_t file, uint64_t offset, void *into,
                       size_t size)
{
    enum status status = disk->read(disk->context, file, offset, into, size);

    for (unsigned n = 1; n < READ_TRIES && status == STATUS_IO; n++) {
        if (disk->pause != NULL) {
            disk->pause(disk->context, n);
        }
        status = disk->read(disk->context, file, offset, into, size);
    }
    return status == STATUS_IO ? STATUS_MALFORMED : status;
}
