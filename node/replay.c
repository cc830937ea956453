/* Filling arrays from the log: first each filter's from its sorted runs, then all of them from the
 * batches since, in one pass. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/private.h"

#include <string.h>

/* ---- of a filter without key log: its snapshot, and what the log has; of others: an imprint ----
 */

static bool suits(const struct arrays *set, const struct storage_load *load)
{
    const struct generation *own = &arrays_base(set)->generation;
    struct snapshot_geometry geometry = node_image_geometry(&own->geometry);

    return load->snapshot.generation == own->id &&
           snapshot_geometry_equal(&geometry, &load->shape->geometry);
}

static bool layer_has(const struct arrays *set, uint32_t shard)
{
    return shard < set->nshards && arrays_base(set)->shards[shard] != NULL;
}

/* An imprint is of the very shards that are here: a part of an array is of no use. */
static bool suits_all(const struct arrays *set, const struct snapshot_shape *shape)
{
    const struct layer *layer = arrays_base(set);
    bool all = layer->nhosted == shape->nshards;

    for (uint32_t i = 0; all && i < shape->nshards; i++) {
        all = layer_has(set, shape->shards[i]);
    }
    return all || MUTANT(IMPRINT_ANY_ARRAY);
}

/* Where reading begins again, what was counted besides has its bits set by now, and counts. */
static void take_counts(struct arrays *set, const struct snapshot_shape *shape)
{
    for (uint32_t i = 0; i < shape->ngroups; i++) {
        uint32_t group = shape->groups[i].group;

        if (group < set->ngroups && !arrays_covers(set, group) &&
            set->groups[group].keys < shape->groups[i].keys) {
            set->groups[group].keys = shape->groups[i].keys;
        }
    }
}

/* What already covers the log has it, and counts on by itself. */
static bool wants_shard(const struct arrays *set, const struct filter_document *document,
                        uint32_t shard)
{
    return shard < set->nshards && !arrays_covers(set, document->content.group_of_shard[shard]);
}

/* False: it is another geometry's, and nothing was done. */
static bool replay_pages(struct arrays *set, const struct filter_document *document,
                         const struct storage_load *load)
{
    const struct snapshot_shape *shape = load->shape;
    uint64_t pages_a_shard = lines_shard_pages(shape->geometry.lines);
    size_t page_bytes = lines_page_bytes(shape->geometry.lines);

    if (!suits(set, load) || (load->imprint && !suits_all(set, shape))) {
        return false;
    }
    for (size_t i = 0; i < load->npages; i++) {
        uint64_t at = load->first + i;
        uint32_t shard = shape->shards[at / pages_a_shard];

        if (load->imprint && layer_has(set, shard)) {
            arrays_copy_page(set, shard, at % pages_a_shard, load->pages + i * page_bytes);
        } else if (!load->imprint && wants_shard(set, document, shard)) {
            arrays_merge_page(set, document, shard, at % pages_a_shard,
                              load->pages + i * page_bytes);
        }
    }
    set->uncounted = load->imprint && !load->end;
    if (load->end) {
        take_counts(set, shape);
    }
    return true;
}

/* The count of the snapshot covers what came before its end: its bits may have come in a page that
 * was copied before they were set. */
static void fill_batch(struct node *self, struct document_entry *entry, struct arrays *set,
                       const struct record_batch *batch, uint64_t offset)
{
    uint64_t *keys = batch->group < set->ngroups ? &set->groups[batch->group].keys : NULL;
    uint64_t before = keys != NULL ? *keys : 0;

    hosted_refill(set, &entry->document, batch->fingerprints, batch->count);
    if (keys != NULL && offset < self->replay.counted_from) {
        *keys = before;
    }
    /* Of a group that was left no bits are kept, so nothing of it is had: see replicas.md. */
    if (keys != NULL && set->groups[batch->group].hosted) {
        node_note_batch(self->exchange, entry, batch);
    }
}

static void merge_page(const struct node *self, const struct document_entry *entry,
                       struct arrays *set, const struct record_lines *lines, uint64_t offset)
{
    uint64_t *keys;
    uint64_t before;

