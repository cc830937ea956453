/* `orbloom backup`: filters into one file, or a look whether such a file is good. */
#include "base/heap.h"
#include "base/number.h"
#include "cli/backup/left.h"
#include "cli/backup/pages.h"
#include "cli/backup/save.h"
#include "cli/backup/wanted.h"
#include "cli/cmd.h"
#include "cli/commands/backup_verify.h"
#include "cli/flags.h"
#include "runtime/date.h"
#include "runtime/hub.h"

#include <string.h>
#include <sys/random.h>

enum {
    RENAMES = 3, /* of one filter, while it waits for its turn */
    SILENT = 3,  /* filters one after the other that nobody answers of: so of the others */
};

struct backup_settings {
    struct flags_common common;
    bool all;
    const char *except; /* names, separated by commas; NULL: none */
    const char *passphrase_file;
    const char *cluster_key;
    uint64_t resume_us;
    bool json;
};

/* ---- backup ---- */

struct backup_run {
    const struct backup_settings *settings;
    struct passphrase passphrase;
    bool has_passphrase;
    struct output output;
    struct wanted wanted;
    struct left left; /* of an earlier try; else head and key are new ones */
    struct save save;
    uint64_t from_us;
    uint64_t begun_ms;    /* since 1970; filters were listed later */
    uint64_t keys_before; /* that an earlier try has written */
    unsigned silent;      /* filters, up to now, that nobody answers of */
};

/* Behind what was left. */
static enum status stand_behind(struct backup_run *self)
{
    const struct backup_place *place = &self->left.end.place;
    char date[DATE_TEXT_BYTES];

    backup_writer_go_on(&self->save.writer, &self->left.end);
    self->save.whole = self->left.whole;
    self->save.open = self->left.open;
    self->keys_before = place->keys + (place->in_filter ? place->filter_keys : 0);
    (void)fprintf(stderr, "%s: goes on with what was begun %s\n", self->output.path,
                  date_show(self->left.head.begun_ms, date));
    return output_cut(&self->output, place->bytes);
}

/* NOT_FOUND: there is nothing to go on with. */
static enum status go_on(struct backup_run *self)
{
    const struct left_wish wish = {
        .wanted = &self->wanted,
        .within_us = self->settings->resume_us,
        .passphrase = self->has_passphrase ? &self->passphrase : NULL,
    };
    struct input input;
    enum status status;

    if (!output_has_part(&self->output)) {
        return STATUS_NOT_FOUND;
    }
    status = input_open(&input, self->output.part);
    if (status == STATUS_OK) {
        status = left_read(&self->left, &input, &wish) ? stand_behind(self) : STATUS_NOT_FOUND;
    }
    input_close(&input);
    return status;
}

static enum status draw_head(struct backup_run *self, struct backup_head *head)
{
    *head = (struct backup_head){.begun_ms = self->begun_ms, .seal = BACKUP_SEAL_CLUSTER};
    if (getrandom(&head->id, sizeof head->id, 0) != (ssize_t)sizeof head->id || head->id == 0) {
        (void)cmd_fail(STATUS_IO, "the kernel gives no random bytes");
        return STATUS_IO;
    }
    if (!self->has_passphrase) {
        return STATUS_OK;
    }
    head->seal = BACKUP_SEAL_PASSPHRASE;
    backup_head_cost(head);
    if (getrandom(head->salt, sizeof head->salt, 0) != (ssize_t)sizeof head->salt) {
        (void)cmd_fail(STATUS_IO, "the kernel gives no random bytes");
        return STATUS_IO;
    }
    return passphrase_key(&self->passphrase, head, &self->left.key);
}

static enum status begin_anew(struct backup_run *self)
{
    struct backup_head *head = &self->left.head;
    enum status status = draw_head(self, head);

    self->left.count = 0;
    if (status == STATUS_OK) {
        status = output_cut(&self->output, 0);
    }
    if (status == STATUS_OK) {
        status = backup_writer_begin(&self->save.writer, head,
                                     self->has_passphrase ? &self->left.key : NULL);
    }
    return status == STATUS_OK ? output_write(&self->output, &self->save.writer) : status;
}

/* It may have been renamed since all were listed: under its present name, then. */
static enum status save_named(struct backup_run *self, struct save_filter *filter)
{
    enum status status = save_filter(&self->save, filter);

    for (int i = 0; i < RENAMES && status == STATUS_NOT_FOUND && self->settings->all; i++) {
        status = wanted_name_again(&self->settings->common, filter);
        if (status == STATUS_OK) {
            status = save_filter(&self->save, filter);
        } else if (status == STATUS_NOT_FOUND) {
            (void)fprintf(stderr, "left out %s: it was dropped meanwhile\n", filter->name);
            return STATUS_OK;
        }
    }
    return status;
}

static bool is_silence(enum status status)
{
    return status == STATUS_UNAVAILABLE || status == STATUS_DEADLINE;
}

