/* Copies of replicas whose logs can't be gone on from: all that the readers of a slot group have,
 * range by range, and what they tell goes out as what is new does, unless the other site holds it
 * already (offer.c). A replica is followed from where its log ended when its first range was told,
 * once it has told all of them in one life: what it has taken since is read from the log, and
 * repeats nothing that is not there. Of those that are followed already all is compared in the same
 * way, once in a while (scrub.c): it sends what is not there, and moves no place. */
#include "base/heap.h"
#include "link/private.h"

#include <assert.h>
#include <string.h>

enum { PAGE_US = 4000000, AGAIN_US = 200000 };

void fill_forget(struct outflow *outflow)
{
    assert(!outflow->fill.asking);
    offers_clear(outflow->self, outflow);
    outflow->fill = (struct fill){0};
}

static bool is_due(const struct follow *follow, uint64_t now_us)
{
    return follow->fills && follow->again_us <= now_us;
}

/* The next slot group behind the last one that has a replica to be copied, so that one that can't
 * be has no other wait. */
static bool find_group(const struct outflow *outflow, uint64_t now_us, uint32_t last,
                       uint32_t *group)
{
    bool found = false;
    bool behind = false;

    for (size_t i = 0; i < outflow->nfollows; i++) {
        uint32_t one = outflow->follows[i].source.group;

        if (!is_due(&outflow->follows[i], now_us)) {
            continue;
        }
        if (!found || (one > last && !behind) || ((one > last) == behind && one < *group)) {
            *group = one;
            behind = one > last;
        }
        found = true;
    }
    return found;
}

/* The first shard of the group from that one on. False: there is none. */
static bool next_shard(const struct epoch_content *content, uint32_t group, uint32_t *shard)
{
    uint32_t count = UINT32_C(1) << content->shard_bits;

    while (*shard < count && content->group_of_shard[*shard] != group) {
        (*shard)++;
    }
    return *shard < count;
}

static uint64_t first_of(const struct epoch_content *content, uint32_t shard)
{
    return content->shard_bits > 0 ? (uint64_t)shard << (64 - content->shard_bits) : 0;
}

static uint32_t shard_of(const struct epoch_content *content, uint64_t fingerprint)
{
    return content->shard_bits > 0 ? (uint32_t)(fingerprint >> (64 - content->shard_bits)) : 0;
}

/* Of those that have told all so far, the ones that have told this range, too. */
static void keep_sources(struct fill *fill, const struct router_copied *copied)
{
    uint32_t kept = 0;

    if (!fill->begun) {
        fill->begun = true;
        fill->nsources = copied->nsources;
        memcpy(fill->sources, copied->sources, copied->nsources * sizeof fill->sources[0]);
        return;
    }
    for (uint32_t i = 0; i < fill->nsources; i++) {
        for (uint32_t k = 0; k < copied->nsources; k++) {
            if (member_equal(&fill->sources[i].member, &copied->sources[k].member) &&
                fill->sources[i].boot == copied->sources[k].boot) {
                fill->sources[kept++] = fill->sources[i];
                break;
            }
        }
    }
    fill->nsources = kept;
}

/* From the next slot group on, or from the beginning of this one. */
static void begin_again(struct outflow *outflow, uint64_t again_us)
{
    offers_clear(outflow->self, outflow);
    outflow->fill = (struct fill){.group = outflow->fill.group, .again_us = again_us};
}

static void leave_out(struct outflow *outflow, uint64_t now_us)
{
    scrub_did(outflow, now_us, false);
    begin_again(outflow, 0);
}

/* There is another epoch, or a source has begun anew. */
static void restart(struct outflow *outflow, uint64_t now_us, uint64_t again_us)
{
    if (outflow->fill.scrubs && !scrub_restarts(outflow)) {
        leave_out(outflow, now_us);
    } else {
        begin_again(outflow, again_us);
    }
}