    if (!wants_shard(set, &entry->document, lines->shard) ||
        lines->generation != arrays_base(set)->generation.id) {
        return; /* Of an array that is no more, or that has it. */
    }
    keys = &set->groups[entry->document.content.group_of_shard[lines->shard]].keys;
    before = *keys;
    arrays_merge_page(set, &entry->document, lines->shard, lines->page, lines->bytes);
    if (offset < self->replay.counted_from) {
        *keys = before;
    }
}

static void replay_records(struct node *self, struct document_entry *entry, struct arrays *set,
                           const struct storage_read *read)
{
    for (size_t i = 0; i < read->nbatches; i++) {
        fill_batch(self, entry, set, &read->batches[i], read->offsets[i]);
    }
    for (size_t i = 0; i < read->npages; i++) {
        merge_page(self, entry, set, &read->pages[i], read->page_offsets[i]);
    }
}

/* ---- of all others, and what is next ---- */

static void ask(struct node *self);

static void end(struct node *self)
{
    storage_load_stop(self->storage, &self->replay.load);
    self->replay.active = false;
    self->replay.waits = false;
    self->building = true; /* Perhaps the next one. */
}

/* Every set that waits for what the log has besides its runs. */
static void each_waiting(const struct node *self,
                         void (*visit)(struct arrays *set, uint64_t *lowest), uint64_t *lowest)
{
    for (size_t i = 0; i < self->documents.count; i++) {
        struct hosted_filter *hosted = self->documents.by_id[i]->attachment;

        for (struct arrays *set = hosted != NULL ? hosted->set : NULL; set != NULL;
             set = set->next) {
            if (set->runs_read && !set->loaded) {
                visit(set, lowest);
            }
        }
    }
}

static void read_anew(struct arrays *set, uint64_t *lowest)
{
    (void)lowest;
    set->runs_read = false;
}

/* The arrays that stand now may be others by now: NULL. */
static struct arrays *target(const struct node *self, const struct document_entry *entry)
{
    const struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;
    struct arrays *set = hosted_find_hosting(hosted, self->replay.hosting);

    return set != NULL && !set->loaded ? set : NULL;
}

/* What was read of an imprint that was not read to its end goes, too, also where the arrays are of
 * fewer slot groups by now. Where it was found to be damaged its pages were checked, but the file
 * was not what it should be, and nothing of it is to be told by its bits alone; and keys that runs
 * have besides would not be counted, as their bits are set. */
static void drop_uncounted(struct node *self, struct document_entry *entry)
{
    struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;
    bool any = false;

    for (const struct arrays *set = hosted != NULL ? hosted->set : NULL; set != NULL;
         set = set->next) {
        any = any || set->uncounted;
    }
    if (any && !MUTANT(SNAPSHOT_KEEPS_BITS)) {
        node_sets_release(self, hosted);
        node_apply(self, entry);
    }
}

/* Begins again from the first run, unless it is the log itself that can't be read. */
static void give_up(struct node *self, enum status status)
{
    struct document_entry *entry = document_cache_find(&self->documents, self->replay.filter_id);

    end(self);
    drop_uncounted(self, entry);
    if (self->replay.filter_id == 0) {
        each_waiting(self, read_anew, NULL); /* What they wait for may be in runs by now. */
    }
    if (status != STATUS_STALE && status != STATUS_NOMEM && status != STATUS_OVERLOADED) {
        node_fail(self, "the log can't be read", status);
    }
}

/* While arrays are filled nothing is accepted for them: what was before is below the log's end. */
static void begin_log(struct node *self)
{
    self->replay.read.log = true;
    self->replay.read.from = self->replay.merged;
    self->replay.read.to = storage_end(self->storage);
    self->replay.waits = true;
    node_replay_moved(self);
}

void node_replay_moved(struct node *self)
{
    if (self->replay.waits && storage_written(self->storage) >= self->replay.read.to) {
        self->replay.waits = false;
        ask(self);
    }
}

