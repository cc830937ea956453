/* Changes of a document's expiry, and how much is left by what nodes have counted; no time of
 * day takes part. */
#include "map/history/expiry.h"

#include <assert.h>

enum { SAVES = 32 }; /* of one expiry, at most */

#define SAVE_LEAST_US UINT64_C(60000000)

const char *expiry_fault(const struct filter_document *document)
{
    const struct expiry *expiry = &document->expiry;

    if (expiry->number == 0) {
        return expiry->after_us == 0 && expiry->counted_us == 0 && expiry->at_ms == 0
                   ? NULL
                   : "an expiry has no number";
    }
    if (expiry->number > document->revision) {
        return "an expiry was asked for under a revision to come";
    }
    return expiry->after_us > 0 && expiry->counted_us <= expiry->after_us
               ? NULL
               : "of an expiry more was counted than is to be";
}

struct expiry_wish expiry_complete(const struct expiry_wish *wish, uint64_t now_ms)
{
    struct expiry_wish complete = *wish;
    uint64_t away_ms;

    if (wish->never) {
        return complete;
    }
    if (!wish->dated) {
        complete.after_us = wish->after_us < EXPIRY_MAX_US ? wish->after_us : EXPIRY_MAX_US;
        complete.at_ms = now_ms != 0 ? now_ms + (complete.after_us + 999) / 1000 : 0;
        return complete;
    }
    away_ms = now_ms != 0 && wish->at_ms > now_ms ? wish->at_ms - now_ms : 0;
    if (away_ms > complete.after_us / 1000) {
        complete.after_us = away_ms < EXPIRY_MAX_US / 1000 ? away_ms * 1000 : EXPIRY_MAX_US;
    }
    complete.after_us = complete.after_us < EXPIRY_MAX_US ? complete.after_us : EXPIRY_MAX_US;
    return complete;
}

bool expiry_applies(const struct expiry *held, const struct expiry_wish *complete)
{
    bool some = held->number != 0;

    return !(complete->if_none && some) && !(complete->if_some && !some) &&
           !(complete->if_later && (!some || complete->at_ms <= held->at_ms)) &&
           !(complete->if_sooner && some && complete->at_ms >= held->at_ms);
}

uint64_t expiry_left_us(const struct filter_document *document, const struct window_count *counts,
                        size_t ncounts)
{
    const struct expiry *expiry = &document->expiry;
    uint64_t counted = window_counted_us(document, counts, ncounts);

    if (expiry->number == 0) {
        return 0;
    }
    counted = counted > expiry->counted_us ? counted : expiry->counted_us;
    return counted < expiry->after_us ? expiry->after_us - counted : 0;
}

bool expiry_is_unsaved(const struct filter_document *document, uint64_t left_us)
{
    const struct expiry *expiry = &document->expiry;
    uint64_t part_us = expiry->after_us / SAVES;
    uint64_t least_us = part_us > SAVE_LEAST_US ? part_us : SAVE_LEAST_US;

    assert(expiry->counted_us + left_us <= expiry->after_us);
    return expiry->after_us - expiry->counted_us - left_us >= least_us;
}

void expiry_set(struct filter_document *document, const struct expiry_wish *complete,
                uint64_t left_us)
{
    bool longer = complete->if_later && left_us > complete->after_us;

    assert(complete->after_us <= EXPIRY_MAX_US && !complete->never);
    document->revision++;
    document->expiry = (struct expiry){
        .number = document->revision,
        .after_us = longer ? left_us : complete->after_us,
        .at_ms = complete->at_ms,
    };
}

void expiry_cancel(struct filter_document *document)
{
    document->revision++;
    document->expiry = (struct expiry){0};
}

void expiry_save(struct filter_document *document, uint64_t left_us)
{
    /* What was counted once is never forgotten: the rest only shrinks. */
    assert(left_us <= document->expiry.after_us - document->expiry.counted_us);
    document->revision++;
    document->expiry.counted_us = document->expiry.after_us - left_us;
}

void expiry_restart(struct filter_document *document)
{
    if (document->expiry.number != 0) {
        document->expiry.number = document->revision;
        document->expiry.counted_us = 0;
    }
}
