/* A loser tree: leaf s (node nsources + s) is the next fingerprint of source s, every inner node
 * keeps who lost there, and the winner of all is apart. Which one wins can't be predicted, so
 * matches are played without branches. */
#include "log/run_merge.h"

#include "base/heap.h"

#include <assert.h>

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
