/* Record by record, once through. */
#include "cli/backup/survey.h"

#include "base/heap.h"
#include "cli/backup/input.h"
#include "cli/cmd.h"

#include <string.h>

/* While it goes through. */
struct look {
    struct survey *survey;
    const struct survey_keys *keys;
    struct input input;
    struct backup_key key;
    uint64_t begin; /* of the filter's bytes */
};

enum status survey_open(const struct survey_keys *keys, const struct backup_key *key,
                        const struct backup_filter *filter, struct hash_secret *secret)
{
    return keys->passphrase != NULL
               ? backup_secret_open(key, filter->source, filter->sealed, secret)
               : seal_secret_open(keys->cluster, filter->source,
                                  span_of(filter->sealed, sizeof filter->sealed), secret);
}

static bool can_open(const struct look *self)
{
    return self->survey->head.seal == BACKUP_SEAL_PASSPHRASE ? self->keys->passphrase != NULL
                                                             : self->keys->cluster != NULL;
}

static enum status take_head(struct look *self, const struct backup_head *head)
{
    enum status status;

    self->survey->head = *head;
    self->survey->opened = can_open(self);
    if (head->seal == BACKUP_SEAL_CLUSTER && self->keys->passphrase != NULL) {
        (void)cmd_fail(STATUS_INVALID,
                       "%s: its secrets are sealed with the cluster key, not with a passphrase",
                       self->input.path);
        return STATUS_INVALID;
    }
    if (self->keys->passphrase == NULL) {
        return STATUS_OK;
    }
    status = passphrase_key(self->keys->passphrase, head, &self->key);
    if (status == STATUS_OK) {
        backup_reader_use(&self->input.reader, &self->key);
    }
    return status;
}

static enum status take_filter(struct look *self, const struct backup_filter *filter)
{
    struct survey *survey = self->survey;
    struct hash_secret secret;

    if (survey->opened && survey_open(self->keys, &self->key, filter, &secret) != STATUS_OK) {
        (void)cmd_fail(STATUS_UNAUTHENTIC,
                       survey->head.seal == BACKUP_SEAL_PASSPHRASE
                           ? "%s: %s: the secret is sealed with another passphrase"
                           : "%s: %s: the secret is sealed with another cluster key",
                       self->input.path, filter->name);
        return STATUS_UNAUTHENTIC;
    }
    explicit_bzero(&secret, sizeof secret);
    if (!heap_grow(&survey->filters, &survey->room, survey->nfilters + 1,
                   sizeof *survey->filters)) {
        (void)cmd_fail(STATUS_NOMEM, "%s", status_meaning(STATUS_NOMEM));
        return STATUS_NOMEM;
    }
    survey->filters[survey->nfilters] = (struct survey_filter){.filter = *filter};
    return STATUS_OK;
}

static void take_filter_end(struct look *self, const struct backup_filter_end *end)
{
    struct survey *survey = self->survey;
    struct survey_filter *last = &survey->filters[survey->nfilters++];

    last->keys = end->keys;
    last->bytes = input_told(&self->input) - self->begin;
    survey->keys += end->keys;
}

static enum status take(struct look *self, const struct backup_record *record)
{
    if (record->kind == BACKUP_HEAD) {
        return take_head(self, &record->head);
    }
    if (record->kind == BACKUP_FILTER) {
        return take_filter(self, &record->filter);
    }
    if (record->kind == BACKUP_FILTER_END) {
        take_filter_end(self, &record->filter_end);
    }
    return STATUS_OK;
}

static enum status look_through(struct look *self)
{
    struct backup_record record;
    enum status status;

    do {
        uint64_t begin = input_told(&self->input);

        status = input_next(&self->input, &record);
        if (status == STATUS_OK) {
            self->begin = record.kind == BACKUP_FILTER ? begin : self->begin;
            status = take(self, &record);
        } else if (status != STATUS_NOT_FOUND) {
            (void)cmd_fail(status, "%s: %s; take another backup", self->input.path,
                           self->input.reason);
        }
    } while (status == STATUS_OK);
    self->survey->bytes = self->input.bytes;
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

enum status survey_make(struct survey *self, const char *path, const struct survey_keys *keys)
{
    struct look look = {.survey = self, .keys = keys};
    enum status status = input_open(&look.input, path);

    *self = (struct survey){0};
    if (status == STATUS_OK) {
        status = look_through(&look);
    }
    input_close(&look.input);
    explicit_bzero(&look.key, sizeof look.key);
    return status;
}

void survey_fini(struct survey *self)
{
    heap_free(self->filters);
    self->filters = NULL;
}
