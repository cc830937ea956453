/* Going past what nodes hold: each filter under numbers that nobody has seen, then, in one swap,
 * the node list, the counter of ids, and the mark that all is as it should be. */
#include "base/heap.h"
#include "coordinator/plan/restore_plan.h"
#include "coordinator/records.h"
#include "coordinator/restore/restore.h"
#include "coordinator/stored.h"
#include "proto/signed_document.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What a restore comes to, filter by filter. */
struct outcome {
    struct dropped_record dropped; /* what the store, backups and nodes name, under a new number */
    struct restore_decision *decisions;
    uint64_t *ids;
    size_t count;
    size_t renewed;
    char lost[COORDINATOR_MESSAGE_BYTES / 4]; /* names, in words */
    char too_few[COORDINATOR_MESSAGE_BYTES / 4];
    char doubled[COORDINATOR_MESSAGE_BYTES / 4];
};

static void list_name(char *text, size_t size, const struct restore_decision *decision)
{
    size_t used = strlen(text);

    (void)snprintf(text + used, size - used, "%s%.40s", used > 0 ? ", " : "",
                   decision->newest->document.content.name);
}

/* ---- what is known ---- */

static uint64_t max_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t highest_fence(const struct coordinator *self, uint64_t id)
{
    uint64_t fence = self->fence_ahead.filter_id == id ? self->fence_ahead.fence : 0;

    for (size_t i = 0; i < self->nclaims; i++) {
        fence = max_of(fence, age_fence(&self->claims[i], id));
    }
    return fence;
}

static const struct document_entry *newest(const struct coordinator *self, uint64_t id)
{
    const struct document_entry *stored = document_cache_find(&self->documents, id);
    const struct document_entry *found = document_cache_find(&self->found, id);

    if (stored == NULL || found == NULL) {
        return stored != NULL ? stored : found;
    }
    return found->document.revision >= stored->document.revision ? found : stored;
}

/* Has another filter its name, as far as is known? */
static bool name_is_taken(const struct coordinator *self, const struct outcome *outcome,
                          const struct filter_document *document)
{
    const struct document_cache *const caches[] = {&self->documents, &self->found};

    for (size_t i = 0; i < 2; i++) {
        const struct document_entry *entry = document_cache_next_named(caches[i],
                                                                       document->content.name, 0);

        while (entry != NULL) {
            const struct filter_document *other = &entry->document;

            if (other->id != document->id && !id_set_has(&outcome->dropped.ids, other->id) &&
                newest(self, other->id) == entry && rename_lost(document, other)) {
                return true;
            }
            entry = document_cache_next_named(caches[i], document->content.name, other->id);
        }
    }
    return false;
}

static enum status decide(struct coordinator *self, const struct outcome *outcome, uint64_t id,
                          const struct member *asked, size_t nasked, struct restore_decision *out)
{
    struct restore_filter filter = {
        .stored = document_cache_find(&self->documents, id),
        .found = document_cache_find(&self->found, id),
        .fence = highest_fence(self, id),
    };
    struct restore_record secret;
    char key[STORE_KEY_BYTES];
    enum status status;

    (void)snprintf(key, sizeof key, "secret/%" PRIu64, id);
    status = restore_read(self, key, &secret);
    buffer_fini(&secret.value);
    filter.has_secret = secret.version != 0;
    filter.name_taken = name_is_taken(self, outcome, &newest(self, id)->document);
    *out = restore_decide(&filter, asked, nasked);
    return status;
}

/* Once dropped, a filter never comes back, whichever history says so. */
static enum status join_dropped(const struct coordinator *self, struct dropped_record *out)
{
    const struct dropped_record *ours = &self->documents.dropped;
    const struct dropped_record *theirs = &self->found_dropped;
    enum status status = id_set_join(&out->ids, &ours->ids);

    out->revision = max_of(ours->revision, theirs->revision);
    for (size_t i = 0; i < self->nclaims; i++) {
        out->revision = max_of(out->revision, self->claims[i].dropped_revision);
    }
    out->revision += out->revision > 0;
    return status == STATUS_OK ? id_set_join(&out->ids, &theirs->ids) : status;
}

static enum status decide_all(struct coordinator *self, const struct node_list *known,
                              struct outcome *outcome)
{
    size_t most = self->documents.count + self->found.count;
    size_t nasked = 0;
    struct member *asked = restore_asked(self, known, &nasked);
    enum status status = STATUS_OK;

