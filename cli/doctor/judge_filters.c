/* Filters: replicas that lack, keys beyond what they are for, and growth that does not get on. */
#include "base/number.h"
#include "cli/doctor/judge.h"
#include "cli/show/expansion.h"
#include "map/history/window.h"
#include "proto/rate.h"

#include <inttypes.h>
#include <string.h>

/* ---- replicas ---- */

/* The coordinator's words are for `status`, which shows more below them. */
static const char *lacking_remedy(const struct filter_summary *filter)
{
    return strncmp(filter->lacking_remedy, "see below", strlen("see below")) == 0
               ? "`orbloom status` tells what its replacement awaits"
               : filter->lacking_remedy;
}

static void judge_lack(const struct filter_summary *filter, struct findings *out)
{
    const struct quorum_rule *rule = &filter->rule;
    bool reads = filter->fewest_full >= rule->read;
    bool writes = filter->fewest_full >= rule->write;

    if (filter->shards_lacking == 0) {
        return;
    }
    findings_tell(out, reads && writes ? SEVERITY_WARNING : SEVERITY_ERROR,
                  reads && writes ? "replicas" : "quorum", filter->name,
                  "%" PRIu32 " of %" PRIu32 " shards have fewer than %" PRIu32
                  " FULL replicas, at least %" PRIu32 "%s: %s",
                  filter->shards_lacking, filter->nshards, rule->replicas, filter->fewest_full,
                  reads && writes ? ""
                  : reads         ? ", too few to acknowledge adds"
                  : writes        ? ", too few to answer \"absent\""
                                  : ", too few for adds and checks",
                  filter->lacking);
    findings_mend(out, "%s", lacking_remedy(filter));
}

static const struct filter_summary *filter_of(const struct admin_reply *cluster, uint64_t id)
{
    for (size_t i = 0; i < cluster->nfilters; i++) {
        if (cluster->filters[i].id == id) {
            return &cluster->filters[i];
        }
    }
    return NULL;
}

static void judge_change(const struct admin_reply *cluster, const struct change_summary *change,
                         struct findings *out)
{
    const struct filter_summary *filter = filter_of(cluster, change->filter_id);

    if (filter == NULL) {
        return;
    }
    if (change->slots == 0) {
        findings_tell(out, SEVERITY_WARNING, "replicas", filter->name,
                      "a replica is not replaced: %s", change->awaited);
        findings_mend(out,
                      "`orbloom status` shows it; `orbloom help shard` where its data are gone "
                      "for good");
    } else {
        findings_tell(out, SEVERITY_INFO, "replicas", filter->name,
                      "%" PRIu32 " replicas are being replaced; awaited: %s", change->slots,
                      change->awaited);
    }
}

static void judge_state(const struct filter_summary *filter, struct findings *out)
{
    if (filter->loss_epoch != 0) {
        findings_tell(out, SEVERITY_INFO, "loss", filter->name,
                      "in epoch %" PRIu64 " it was accepted that keys may be lost",
                      filter->loss_epoch);
        findings_mend(out, "add its keys again, if you have them: `orbloom add %s FILE`",
                      filter->name);
    }
    if (filter->rebuild_keyset != 0) {
        findings_tell(out, SEVERITY_INFO, "rebuild", filter->name,
                      "a rebuild from a list is open, and it does not grow meanwhile");
        findings_mend(out, "`orbloom rebuild %s commit`, or `abort`", filter->name);
    }
}

void judge_filters(const struct gathered *gathered, struct findings *out)
{
    const struct admin_reply *cluster = gathered->cluster;

    if (cluster == NULL) {
        findings_omit(out, "filters", "no coordinator has told which there are");
        return;
    }
    for (size_t i = 0; i < cluster->nfilters; i++) {
        judge_lack(&cluster->filters[i], out);
        judge_state(&cluster->filters[i], out);
    }
    for (size_t i = 0; i < cluster->nchanges; i++) {
        judge_change(cluster, &cluster->changes[i], out);
    }
}

/* ---- fullness ---- */

/* Does it get a larger array by itself before this one is full? */
static bool grows(const struct filter_summary *filter)
{
    return filter->growth_refused[0] == '\0' &&
           (expansion_is_running(filter) || expansion_at_of(filter).latest > 0);
}

