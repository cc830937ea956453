/* Marks that the other side asks for. R replicas of each slot group tell where their logs end; once
 * enough of these are read to there, and what was read is sent, the mark is the number of the last
 * batch. The ends stay what they were told first, however many adds come meanwhile.
 *
 * Who asks the other side whether it has all that is acknowledged here would be asked for a mark in
 * turn. What that one would be answered is gathered in the same way before the question leaves, and
 * goes along with it (ages.c): one at a time, for all who ask meanwhile. */
#include "base/heap.h"
#include "base/mutant.h"
#include "link/private.h"

#include <assert.h>
#include <string.h>

enum {
    ENDS_MS = 2000, /* for R replicas to tell how long their logs are */
    ENDS_AGAIN_US = 200000,
};

static void on_ends(void *owner, const struct router_ends_told *told)
{
    struct outmark *mark = owner;

    mark->asking = false;
    mark->nends = 0;
    if (told->status != STATUS_OK ||
        !heap_grow(&mark->ends, &mark->ends_capacity, told->count + 1, sizeof *mark->ends)) {
        return; /* Asked again. */
    }
    if (told->count > 0) {
        memcpy(mark->ends, told->ends, told->count * sizeof *mark->ends);
    }
    mark->nends = told->count;
    mark->epoch = told->epoch;
}

/* Are R of each slot group followed? While they are copied ends are asked for in vain. */
static bool may_ask(struct link *self, const struct outflow *outflow)
{
    const struct document_entry *entry = outflow_document(self, outflow);
    const struct quorum_rule *rule;

    if (entry == NULL || entry->document.epoch != outflow->epoch) {
        return false;
    }
    rule = &entry->document.content.rule;
    for (size_t at = 0; at < outflow->nfollows; at += rule->replicas) {
        uint32_t followed = 0;

        for (size_t i = at; i < at + rule->replicas && i < outflow->nfollows; i++) {
            assert(outflow->follows[i].source.group == outflow->follows[at].source.group);
            followed += !outflow->follows[i].fills;
        }
        if (followed < rule->read) {
            return false;
        }
    }
    return true;
}

static void ask_ends(struct link *self, uint64_t now_us, struct outflow *outflow,
                     struct outmark *mark)
{
    const struct router_ends question = {
        .filter_id = outflow->filter_id,
        .timeout_ms = ENDS_MS,
        .done = on_ends,
        .owner = mark,
    };

    mark->asking = true;
    mark->again_us = now_us + ENDS_AGAIN_US;
    router_ends(self->router, now_us, &question);
}

/* Of the log that is followed; else that end is never passed. */
static bool is_followed(const struct follow *follow, const struct router_end *end)
{
    return follow != NULL && !follow->fills && follow->source.incarnation == end->incarnation &&
           follow->source.boot == end->boot;
}

/* The node may keep its answer for what routers add, and what moves its log's end may be none of
 * that. */
static void hurry(struct outflow *outflow, uint64_t now_us, uint32_t node)
{
    struct reading *reading = outflow_reading(outflow, node);

    if (reading->reader != NULL) {
        reader_hurry(reading->reader, now_us);
    }
}

enum passage { PASSED, NOT_YET, LOST };

/* Are R of them read to the end that they told? LOST: so many never will be. */
static enum passage passage_of(struct outflow *outflow, uint64_t now_us, const struct outmark *mark,
                               uint32_t group, uint32_t needed)
{
    uint32_t passed = 0;
    uint32_t followed = 0;

    for (size_t i = 0; i < mark->nends; i++) {
        const struct router_end *end = &mark->ends[i];
        const struct follow *follow = end->group == group
                                          ? outflow_follow(outflow, group, end->node)
                                          : NULL;

        if (is_followed(follow, end)) {
            followed++;
            passed += follow->source.offset >= end->position || MUTANT(SITE_MARK_UNREAD);
            if (follow->source.offset < end->position) {
                hurry(outflow, now_us, end->node);
            }
        }
    }
    return passed >= needed ? PASSED : followed >= needed ? NOT_YET : LOST;
}

