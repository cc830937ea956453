/* One stretch of a page: who is asked, whose answer counts, and what all of them have. */
#include "base/heap.h"
#include "router/dump.h"

#include <stdio.h>
#include <string.h>

enum { PATIENCE_US = 1000000, MAX_HANDED = 4 };

_Static_assert((int)DOCUMENT_MAX_SHARDS <= (int)PULL_MAX_PREFIXES, "a stretch is one question");

/* ---- which stretch ---- */

/* To the last shard in a row that is in the same slot group. */
static uint64_t last_of(const struct epoch_content *content, uint64_t from, uint32_t *group)
{
    uint32_t bits = content->shard_bits;
    uint32_t shard = bits > 0 ? (uint32_t)(from >> (64 - bits)) : 0;

    *group = content->group_of_shard[shard];
    while (shard + 1 < UINT32_C(1) << bits && content->group_of_shard[shard + 1] == *group) {
        shard++;
    }
    return shard + 1 < UINT32_C(1) << bits ? ((uint64_t)(shard + 1) << (64 - bits)) - 1
                                           : UINT64_MAX;
}

static bool are_of(const struct dump_views *views, const struct filter_document *document,
                   uint32_t group)
{
    return views->filter_id == document->id && views->epoch == document->epoch &&
           views->epoch_hash == document->epoch_hash && views->group == group;
}

void stretch_begin(struct router *self, uint64_t now_us, struct dump_stretch *stretch,
                   const struct document_entry *entry, uint64_t from, const struct dump_views *made)
{
    const struct epoch_content *content = &entry->document.content;

    *stretch = (struct dump_stretch){
        .from = from,
        .slots = content->rule.replicas,
        .asked = UINT32_MAX,
        .needed = content->rule.replicas - content->rule.write + 1,
    };
    stretch->last = last_of(content, from, &stretch->group);
    if (made != NULL && are_of(made, &entry->document, stretch->group)) {
        memcpy(stretch->views, made->names, sizeof stretch->views);
    }
    stretch_pump(self, now_us, stretch, entry);
}

static uint32_t count_of(uint32_t slots)
{
    uint32_t count = 0;

    for (; slots != 0; slots &= slots - 1) {
        count++;
    }
    return count;
}

void stretch_begin_copy(struct router *self, uint64_t now_us, struct dump_stretch *stretch,
                        const struct document_entry *entry, uint64_t from, uint32_t slots)
{
    const struct epoch_content *content = &entry->document.content;

    *stretch = (struct dump_stretch){
        .from = from,
        .slots = content->rule.replicas,
        .asked = slots,
        .needed = count_of(slots),
        .least = 1,
    };
    stretch->last = last_of(content, from, &stretch->group);
    stretch_pump(self, now_us, stretch, entry);
}

void stretch_begin_digests(struct router *self, uint64_t now_us, struct dump_stretch *stretch,
                           const struct document_entry *entry, uint32_t group, uint32_t slots,
                           uint32_t bits, const uint64_t *prefixes, size_t nprefixes)
{
    *stretch = (struct dump_stretch){
        .last = UINT64_MAX,
        .group = group,
        .slots = entry->document.content.rule.replicas,
        .asked = slots,
        .needed = count_of(slots),
        .least = entry->document.content.rule.write,
        .bits = bits,
        .prefixes = prefixes,
        .nprefixes = nprefixes,
    };
    stretch_pump(self, now_us, stretch, entry);
}

void stretch_end(struct dump_stretch *stretch)
{
    for (uint32_t i = 0; i < QUORUM_MAX_REPLICAS; i++) {
        heap_free(stretch->asks[i].keys);
    }
    *stretch = (struct dump_stretch){0};
}

/* ---- asking ---- */

static struct pull_scope scope_of(const struct dump_stretch *stretch,
                                  const struct filter_document *document)
{
    return (struct pull_scope){
        .filter_id = document->id,
        .epoch = document->epoch,
        .epoch_hash = document->epoch_hash,
        .keyset = document->content.keysets[0].id, /* that serves */
        .group = stretch->group,
    };
}

static const struct member *reader_of(const struct dump_stretch *stretch,
                                      const struct filter_document *document, uint32_t slot)
{
    return slot_reader(&document->content.groups[stretch->group].slots[slot]);
}

