/* Hits by probes, with Wilson's interval. */
#include "proto/measured_rate.h"

#include <assert.h>

double measured_rate(const struct report_sum *sum)
{
    assert(sum->probes > 0);
    return (double)sum->probe_hits / (double)sum->probes;
}

struct wilson measured_rate_interval(const struct report_sum *sum)
{
    return wilson_interval(sum->probe_hits, sum->probes, WILSON_TWO_SIDED_999);
}

void measured_rate_json(struct json *json, const struct report_sum *sum)
{
    static const char *const names[] = {"measured_fpr", "measured_fpr_low", "measured_fpr_high",
                                        "probes"};
    struct wilson interval;

    if (sum == NULL) {
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            json_none(json, names[i]);
        }
        return;
    }
    interval = measured_rate_interval(sum);
    if (sum->probes > 0) {
        json_number(json, names[0], measured_rate(sum));
    } else {
        json_none(json, names[0]);
    }
    json_number(json, names[1], interval.low);
    json_number(json, names[2], interval.high);
    json_count(json, names[3], sum->probes);
}
