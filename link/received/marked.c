/* Of which moment all that the source has acknowledged is here. While somebody wants to know, marks
 * are asked for: the source answers how far its nodes' logs went, and by which batch that is here.
 * When that batch is applied the mark counts (site/mark.h) for plain checks, and for more once
 * these ends are noted by nodes here, so that the source can't be put back behind them unnoticed,
 * and nodes here have told once more the boots that they had. Ends that the source tells unasked
 * (confirms.c) are proved in the same way, and are no mark: nobody here knows when they were
 * gathered. */
#include "base/mutant.h"
#include "link/private.h"

#include <assert.h>
#include <string.h>

enum { UNVOUCHED_FIRST_US = 10000000, UNVOUCHED_MOST_US = 600000000 };

/* ---- what is kept of answers ---- */

static void forget_first(struct marked *marked)
{
    heap_free(marked->answered[0].ends);
    marked->nanswered--;
    memmove(&marked->answered[0], &marked->answered[1],
            marked->nanswered * sizeof marked->answered[0]);
}

void marked_stop(struct inflow *inflow)
{
    while (inflow->marked.nanswered > 0) {
        forget_first(&inflow->marked);
    }
    inflow->marked.unvouched_us = 0;
    marks_disconnected(&inflow->marked.marks);
}

void marked_fini(struct inflow *inflow)
{
    marked_stop(inflow);
    marks_fini(&inflow->marked.marks);
}

/* What was applied may be lost here. */
void marked_void(struct inflow *inflow)
{
    struct marked *marked = &inflow->marked;

    marked_fini(inflow);
    marked->applied = marked->confirming = marked->confirmed = 0;
    marked->reached = marked->proving = marked->proved = 0;
    marked->confirming_us = marked->confirmed_us = 0;
    marked->known = marked->vouching = marked->vouched = (struct mark_moment){0};
    vouched_void(inflow);
    inflow->evidence = (struct inflow_evidence){0};
}

/* ---- asking ---- */

void marked_want(struct inflow *inflow, uint64_t until_us, bool at_once)
{
    struct marked *marked = &inflow->marked;

    marked->wanted_until_us = until_us > marked->wanted_until_us ? until_us
                                                                 : marked->wanted_until_us;
    marked->at_once |= at_once;
}

bool inflow_want_marks(struct link *self, uint64_t filter_id, uint32_t peer, uint64_t until_us)
{
    struct inflow *inflow = inflow_find(self, filter_id, peer);

    if (inflow == NULL) {
        return false;
    }
    marked_want(inflow, until_us, true);
    return true;
}

static bool is_wanted(const struct inflow *inflow, uint64_t now_us)
{
    return inflow->marked.unsettled || now_us < inflow->marked.wanted_until_us;
}

/* Other lives, another keyset or set of sites: then what was marked before counts no more. */
static void enter(struct link *self, struct inflow *inflow)
{
    struct marked *marked = &inflow->marked;
    const struct mark_scope scope = {
        .own = inflow->own_life,
        .source = inflow->source_life,
        .set_hash = marked->set_hash,
        .keyset = inflow->keyset,
    };

    if (marked->marks.tag == 0) {
        marks_init(&marked->marks, self->inner.random(self->inner.context) | 1);
    }
    if (marked->marks.entered && marked->marks.scope.set_hash != marked->set_hash) {
        marked_stop(inflow);
        marked->applied = marked->confirming = marked->confirmed = marked->marks.begun;
        marked->confirmed_us = 0;
        marked->known = marked->vouching = marked->vouched = (struct mark_moment){0};
        inflow->evidence.marked_us = inflow->evidence.noted_us = 0;
        inflow->evidence.known_us = 0;
    }
    marks_enter(&marked->marks, &scope);
}

