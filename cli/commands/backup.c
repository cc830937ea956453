/* `orbloom backup`: filters into one file, or a look whether such a file is good. */
#include "base/heap.h"
#include "base/number.h"
#include "cli/ask.h"
#include "cli/backup/input.h"
#include "cli/backup/save.h"
#include "cli/backup/survey.h"
#include "cli/cmd.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/secret_file.h"
#include "runtime/date.h"
#include "runtime/hub.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { SILENCE_US = 5000000 /* a page may take a while */, US_PER_MS = 1000 };

struct backup_settings {
    struct flags_common common;
    bool all;
    const char *except; /* names, separated by commas; NULL: none */
    const char *passphrase_file;
    const char *cluster_key;
    uint64_t resume_us;
    bool json;
};

/* ---- which filters ---- */

struct wanted {
    struct save_filter *items;
    size_t count;
    size_t room;
    size_t left_out; /* of all, for what they are */
    const struct backup_settings *settings;
};

/* Is the name one of those that are separated by commas? */
static bool is_listed(const char *names, const char *name)
{
    size_t size = strlen(name);

    while (names != NULL && *names != '\0') {
        size_t one = strcspn(names, ",");

        if (one == size && strncmp(names, name, size) == 0) {
            return true;
        }
        names += one + (names[one] == ',');
    }
    return false;
}

static int put_wanted(struct wanted *self, const struct filter_summary *filter)
{
    struct save_filter *one;

    if (!heap_grow(&self->items, &self->room, self->count + 1, sizeof *self->items)) {
        return cmd_fail(STATUS_NOMEM, "%s", status_meaning(STATUS_NOMEM));
    }
    one = &self->items[self->count++];
    *one = (struct save_filter){.uid = filter->uid,
                                .max_staleness = filter->max_staleness,
                                .acks = filter->acks,
                                .durability = filter->durability};
    (void)snprintf(one->name, sizeof one->name, "%s", filter->name);
    return CMD_OK;
}

static int take_one(void *context, const struct frame *frame)
{
    return put_wanted(context, &frame->body.info_reply.filter);
}

static void leave_out(struct wanted *self, const char *name, const char *why)
{
    (void)fprintf(stderr, "left out %s: %s\n", name, why);
    self->left_out += !is_listed(self->settings->except, name);
}

static int take_all(void *context, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct wanted *self = context;
    int code = CMD_OK;

    for (size_t i = 0; i < reply->nfilters && code == CMD_OK; i++) {
        const struct filter_summary *filter = &reply->filters[i];

        if (filter->state != FILTER_ACTIVE || is_listed(self->settings->except, filter->name)) {
            continue;
        }
        if (document_load_open(filter->load_source, filter->loaded)) {
            leave_out(self, filter->name, "it is being made of a dump or a backup itself");
        } else {
            code = put_wanted(self, filter);
        }
    }
    return code;
}

static int list_wanted(struct wanted *self, const char *name)
{
    struct frame frame = {.kind = FRAME_INFO_REQUEST, .body.info_request = {.filter = name}};

    if (!self->settings->all) {
        return cmd_ask(&self->settings->common, &frame, take_one, self);
    }
    frame = (struct frame){.kind = FRAME_ADMIN_REQUEST,
                           .body.admin_request = {.action = ADMIN_STATUS, .name = ""}};
    return cmd_ask(&self->settings->common, &frame, take_all, self);
}

/* ---- what is left of one that was interrupted ---- */

struct left {
    struct backup_head head;
    struct filter_uid *uids; /* of filters in it; the last one may be open */
    size_t count;
    size_t room;
    struct backup_filter open;
};

static bool note_left(struct left *self, const struct backup_filter *filter)
{
    if (!heap_grow(&self->uids, &self->room, self->count + 1, sizeof *self->uids)) {
        return false;
    }
    self->uids[self->count++] = filter->uid;
    self->open = *filter;
    return true;
}

/* Is it young enough, and sealed as is wanted now? Its passphrase opens it, or it is none. */
static bool head_fits(const struct backup_settings *settings, const struct backup_head *head,
                      const struct passphrase *passphrase, struct backup_key *key)
{
    uint64_t now_ms = date_now_ms();

    return (head->seal == BACKUP_SEAL_PASSPHRASE) == (passphrase != NULL) &&
           head->begun_ms <= now_ms && now_ms - head->begun_ms <= settings->resume_us / US_PER_MS &&
           (passphrase == NULL || passphrase_key(passphrase, head, key) == STATUS_OK);
}

