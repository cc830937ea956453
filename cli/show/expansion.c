/* What is wanted, how far each replica is, and what is waited for, as text and as JSON. */
#include "cli/show/expansion.h"

#include "base/number.h"
#include "map/history/expansion.h"
#include "map/history/window.h"
#include "proto/replica_report.h"

#include <inttypes.h>
#include <math.h>

enum { LINE_BITS_A_LINE = 512 };

static double bits_per_key(const struct filter_summary *filter,
                           const struct generation_summary *generation)
{
    double bits = (double)LINE_BITS_A_LINE * (double)generation->lines * (double)filter->nshards *
                  window_sets(filter->nslices);

    return generation->capacity > 0 ? bits / (double)generation->capacity : 0;
}

const char *expansion_size_text(const struct filter_summary *filter,
                                const struct generation_summary *generation,
                                char text[EXPANSION_TEXT_BYTES])
{
    char capacity[NUMBER_TEXT_BYTES];
    char rate[NUMBER_TEXT_BYTES];

    (void)snprintf(text, EXPANSION_TEXT_BYTES, "%s keys at %s, %.2f bits a key",
                   number_show_count(generation->capacity, capacity),
                   number_show_rate(generation->rate, rate), bits_per_key(filter, generation));
    return text;
}

const char *expansion_wanted_text(const struct filter_summary *filter,
                                  char text[EXPANSION_TEXT_BYTES])
{
    double bits = 8.0 * (double)filter->shard_bytes * (double)filter->nshards;
    char capacity[NUMBER_TEXT_BYTES];
    char rate[NUMBER_TEXT_BYTES];

    if (filter->nchain == 0) {
        return expansion_size_text(filter, &filter->generations[filter->ngenerations - 1], text);
    }
    (void)snprintf(
        text, EXPANSION_TEXT_BYTES, "%s keys at %s, %.2f bits a key in %" PRIu32 " generation%s",
        number_show_count(filter->capacity, capacity), number_show_rate(filter->rate, rate),
        filter->capacity > 0 ? bits / (double)filter->capacity : 0, filter->ngenerations,
        filter->ngenerations == 1 ? "" : "s");
    return text;
}

bool expansion_is_running(const struct filter_summary *filter)
{
    return filter->ngenerations > (filter->nchain > 0 ? filter->nchain : 1);
}

bool expansion_is_there(const struct filter_summary *filter, uint32_t generation)
{
    uint32_t serving = filter->nchain > 0 ? filter->nchain : 1;
    bool there = false;

    for (uint32_t i = 0; i < serving && i < filter->ngenerations; i++) {
        there = there || filter->generations[i].id == generation;
    }
    return there;
}

static const char *part_of(const struct filter_summary *filter, uint32_t at)
{
    bool wanted = at + 1 == filter->ngenerations;

    if (filter->nchain > 0) {
        return at >= filter->nchain       ? " (to be added)"
               : at + 1 == filter->nchain ? " (read; adds go there)"
                                          : " (read)";
    }
    return filter->ngenerations == 1 ? "" : wanted ? " (wanted)" : " (being left)";
}

/* All that are read: their rates add up. */
static void show_sum(const struct filter_summary *filter)
{
    char sum[NUMBER_TEXT_BYTES];
    char asked[NUMBER_TEXT_BYTES];
    double rate = 0;

    for (uint32_t i = 0; i < filter->nchain; i++) {
        rate += filter->generations[i].rate;
    }
    if (filter->nchain > 0) {
        (void)printf("%-14s%" PRIu32 " read together, at %s in sum, asked for at most %s\n", "",
                     filter->nchain, number_show_rate(rate, sum),
                     number_show_rate(filter->rate, asked));
    }
}

/* ---- by itself ---- */

/* What one array of them takes, by whose keys it is decided: of a chain the newest, of a window a
 * slice. */
