/* Replacing members: what a slot group could do, by the lives that nodes have now and the evidence;
 * and what is written for it. */
#include "coordinator/plan/change.h"

#include "base/mutant.h"
#include "map/quorum.h"
#include "map/reader.h"

#include <assert.h>

enum change_outlook {
    OUTLOOK_NONE,  /* nothing to do */
    OUTLOOK_BEGIN, /* some slots have successors */
    OUTLOOK_MEND,  /* an incoming member is not the one that it should be */
    OUTLOOK_READY, /* what the stage takes is there */
    OUTLOOK_WAIT,  /* ... is not, and may come any moment */
    OUTLOOK_STUCK, /* ... can't come as long as some node is silent, or for good */
};

/* One look at a document, for all groups. */
struct change_view {
    const struct filter_document *document;
    const struct node_list *nodes;
    const struct evidence *evidence;
    const bool *alive;
    const struct move_plan *plan;
};

static const struct node_record *record_of(const struct change_view *self, uint32_t node)
{
    return node_list_find(self->nodes, node);
}

static bool is_alive(const struct change_view *self, const struct node_record *record)
{
    return self->alive == NULL || self->alive[record - self->nodes->nodes];
}

/* Is this life of the node the one that it has now? Else it can't say anything any more. */
static bool lives(const struct change_view *self, const struct member *member)
{
    const struct node_record *record = record_of(self, member->node);

    return record != NULL && record->incarnation == member->incarnation;
}

/* The node of the incoming member: as planned, else that of the pair while it may stay, else the
 * slot's own. */
static uint32_t successor_node(const struct change_view *self, uint32_t group, uint32_t index)
{
    const struct slot *slot = &self->document->content.groups[group].slots[index];
    uint32_t planned = move_plan_target(self->plan, group, index);

    if (planned != 0) {
        return planned;
    }
    return slot_is_pair(slot) && move_may_stay(self->nodes, slot->incoming.node)
               ? slot->incoming.node
               : slot->current.node;
}

/* Who should be the incoming member: the present life of that node, if it is another one than the
 * slot names, was not given up and has a log to copy into. False: nobody. */
/* Who should be the incoming member; false: nobody. */
static bool change_successor(const struct change_view *self, uint32_t group, uint32_t index,
                             struct member *out)
{
    const struct slot *slot = &self->document->content.groups[group].slots[index];
    uint32_t node = successor_node(self, group, index);
    const struct node_record *record = record_of(self, node);
    int held = document_slot_of(self->document, group, node, 0);

    if (record == NULL || !record->durable || self->document->durability == DURABILITY_MEMORY ||
        (held >= 0 && held != (int)index)) {
        return false;
    }
    *out = (struct member){.node = node, .incarnation = record->incarnation};
    return !member_equal(out, &slot->current) &&
           !slot_group_gave_up(&self->document->content.groups[group], out);
}

static uint32_t fences_needed(const struct change_view *self)
{
    uint32_t needed = quorum_fences(&self->document->content.rule);

    return MUTANT(CHANGE_ONE_FENCE_SHORT) ? needed - 1 : needed;
}

static uint8_t fenced(const struct change_view *self, uint32_t group)
{
    return self->evidence != NULL ? self->evidence->groups[group].current_fenced : 0;
}

static bool gave_up(const struct change_view *self, uint32_t group, const struct member *member)
{
    return slot_group_gave_up(&self->document->content.groups[group], member);
}

/* Does an operator answer for its silence? Not against what is heard of it. */
static bool is_off(const struct change_view *self, const struct member *member)
{
    const struct node_record *record = record_of(self, member->node);

    return record != NULL && record->confirmed_off == member->incarnation &&
           member->incarnation != 0 && !(lives(self, member) && is_alive(self, record));
}

/* Members that have fenced, that still can, and that still can and are heard of. */
struct fences {
    uint32_t have;
    uint32_t possible;
    uint32_t near;
};

static struct fences count_fences(const struct change_view *self, uint32_t group)
{
    const struct slot *slots = self->document->content.groups[group].slots;
    struct fences count = {0};

