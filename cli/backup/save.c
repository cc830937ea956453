/* A page is asked for, coded, written; then the next one, as that begins where this one ends. What
 * routers tell is believed only as far as it names the dump that was begun. */
#include "cli/backup/save.h"

#include "base/heap.h"
#include "base/number.h"
#include "runtime/date.h"
#include "runtime/hub.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum { ANEW = 3 /* times at most */ };

/* What an answer is made into; its bytes are gone once it is told. */
struct told {
    struct save *save;
    enum status status;
    uint64_t next;
    struct dump_header header;
    struct filter_uid uid;
    uint8_t sealed[SEAL_SECRET_BYTES];
    bool has_sealed;
};

/* ---- asking ---- */

static enum status refuse(struct save *self, enum status status, const char *reason)
{
    (void)snprintf(self->reason, sizeof self->reason, "%s", reason);
    return status;
}

static enum status refuse_rebuilt(struct save *self)
{
    self->rebuilt = true;
    return refuse(self, STATUS_CONFLICT,
                  "it was rebuilt from a list, or another filter has taken its name; begin anew");
}

/* Of a page or header; `done` is called once. */
static void ask(struct save *self, uint64_t iterator, uint64_t seal_as, session_done_fn done,
                struct told *told)
{
    const struct frame frame = {
        .kind = FRAME_DUMP_REQUEST,
        .body.dump_request = {.filter = self->open.name,
                              .iterator = iterator,
                              .seal_as = seal_as,
                              .series = self->series},
    };

    channel_ask(self->channel, self->timeout_us, &frame, done, told);
}

static bool is_answered(struct told *told, const struct session_result *result)
{
    told->status = result->status;
    if (result->status != STATUS_OK) {
        (void)refuse(told->save, result->status, result->message);
    }
    return result->status == STATUS_OK;
}

/* ---- the header ---- */

static void on_header(void *context, const struct session_result *result)
{
    struct told *told = context;
    const struct dump_reply *reply;

    if (!is_answered(told, result)) {
        return;
    }
    reply = &result->frame->body.dump_reply;
    told->status = reply->next == DUMP_FIRST ? dump_header_read(reply->page, &told->header)
                                             : STATUS_MALFORMED;
    told->uid = reply->uid;
    told->has_sealed = reply->sealed.size == sizeof told->sealed;
    if (told->has_sealed) {
        memcpy(told->sealed, reply->sealed.data, sizeof told->sealed);
    }
}

/* A name that is no filter's; 0: there are no random bytes. */
static uint64_t draw(void)
{
    uint64_t random = 0;

    return getrandom(&random, sizeof random, 0) == (ssize_t)sizeof random ? random | DUMP_LEAST_NAME
                                                                          : 0;
}

/* By the passphrase's key, or as the router has sealed it. */
static enum status seal(struct save *self, struct told *told)
{
    uint8_t nonce[SEAL_NONCE_BYTES];

    if (self->key == NULL) {
        memcpy(self->open.sealed, told->sealed, sizeof told->sealed);
        return told->has_sealed
                   ? STATUS_OK
                   : refuse(self, STATUS_VERSION, "the router does not seal secrets; upgrade it");
    }
    if (getrandom(nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce) {
        return refuse(self, STATUS_IO, "the kernel gives no random bytes");
    }
    backup_secret_seal(self->key, self->open.source, &told->header.secret, nonce,
                       self->open.sealed);
    return STATUS_OK;
}

/* Of the very filter: its name may be another one's by now. */
static enum status fetch_header(struct save *self, const struct save_filter *wanted,
                                struct told *told)
{
    uint64_t source = self->open.source != 0 ? self->open.source : draw();

    *told = (struct told){.save = self};
    self->open.source = source;
    if (source == 0) {
        return refuse(self, STATUS_IO, "the kernel gives no random bytes");
    }
    ask(self, 0, self->key == NULL ? source : 0, on_header, told);
    if (told->status == STATUS_MALFORMED) {
        return refuse(self, STATUS_VERSION,
                      "the router tells no header of a dump that this version knows");
    }
    return told->status == STATUS_OK && !filter_uid_equal(&told->uid, &wanted->uid)
               ? refuse(self, STATUS_NOT_FOUND, "another filter has taken its name")
               : told->status;
}

static void describe(struct backup_filter *filter, const struct save_filter *wanted,
                     const struct dump_header *header)
{
    filter->uid = wanted->uid;
    filter->dump = header->source;
    filter->capacity = header->capacity;
    filter->rate = header->rate;
    filter->max_capacity = header->max_capacity;
    filter->max_staleness = wanted->max_staleness;
    filter->acks = wanted->acks;
    filter->rule = header->rule;
    filter->hash = header->hash;
    filter->when_unavailable = header->when_unavailable;
    filter->when_full = header->when_full;
    filter->durability = wanted->durability;
    filter->expires_min = wanted->expires_min;
}

static enum status written(struct save *self, enum status status)
{
    return status == STATUS_OK ? output_write(self->output, &self->writer)
                               : refuse(self, status, "the router tells what no backup can hold");
}

/* What is acknowledged by now is in every page that is asked for from now on. */
static enum status begin(struct save *self, const struct save_filter *wanted)
{
    struct told told;
    enum status status;

