/* Arithmetic of windows: what each slice's array is made for, and how much of a slice F members
 * have counted so far. */
#include "map/history/window.h"

#include "base/mutant.h"

#include <assert.h>

const char *window_fault(uint64_t window_us, uint64_t nslices)
{
    if (window_us == 0 && nslices == 0) {
        return NULL;
    }
    if (window_us == 0) {
        return "slices take a window";
    }
    if (nslices == 0 || nslices > DOCUMENT_MAX_SLICES) {
        return "a window takes 1 to 64 slices";
    }
    if (window_us > WINDOW_MAX_US) {
        return "a window takes 10 years at most";
    }
    if (window_us / nslices < WINDOW_SLICE_MIN_US) {
        return "a slice takes 1 s at least: ask for a longer window, or for fewer slices";
    }
    return NULL;
}

/* ---- sizes ---- */

uint64_t window_set_capacity(uint32_t nslices, uint64_t capacity)
{
    return nslices == 0 ? capacity : capacity / nslices + (capacity % nslices != 0);
}

double window_set_rate(uint32_t nslices, double rate)
{
    return nslices == 0 ? rate : rate / (nslices + 1);
}

uint64_t window_capacity(uint32_t nslices, uint64_t set_capacity)
{
    return nslices == 0 ? set_capacity : nslices * set_capacity;
}

uint32_t window_sets(uint32_t nslices)
{
    return nslices == 0 ? 1 : nslices + 2;
}

/* ---- rotation ---- */

uint64_t window_slice_us(const struct filter_document *document)
{
    return document->nslices == 0 ? 0 : document->window_us / document->nslices;
}

static uint64_t counted_by(const struct window_count *counts, size_t ncounts, uint32_t node)
{
    for (size_t i = 0; i < ncounts; i++) {
        if (counts[i].node == node) {
            return counts[i].counted_us;
        }
    }
    return 0;
}

/* What F of the group have counted at least: the F-th most. */
static uint64_t group_counted(const struct filter_document *document, uint32_t group,
                              const struct window_count *counts, size_t ncounts)
{
    const struct quorum_rule *rule = &document->content.rule;
    uint64_t most[QUORUM_MAX_REPLICAS] = {0};
    uint32_t needed = quorum_fences(rule);

    assert(needed > 0 && needed <= rule->replicas && rule->replicas <= QUORUM_MAX_REPLICAS);
    if (MUTANT(SLICE_ONE_COUNT_SHORT) && needed > 1) {
        needed--;
    }
    for (uint32_t i = 0; i < rule->replicas; i++) {
        const struct member *reader = slot_reader(&document->content.groups[group].slots[i]);
        uint64_t counted = counted_by(counts, ncounts, reader->node);

        for (uint32_t place = 0; place < needed; place++) { /* Sorted, the most first. */
            if (counted > most[place]) {
                uint64_t less = most[place];

                most[place] = counted;
                counted = less;
            }
        }
    }
    return most[needed - 1];
}

uint64_t window_counted_us(const struct filter_document *document,
                           const struct window_count *counts, size_t ncounts)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t group = 0; group < document->content.ngroups && least > 0; group++) {
        uint64_t counted = group_counted(document, group, counts, ncounts);

        least = counted < least ? counted : least;
    }
    return least;
}

uint64_t window_remaining_us(const struct filter_document *document,
                             const struct window_count *counts, size_t ncounts)
{
    uint64_t slice_us = window_slice_us(document);
    uint64_t counted = window_counted_us(document, counts, ncounts);

    if (counted == 0) {
        return WINDOW_UNKNOWN;
    }
    return counted < slice_us ? slice_us - counted : 0;
}

void window_rotate(struct filter_document *document)
{
    assert(document->nslices > 0);
    document->content.newest_slice++;
    document_epoch_advance(document);
}