    for (uint32_t i = 0; i < self->document->content.rule.replicas; i++) {
        const struct member *member = &slots[i].current;
        bool has = (fenced(self, group) >> i & 1) != 0 || is_off(self, member) ||
                   gave_up(self, group, member);
        bool can = has || lives(self, member);

        count.have += has;
        count.possible += can;
        count.near += has || (can && is_alive(self, record_of(self, member->node)));
    }
    return count;
}

/* Members that a copy can still be taken of, and how many it takes of them: see pull_plan.h. */
struct sources {
    uint32_t possible;
    uint32_t needed;
};

static struct sources count_sources(const struct change_view *self, uint32_t group)
{
    const struct quorum_rule *rule = &self->document->content.rule;
    const struct slot *slots = self->document->content.groups[group].slots;
    struct sources count = {0};

    for (uint32_t i = 0; i < rule->replicas; i++) {
        const struct member *member = &slots[i].current;
        bool lost = gave_up(self, group, member);

        count.needed += !lost;
        count.possible += !lost && lives(self, member) && !is_off(self, member);
    }
    if (count.needed > rule->replicas - rule->write + 1) {
        count.needed = rule->replicas - rule->write + 1;
    }
    return count;
}

/* What stage the group is in: its pairs move together. */
static enum slot_stage change_group_stage(const struct change_view *self, uint32_t group)
{
    const struct slot *slots = self->document->content.groups[group].slots;
    enum slot_stage stage = SLOT_SINGLE;

    for (uint32_t i = 0; i < self->document->content.rule.replicas; i++) {
        enum slot_stage one = slot_stage(&slots[i]);

        stage = one > stage ? one : stage;
    }
    return stage;
}

static void note(struct change_decision *out, enum change_wait wait, uint32_t group, uint32_t have,
                 uint32_t needed, const struct member *who)
{
    if (out->wait == CHANGE_WAIT_NONE || out->wait == CHANGE_WAIT_MOVE) {
        out->wait = wait;
        out->group = group;
        out->have = have;
        out->needed = needed;
        out->who = who != NULL ? *who : (struct member){0};
    }
}

static enum change_outlook await_fences(const struct change_view *self, uint32_t group,
                                        const struct fences *fences, struct change_decision *out)
{
    uint32_t needed = fences_needed(self);

    if (fences->have >= needed) {
        return OUTLOOK_READY;
    }
    if (fences->possible < needed) {
        note(out, CHANGE_WAIT_REPLICAS, group, fences->possible, needed, NULL);
        return OUTLOOK_STUCK;
    }
    note(out, CHANGE_WAIT_FENCES, group, fences->have, needed, NULL);
    return fences->near < needed ? OUTLOOK_STUCK : OUTLOOK_WAIT;
}

static enum change_outlook look_at_single(const struct change_view *self, uint32_t group,
                                          struct change_decision *out)
{
    const struct slot *slots = self->document->content.groups[group].slots;
    struct fences fences = count_fences(self, group);
    bool begins = false;
    struct member successor;

    for (uint32_t i = 0; i < self->document->content.rule.replicas; i++) {
        if (change_successor(self, group, i, &successor)) {
            begins = true;
        } else if (move_plan_lacks(self->plan, group, i)) {
            note(out, CHANGE_WAIT_MOVE, group, 0, 0, &slots[i].current);
        } else if (!lives(self, &slots[i].current)) {
            note(out, CHANGE_WAIT_DISK, group, 0, 0, &slots[i].current);
        } else if (gave_up(self, group, &slots[i].current)) {
            note(out, CHANGE_WAIT_SUCCESSOR, group, 0, 0, &slots[i].current);
        }
    }
    if (!begins) {
        return OUTLOOK_NONE;
    }
    if (fences.possible < fences_needed(self)) {
        note(out, CHANGE_WAIT_REPLICAS, group, fences.possible, fences_needed(self), NULL);
        return OUTLOOK_STUCK;
    }
    return OUTLOOK_BEGIN;
}

static enum change_outlook look_at_pair(const struct change_view *self, uint32_t group,
                                        struct change_decision *out)
{
    const struct slot *slots = self->document->content.groups[group].slots;
    struct fences fences = count_fences(self, group);
    struct sources sources = count_sources(self, group);
    enum change_outlook outlook = await_fences(self, group, &fences, out);

