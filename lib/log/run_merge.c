/* Which runs of a set become one, and how: runs of like size, the smallest tier first, so that each
 * key is written only a few times in its life; by a loser tree, in one pass. */
#include "log/run_merge.h"

#include "base/heap.h"

#include <assert.h>

static unsigned tier_of(const struct record_run *run)
{
    unsigned tier = 0;

    for (uint64_t count = run->count / RUN_TIER_KEYS; count > 0; count /= RUN_MERGE_LEAST) {
        tier++;
    }
    return tier;
}

static bool alike(const struct record_run *a, const struct record_run *b)
{
    return a->filter_id == b->filter_id && a->keyset == b->keyset && a->slice == b->slice &&
           tier_of(a) == tier_of(b);
}

/* Keep the smallest, in order. */
static size_t insert(const struct record_run *runs, size_t candidate, size_t chosen[RUN_MERGE_MOST],
                     size_t count)
{
    size_t at = count;

    if (count == RUN_MERGE_MOST) {
        if (runs[chosen[count - 1]].count <= runs[candidate].count) {
            return count;
        }
        at = count - 1;
    }
    count = at + 1;
    for (; at > 0 && runs[chosen[at - 1]].count > runs[candidate].count; at--) {
        chosen[at] = chosen[at - 1];
    }
    chosen[at] = candidate;
    return count;
}

/* Runs of the set and tier of `pivot`, of which it must be the first. */
static size_t gather(const struct record_run *runs, size_t nruns, size_t pivot, size_t least,
                     size_t chosen[RUN_MERGE_MOST])
{
    size_t count = 0;

    for (size_t i = 0; i < nruns; i++) {
        if (alike(&runs[i], &runs[pivot])) {
            if (i < pivot) {
                return 0;
            }
            count = insert(runs, i, chosen, count);
        }
    }
    return count >= least ? count : 0;
}

size_t run_merge_plan(const struct record_run *runs, size_t nruns, size_t least,
                      size_t chosen[RUN_MERGE_MOST])
{
    size_t best[RUN_MERGE_MOST];
    size_t nbest = 0;

    for (size_t pivot = 0; pivot < nruns; pivot++) {
        size_t found[RUN_MERGE_MOST];
        size_t nfound;

        if (nbest > 0 && tier_of(&runs[best[0]]) <= tier_of(&runs[pivot])) {
            continue;
        }
        nfound = gather(runs, nruns, pivot, least, found);
        for (size_t i = 0; i < nfound; i++) {
            best[i] = found[i];
        }
        nbest = nfound > 0 ? nfound : nbest;
    }
    for (size_t i = 0; i < nbest; i++) {
        chosen[i] = best[i];
    }
    return nbest;
}

/* A loser tree: leaf s (node nsources + s) is the next fingerprint of source s, every inner node
 * keeps who lost there, and the winner of all is apart. Which one wins can't be predicted, so
 * matches are played without branches. */

struct source {
    const uint64_t *at;
    const uint64_t *end;
    struct run_reader *reader; /* NULL: an array */
};

struct player {
    uint64_t key; /* UINT64_MAX once its source has ended */
    uint64_t source;
};

struct run_merge {
    size_t nsources;
    bool started;
    bool ended;
    enum status status;
    uint64_t last; /* what came out last */
    struct player winner;
    struct player losers[RUN_MERGE_MAX]; /* from 1 */
    struct source sources[RUN_MERGE_MAX];
};

enum status run_merge_create(struct run_reader *const *runs, size_t nruns,
                             const struct run_array *arrays, size_t narrays, struct run_merge **out)
{
    struct run_merge *self;

    if (nruns > RUN_MERGE_MAX || narrays > RUN_MERGE_MAX - nruns) {
        return STATUS_TOO_LARGE;
    }
    self = heap_zalloc(1, sizeof *self);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < nruns; i++) {
        self->sources[self->nsources++].reader = runs[i];
    }
    for (size_t i = 0; i < narrays; i++) {
        if (arrays[i].count > 0) {
            self->sources[self->nsources++] = (struct source){
                .at = arrays[i].fingerprints, .end = arrays[i].fingerprints + arrays[i].count};
        }
    }
    *out = self;
    return STATUS_OK;
}