/* One of all that fails is left out. Of a pipe what is written of it can't be taken back. */
static bool goes_on_without(struct backup_run *self, enum status status)
{
    bool written = self->save.writer.place.in_filter;

    self->silent = is_silence(status) ? self->silent + 1 : 0;
    return self->settings->all && self->save.reason[0] != '\0' && self->silent < SILENT &&
           !(written && output_is_pipe(&self->output));
}

static enum status save_one(struct backup_run *self, struct save_filter *filter)
{
    enum status status = save_named(self, filter);

    if (status == STATUS_OK) {
        self->silent = 0;
    } else if (goes_on_without(self, status)) {
        wanted_leave_out(&self->wanted, filter->name, self->save.reason);
        status = self->save.writer.place.in_filter ? save_back(&self->save) : STATUS_OK;
    } else if (self->save.reason[0] != '\0') {
        (void)cmd_fail(status, "%s: %s", filter->name, self->save.reason);
    }
    return status;
}

/* The one that was under way comes first. */
static enum status save_wanted(struct backup_run *self)
{
    enum status status = STATUS_OK;
    bool open = self->save.writer.place.in_filter;

    for (size_t i = 0; i < self->wanted.count && open && status == STATUS_OK; i++) {
        if (filter_uid_equal(&self->wanted.items[i].uid, &self->save.open.uid)) {
            status = save_one(self, &self->wanted.items[i]);
            break;
        }
    }
    for (size_t i = 0; i < self->wanted.count && status == STATUS_OK; i++) {
        if (!left_has(&self->left, &self->wanted.items[i].uid)) {
            status = save_one(self, &self->wanted.items[i]);
        }
    }
    if (status == STATUS_OK && self->save.writer.place.filters == 0) {
        (void)cmd_fail(STATUS_NOT_FOUND,
                       "there is no filter that can be backed up, of those that this user sees; "
                       "nothing is written");
        status = STATUS_NOT_FOUND;
    }
    return status;
}

static void report(const struct backup_run *self)
{
    const struct backup_place *place = &self->save.writer.place;
    double seconds = (double)(hub_now_us() - self->from_us) / 1e6;
    char filters[NUMBER_TEXT_BYTES];
    char keys[NUMBER_TEXT_BYTES];
    char bytes[NUMBER_TEXT_BYTES];
    char rate[NUMBER_TEXT_BYTES];
    char date[DATE_TEXT_BYTES];

    (void)fprintf(stderr, "backup %s: %s filter%s, %s keys, %s", self->output.path,
                  number_show_count(place->filters, filters), place->filters == 1 ? "" : "s",
                  number_show_count(place->keys, keys),
                  number_show_bytes(self->output.bytes, bytes));
    if (place->keys > 0) {
        (void)fprintf(stderr, ", %.2f bytes a key",
                      (double)self->output.bytes / (double)place->keys);
    }
    (void)fprintf(
        stderr, "; all that was acknowledged before %s; %.2f s, %s keys/s\n",
        date_show(self->left.head.begun_ms, date), seconds,
        number_show_count((uint64_t)((double)(place->keys - self->keys_before) / seconds), rate));
}

static enum status finish(struct backup_run *self)
{
    enum status status = backup_put_end(&self->save.writer);

    if (status == STATUS_OK) {
        status = output_write(&self->output, &self->save.writer);
    }
    if (status == STATUS_OK) {
        status = output_finish(&self->output);
    }
    if (status == STATUS_OK) {
        report(self);
    }
    return status;
}

static enum status write_backup(struct backup_run *self)
{
    enum status status;

    progress_open_later(&self->save.progress, hub_now_us());
    self->save.output = &self->output;
    self->save.timeout_us = self->settings->common.timeout_us;
    status = go_on(self);
    if (status == STATUS_NOT_FOUND) {
        status = begin_anew(self);
    }
    self->save.key = self->has_passphrase ? &self->left.key : NULL;
    status = status == STATUS_OK ? save_wanted(self) : status;
    if (status == STATUS_OK) {
        return finish(self);
    }
    if (self->save.writer.place.records <= 1) {
        output_forget(&self->output); /* A head alone is worth nothing. */
    }
    return status;
}

static int run_backup(struct backup_run *self, const char *name, const char *path)
{
    enum status status = STATUS_OK;
    int code;

    if (self->settings->passphrase_file != NULL) {
        status = passphrase_read(self->settings->passphrase_file, &self->passphrase);
        self->has_passphrase = status == STATUS_OK;
    }
    if (status == STATUS_OK) {
        status = output_open(&self->output, path);
    }
    if (status != STATUS_OK) {
        return cmd_code(status);
    }
    code = wanted_list(&self->wanted, &self->settings->common, name);
    code = code == CMD_OK ? pages_dial(&self->settings->common, &self->save.channel) : code;
    if (code != CMD_OK) {
        return code;
    }
    status = write_backup(self);
    if (status == STATUS_OK && self->wanted.left_out > 0) {
        (void)fprintf(stderr,
                      "orbloom: the backup is whole, but %zu filter%s left out; name those "
                      "that may be with --except\n",
                      self->wanted.left_out, self->wanted.left_out == 1 ? " was" : "s were");
        return CMD_PARTIAL;
    }
    return cmd_code(status);
}