    for (uint32_t i = 0; i < self->document->content.rule.replicas; i++) {
        struct member successor;

        if (!slot_is_pair(&slots[i])) {
            continue;
        }
        if (!change_successor(self, group, i, &successor) ||
            !member_equal(&successor, &slots[i].incoming)) {
            return OUTLOOK_MEND;
        }
        if (MUTANT(LOSS_UNCOPIED) && gave_up(self, group, &slots[i].current)) {
            continue;
        }
        if (self->evidence == NULL || (self->evidence->groups[group].complete >> i & 1) == 0) {
            if (sources.possible < sources.needed) {
                note(out, CHANGE_WAIT_REPLICAS, group, sources.possible, sources.needed, NULL);
                return OUTLOOK_STUCK;
            }
            note(out, CHANGE_WAIT_COPY, group, 0, 0, &slots[i].incoming);
            outlook = outlook == OUTLOOK_STUCK ||
                              !is_alive(self, record_of(self, slots[i].incoming.node))
                          ? OUTLOOK_STUCK
                          : OUTLOOK_WAIT;
        }
    }
    return outlook;
}

static enum change_outlook look_at_moved(const struct change_view *self, uint32_t group,
                                         struct change_decision *out)
{
    struct fences fences = count_fences(self, group);

    if (MUTANT(NO_FENCE_V3)) {
        fences.have = self->document->content.rule.replicas;
    }
    return await_fences(self, group, &fences, out);
}

static enum change_outlook change_look(const struct change_view *self, uint32_t group,
                                       struct change_decision *out)
{
    switch (change_group_stage(self, group)) {
    case SLOT_SINGLE:
        return look_at_single(self, group, out);
    case SLOT_PAIR:
        return look_at_pair(self, group, out);
    case SLOT_MOVED:
        return look_at_moved(self, group, out);
    }
    return OUTLOOK_NONE;
}

uint8_t change_fences_wanted(const struct filter_document *document, const struct node_list *nodes,
                             const struct evidence *evidence, uint32_t group)
{
    const struct change_view self = {document, nodes, evidence, NULL, NULL};
    struct fences fences = count_fences(&self, group);
    uint8_t wanted = 0;

    if (change_group_stage(&self, group) == SLOT_SINGLE || fences.have >= fences_needed(&self)) {
        return 0;
    }
    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        const struct slot *slot = &document->content.groups[group].slots[i];

        if ((fenced(&self, group) >> i & 1) == 0 && lives(&self, &slot->current) &&
            !gave_up(&self, group, &slot->current)) {
            wanted |= (uint8_t)(1U << i);
        }
    }
    return wanted;
}

/* How a slot may change from one epoch to the next. */

static const struct change_move moves[] = {
    /* Begin: a pair of what there is and its successor, on the same node or another one. */
    {.from = SLOT_SINGLE, .to = SLOT_PAIR},
    /* The successor died, or its node is to leave: another one takes its place. */
    {.from = SLOT_PAIR, .to = SLOT_PAIR},
    /* The way back: nothing was read from the successor yet. */
    {.from = SLOT_PAIR, .to = SLOT_SINGLE},
    /* Read the successor. */
    {.from = SLOT_PAIR,
     .to = SLOT_MOVED,
     .keeps_incoming = true,
     .takes_fences = true,
     .takes_copy = true},
    /* End: the successor alone. */
    {.from = SLOT_MOVED, .to = SLOT_SINGLE, .hands_over = true, .takes_fences = true},
    /* Both at once: a mutant's. It comes last, as else the table ends above. */
    {.from = SLOT_PAIR,
     .to = SLOT_SINGLE,
     .hands_over = true,
     .takes_fences = true,
     .takes_copy = true},
};

enum { NMOVES = sizeof moves / sizeof moves[0] - (MUTANT(NO_PAIR) ? 0 : 1) };

enum slot_stage slot_stage(const struct slot *slot)
{
    if (!slot_is_pair(slot)) {
        return SLOT_SINGLE;
    }
    return slot->reads_incoming ? SLOT_MOVED : SLOT_PAIR;
}

const struct change_move *change_moves(size_t *count)
{
    *count = NMOVES;
    return moves;
}

static bool move_fits(const struct change_move *move, const struct slot *from,
                      const struct slot *to)
{
    const struct member *stays = move->hands_over ? &from->incoming : &from->current;

    return move->from == slot_stage(from) && move->to == slot_stage(to) &&
           member_equal(&to->current, stays) &&
           move->keeps_incoming == member_equal(&to->incoming, &from->incoming);
}

