/* Read once through, with all its checks; what follows the last whole record was torn. */
#include "cli/backup/left.h"

#include "base/heap.h"
#include "runtime/date.h"

#include <string.h>

enum { US_PER_MS = 1000 };

/* Is it young enough, and sealed as is wanted now? */
static bool head_fits(struct left *self, const struct backup_head *head,
                      const struct left_wish *wish)
{
    uint64_t now_ms = date_now_ms();

    self->head = *head;
    return (head->seal == BACKUP_SEAL_PASSPHRASE) == (wish->passphrase != NULL) &&
           head->begun_ms <= now_ms && now_ms - head->begun_ms <= wish->within_us / US_PER_MS &&
           (wish->passphrase == NULL ||
            passphrase_key(wish->passphrase, head, &self->key) == STATUS_OK);
}

static bool note(struct left *self, const struct backup_filter *filter)
{
    if (!heap_grow(&self->uids, &self->room, self->count + 1, sizeof *self->uids)) {
        return false;
    }
    self->uids[self->count++] = filter->uid;
    self->open = *filter;
    return true;
}

/* Its passphrase opens the secret, where there is one. */
static bool filter_fits(struct left *self, const struct backup_filter *filter,
                        const struct left_wish *wish)
{
    struct hash_secret secret;
    bool good = wish->passphrase == NULL ||
                backup_secret_open(&self->key, filter->source, filter->sealed, &secret) ==
                    STATUS_OK;

    explicit_bzero(&secret, sizeof secret);
    return good && note(self, filter);
}

bool left_has(const struct left *self, const struct filter_uid *uid)
{
    for (size_t i = 0; i < self->count; i++) {
        if (filter_uid_equal(&self->uids[i], uid)) {
            return true;
        }
    }
    return false;
}

/* One may go on behind this record. */
static void mark(struct left *self, const struct backup_reader *reader)
{
    self->end = (struct backup_mark){.place = reader->place, .digest = reader->digest};
    if (!reader->place.in_filter) {
        self->whole = self->end;
        self->nwhole = self->count;
    }
}

/* What no digest vouches for. */
static void leave_unsigned(struct left *self)
{
    self->end = self->whole;
    self->count = self->nwhole;
}

static bool is_wanted(const struct wanted *wanted, const struct filter_uid *uid)
{
    for (size_t i = 0; i < wanted->count; i++) {
        if (filter_uid_equal(&wanted->items[i].uid, uid)) {
            return true;
        }
    }
    return false;
}

/* Can it become the backup of the filters that are wanted? One in it that was dropped since may
 * have left its name to another one: of two by one name it would be hard to say which is meant. */
static bool is_about(const struct left *self, const struct wanted *wanted)
{
    for (size_t i = 0; i < self->count; i++) {
        if (!is_wanted(wanted, &self->uids[i])) {
            return false;
        }
    }
    return wanted->all || self->count == 1;
}

bool left_read(struct left *self, struct input *input, const struct left_wish *wish)
{
    struct backup_record record;
    bool good = true;

    while (good && input_next(input, &record) == STATUS_OK) {
        if (record.kind == BACKUP_HEAD) {
            good = head_fits(self, &record.head, wish);
            if (good && wish->passphrase != NULL) {
                backup_reader_use(&input->reader, &self->key);
            }
        } else if (record.kind == BACKUP_FILTER) {
            good = filter_fits(self, &record.filter, wish);
        }
        mark(self, &input->reader);
    }
    if (wish->passphrase != NULL) {
        leave_unsigned(self);
    }
    return good && self->count > 0 && input->reader.keyed && !self->end.place.ended &&
           is_about(self, wish->wanted);
}

void left_fini(struct left *self)
{
    heap_free(self->uids);
    explicit_bzero(self, sizeof *self);
}
