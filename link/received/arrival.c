/* One batch that has come: what it has to be, and which of its keys are not acknowledged yet. */
#include "link/private.h"
#include "site/batch.h"

void arrival_free(struct arrived_batch *arrival)
{
    heap_free(arrival->keys);
    heap_free(arrival->cursors);
    heap_free(arrival);
}

/* NULL, or what is wrong with it. */
static const char *fault_of(const struct inflow *inflow, const struct site_batch *batch)
{
    if (!filter_uid_equal(&batch->uid, &inflow->uid)) {
        return "a batch is of another filter";
    }
    if (site_life_compare(&batch->sender, &inflow->source_life) != 0 ||
        site_life_compare(&batch->receiver, &inflow->own_life) != 0) {
        return "a batch is of another life of one of the sites";
    }
    if (batch->flags != 0 || batch->ncursors > SITE_MAX_SOURCES) {
        return "a batch is of a kind that is not known here";
    }
    if (batch->nkeysets != 1 || batch->keysets[0] != inflow->keyset) {
        return "a batch is of another keyset";
    }
    return NULL;
}

static enum status read_keys(struct span bytes, struct arrived_batch *arrival,
                             const struct site_batch *batch)
{
    enum status status;

    arrival->nkeys = arrival->left = batch->nkeys;
    arrival->ncursors = batch->ncursors;
    arrival->keys = heap_alloc(batch->nkeys + 1, sizeof *arrival->keys);
    arrival->cursors = heap_alloc(batch->ncursors + 1, sizeof *arrival->cursors);
    if (arrival->keys == NULL || arrival->cursors == NULL) {
        return STATUS_NOMEM;
    }
    status = site_batch_keys(bytes, arrival->keys);
    return status == STATUS_OK ? site_batch_cursors(bytes, arrival->cursors) : status;
}

enum status arrival_read(struct span bytes, struct inflow *inflow, struct arrived_batch **out,
                         const char **fault)
{
    struct arrived_batch *arrival = heap_zalloc(1, sizeof *arrival);
    struct site_batch batch;
    enum status status = arrival != NULL ? site_batch_open(bytes, &batch) : STATUS_NOMEM;

    *fault = status == STATUS_OK ? fault_of(inflow, &batch) : status_meaning(status);
    if (*fault == NULL) {
        status = read_keys(bytes, arrival, &batch);
        *fault = status == STATUS_OK ? NULL : status_meaning(status);
    }
    if (*fault != NULL) {
        if (arrival != NULL) {
            arrival_free(arrival);
        }
        return status == STATUS_OK ? STATUS_MALFORMED : status;
    }
    arrival->inflow = inflow;
    arrival->bytes = sizeof *arrival + arrival->nkeys * sizeof *arrival->keys +
                     arrival->ncursors * sizeof *arrival->cursors;
    *out = arrival;
    return STATUS_OK;
}

bool arrival_keep_unacknowledged(struct arrived_batch *arrival, const struct client_reply *reply)
{
    size_t before = arrival->left;

    if (reply->count != before) {
        return false;
    }
    arrival->left = 0;
    for (size_t i = 0; i < before; i++) {
        if (!bits_has(reply->present, i) && !bits_has(reply->absent, i)) {
            arrival->keys[arrival->left++] = arrival->keys[i];
        }
    }
    return arrival->left < before;
}
