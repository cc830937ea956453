/* Filling a filter's arrays from the log: first its sorted runs, then the batches since. */
#include "base/heap.h"
#include "node/node_private.h"

enum { STRETCH_KEYS = 512 << 10 /* 4 MiB, some milliseconds of adding */ };

static void ask(struct node *self);

static struct hosted_filter *target(const struct node *self, struct document_entry **entry)
{
    *entry = document_cache_find(&self->documents, self->replay.filter_id);
    return *entry != NULL ? (*entry)->attachment : NULL;
}

static void end(struct node *self)
{
    self->replay.active = false;
    self->building = true; /* Perhaps the next one. */
}

static void give_up(struct node *self, uint64_t now_us, enum status status)
{
    end(self);
    if (status == STATUS_MALFORMED && !self->replay.read.log) {
        /* Storage has set the bad run aside: what is left counts as extra. */
        node_begin_incarnation(self, now_us, AMNESIA_CORRUPT);
    } else if (status != STATUS_STALE && status != STATUS_NOMEM && status != STATUS_OVERLOADED) {
        node_fail(self, "the log can't be read", status);
    }
}

/* What was appended before the replay must be read, also what is not written yet. */
static void read_log(struct node *self)
{
    struct storage_read *read = &self->replay.read;

    read->log = true;
    read->from = self->replay.merged;
    read->to = self->replay.through;
    self->replay.waiting = storage_written(self->storage) < self->replay.through;
    if (!self->replay.waiting) {
        ask(self);
    }
}

void node_replay_moved(struct node *self)
{
    if (self->replay.active && self->replay.waiting) {
        read_log(self);
    }
}

static void go_on(struct node *self, uint64_t now_us, struct replica_set *set)
{
    struct storage_read *read = &self->replay.read;

    if (!read->log) {
        self->replay.merged = read->merged < self->replay.merged ? read->merged
                                                                 : self->replay.merged;
        set->loaded_part = (double)read->next / 18446744073709551616.0;
    }
    if (!read->end) {
        read->from = read->next;
    } else if (!read->log) {
        read_log(self);
        return;
    } else {
        set->loaded = true;
        self->next_sync_us = now_us; /* Tell the coordinator at once. */
        end(self);
        return;
    }
    ask(self);
}

static void on_stretch(struct storage_read *read, uint64_t now_us, enum status status)
{
    struct node *self = read->context;
    struct document_entry *entry;
    struct hosted_filter *hosted = target(self, &entry);

    if (status != STATUS_OK) {
        give_up(self, now_us, status);
    } else if (hosted == NULL || hosted->set == NULL || hosted->set->loaded) {
        end(self); /* Dropped, or begun anew, meanwhile. */
    } else {
        replica_set_fill(hosted->set, &entry->document, read->fingerprints, read->count);
        for (size_t i = 0; read->log && i < read->nbatches; i++) {
            node_note_batch(self, entry, &read->batches[i]);
        }
        self->counters[NODE_replayed_keys_total] += read->count;
        go_on(self, now_us, hosted->set);
    }
}

static void ask(struct node *self)
{
    enum status status = storage_read(self->storage, &self->replay.read);

    if (status != STATUS_OK) {
        give_up(self, 0, status); /* Begins again from the first run. */
    }
}

bool node_replay_begin(struct node *self, struct document_entry *entry)
{
    if (self->replay.active || self->recovering || self->failed) {
        return false;
    }
    self->replay = (struct node_replay){
        .active = true,
        .filter_id = entry->document.id,
        .merged = UINT64_MAX,
        .through = storage_end(self->storage),
        .read =
            {
                .set = {.filter_id = entry->document.id,
                        .lineage = entry->document.content.lineages[0].id,
                        .slice = entry->document.content.newest_slice},
                .to = UINT64_MAX,
                .room = STRETCH_KEYS,
                .context = self,
                .done = on_stretch,
            },
    };
    ask(self);
    return true;
}
