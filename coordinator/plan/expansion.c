/* What may be asked for, of a filter that is built anew and of a chain, and the edits of the
 * document. A filter may be for fewer keys than it is now only where it is known how many it has:
 * reports are as old as the interval between them, and a load that has just ended is not in them;
 * so who holds it is asked first. */
#include "coordinator/plan/expansion.h"

#include "filter/sizing.h"
#include "map/history/expansion_mix.h"
#include "map/history/window.h"

#include <assert.h>

/* One that lives, holds some of the filter and has not answered; NULL: all have. */
static const struct expansion_node *untold(const struct expansion_view *view)
{
    const struct filter_document *document = view->document;

    for (uint32_t i = 0; i < view->nnodes; i++) {
        const struct expansion_node *node = &view->nodes[i];

        for (uint32_t group = 0; node->alive && !node->told && group < document->content.ngroups;
             group++) {
            if (document_slot_of(document, group, node->id, 0) >= 0) {
                return node;
            }
        }
    }
    return NULL;
}

/* Has a replica of each slot group said how many keys it has? */
static bool all_groups_told(const struct expansion_view *view)
{
    bool told[DOCUMENT_MAX_SHARDS] = {false};
    uint32_t ngroups = view->document->content.ngroups;
    uint32_t count = 0;

    for (size_t i = 0; i < view->nreports; i++) {
        const struct expansion_report *report = &view->reports[i];

        if (report->group < ngroups && report->asked && !told[report->group]) {
            told[report->group] = true;
            count++;
        }
    }
    return count == ngroups;
}

/* Is it known how many keys there are, now, so that they can be told from less room? BEGIN: yes;
 * KEYS_OLD: *node lives and has not told yet; KEYS_UNKNOWN: all that live have, and some slot group
 * has none of them. */
static enum expansion_verdict judge_fewer(const struct expansion_view *view, uint32_t *node)
{
    const struct expansion_node *waits = untold(view);

    if (waits != NULL) {
        *node = waits->id;
        return EXPANSION_VERDICT_KEYS_OLD;
    }
    return all_groups_told(view) ? EXPANSION_VERDICT_BEGIN : EXPANSION_VERDICT_KEYS_UNKNOWN;
}

bool expansion_goes_back(const struct filter_document *document)
{
    return expansion_running(document) &&
           document_generation(document)->id < document->generations[0].id;
}

/* Of a chain, a node that has not heard of the present one tells of another generation. */
static bool is_current(const struct expansion_view *view, const struct expansion_report *report)
{
    for (uint32_t i = 0; i < view->nnodes; i++) {
        if (view->nodes[i].id == report->node) {
            return view->nodes[i].current;
        }
    }
    return false;
}

static uint64_t sum_most(const struct expansion_view *view, bool newest, bool *known)
{
    uint64_t most[DOCUMENT_MAX_SHARDS] = {0};
    bool heard[DOCUMENT_MAX_SHARDS] = {false};
    uint32_t ngroups = view->document->content.ngroups;
    uint64_t sum = 0;

    *known = true;
    for (size_t i = 0; i < view->nreports; i++) {
        const struct expansion_report *report = &view->reports[i];
        uint64_t keys = newest ? report->newest_keys : report->keys;

        if (report->group < ngroups && (!newest || is_current(view, report))) {
            heard[report->group] = true;
            most[report->group] = keys > most[report->group] ? keys : most[report->group];
        }
    }
    for (uint32_t group = 0; group < ngroups; group++) {
        sum += most[group];
        *known = *known && heard[group];
    }
    return sum;
}

uint64_t expansion_keys(const struct expansion_view *view, bool *known)
{
    return sum_most(view, false, known);
}

uint64_t expansion_pressing_keys(const struct expansion_view *view)
{
    bool known;

    return sum_most(view, document_is_chain(view->document), &known);
}

static double rate_of(const struct filter_document *document, const struct generation *generation)
{
    return generation->rate > 0 ? generation->rate : document->rate;
}