/* The shards of the stretch, each a range. */
static void name_shards(const struct dump_stretch *stretch, uint32_t bits,
                        uint64_t prefixes[PULL_MAX_PREFIXES], struct pull_request *request)
{
    uint64_t first = bits > 0 ? stretch->from >> (64 - bits) : 0;
    uint64_t last = bits > 0 ? stretch->last >> (64 - bits) : 0;

    for (uint64_t i = first; i <= last; i++) {
        prefixes[i - first] = i;
    }
    request->prefix_bits = bits;
    request->prefixes = prefixes;
    request->nprefixes = (size_t)(last - first + 1);
}

/* As a replica that is being completed asks: only who is FULL and sure of it answers that. */
static bool send_question(struct router *self, const struct dump_stretch *stretch,
                          const struct filter_document *document, uint32_t slot, uint64_t number)
{
    const struct member *member = reader_of(stretch, document, slot);
    struct backend *backend = backend_of(self, member->node);
    uint64_t shards[PULL_MAX_PREFIXES];
    struct frame frame = {.correlation = number, .kind = FRAME_PULL_REQUEST};
    struct pull_request *request = &frame.body.pull_request;

    *request = (struct pull_request){
        .kind = stretch->prefixes != NULL ? PULL_DIGESTS : PULL_RANGES,
        .scope = scope_of(stretch, document),
        .source = *member,
        .sync = true,
        .from = stretch->from,
        .max_bytes = DUMP_MAX_KEYS * sizeof(uint64_t),
        .view = stretch->views[slot],
        .prefix_bits = stretch->bits,
        .prefixes = stretch->prefixes,
        .nprefixes = stretch->nprefixes,
    };
    if (stretch->prefixes == NULL) {
        name_shards(stretch, document->content.shard_bits, shards, request);
    }
    return backend != NULL && backend->link != 0 && backend_send(self, backend, &frame);
}

static void ask(struct router *self, uint64_t now_us, struct dump_stretch *stretch,
                const struct filter_document *document, uint32_t slot)
{
    struct dump_ask *one = &stretch->asks[slot];

    one->number = ++self->round;
    one->asked_us = now_us;
    one->slow = stretch->least > 0 &&
                backend_suspect(self, reader_of(stretch, document, slot)->node);
    one->state = DUMP_ASK_SENT;
    if (!send_question(self, stretch, document, slot, one->number)) {
        one->state = DUMP_ASK_FAILED;
        one->status = STATUS_UNAVAILABLE;
    }
}

static uint32_t hopeful(const struct dump_stretch *stretch)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < stretch->slots; i++) {
        const struct dump_ask *one = &stretch->asks[i];

        count += one->state == DUMP_ASK_TOLD || (one->state == DUMP_ASK_SENT && !one->slow);
    }
    return count;
}

enum preference { PREFER_VIEWS, PREFER_ANSWERING, PREFER_NONE };

static bool suits(const struct router *self, const struct dump_stretch *stretch,
                  const struct filter_document *document, enum preference preference, uint32_t slot)
{
    bool answers = !backend_suspect(self, reader_of(stretch, document, slot)->node);

    return stretch->asks[slot].state == DUMP_ASK_NOT && (stretch->asked >> slot & 1) != 0 &&
           (answers || preference == PREFER_NONE) &&
           (stretch->views[slot] != 0 || preference != PREFER_VIEWS);
}

/* The next one that was not asked: those first that have a view, then those that answer. */
static bool find_fresh(const struct router *self, const struct dump_stretch *stretch,
                       const struct filter_document *document, uint32_t *slot)
{
    for (int preference = PREFER_VIEWS; preference <= PREFER_NONE; preference++) {
        for (uint32_t i = 0; i < stretch->slots; i++) {
            *slot = (self->rotation + i) % stretch->slots;
            if (suits(self, stretch, document, (enum preference)preference, *slot)) {
                return true;
            }
        }
    }
    return false;
}

/* Unless it answers a probe it is asked last from now on, by the pages to come, too. */
static void note_slow(struct router *self, struct dump_ask *one, uint32_t node)
{
    struct backend *backend = backend_of(self, node);

    one->slow = true;
    if (backend != NULL && backend->unanswered_us == 0) {
        backend->unanswered_us = one->asked_us;
    }
}