    self->open = (struct backup_filter){.begun_ms = date_now_ms()};
    (void)snprintf(self->open.name, sizeof self->open.name, "%s", wanted->name);
    status = fetch_header(self, wanted, &told);
    if (status == STATUS_OK) {
        describe(&self->open, wanted, &told.header);
        status = seal(self, &told);
    }
    explicit_bzero(&told.header.secret, sizeof told.header.secret);
    return status == STATUS_OK ? written(self, backup_put_filter(&self->writer, &self->open))
                               : status;
}

/* Is it still the dump that was begun, under the name that the filter has now? */
static enum status go_on(struct save *self, const struct save_filter *wanted)
{
    struct told told;
    enum status status;

    (void)snprintf(self->open.name, sizeof self->open.name, "%s", wanted->name);
    status = fetch_header(self, wanted, &told);
    explicit_bzero(&told.header.secret, sizeof told.header.secret);
    if (status == STATUS_OK && told.header.source != self->open.dump) {
        return refuse_rebuilt(self);
    }
    return status;
}

/* ---- pages ---- */

static enum status put_page(struct save *self, const struct dump_reply *reply)
{
    struct dump_chunk chunk;
    struct backup_chunk coded;
    uint64_t *keys;
    enum status status = dump_chunk_read(reply->page, &chunk);

    if (status != STATUS_OK || chunk.from != self->writer.place.iterator ||
        chunk.to != reply->next) {
        return refuse(self, STATUS_MALFORMED, "the router tells another page than was asked for");
    }
    if (chunk.source != self->open.dump) {
        return refuse_rebuilt(self);
    }
    keys = heap_alloc(chunk.count + 1, sizeof *keys);
    if (keys == NULL) {
        return refuse(self, STATUS_NOMEM, status_meaning(STATUS_NOMEM));
    }
    dump_chunk_unpack(&chunk, keys);
    coded = (struct backup_chunk){
        .from = chunk.from, .to = chunk.to, .fingerprints = keys, .count = (uint32_t)chunk.count};
    status = backup_put_chunk(&self->writer, &coded);
    heap_free(keys);
    return status == STATUS_OK ? status : refuse(self, status, status_meaning(status));
}

static void on_page(void *context, const struct session_result *result)
{
    struct told *told = context;

    if (is_answered(told, result)) {
        told->status = put_page(told->save, &result->frame->body.dump_reply);
    }
}

static void show(struct save *self)
{
    char bar[PROGRESS_BAR_BYTES];
    char keys[NUMBER_TEXT_BYTES];
    char line[DOCUMENT_NAME_BYTES + 96];
    double share = (double)(self->writer.place.iterator - DUMP_FIRST) /
                   (double)(DUMP_END - DUMP_FIRST);

    (void)snprintf(line, sizeof line, "%s %3.0f %% of %s, %s keys", progress_bar(share, bar),
                   100 * share, self->open.name,
                   number_show_count(self->writer.place.filter_keys, keys));
    progress_show(&self->progress, hub_now_us(), line);
}

static enum status fetch_page(struct save *self)
{
    struct told told = {.save = self};

    ask(self, self->writer.place.iterator, 0, on_page, &told);
    return told.status == STATUS_OK ? output_write(self->output, &self->writer) : told.status;
}

static enum status fetch_pages(struct save *self)
{
    enum status status = STATUS_OK;

    while (status == STATUS_OK && self->writer.place.iterator != DUMP_END) {
        status = fetch_page(self);
        show(self);
    }
    progress_end(&self->progress);
    return status == STATUS_OK ? written(self, backup_put_filter_end(&self->writer)) : status;
}

/* As far as it comes. */
static enum status go_through(struct save *self, const struct save_filter *wanted)
{
    bool fresh = !self->writer.place.in_filter;
    enum status status;

    if (fresh) {
        self->whole = (struct backup_mark){self->writer.place, self->writer.digest};
    }
    self->reason[0] = '\0';
    self->rebuilt = false;
    self->series = draw();
    status = fresh ? begin(self, wanted) : go_on(self, wanted);
    return status == STATUS_OK ? fetch_pages(self) : status;
}

enum status save_back(struct save *self)
{
    backup_writer_back(&self->writer, &self->whole);
    return output_cut(self->output, self->whole.place.bytes);
}

/* Keys of before and after a rebuild are no filter: from its beginning, then. What is in a pipe
 * already can't be taken back. */
static enum status begin_anew(struct save *self, const struct save_filter *wanted)
{
    enum status status = save_back(self);

    (void)fprintf(stderr, "backup of %s: it was rebuilt from a list meanwhile, and is begun anew\n",
                  wanted->name);
    return status == STATUS_OK ? go_through(self, wanted) : status;
}

enum status save_filter(struct save *self, const struct save_filter *wanted)
{
    enum status status = go_through(self, wanted);

    for (int i = 0; i < ANEW && self->rebuilt && !output_is_pipe(self->output); i++) {
        progress_end(&self->progress);
        status = begin_anew(self, wanted);
    }
    return self->writer.place.in_filter && (status == STATUS_INVALID || status == STATUS_NOT_FOUND)
               ? STATUS_CONFLICT
               : status;
}