/* What is asked for is for all slices of a window, a generation's capacity is what one takes. */
static uint64_t set_capacity(const struct filter_document *document, uint64_t capacity)
{
    return window_set_capacity(document->nslices, capacity);
}

static bool is_generation(const struct filter_document *document,
                          const struct expansion_answer *answer,
                          const struct generation *generation)
{
    return set_capacity(document, answer->capacity) == generation->capacity &&
           answer->rate == rate_of(document, generation);
}

/* ---- memory ---- */

static uint64_t shards_on(const struct filter_document *document, uint32_t node)
{
    uint64_t count = 0;

    for (uint32_t shard = 0; shard < document_nshards(document); shard++) {
        count += document_slot_of(document, document->content.group_of_shard[shard], node, 0) >= 0;
    }
    return count;
}

/* Whether every node has room for `more` bytes a shard that it holds, and `peak` once; else the one
 * that lacks most is in the answer. */
static bool all_fit(const struct expansion_view *view, uint64_t more, uint64_t peak,
                    struct expansion_answer *answer)
{
    for (uint32_t i = 0; i < view->nnodes; i++) {
        const struct expansion_node *node = &view->nodes[i];
        uint64_t shards = shards_on(view->document, node->id);
        uint64_t needed = node->used_bytes + shards * more + peak;

        if (shards > 0 && needed > node->limit_bytes &&
            needed - node->limit_bytes > answer->missing_bytes) {
            answer->node = node->id;
            answer->needed_bytes = needed;
            answer->missing_bytes = needed - node->limit_bytes;
        }
    }
    return answer->missing_bytes == 0;
}

static bool fits(const struct expansion_view *view, const struct sizing_plan *plan,
                 struct expansion_answer *answer)
{
    uint64_t old = document_shard_bytes(view->document);
    uint64_t more = plan->shard_bytes > old ? plan->shard_bytes - old : 0;

    return all_fit(view, window_sets(view->document->nslices) * more, plan->shard_bytes, answer);
}

/* ---- what is asked for ---- */

/* Above what there was and is; the revision suffices as long as every id comes from one. */
static uint64_t next_id(const struct filter_document *document)
{
    uint64_t id = document->revision + 1;

    for (uint32_t i = 0; i < document->ngenerations; i++) {
        if (document->generations[i].id >= id) {
            id = (uint64_t)document->generations[i].id + 1;
        }
    }
    return id;
}

/* Taken back, and asked for once more: what is being left is wanted again, if it is for no less. It
 * may have to be, where replicas took more keys meanwhile than the former geometry is for. */
static bool goes_forth(const struct filter_document *document,
                       const struct expansion_answer *answer)
{
    const struct generation *left = &document->generations[0];

    return expansion_goes_back(document) && is_generation(document, answer, left) &&
           left->capacity >= document_generation(document)->capacity;
}

static enum expansion_verdict judge_state(const struct filter_document *document,
                                          const struct expansion_wish *wish,
                                          const struct expansion_answer *answer)
{
    bool same = is_generation(document, answer, document_generation(document));

    if (document->content.state != FILTER_ACTIVE) {
        return EXPANSION_VERDICT_NOT_ACTIVE;
    }
    if (document->keylog == KEYLOG_OFF) {
        return EXPANSION_VERDICT_NO_KEYLOG;
    }
    if (document->durability == DURABILITY_MEMORY) {
        return EXPANSION_VERDICT_IN_MEMORY;
    }
    if (document->content.nkeysets > 1) {
        return EXPANSION_VERDICT_REBUILDS;
    }
    if (expansion_running(document)) {
        return same                           ? EXPANSION_VERDICT_JOINS
               : goes_forth(document, answer) ? EXPANSION_VERDICT_BEGIN
                                              : EXPANSION_VERDICT_OTHER_RUNS;
    }
    if (wish->capacity == 0 && wish->rate == 0) {
        return EXPANSION_VERDICT_NOTHING;
    }
    return same ? EXPANSION_VERDICT_IS_SO : EXPANSION_VERDICT_BEGIN;
}