static uint32_t needed(const struct quorum_rule *rule)
{
    return rule->read - (MUTANT(SITE_MARK_OF_FEWER) && rule->read > 1);
}

static enum passage look_at(struct link *self, uint64_t now_us, struct outflow *outflow,
                            const struct outmark *mark)
{
    const struct document_entry *entry = outflow_document(self, outflow);
    enum passage all = PASSED;

    if (entry == NULL || mark->nends == 0 || mark->epoch != outflow->epoch ||
        entry->document.epoch != outflow->epoch) {
        return LOST;
    }
    for (uint32_t group = 0; group < entry->document.content.ngroups; group++) {
        enum passage one = passage_of(outflow, now_us, mark, group,
                                      needed(&entry->document.content.rule));

        all = one > all ? one : all;
    }
    return all;
}

static int by_place(const void *a, const void *b)
{
    const struct site_source *left = a;
    const struct site_source *right = b;

    if (left->group != right->group) {
        return left->group < right->group ? -1 : 1;
    }
    return left->node < right->node ? -1 : left->node > right->node;
}

/* Of each slot group that many: those at more replicas only save the other side repeats. */
static void keep_needed(struct outmark *mark)
{
    size_t kept = 0;
    uint32_t of_group = 0;

    for (size_t i = 0; i < mark->npassed; i++) {
        bool same = i > 0 && mark->passed[i].group == mark->passed[kept - 1].group;

        of_group = same ? of_group + 1 : 1;
        if (of_group <= mark->needed) {
            mark->passed[kept++] = mark->passed[i];
        }
    }
    mark->npassed = kept;
}

/* The ends that are passed: those alone are told. False: memory is out, or one message would not
 * hold them. */
static bool keep_passed(struct outflow *outflow, struct outmark *mark)
{
    if (!heap_grow(&mark->passed, &mark->passed_room, mark->nends + 1, sizeof *mark->passed)) {
        return false;
    }
    mark->npassed = 0;
    for (size_t i = 0; i < mark->nends; i++) {
        const struct router_end *end = &mark->ends[i];
        const struct follow *follow = outflow_follow(outflow, end->group, end->node);

        if (is_followed(follow, end) &&
            (follow->source.offset >= end->position || MUTANT(SITE_MARK_UNREAD))) {
            mark->passed[mark->npassed] = follow->source;
            mark->passed[mark->npassed++].offset = end->position;
        }
    }
    if (mark->npassed > 1) {
        qsort(mark->passed, mark->npassed, sizeof *mark->passed, by_place);
    }
    if (mark->npassed > SITE_MAX_SOURCES) {
        keep_needed(mark);
    }
    return mark->npassed <= SITE_MAX_SOURCES;
}

/* All that it takes is read; what was read and is not sent yet goes with the next section. */
static void await_section(struct outflow *outflow, struct outmark *mark)
{
    mark->read = true;
    mark->section = outflow->section.number + (outflow->npending > 0);
    outflow->flush_now |= outflow->npending > 0;
}

static void answer_mark(struct link *self, uint64_t now_us, struct outflow *outflow,
                        struct outmark *mark)
{
    struct channel *channel = channel_find(self, outflow->channel);
    struct frame frame = {
        .kind = FRAME_SITE_MARKED,
        .body.site_marked = {.stream = outflow->stream,
                             .mark = mark->mark,
                             .number = outflow->number,
                             .groups = mark->groups,
                             .read = mark->needed,
                             .ends = mark->passed,
                             .nends = mark->npassed},
    };
    struct site_marked *message = &frame.body.site_marked;

    vouched_fill(self, outflow, message);
    message->vouched_set = vouched_by_others(self, now_us, outflow, message);
    if (channel != NULL && channel_send(self, channel, &frame)) {
        link_count(self, LINK_site_marks_total, 1);
        mark->used = false;
    }
}

