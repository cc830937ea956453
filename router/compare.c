/* A comparison: which parts of some ranges have the very digest at W replicas that another site has
 * told. Slot group by slot group, all their readers are asked at once, each for a view of this
 * moment, under one epoch; who has told all that was asked has voted for each part that is equal,
 * as it would for an add of what is in it: the keys are there, durably, while it serves that epoch.
 * A slot with two members does not vote: an add would have to be with both of them. */
#include "base/heap.h"
#include "base/mutant.h"
#include "router/dump.h"

#include <assert.h>
#include <string.h>

void comparison_fini(struct comparison *self)
{
    heap_free(self->equal);
    heap_free(self->prefixes);
    heap_free(self->places);
    heap_free(self->boots);
    *self = (struct comparison){0};
}

/* All shards are the same at both sites, and so is what is compared. */
static bool fits(const struct router_compare *question, const struct epoch_content *content)
{
    bool good = question->nprefixes <= PULL_MAX_PARENTS && question->bits >= content->shard_bits &&
                question->bits <= PULL_MAX_PARENT_BITS && content->nkeysets == 1 &&
                question->keyset == content->keysets[0].id;

    for (size_t i = 0; i < question->nprefixes && good; i++) {
        good = question->prefixes[i] >> question->bits == 0 &&
               (i == 0 || question->prefixes[i] > question->prefixes[i - 1]);
    }
    return good;
}

enum status comparison_begin(struct view_job *job, const struct document_entry *entry)
{
    const struct router_compare *question = &job->question.compare;
    struct comparison *self = &job->comparison;

    if (!fits(question, &entry->document.content)) {
        return STATUS_INVALID;
    }
    self->equal = heap_zalloc(question->nprefixes + 1, sizeof *self->equal);
    self->prefixes = heap_alloc(question->nprefixes + 1, sizeof *self->prefixes);
    self->places = heap_alloc(question->nprefixes + 1, sizeof *self->places);
    return self->equal != NULL && self->prefixes != NULL && self->places != NULL ? STATUS_OK
                                                                                 : STATUS_NOMEM;
}

/* ---- slot groups ---- */

static void take_ranges(struct comparison *self, const struct router_compare *question,
                        const struct epoch_content *content, uint32_t group)
{
    uint32_t below = question->bits - content->shard_bits;

    self->count = 0;
    for (size_t i = 0; i < question->nprefixes; i++) {
        if (content->group_of_shard[question->prefixes[i] >> below] == group) {
            self->prefixes[self->count] = question->prefixes[i];
            self->places[self->count++] = i;
        }
    }
}

static uint32_t voters(const struct epoch_content *content, uint32_t group, uint32_t *slots)
{
    uint32_t count = 0;

    *slots = 0;
    for (uint32_t i = 0; i < content->rule.replicas; i++) {
        if (!slot_is_pair(&content->groups[group].slots[i]) || MUTANT(SITE_HELD_BY_HALF)) {
            *slots |= UINT32_C(1) << i;
            count++;
        }
    }
    return count;
}

static uint32_t votes_needed(const struct epoch_content *content)
{
    return MUTANT(SITE_HELD_BY_ONE) ? 1 : content->rule.write;
}

/* The next one that has some of the ranges, and enough voters. False: there is none. */
static bool ask_next(struct router *self, uint64_t now_us, struct view_job *job,
                     const struct document_entry *entry)
{
    const struct epoch_content *content = &entry->document.content;
    const struct router_compare *question = &job->question.compare;
    struct comparison *comparison = &job->comparison;
    uint32_t slots;

    while (comparison->next < content->ngroups) {
        uint32_t group = comparison->next++;

        take_ranges(comparison, question, content, group);
        if (comparison->count == 0) {
            continue;
        }
        if (voters(content, group, &slots) < votes_needed(content)) {
            comparison->unsure = true;
        } else {
            stretch_begin_digests(self, now_us, &job->stretch, entry, group, slots, question->bits,
                                  comparison->prefixes, comparison->count);
            return true;
        }
    }
    return false;
}

/* ---- votes ---- */

/* The parts of one of the ranges that have enough of them. */
static uint64_t equal_parts(const struct view_job *job, size_t range, uint32_t needed)
{
    const uint64_t *digests = job->question.compare.digests +
                              job->comparison.places[range] * PULL_PARTS;
    uint64_t equal = 0;

    for (size_t part = 0; part < PULL_PARTS; part++) {
        uint32_t votes = 0;

        for (uint32_t i = 0; i < job->stretch.slots; i++) {
            const struct dump_ask *one = &job->stretch.asks[i];

            votes += one->state == DUMP_ASK_TOLD &&
                     one->keys[range * PULL_PARTS + part] == digests[part];
        }
        equal |= (uint64_t)(votes >= needed) << part;
    }
    return equal;
}

/* Of the slot group under way. True: all of it. */
static bool count_votes(struct view_job *job, const struct epoch_content *content)
{
    struct comparison *self = &job->comparison;
    bool all = true;

    for (size_t i = 0; i < self->count; i++) {
        uint64_t equal = equal_parts(job, i, votes_needed(content));

        self->equal[self->places[i]] = equal;
        all = all && equal == UINT64_MAX;
    }
    return all;
}

/* False: there is no memory for them, and then their votes are void. */
static bool keep_boots(struct view_job *job, const struct epoch_content *content)
{
    struct comparison *self = &job->comparison;
    const struct dump_stretch *stretch = &job->stretch;

    if (!heap_grow(&self->boots, &self->boots_room, self->nboots + stretch->slots,
                   sizeof *self->boots)) {
        return false;
    }
    for (uint32_t i = 0; i < stretch->slots; i++) {
        if (stretch->asks[i].state == DUMP_ASK_TOLD) {
            self->boots[self->nboots++] = (struct router_boot){
                .member = *slot_reader(&content->groups[stretch->group].slots[i]),
                .boot = stretch->asks[i].boot,
            };
        }
    }
    return true;
}

/* `all`: is equal. */
static void finish_group(struct view_job *job, const struct epoch_content *content, bool all)
{
    struct comparison *self = &job->comparison;

    self->unsure |= !all && stretch_tellers(&job->stretch) < votes_needed(content);
    if (!keep_boots(job, content)) {
        self->unsure = true;
        for (size_t i = 0; i < self->count; i++) {
            self->equal[self->places[i]] = 0;
        }
    }
    stretch_end(&job->stretch);
}

void comparison_end(struct view_job *job, const struct document_entry *entry)
{
    job->comparison.unsure = true;
    if (job->stretch.needed > 0) {
        finish_group(job, &entry->document.content, count_votes(job, &entry->document.content));
    }
}

bool comparison_pump(struct router *self, uint64_t now_us, struct view_job *job,
                     const struct document_entry *entry)
{
    const struct epoch_content *content = &entry->document.content;
    bool all;

    for (;;) {
        if (job->stretch.needed == 0 && !ask_next(self, now_us, job, entry)) {
            return true;
        }
        all = count_votes(job, content);
        if (!all && !stretch_told(&job->stretch)) {
            stretch_pump(self, now_us, &job->stretch, entry);
            return false;
        }
        finish_group(job, content, all);
    }
}