/* Can an operator give it more? */
static bool may_expand(const struct filter_summary *filter)
{
    bool has_log = filter->keylog == KEYLOG_ON && filter->durability != DURABILITY_MEMORY;

    return filter->capacity < filter->max_capacity &&
           (has_log || filter->when_full == WHEN_FULL_EXPAND);
}

/* What its shards are fixed for is reached. */
static void mend_for_good(const struct filter_summary *filter, struct findings *out)
{
    findings_mend(out,
                  "it can't grow further: create a larger one (`orbloom create NEW --capacity "
                  "%" PRIu64 " --max-capacity KEYS ...`), add its keys to that, then "
                  "`orbloom rename NEW %s --replace`",
                  2 * filter->capacity, filter->name);
}

/* By the coordinator's words. */
static void mend_refused(const struct filter_summary *filter, struct findings *out)
{
    if (strstr(filter->growth_refused, "max-capacity") != NULL) {
        mend_for_good(filter, out);
    } else if (strstr(filter->growth_refused, "memory_limit") != NULL) {
        findings_mend(out, "raise `memory_limit` of the node that is named, and restart it, or "
                           "start further nodes and say `orbloom rebalance`");
    } else {
        findings_mend(out, "mend that: it grows by itself then");
    }
}

static void mend_full(const struct filter_summary *filter, struct findings *out)
{
    uint64_t twice = 2 * filter->capacity;

    if (filter->growth_refused[0] != '\0') {
        mend_refused(filter, out);
        return;
    }
    if (!may_expand(filter)) {
        mend_for_good(filter, out);
        return;
    }
    findings_mend(out, "%s`orbloom expand %s --capacity %" PRIu64 "`",
                  filter->growth_held ? "its growth was aborted; let it grow again: " : "",
                  filter->name, twice < filter->max_capacity ? twice : filter->max_capacity);
}

/* Keys are estimated, but what may not be so is not said to be. */
static const char *show_refusal(double share)
{
    return share >= 1                  ? ": adds of new keys are refused (FULL)"
           : share >= JUDGE_FULL_SHARE ? ": adds of new keys will soon be refused (FULL)"
                                       : "";
}

static void tell_full(const struct filter_summary *filter, const struct report_sum *sum,
                      uint64_t capacity, double share, struct findings *out)
{
    bool refused = filter->growth_refused[0] != '\0';
    char keys[NUMBER_TEXT_BYTES];
    char of[NUMBER_TEXT_BYTES];

    findings_tell(out, share >= JUDGE_FULL_SHARE ? SEVERITY_ERROR : SEVERITY_WARNING, "full",
                  filter->name, "it has about %s keys, %.1f %% of its capacity of %s%s%s%s%s",
                  number_show_count(sum->keys, keys), 100 * share, number_show_count(capacity, of),
                  filter->nslices > 0 ? " in the fullest slice" : "", show_refusal(share),
                  refused ? "; it is due to grow, and can't: " : "", filter->growth_refused);
    mend_full(filter, out);
}

/* It is told once, as what is worse. True: it was. */
static bool judge_share(const struct filter_summary *filter, const struct report_sum *sum,
                        struct findings *out)
{
    uint64_t capacity = window_set_capacity(filter->nslices, filter->capacity);
    double share = report_sum_fill(sum, filter->nslices, filter->capacity);

    if (share >= JUDGE_NEAR_SHARE && !grows(filter)) {
        tell_full(filter, sum, capacity, share, out);
        return true;
    }
    if (filter->growth_refused[0] != '\0') {
        findings_tell(out, SEVERITY_WARNING, "growth", filter->name, "due to grow, and can't: %s",
                      filter->growth_refused);
        mend_refused(filter, out);
    }
    return false;
}

/* ---- ... to come ---- */

/* Was it looked for so long that keys which had come before do not seem to come? */
static bool looked_long(const struct gathered *gathered)
{
    return gathered->earlier != NULL && gathered->amid != NULL &&
           gathered->amid_us >= JUDGE_REPORTS_US &&
           gathered->looked_us >= gathered->amid_us + JUDGE_REPORTS_US;
}

