/* Losses that an operator accepted, as `info` and `status` print them. */
#include "cli/summary.h"

#include <inttypes.h>

static bool is_lost(const struct filter_summary *filter, uint32_t shard)
{
    return (filter->loss_shards[shard / 8] >> shard % 8 & 1) != 0;
}

/* "0-15, 32" */
static void print_shards(const struct filter_summary *filter, FILE *out)
{
    uint32_t nshards = filter->nshards <= DOCUMENT_MAX_SHARDS ? filter->nshards
                                                              : DOCUMENT_MAX_SHARDS;
    const char *comma = "";

    for (uint32_t shard = 0; shard < nshards; shard++) {
        uint32_t first = shard;

        if (!is_lost(filter, shard)) {
            continue;
        }
        while (shard + 1 < nshards && is_lost(filter, shard + 1)) {
            shard++;
        }
        (void)fprintf(out, shard > first ? "%s%u-%u" : "%s%u", comma, first, shard);
        comma = ", ";
    }
}

void summary_loss_text(const struct filter_summary *filter)
{
    if (filter->loss_epoch != 0) {
        (void)printf("loss          accepted in epoch %" PRIu64 "; shards ", filter->loss_epoch);
        print_shards(filter, stdout);
        (void)printf(" may lack keys that were acknowledged before\n");
    }
}

void summary_losses_text(const struct admin_reply *reply)
{
    for (size_t i = 0; i < reply->nfilters; i++) {
        const struct filter_summary *filter = &reply->filters[i];

        if (filter->loss_epoch != 0) {
            (void)printf("\n%s: a loss was accepted in epoch %" PRIu64 ": shards ", filter->name,
                         filter->loss_epoch);
            print_shards(filter, stdout);
            (void)printf(" may lack keys that were acknowledged before.\n");
        }
    }
}

void summary_loss_json(struct json *json, const struct filter_summary *filter)
{
    json_count(json, "loss_epoch", filter->loss_epoch);
    json_begin(json, "loss_shards", '[');
    for (uint32_t shard = 0; shard < filter->nshards && shard < DOCUMENT_MAX_SHARDS; shard++) {
        if (is_lost(filter, shard)) {
            json_count(json, NULL, shard);
        }
    }
    json_end(json, ']');
}
