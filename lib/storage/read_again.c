#include "storage/read_again.h"

enum { TRIES = 4 };

enum status read_again(const struct disk *disk, uint32_t file, uint64_t offset, void *into,
                       size_t size)
{
    enum status status = STATUS_IO;

    for (int i = 0; i < TRIES && status == STATUS_IO; i++) {
        status = disk->read(disk->context, file, offset, into, size);
    }
    return status == STATUS_IO ? STATUS_MALFORMED : status;
}
