/* Writer and reader move on the same place, by the same rules: so what the one may write is what
 * the other takes. */
#include "backup/stream.h"

#include "base/heap.h"

#include <assert.h>
#include <string.h>

enum { OUT_BYTES = 2 << 20, IN_BYTES = 4 << 20 };

/* ---- which record may come when ---- */

/* NULL: this one may, now. */
static const char *judge(const struct backup_place *place, const struct backup_record *record)
{
    if (place->ended) {
        return "something follows its end";
    }
    switch (record->kind) {
    case BACKUP_HEAD:
        return place->records == 0 ? NULL : "it has a second head";
    case BACKUP_FILTER:
        return place->records > 0 && !place->in_filter ? NULL
                                                       : "a filter begins where none can begin";
    case BACKUP_CHUNK:
        return place->in_filter && record->chunk.from == place->iterator
                   ? NULL
                   : "a chunk is where it does not belong";
    case BACKUP_FILTER_END:
        return place->in_filter && place->iterator == DUMP_END &&
                       record->filter_end.keys == place->filter_keys &&
                       record->filter_end.chunks == place->chunks
                   ? NULL
                   : "a filter ends before all of it was there";
    case BACKUP_END:
        return place->records > 0 && !place->in_filter && record->end.filters == place->filters &&
                       record->end.keys == place->keys
                   ? NULL
                   : "it ends before all of it was there";
    }
    return "a record in it is damaged";
}

static void move(struct backup_place *place, const struct backup_record *record, size_t bytes)
{
    place->records++;
    place->bytes += bytes;
    switch (record->kind) {
    case BACKUP_HEAD:
        break;
    case BACKUP_FILTER:
        place->in_filter = true;
        place->iterator = DUMP_FIRST;
        place->chunks = 0;
        place->filter_keys = 0;
        break;
    case BACKUP_CHUNK:
        place->iterator = record->chunk.to;
        place->chunks++;
        place->filter_keys += record->chunk.count;
        break;
    case BACKUP_FILTER_END:
        place->in_filter = false;
        place->filters++;
        place->keys += place->filter_keys;
        break;
    case BACKUP_END:
        place->ended = true;
        break;
    }
}

/* ---- writing ---- */

static enum status write_record(struct backup_writer *self, const struct backup_record *record)
{
    size_t begin = self->out.size;
    enum status status = judge(&self->place, record) == NULL
                             ? backup_record_write(record, self->place.records, &self->out)
                             : STATUS_INVALID;

    if (status == STATUS_OK) {
        backup_digest_take(&self->digest, span_of(self->out.data + begin, self->out.size - begin));
        move(&self->place, record, self->out.size - begin);
    }
    return status;
}

enum status backup_writer_begin(struct backup_writer *self, const struct backup_head *head,
                                const struct backup_key *key)
{
    const struct backup_record record = {.kind = BACKUP_HEAD, .head = *head};
    enum status status;

    assert((head->seal == BACKUP_SEAL_PASSPHRASE) == (key != NULL));
    *self = (struct backup_writer){0};
    buffer_init(&self->out, OUT_BYTES);
    backup_digest_begin(&self->digest, key);
    status = buffer_append(&self->out, span_of(backup_magic, sizeof backup_magic));
    if (status == STATUS_OK) {
        backup_digest_take(&self->digest, buffer_span(&self->out));
        self->place.bytes = self->out.size;
        status = write_record(self, &record);
    }
    return status;
}

void backup_writer_fini(struct backup_writer *self)
{
    buffer_fini(&self->out);
}

enum status backup_put_filter(struct backup_writer *self, const struct backup_filter *filter)
{
    const struct backup_record record = {.kind = BACKUP_FILTER, .filter = *filter};

    return write_record(self, &record);
}

enum status backup_put_chunk(struct backup_writer *self, const struct backup_chunk *chunk)
{
    const struct backup_record record = {.kind = BACKUP_CHUNK, .chunk = *chunk};

    return write_record(self, &record);
}

enum status backup_put_filter_end(struct backup_writer *self)
{
    struct backup_record record = {
        .kind = BACKUP_FILTER_END,
        .filter_end = {.keys = self->place.filter_keys, .chunks = self->place.chunks}};

    backup_digest_tell(&self->digest, record.filter_end.digest);
    return write_record(self, &record);
}

enum status backup_put_end(struct backup_writer *self)
{
    struct backup_record record = {
        .kind = BACKUP_END, .end = {.filters = self->place.filters, .keys = self->place.keys}};

    backup_digest_tell(&self->digest, record.end.digest);
    return write_record(self, &record);
}

void backup_writer_go_on(struct backup_writer *self, const struct backup_mark *mark)
{
    *self = (struct backup_writer){0};
    buffer_init(&self->out, OUT_BYTES);
    backup_writer_back(self, mark);
}

void backup_writer_back(struct backup_writer *self, const struct backup_mark *mark)
{
    assert(!mark->place.ended && mark->place.records > 0);
    buffer_clear(&self->out);
    self->place = mark->place;
    self->digest = mark->digest;
}

/* ---- reading ---- */

enum status backup_reader_init(struct backup_reader *self)
{
    *self = (struct backup_reader){.reason = ""};
    buffer_init(&self->bytes, IN_BYTES);
    self->room = heap_alloc(DUMP_MAX_KEYS, sizeof *self->room);
    return self->room != NULL ? STATUS_OK : STATUS_NOMEM;
}

void backup_reader_fini(struct backup_reader *self)
{
    buffer_fini(&self->bytes);
    heap_free(self->room);
    self->room = NULL;
}

enum status backup_reader_room(struct backup_reader *self, size_t size, uint8_t **out)
{
    size_t size_now = self->bytes.size - self->used;
    enum status status;