void stretch_pump(struct router *self, uint64_t now_us, struct dump_stretch *stretch,
                  const struct document_entry *entry)
{
    uint32_t slot;

    for (uint32_t i = 0; i < stretch->slots; i++) {
        struct dump_ask *one = &stretch->asks[i];
        uint64_t waited_us = now_us - one->asked_us;

        if (one->state == DUMP_ASK_SENT && !one->slow && waited_us >= PATIENCE_US) {
            note_slow(self, one, reader_of(stretch, &entry->document, i)->node);
        } else if (one->state == DUMP_ASK_FAILED && waited_us >= self->config.retry_us) {
            ask(self, now_us, stretch, &entry->document, i);
        }
    }
    while (hopeful(stretch) < stretch->needed &&
           find_fresh(self, stretch, &entry->document, &slot)) {
        ask(self, now_us, stretch, &entry->document, slot);
    }
}

/* ---- answers ---- */

/* All that it has in the stretch, in order. */
static bool are_ranges(const struct dump_stretch *stretch, const struct pull_reply *reply)
{
    uint64_t last = reply->end ? stretch->last : reply->next - 1;
    bool good = reply->kind == PULL_RANGES && reply->count <= DUMP_MAX_KEYS &&
                (reply->end || (reply->next > stretch->from && reply->next <= stretch->last));

    for (size_t i = 0; i < reply->count && good; i++) {
        good = reply->fingerprints[i] >= stretch->from && reply->fingerprints[i] <= last &&
               (i == 0 || reply->fingerprints[i] > reply->fingerprints[i - 1]);
    }
    return good;
}

static bool are_digests(const struct dump_stretch *stretch, const struct pull_reply *reply)
{
    return reply->kind == PULL_DIGESTS && reply->ndigests == stretch->nprefixes * PULL_PARTS;
}

/* Of the exact epoch, of the member that was asked, FULL, to this question. */
static bool counts(const struct dump_stretch *stretch, const struct filter_document *document,
                   uint32_t slot, const struct pull_reply *reply)
{
    const struct pull_scope scope = scope_of(stretch, document);

    return reply->state == REPLICA_FULL && pull_scope_equal(&reply->scope, &scope) &&
           member_equal(&reply->source, reader_of(stretch, document, slot)) &&
           reply->from == stretch->from &&
           (stretch->prefixes != NULL ? are_digests(stretch, reply) : are_ranges(stretch, reply));
}

static enum status keep(struct dump_ask *one, const struct dump_stretch *stretch,
                        const struct pull_reply *reply)
{
    bool digests = stretch->prefixes != NULL;
    size_t count = digests ? reply->ndigests : reply->count;
    uint64_t *keys = heap_alloc(count + 1, sizeof *keys);

    if (keys == NULL) {
        return STATUS_NOMEM;
    }
    if (count > 0) {
        memcpy(keys, digests ? reply->digests : reply->fingerprints, count * sizeof *keys);
    }
    one->keys = keys;
    one->count = count;
    one->last = reply->end ? stretch->last : reply->next - 1;
    one->boot = reply->boot;
    one->end = reply->view_end;
    one->view = reply->view;
    return STATUS_OK;
}

static void hand_document(struct router *self, const struct document_entry *entry,
                          struct dump_ask *one, uint32_t node)
{
    struct span bytes = span_of(entry->signed_bytes, entry->signed_size);
    struct frame frame = {.kind = FRAME_DOCUMENTS, .body.documents = {.items = &bytes, .count = 1}};
    struct backend *backend = backend_of(self, node);

    router_count(self, ROUTER_need_doc_total);
    if (one->handed < MAX_HANDED && backend != NULL && backend_send(self, backend, &frame)) {
        one->handed++;
    }
}

