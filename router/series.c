/* Results and outcomes by name, and which of them there are. */
#include "router/series.h"

#include "base/bits.h"

static const char *const ops[SERIES_OPS] = {
    [SERIES_CHECK] = "check",
    [SERIES_ADD] = "add",
    [SERIES_FEED] = "feed",
};

static const char *const results[SERIES_RESULTS] = {
    [SERIES_OK] = "ok",           [SERIES_UNDECIDED] = "undecided",   [SERIES_FULL] = "full",
    [SERIES_REFUSED] = "refused", [SERIES_OVERLOADED] = "overloaded", [SERIES_AGAIN] = "again",
    [SERIES_ERROR] = "error",
};

static const char *const outcomes[SERIES_OUTCOMES] = {
    [SERIES_PRESENT] = "present",
    [SERIES_ABSENT] = "absent",
    [SERIES_MAYBE] = "maybe",
    [SERIES_UNKNOWN] = "unknown",
    [SERIES_ACKNOWLEDGED] = "acknowledged",
    [SERIES_NOT_ACKNOWLEDGED] = "not_acknowledged",
};

/* ---- counting ---- */

static enum series_result result_of(enum status status)
{
    static const struct {
        enum status status;
        enum series_result result;
    } known[] = {
        {STATUS_OK, SERIES_OK},
        {STATUS_UNAVAILABLE, SERIES_UNDECIDED},
        {STATUS_DEADLINE, SERIES_UNDECIDED},
        {STATUS_BEHIND, SERIES_UNDECIDED},
        {STATUS_FULL, SERIES_FULL},
        {STATUS_OVERLOADED, SERIES_OVERLOADED},
        {STATUS_INVALID, SERIES_REFUSED},
        {STATUS_NOT_FOUND, SERIES_REFUSED},
        {STATUS_UNAUTHENTIC, SERIES_REFUSED},
        {STATUS_NOT_READY, SERIES_AGAIN},
        {STATUS_STALE, SERIES_AGAIN},
        {STATUS_DROPPED, SERIES_AGAIN},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].status == status) {
            return known[i].result;
        }
    }
    return SERIES_ERROR;
}

void series_request(struct series *self, enum series_op op, enum status status)
{
    self->requests[op][result_of(status)]++;
}

void series_keys(struct series *self, enum series_op op, const uint64_t *present,
                 const uint64_t *absent, size_t count)
{
    uint64_t *keys = self->keys[op];
    uint64_t either = bits_count_either(present, absent, count);
    uint64_t both = 0;
    uint64_t there = 0;

    if (op != SERIES_CHECK) {
        keys[SERIES_ACKNOWLEDGED] += either;
        keys[SERIES_NOT_ACKNOWLEDGED] += count - either;
        return;
    }
    for (size_t i = 0; i < bits_words(count); i++) {
        both += bits_count_word(present[i] & absent[i]);
        there += bits_count_word(present[i] & ~absent[i]);
    }
    keys[SERIES_PRESENT] += there;
    keys[SERIES_ABSENT] += either - both - there;
    keys[SERIES_MAYBE] += both;
    keys[SERIES_UNKNOWN] += count - either;
}

/* ---- telling ---- */

static void tell_requests(const struct series *self, struct metrics *metrics)
{
    metrics_family(metrics, "orbloom_requests_total", METRICS_COUNTER,
                   "requests of clients that were answered or refused");
    for (unsigned op = 0; op < SERIES_OPS; op++) {
        for (unsigned result = 0; result < SERIES_RESULTS; result++) {
            const struct metrics_label labels[] = {{"op", ops[op]}, {"result", results[result]}};

            metrics_count(metrics, labels, 2, self->requests[op][result]);
        }
    }
}

static bool has_outcome(unsigned op, unsigned outcome)
{
    return (op == SERIES_CHECK) == (outcome < SERIES_ACKNOWLEDGED);
}

static void tell_keys(const struct series *self, struct metrics *metrics)
{
    metrics_family(metrics, "orbloom_keys_total", METRICS_COUNTER, "keys of requests answered");
    for (unsigned op = 0; op < SERIES_OPS; op++) {
        for (unsigned outcome = 0; outcome < SERIES_OUTCOMES; outcome++) {
            const struct metrics_label labels[] = {{"op", ops[op]}, {"outcome", outcomes[outcome]}};

            if (has_outcome(op, outcome)) {
                metrics_count(metrics, labels, 2, self->keys[op][outcome]);
            }
        }
    }
}

void series_tell(const struct series *self, struct metrics *metrics)
{
    tell_requests(self, metrics);
    tell_keys(self, metrics);
    metrics_family(metrics, "orbloom_request_duration_seconds", METRICS_HISTOGRAM,
                   "from a request of a client to its answer, if nodes were asked");
    for (unsigned op = 0; op < SERIES_OPS; op++) {
        metrics_histogram(metrics, &(struct metrics_label){"op", ops[op]}, 1, &self->durations[op]);
    }
}

void series_tell_nodes(const struct series_node *nodes, size_t count, struct metrics *metrics)
{
    metrics_family(metrics, "orbloom_node_roundtrip_seconds", METRICS_HISTOGRAM,
                   "from a message to a node to its answer");
    for (size_t i = 0; i < count; i++) {
        metrics_histogram(metrics, &(struct metrics_label){"node", nodes[i].name}, 1,
                          nodes[i].roundtrips);
    }
}