static uint64_t deciding_capacity(const struct filter_summary *filter)
{
    uint32_t serving = filter->nchain > 0 ? filter->nchain : 1;

    return serving <= filter->ngenerations ? filter->generations[serving - 1].capacity : 0;
}

struct expansion_at expansion_at_of(const struct filter_summary *filter)
{
    double capacity = (double)deciding_capacity(filter);
    struct expansion_at at = {0};

    if (filter->when_full == WHEN_FULL_EXPAND && !filter->growth_held &&
        filter->capacity < filter->max_capacity && filter->nchain < DOCUMENT_MAX_GENERATIONS &&
        !expansion_is_running(filter)) {
        at.soonest = (uint64_t)ceil(EXPANSION_LEAST_SHARE * capacity);
        at.latest = (uint64_t)ceil(EXPANSION_FULL_SHARE * capacity);
    }
    return at;
}

const char *expansion_at_text(const struct filter_summary *filter, char text[EXPANSION_TEXT_BYTES])
{
    struct expansion_at at = expansion_at_of(filter);
    char soonest[NUMBER_TEXT_BYTES];
    char latest[NUMBER_TEXT_BYTES];

    text[0] = '\0';
    if (at.latest > 0) {
        (void)snprintf(
            text, EXPANSION_TEXT_BYTES,
            "by itself at %s keys (%.0f %%)%s; at %s (%.0f %%) or more if they come fast",
            number_show_count(at.latest, latest), 100 * EXPANSION_FULL_SHARE,
            filter->nchain > 0    ? " in the newest generation"
            : filter->nslices > 0 ? " in a slice"
                                  : "",
            number_show_count(at.soonest, soonest), 100 * EXPANSION_LEAST_SHARE);
    } else if (filter->growth_held) {
        (void)snprintf(text, EXPANSION_TEXT_BYTES,
                       "aborted: it does not grow by itself until `orbloom expand`");
    } else if (filter->when_full == WHEN_FULL_EXPAND && !expansion_is_running(filter)) {
        (void)snprintf(text, EXPANSION_TEXT_BYTES, "none: %s",
                       filter->capacity < filter->max_capacity
                           ? "its checks read as many generations as may be"
                           : "its capacity is max-capacity");
    }
    return text;
}

void expansion_generations_text(const struct filter_summary *filter)
{
    char at[EXPANSION_TEXT_BYTES];

    for (uint32_t i = 0; i < filter->ngenerations; i++) {
        char text[EXPANSION_TEXT_BYTES];

        (void)printf(
            "%-14s%" PRIu32 ": %s%s\n", i == 0 ? "generations" : "", filter->generations[i].id,
            expansion_size_text(filter, &filter->generations[i], text), part_of(filter, i));
    }
    show_sum(filter);
    if (expansion_at_text(filter, at)[0] != '\0') {
        (void)printf("growth        %s\n", at);
    }
}

/* ---- how far ---- */

struct expansion_state expansion_state_of(const struct admin_reply *reply,
                                          const struct filter_summary *filter)
{
    struct expansion_state state = {.running = expansion_is_running(filter)};
    double replicas = (double)filter->rule.replicas * filter->ngroups;
    double sum = 0;

    if (filter->ngenerations > 0) {
        state.wanted = filter->generations[filter->ngenerations - 1].id;
    }
    for (size_t i = 0; i < reply->nreplicas; i++) {
        const struct replica_report *report = &reply->replicas[i];

        if (report->filter_id == filter->id) {
            sum += report_grown(report, state.wanted);
            state.overflow = report->overflow_keys > state.overflow ? report->overflow_keys
                                                                    : state.overflow;
        }
    }
    state.grown = filter->shards_grown;
    state.shards = filter->shards_growing;
    state.share = replicas > 0 && sum < replicas ? sum / replicas : replicas > 0;
    state.keys = report_summarize(reply->replicas, reply->nreplicas, filter->id).keys *
                 filter->rule.replicas;
    return state;
}

/* ---- status ---- */