/* Who has not told all of it is asked again later. */
static void finish_group(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    struct fill *fill = &outflow->fill;

    if (fill->scrubs) {
        scrub_did(outflow, now_us, true);
        begin_again(outflow, 0);
        return;
    }
    for (uint32_t i = 0; i < fill->nsources; i++) {
        const struct site_source source = {
            .group = fill->group,
            .node = fill->sources[i].member.node,
            .incarnation = fill->sources[i].member.incarnation,
            .boot = fill->sources[i].boot,
            .offset = fill->sources[i].end,
            .epoch = fill->epoch,
        };

        outflow_filled(self, outflow, &source);
    }
    outflow_unfilled(outflow, now_us, fill->group);
    begin_again(outflow, fill->again_us);
}

/* Its last range is told. It is finished once what was offered is answered, under the same epoch.
 */
static void end_group(struct outflow *outflow)
{
    outflow->fill.told = true;
    offers_end(outflow);
}

/* Is the page of this copy, in one epoch with what was told before? */
static bool is_next(const struct outflow *outflow, const struct document_entry *entry,
                    const struct router_copied *copied)
{
    const struct fill *fill = &outflow->fill;

    return copied->status == STATUS_OK && copied->group == fill->group &&
           copied->epoch == outflow->epoch && entry->document.epoch == outflow->epoch &&
           (fill->epoch == 0 || fill->epoch == copied->epoch);
}

static void on_no_page(struct outflow *outflow, const struct router_copied *copied)
{
    uint64_t now_us = copied->now_us;

    if (outflow->fill.scrubs && copied->status != STATUS_OK && copied->status != STATUS_STALE) {
        leave_out(outflow, now_us);
        return;
    }
    if (copied->status == STATUS_DEADLINE) {
        outflow_unfilled(outflow, now_us, outflow->fill.group);
    }
    restart(outflow, now_us, now_us + AGAIN_US);
}

static void on_page(void *owner, const struct router_copied *copied)
{
    struct outflow *outflow = owner;
    struct link *self = outflow->self;
    struct fill *fill = &outflow->fill;
    const struct document_entry *entry = document_cache_find(router_documents(self->router),
                                                             outflow->filter_id);
    uint32_t shard;

    fill->asking = false;
    if (outflow->over || entry == NULL) {
        return;
    }
    if (copied->status == STATUS_OVERLOADED) {
        fill->again_us = copied->now_us + AGAIN_US; /* The same range: nothing is known of it. */
        return;
    }
    if (!is_next(outflow, entry, copied)) {
        on_no_page(outflow, copied);
        return;
    }
    fill->epoch = copied->epoch;
    if (!offers_take(self, copied->now_us, outflow, copied, fill->from,
                     entry->document.content.shard_bits)) {
        outflow_close(self, outflow, STATUS_NOMEM, "out of memory");
        return;
    }
    if (fill->scrubs) {
        scrub_moved(outflow, copied->now_us);
    } else {
        keep_sources(fill, copied);
        if (fill->nsources == 0) {
            begin_again(outflow, copied->now_us + AGAIN_US); /* No replica has told all of it. */
            return;
        }
    }
    if (copied->last == UINT64_MAX) {
        end_group(outflow);
        return;
    }
    fill->from = copied->last + 1;
    shard = shard_of(&entry->document.content, fill->from);
    if (entry->document.content.group_of_shard[shard] == fill->group) {
        return;
    }
    if (!next_shard(&entry->document.content, fill->group, &shard)) {
        end_group(outflow);
    } else {
        fill->from = first_of(&entry->document.content, shard);
    }
}

/* The next slot group that has shards. */
static bool begin_scrub(struct link *self, struct outflow *outflow, uint64_t now_us,
                        const struct epoch_content *content)
{
    struct fill *fill = &outflow->fill;
    uint32_t group = 0;

    while (scrub_next(self, now_us, outflow, content->ngroups, &group)) {
        uint32_t shard = 0;

        if (next_shard(content, group, &shard)) {
            fill->group = group;
            fill->from = first_of(content, shard);
            fill->active = fill->scrubs = true;
            offers_begin(outflow);
            return true;
        }
        scrub_did(outflow, now_us, true);
    }
    return false;
}