    outcome->decisions = heap_alloc(most + 1, sizeof *outcome->decisions);
    outcome->ids = heap_alloc(most + 1, sizeof *outcome->ids);
    if (asked == NULL || outcome->decisions == NULL || outcome->ids == NULL) {
        heap_free(asked);
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < most && status == STATUS_OK; i++) {
        bool first = i < self->documents.count;
        uint64_t id = first ? self->documents.by_id[i]->document.id
                            : self->found.by_id[i - self->documents.count]->document.id;
        struct restore_decision *decision = &outcome->decisions[outcome->count];

        if ((!first && document_cache_find(&self->documents, id) != NULL) ||
            id_set_has(&outcome->dropped.ids, id)) {
            continue;
        }
        outcome->ids[outcome->count++] = id;
        status = decide(self, outcome, id, asked, nasked, decision);
        if (decision->lost) {
            list_name(outcome->lost, sizeof outcome->lost, decision);
        }
        if (decision->too_few) {
            list_name(outcome->too_few, sizeof outcome->too_few, decision);
        }
        if (decision->two_contents) {
            list_name(outcome->doubled, sizeof outcome->doubled, decision);
        }
    }
    heap_free(asked);
    return status;
}

static enum status check_losses(const struct outcome *outcome, bool accepted, char *message)
{
    const char *names = outcome->lost;
    const char *why = "created after the backup, their secrets are lost: they would be dropped";

    if (names[0] == '\0' && outcome->too_few[0] != '\0') {
        names = outcome->too_few;
        why = "too few of their nodes were asked: keys acknowledged since may be reported absent";
    } else if (names[0] == '\0') {
        names = outcome->doubled;
        why =
            "nodes hold different documents under one number, as both an old and a new store were "
            "written to: some nodes may not serve them until they are restarted";
    }
    if (accepted || names[0] == '\0') {
        return STATUS_OK;
    }
    (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                   "filters %s: %s. Take a newer backup if there is one, else accept that with "
                   "--yes",
                   names, why);
    return STATUS_CONFLICT;
}

/* ---- writing ---- */

/* The name as it is to be bound; false: it is so already. */
static bool bind_name(const struct restore_decision *decision, const struct restore_record *bound,
                      uint8_t bytes[8], struct store_swap *swap)
{
    uint64_t id = decision->newest->document.id;
    uint64_t now = restore_number(buffer_span(&bound->value));

    if (decision->state == FILTER_DROPPED ? now != id : now == id) {
        return false;
    }
    *swap = (struct store_swap){
        .key = swap->key,
        .expected = bound->version,
        .value = restore_number_bytes(decision->state == FILTER_DROPPED ? 0 : id, bytes),
    };
    return true;
}

static enum status encode(struct coordinator *self, const struct restore_decision *decision,
                          struct buffer *out)
{
    struct span newest = span_of(decision->newest->signed_bytes, decision->newest->signed_size);
    struct filter_document edited = {0};
    enum status status;

    if (decision->action != RESTORE_RENEW) {
        return buffer_append(out, newest);
    }
    status = codec_filter_document_open(newest, &self->config.key, &edited);
    if (status == STATUS_OK) {
        restore_renew(&edited, decision);
        status = codec_filter_document_sign(&edited, &self->config.key, out);
    }
    document_fini(&edited);
    return status;
}

static enum status write_filter(struct coordinator *self, const struct restore_decision *decision)
{
    const struct filter_document *document = &decision->newest->document;
    char keys[2][STORE_KEY_BYTES];
    uint8_t id_bytes[8];
    struct restore_record held;
    struct restore_record bound;
    struct buffer value;
    struct store_swap swaps[2] = {{.key = keys[0]}, {.key = keys[1]}};
    enum status status;

