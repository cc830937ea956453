#include "cluster/change.h"

#include "cluster/quorum.h"

#include <assert.h>

/* ---- legal moves ---- */

static const struct change_move moves[] = {
    /* Begin: a pair of what there is and its successor. */
    {.from = SLOT_SINGLE, .to = SLOT_PAIR},
    /* The successor died: its own successor takes its place. */
    {.from = SLOT_PAIR, .to = SLOT_PAIR},
    /* The way back: nothing was read from the successor yet. */
    {.from = SLOT_PAIR, .to = SLOT_SINGLE},
#ifdef ORBLOOM_MUTANT_NO_PAIR
    {.from = SLOT_PAIR,
     .to = SLOT_SINGLE,
     .hands_over = true,
     .takes_fences = true,
     .takes_copy = true},
#endif
    /* Read the successor. */
    {.from = SLOT_PAIR,
     .to = SLOT_MOVED,
     .keeps_incoming = true,
     .takes_fences = true,
     .takes_copy = true},
    /* End: the successor alone. */
    {.from = SLOT_MOVED, .to = SLOT_SINGLE, .hands_over = true, .takes_fences = true},
};

enum { NMOVES = sizeof moves / sizeof moves[0] };

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

/* ---- what a group could do ---- */

enum outlook {
    OUTLOOK_NONE,  /* nothing to do */
    OUTLOOK_BEGIN, /* some slots have successors */
    OUTLOOK_MEND,  /* an incoming member is not the one that it should be */
    OUTLOOK_READY, /* what the stage takes is there */
    OUTLOOK_WAIT,  /* ... is not, and may come any moment */
    OUTLOOK_STUCK, /* ... can't come as long as some node is silent, or for good */
};

/* One look at a document, for all groups. */
struct view {
    const struct filter_document *document;
    const struct node_list *nodes;
    const struct evidence *evidence;
    const bool *alive;
};

static const struct node_record *record_of(const struct view *self, uint32_t node)
{
    return node_list_find(self->nodes, node);
}

static bool is_alive(const struct view *self, const struct node_record *record)
{
    return self->alive == NULL || self->alive[record - self->nodes->nodes];
}

/* Is this life of the node the one that it has now? Else it can't say anything any more. */
static bool lives(const struct view *self, const struct member *member)
{
    const struct node_record *record = record_of(self, member->node);

    return record != NULL && record->incarnation == member->incarnation;
}

/* Who should be the incoming member: the present life of the slot's node, if that is another one
 * than the slot names and has a log to copy into. False: nobody. */
static bool successor_of(const struct view *self, const struct slot *slot, struct member *out)
{
    uint32_t node = slot_is_pair(slot) ? slot->incoming.node : slot->current.node;
    const struct node_record *record = record_of(self, node);

    if (record == NULL || !record->durable || self->document->durability == DURABILITY_MEMORY) {
        return false;
    }
    *out = (struct member){.node = node, .incarnation = record->incarnation};
    return !member_equal(out, &slot->current);
}

static uint32_t fences_needed(const struct view *self)
{
    uint32_t needed = quorum_fences(&self->document->content.rule);

#ifdef ORBLOOM_MUTANT_CHANGE_ONE_FENCE_SHORT
    needed--;
#endif
    return needed;
}

static uint8_t fenced(const struct view *self, uint32_t group)
{
    return self->evidence != NULL ? self->evidence->groups[group].current_fenced : 0;
}

/* Members that have fenced, that still can, and that still can and are heard of. */
struct fences {
    uint32_t have;
    uint32_t possible;
    uint32_t near;
};

static struct fences count_fences(const struct view *self, uint32_t group)
{
    const struct slot *slots = self->document->content.groups[group].slots;
    struct fences count = {0};

    for (uint32_t i = 0; i < self->document->content.rule.replicas; i++) {
        const struct member *member = &slots[i].current;
        bool has = (fenced(self, group) >> i & 1) != 0;
        bool can = has || lives(self, member);

        count.have += has;
        count.possible += can;
        count.near += has || (can && is_alive(self, record_of(self, member->node)));
    }
    return count;
}

/* What stage the group is in: its pairs move together. */
static enum slot_stage group_stage(const struct view *self, uint32_t group)
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
    if (out->wait == CHANGE_WAIT_NONE) {
        out->wait = wait;
        out->group = group;
        out->have = have;
        out->needed = needed;
        out->who = who != NULL ? *who : (struct member){0};
    }
}