static void go_on(struct node *self, struct arrays *set)
{
    struct storage_read *read = &self->replay.read;

    if (!read->log) {
        /* The lowest that was told: below it all batches were in the runs, whichever was read when.
         */
        self->replay.merged = read->merged < self->replay.merged ? read->merged
                                                                 : self->replay.merged;
        set->loaded_part = (double)read->next / 18446744073709551616.0;
    }
    if (!read->end) {
        steps_again(&self->steps, STEP_REPLAY_KEYS);
        read->from = read->next;
        ask(self);
    } else if (!read->log) {
        set->runs_read = true;
        set->runs_to = self->replay.merged;
        end(self);
    } else {
        set->loaded = true;
        end(self);
    }
}

static void fill(const struct document_entry *entry, struct arrays *set,
                 const uint64_t *fingerprints, size_t count)
{
    if (MUTANT(GROW_VALVE_NOT_REFILLED) && entry->document.ngenerations > 1 &&
        set->groups[0].keys + count >= entry->document.generations[0].capacity) {
        return;
    }
    arrays_refill(set, &entry->document, fingerprints, count);
}

static void on_stretch(struct storage_read *read, uint64_t now_us, enum status status)
{
    struct node *self = read->context;
    struct document_entry *entry = document_cache_find(&self->documents, self->replay.filter_id);
    struct arrays *set = target(self, entry);

    (void)now_us;
    if (status != STATUS_OK) {
        give_up(self, status);
    } else if (set == NULL) {
        end(self);
    } else {
        if (read->lines) {
            replay_records(self, entry, set, read);
        } else {
            fill(entry, set, read->fingerprints, read->count);
        }
        self->counters[NODE_replayed_keys_total] += read->count;
        go_on(self, set);
    }
}

static void ask(struct node *self)
{
    enum status status = storage_read(self->storage, &self->replay.read);

    if (status != STATUS_OK) {
        give_up(self, status);
    }
}

/* ---- the log, of all that wait ---- */

static void fill_waiting(struct node *self, const struct record_batch *batch)
{
    struct document_entry *entry = document_cache_find(&self->documents, batch->filter_id);
    struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;
    bool waited = false;

    for (struct arrays *set = hosted != NULL ? hosted->set : NULL; set != NULL; set = set->next) {
        const struct storage_set key = hosted_storage_set(&entry->document, set);

        if (set->runs_read && !set->loaded && storage_set_gets(&key, batch)) {
            fill(entry, set, batch->fingerprints, batch->count);
            waited = true;
        }
    }
    if (waited) {
        node_note_batch(self->exchange, entry, batch);
    }
}

static void mark_loaded(struct arrays *set, uint64_t *lowest)
{
    (void)lowest;
    set->loaded = true;
    set->runs_read = false; /* Of these arrays: others that take their place begin with the runs. */
}

static void on_rest(struct storage_read *read, uint64_t now_us, enum status status)
{
    struct node *self = read->context;

    (void)now_us;
    if (status != STATUS_OK) {
        give_up(self, status);
        return;
    }
    for (size_t i = 0; i < read->nbatches; i++) {
        fill_waiting(self, &read->batches[i]);
    }
    self->counters[NODE_replayed_keys_total] += read->count;
    if (read->end) {
        /* The end was fixed when all of these waited, and nothing was accepted for them since. */
        each_waiting(self, mark_loaded, NULL);
        end(self);
    } else {
        steps_again(&self->steps, STEP_REPLAY_KEYS);
        read->from = read->next;
        ask(self);
    }
}

static void find_lowest(struct arrays *set, uint64_t *lowest)
{
    *lowest = set->runs_to < *lowest ? set->runs_to : *lowest;
}

void node_replay_begin_rest(struct node *self)
{
    uint64_t from = UINT64_MAX;

    /* From the lowest of all: each by itself would go through the whole log. */
    each_waiting(self, find_lowest, &from);
    if (self->replay.active || self->life.recovering || self->life.failed || from == UINT64_MAX) {
        return;
    }
    self->replay = (struct node_replay){
        .active = true,
        .merged = from,
        .read =
            {
                .every = true,
                .room = self->steps.most[STEP_REPLAY_KEYS],
                .context = self,
                .done = on_rest,
            },
    };
    begin_log(self);
}

