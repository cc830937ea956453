/* A row a filter, the round of questions that is under way, and who owes an answer. */
#include "coordinator/web/measured.h"

#include "base/heap.h"
#include "coordinator/ask/filter_question.h"

#include <assert.h>

struct row {
    uint64_t filter_id; /* 0: none */
    uint64_t wanted_us; /* until then */
    uint64_t due_us;    /* to be asked for; ACTOR_NEVER: nobody looks */
    uint64_t known_us;  /* `found` counts until then */
    struct report_sum found;
};

/* What the nodes of one filter say. */
struct round {
    uint64_t number; /* of its questions; 0: none is under way */
    uint64_t filter_id;
    uint64_t until_us;
    uint32_t asked;
    uint32_t answered;
    struct report_sum found;
};

struct debt {
    uint32_t node;
    uint32_t link;
    uint64_t number;   /* of the question; 0: it was answered */
    uint64_t until_us; /* it is waited for */
};

struct measured {
    struct row rows[MEASURED_FILTERS];
    struct round round;
    struct debt debts[DOCUMENT_MAX_NODES];
    uint64_t next_us; /* no other round before */
};

struct measured *measured_create(void)
{
    return heap_zalloc(1, sizeof(struct measured));
}

void measured_destroy(struct measured *self)
{
    heap_free(self);
}

/* ---- filters that are looked at ---- */

/* MEASURED_FILTERS: it has none. */
static size_t find(const struct measured *self, uint64_t filter_id)
{
    size_t at = 0;

    while (at < MEASURED_FILTERS && self->rows[at].filter_id != filter_id) {
        at++;
    }
    return at;
}

/* Its own row; else the one that is wanted least, so an empty one first. NULL: all are wanted. */
static struct row *place_of(struct measured *self, uint64_t now_us, uint64_t filter_id)
{
    size_t at = find(self, filter_id);
    struct row *least = &self->rows[0];

    if (at < MEASURED_FILTERS) {
        return &self->rows[at];
    }
    for (size_t i = 0; i < MEASURED_FILTERS; i++) {
        least = self->rows[i].wanted_us < least->wanted_us ? &self->rows[i] : least;
    }
    if (now_us < least->wanted_us) {
        return NULL;
    }
    *least = (struct row){.filter_id = filter_id, .due_us = now_us};
    return least;
}

void measured_want(struct measured *self, uint64_t now_us, uint64_t filter_id)
{
    struct row *row;

    assert(filter_id != 0);
    row = place_of(self, now_us, filter_id);
    if (row != NULL) {
        row->wanted_us = now_us + MEASURED_WANTED_US;
        row->due_us = row->due_us == ACTOR_NEVER ? now_us : row->due_us;
    }
}

/* The one that has waited longest; NULL: none is due. */
static struct row *choose(struct measured *self, uint64_t now_us)
{
    struct row *chosen = NULL;

    for (size_t i = 0; i < MEASURED_FILTERS; i++) {
        struct row *row = &self->rows[i];

        row->due_us = now_us < row->wanted_us ? row->due_us : ACTOR_NEVER;
        if (row->due_us <= now_us && (chosen == NULL || row->due_us < chosen->due_us)) {
            chosen = row;
        }
    }
    return chosen;
}

/* ---- asking ---- */

/* Where it is noted that the node owes an answer; NULL: it does already. */
static struct debt *debt_of(struct measured *self, uint64_t now_us, uint32_t node)
{
    struct debt *settled = NULL;

    for (size_t i = 0; i < DOCUMENT_MAX_NODES; i++) {
        struct debt *debt = &self->debts[i];
        bool open = debt->number != 0 && now_us < debt->until_us;

        if (open && debt->node == node) {
            return NULL;
        }
        settled = settled == NULL && !open ? debt : settled;
    }
    return settled;
}

/* Was it asked? */
static bool ask_node(struct coordinator *self, uint64_t now_us, uint32_t node)
{
    const struct round *round = &self->measured->round;
    struct debt *debt = debt_of(self->measured, now_us, node);
    uint32_t link = debt != NULL ? filter_question_send(self, node, round->number, round->filter_id)
                                 : 0;

    if (link == 0) {
        return false;
    }
    *debt = (struct debt){.node = node,
                          .link = link,
                          .number = round->number,
                          .until_us = now_us + MEASURED_SILENT_US};
    return true;
}