static void ask(struct link *self, uint64_t now_us, struct inflow *inflow)
{
    struct marked *marked = &inflow->marked;
    struct channel *channel = channel_find(self, inflow->channel);
    struct mark_id id;
    struct frame frame = {.kind = FRAME_SITE_MARK};

    marked->next_us = now_us + self->config.mark_interval_us;
    if (channel == NULL || marks_begin(&marked->marks, now_us, &id) != STATUS_OK) {
        return; /* Those under way come first. */
    }
    marked->at_once = false;
    frame.body.site_mark = (struct site_mark){.stream = inflow->stream, .mark = id.number};
    (void)channel_send(self, channel, &frame); /* Unanswered, it makes room after a while. */
}

/* ---- answers ---- */

/* False: memory is out. */
static bool keep_answer(struct inflow *inflow, const struct site_marked *message)
{
    struct marked *marked = &inflow->marked;
    struct answered_mark *answered;

    if (marked->nanswered == INFLOW_MARKS) {
        forget_first(marked);
    }
    answered = &marked->answered[marked->nanswered];
    *answered = (struct answered_mark){
        .mark = message->mark,
        .batch = message->number,
        .ends = heap_alloc(message->nends + 1, sizeof *answered->ends),
        .nends = message->nends,
        .vouched_set = message->vouched_set,
    };
    if (answered->ends == NULL) {
        return false;
    }
    memcpy(answered->ends, message->ends, message->nends * sizeof *answered->ends);
    marked->nanswered++;
    return true;
}

static bool is_log_place(const struct site_source *end)
{
    return end->node != 0 && end->incarnation != 0 && end->boot != 0 && end->offset % 8 == 0 &&
           end->offset <= INT64_MAX;
}

static struct mark_log log_of(const struct site_source *end)
{
    return (struct mark_log){.group = end->group,
                             .node = end->node,
                             .incarnation = end->incarnation,
                             .boot = end->boot,
                             .offset = end->offset};
}

/* The caller frees what it gets, also what makes no sense. */
static enum status logs_of(const struct site_source *ends, size_t nends, struct mark_log **logs)
{
    enum status status = STATUS_OK;

    *logs = heap_alloc(nends + 1, sizeof **logs);
    if (*logs == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < nends && status == STATUS_OK; i++) {
        (*logs)[i] = log_of(&ends[i]);
        status = is_log_place(&ends[i]) ? STATUS_OK : STATUS_MALFORMED;
    }
    return status;
}

static enum status judge(struct inflow *inflow, const struct site_marked *message)
{
    struct marked *marked = &inflow->marked;
    const struct mark_id id = {.tag = marked->marks.tag, .number = message->mark};
    struct mark_log *logs;
    enum status status = logs_of(message->ends, message->nends, &logs);

    if (status == STATUS_OK) {
        status = marks_answered(&marked->marks, &id, message->groups, message->read, logs,
                                message->nends);
    }
    heap_free(logs);
    return status;
}

enum status marked_judge_ends(uint32_t ngroups, uint32_t read, const struct site_source *ends,
                              size_t nends)
{
    struct mark_log *logs;
    enum status status = logs_of(ends, nends, &logs);

    if (status == STATUS_OK && !mark_ends_are_whole(ngroups, read, logs, nends)) {
        status = STATUS_MALFORMED;
    }
    heap_free(logs);
    return status;
}

/* A link of the other site may not speak with a further one, while another of its links does. */
static void note_vouched(struct link *self, struct inflow *inflow,
                         const struct site_marked *message)
{
    struct marked *marked = &inflow->marked;

    if (message->vouched_set != 0) {
        marked->unvouched_us = marked->patience_us = 0;
    } else if (marked->unvouched_us == 0) {
        marked->unvouched_us = self->now_us;
    }
}

bool marked_tries_another(struct link *self, uint64_t now_us, struct inflow *inflow)
{
    struct marked *marked = &inflow->marked;
    bool tries = marked->unvouched_us != 0 && is_wanted(inflow, now_us) &&
                 now_us - marked->unvouched_us >= most(marked->patience_us, UNVOUCHED_FIRST_US);

    if (tries) {
        marked->unvouched_us = 0;
        marked->patience_us = least(2 * most(marked->patience_us, UNVOUCHED_FIRST_US),
                                    UNVOUCHED_MOST_US);
    }
    return tries && channel_in_turn(self, inflow->peer, &inflow->uid, 1) !=
                        channel_for(self, inflow->peer, &inflow->uid);
}