    (void)snprintf(keys[0], sizeof keys[0], "filter/%" PRIu64, document->id);
    (void)snprintf(keys[1], sizeof keys[1], "name/%s", document->content.name);
    buffer_init(&value, CODEC_MAX_FRAME_BYTES);
    status = restore_read(self, keys[0], &held);
    buffer_init(&bound.value, 0);
    if (status == STATUS_OK) {
        buffer_fini(&bound.value);
        status = restore_read(self, keys[1], &bound);
    }
    status = status == STATUS_OK ? encode(self, decision, &value) : status;
    if (status == STATUS_OK) {
        size_t count = 1 + bind_name(decision, &bound, id_bytes, &swaps[1]);

        swaps[0].expected = held.version;
        swaps[0].value = buffer_span(&value);
        if (count > 1 || !span_equal(buffer_span(&held.value), buffer_span(&value))) {
            status = stored_swap(self, swaps, count);
        }
    }
    buffer_fini(&value);
    buffer_fini(&held.value);
    buffer_fini(&bound.value);
    return status;
}

static uint64_t highest_filter(const struct coordinator *self, const struct outcome *outcome)
{
    uint64_t highest = id_set_highest(&outcome->dropped.ids);

    for (size_t i = 0; i < outcome->count; i++) {
        highest = outcome->ids[i] > highest ? outcome->ids[i] : highest;
    }
    for (size_t i = 0; i < self->nclaims; i++) {
        for (size_t k = 0; k < self->claims[i].nheld; k++) {
            uint64_t id = self->claims[i].held[k].filter_id;

            highest = id > highest && !store_age_is_record(id) ? id : highest;
        }
    }
    return highest;
}

/* The last swap of a restore, while it is put together. */
struct ending {
    struct store_swap swaps[5];
    size_t count;
    struct restore_record held[5];
    struct buffer list;
    struct buffer dropped;
    struct buffer users;
    uint8_t mark[RECORDS_MARK_BYTES];
    uint8_t last[8];
};

/* A key as it is now, to be replaced. */
static enum status end_with(struct coordinator *self, struct ending *ending, const char *key)
{
    size_t at = ending->count++;
    enum status status;

    buffer_fini(&ending->held[at].value);
    status = restore_read(self, key, &ending->held[at]);
    ending->swaps[at] = (struct store_swap){.key = key, .expected = ending->held[at].version};
    return status;
}

static enum status end_with_mark(struct coordinator *self, struct ending *ending)
{
    struct store_mark mark = {.name = self->effects.random(self->effects.context) | 1,
                              .restores = self->mark.restores + 1};
    enum status status = end_with(self, ending, "store");

    records_put_mark(&mark, ending->mark);
    ending->swaps[0].expected = self->mark.version;
    ending->swaps[0].value = span_of(ending->mark, sizeof ending->mark);
    return status;
}

static enum status end_with_nodes(struct coordinator *self, struct ending *ending,
                                  const struct node_list *nodes)
{
    enum status status = end_with(self, ending, "nodes");

    status = status == STATUS_OK ? codec_node_list_sign(nodes, &self->config.key, &ending->list)
                                 : status;
    ending->swaps[1].value = buffer_span(&ending->list);
    return status;
}

static enum status end_with_counter(struct coordinator *self, struct ending *ending,
                                    uint64_t highest)
{
    enum status status = end_with(self, ending, RECORDS_LAST_FILTER_KEY);
    uint64_t last = restore_number(buffer_span(&ending->held[2].value));

    ending->swaps[2].value = restore_number_bytes(last > highest ? last : highest, ending->last);
    return status;
}

static enum status end_with_dropped(struct coordinator *self, struct ending *ending,
                                    const struct dropped_record *dropped)
{
    enum status status;

    if (dropped->revision == 0) {
        return STATUS_OK; /* Nobody has such a record. */
    }
    status = end_with(self, ending, RECORDS_DROPPED_KEY);
    status = status == STATUS_OK ? codec_dropped_sign(dropped, &self->config.key, &ending->dropped)
                                 : status;
    ending->swaps[ending->count - 1].value = buffer_span(&ending->dropped);
    return status;
}

static uint64_t highest_users(const struct coordinator *self)
{
    uint64_t highest = max_of(self->documents.users.revision, self->found.users.revision);

    for (size_t i = 0; i < self->nclaims; i++) {
        for (size_t k = 0; k < self->claims[i].nheld; k++) {
            const struct held_document *held = &self->claims[i].held[k];

            highest = held->filter_id == USER_LIST_ID ? max_of(highest, held->revision) : highest;
        }
    }
    return highest;
}

/* The newest that anybody has, under a number that nobody has seen. */
static enum status end_with_users(struct coordinator *self, struct ending *ending)
{
    bool stored = self->documents.users.revision > self->found.users.revision;
    struct user_list users = {0};
    enum status status;