const struct change_move *change_move_of(const struct slot *from, const struct slot *to)
{
    for (size_t i = 0; i < NMOVES; i++) {
        if (move_fits(&moves[i], from, to)) {
            return &moves[i];
        }
    }
    return NULL;
}

/* Which step a document takes: what its groups could do, all together. */

/* ---- edits ---- */

static void pair_up(const struct change_view *self, uint32_t group, uint32_t index,
                    struct slot *slot)
{
    struct member successor;
    bool any = change_successor(self, group, index, &successor);

    slot->incoming = any ? successor : (struct member){0};
}

static void move_on(struct slot *slot)
{
    enum slot_stage stage = slot_stage(slot);

    if (MUTANT(NO_PAIR) && stage == SLOT_PAIR) {
        stage = SLOT_MOVED;
    }
    if (stage == SLOT_PAIR) {
        slot->reads_incoming = true;
    } else if (stage == SLOT_MOVED) {
        *slot = (struct slot){.current = slot->incoming};
    }
}

static bool same_slot(const struct slot *a, const struct slot *b)
{
    return member_equal(&a->current, &b->current) && member_equal(&a->incoming, &b->incoming) &&
           a->reads_incoming == b->reads_incoming;
}

static void edit(const struct change_view *self, enum change_outlook outlook, uint32_t number,
                 struct slot_group *group)
{
    for (uint32_t i = 0; i < self->document->content.rule.replicas; i++) {
        struct slot *slot = &group->slots[i];
        struct slot before = *slot;

        if (outlook == OUTLOOK_READY) {
            move_on(slot);
        } else if (outlook == OUTLOOK_BEGIN || outlook == OUTLOOK_MEND) {
            pair_up(self, number, i, slot);
        }
        assert(same_slot(&before, slot) || change_move_of(&before, slot) != NULL);
        reader_note(&before, self->document->epoch + 1, slot);
    }
}

/* ---- the decision ---- */

/* What all groups together look like. */
struct survey {
    bool waits;
    bool mends;
    bool moves;
};

static void note_step(struct change_decision *out, enum slot_stage stage)
{
    enum change_step step = stage == SLOT_SINGLE ? CHANGE_TO_BEGIN
                            : stage == SLOT_PAIR ? CHANGE_COPYING
                                                 : CHANGE_HANDING_OVER;

    out->step = step > out->step ? step : out->step;
}

static struct survey survey(const struct change_view *self, struct change_decision *out)
{
    struct survey sum = {0};

    for (uint32_t group = 0; group < self->document->content.ngroups; group++) {
        const struct slot *slots = self->document->content.groups[group].slots;
        enum change_outlook outlook = change_look(self, group, out);

        sum.waits |= outlook == OUTLOOK_WAIT;
        sum.mends |= outlook == OUTLOOK_MEND;
        sum.moves |= outlook == OUTLOOK_READY || outlook == OUTLOOK_BEGIN;
        if (outlook != OUTLOOK_NONE) {
            note_step(out, change_group_stage(self, group));
        }
        for (uint32_t i = 0; i < self->document->content.rule.replicas; i++) {
            out->slots += slot_is_pair(&slots[i]);
        }
    }
    if (out->wait != CHANGE_WAIT_NONE) {
        note_step(out, SLOT_SINGLE);
    }
    return sum;
}

void change_decide(const struct filter_document *document, const struct node_list *nodes,
                   const struct evidence *evidence, const bool *alive, const struct move_plan *plan,
                   struct slot_group *next, struct change_decision *out)
{
    const struct change_view self = {document, nodes, evidence, alive, plan};
    struct survey sum;

    assert(evidence == NULL || evidence_fits(evidence, document));
    *out = (struct change_decision){0};
    sum = survey(&self, out);
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        next[group] = document->content.groups[group];
    }
    if (!sum.mends && (!sum.moves || sum.waits)) {
        out->action = out->wait == CHANGE_WAIT_NONE ? CHANGE_NOTHING : CHANGE_AWAIT;
        return;
    }
    out->action = CHANGE_WRITE;
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        struct change_decision unused = {0};

        edit(&self, change_look(&self, group, &unused), group, &next[group]);
    }
}