void inflow_on_marked(struct link *self, struct channel *channel, const struct site_marked *message)
{
    struct inflow *inflow = inflow_of(self, channel, message->stream);
    enum status status;

    if (inflow == NULL) {
        return;
    }
    status = judge(inflow, message);
    if (status == STATUS_MALFORMED) {
        inflow_close(self, inflow, status, "the answer to a mark makes no sense");
    } else if (status == STATUS_OK && !keep_answer(inflow, message)) {
        inflow_close(self, inflow, STATUS_NOMEM, "out of memory");
    } else if (status == STATUS_OK) {
        vouched_take(inflow, message);
        note_vouched(self, inflow, message);
    }
}

/* ---- applied ---- */

/* NULL: of that log nothing is known. */
static struct site_source *find_source(struct inflow *inflow, const struct site_source *end)
{
    for (size_t i = 0; i < inflow->nsources; i++) {
        if (inflow->sources[i].group == end->group && inflow->sources[i].node == end->node) {
            return &inflow->sources[i];
        }
    }
    return NULL;
}

/* The log is that far here. One of another boot is what the source has followed since: nodes have
 * to note that one, or the source could be put back behind it unnoticed. False: there is no room
 * for it. */
static bool take_place(struct inflow *inflow, const struct site_source *end, bool *moved)
{
    struct site_source *source = find_source(inflow, end);

    if (source != NULL) {
        bool same = source->incarnation == end->incarnation && source->boot == end->boot;

        if (!same || source->offset < end->offset) {
            *source = *end;
            *moved = true;
        }
        return true;
    }
    if (inflow->nsources == SITE_MAX_SOURCES ||
        !heap_grow(&inflow->sources, &inflow->sources_capacity, inflow->nsources + 1,
                   sizeof *inflow->sources)) {
        return false;
    }
    inflow->sources[inflow->nsources++] = *end;
    *moved = true;
    return true;
}

/* What the places now hold is to be proved. */
static uint64_t note_reached(struct inflow *inflow)
{
    inflow->marked.version = inflow->places.version;
    return ++inflow->marked.reached;
}

/* By the very set that is known here: the source's may be an older one, as it was put back. */
static bool is_vouched(const struct marked *marked, uint64_t mark)
{
    for (uint32_t i = 0; i < marked->nanswered; i++) {
        if (marked->answered[i].mark == mark) {
            return marked->answered[i].vouched_set == marked->set_hash;
        }
    }
    return false;
}

/* A newer mark counts for plain checks. */
static void look(struct inflow *inflow)
{
    struct marked *marked = &inflow->marked;

    if (marked->marks.newest > marked->applied) {
        marked->applied = marked->marks.newest;
        inflow->evidence.marked_us = marked->marks.newest_us;
        (void)note_reached(inflow);
        if (is_vouched(marked, marked->applied) || MUTANT(SITE_VOUCHED_BY_ONE)) {
            marked->known = (struct mark_moment){marked->applied, marked->marks.newest_us};
        }
    }
}

/* All below these ends is applied. False: there was no room for all of them. */
static bool take_ends(struct inflow *inflow, const struct site_source *ends, size_t nends)
{
    bool moved = false;
    bool taken = true;

    for (size_t i = 0; i < nends && taken; i++) {
        const struct mark_log log = log_of(&ends[i]);

        taken = take_place(inflow, &ends[i], &moved) &&
                marks_applied(&inflow->marked.marks, &log) == STATUS_OK;
    }
    if (moved) {
        places_advanced(inflow, false);
    }
    return taken;
}

/* A mark that lacks an end does not count: only a later one will. */
static void apply_first(struct inflow *inflow)
{
    struct marked *marked = &inflow->marked;

    (void)take_ends(inflow, marked->answered[0].ends, marked->answered[0].nends);
    inflow->evidence.copied = true;
    inflow->evidence.whole_us = inflow->from_nothing_us;
    look(inflow);
    forget_first(marked);
}