/* Of a chain: what is being made room for. */
static void show_longer(const struct filter_summary *filter)
{
    const struct generation_summary *next = &filter->generations[filter->ngenerations - 1];
    char text[EXPANSION_TEXT_BYTES];

    (void)printf("\n%s: reads %" PRIu32 " generation%s; generation %" PRIu32
                 " (%s) is to be added.\nAwaited: %s\n",
                 filter->name, filter->nchain, filter->nchain == 1 ? "" : "s", next->id,
                 expansion_size_text(filter, next, text), filter->growth_awaited);
}

static void show_running(const struct admin_reply *reply, const struct filter_summary *filter)
{
    const struct generation_summary *left = &filter->generations[0];
    const struct generation_summary *wanted = &filter->generations[filter->ngenerations - 1];
    struct expansion_state state = expansion_state_of(reply, filter);
    char from[EXPANSION_TEXT_BYTES];
    char to[EXPANSION_TEXT_BYTES];
    char keys[NUMBER_TEXT_BYTES];

    (void)printf("\n%s: generation %" PRIu32 " (%s)\n%s generation %" PRIu32 " (%s):\n",
                 filter->name, left->id, expansion_size_text(filter, left, from),
                 wanted->id < left->id ? "goes back to" : "is followed by", wanted->id,
                 expansion_size_text(filter, wanted, to));
    (void)printf("%" PRIu64 " of %" PRIu64 " shards of replicas, %.0f %%.\nAwaited: %s\n",
                 state.grown, state.shards, 100 * state.share, filter->growth_awaited);
    if (state.overflow > 0) {
        (void)printf("Full already: about %s keys are in the next generation only.\n",
                     number_show_count(state.overflow, keys));
    }
}

void expansion_text(const struct admin_reply *reply)
{
    for (size_t i = 0; i < reply->nfilters; i++) {
        const struct filter_summary *filter = &reply->filters[i];

        if (expansion_is_running(filter) && filter->nchain > 0) {
            show_longer(filter);
        } else if (expansion_is_running(filter)) {
            show_running(reply, filter);
        } else if (filter->growth_held) {
            (void)printf("\n%s: its growth was aborted; it does not grow by itself until `orbloom "
                         "expand`.\n",
                         filter->name);
        } else if (filter->growth_refused[0] != '\0') {
            (void)printf("\n%s: due to grow, and can't: %s.\n", filter->name,
                         filter->growth_refused);
        }
    }
}

void expansion_json(struct json *json, const struct filter_summary *filter)
{
    json_begin(json, "generations", '[');
    for (uint32_t i = 0; i < filter->ngenerations; i++) {
        const struct generation_summary *generation = &filter->generations[i];

        json_begin(json, NULL, '{');
        json_count(json, "id", generation->id);
        json_count(json, "capacity", generation->capacity);
        json_number(json, "rate", generation->rate);
        json_number(json, "bits_per_key", bits_per_key(filter, generation));
        json_end(json, '}');
    }
    json_end(json, ']');
    json_count(json, "generations_read", filter->nchain > 0 ? filter->nchain : 1);
    json_begin(json, "turns", '[');
    for (size_t i = 0; i < filter->nturns; i++) {
        json_count(json, NULL, filter->turns[i]);
    }
    json_end(json, ']');
    json_bool(json, "growth_held", filter->growth_held);
}

void expansion_at_json(struct json *json, const struct filter_summary *filter)
{
    struct expansion_at at = expansion_at_of(filter);

    json_count(json, "grows_from_keys", at.soonest);
    json_count(json, "grows_at_keys", at.latest);
}

void expansion_coordinator_json(struct json *json, const struct filter_summary *filter)
{
    json_count(json, "shards_grown", filter->shards_grown);
    json_count(json, "shards_growing", filter->shards_growing);
    json_text(json, "growth_awaited", filter->growth_awaited);
    json_text(json, "growth_refused", filter->growth_refused);
}