/* While replicas are in both generations the sum of their rates counts. */
static enum status plan_next(const struct filter_document *document,
                             const struct sizing_request *request, uint64_t keys, bool known,
                             struct sizing_plan *plan)
{
    uint32_t shard_bits = document->content.shard_bits;
    struct sizing_mix mix;

    return expansion_mix_wanted(document, request, keys, known, &mix)
               ? sizing_plan_beside(request, shard_bits, &mix, plan)
               : sizing_plan_generation(request, shard_bits, plan);
}

/* Would it at once grow by itself from what is wished for? The answer tells the least that stays.
 * Else what was told to be done would be followed by another change, which nobody asked for. */
static bool judge_on(const struct filter_document *document, const struct expansion_wish *wish,
                     uint64_t keys, struct expansion_answer *answer)
{
    if (wish->coming == NULL || wish->capacity == 0 || document->when_full != WHEN_FULL_EXPAND) {
        return false;
    }
    answer->least = expansion_least(document, keys, wish->coming);
    return wish->capacity < answer->least;
}

static enum expansion_verdict judge_size(const struct expansion_view *view,
                                         const struct expansion_wish *wish,
                                         struct expansion_answer *answer, struct sizing_plan *plan)
{
    const struct filter_document *document = view->document;
    const struct sizing_request request = {
        .capacity = set_capacity(document, answer->capacity),
        .rate = window_set_rate(document->nslices, answer->rate),
    };
    enum expansion_verdict verdict = EXPANSION_VERDICT_BEGIN;
    bool known;
    uint64_t keys = expansion_keys(view, &known);

    if (plan_next(document, &request, keys, known, plan) != STATUS_OK ||
        next_id(document) > UINT32_MAX) {
        return EXPANSION_VERDICT_OUT_OF_RANGE;
    }
    if (answer->capacity > document->max_capacity) {
        return EXPANSION_VERDICT_ABOVE_MAX;
    }
    answer->keys = window_capacity(document->nslices, keys);
    if (keys > request.capacity) {
        return EXPANSION_VERDICT_BELOW_KEYS;
    }
    if (request.capacity < document_generation(document)->capacity) {
        verdict = judge_fewer(view, &answer->node);
    }
    if (verdict != EXPANSION_VERDICT_BEGIN) {
        return verdict;
    }
    if (judge_on(document, wish, keys, answer)) {
        return EXPANSION_VERDICT_GROWS_ON;
    }
    return fits(view, plan, answer) ? EXPANSION_VERDICT_BEGIN : EXPANSION_VERDICT_NO_ROOM;
}

/* ---- one more generation of a chain ---- */

bool expansion_chain_waits(const struct filter_document *document)
{
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            if (slot_is_pair(&document->content.groups[group].slots[i])) {
                return true;
            }
        }
    }
    return false;
}

static enum expansion_verdict judge_chain(const struct filter_document *document,
                                          const struct expansion_wish *wish)
{
    bool same = wish->capacity == 0 || wish->capacity == document->capacity;

    if (document->content.state != FILTER_ACTIVE) {
        return EXPANSION_VERDICT_NOT_ACTIVE;
    }
    if (wish->rate != 0 && wish->rate != document->rate) {
        return EXPANSION_VERDICT_CHAIN_RATE;
    }
    if (expansion_running(document)) {
        return same ? EXPANSION_VERDICT_JOINS : EXPANSION_VERDICT_OTHER_RUNS;
    }
    if (wish->capacity == 0 && wish->rate == 0) {
        return EXPANSION_VERDICT_NOTHING;
    }
    if (same) {
        return EXPANSION_VERDICT_IS_SO;
    }
    if (wish->capacity > SIZING_CAPACITY_MAX || next_id(document) > UINT32_MAX) {
        return EXPANSION_VERDICT_OUT_OF_RANGE;
    }
    if (wish->capacity > document->max_capacity) {
        return EXPANSION_VERDICT_ABOVE_MAX;
    }
    if (wish->capacity < document->capacity) {
        return EXPANSION_VERDICT_CHAIN_SHRINKS;
    }
    if (expansion_chain_is_long(document)) {
        return EXPANSION_VERDICT_CHAIN_LONG;
    }
    return expansion_chain_waits(document) ? EXPANSION_VERDICT_REPLICAS : EXPANSION_VERDICT_BEGIN;
}

