/* `orbloom map`: a backup of the store, and its way back. */
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/flags.h"
#include "cli/map_file.h"
#include "runtime/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct map_settings {
    struct flags_common common;
    const char *confirmed_off; /* names, separated by commas; NULL: none */
    bool yes;
};

/* ---- backup: the store is fetched page by page into one file, which is written over nothing but
 * an earlier backup of the same store ---- */

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

static int back_up(const struct map_settings *settings, const char *path)
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

/* ---- restore: it is begun, a backup's records are sent in pages, and it is ended; what would be
 * lost is accepted with --yes only ---- */

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

static int restore_from(const struct map_settings *settings, struct span file,
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

static int restore(const struct map_settings *settings, const char *path)
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
        code = restore_from(settings, buffer_span(&file), &header);
    }
    buffer_fini(&file);
    return code;
}

/* ---- the command ---- */

static const struct option options[] = {
    {
        .name = "confirmed-off",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct map_settings, confirmed_off),
        .sample = "NODES",
        .range = "names, separated by commas",
        .help = "restore: vouch that these nodes never come back with their data; what only they "
                "know is lost",
    },
    {
        .name = "yes",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct map_settings, yes),
        .help = "restore: accept the losses that were named without this",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "map",
    .words = "backup|restore FILE",
    .summary = "Back up the coordinators' store, or restore a lost or older one.",
    .notes =
        "The store names filters, nodes and hash secrets. It holds no keys, but without the\n"
        "secrets the keys that nodes hold can't be asked for: losing it loses the filters.\n\n"
        "backup writes all of it into one file of mode 600 (-: standard output), in place of an\n"
        "earlier backup of the same store, and of nothing else. The secrets in it are encrypted\n"
        "with the cluster key, which is not in it: keep that too, elsewhere.\n\n"
        "restore takes a backup into an empty store, or into one that is older than what nodes\n"
        "hold, and goes past all that they hold. All nodes must answer. It may be repeated.\n\n"
        "  orbloom map backup /backup/orbloom.map\n"
        "  orbloom map restore /backup/orbloom.map --confirmed-off node-3\n\n"
        "Exit: 0 done, 1 not, 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 2,
    .max_words = 2,
};

static int run(int argc, char **argv)
{
    struct map_settings settings = {0};
    struct option_words words;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    if (strcmp(words.items[0], "backup") == 0) {
        return back_up(&settings, words.items[1]);
    }
    if (strcmp(words.items[0], "restore") == 0) {
        return restore(&settings, words.items[1]);
    }
    return cmd_fail(STATUS_USAGE, "map takes backup or restore, not \"%.60s\"", words.items[0]);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_map(void)
{
    return &command;
}
