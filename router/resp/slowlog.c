/* The slow log: the last commands that took too long, from when they were taken until their answer
 * was known.
 *
 * Hardly any command is slow, so the words of those whose items are gathered are not kept: they are
 * found in the gather when its answer comes late. Words stand in an entry as they go out, as they
 * do so alike in both versions of the protocol. Entries are a ring by their numbers. */
#include "base/heap.h"
#include "router/resp/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_WORDS = 32, /* these two as in Redis */
    MOST_WORD_BYTES = 128,
    ENTRY_BYTES = MOST_WORDS * (MOST_WORD_BYTES + 64),
    NOTE_BYTES = 64,
};

/* ---- words ---- */

static void put_shown(struct resp_writer *writer, struct span word)
{
    char text[MOST_WORD_BYTES + NOTE_BYTES];
    int used;

    if (word.size <= MOST_WORD_BYTES) {
        resp_bulk(writer, word);
        return;
    }
    memcpy(text, word.data, MOST_WORD_BYTES);
    used = snprintf(text + MOST_WORD_BYTES, NOTE_BYTES, "... (%zu more bytes)",
                    word.size - MOST_WORD_BYTES);
    resp_bulk(writer, span_of(text, MOST_WORD_BYTES + (size_t)used));
}

/* Not even how long a password is is told. */
static void put_hidden(struct resp_writer *writer, const struct command *command, size_t size)
{
    char text[NOTE_BYTES];

    if ((command->flags & COMMAND_SECRETS) != 0) {
        resp_text(writer, "(redacted)");
        return;
    }
    (void)snprintf(text, sizeof text, "(%zu bytes hidden)", size);
    resp_text(writer, text);
}

/* In place of the last word that there is room for. */
static void put_rest(struct resp_writer *writer, uint32_t count)
{
    char text[NOTE_BYTES];

    (void)snprintf(text, sizeof text, "... (%" PRIu32 " more arguments)", count - MOST_WORDS + 1);
    resp_text(writer, text);
}

/* How many words of a command of `count` are told one by one. */
static uint32_t told(uint32_t count)
{
    return count <= MOST_WORDS ? count : MOST_WORDS - 1;
}

static struct slow_entry *make(uint32_t count, struct resp_writer *writer)
{
    struct slow_entry *entry = heap_zalloc(1, sizeof *entry);

    if (entry != NULL) {
        entry->nwords = count <= MOST_WORDS ? count : MOST_WORDS;
        buffer_init(&entry->words, ENTRY_BYTES);
        *writer = (struct resp_writer){.out = &entry->words};
    }
    return entry;
}

/* NULL: they are not kept, for want of memory. */
static struct slow_entry *made(struct slow_entry *entry, const struct resp_writer *writer,
                               uint32_t count)
{
    struct resp_writer rest = *writer;

    if (count > MOST_WORDS) {
        put_rest(&rest, count);
    }
    if (!rest.failed) {
        return entry;
    }
    slowlog_forget(entry);
    return NULL;
}

/* So many words may be told to whoever reads the slow log. */
static uint32_t open_words(const struct front *self, const struct command *command,
                           const struct span *arguments, uint32_t count)
{
    bool secret = (command->flags & COMMAND_SECRETS) != 0;
    bool items = (command->flags & COMMAND_ITEMS) != 0 && !self->config.slow_items;

    if (!secret && !items) {
        return count;
    }
    if ((command->flags & COMMAND_FEEDS) != 0 && count > 2) {
        return command_word(arguments[2], "feed") ? 3 : count;
    }
    return (uint32_t)command->keys.last + 1;
}

static struct slow_entry *keep_words(const struct front *self, const struct command *command,
                                     const struct span *arguments, uint32_t count)
{
    uint32_t open = open_words(self, command, arguments, count);
    struct resp_writer writer;
    struct slow_entry *entry = make(count, &writer);

    if (entry == NULL) {
        return NULL;
    }
    resp_text(&writer, command->name);
    for (uint32_t i = 1; i < told(count); i++) {
        if (i < open) {
            put_shown(&writer, arguments[i]);
        } else {
            put_hidden(&writer, command, arguments[i].size);
        }
    }
    return made(entry, &writer, count);
}

/* The command, the filter and the items; options of BF.INSERT are not there any more. */
static struct slow_entry *keep_keys(const struct front *self, const struct gather *gather,
                                    const struct call *call)
{
    uint32_t count = call->count + 2;
    const uint8_t *at = gather->keys.data + call->keys_at;
    struct resp_writer writer;
    struct slow_entry *entry = make(count, &writer);

    if (entry == NULL) {
        return NULL;
    }
    resp_text(&writer, call->command->name);
    resp_text(&writer, gather->kind.name);
    for (uint32_t i = 0; i + 2 < told(count); i++) {
        size_t size = gather->lengths[call->first + i];

        if (self->config.slow_items) {
            put_shown(&writer, span_of(at, size));
        } else {
            put_hidden(&writer, call->command, size);
        }
        at += size;
    }
    return made(entry, &writer, count);
}

/* ---- entries ---- */

void slowlog_forget(struct slow_entry *entry)
{
    if (entry != NULL) {
        buffer_fini(&entry->words);
        heap_free(entry);
    }
}

static struct slow_entry **place_of(struct front *self, uint64_t id)
{
    return &self->slow[id % FRONT_SLOW_ENTRIES];
}

/* It takes the oldest one's place. `session` NULL: the client has gone. */
static void add(struct front *self, const struct session *session, struct slow_entry *entry,
                uint64_t duration_us)
{
    uint64_t id = self->nslow++;
    struct slow_entry **place = place_of(self, id);

    front_count(self, FRONT_resp_slow_total);
    if (entry == NULL) {
        return;
    }
    slowlog_forget(*place);
    *place = entry;
    entry->id = id;
    entry->wall_us = self->streams.wall_us(self->streams.context);
    entry->duration_us = duration_us;
    if (session != NULL) {
        memcpy(entry->peer, session->peer, sizeof entry->peer);
        memcpy(entry->label, session->label, sizeof entry->label);
    }
}

void slowlog_begin(struct front *self, const struct session *session, struct call *call,
                   const struct command *command, const struct span *arguments, uint32_t count)
{
    if (call == NULL && self->config.slow_us == 0) {
        add(self, session, keep_words(self, command, arguments, count), 0);
    } else if (call != NULL) {
        call->begun_us = self->now_us;
        call->slow = call->gathered ? NULL : keep_words(self, command, arguments, count);
    }
}

/* Of a crowd that is answered at once only the last ones would stay. */
void slowlog_keep_keys(struct front *self, const struct gather *gather, struct call *call,
                       uint32_t following)
{
    if (following < FRONT_SLOW_ENTRIES) {
        call->slow = keep_keys(self, gather, call);
    }
}

void slowlog_end(struct front *self, struct call *call)
{
    add(self, call->session, call->slow, self->now_us - call->begun_us);
    call->slow = NULL;
}

void slowlog_reset(struct front *self)
{
    for (size_t i = 0; i < FRONT_SLOW_ENTRIES; i++) {
        slowlog_forget(self->slow[i]);
        self->slow[i] = NULL;
    }
}

/* ---- reading it ---- */

const struct slow_entry *slowlog_find(const struct front *self, uint64_t id)
{
    const struct slow_entry *entry = self->slow[id % FRONT_SLOW_ENTRIES];

    return entry != NULL && entry->id == id ? entry : NULL;
}

uint64_t slowlog_oldest(const struct front *self)
{
    return self->nslow > FRONT_SLOW_ENTRIES ? self->nslow - FRONT_SLOW_ENTRIES : 0;
}