/* It is for what the others do not have: where they were left before they were full, for that,
 * too. */
static enum expansion_verdict plan_chain(const struct expansion_view *view, uint64_t seed,
                                         struct expansion_answer *answer)
{
    const struct filter_document *document = view->document;
    struct sizing_request request = {.rate = expansion_chain_next_rate(document)};
    struct sizing_plan plan;
    bool known;

    answer->keys = expansion_keys(view, &known);
    if (!known) {
        return EXPANSION_VERDICT_KEYS_UNKNOWN;
    }
    if (answer->keys >= answer->capacity) {
        return EXPANSION_VERDICT_BELOW_KEYS;
    }
    request.capacity = answer->capacity - answer->keys;
    if (sizing_plan_generation(&request, document->content.shard_bits, &plan) != STATUS_OK) {
        return EXPANSION_VERDICT_OUT_OF_RANGE;
    }
    answer->next = (struct generation){
        .id = (uint32_t)next_id(document),
        .geometry = {.seed = seed,
                     .lines = plan.lines,
                     .z = plan.z,
                     .shard_bits = document->content.shard_bits},
        .capacity = request.capacity,
        .rate = request.rate,
    };
    return all_fit(view, plan.shard_bytes, 0, answer) ? EXPANSION_VERDICT_BEGIN
                                                      : EXPANSION_VERDICT_NO_ROOM;
}

static struct expansion_answer chain_request(const struct expansion_view *view,
                                             const struct expansion_wish *wish, uint64_t seed)
{
    const struct filter_document *document = view->document;
    struct expansion_answer answer = {
        .verdict = judge_chain(document, wish),
        .capacity = wish->capacity != 0 ? wish->capacity : document->capacity,
        .rate = document->rate,
    };

    if (answer.verdict == EXPANSION_VERDICT_BEGIN) {
        answer.verdict = plan_chain(view, seed, &answer);
    }
    return answer;
}

struct expansion_answer expansion_request(const struct expansion_view *view,
                                          const struct expansion_wish *wish, uint64_t seed)
{
    const struct filter_document *document = view->document;
    const struct generation *wanted = document_generation(document);
    struct sizing_plan plan = {0};
    struct expansion_answer answer = {
        .capacity = wish->capacity != 0 ? wish->capacity : document->capacity,
        .rate = wish->rate != 0 ? wish->rate : rate_of(document, wanted),
    };

    if (document_is_chain(document)) {
        return chain_request(view, wish, seed);
    }
    answer.verdict = judge_state(document, wish, &answer);
    if (answer.verdict == EXPANSION_VERDICT_BEGIN && expansion_running(document)) {
        /* Some nodes have it already, and it has more room: no reason to refuse it holds. */
        answer.next = document->generations[0];
        return answer;
    }
    if (answer.verdict == EXPANSION_VERDICT_BEGIN) {
        answer.verdict = judge_size(view, wish, &answer, &plan);
    }
    if (answer.verdict == EXPANSION_VERDICT_BEGIN) {
        answer.next = (struct generation){
            .id = (uint32_t)next_id(document),
            .geometry = {.seed = seed,
                         .lines = plan.lines,
                         .z = plan.z,
                         .shard_bits = document->content.shard_bits},
            .capacity = set_capacity(document, answer.capacity),
            .rate = answer.rate,
        };
    }
    return answer;
}