static bool begin_group(struct link *self, struct outflow *outflow, uint64_t now_us,
                        const struct epoch_content *content)
{
    struct fill *fill = &outflow->fill;
    uint32_t group = 0;
    uint32_t shard = 0;

    if (!find_group(outflow, now_us, fill->group, &group)) {
        return begin_scrub(self, outflow, now_us, content);
    }
    fill->group = group;
    if (!next_shard(content, group, &shard)) {
        outflow_unfilled(outflow, now_us, group); /* It has no shards, so nobody adds to it. */
        return false;
    }
    fill->from = first_of(content, shard);
    fill->active = true;
    return true;
}

/* Has it told all of the group so far? */
static bool is_source(const struct fill *fill, const struct member *member)
{
    for (uint32_t i = 0; i < fill->nsources; i++) {
        if (member_equal(&fill->sources[i].member, member)) {
            return true;
        }
    }
    return !fill->begun;
}

/* Only those are asked: who is followed already, or was copied before, need not tell all again; and
 * who has left one range out does not finish this time. */
static uint32_t needed_slots(const struct outflow *outflow, uint64_t now_us,
                             const struct epoch_content *content, uint32_t group)
{
    uint32_t slots = 0;

    for (uint32_t slot = 0; slot < content->rule.replicas; slot++) {
        const struct member *reader = slot_reader(&content->groups[group].slots[slot]);

        for (size_t i = 0; i < outflow->nfollows; i++) {
            const struct follow *follow = &outflow->follows[i];

            if (is_due(follow, now_us) && follow->source.group == group &&
                follow->source.node == reader->node && is_source(&outflow->fill, reader)) {
                slots |= UINT32_C(1) << slot;
            }
        }
    }
    return slots;
}

static void end_scrub(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    scrub_put_off(self, now_us, outflow);
    if (outflow->fill.scrubs) {
        begin_again(outflow, 0);
    }
}

static void ask_next(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    struct fill *fill = &outflow->fill;
    const struct document_entry *entry = document_cache_find(router_documents(self->router),
                                                             outflow->filter_id);
    struct router_copy question = {
        .filter_id = outflow->filter_id,
        .deadline_us = now_us + PAGE_US,
        .done = on_page,
        .owner = outflow,
    };

    if (fill->asking || now_us < fill->again_us || entry == NULL) {
        return;
    }
    if (fill->active && fill->epoch != 0 && fill->epoch != entry->document.epoch) {
        restart(outflow, now_us, now_us);
    }
    if (outflow->scrub.begun && scrub_is_stuck(outflow, now_us)) {
        end_scrub(self, now_us, outflow);
    }
    if (fill->told && offers_are_done(outflow)) {
        finish_group(self, now_us, outflow);
    }
    if (fill->told || !offers_have_room(self, outflow)) {
        return;
    }
    if (!fill->active && !begin_group(self, outflow, now_us, &entry->document.content)) {
        return;
    }
    question.from = fill->from;
    if (!fill->scrubs) {
        question.slots = needed_slots(outflow, now_us, &entry->document.content, fill->group);
        if (question.slots == 0) {
            begin_again(outflow, now_us + AGAIN_US); /* They are no readers any more. */
            return;
        }
    }
    fill->asking = true;
    router_copy(self->router, now_us, &question);
}

void fill_turn(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    if (outflow->over) {
        return; /* Since this turn. */
    }
    if (!offers_turn(self, now_us, outflow)) {
        outflow_close(self, outflow, STATUS_NOMEM, "out of memory");
    } else {
        ask_next(self, now_us, outflow);
    }
}