static bool filter_fits(struct left *self, const struct backup_filter *filter,
                        const struct backup_key *key, bool has_key)
{
    struct hash_secret secret;
    bool good = !has_key ||
                backup_secret_open(key, filter->source, filter->sealed, &secret) == STATUS_OK;

    explicit_bzero(&secret, sizeof secret);
    return good && note_left(self, filter);
}

/* All whole records of it; what follows them was torn. False: it is not gone on with. */
static bool read_left(const struct backup_settings *settings, struct input *input,
                      struct left *self, const struct passphrase *passphrase,
                      struct backup_key *key)
{
    struct backup_record record;
    bool good = true;

    while (good && input_next(input, &record) == STATUS_OK) {
        if (record.kind == BACKUP_HEAD) {
            good = head_fits(settings, &record.head, passphrase, key);
            if (good && passphrase != NULL) {
                backup_reader_use(&input->reader, key);
            }
            self->head = record.head;
        } else if (record.kind == BACKUP_FILTER) {
            good = filter_fits(self, &record.filter, key, passphrase != NULL);
        }
    }
    return good && self->count > 0 && input->reader.keyed && !input->reader.place.ended;
}

static bool is_left(const struct left *self, const struct filter_uid *uid)
{
    for (size_t i = 0; i < self->count; i++) {
        if (filter_uid_equal(&self->uids[i], uid)) {
            return true;
        }
    }
    return false;
}

/* Is it about these filters, so that it can become the backup that is wanted? */
static bool is_about(const struct left *self, const struct wanted *wanted,
                     const struct backup_place *place)
{
    bool found = !place->in_filter;

    for (size_t i = 0; i < wanted->count; i++) {
        found = found || filter_uid_equal(&wanted->items[i].uid, &self->open.uid);
    }
    return found &&
           (wanted->settings->all || (self->count == 1 && is_left(self, &wanted->items[0].uid)));
}

/* ---- backup ---- */

struct backup_run {
    const struct backup_settings *settings;
    struct passphrase passphrase;
    bool has_passphrase;
    struct backup_key key;
    struct output output;
    struct wanted wanted;
    struct left left;
    struct save save;
    uint64_t from_us;
    uint64_t keys_before; /* that an earlier try has written */
};

static const struct passphrase *passphrase_of(const struct backup_run *self)
{
    return self->has_passphrase ? &self->passphrase : NULL;
}

/* True: what was left is gone on with, and the writer stands behind it. */
static bool go_on(struct backup_run *self)
{
    struct input input;
    char date[DATE_TEXT_BYTES];
    bool good = output_has_part(&self->output) &&
                input_open(&input, self->output.part) == STATUS_OK;

    if (!good) {
        return false;
    }
    good = read_left(self->settings, &input, &self->left, passphrase_of(self), &self->key) &&
           is_about(&self->left, &self->wanted, &input.reader.place) &&
           output_cut(&self->output, input_told(&input)) == STATUS_OK;
    if (good) {
        backup_writer_go_on(&self->save.writer, &input.reader);
        self->save.open = self->left.open;
        self->keys_before = input.reader.place.keys +
                            (input.reader.place.in_filter ? input.reader.place.filter_keys : 0);
        (void)fprintf(stderr, "%s: goes on with what was begun %s\n", self->output.path,
                      date_show(self->left.head.begun_ms, date));
    }
    input_close(&input);
    return good;
}

static enum status draw_head(struct backup_run *self, struct backup_head *head)
{
    *head = (struct backup_head){.begun_ms = date_now_ms(), .seal = BACKUP_SEAL_CLUSTER};
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
    return passphrase_key(&self->passphrase, head, &self->key);
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
                                     self->has_passphrase ? &self->key : NULL);
    }
    return status == STATUS_OK ? output_write(&self->output, &self->save.writer) : status;
}

/* One that is no more, or can't be backed up for what it is, is the end of it unless it is one of
 * all. */
static enum status save_one(struct backup_run *self, const struct save_filter *filter)
{
    enum status status = save_filter(&self->save, filter);
    bool gone = status == STATUS_NOT_FOUND;