/* A slot group may be full before the filter is. */
static uint64_t most_overflow(const struct expansion_view *view)
{
    uint64_t most = 0;

    for (size_t i = 0; i < view->nreports; i++) {
        uint64_t overflow = view->reports[i].overflow_keys;

        most = overflow > most ? overflow : most;
    }
    return most;
}

struct expansion_answer expansion_abort(const struct expansion_view *view)
{
    const struct filter_document *document = view->document;
    const struct generation *left = &document->generations[0];
    struct expansion_answer answer = {
        .verdict = EXPANSION_VERDICT_BEGIN,
        .capacity = window_capacity(document->nslices, left->capacity),
        .rate = rate_of(document, left),
    };
    uint64_t wanted = document_generation(document)->capacity;
    uint64_t overflow = most_overflow(view);
    bool known;
    uint64_t keys = expansion_keys(view, &known);

    if (overflow > 0 && keys < left->capacity + overflow) {
        keys = left->capacity + overflow;
    }
    answer.keys = window_capacity(document->nslices, keys);
    if (document->content.state != FILTER_ACTIVE) {
        answer.verdict = EXPANSION_VERDICT_NOT_ACTIVE;
    } else if (!expansion_running(document)) {
        answer.verdict = EXPANSION_VERDICT_NOTHING;
    } else if (document_is_chain(document)) {
        answer.verdict = EXPANSION_VERDICT_CHAIN_BACK;
    } else if (expansion_goes_back(document)) {
        answer.verdict = EXPANSION_VERDICT_JOINS;
    } else if (keys > left->capacity && left->capacity < wanted) {
        answer.verdict = EXPANSION_VERDICT_BELOW_KEYS;
    } else if (left->capacity < wanted) {
        answer.verdict = judge_fewer(view, &answer.node);
    }
    return answer;
}

/* ---- edits ---- */

/* What the user is told of the filter is what is wanted. */
static void want(struct filter_document *document)
{
    const struct generation *wanted = document_generation(document);

    document->capacity = window_capacity(document->nslices, wanted->capacity);
    document->rate = rate_of(document, wanted);
    document->nturns = 0;
    document->revision++;
}

static void swap_generations(struct filter_document *document)
{
    struct generation left = document->generations[0];

    assert(document->ngenerations == 2);
    document->generations[0] = document->generations[1];
    document->generations[1] = left;
}

void expansion_chain_start(struct filter_document *document)
{
    assert(document->ngenerations == 1);
    document->content.chain[0] = document->generations[0].id;
    document->content.nchain = 1;
}

static void chain_begin(struct filter_document *document, const struct expansion_answer *answer)
{
    assert(!expansion_running(document) && document->ngenerations < DOCUMENT_MAX_GENERATIONS);
    document->generations[document->ngenerations++] = answer->next;
    document->capacity = answer->capacity;
    document->growth_held = false;
    document->nturns = 0;
    document->revision++;
}

static void chain_finish(struct filter_document *document)
{
    struct epoch_content *content = &document->content;

    assert(expansion_running(document) && !expansion_chain_waits(document));
    content->chain[content->nchain++] = document_generation(document)->id;
    document_epoch_advance(document);
}

void expansion_begin(struct filter_document *document, const struct expansion_answer *answer)
{
    struct generation *left = &document->generations[0];

    assert(answer->verdict == EXPANSION_VERDICT_BEGIN);
    if (document_is_chain(document)) {
        chain_begin(document, answer);
        return;
    }
    if (expansion_running(document)) {
        assert(answer->next.id == left->id);
        swap_generations(document);
    } else {
        left->rate = rate_of(document, left);
        document->generations[document->ngenerations++] = answer->next;
    }
    document->growth_held = false;
    want(document);
}

void expansion_back(struct filter_document *document)
{
    swap_generations(document);
    document->growth_held = true;
    want(document);
}

void expansion_finish(struct filter_document *document)
{
    if (document_is_chain(document)) {
        chain_finish(document);
        return;
    }
    document->generations[0] = *document_generation(document);
    document->ngenerations = 1;
    want(document);
}
