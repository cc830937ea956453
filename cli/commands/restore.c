/* `orbloom restore`: filters out of a backup. A file is looked through before anything is made of
 * it; of a pipe each filter serves once its own end has come, whole. */
#include "base/heap.h"
#include "base/number.h"
#include "cli/backup/input.h"
#include "cli/backup/load.h"
#include "cli/backup/pages.h"
#include "cli/backup/room.h"
#include "cli/backup/survey.h"
#include "cli/cmd.h"
#include "cli/flags.h"
#include "filter/sizing.h"
#include "runtime/hub.h"

#include <inttypes.h>
#include <string.h>

struct restore_settings {
    struct flags_common common;
    const char *as;
    const char *only;
    const char *passphrase_file;
    uint64_t capacity; /* 0: as it was */
};

enum { SILENT = 3 /* filters one after the other that nobody answers of: so of the others */ };

struct restore {
    const struct restore_settings *settings;
    struct passphrase passphrase;
    bool has_passphrase;
    struct backup_key key;
    bool has_key;         /* by the head */
    struct survey survey; /* of a file; of a pipe nothing is known before */
    struct input input;
    struct channel *channel;
    struct load load;
    bool loading;
    bool passing; /* over a filter that is not wanted, or is there already */
    uint64_t begun_us;
    uint64_t filters; /* that are made, or were there */
    uint64_t failed;
    unsigned silent; /* of these, up to now, that nobody answers of */
};

/* By its name; or by its uid, as two may have had the one name. */
static bool is_wanted(const struct restore *self, const struct backup_filter *filter)
{
    const char *only = self->settings->only;
    char uid[FILTER_UID_TEXT_BYTES];

    return only == NULL || strcmp(only, filter->name) == 0 ||
           strcmp(only, filter_uid_show(&filter->uid, uid)) == 0;
}

/* ---- records ---- */

static enum status take_head(struct restore *self, const struct backup_head *head)
{
    bool wanted = head->seal == BACKUP_SEAL_PASSPHRASE;
    enum status status;

    if (wanted != self->has_passphrase) {
        (void)cmd_fail(STATUS_INVALID,
                       wanted ? "%s: its secrets are sealed with a passphrase: --passphrase-file"
                              : "%s: its secrets are sealed with the cluster key, not with a "
                                "passphrase",
                       self->input.path);
        return STATUS_INVALID;
    }
    if (!wanted) {
        return STATUS_OK;
    }
    status = passphrase_key(&self->passphrase, head, &self->key);
    if (status == STATUS_OK) {
        backup_reader_use(&self->input.reader, &self->key);
        self->has_key = true;
    }
    return status;
}

/* That are in it; 0 where that is not known yet. */
static uint64_t keys_of(const struct restore *self, const struct backup_filter *filter)
{
    for (size_t i = 0; i < self->survey.nfilters; i++) {
        if (self->survey.filters[i].filter.source == filter->source) {
            return self->survey.filters[i].keys;
        }
    }
    return 0;
}

/* As it was, but with room for all that is in it. */
static struct backup_filter with_room(const struct restore *self,
                                      const struct backup_filter *filter, const char *name)
{
    struct backup_filter made = *filter;
    char now[NUMBER_TEXT_BYTES];
    char before[NUMBER_TEXT_BYTES];

    if (room_make(&made, keys_of(self, filter), self->settings->capacity)) {
        (void)fprintf(stderr, "restore %s: it is made for %s keys; it was for %s\n", name,
                      number_show_count(made.capacity, now),
                      number_show_count(filter->capacity, before));
    }
    return made;
}

static enum status begin(struct restore *self, const struct backup_filter *filter)
{
    const struct survey_keys keys = {.passphrase = &self->passphrase};
    const char *name = self->settings->as != NULL ? self->settings->as : filter->name;
    const struct backup_filter made = with_room(self, filter, name);
    struct hash_secret secret;
    enum status status;

    if (self->has_key && survey_open(&keys, &self->key, filter, &secret) != STATUS_OK) {
        (void)cmd_fail(STATUS_UNAUTHENTIC, "%s: the secret is sealed with another passphrase",
                       filter->name);
        return STATUS_UNAUTHENTIC;
    }
    self->begun_us = hub_now_us();
    self->loading = true;
    status = load_begin(&self->load, self->channel, self->settings->common.timeout_us, name, &made,
                        self->has_key ? &secret : NULL);
    explicit_bzero(&secret, sizeof secret);
    return status;
}