static double per_second(uint64_t from, uint64_t to, uint64_t took_us)
{
    return to > from ? (double)(to - from) * 1e6 / (double)took_us : 0;
}

static bool is_steady(double a, double b)
{
    return (a < b ? a : b) >= (a < b ? b : a) * JUDGE_STEADY_SHARE;
}

/* Keys a second while it was looked; false: they do not come as fast all the time, too few are new
 * to tell, or other replicas have told of them. */
static bool rate_of_keys(const struct gathered *gathered, const struct filter_summary *filter,
                         const struct report_sum *sum, double *per_s)
{
    struct report_sum had = report_summarize(gathered->earlier->replicas,
                                             gathered->earlier->nreplicas, filter->id);
    struct report_sum amid = report_summarize(gathered->amid->replicas, gathered->amid->nreplicas,
                                              filter->id);

    if (had.full != sum->full || amid.full != sum->full || sum->keys < had.keys + JUDGE_NEW_KEYS ||
        !is_steady(per_second(had.keys, amid.keys, gathered->amid_us),
                   per_second(amid.keys, sum->keys, gathered->looked_us - gathered->amid_us))) {
        return false;
    }
    *per_s = per_second(had.keys, sum->keys, gathered->looked_us);
    return true;
}

static void judge_forecast(const struct gathered *gathered, const struct filter_summary *filter,
                           const struct report_sum *sum, struct findings *out)
{
    uint64_t limit = grows(filter) ? filter->max_capacity : filter->capacity;
    char left[NUMBER_TEXT_BYTES];
    char count[NUMBER_TEXT_BYTES];
    double per_s;
    double left_s;

    if (sum->keys >= limit || !rate_of_keys(gathered, filter, sum, &per_s)) {
        return;
    }
    left_s = (double)(limit - sum->keys) / per_s;
    if (left_s > JUDGE_FULL_S) {
        return;
    }
    findings_tell(out, SEVERITY_WARNING, "full", filter->name,
                  "at about %.0f new keys a second, as now, its %s of %s is reached in %s", per_s,
                  grows(filter) ? "max-capacity" : "capacity", number_show_count(limit, count),
                  number_show_duration((uint64_t)(left_s + 1) * 1000000, left));
    (grows(filter) ? mend_for_good : mend_full)(filter, out);
}

/* ---- the expected rate ---- */

/* Amid a growth it is what the former arrays have; what was asked for holds once that is over. */
static void judge_rate(const struct filter_summary *filter, const struct report_sum *sum,
                       struct findings *out)
{
    const struct info_reply info = {.filter = *filter};
    char expected[NUMBER_TEXT_BYTES];
    char asked[NUMBER_TEXT_BYTES];
    double rate;

    if (expansion_is_running(filter)) {
        return;
    }
    rate = rate_now(&info, sum);
    if (rate > filter->rate * JUDGE_RATE_SHARE) {
        findings_tell(out, SEVERITY_WARNING, "rate", filter->name,
                      "%s of absent keys are expected to be called present, and at most %s was "
                      "asked for",
                      number_show_rate(rate, expected), number_show_rate(filter->rate, asked));
        mend_full(filter, out);
    }
}

static void judge_one(const struct gathered *gathered, const struct filter_summary *filter,
                      struct findings *out)
{
    const struct admin_reply *cluster = gathered->cluster;
    struct report_sum sum = report_summarize(cluster->replicas, cluster->nreplicas, filter->id);

    bool full = judge_share(filter, &sum, out);

    judge_rate(filter, &sum, out);
    if (!full && looked_long(gathered) && filter->nslices == 0) {
        judge_forecast(gathered, filter, &sum, out);
    }
}

void judge_fill(const struct gathered *gathered, struct findings *out)
{
    const struct admin_reply *cluster = gathered->cluster;

    for (size_t i = 0; cluster != NULL && i < cluster->nfilters; i++) {
        if (cluster->filters[i].state == FILTER_ACTIVE) {
            judge_one(gathered, &cluster->filters[i], out);
        }
    }
    if (cluster != NULL && !looked_long(gathered)) {
        findings_omit(out, "full",
                      "within 7 days: how fast keys come takes a --look of 4s or more");
    }
}
