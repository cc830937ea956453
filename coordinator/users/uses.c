/* When tokens and keys of users were last used: what routers tell is kept here in order, joined
 * with what other coordinators have written into the store, and written there now and then. */
#include "base/heap.h"
#include "coordinator/duty.h"
#include "coordinator/records.h"
#include "coordinator/users/users.h"

#include <stdlib.h>
#include <string.h>

enum {
    USES_MAX = USER_MAX * (USER_MAX_TOKENS + USER_MAX_KEYS),
    USE_BYTES = 16,
    USES_PACE_US = 60000000, /* between writes of them */
};

_Static_assert((int)USES_MAX *(int)USE_BYTES <= (int)STORE_MAX_VALUE_BYTES,
               "all of them fit a record");

void users_release(struct coordinator *self)
{
    heap_free(self->users.uses);
    self->users = (struct users_held){0};
}

static size_t place_of(const struct users_held *self, const struct user_use *use)
{
    size_t low = 0;
    size_t high = self->nuses;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (user_use_order(&self->uses[middle], use) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_there(const struct coordinator *self, const struct user_use *use)
{
    const struct user *user = user_list_find_id(&self->documents.users, use->user);

    return user != NULL && user_has_credential(user, use->credential);
}

static int by_id(const void *a, const void *b)
{
    const struct user *left = *(const struct user *const *)a;
    const struct user *right = *(const struct user *const *)b;

    return (left->id > right->id) - (left->id < right->id);
}

/* Both in order of ids: one pass over uses and users. */
static void keep_those_of(struct users_held *held, const struct user *const *users, size_t count)
{
    size_t left = 0;
    size_t at = 0;

    for (size_t i = 0; i < held->nuses; i++) {
        const struct user_use *use = &held->uses[i];

        while (at < count && users[at]->id < use->user) {
            at++;
        }
        if (at < count && users[at]->id == use->user &&
            user_has_credential(users[at], use->credential)) {
            held->uses[left++] = *use;
        }
    }
    held->nuses = left;
}

/* Without memory all are kept until the next time. */
void users_forget_uses(struct coordinator *self)
{
    const struct user_list *list = &self->documents.users;
    const struct user **users = heap_alloc(list->count + 1, sizeof *users);

    if (users == NULL) {
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        users[i] = &list->users[i];
    }
    qsort(users, list->count, sizeof *users, by_id);
    keep_those_of(&self->users, users, list->count);
    heap_free(users);
}

/* True: it is news. */
static bool note_use(struct users_held *held, const struct user_use *use)
{
    size_t at = place_of(held, use);

    if (at < held->nuses && user_use_order(&held->uses[at], use) == 0) {
        bool later = use->at_ms > held->uses[at].at_ms;

        held->uses[at].at_ms = later ? use->at_ms : held->uses[at].at_ms;
        return later;
    }
    if (held->nuses >= USES_MAX ||
        !heap_grow(&held->uses, &held->room, held->nuses + 1, sizeof *held->uses)) {
        return false;
    }
    memmove(&held->uses[at + 1], &held->uses[at], (held->nuses - at) * sizeof *held->uses);
    held->uses[at] = *use;
    held->nuses++;
    return true;
}

void users_note_uses(struct coordinator *self, const struct user_use *uses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool news = is_there(self, &uses[i]) && note_use(&self->users, &uses[i]);

        self->users.unwritten = self->users.unwritten || news;
    }
}

/* ---- ... in the store: 16 bytes each, little-endian. Nobody vouches for them: they are told to
 * people, and no more. ---- */

static uint64_t read_number(const uint8_t *bytes, size_t size)
{
    uint64_t number = 0;

    for (size_t i = 0; i < size; i++) {
        number |= (uint64_t)bytes[i] << (8 * i);
    }
    return number;
}

void users_take_uses(struct coordinator *self, uint64_t version, struct span value)
{
    self->users.version = version;
    for (size_t at = 0; at + USE_BYTES <= value.size; at += USE_BYTES) {
        const struct user_use use = {
            .user = (uint32_t)read_number(value.data + at, 4),
            .credential = (uint32_t)read_number(value.data + at + 4, 4),
            .at_ms = read_number(value.data + at + 8, 8),
        };

        (void)note_use(&self->users, &use); /* Of users that are read later, maybe. */
    }
}

static enum status put_uses(const struct users_held *held, struct buffer *out)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < held->nuses && status == STATUS_OK; i++) {
        uint8_t bytes[USE_BYTES];

        records_put_number(held->uses[i].user | (uint64_t)held->uses[i].credential << 32, bytes);
        records_put_number(held->uses[i].at_ms, bytes + 8);
        status = buffer_append(out, span_of(bytes, sizeof bytes));
    }
    return status;
}

/* Where another coordinator was first, what it has written is joined by now. What is heard of while
 * the store writes is not in it, and is written the next time. */
static void write_uses(struct coordinator *self)
{
    struct store_swap swap = {.key = USERS_USES_KEY, .expected = self->users.version};
    struct buffer value;
    enum status status;

    buffer_init(&value, STORE_MAX_VALUE_BYTES);
    users_forget_uses(self);
    self->users.unwritten = false;
    status = put_uses(&self->users, &value);
    swap.value = buffer_span(&value);
    status = status == STATUS_OK ? records_swap(self, &swap, 1) : status;
    self->users.unwritten = self->users.unwritten || status != STATUS_OK;
    buffer_fini(&value);
}

static enum duty_round round_of_uses(struct coordinator *self, uint64_t now_us)
{
    if (self->users.unwritten && now_us >= self->users.next_us) {
        self->users.next_us = now_us + USES_PACE_US;
        write_uses(self);
    }
    return ROUND_NONE;
}

static uint64_t due_us(const struct coordinator *self)
{
    return self->users.unwritten ? self->users.next_us : ACTOR_NEVER;
}

const struct duty duty_uses = {
    .round = round_of_uses,
    .due_us = due_us,
};