uint64_t marked_reach(struct inflow *inflow, const struct site_source *ends, size_t nends)
{
    return take_ends(inflow, ends, nends) ? note_reached(inflow) : 0;
}

/* ---- confirmed ---- */

void marked_confirmed(struct inflow *inflow, const struct router_ends_told *told)
{
    struct marked *marked = &inflow->marked;
    bool known = vouched_has_all(inflow, told);

    marked->proved = marked->proving;
    if (marked->confirming > marked->confirmed) {
        marked->confirmed = marked->confirming;
        inflow->evidence.noted_us = marked->confirmed_us = marked->confirming_us;
    }
    if (known || MUTANT(SITE_DONE_UNVOUCHED)) {
        inflow->evidence.known_us = inflow->evidence.noted_us;
    }
    if (known) {
        marked->vouched = marked->vouching;
    }
    marked->news = inflow->self->confirmed_news = true;
}

/* A node here that is said to have started again may have lost what was here. */
static bool is_doubted(const struct inflow *inflow)
{
    return inflow->own.doubted || inflow->own.suspect;
}

bool marked_is_proved(const struct inflow *inflow, uint64_t reached)
{
    return reached != 0 && reached <= inflow->marked.proved && !is_doubted(inflow) &&
           !put_back_is(inflow->self, &inflow->uid, &inflow->own_life);
}

/* By the rule of all marks; nothing of a site that was put back. */
static struct mark_told tell(const struct inflow *inflow, struct mark_moment newest, uint64_t begun,
                             uint64_t now_us)
{
    struct marks confirmed = inflow->marked.marks;

    if (is_doubted(inflow) || put_back_is(inflow->self, &inflow->uid, &inflow->own_life)) {
        return (struct mark_told){0};
    }
    confirmed.newest = newest.begun_us > 0 ? newest.number : 0;
    confirmed.newest_us = newest.begun_us;
    return marks_tell(&confirmed, begun, now_us);
}

struct mark_told inflow_tell(const struct inflow *inflow, uint64_t begun, uint64_t now_us)
{
    return tell(inflow, inflow->marked.vouched, begun, now_us);
}

bool inflow_has_since(const struct inflow *inflow, uint64_t begun, uint64_t now_us)
{
    const struct marked *marked = &inflow->marked;
    const struct mark_moment newest = {marked->confirmed, marked->confirmed_us};

    return tell(inflow, newest, begun, now_us).after;
}

/* The places are noted first, then nodes are asked. */
static void confirm(struct inflow *inflow)
{
    struct marked *marked = &inflow->marked;

    if (own_boots_asked(inflow)) {
        return;
    }
    if (places_are_noted(inflow, marked->version)) {
        marked->proving = marked->reached;
        marked->confirming = marked->applied;
        marked->confirming_us = inflow->evidence.marked_us;
        marked->vouching = marked->known;
        own_boots_confirm(inflow);
    } else {
        places_hurry(inflow);
    }
}

/* ---- when ---- */

void marked_turn(struct link *self, uint64_t now_us, struct inflow *inflow)
{
    struct marked *marked = &inflow->marked;

    if (inflow->stream == 0 || self->config.mark_interval_us == 0) {
        return;
    }
    enter(self, inflow);
    while (marked->nanswered > 0 &&
           marked->answered[0].batch <=
               (MUTANT(SITE_MARK_UNAPPLIED) ? inflow->received : inflow->applied)) {
        apply_first(inflow);
    }
    look(inflow);
    if (marked->reached > marked->proved) {
        confirm(inflow);
    }
    if (is_wanted(inflow, now_us) && (marked->at_once || now_us >= marked->next_us)) {
        ask(self, now_us, inflow);
    }
}

uint64_t marked_next_us(const struct inflow *inflow)
{
    const struct marked *marked = &inflow->marked;

    return inflow->stream != 0 && is_wanted(inflow, marked->next_us) ? marked->next_us
                                                                     : ACTOR_NEVER;
}