    if (self->used > 0) {
        memmove(self->bytes.data, self->bytes.data + self->used, size_now);
        self->bytes.size = size_now;
        self->used = 0;
    }
    status = buffer_extend(&self->bytes, size, out);
    self->bytes.size = size_now; /* They are not there yet. */
    return status;
}

void backup_reader_put(struct backup_reader *self, size_t size)
{
    assert(size <= self->bytes.capacity - self->bytes.size);
    self->bytes.size += size;
}

static enum status refuse(struct backup_reader *self, enum status status, const char *reason)
{
    self->broken = status;
    self->reason = reason;
    return status;
}

static struct span rest_of(const struct backup_reader *self)
{
    return span_of(self->bytes.data + self->used, self->bytes.size - self->used);
}

/* Passed over once; all before the first record. */
static enum status take_magic(struct backup_reader *self)
{
    struct span rest = rest_of(self);
    size_t known = rest.size < BACKUP_MAGIC_BYTES - 1 ? rest.size : BACKUP_MAGIC_BYTES - 1;

    if (known > 0 && memcmp(rest.data, backup_magic, known) != 0) {
        return refuse(self, STATUS_MALFORMED, "it is no backup made by `orbloom backup`");
    }
    if (rest.size < BACKUP_MAGIC_BYTES) {
        return STATUS_NOT_FOUND;
    }
    if (rest.data[BACKUP_MAGIC_BYTES - 1] != backup_magic[BACKUP_MAGIC_BYTES - 1]) {
        return refuse(self, STATUS_VERSION, "it was made by another version of orbloom");
    }
    return STATUS_OK;
}

/* The record's bytes; of the first one with the magic before it in *skip. */
static enum status find_record(struct backup_reader *self, size_t *skip, struct span *bytes)
{
    enum status status = STATUS_OK;
    struct span rest;
    size_t size;

    *skip = self->place.records == 0 ? BACKUP_MAGIC_BYTES : 0;
    if (*skip > 0) {
        status = take_magic(self);
    }
    if (status != STATUS_OK) {
        return status;
    }
    rest = rest_of(self);
    rest = span_of(rest.data + *skip, rest.size - *skip);
    if (rest.size < BACKUP_FRONT_BYTES) {
        return STATUS_NOT_FOUND;
    }
    if (backup_record_size(rest.data, &size) != STATUS_OK) {
        return refuse(self, STATUS_MALFORMED, "a record in it is damaged");
    }
    *bytes = span_of(rest.data, size);
    return rest.size < size ? STATUS_NOT_FOUND : STATUS_OK;
}

/* The head's own bytes are the digest's once it is known whether that has a key. */
static void begin_digest(struct backup_reader *self, const struct backup_key *key)
{
    backup_digest_begin(&self->digest, key);
    backup_digest_take(&self->digest, span_of(self->bytes.data, self->used));
}

static bool digest_good(const struct backup_reader *self, const uint8_t *digest)
{
    uint8_t own[BACKUP_DIGEST_BYTES];

    backup_digest_tell(&self->digest, own);
    return !self->keyed || memcmp(own, digest, sizeof own) == 0;
}

static bool end_good(const struct backup_reader *self, const struct backup_record *record)
{
    return record->kind == BACKUP_FILTER_END ? digest_good(self, record->filter_end.digest)
           : record->kind == BACKUP_END      ? digest_good(self, record->end.digest)
                                             : true;
}

enum status backup_reader_next(struct backup_reader *self, struct backup_record *out)
{
    struct span bytes;
    const char *reason;
    size_t skip;
    enum status status = self->broken;

    if (status == STATUS_OK && self->place.ended) {
        return rest_of(self).size == 0
                   ? STATUS_NOT_FOUND
                   : refuse(self, STATUS_MALFORMED, "something follows its end");
    }
    status = status == STATUS_OK ? find_record(self, &skip, &bytes) : status;
    if (status != STATUS_OK) {
        return status;
    }
    if (backup_record_read(bytes, self->place.records, self->room, out) != STATUS_OK) {
        return refuse(self, STATUS_MALFORMED, "a record in it is damaged");
    }
    reason = judge(&self->place, out);
    if (reason != NULL) {
        return refuse(self, STATUS_MALFORMED, reason);
    }
    if (!end_good(self, out)) {
        return refuse(self, STATUS_UNAUTHENTIC,
                      self->passphrase ? "it was changed by somebody without this passphrase, or "
                                         "the passphrase is another one"
                                       : "it was changed: its digest is not that of its bytes");
    }
    self->used += skip + bytes.size;
    if (out->kind == BACKUP_HEAD) {
        self->passphrase = out->head.seal == BACKUP_SEAL_PASSPHRASE;
        self->keyed = !self->passphrase;
        begin_digest(self, NULL);
    } else {
        backup_digest_take(&self->digest, bytes);
    }
    move(&self->place, out, skip + bytes.size);
    return STATUS_OK;
}

void backup_reader_use(struct backup_reader *self, const struct backup_key *key)
{
    assert(self->place.records == 1 && self->passphrase && self->broken == STATUS_OK);
    self->keyed = true;
    begin_digest(self, key);
}

enum status backup_reader_close(struct backup_reader *self)
{
    if (self->broken != STATUS_OK) {
        return self->broken;
    }
    if (rest_of(self).size > 0 && self->place.ended) {
        return refuse(self, STATUS_MALFORMED, "something follows its end");
    }
    if (!self->place.ended) {
        return refuse(self, STATUS_MALFORMED,
                      self->place.records == 0 && self->bytes.size == 0 ? "it is empty"
                                                                        : "it is cut short");
    }
    return STATUS_OK;
}
