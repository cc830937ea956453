/* Did the logs here have all places that the asker of a stream has given? A node that was put back
 * to an older copy lacks one of them, and says so (put_back.c). Each place is asked about, whether
 * it is gone on from or not: of several of one log, as of its slot groups, the highest one, of each
 * boot apart; nothing that is told then is read. What is gone on from anyhow is judged by that.
 * Until a node has answered for all of its places nobody takes it for one that knows its log as it
 * was. */
#include "base/heap.h"
#include "base/mutant.h"
#include "link/private.h"

static bool is_read(const struct outflow *outflow, const struct site_source *place)
{
    for (size_t i = 0; i < outflow->nfollows; i++) {
        const struct site_source *source = &outflow->follows[i].source;

        if (source->node == place->node && source->incarnation == place->incarnation) {
            return true;
        }
    }
    return false;
}

static bool is_of(const struct reading *reading, const struct site_source *place)
{
    return reading->member.node == place->node &&
           reading->member.incarnation == place->incarnation && reading->boot == place->boot;
}

static struct reading *judge_of(struct outflow *outflow, const struct site_source *place)
{
    for (size_t i = 0; i < outflow->njudges; i++) {
        if (is_of(&outflow->judges[i], place)) {
            return &outflow->judges[i];
        }
    }
    outflow->judges[outflow->njudges] = (struct reading){
        .outflow = outflow,
        .filter_id = outflow->filter_id,
        .member = {place->node, place->incarnation},
        .boot = place->boot,
        .judges = true,
    };
    return &outflow->judges[outflow->njudges++];
}

/* Is just that place gone on from? */
static bool is_asked_from(const struct outflow *outflow, const struct reading *judge)
{
    for (size_t i = 0; i < outflow->nreadings; i++) {
        const struct reading *reading = &outflow->readings[i];

        if (reading->reader != NULL && member_equal(&reading->member, &judge->member) &&
            reading->boot == judge->boot) {
            return reading->at == judge->at;
        }
    }
    return false;
}

bool judging_begin(struct link *self, struct outflow *outflow, const struct site_source *places,
                   size_t nplaces)
{
    bool joined = true;

    outflow->judges = heap_zalloc(nplaces + 1, sizeof *outflow->judges);
    if (outflow->judges == NULL) {
        return false;
    }
    for (size_t i = 0; i < nplaces; i++) {
        if (outflow_place_can_be(&places[i]) && is_read(outflow, &places[i])) {
            struct reading *judge = judge_of(outflow, &places[i]);

            judge->at = most(judge->at, places[i].offset);
        }
    }
    for (size_t i = 0; i < outflow->njudges && joined; i++) {
        struct reading *judge = &outflow->judges[i];

        joined = is_asked_from(outflow, judge) || MUTANT(SITE_LOWEST_JUDGED) ||
                 reader_join(self, judge);
    }
    return joined;
}

void judging_stop(struct outflow *outflow)
{
    for (size_t i = 0; i < outflow->njudges; i++) {
        reader_leave(&outflow->judges[i]);
    }
}