bool stretch_take(struct router *self, uint64_t now_us, struct dump_stretch *stretch,
                  const struct document_entry *entry, const struct pull_reply *reply,
                  uint64_t number)
{
    struct dump_ask *one = NULL;
    uint32_t slot = 0;

    for (uint32_t i = 0; i < stretch->slots; i++) {
        if (stretch->asks[i].state == DUMP_ASK_SENT && stretch->asks[i].number == number) {
            one = &stretch->asks[i];
            slot = i;
        }
    }
    if (one == NULL) {
        return false;
    }
    one->status = reply->status;
    if (reply->status == STATUS_OK) {
        one->status = counts(stretch, &entry->document, slot, reply) ? keep(one, stretch, reply)
                                                                     : STATUS_NOT_READY;
        self->counters[ROUTER_votes_void_total] += one->status == STATUS_NOT_READY;
    } else if (reply->status == STATUS_NEED_DOC) {
        hand_document(self, entry, one, reader_of(stretch, &entry->document, slot)->node);
    } else if (reply->status == STATUS_STALE || reply->status == STATUS_DROPPED) {
        sync_want(self, now_us);
    }
    one->state = one->status == STATUS_OK ? DUMP_ASK_TOLD : DUMP_ASK_FAILED;
    if (one->state == DUMP_ASK_FAILED && stretch->views[slot] != 0) {
        stretch->views[slot] = 0; /* It may not have it any more: of a new one, then. */
        one->state = one->status == STATUS_NOT_FOUND ? DUMP_ASK_NOT : DUMP_ASK_FAILED;
    }
    return true;
}

/* ---- what they told ---- */

uint32_t stretch_tellers(const struct dump_stretch *stretch)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < stretch->slots; i++) {
        count += stretch->asks[i].state == DUMP_ASK_TOLD;
    }
    return count;
}

static bool any_is_awaited(const struct dump_stretch *stretch)
{
    for (uint32_t i = 0; i < stretch->slots; i++) {
        if (stretch->asks[i].state == DUMP_ASK_SENT) {
            return true;
        }
    }
    return false;
}

/* Where whoever tells is welcome nobody is waited for who is slow or can't, once enough have. */
bool stretch_told(const struct dump_stretch *stretch)
{
    uint32_t count = stretch_tellers(stretch);

    return stretch->needed > 0 && (count >= stretch->needed ||
                                   (stretch->least > 0 && count > 0 && hopeful(stretch) == count &&
                                    (count >= stretch->least || !any_is_awaited(stretch))));
}

uint64_t stretch_last(const struct dump_stretch *stretch)
{
    uint64_t last = stretch->last;

    for (uint32_t i = 0; i < stretch->slots; i++) {
        const struct dump_ask *one = &stretch->asks[i];

        last = one->state == DUMP_ASK_TOLD && one->last < last ? one->last : last;
    }
    return last;
}

bool stretch_merge(const struct dump_stretch *stretch, uint64_t last, uint64_t *keys, size_t *nkeys,
                   uint64_t *behind)
{
    size_t at[QUORUM_MAX_REPLICAS] = {0};

    for (;;) {
        const uint64_t *least = NULL;

        for (uint32_t i = 0; i < stretch->slots; i++) {
            const struct dump_ask *one = &stretch->asks[i];

            if (one->state == DUMP_ASK_TOLD && at[i] < one->count && one->keys[at[i]] <= last &&
                (least == NULL || one->keys[at[i]] < *least)) {
                least = &one->keys[at[i]];
            }
        }
        if (least == NULL) {
            return true;
        }
        if (*nkeys == DUMP_MAX_KEYS) {
            *behind = *least;
            return false;
        }
        keys[(*nkeys)++] = *least;
        for (uint32_t i = 0; i < stretch->slots; i++) {
            const struct dump_ask *one = &stretch->asks[i];

            at[i] += one->state == DUMP_ASK_TOLD && at[i] < one->count &&
                     one->keys[at[i]] == keys[*nkeys - 1];
        }
    }
}

void stretch_describe(const struct dump_stretch *stretch, const struct document_entry *entry,
                      char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%u of %u FULL replicas told what they have",
                                   stretch_tellers(stretch), stretch->needed);

    for (uint32_t i = 0; i < stretch->slots && used < size; i++) {
        const struct dump_ask *one = &stretch->asks[i];

        if (one->state == DUMP_ASK_SENT || one->state == DUMP_ASK_FAILED) {
            int more = snprintf(text + used, size - used, "; node %u: %s",
                                reader_of(stretch, &entry->document, i)->node,
                                one->state == DUMP_ASK_SENT ? "no answer"
                                                            : status_code(one->status));

            used += more > 0 ? (size_t)more : 0;
        }
    }
}
