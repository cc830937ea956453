/* Compares each document that is written with the one before it. */
#include "tests/sim/sim_written.h"

#include "base/heap.h"
#include "proto/signed_document.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_memory.h"

#include <inttypes.h>
#include <string.h>

static void fail(struct sim *sim, const struct filter_document *document, const char *what)
{
    sim_fail(sim, "wrong document: epoch %" PRIu64 " of %s: %s", document->epoch,
             document->content.name, what);
}

/* ---- the first one ---- */

/* What a site had dropped it may make anew, as the others have it. */
static bool is_again(const struct filter_document *former)
{
    return document_has_sites(former) && former->content.state != FILTER_ACTIVE;
}

static void judge_first(struct sim *sim, const struct filter_document *document)
{
    const struct epoch_content *content = &document->content;

    for (size_t i = 0; i < sim->written.count; i++) {
        const struct filter_document *former = &sim->written.documents[i];

        if (filter_uid_equal(&former->content.uid, &content->uid) && !is_again(former)) {
            fail(sim, document, "it has the uid of another filter");
        }
    }
    if (content->last_keyset != 1 || content->nkeysets != 1) {
        fail(sim, document, "its keysets do not begin with 1");
    }
    for (uint32_t group = 0; group < content->ngroups; group++) {
        for (uint32_t i = 0; i < content->rule.replicas; i++) {
            if (content->groups[group].slots[i].read_since != document->epoch) {
                fail(sim, document, "it is created with readers of before");
            }
        }
    }
}

/* ---- one after another ---- */

static bool had_keyset(const struct epoch_content *before, uint32_t id)
{
    bool had = false;

    for (uint32_t i = 0; i < before->nkeysets; i++) {
        had = had || before->keysets[i].id == id;
    }
    return had;
}

static void judge_keysets(struct sim *sim, const struct filter_document *before,
                          const struct filter_document *after)
{
    if (after->content.last_keyset < before->content.last_keyset) {
        fail(sim, after, "the counter of keysets goes back");
    }
    for (uint32_t i = 0; i < after->content.nkeysets; i++) {
        uint32_t id = after->content.keysets[i].id;

        if (id <= before->content.last_keyset && !had_keyset(&before->content, id)) {
            fail(sim, after, "a keyset has a number that another one had");
        }
    }
}

static void judge_slot(struct sim *sim, const struct filter_document *after,
                       const struct slot *before, const struct slot *slot)
{
    bool stays = member_equal(slot_reader(before), slot_reader(slot));

    if (stays && slot->read_since != before->read_since) {
        fail(sim, after, "a reader that stays is dated anew");
    } else if (!stays && slot->read_since != after->epoch) {
        fail(sim, after, "a reader that has just come is of before");
    }
}

static void judge_next(struct sim *sim, const struct filter_document *before,
                       const struct filter_document *after)
{
    if (!filter_uid_equal(&before->content.uid, &after->content.uid)) {
        fail(sim, after, "its uid is another one");
    }
    judge_keysets(sim, before, after);
    for (uint32_t group = 0; group < after->content.ngroups; group++) {
        for (uint32_t i = 0; i < after->content.rule.replicas; i++) {
            judge_slot(sim, after, &before->content.groups[group].slots[i],
                       &after->content.groups[group].slots[i]);
        }
    }
}

/* ---- all of them ---- */

static struct filter_document *newest_of(struct sim_written *self, uint64_t id)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->documents[i].id == id) {
            return &self->documents[i];
        }
    }
    return NULL;
}

static void keep(struct sim_written *self, const struct filter_document *document)
{
    self->documents = sim_memory_reserve(self->documents, &self->capacity, self->count + 1,
                                         sizeof *self->documents);
    self->documents[self->count++] = *document;
}

void sim_written_note(void *context, const char *key, struct span value)
{
    struct sim *sim = context;
    struct sim_written *self = &sim->written;
    struct filter_document document;
    struct filter_document *before;

    if (strncmp(key, "filter/", 7) != 0) {
        return;
    }
    if (codec_filter_document_open(value, &sim->key, &document) != STATUS_OK) {
        sim_fail(sim, "wrong document: %s can't be read", key);
        return;
    }
    before = newest_of(self, document.id);
    if (before != NULL) {
        judge_next(sim, before, &document);
        document_fini(before);
        *before = document;
        return;
    }
    judge_first(sim, &document);
    keep(self, &document);
}

void sim_written_put_back(struct sim *sim)
{
    sim_written_fini(&sim->written);
    for (size_t i = 0; i < sim->store.nrecords; i++) {
        const struct memory_store_record *record = &sim->store.records[i];
        struct filter_document document;

        if (strncmp(record->key, "filter/", 7) == 0 &&
            codec_filter_document_open(span_of(record->value, record->size), &sim->key,
                                       &document) == STATUS_OK) {
            keep(&sim->written, &document);
        }
    }
}

void sim_written_fini(struct sim_written *self)
{
    for (size_t i = 0; i < self->count; i++) {
        document_fini(&self->documents[i]);
    }
    heap_free(self->documents);
    *self = (struct sim_written){0};
}