    if (self->documents.users.revision == 0 && self->found.users.revision == 0) {
        return STATUS_OK; /* Nobody has such a record. */
    }
    status = user_list_copy(stored ? &self->documents.users : &self->found.users, &users);
    status = status == STATUS_OK ? end_with(self, ending, RECORDS_USERS_KEY) : status;
    if (status == STATUS_OK) {
        users.revision = highest_users(self) + 1;
        status = records_sign_users(self, &users, &ending->users);
        ending->swaps[ending->count - 1].value = buffer_span(&ending->users);
    }
    user_list_fini(&users);
    return status;
}

/* From here on the store is another one than before: whoever asks begins anew. */
static enum status write_end(struct coordinator *self, const struct node_list *nodes,
                             const struct outcome *outcome)
{
    struct ending ending = {0};
    enum status status;

    for (size_t i = 0; i < sizeof ending.held / sizeof ending.held[0]; i++) {
        buffer_init(&ending.held[i].value, 0);
    }
    buffer_init(&ending.list, CODEC_MAX_FRAME_BYTES);
    buffer_init(&ending.dropped, CODEC_MAX_FRAME_BYTES);
    buffer_init(&ending.users, CODEC_MAX_FRAME_BYTES);
    status = end_with_mark(self, &ending);
    status = status == STATUS_OK ? end_with_nodes(self, &ending, nodes) : status;
    status = status == STATUS_OK ? end_with_counter(self, &ending, highest_filter(self, outcome))
                                 : status;
    status = status == STATUS_OK ? end_with_dropped(self, &ending, &outcome->dropped) : status;
    status = status == STATUS_OK ? end_with_users(self, &ending) : status;
    status = status == STATUS_OK ? stored_swap(self, ending.swaps, ending.count) : status;
    for (size_t i = 0; i < sizeof ending.held / sizeof ending.held[0]; i++) {
        buffer_fini(&ending.held[i].value);
    }
    buffer_fini(&ending.list);
    buffer_fini(&ending.dropped);
    buffer_fini(&ending.users);
    return status;
}

static enum status write_all(struct coordinator *self, const struct node_list *nodes,
                             struct outcome *outcome)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < outcome->count; i++) {
        status = write_filter(self, &outcome->decisions[i]);
        outcome->renewed += outcome->decisions[i].action == RESTORE_RENEW &&
                            outcome->decisions[i].state == FILTER_ACTIVE;
    }
    return status == STATUS_OK ? write_end(self, nodes, outcome) : status;
}

static void say_done(struct coordinator *self, const struct outcome *outcome,
                     const struct node_list *nodes, char *message)
{
    (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                   "%zu filters go on, past what %zu of %u nodes hold%s%s%s", outcome->renewed,
                   self->nclaims, nodes->count, outcome->lost[0] != '\0' ? "; dropped: " : "",
                   outcome->lost,
                   outcome->lost[0] != '\0' ? " (their secrets were in no backup)" : "");
    log_line(LOG_WARN, "the store was restored: %s", message);
}

enum status restore_finish(struct coordinator *self, uint64_t now_us,
                           const struct map_parameters *map, char *message)
{
    struct node_list backup = {0};
    struct node_list nodes = {0};
    struct outcome outcome = {0};
    const struct node_list *known = &backup;
    bool by_node = false;
    enum status status = restore_known_nodes(self, &backup, &known, &by_node);

    status = status == STATUS_OK ? restore_check_nodes(self, now_us, known, map, message) : status;
    status = status == STATUS_OK ? restore_make_nodes(self, known, by_node, map, &nodes) : status;
    status = status == STATUS_OK ? join_dropped(self, &outcome.dropped) : status;
    status = status == STATUS_OK ? decide_all(self, &nodes, &outcome) : status;
    status = status == STATUS_OK ? check_losses(&outcome, map->accept_losses, message) : status;
    status = status == STATUS_OK ? write_all(self, &nodes, &outcome) : status;
    if (status == STATUS_OK) {
        say_done(self, &outcome, &nodes, message);
        status = records_refresh(self);
        coordinator_hint(self, now_us);
    }
    heap_free(outcome.decisions);
    heap_free(outcome.ids);
    dropped_record_fini(&outcome.dropped);
    node_list_fini(&nodes);
    node_list_fini(&backup);
    return status;
}
