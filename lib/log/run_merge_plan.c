/* The choice of run_merge.h: of one set, runs of like size, the smallest tier first, so that
 * each key is written only a few times in its life. */
#include "log/run_merge.h"

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
    return a->filter_id == b->filter_id && a->lineage == b->lineage && a->slice == b->slice &&
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
static size_t gather(const struct record_run *runs, size_t nruns, size_t pivot,
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
    return count >= RUN_MERGE_LEAST ? count : 0;
}

size_t run_merge_plan(const struct record_run *runs, size_t nruns, size_t chosen[RUN_MERGE_MOST])
{
    size_t best[RUN_MERGE_MOST];
    size_t nbest = 0;

    for (size_t pivot = 0; pivot < nruns; pivot++) {
        size_t found[RUN_MERGE_MOST];
        size_t nfound;

        if (nbest > 0 && tier_of(&runs[best[0]]) <= tier_of(&runs[pivot])) {
            continue;
        }
        nfound = gather(runs, nruns, pivot, found);
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