static enum status take_filter(struct restore *self, const struct backup_filter *filter)
{
    self->passing = !is_wanted(self, filter);
    if (self->passing) {
        return STATUS_OK;
    }
    if (self->settings->as != NULL && self->filters > 0) {
        (void)cmd_fail(STATUS_USAGE, "there are several filters in it: say with --only which one "
                                     "--as is meant for");
        return STATUS_USAGE;
    }
    return begin(self, filter);
}

static void report(const struct restore *self)
{
    double seconds = (double)(hub_now_us() - self->begun_us) / 1e6;
    char keys[NUMBER_TEXT_BYTES];
    char rate[NUMBER_TEXT_BYTES];

    if (load_is_done(&self->load)) {
        (void)fprintf(stderr, "restore %s: it was restored from this backup before\n",
                      self->load.name);
        return;
    }
    (void)fprintf(stderr, "restore %s: %s keys%s; %.2f s, %s keys/s; it serves\n", self->load.name,
                  number_show_count(self->load.keys, keys),
                  self->load.found > DUMP_FIRST ? ", the rest was there" : "", seconds,
                  number_show_count((uint64_t)((double)self->load.keys / seconds), rate));
}

static enum status take_filter_end(struct restore *self)
{
    enum status status;

    if (self->passing) {
        return STATUS_OK;
    }
    status = load_end(&self->load);
    load_close(&self->load);
    self->loading = false;
    if (status == STATUS_OK) {
        report(self);
        self->filters++;
    }
    return status;
}

/* The others are none the worse for one that fails. */
static enum status pass_over(struct restore *self, enum status status)
{
    bool silence = status == STATUS_UNAVAILABLE || status == STATUS_DEADLINE;

    self->silent = status == STATUS_OK || !silence ? 0 : self->silent + 1;
    if (status == STATUS_OK || status == STATUS_USAGE) {
        return status;
    }
    if (self->loading) {
        load_close(&self->load);
        self->loading = false;
    }
    self->passing = true;
    self->failed++;
    return self->silent < SILENT ? STATUS_OK : status;
}

static enum status take(struct restore *self, const struct backup_record *record)
{
    switch (record->kind) {
    case BACKUP_HEAD:
        return take_head(self, &record->head);
    case BACKUP_FILTER:
        return pass_over(self, take_filter(self, &record->filter));
    case BACKUP_CHUNK:
        return self->passing ? STATUS_OK : pass_over(self, load_chunk(&self->load, &record->chunk));
    case BACKUP_FILTER_END:
        return pass_over(self, take_filter_end(self));
    case BACKUP_END:
        return STATUS_OK;
    }
    return STATUS_INTERNAL;
}

/* What has not come to its end serves nobody. */
static void explain_torn(const struct restore *self, enum status status)
{
    (void)cmd_fail(status, "%s: %s; %s%s", self->input.path, self->input.reason,
                   self->loading ? self->load.name : "nothing",
                   self->loading ? " serves nobody: restore it from a whole backup under another "
                                   "name, or drop it first"
                                 : " more was restored");
}

/* Whoever writes into the pipe may pause. */
static void on_idle(void *context)
{
    struct restore *self = context;

    if (self->loading) {
        load_settle(&self->load);
    }
}

static enum status go_through(struct restore *self)
{
    struct backup_record record;
    enum status status;

    do {
        status = input_next(&self->input, &record);
        if (status == STATUS_OK) {
            status = take(self, &record);
        } else if (status != STATUS_NOT_FOUND) {
            explain_torn(self, status);
        }
    } while (status == STATUS_OK);
    if (self->failed > 0) {
        if (self->failed + self->filters > 1) {
            (void)fprintf(stderr,
                          "orbloom: %" PRIu64 " restored, %" PRIu64
                          " not: do what is said above, and repeat the command, which goes on\n",
                          self->filters, self->failed);
        }
        return status;
    }
    if (status == STATUS_NOT_FOUND && self->filters == 0) {
        (void)cmd_fail(STATUS_NOT_FOUND, "%s: there is no %s in it", self->input.path,
                       self->settings->only != NULL ? self->settings->only : "filter");
        return STATUS_NOT_FOUND;
    }
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

/* ---- before ---- */

/* Is a file good, and is there one filter for the one name? */
static enum status look_through(struct restore *self, const char *path)
{
    const struct survey_keys keys = {.passphrase = self->has_passphrase ? &self->passphrase : NULL};
    size_t wanted = 0;
    enum status status = survey_make(&self->survey, path, &keys);

