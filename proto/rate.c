/* From keys and arrays that replicas report to the chance that R of them let an absent key pass,
 * also amid an expansion. */
#include "proto/rate.h"

#include "filter/sizing.h"

static double rate_of(const struct filter_summary *filter,
                      const struct generation_summary *generation, uint64_t keys)
{
    bool known = generation->lines > 0 && (generation->z == 1 || generation->z == 2);

    return known ? sizing_rate(keys, generation->lines * filter->nshards, generation->z) : 0;
}

/* Any of them may let an absent key pass. The older ones are taken for as full as they may be. */
static double rate_of_chain(const struct filter_summary *filter, uint64_t keys)
{
    double passes = 0;

    for (uint32_t i = 0; i < filter->nchain; i++) {
        const struct generation_summary *one = &filter->generations[i];
        bool last = i + 1 == filter->nchain;
        uint64_t held = last || keys < one->capacity ? keys : one->capacity;
        double rate = rate_of(filter, one, held);

        passes = passes + rate - passes * rate;
        keys -= held;
    }
    return passes;
}

/* ---- replicas in two generations ---- */

/* How likely so many replicas answer a check from the arrays being left, and so many from the
 * wanted ones; the others, behind a valve, read both. */
struct spread {
    double left[QUORUM_MAX_REPLICAS + 1][QUORUM_MAX_REPLICAS + 1]; /* [left][wanted] */
    uint32_t replicas;
};

/* Of the replica's shards of the group. */
static double grown_share(const struct filter_summary *filter, const struct replica_report *report)
{
    uint32_t wanted = filter->generations[filter->ngenerations - 1].id;
    double shards = (double)filter->nshards / (filter->ngroups > 0 ? filter->ngroups : 1);
    double share = shards > 0 ? report->shards_grown / shards : 0;

    if (report->generation == wanted && report->phase != PHASE_GROWING) {
        return 1;
    }
    return report->phase != PHASE_GROWING ? 0 : share < 1 ? share : 1;
}

static void spread_add(struct spread *self, double grown, bool valve)
{
    struct spread next = {.replicas = self->replicas + 1};

    for (uint32_t left = 0; left <= self->replicas; left++) {
        for (uint32_t wanted = 0; left + wanted <= self->replicas; wanted++) {
            double likely = self->left[left][wanted];

            next.left[left + !valve][wanted] += likely * (1 - grown);
            next.left[left][wanted + 1] += likely * grown;
        }
    }
    *self = next;
}

/* Of the replicas that serve fewer than R say "absent", by chance of one generation, the other one
 * or both. */
static double rate_of_spread(const struct spread *self, uint32_t asked, double left, double wanted)
{
    uint32_t read = asked < self->replicas ? asked : self->replicas;
    double sum = 0;

    for (uint32_t in_left = 0; in_left <= self->replicas; in_left++) {
        for (uint32_t in_wanted = 0; in_left + in_wanted <= self->replicas; in_wanted++) {
            double passes = left * wanted;

            passes += in_wanted < read ? left * (1 - wanted) : 0;
            passes += in_left < read ? (1 - left) * wanted : 0;
            sum += self->left[in_left][in_wanted] * passes;
        }
    }
    return sum;
}

/* False: no replica of the group has told that it serves. */
static bool rate_of_group(const struct info_reply *reply, uint32_t group, double left,
                          double wanted, double *rate)
{
    struct spread spread = {.left = {{1}}};

    for (size_t i = 0; i < reply->nreplicas && spread.replicas < QUORUM_MAX_REPLICAS; i++) {
        const struct replica_report *report = &reply->replicas[i];

        if (report->group == group && report->state == REPLICA_FULL) {
            spread_add(&spread, grown_share(&reply->filter, report), report->overflow_keys > 0);
        }
    }
    *rate = rate_of_spread(&spread, reply->filter.rule.read, left, wanted);
    return spread.replicas > 0;
}

/* An array takes no more than it is for; what comes beyond that goes to the wanted one alone. */
static double rate_of_mix(const struct info_reply *reply, uint64_t keys)
{
    const struct filter_summary *filter = &reply->filter;
    const struct generation_summary *leaving = &filter->generations[0];
    double wanted = rate_of(filter, &filter->generations[filter->ngenerations - 1], keys);
    double left = rate_of(filter, leaving, keys < leaving->capacity ? keys : leaving->capacity);
    double sum = 0;
    uint32_t heard = 0;

    for (uint32_t group = 0; group < filter->ngroups; group++) {
        double rate;

        if (rate_of_group(reply, group, left, wanted, &rate)) {
            sum += rate;
            heard++;
        }
    }
    return heard > 0 ? sum / heard : left > wanted ? left : wanted;
}

uint32_t rate_slices_read(const struct filter_summary *filter)
{
    uint32_t kept = filter->nslices + 1;

    return filter->newest_slice < kept
               ? (uint32_t)filter->newest_slice + (filter->newest_slice == 0)
               : kept;
}

double rate_now(const struct info_reply *reply, const struct report_sum *sum)
{
    const struct filter_summary *filter = &reply->filter;
    const struct generation_summary only = {.lines = filter->lines, .z = filter->z};
    double rate;

    if (filter->nchain > 0) {
        return rate_of_chain(filter, sum->keys);
    }
    rate = filter->ngenerations > 1 ? rate_of_mix(reply, sum->keys)
                                    : rate_of(filter, &only, sum->keys);
    rate *= rate_slices_read(filter); /* The sum is what any of them may let pass, at most. */
    return rate < 1 ? rate : 1;
}
