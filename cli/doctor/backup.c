/* Read as a whole: what a restore would refuse is no backup. */
#include "cli/doctor/backup.h"

#include "cli/map_file.h"
#include "runtime/date.h"
#include "runtime/file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { MS_PER_S = 1000 };

static void read_whole(const char *path, struct backup *out)
{
    struct map_header header = {0};
    struct buffer file;

    buffer_init(&file, MAP_FILE_MAX_BYTES);
    out->status = file_read(path, &file);
    out->reason = out->status == STATUS_IO ? strerror(errno) : status_meaning(out->status);
    if (out->status == STATUS_OK) {
        out->status = map_file_check(buffer_span(&file), &header, &out->reason);
        out->key = header.key;
    }
    buffer_fini(&file);
}

void backup_look(const char *path, struct backup *out)
{
    uint64_t now_ms = date_now_ms();
    struct stat about;

    *out = (struct backup){.path = path};
    read_whole(path, out);
    if (stat(path, &about) == 0 && (uint64_t)about.st_mtime * MS_PER_S < now_ms) {
        out->age_ms = now_ms - (uint64_t)about.st_mtime * MS_PER_S;
    }
}
