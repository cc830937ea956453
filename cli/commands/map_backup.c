/* Fetches the store page by page into one file, and writes over nothing but an earlier backup of
 * the same store. */
#include "cli/cmd.h"
#include "cli/ask.h"
#include "cli/commands/map.h"
#include "cli/map_file.h"
#include "runtime/file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct backup {
    struct buffer file;
    struct map_header header;
    size_t records;
    uint64_t since;
    bool more;
};

static int take_page(void *context, const struct frame *frame)
{
    struct backup *self = context;
    const struct map_page *page = &frame->body.admin_reply.map;
    enum status status = STATUS_OK;

    if (self->records > 0 && page->store != self->header.store) {
        return cmd_fail(STATUS_CONFLICT, "the store was restored meanwhile; start again");
    }
    if (page->key == 0 || !cluster_id_known(&page->cluster) ||
        (page->more && page->change <= self->since)) {
        return cmd_fail(STATUS_VERSION, "the coordinator sends no backup; run the same version of "
                                        "orbloom everywhere");
    }
    for (size_t i = 0; status == STATUS_OK && i < page->nrecords; i++) {
        status = map_file_put(&self->file, page->records[i].key, page->records[i].value);
        self->records += status == STATUS_OK;
    }
    if (status != STATUS_OK) {
        return cmd_fail(status, "the backup can't be held: %s", status_meaning(status));
    }
    self->header = (struct map_header){
        .key = page->key, .cluster = page->cluster, .store = page->store, .change = page->change};
    self->since = page->change;
    self->more = page->more;
    return CMD_OK;
}

static int fetch(const struct map_settings *settings, struct backup *self)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct admin_request *request = &frame.body.admin_request;
    int code = CMD_OK;

    *request = (struct admin_request){.action = ADMIN_MAP_BACKUP, .name = ""};
    self->more = true;
    while (code == CMD_OK && self->more) { /* Each page's change number is higher. */
        request->map.since = self->since;
        code = cmd_ask(&settings->common, &frame, take_page, self);
    }
    if (code == CMD_OK && self->records == 0) {
        return cmd_fail(STATUS_NOT_FOUND, "the store is empty: there is nothing to back up");
    }
    return code;
}

static bool is_earlier(const struct map_header *there, const struct map_header *now)
{
    return cluster_id_equal(&there->cluster, &now->cluster) && there->store == now->store &&
           there->change <= now->change;
}

/* Only an earlier backup of the same store is written over: that of a lost one may be all that is
 * left of it. */
static int check_place(const char *path, const struct map_header *now)
{
    uint8_t head[64];
    struct map_header there;
    const char *reason;
    FILE *file = fopen(path, "rb");
    size_t size;

    if (file == NULL) {
        return errno == ENOENT
                   ? CMD_OK
                   : cmd_fail(STATUS_IO, "%s: %s; choose another file", path, strerror(errno));
    }
    size = fread(head, 1, sizeof head, file);
    (void)fclose(file);
    if (map_file_header(span_of(head, size), &there, &reason) != STATUS_OK) {
        return cmd_fail(STATUS_EXISTS, "%s exists and is not written over: %s; choose another file",
                        path, reason);
    }
    if (!is_earlier(&there, now)) {
        return cmd_fail(STATUS_EXISTS,
                        "%s exists and is not written over: it is a backup of %s; choose another "
                        "file",
                        path,
                        !cluster_id_equal(&there.cluster, &now->cluster) ? "another cluster"
                        : there.store != now->store ? "a former store of this cluster"
                                                    : "a newer state of this store");
    }
    return CMD_OK;
}

static int write_out(const char *path, const struct backup *self)
{
    int code = CMD_OK;

    if (strcmp(path, "-") == 0) {
        (void)fwrite(self->file.data, 1, self->file.size, stdout);
        return cmd_close_output(CMD_OK);
    }
    code = check_place(path, &self->header);
    if (code == CMD_OK && file_write(path, 0600, buffer_span(&self->file)) != STATUS_OK) {
        return cmd_fail(STATUS_IO, "%s: %s; choose a folder with room that you may write to", path,
                        strerror(errno));
    }
    if (code == CMD_OK) {
        (void)fprintf(stderr,
                      "backup %s: %zu records, %zu bytes, change %" PRIu64 "; the cluster key is "
                      "not in it: without that it opens nothing\n",
                      path, self->records, self->file.size, self->header.change);
    }
    return code;
}

int map_backup(const struct map_settings *settings, const char *path)
{
    struct backup self = {0};
    enum status status;
    int code;

    buffer_init(&self.file, MAP_FILE_MAX_BYTES);
    status = map_file_begin(&self.file);
    code = status == STATUS_OK ? fetch(settings, &self)
                               : cmd_fail(status, "%s", status_meaning(status));
    if (code == CMD_OK) {
        status = map_file_end(&self.file, &self.header);
        code = status == STATUS_OK ? write_out(path, &self)
                                   : cmd_fail(status, "%s", status_meaning(status));
    }
    buffer_fini(&self.file);
    return code;
}
