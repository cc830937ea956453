/* Going through a cut: all its fingerprints in some ranges, ascending, each once. On the lane. */
#include "node/store/cut_private.h"

#include <string.h>

enum {
    MOST_SEEKS = 128,
};

void cut_walk_end(struct storage_cut *self)
{
    run_merge_destroy(&self->merge);
}

/* From the range's beginning on. */
static enum status seek(struct storage_cut *self, uint64_t from)
{
    const struct storage_config *config = &self->storage->config;
    struct run_array tail = {.fingerprints = self->tail, .count = self->ntail};
    enum status status = STATUS_OK;
    size_t low = 0;

    run_merge_destroy(&self->merge);
    for (size_t i = 0; i < self->nruns && status == STATUS_OK; i++) {
        if (self->readers[i] == NULL) {
            status = run_reader_create(config->disk, cluster_id_tag(&config->cluster),
                                       &self->runs[i], &self->readers[i]);
        }
        if (status == STATUS_OK) {
            run_reader_seek(self->readers[i], from);
        }
    }
    for (size_t high = tail.count; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (tail.fingerprints[middle] < from) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    tail.fingerprints = tail.count > 0 ? tail.fingerprints + low : NULL;
    tail.count -= low;
    return status == STATUS_OK
               ? run_merge_create(self->readers, self->nruns, &tail, 1, &self->merge)
               : status;
}

/* What is wanted below `limit` is not in the cut: nothing of the cut lies before it any more. */
static void lacks_below(struct storage_cut *self, uint64_t limit, bool all)
{
    while (self->wanted_at < self->nwanted && (all || self->wanted[self->wanted_at] < limit)) {
        self->keys[self->nkeys++] = self->wanted[self->wanted_at++];
    }
}

/* False: there is no room for more. */
static bool collect(struct storage_cut *self, const uint64_t *keys, size_t count)
{
    size_t room = self->room - self->nkeys;
    size_t taken = count < room ? count : room;

    if (taken > 0) {
        memcpy(self->keys + self->nkeys, keys, taken * sizeof *keys);
        self->nkeys += taken;
    }
    if (taken < count) {
        self->resume = keys[taken];
        self->more = true;
    }
    return !self->more;
}

/* Of the range under way. */
static bool visit(struct storage_cut *self, const uint64_t *keys, size_t count)
{
    switch (self->work) {
    case CUT_SURVEY:
        run_digest_add(self->survey.items[self->at], keys, count);
        break;
    case CUT_SPLIT:
        run_digest_add(self->split.items[self->at], keys, count);
        break;
    case CUT_COLLECT:
        return collect(self, keys, count);
    case CUT_SUBTRACT:
        for (size_t i = 0; i < count; i++) {
            lacks_below(self, keys[i], false);
            self->wanted_at += self->wanted_at < self->nwanted &&
                               self->wanted[self->wanted_at] == keys[i];
        }
        break;
    case CUT_NOTHING:
        break;
    }
    return true;
}

/* How many are not above `last`. */
static size_t up_to(const uint64_t *keys, size_t count, uint64_t last)
{
    size_t low = 0;

    while (low < count) {
        size_t middle = low + (count - low) / 2;

        if (keys[middle] <= last) {
            low = middle + 1;
        } else {
            count = middle;
        }
    }
    return low;
}

/* Hand a stretch of the merge to the ranges that it touches. False: enough. */
static bool share(struct storage_cut *self, const uint64_t *keys, size_t count)
{
    size_t done = 0;

    while (self->at < self->nranges) {
        const struct cut_range *range = &self->ranges[self->at];
        size_t end = done + up_to(keys + done, count - done, range->last);

        while (done < end && keys[done] < range->first) {
            done++;
        }
        if (end > done && !visit(self, keys + done, end - done)) {
            return false;
        }
        done = end;
        if (done == count) {
            return true; /* It may go on in the next stretch. */
        }
        self->at++;
    }
    return false;
}

static void finish(struct storage_cut *self)
{
    struct cut_trees *trees = self->work == CUT_SURVEY ? &self->survey : &self->split;

    self->finished = true;
    if (self->work == CUT_SURVEY || self->work == CUT_SPLIT) {
        for (size_t i = 0; i < trees->count; i++) {
            run_digest_finish(trees->items[i]);
        }
    } else if (self->work == CUT_SUBTRACT) {
        lacks_below(self, 0, true);
    }
}

/* The range under way begins beyond what was read: go there, unless it is near. */
static bool is_far(const struct storage_cut *self)
{
    return self->merge == NULL || (self->at > 0 && self->ranges[self->at].first > self->place &&
                                   self->ranges[self->at].first - self->place >
                                       self->ranges[self->at].last - self->ranges[self->at].first);
}

void cut_walk(struct storage_cut *self)
{
    const uint32_t most = self->storage->config.steps->most[STEP_WALK_KEYS];
    const size_t chunk = most < CUT_CHUNK_KEYS ? most : CUT_CHUNK_KEYS;
    size_t keys = 0;
    size_t seeks = 0;

    while (self->at < self->nranges && keys < most && seeks < MOST_SEEKS) {
        size_t count = 0;

        if (is_far(self)) {
            seeks++;
            self->place = self->ranges[self->at].first;
            self->status = seek(self, self->place);
        }
        if (self->status == STATUS_OK) {
            self->status = run_merge_next(self->merge, self->chunk, chunk, &count);
        }
        if (self->status != STATUS_OK) {
            return;
        }
        keys += count;
        self->bytes += count * sizeof(uint64_t);
        if (count > 0) {
            self->place = self->chunk[count - 1];
        }
        if (count == 0 || !share(self, self->chunk, count)) {
            self->at = self->nranges;
        }
    }
    if (self->at == self->nranges) {
        finish(self);
    }
}