void run_merge_destroy(struct run_merge **merge)
{
    heap_free(*merge);
    *merge = NULL;
}

/* A source's stretch is used up: the next one, if there is one. */
static enum status refill(struct source *source)
{
    const uint64_t *fingerprints;
    size_t count;
    enum status status;

    if (source->reader == NULL) {
        return STATUS_OK;
    }
    status = run_reader_next(source->reader, &fingerprints, &count);
    if (status == STATUS_OK) {
        source->at = fingerprints;
        source->end = fingerprints + count;
    }
    return status;
}

static struct player head(const struct run_merge *self, uint64_t source)
{
    const struct source *from = &self->sources[source];

    return (struct player){.key = from->at < from->end ? *from->at : UINT64_MAX, .source = source};
}

/* The winner of node and all below it; plays its matches. */
static struct player play(struct run_merge *self, size_t node)
{
    struct player left;
    struct player right;

    if (node >= self->nsources) {
        return head(self, node - self->nsources);
    }
    left = play(self, 2 * node);
    right = play(self, 2 * node + 1);
    self->losers[node] = left.key <= right.key ? right : left;
    return left.key <= right.key ? left : right;
}

static enum status start(struct run_merge *self)
{
    for (size_t i = 0; i < self->nsources; i++) {
        enum status status = refill(&self->sources[i]);

        if (status != STATUS_OK) {
            return status;
        }
    }
    if (self->nsources > 0) {
        self->winner = play(self, 1);
    }
    self->last = ~self->winner.key; /* anything else than what comes first */
    self->ended = self->nsources == 0;
    self->started = true;
    return STATUS_OK;
}

/* A new head of one source goes up from its leaf. */
static struct player replay(struct run_merge *self, struct player player)
{
    for (size_t node = (self->nsources + player.source) / 2; node > 0; node /= 2) {
        struct player *loser = &self->losers[node];
        uint64_t mask = -(uint64_t)(loser->key < player.key);
        uint64_t key = (loser->key ^ player.key) & mask;
        uint64_t source = (loser->source ^ player.source) & mask;

        loser->key ^= key;
        loser->source ^= source;
        player.key ^= key;
        player.source ^= source;
    }
    return player;
}

/* The winner is UINT64_MAX: a fingerprint like any other, the last, unless all have ended. */
static size_t finish(struct run_merge *self, uint64_t *into)
{
    size_t count = 0;

    for (size_t i = 0; i < self->nsources; i++) {
        if (self->sources[i].at < self->sources[i].end) {
            into[0] = UINT64_MAX;
            count = 1;
        }
    }
    self->ended = true;
    return count;
}

static enum status merge(struct run_merge *self, uint64_t *into, size_t room, size_t *count)
{
    struct player winner = self->winner;
    uint64_t last = self->last;
    size_t kept = 0;

    while (kept < room && winner.key != UINT64_MAX) {
        struct source *source = &self->sources[winner.source];

        into[kept] = winner.key;
        kept += winner.key != last;
        last = winner.key;
        source->at++;
        if (source->at == source->end) {
            enum status status = refill(source);

            if (status != STATUS_OK) {
                return status;
            }
        }
        winner = replay(self, head(self, winner.source));
    }
    if (kept < room) {
        kept += finish(self, into + kept);
    }
    self->winner = winner;
    self->last = last;
    *count = kept;
    return STATUS_OK;
}

enum status run_merge_next(struct run_merge *self, uint64_t *into, size_t room, size_t *count)
{
    assert(room > 0);
    if (self->status == STATUS_OK && !self->started) {
        self->status = start(self);
    }
    if (self->status != STATUS_OK) {
        return self->status;
    }
    if (self->ended) {
        *count = 0;
        return STATUS_OK;
    }
    self->status = merge(self, into, room, count);
    return self->status;
}
