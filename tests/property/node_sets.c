/* One node on a disk, any history of a filter that is rebuilt from lists, or of one with a window:
 * adds, lists, begins, commits, aborts, rotations, other generations, kills and power losses. What
 * is in the filter is found, what was forgotten or has expired is not, but for a few by chance. */
#include "base/heap.h"
#include "tests/support/keyset_stage.h"
#include "tests/support/random.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { PARTS = 20, BATCH = 400, SEEDS = 24, STEPS = 60, SLICES = 3, CHANCE = BATCH / 20 };

struct history {
    struct keyset_stage keyset;
    uint64_t random;
    uint64_t seed;
    bool window;
    bool open; /* a rebuild is */
    bool served[PARTS];
    bool made[PARTS];
    uint64_t slices[PARTS]; /* of the last add; 0: none */
    uint32_t generation;
    uint64_t keys[PARTS][BATCH];
};

static uint64_t below(struct history *self, uint64_t limit)
{
    return random_below(&self->random, limit);
}

static uint64_t newest(const struct history *self)
{
    return self->keyset.document.content.newest_slice;
}

static void open_history(struct history *self, uint64_t seed, bool window)
{
    struct filter_document *document = &self->keyset.document;

    memset(self, 0, sizeof *self);
    self->seed = self->random = seed;
    self->window = window;
    self->generation = 1;
    keyset_stage_init(&self->keyset);
    if (window) {
        document->window_us = 1000000;
        document->nslices = SLICES;
        document->content.newest_slice = 1;
        document_epoch_advance(document);
        keyset_stage_hand(&self->keyset);
    }
    for (uint32_t part = 0; part < PARTS; part++) {
        sample_fingerprints(document, 0, part + 1, BATCH, self->keys[part]);
    }
}

/* ---- what is done ---- */

static void add(struct history *self, bool list)
{
    uint32_t part = (uint32_t)below(self, PARTS);
    uint32_t keyset = list ? self->keyset.last : 0;

    cr_assert_eq(keyset_stage_feed(&self->keyset, keyset, self->keys[part], BATCH), STATUS_OK,
                 "seed %lu", (unsigned long)self->seed);
    self->served[part] = self->served[part] || !list;
    self->made[part] = true;
    self->slices[part] = newest(self);
}

static void turn_over(struct history *self)
{
    struct filter_document *document = &self->keyset.document;

    if (self->window) {
        document->content.newest_slice += below(self, 10) == 0 ? 2 : 1;
        document_epoch_advance(document);
    } else if (!self->open) {
        memset(self->made, 0, sizeof self->made);
        keyset_stage_begin(&self->keyset);
    } else if (below(self, 3) == 0) {
        keyset_stage_abort(&self->keyset);
    } else {
        memcpy(self->served, self->made, sizeof self->made);
        keyset_stage_commit(&self->keyset);
    }
    self->open = !self->window && !self->open;
    keyset_stage_hand(&self->keyset);
}

/* Another generation is wanted; it is built in between, or not. */
static void want(struct history *self)
{
    struct filter_document *document = &self->keyset.document;
    struct generation wanted = document->generations[document->ngenerations - 1];

    document->generations[0] = wanted;
    wanted.id = ++self->generation;
    wanted.geometry.seed = wanted.id * UINT64_C(77);
    wanted.geometry.lines = wanted.id % 2 == 0 ? 2 * STAGE_LINES : STAGE_LINES;
    document->generations[1] = wanted;
    document->ngenerations = 2;
    document->nturns = 1;
    document->turns[0] = 1;
    document->revision++;
    keyset_stage_hand(&self->keyset);
}

static void step(struct history *self)
{
    uint64_t draw = below(self, 20);

    if (draw < 8) {
        add(self, false);
    } else if (draw < 11) {
        add(self, self->open);
    } else if (draw < 14) {
        turn_over(self);
    } else if (draw < 15) {
        want(self);
    } else if (draw < 17) {
        node_stage_settle_long(&self->keyset.stage);
    } else {
        keyset_stage_restart(&self->keyset, (enum stage_end)(draw - 17));
    }
}

/* ---- what is there ---- */

static bool is_held(const struct history *self, uint32_t part)
{
    if (self->window) {
        return self->slices[part] != 0 && self->slices[part] + SLICES >= newest(self);
    }
    return self->served[part];
}

static void look(struct history *self, unsigned at)
{
    for (uint32_t part = 0; part < PARTS; part++) {
        uint32_t absent = node_stage_absent(&self->keyset.stage, &self->keyset.document,
                                            self->keys[part], BATCH);

        if (is_held(self, part)) {
            cr_assert_eq(absent, 0, "seed %lu, step %u, part %u", (unsigned long)self->seed, at,
                         part);
        } else {
            cr_assert_geq(absent + CHANCE, BATCH, "seed %lu, step %u: part %u is back",
                          (unsigned long)self->seed, at, part);
        }
    }
}

static void run(bool window)
{
    static struct history history;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_history(&history, seed, window);
        for (unsigned i = 0; i < STEPS; i++) {
            step(&history);
            look(&history, i);
        }
        keyset_stage_fini(&history.keyset);
        cr_assert_eq(heap_live(), 0);
    }
}

Test(node_sets, any_history_of_rebuilds)
{
    run(false);
}

Test(node_sets, any_history_of_a_window)
{
    run(true);
}
