/* Begins a restore, sends a backup's records in pages, and ends it: what would be lost is
 * accepted with --yes only. */
#include "cli/cmd.h"
#include "cli/ask.h"
#include "cli/commands/map.h"
#include "cli/map_file.h"
#include "runtime/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_RECORDS = 256, PAGE_BYTES = 1 << 20, MAX_NAMES = 1024 };

static int show_nothing(void *context, const struct frame *frame)
{
    (void)context;
    (void)frame;
    return CMD_OK;
}

static int show_done(void *context, const struct frame *frame)
{
    (void)context;
    (void)printf("restored: %s\n", frame->body.admin_reply.message);
    return CMD_OK;
}

static int ask(const struct map_settings *settings, const struct map_parameters *map,
               enum admin_action action, cmd_show_fn show)
{
    struct frame frame = {
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request = {.action = action, .name = "", .map = *map},
    };

    return cmd_ask(&settings->common, &frame, show, NULL);
}

static int send_records(const struct map_settings *settings, struct span file,
                        struct map_parameters *map)
{
    static char keys[PAGE_RECORDS][MAP_FILE_KEY_BYTES];
    static struct map_record records[PAGE_RECORDS];
    enum status status = STATUS_OK;
    size_t at = 0;
    int code = CMD_OK;

    map->records = records;
    while (code == CMD_OK && status == STATUS_OK) {
        size_t bytes = 0;

        map->nrecords = 0;
        while (status == STATUS_OK && map->nrecords < PAGE_RECORDS && bytes < PAGE_BYTES) {
            struct map_record *record = &records[map->nrecords];

            status = map_file_next(file, &at, keys[map->nrecords], &record->value);
            if (status == STATUS_OK) {
                record->key = keys[map->nrecords++];
                bytes += record->value.size;
            }
        }
        code = ask(settings, map, ADMIN_MAP_RECORDS, show_nothing);
    }
    map->nrecords = 0;
    return code;
}

/* With the record of which cluster it is of, if there is one: that comes before all else. */
static int begin(const struct map_settings *settings, struct span file, struct map_parameters *map)
{
    static char key[MAP_FILE_KEY_BYTES];
    struct map_record record = {.key = key};
    size_t at = 0;
    int code;

    while (map->nrecords == 0 && map_file_next(file, &at, key, &record.value) == STATUS_OK) {
        map->nrecords = strcmp(key, "cluster") == 0;
    }
    map->records = &record;
    code = ask(settings, map, ADMIN_MAP_BEGIN, show_nothing);
    map->records = NULL;
    map->nrecords = 0;
    return code;
}

/* Cuts the text at its commas. */
static size_t split_names(char *text, const char **names)
{
    char *rest = NULL;
    size_t count = 0;

    for (char *name = strtok_r(text, ",", &rest); name != NULL && count < MAX_NAMES;
         name = strtok_r(NULL, ",", &rest)) {
        names[count++] = name;
    }
    return count;
}

static int restore(const struct map_settings *settings, struct span file,
                   const struct map_header *header)
{
    static const char *names[MAX_NAMES];
    char *text = strdup(settings->confirmed_off != NULL ? settings->confirmed_off : "");
    struct map_parameters map = {.key = header->key, .accept_losses = settings->yes};
    int code;

    if (text == NULL) {
        return cmd_fail(STATUS_NOMEM, "%s", status_meaning(STATUS_NOMEM));
    }
    map.confirmed_off = names;
    map.nconfirmed_off = split_names(text, names);
    code = begin(settings, file, &map);
    code = code == CMD_OK ? send_records(settings, file, &map) : code;
    code = code == CMD_OK ? ask(settings, &map, ADMIN_MAP_FINISH, show_done) : code;
    free(text);
    return code;
}

int map_restore(const struct map_settings *settings, const char *path)
{
    struct map_header header;
    struct buffer file;
    const char *reason = NULL;
    enum status status;
    int code;

    buffer_init(&file, MAP_FILE_MAX_BYTES);
    status = file_read(path, &file);
    if (status != STATUS_OK) {
        code = cmd_fail(status, "%s: %s; name a backup made by `orbloom map backup`", path,
                        status == STATUS_IO ? strerror(errno) : status_meaning(status));
        buffer_fini(&file);
        return code;
    }
    status = map_file_check(buffer_span(&file), &header, &reason);
    if (status != STATUS_OK) {
        code = cmd_fail(status, "%s: %s; nothing was restored: %s", path, reason,
                        status == STATUS_VERSION ? "run that version" : "take another backup");
    } else {
        code = restore(settings, buffer_span(&file), &header);
    }
    buffer_fini(&file);
    return code;
}
