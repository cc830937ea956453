/* expiry.h - filters that are dropped by themselves: when, and how a document says so.
 *
 * An expiry is a time that is to be counted, not a time of day: the document says after how long,
 * and under which revision that was asked for, which is the expiry's number. Whoever holds that
 * document and is asked begins to count, on its own monotonic clock. Once F members of every slot
 * group have counted all of it the filter is dropped, by compare-and-swap on a document that has
 * this expiry still. So
 *   - fewer than F clocks that run ahead drop nothing early; clocks that lag, restarts and silent
 *     nodes make it later, never earlier;
 *   - whoever takes an expiry back, or asks for another one, and gets an answer, is sure: what was
 *     counted has another number.
 * What F have counted is written into the document now and then, and who begins to count begins
 * with that: a restart loses little.
 *
 * Units:   microseconds; times of day are milliseconds since 1970.
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_HISTORY_EXPIRY_H
#define ORBLOOM_MAP_HISTORY_EXPIRY_H

#include "map/document.h"
#include "map/history/window.h"

#include <stdbool.h>
#include <stddef.h>

#define EXPIRY_MAX_US (UINT64_C(365000) * 24 * 3600 * 1000000)

/* NULL, or why no document can have such an expiry. */
const char *expiry_fault(const struct filter_document *document);

/* What somebody asks for. */
struct expiry_wish {
    bool never;        /* take back what was asked for */
    uint64_t after_us; /* from now on; 0: at once. Of a date, as the asker's clock sees it */
    bool dated;        /* a time of day is meant: at_ms */
    uint64_t at_ms;
    bool if_none;   /* only if there is no expiry */
    bool if_some;   /* only if there is one */
    bool if_later;  /* only if it would be later than that; none at all is the latest */
    bool if_sooner; /* only if it would be sooner */
};

/* The wish with both times, of which a date has one and a duration the other. Of two clocks that
 * tell how far a date is away the one that is behind is believed. `now_ms`: what the clock here
 * says; 0: there is none. */
struct expiry_wish expiry_complete(const struct expiry_wish *wish, uint64_t now_ms);

/* Do the wish's conditions hold? By times of day. */
bool expiry_applies(const struct expiry *held, const struct expiry_wish *complete);

/* How much is still to be counted; at least 1 before F of every slot group have counted all of it,
 * then 0. Without an expiry 0, too. One count a node, each of this expiry. */
uint64_t expiry_left_us(const struct filter_document *document, const struct window_count *counts,
                        size_t ncounts);

/* Has so much been counted since it was written last that it is to be written? */
bool expiry_is_unsaved(const struct filter_document *document, uint64_t left_us);

/* ---- edits: the revision goes up, the epoch stays ---- */

/* `left_us`: of the expiry that it replaces; one that is to be later only is not made shorter by
 * clocks that disagree. Not of a wish for now or never. */
void expiry_set(struct filter_document *document, const struct expiry_wish *complete,
                uint64_t left_us);
void expiry_cancel(struct filter_document *document);
void expiry_save(struct filter_document *document, uint64_t left_us);

/* Count all of it anew, as nobody can tell what was said since this document. No edit by itself. */
void expiry_restart(struct filter_document *document);

#endif