    if (!gone && status != STATUS_INVALID) {
        return status;
    }
    if (!self->settings->all) {
        (void)cmd_fail(status, "%s: %s", filter->name, self->save.reason);
        return status;
    }
    if (gone) {
        (void)fprintf(stderr, "left out %s: it was dropped meanwhile\n", filter->name);
    } else {
        leave_out(&self->wanted, filter->name, self->save.reason);
    }
    return STATUS_OK;
}

/* The one that was under way comes first. */
static enum status save_wanted(struct backup_run *self)
{
    enum status status = STATUS_OK;
    bool open = self->save.writer.place.in_filter;

    for (size_t i = 0; i < self->wanted.count && open && status == STATUS_OK; i++) {
        if (filter_uid_equal(&self->wanted.items[i].uid, &self->save.open.uid)) {
            status = save_filter(&self->save, &self->wanted.items[i]);
            break;
        }
    }
    for (size_t i = 0; i < self->wanted.count && status == STATUS_OK; i++) {
        if (!is_left(&self->left, &self->wanted.items[i].uid)) {
            status = save_one(self, &self->wanted.items[i]);
        }
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

static int open_channel(const struct backup_settings *settings, struct channel **out)
{
    struct channel_options options = flags_channel(&settings->common);
    char reason[CHANNEL_REASON_BYTES];
    enum status status;

    options.attempt_us = SILENCE_US;
    status = channel_open(&options, out, reason);
    return status == STATUS_OK ? CMD_OK : cmd_fail(status, "%s", reason);
}

static int code_of(enum status status)
{
    return status == STATUS_OK                                  ? CMD_OK
           : status == STATUS_USAGE || status == STATUS_INVALID ? CMD_USAGE
                                                                : CMD_PARTIAL;
}

static enum status write_backup(struct backup_run *self)
{
    enum status status = STATUS_OK;

    progress_open_later(&self->save.progress, hub_now_us());
    self->save.output = &self->output;
    self->save.timeout_us = self->settings->common.timeout_us;
    if (!go_on(self)) {
        status = begin_anew(self);
    }
    self->save.key = self->has_passphrase ? &self->key : NULL;
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
        return code_of(status);
    }
    code = list_wanted(&self->wanted, name);
    code = code == CMD_OK ? open_channel(self->settings, &self->save.channel) : code;
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
    return code_of(status);
}

static int back_up(const struct backup_settings *settings, const char *name, const char *path)
{
    struct backup_run *self = heap_zalloc(1, sizeof *self);
    int code;

    if (self == NULL) {
        return cmd_fail(STATUS_NOMEM, "%s", status_meaning(STATUS_NOMEM));
    }
    self->settings = self->wanted.settings = settings;
    self->output.descriptor = -1;
    self->from_us = hub_now_us();
    code = run_backup(self, name, path);
    channel_close(&self->save.channel);
    backup_writer_fini(&self->save.writer);
    output_close(&self->output);
    heap_free(self->wanted.items);
    heap_free(self->left.uids);
    explicit_bzero(self, sizeof *self);
    heap_free(self);
    return code;
}

/* ---- verify ---- */

static const char *seal_name(const struct survey *survey)
{
    return survey->head.seal == BACKUP_SEAL_PASSPHRASE ? "passphrase" : "cluster key";
}

static void show_filter(const struct survey_filter *one)
{
    char keys[NUMBER_TEXT_BYTES];
    char bytes[NUMBER_TEXT_BYTES];
    char capacity[NUMBER_TEXT_BYTES];
    char rate[NUMBER_TEXT_BYTES];
    char date[DATE_TEXT_BYTES];

    (void)printf("%s: %s keys, %s; capacity %s at %s; all acknowledged before %s\n",
                 one->filter.name, number_show_count(one->keys, keys),
                 number_show_bytes(one->bytes, bytes),
                 number_show_count(one->filter.capacity, capacity),
                 number_show_rate(one->filter.rate, rate), date_show(one->filter.begun_ms, date));
}

static void show_text(const char *path, const struct survey *survey)
{
    char filters[NUMBER_TEXT_BYTES];
    char keys[NUMBER_TEXT_BYTES];
    char bytes[NUMBER_TEXT_BYTES];
    char date[DATE_TEXT_BYTES];

    (void)printf("%s: whole; begun %s; %s filter%s, %s keys, %s\n", path,
                 date_show(survey->head.begun_ms, date),
                 number_show_count(survey->nfilters, filters), survey->nfilters == 1 ? "" : "s",
                 number_show_count(survey->keys, keys), number_show_bytes(survey->bytes, bytes));
    (void)printf("secrets: sealed with a %s, %s\n", seal_name(survey),
                 survey->opened                                ? "which opens all of them"
                 : survey->head.seal == BACKUP_SEAL_PASSPHRASE ? "not tried: --passphrase-file"
                                                               : "not tried: --cluster-key");
    for (size_t i = 0; i < survey->nfilters; i++) {
        show_filter(&survey->filters[i]);
    }
}

static void show_filter_json(struct json *json, const struct survey_filter *one)
{
    char uid[FILTER_UID_TEXT_BYTES];

    json_begin(json, NULL, '{');
    json_text(json, "name", one->filter.name);
    json_text(json, "uid", filter_uid_show(&one->filter.uid, uid));
    json_count(json, "keys", one->keys);
    json_count(json, "bytes", one->bytes);
    json_count(json, "begun_ms", one->filter.begun_ms);
    json_count(json, "capacity", one->filter.capacity);
    json_count(json, "max_capacity", one->filter.max_capacity);
    json_number(json, "rate", one->filter.rate);
    json_end(json, '}');
}

static void show_json(const struct survey *survey)
{
    struct json json;

    json_open(&json, stdout);
    json_begin(&json, NULL, '{');
    json_count(&json, "begun_ms", survey->head.begun_ms);
    json_count(&json, "keys", survey->keys);
    json_count(&json, "bytes", survey->bytes);
    json_text(&json, "sealed_with", seal_name(survey));
    json_bool(&json, "opened", survey->opened);
    json_begin(&json, "filters", '[');
    for (size_t i = 0; i < survey->nfilters; i++) {
        show_filter_json(&json, &survey->filters[i]);
    }
    json_end(&json, ']');
    json_end(&json, '}');
}

static enum status read_keys(const struct backup_settings *settings, struct passphrase *passphrase,
                             struct cluster_key *ring, struct survey_keys *keys)
{
    enum status status = STATUS_OK;

