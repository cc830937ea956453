/* In which boots nodes of this site have told or acknowledged what an inflow knows.
 *
 * Nodes may be put back to an older copy while the link lives on. So nodes are asked for their
 * boots before anything is read from them, who acknowledges names its boot, and what is to count
 * for more is confirmed: R replicas of each slot group are asked once more. Whoever was put back
 * has another boot, and then all that is known is read from the nodes again: what they have lost,
 * they have no places for. Of any W that acknowledged and any R that are asked, one is in both. */
#include "base/mutant.h"
#include "link/private.h"

#include <assert.h>

enum { BOOTS_MS = 2000, BOOTS_AGAIN_US = 200000, BOOTS_AGAIN_DOUBLINGS = 4 };

void own_boots_fini(struct inflow *inflow)
{
    assert(!inflow->own.asked);
    heap_free(inflow->own.boots);
}

void own_boots_void(struct inflow *inflow)
{
    struct own_boots *own = &inflow->own;

    own->count = 0;
    own->doubted = own->confirm = own->suspect = false;
    own->failures = 0;
    own->late = own->asked;
}

static struct router_boot *find_boot(struct own_boots *own, uint32_t node)
{
    for (size_t i = 0; i < own->count; i++) {
        if (own->boots[i].member.node == node) {
            return &own->boots[i];
        }
    }
    return NULL;
}

static bool is_same(const struct router_boot *a, const struct router_boot *b)
{
    return member_equal(&a->member, &b->member) &&
           (a->boot == b->boot || MUTANT(SITE_MEMORY_OUTLIVES));
}

bool own_boots_differ(const struct inflow *inflow, const struct site_boot *log)
{
    const struct router_boot *one = find_boot((struct own_boots *)&inflow->own, log->node);

    return one != NULL && (one->member.incarnation != log->incarnation || one->boot != log->boot);
}

/* False: memory is out. */
static bool learn(struct own_boots *own, const struct router_boot *from)
{
    if (!heap_grow(&own->boots, &own->room, own->count + 1, sizeof *own->boots)) {
        return false;
    }
    own->boots[own->count++] = *from;
    return true;
}

/* Of W that acknowledge one at least is of the R that were asked first, and tells it. */
void own_boots_heard(struct inflow *inflow, const struct router_boot *from)
{
    struct own_boots *own = &inflow->own;
    const struct router_boot *known = find_boot(own, from->member.node);

    if (known != NULL) {
        own->doubted |= !is_same(known, from);
    } else if (!learn(own, from)) {
        own->doubted = true;
    }
}

/* Has that slot group somebody who has not started again since? */
static bool has_old(struct own_boots *own, const struct router_ends_told *told, uint32_t group)
{
    for (size_t i = 0; i < told->count; i++) {
        if (told->ends[i].group == group && find_boot(own, told->ends[i].node) != NULL) {
            return true;
        }
    }
    return false;
}

static struct router_boot boot_of(const struct router_end *end)
{
    return (struct router_boot){.member = {end->node, end->incarnation}, .boot = end->boot};
}

/* R of each slot group have told. Nobody may have another boot; who is new is learned, where one is
 * there that is not. */
static void judge_boots(struct inflow *inflow, const struct router_ends_told *told)
{
    struct own_boots *own = &inflow->own;

    for (size_t i = 0; i < told->count && !own->doubted; i++) {
        own->doubted = !has_old(own, told, told->ends[i].group);
    }
    for (size_t i = 0; i < told->count && !own->doubted; i++) {
        const struct router_boot boot = boot_of(&told->ends[i]);

        own_boots_heard(inflow, &boot);
    }
}

/* Those of the first question. False: they don't agree, or memory is out. */
bool own_boots_set(struct inflow *inflow, const struct router_ends_told *told)
{
    struct own_boots *own = &inflow->own;

    own->count = 0;
    for (size_t i = 0; i < told->count; i++) {
        const struct router_boot boot = boot_of(&told->ends[i]);

        own_boots_heard(inflow, &boot);
    }
    return !own->doubted;
}

/* ---- once more ---- */

/* What counts for more waits for it, so it is said why. */
static void put_off(struct inflow *inflow, enum status status, const char *cause)
{
    struct own_boots *own = &inflow->own;
    struct link *self = inflow->self;
    unsigned doublings = own->failures < BOOTS_AGAIN_DOUBLINGS ? own->failures
                                                               : BOOTS_AGAIN_DOUBLINGS;

    own->failures++;
    own->again_us = self->now_us + ((uint64_t)BOOTS_AGAIN_US << doublings);
    log_limited(&inflow->waits_log, self->now_us, LOG_WARN,
                "nodes could not be asked whether they have started again, so how much of filter "
                "%016llx of site %s is here is not confirmed: %s: %s",
                (unsigned long long)inflow->filter_id, self->config.peers[inflow->peer].name,
                status_code(status), cause);
}

static void on_boots(void *owner, const struct router_ends_told *told)
{
    struct inflow *inflow = owner;
    struct own_boots *own = &inflow->own;
    bool late = own->late;

    own->asked = own->late = false;
    if (late) {
        return; /* It was about what is not known any more. */
    }
    if (!inflow_lasts(inflow)) {
        return; /* Nor is it known any more what this is about. */
    }
    if (told->status != STATUS_OK) {
        put_off(inflow, told->status, told->message);
        return;
    }
    judge_boots(inflow, told);
    own->confirm = own->suspect = false;
    own->failures = 0;
    if (!own->doubted) {
        marked_confirmed(inflow, told);
    }
}

void own_boots_confirm(struct inflow *inflow)
{
    inflow->own.confirm = true;
}

bool own_boots_asked(const struct inflow *inflow)
{
    return inflow->own.asked;
}

/* What coordinators know of a node's boot may be behind, or ahead: then the nodes are asked. */
static void look_at_list(struct inflow *inflow)
{
    struct own_boots *own = &inflow->own;
    const struct node_list *list = &router_documents(inflow->self->router)->nodes;

    if (list->revision == own->list) {
        return;
    }
    own->list = list->revision;
    for (size_t i = 0; i < own->count; i++) {
        const struct node_record *record = node_list_find(list, own->boots[i].member.node);

        own->suspect |= record != NULL && record->boot != 0 && record->boot != own->boots[i].boot;
    }
    own->confirm |= own->suspect;
}

void own_boots_turn(struct link *self, uint64_t now_us, struct inflow *inflow)
{
    struct own_boots *own = &inflow->own;
    const struct router_ends question = {
        .filter_id = inflow->filter_id,
        .timeout_ms = BOOTS_MS,
        .done = on_boots,
        .owner = inflow,
    };

    look_at_list(inflow);
    if (own->confirm && !own->asked && inflow->places.written == 0 && now_us >= own->again_us) {
        /* What is being noted is noted before, and nothing more is until they have told. */
        own->asked = true;
        router_ends(self->router, now_us, &question);
    }
}

uint64_t own_boots_next_us(const struct inflow *inflow)
{
    return inflow->own.confirm && !inflow->own.asked ? inflow->own.again_us : ACTOR_NEVER;
}