static void begin_own(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    struct outmark *own = &outflow->marks[OUTFLOW_OWN];

    if (outflow->ends_wanted && !own->used && !own->asking) {
        outflow->ends_wanted = false;
        own->used = true;
        own->read = false;
        own->mark = ++self->last_number;
        own->nends = 0;
        own->again_us = now_us;
    }
}

static bool is_sent(const struct outflow *outflow, uint64_t section)
{
    return outflow->section.number > section ||
           (outflow->section.number == section && !outflow->section.active);
}

/* All ends that it takes are passed. Whoever asked would wait for ever for what can't be told. */
static void pass(struct link *self, struct outflow *outflow, struct outmark *mark)
{
    const struct epoch_content *content = &outflow_document(self, outflow)->document.content;

    mark->groups = content->ngroups;
    mark->needed = needed(&content->rule);
    if (keep_passed(outflow, mark)) {
        await_section(outflow, mark);
    } else {
        mark->used = false;
        outflow_close(self, outflow, STATUS_NOMEM,
                      "out of memory for a mark, or the filter has too many slot groups for it");
    }
}

/* Its ends stay what they are, so that they are reached; unless that can't be any more. */
static void read_on(struct link *self, uint64_t now_us, struct outflow *outflow,
                    struct outmark *mark)
{
    enum passage passage = look_at(self, now_us, outflow, mark);

    if (passage == PASSED) {
        pass(self, outflow, mark);
    } else if (passage == LOST && now_us >= mark->again_us && may_ask(self, outflow)) {
        ask_ends(self, now_us, outflow, mark);
    }
}

void outmarks_read(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    begin_own(self, now_us, outflow);
    for (size_t i = 0; i < OUTFLOW_ALL_MARKS; i++) {
        struct outmark *mark = &outflow->marks[i];

        if (mark->used && !mark->read && !mark->asking && !outflow->over) {
            read_on(self, now_us, outflow, mark);
        }
    }
}

void outmarks_answer(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    for (size_t i = 0; i < OUTFLOW_ALL_MARKS; i++) {
        struct outmark *mark = &outflow->marks[i];

        if (!mark->used || !mark->read ||
            (!is_sent(outflow, mark->section) && !MUTANT(SITE_MARK_UNSENT))) {
            continue;
        }
        if (i == OUTFLOW_OWN) {
            mark->told = self->ends_news = true;
        } else {
            answer_mark(self, now_us, outflow, mark);
        }
    }
}

bool outflow_want_ends(struct link *self, uint64_t filter_id, uint32_t peer)
{
    struct outflow *outflow;

    TAILQ_FOREACH(outflow, &self->outflows, link)
    {
        if (!outflow->over && outflow->filter_id == filter_id && outflow->peer == peer &&
            may_ask(self, outflow)) {
            outflow->ends_wanted = true;
            return true;
        }
    }
    return false;
}

/* Whoever asks for more than there is room for has given the oldest one up. NULL: nodes are being
 * asked for all of them. */
static struct outmark *room_for_mark(struct outflow *outflow)
{
    struct outmark *oldest = NULL;

    for (size_t i = 0; i < OUTFLOW_MARKS; i++) {
        struct outmark *mark = &outflow->marks[i];

        if (!mark->used && !mark->asking) {
            return mark;
        }
        if (!mark->asking && (oldest == NULL || mark->mark < oldest->mark)) {
            oldest = mark;
        }
    }
    return oldest;
}

/* Nodes are asked in its turn. */
void outflow_on_mark(struct link *self, uint64_t now_us, struct channel *channel,
                     const struct site_mark *message)
{
    struct outflow *outflow = outflow_of(self, channel, message->stream);
    struct outmark *mark = outflow != NULL ? room_for_mark(outflow) : NULL;

    if (mark != NULL) {
        mark->used = true;
        mark->read = false;
        mark->mark = message->mark;
        mark->nends = 0;
        mark->again_us = now_us;
    }
}