static enum outlook await_fences(const struct view *self, uint32_t group,
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

static enum outlook look_at_single(const struct view *self, uint32_t group,
                                   struct change_decision *out)
{
    const struct slot *slots = self->document->content.groups[group].slots;
    struct fences fences = count_fences(self, group);
    bool begins = false;
    struct member successor;

    for (uint32_t i = 0; i < self->document->content.rule.replicas; i++) {
        if (successor_of(self, &slots[i], &successor)) {
            begins = true;
        } else if (!lives(self, &slots[i].current)) {
            note(out, CHANGE_WAIT_DISK, group, 0, 0, &slots[i].current);
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

static enum outlook look_at_pair(const struct view *self, uint32_t group,
                                 struct change_decision *out)
{
    const struct slot *slots = self->document->content.groups[group].slots;
    struct fences fences = count_fences(self, group);
    enum outlook outlook = await_fences(self, group, &fences, out);

    for (uint32_t i = 0; i < self->document->content.rule.replicas; i++) {
        struct member successor;

        if (!slot_is_pair(&slots[i])) {
            continue;
        }
        if (!successor_of(self, &slots[i], &successor) ||
            !member_equal(&successor, &slots[i].incoming)) {
            return OUTLOOK_MEND;
        }
        if (self->evidence == NULL || (self->evidence->groups[group].complete >> i & 1) == 0) {
            note(out, CHANGE_WAIT_COPY, group, 0, 0, &slots[i].incoming);
            outlook = outlook == OUTLOOK_STUCK ||
                              !is_alive(self, record_of(self, slots[i].incoming.node))
                          ? OUTLOOK_STUCK
                          : OUTLOOK_WAIT;
        }
    }
    return outlook;
}

static enum outlook look_at_moved(const struct view *self, uint32_t group,
                                  struct change_decision *out)
{
    struct fences fences = count_fences(self, group);

#ifdef ORBLOOM_MUTANT_NO_FENCE_V3
    fences.have = self->document->content.rule.replicas;
#endif
    return await_fences(self, group, &fences, out);
}

static enum outlook look_at(const struct view *self, uint32_t group, struct change_decision *out)
{
    switch (group_stage(self, group)) {
    case SLOT_SINGLE:
        return look_at_single(self, group, out);
    case SLOT_PAIR:
        return look_at_pair(self, group, out);
    case SLOT_MOVED:
        return look_at_moved(self, group, out);
    }
    return OUTLOOK_NONE;
}

/* ---- edits ---- */

static void pair_up(const struct view *self, struct slot *slot)
{
    struct member successor;

    slot->incoming = successor_of(self, slot, &successor) ? successor : (struct member){0};
}

static void move_on(struct slot *slot)
{
    enum slot_stage stage = slot_stage(slot);

#ifdef ORBLOOM_MUTANT_NO_PAIR
    stage = stage == SLOT_PAIR ? SLOT_MOVED : stage;
#endif
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

static void edit(const struct view *self, enum outlook outlook, struct slot_group *group)
{
    for (uint32_t i = 0; i < self->document->content.rule.replicas; i++) {
        struct slot *slot = &group->slots[i];
        struct slot before = *slot;

        if (outlook == OUTLOOK_READY) {
            move_on(slot);
        } else if (outlook == OUTLOOK_BEGIN || outlook == OUTLOOK_MEND) {
            pair_up(self, slot);
        }
        assert(same_slot(&before, slot) || change_move_of(&before, slot) != NULL);
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

static struct survey survey(const struct view *self, struct change_decision *out)
{
    struct survey sum = {0};

    for (uint32_t group = 0; group < self->document->content.ngroups; group++) {
        const struct slot *slots = self->document->content.groups[group].slots;
        enum outlook outlook = look_at(self, group, out);

        sum.waits |= outlook == OUTLOOK_WAIT;
        sum.mends |= outlook == OUTLOOK_MEND;
        sum.moves |= outlook == OUTLOOK_READY || outlook == OUTLOOK_BEGIN;
        if (outlook != OUTLOOK_NONE) {
            note_step(out, group_stage(self, group));
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
                   const struct evidence *evidence, const bool *alive, struct slot_group *next,
                   struct change_decision *out)
{
    const struct view self = {document, nodes, evidence, alive};
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

        edit(&self, look_at(&self, group, &unused), &next[group]);
    }
}

uint8_t change_fences_wanted(const struct filter_document *document, const struct node_list *nodes,
                             const struct evidence *evidence, uint32_t group)
{
    const struct view self = {document, nodes, evidence, NULL};
    struct fences fences = count_fences(&self, group);
    uint8_t wanted = 0;

    if (group_stage(&self, group) == SLOT_SINGLE || fences.have >= fences_needed(&self)) {
        return 0;
    }
    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        const struct slot *slot = &document->content.groups[group].slots[i];

        if ((fenced(&self, group) >> i & 1) == 0 && lives(&self, &slot->current)) {
            wanted |= (uint8_t)(1U << i);
        }
    }
    return wanted;
}
