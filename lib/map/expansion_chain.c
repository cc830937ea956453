/* Judges a wish for more room by the part of the rate that is left, and writes the next
 * generation into the document. */
#include "map/expansion_chain.h"

#include "map/expansion_private.h"

#include <assert.h>

double expansion_chain_next_rate(const struct filter_document *document)
{
    double left = document->rate;

    for (uint32_t i = 0; i < document->ngenerations; i++) {
        left -= document->generations[i].rate;
    }
    return left / 2;
}

bool expansion_chain_is_long(const struct filter_document *document)
{
    return document_is_chain(document) && (document->ngenerations == DOCUMENT_MAX_GENERATIONS ||
                                           expansion_chain_next_rate(document) < SIZING_RATE_MIN);
}

void expansion_chain_start(struct filter_document *document)
{
    document->content.chain[0] = document->generations[0].id;
    document->content.nchain = 1;
}

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

/* ---- what is asked for ---- */

static enum expansion_verdict judge_wish(const struct filter_document *document,
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
    if (wish->capacity > SIZING_CAPACITY_MAX || expansion_next_id(document) > UINT32_MAX) {
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
static enum expansion_verdict plan_next(const struct expansion_view *view, uint64_t seed,
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
        .id = (uint32_t)expansion_next_id(document),
        .geometry = {.seed = seed,
                     .lines = plan.lines,
                     .z = plan.z,
                     .shard_bits = document->content.shard_bits},
        .capacity = request.capacity,
        .rate = request.rate,
    };
    return expansion_fits(view, plan.shard_bytes, 0, answer) ? EXPANSION_VERDICT_BEGIN
                                                             : EXPANSION_VERDICT_NO_ROOM;
}

struct expansion_answer expansion_chain_request(const struct expansion_view *view,
                                                const struct expansion_wish *wish, uint64_t seed)
{
    const struct filter_document *document = view->document;
    struct expansion_answer answer = {
        .verdict = judge_wish(document, wish),
        .capacity = wish->capacity != 0 ? wish->capacity : document->capacity,
        .rate = document->rate,
    };

    if (answer.verdict == EXPANSION_VERDICT_BEGIN) {
        answer.verdict = plan_next(view, seed, &answer);
    }
    return answer;
}

/* ---- edits ---- */

void expansion_chain_begin(struct filter_document *document, const struct expansion_answer *answer)
{
    assert(!expansion_running(document) && document->ngenerations < DOCUMENT_MAX_GENERATIONS);
    document->generations[document->ngenerations++] = answer->next;
    document->capacity = answer->capacity;
    document->growth_held = false;
    document->nturns = 0;
    document->revision++;
}

void expansion_chain_finish(struct filter_document *document)
{
    struct epoch_content *content = &document->content;

    assert(expansion_running(document) && !expansion_chain_waits(document));
    content->chain[content->nchain++] = document_generation(document)->id;
    document_epoch_advance(document);
}