static void ask(struct coordinator *self, uint64_t now_us, const struct filter_document *document)
{
    const struct node_list *nodes = &self->documents.nodes;
    struct round *round = &self->measured->round;

    *round = (struct round){.number = ++self->inquiries,
                            .filter_id = document->id,
                            .until_us = now_us + MEASURED_PATIENCE_US};
    for (uint32_t i = 0; i < nodes->count; i++) {
        uint32_t node = nodes->nodes[i].id;

        if (heard_alive(self, now_us, node) && document_has_member(document, node)) {
            round->asked += ask_node(self, now_us, node);
        }
    }
}

/* What was known before stays where nobody has answered. */
static void end(struct measured *self, uint64_t now_us)
{
    size_t at = find(self, self->round.filter_id);

    if (at < MEASURED_FILTERS && self->round.answered > 0) {
        self->rows[at].found = self->round.found;
        self->rows[at].known_us = now_us + MEASURED_KNOWN_US;
    }
    self->round = (struct round){0};
}

static void begin(struct coordinator *self, uint64_t now_us, struct row *row)
{
    const struct document_entry *entry = document_cache_find(&self->documents, row->filter_id);

    if (entry == NULL || entry->document.content.state == FILTER_DROPPED) {
        *row = (struct row){.due_us = ACTOR_NEVER};
        return;
    }
    ask(self, now_us, &entry->document);
    row->due_us = now_us + MEASURED_AGAIN_US;
    if (self->measured->round.asked == 0) { /* Links are not connected at once. */
        row->due_us = now_us + MEASURED_PATIENCE_US;
        end(self->measured, now_us);
    }
}

void measured_turn(struct coordinator *self, uint64_t now_us)
{
    struct measured *measured = self->measured;
    struct row *row;

    if (measured == NULL) {
        return;
    }
    if (measured->round.number != 0 && now_us >= measured->round.until_us) {
        end(measured, now_us);
    }
    if (measured->round.number != 0 || now_us < measured->next_us) {
        return;
    }
    row = choose(measured, now_us);
    if (row != NULL) {
        begin(self, now_us, row);
        measured->next_us = now_us + MEASURED_EACH_US;
    }
}

uint64_t measured_next_us(const struct coordinator *self)
{
    const struct measured *measured = self->measured;
    uint64_t next_us = ACTOR_NEVER;

    if (measured == NULL) {
        return ACTOR_NEVER;
    }
    if (measured->round.number != 0) {
        return measured->round.until_us;
    }
    for (size_t i = 0; i < MEASURED_FILTERS; i++) {
        const struct row *row = &measured->rows[i];

        next_us = row->filter_id != 0 && row->due_us < next_us ? row->due_us : next_us;
    }
    return next_us > measured->next_us ? next_us : measured->next_us;
}

/* ---- answers ---- */

static struct debt *debt_by(struct measured *self, uint32_t link, uint64_t number)
{
    for (size_t i = 0; i < DOCUMENT_MAX_NODES && number != 0; i++) {
        if (self->debts[i].number == number && self->debts[i].link == link) {
            return &self->debts[i];
        }
    }
    return NULL;
}

/* Of one that has nothing to report, too: others may. */
static void count(struct round *round, const struct info_reply *reply)
{
    struct report_sum sum = report_summarize(reply->replicas, reply->nreplicas, round->filter_id);

    report_sum_probes(&round->found, sum.probes, sum.probe_hits);
    round->answered++;
}

bool measured_hear(struct measured *self, uint64_t now_us, uint32_t link, const struct frame *frame)
{
    struct debt *debt = debt_by(self, link, frame->correlation);
    struct round *round = &self->round;

    assert(frame->kind == FRAME_INFO_REPLY);
    if (debt == NULL) {
        return false;
    }
    *debt = (struct debt){0};
    if (round->number != frame->correlation) {
        return true;
    }
    count(round, &frame->body.info_reply);
    if (round->answered == round->asked) {
        end(self, now_us);
    }
    return true;
}

const struct report_sum *measured_of(const struct measured *self, uint64_t now_us,
                                     uint64_t filter_id)
{
    size_t at = find(self, filter_id);

    return at < MEASURED_FILTERS && now_us < self->rows[at].known_us ? &self->rows[at].found : NULL;
}