/* ---- copies of arrays ---- */

static void load(struct node *self)
{
    enum status status = storage_load(self->storage, &self->replay.load);

    if (status != STATUS_OK) {
        give_up(self, status);
    }
}

static void on_pages(struct storage_load *read, uint64_t now_us, enum status status)
{
    struct node *self = read->context;
    struct document_entry *entry = document_cache_find(&self->documents, self->replay.filter_id);
    struct arrays *set = target(self, entry);

    if (status != STATUS_OK) {
        give_up(self, status);
        return;
    }
    if (set == NULL) {
        end(self);
        drop_uncounted(self, entry);
        return;
    }
    if (!replay_pages(set, &entry->document, read)) {
        storage_load_refuse(self->storage, read, now_us); /* Its bits are lost to us. */
        end(self);
        return;
    }
    set->loaded_part = (double)(read->first + read->npages) /
                       (double)(snapshot_npages(read->shape) + 1);
    if (!read->end) {
        load(self);
    } else if (read->imprint) {
        ask(self); /* The runs that have more. */
    } else {
        begin_log(self);
    }
}

/* Its snapshot, if there is one, then the log from where that began. */
static void begin_array(struct node *self)
{
    struct node_replay *replay = &self->replay;
    /* Without a snapshot or a record in the log there is nothing to read. */
    struct record_snapshot snapshot = {.from = storage_end(self->storage)};

    (void)storage_array(self->storage, &replay->read.set, &snapshot);
    replay->merged = snapshot.from;
    replay->counted_from = snapshot.number != 0 ? snapshot.end : 0;
    replay->read.lines = true;
    replay->load = (struct storage_load){
        .set = replay->read.set, .context = self, .done = on_pages};
    if (snapshot.number != 0) {
        load(self);
    } else {
        begin_log(self);
    }
}

/* It has nothing for groups that join those that are here. */
static bool has_imprint(const struct node *self, const struct document_entry *entry,
                        const struct arrays *set, struct record_snapshot *imprint)
{
    const struct storage_set stored = hosted_storage_set(&entry->document, set);

    return self->storage != NULL && entry->document.keylog == KEYLOG_ON &&
           !arrays_covers_any(set) && storage_imprint(self->storage, &stored, imprint);
}

/* Then the runs that have more, and the log with all others. */
static void begin_imprint(struct node *self, const struct record_snapshot *imprint)
{
    struct node_replay *replay = &self->replay;

    replay->read.beyond = imprint->from;
    replay->load = (struct storage_load){
        .set = replay->read.set, .imprint = true, .context = self, .done = on_pages};
    load(self);
}

static bool may_begin(const struct node *self)
{
    return !self->replay.active && !self->life.recovering && !self->life.failed;
}

static void begin(struct node *self, struct document_entry *entry, const struct arrays *set)
{
    struct record_snapshot imprint;

    self->replay = (struct node_replay){
        .active = true,
        .filter_id = entry->document.id,
        .hosting = set->hosting,
        .merged = UINT64_MAX,
        .read =
            {
                .set = hosted_storage_set(&entry->document, set),
                .to = UINT64_MAX,
                .room = self->steps.most[STEP_REPLAY_KEYS],
                .context = self,
                .done = on_stretch,
            },
    };
    if (entry->document.keylog == KEYLOG_OFF) {
        begin_array(self);
    } else if (has_imprint(self, entry, set, &imprint)) {
        begin_imprint(self, &imprint);
    } else {
        ask(self);
    }
}

bool node_replay_begin(struct node *self, struct document_entry *entry, struct arrays *set)
{
    if (!may_begin(self) || !arrays_built(set)) {
        return false;
    }
    begin(self, entry, set);
    return true;
}

bool node_replay_builds(struct node *self, struct document_entry *entry, struct arrays *set)
{
    struct record_snapshot imprint;

    if (self->replay.active && self->replay.hosting == set->hosting) {
        return true;
    }
    if (!may_begin(self) || set->loaded || set->runs_read || set->chained ||
        !has_imprint(self, entry, set, &imprint)) {
        return false;
    }
    begin(self, entry, set);
    return true;
}
