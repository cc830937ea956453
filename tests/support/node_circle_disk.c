/* Which fingerprints a node of the circle has on disk, in runs or in its log. */
#include "tests/support/node_circle.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct look {
    struct storage_read read; /* first */
    const uint64_t *wanted;
    bool *met;
    uint32_t count;
    bool done;
    uint64_t next;
    bool end;
    uint64_t merged;
};

static int ascending(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;

    return *x < *y ? -1 : *x > *y;
}

static void looked(struct storage_read *read, uint64_t now_us, enum status status)
{
    struct look *look = (struct look *)read;

    (void)now_us;
    cr_assert_eq(status, STATUS_OK);
    for (size_t i = 0; i < read->count; i++) {
        const uint64_t *found = bsearch(&read->fingerprints[i], look->wanted, look->count,
                                        sizeof *look->wanted, ascending);

        if (found != NULL) {
            look->met[found - look->wanted] = true;
        }
    }
    look->done = true;
    look->next = read->next;
    look->end = read->end;
    look->merged = read->merged;
}

static uint64_t look_through(struct circle *self, uint32_t id, struct look *look, uint64_t from)
{
    uint64_t merged = UINT64_MAX;

    look->end = false;
    look->read.from = from;
    while (!look->end) {
        look->done = false;
        cr_assert_eq(storage_read(circle_node(self, id)->storage, &look->read), STATUS_OK);
        while (!look->done) {
            cr_assert(circle_run_job(self, &self->nodes[id - 1]));
        }
        merged = look->merged < merged ? look->merged : merged;
        look->read.from = look->next;
    }
    return merged;
}

size_t circle_logged(struct circle *self, uint32_t id, const struct filter_document *document,
                     const uint64_t *fingerprints, uint32_t count)
{
    uint64_t *sorted = malloc((count + 1) * sizeof *sorted);
    struct look look = {
        .read = {.set = {.filter_id = document->id, .keyset = document->content.keysets[0].id},
                 .to = UINT64_MAX,
                 .room = CIRCLE_MAX_KEYS * 2,
                 .done = looked},
        .wanted = sorted,
        .met = calloc(count + 1, sizeof *look.met),
        .count = count,
    };
    size_t met = 0;
    uint64_t merged;

    cr_assert(sorted != NULL && look.met != NULL);
    memcpy(sorted, fingerprints, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);
    circle_run(self, 1000);
    merged = look_through(self, id, &look, 0);
    look.read.log = true;
    (void)look_through(self, id, &look, merged);
    for (uint32_t i = 0; i < count; i++) {
        met += look.met[i];
    }
    free(look.met);
    free(sorted);
    return met;
}

struct listing {
    struct storage_read read; /* first */
    struct record_batch *out;
    size_t room;
    size_t count;
    bool done;
};

static void listed(struct storage_read *read, uint64_t now_us, enum status status)
{
    struct listing *listing = (struct listing *)read;

    (void)now_us;
    cr_assert_eq(status, STATUS_OK);
    for (size_t i = 0; i < read->nbatches; i++) {
        cr_assert_lt(listing->count, listing->room);
        listing->out[listing->count] = read->batches[i];
        listing->out[listing->count++].fingerprints = NULL;
    }
    listing->done = true;
}

size_t circle_batches(struct circle *self, uint32_t id, struct record_batch *out, size_t room)
{
    struct storage *storage = circle_node(self, id)->storage;
    struct listing listing = {
        .read = {.log = true,
                 .every = true,
                 .to = UINT64_MAX,
                 .room = CIRCLE_MAX_KEYS * 2,
                 .done = listed},
        .out = out,
        .room = room,
    };

    circle_run(self, 1000);
    do {
        listing.done = false;
        cr_assert_eq(storage_read(storage, &listing.read), STATUS_OK);
        while (!listing.done) {
            cr_assert(circle_run_job(self, &self->nodes[id - 1]));
        }
        listing.read.from = listing.read.next;
    } while (!listing.read.end);
    return listing.count;
}