    for (size_t i = 0; i < self->survey.nfilters; i++) {
        wanted += is_wanted(self, &self->survey.filters[i].filter);
    }
    if (status == STATUS_OK && self->settings->as != NULL && wanted > 1) {
        (void)cmd_fail(STATUS_USAGE,
                       "there are %zu filters in it: say with --only which one --as "
                       "is meant for",
                       wanted);
        status = STATUS_USAGE;
    }
    return status;
}

static int run_restore(struct restore *self, const char *path)
{
    enum status status = STATUS_OK;
    int code;

    if (self->settings->passphrase_file != NULL) {
        status = passphrase_read(self->settings->passphrase_file, &self->passphrase);
        self->has_passphrase = status == STATUS_OK;
    }
    if (status == STATUS_OK && strcmp(path, "-") != 0) {
        status = look_through(self, path);
    }
    if (status != STATUS_OK) {
        return cmd_code(status);
    }
    code = pages_dial(&self->settings->common, &self->channel);
    if (code != CMD_OK) {
        return code;
    }
    status = input_open(&self->input, path);
    self->input.idle = on_idle;
    self->input.context = self;
    return cmd_code(status == STATUS_OK ? go_through(self) : status);
}

static int restore(const struct restore_settings *settings, const char *path)
{
    struct restore *self = heap_zalloc(1, sizeof *self);
    int code;

    if (self == NULL) {
        return cmd_fail(STATUS_NOMEM, "%s", status_meaning(STATUS_NOMEM));
    }
    self->settings = settings;
    code = run_restore(self, path);
    if (self->loading) {
        load_close(&self->load);
    }
    input_close(&self->input);
    survey_fini(&self->survey);
    channel_close(&self->channel);
    explicit_bzero(self, sizeof *self);
    heap_free(self);
    return code;
}

/* ---- the command ---- */

static const struct option options[] = {
    {
        .name = "as",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct restore_settings, as),
        .sample = "NAME",
        .range = "a filter's name",
        .help = "make it under this name, not under its own",
    },
    {
        .name = "only",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct restore_settings, only),
        .sample = "NAME",
        .range = "a filter's name, as the backup has it, or its uid",
        .help = "restore this one of several filters",
    },
    {
        .name = "passphrase-file",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct restore_settings, passphrase_file),
        .sample = "FILE",
        .range = "a file of mode 600 with a line of 12 to 512 bytes",
        .help = "the passphrase that the backup's secrets are sealed with",
    },
    {
        .name = "capacity",
        .kind = OPTION_COUNT,
        .offset = offsetof(struct restore_settings, capacity),
        .min = 1,
        .max = SIZING_CAPACITY_MAX,
        .sample = "KEYS",
        .range = "1 to 1T",
        .help = "make filters for so many keys, unless they were for more: from a pipe, of one "
                "that had outgrown its capacity; of a FILE that is known",
    },
    FLAGS_WHOM,
    FLAG_TIMEOUT_OF(offsetof(struct flags_common, timeout_us), "1m",
                    "a chunk that nobody acknowledges for so long is an error; what is there "
                    "stays"),
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "restore",
    .words = "FILE",
    .summary = "Make filters anew, with all their keys, of a backup by `orbloom backup`.",
    .notes =
        "Needs an admin. FILE is looked through first: of one that is torn or was changed nothing\n"
        "is made. FILE - is standard input: there a filter that turns out to be torn serves "
        "nobody.\n"
        "A filter is a new one with the capacity, rate, quorums, policies, expiry and secret of "
        "the former\n"
        "one, and room for all keys in it. It serves once all of it is there: until then adds and "
        "checks are NOT_READY, and\n"
        "`orbloom status` shows how far it is. No filter is written over.\n\n"
        "What was interrupted goes on where it was when the same command is given again within "
        "the\n"
        "coordinator's load_timeout; later it begins anew.\n\n"
        "A filter that can't be restored is named, and the others are gone on with.\n\n"
        "A cluster with another cluster key takes backups that were sealed with a passphrase.\n\n"
        "  orbloom restore /backup/urls.orb --as urls-before\n"
        "  aws s3 cp s3://bucket/all.orb - | orbloom restore - --passphrase-file p\n\n"
        "Exit: 0 done, 1 not, 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 1,
    .max_words = 1,
};

static int run(int argc, char **argv)
{
    struct restore_settings settings = {0};
    struct option_words words;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    if ((settings.as != NULL && !cmd_check_filter_name(settings.as)) ||
        (settings.only != NULL && !cmd_check_filter_name(settings.only))) {
        return CMD_USAGE;
    }
    return restore(&settings, words.items[0]);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_restore(void)
{
    return &command;
}