static int back_up(const struct backup_settings *settings, const char *name, const char *path)
{
    struct backup_run *self = heap_zalloc(1, sizeof *self);
    int code;

    if (self == NULL) {
        return cmd_fail(STATUS_NOMEM, "%s", status_meaning(STATUS_NOMEM));
    }
    self->settings = settings;
    self->wanted.all = settings->all;
    self->wanted.except = settings->except;
    self->output.descriptor = -1;
    self->from_us = hub_now_us();
    self->begun_ms = date_now_ms();
    code = run_backup(self, name, path);
    channel_close(&self->save.channel);
    backup_writer_fini(&self->save.writer);
    output_close(&self->output);
    wanted_fini(&self->wanted);
    left_fini(&self->left);
    explicit_bzero(self, sizeof *self);
    heap_free(self);
    return code;
}

/* ---- the command ---- */

static const struct option options[] = {
    {
        .name = "all",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct backup_settings, all),
        .help = "back up every filter that the user sees, into the one FILE",
    },
    {
        .name = "except",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct backup_settings, except),
        .sample = "NAMES",
        .range = "names, separated by commas",
        .needs = "all",
        .help = "leave these filters out; any other one that can't be backed up makes the exit "
                "code 1",
    },
    {
        .name = "passphrase-file",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct backup_settings, passphrase_file),
        .sample = "FILE",
        .range = "a file of mode 600 with a line of 12 to 512 bytes",
        .help = "seal secrets with this passphrase, not with the cluster key: for other clusters, "
                "and for places where others may write; verify: try it",
    },
    {
        .name = "cluster-key",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct backup_settings, cluster_key),
        .sample = "FILE",
        .range = "a cluster key file",
        .excludes = "passphrase-file",
        .help = "verify: try whether it opens the secrets",
    },
    {
        .name = "resume-within",
        .kind = OPTION_DURATION,
        .offset = offsetof(struct backup_settings, resume_us),
        .min = 0,
        .max = UINT64_C(2592000000000),
        .sample = "TIME",
        .range = "1us to 30d",
        .value = "6h",
        .help = "go on with FILE.part of an interrupted backup that was begun no longer ago",
    },
    {
        .name = "json",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct backup_settings, json),
        .help = "verify: print an object instead",
    },
    FLAGS_WHOM,
    FLAG_TIMEOUT_OF(offsetof(struct flags_common, timeout_us), "1m",
                    "a page that nobody tells for so long is an error; what is there stays"),
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "backup",
    .words = "FILTER FILE | --all FILE | verify FILE",
    .summary = "Back up filters with all their keys into a file, or look through such a file.",
    .notes =
        "Every key that was acknowledged before the backup began is in it, and perhaps some that\n"
        "came later. Filters serve meanwhile. Needs the right d to the filter, or an admin (see\n"
        "user). `orbloom restore` makes filters of it.\n\n"
        "FILE is written as FILE.part, and has its name once all of it is on the disk. What was\n"
        "interrupted goes on behind the last whole page when the same command is given again, with "
        "a\n"
        "passphrase behind the last whole filter.\n"
        "FILE - is standard output, for a pipe to an object store.\n\n"
        "The hash secret of a filter is in it, sealed with the cluster key or a passphrase: "
        "whoever\n"
        "opens that can test any key. Filters with a window, in memory or with keylog off can't "
        "be\n"
        "backed up. With --all one that fails is left out and named, and the others are gone on "
        "with.\n\n"
        "verify asks no cluster. A backup is whole if it says so.\n\n"
        "  orbloom backup urls /backup/urls.orb\n"
        "  orbloom backup --all - --passphrase-file p | aws s3 cp - s3://bucket/all.orb\n"
        "  orbloom backup verify /backup/urls.orb --cluster-key cluster.key\n\n"
        "Exit: 0 done, 1 not, 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 1,
    .max_words = 2,
};

/* What only verify takes. */
static bool is_for_verify(const struct backup_settings *settings)
{
    return settings->json || settings->cluster_key != NULL;
}

static int run(int argc, char **argv)
{
    struct backup_settings settings = {0};
    struct option_words words;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    if (is_for_verify(&settings) && (settings.all || strcmp(words.items[0], "verify") != 0)) {
        return cmd_fail(STATUS_USAGE, "--json and --cluster-key go with verify alone");
    }
    if (settings.all) {
        return words.count == 1 ? back_up(&settings, NULL, words.items[0])
                                : cmd_fail(STATUS_USAGE, "--all takes one word, the FILE");
    }
    if (words.count < 2) {
        return cmd_fail(STATUS_USAGE, "usage: orbloom backup %s", table.words);
    }
    if (strcmp(words.items[0], "verify") == 0) {
        return backup_verify(words.items[1], settings.passphrase_file, settings.cluster_key,
                             settings.json);
    }
    return cmd_check_filter_name(words.items[0])
               ? back_up(&settings, words.items[0], words.items[1])
               : CMD_USAGE;
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_backup(void)
{
    return &command;
}