    if (settings->passphrase_file != NULL) {
        status = passphrase_read(settings->passphrase_file, passphrase);
        keys->passphrase = passphrase;
    }
    if (status == STATUS_OK && settings->cluster_key != NULL) {
        status = secret_file_read(&file_cluster_key, settings->cluster_key, cluster_key_read, ring);
        keys->cluster = ring;
    }
    return status;
}

static int verify(const struct backup_settings *settings, const char *path)
{
    struct passphrase passphrase = {.size = 0};
    struct cluster_key ring = {.count = 0};
    struct survey_keys keys = {0};
    struct survey survey = {0};
    enum status status = read_keys(settings, &passphrase, &ring, &keys);

    if (status == STATUS_OK) {
        status = survey_make(&survey, path, &keys);
    }
    if (status == STATUS_OK && settings->json) {
        show_json(&survey);
    } else if (status == STATUS_OK) {
        show_text(path, &survey);
    }
    survey_fini(&survey);
    passphrase_wipe(&passphrase);
    explicit_bzero(&ring, sizeof ring);
    return cmd_close_output(status == STATUS_OK ? CMD_OK : CMD_PARTIAL);
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
        "interrupted goes on behind the last whole page when the same command is given again.\n"
        "FILE - is standard output, for a pipe to an object store.\n\n"
        "The hash secret of a filter is in it, sealed with the cluster key or a passphrase: "
        "whoever\n"
        "opens that can test any key. Filters with a window, in memory or with keylog off can't "
        "be\n"
        "backed up.\n\n"
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

static int run(int argc, char **argv)
{
    struct backup_settings settings = {0};
    struct option_words words;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    if (settings.all) {
        return words.count == 1 ? back_up(&settings, NULL, words.items[0])
                                : cmd_fail(STATUS_USAGE, "--all takes one word, the FILE");
    }
    if (words.count < 2) {
        return cmd_fail(STATUS_USAGE, "usage: orbloom backup %s", table.words);
    }
    if (strcmp(words.items[0], "verify") == 0) {
        return verify(&settings, words.items[1]);
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
