/* What links of other sites ask: is all here that is acknowledged there now? An add that is to be
 * with several sites is acknowledged by the answer, so a wrong "yes" breaks a promise.
 *
 * A mark is begun for it, as what was under way may lack what was acknowledged since it was begun.
 * "Yes" is said once that one counts for more (marked.c): it is applied with W replicas, they have
 * noted it, and have the boots that they had. The lives and the set of sites that the question
 * names have to be those of the document here, when it comes and when it is answered: who was put
 * back names an older set. With the document's epoch the question ends. Whoever asks repeats it
 * until it is answered, so one that ended, or whose answer is lost, is simply asked anew.
 *
 * The question may bring what the source would answer to that mark: the ends of its logs, which it
 * has gathered after it was asked itself, and by which batch of the stream all below them comes.
 * That is half a round trip sooner, twice, and says the same. The models begin a mark when R
 * replicas are asked for their ends (tests/models/site_mark.pml), whoever had them asked; and what
 * it takes for a mark to be confirmed, it takes here. Only the time is missing at which it began by
 * the clock here (site_fresh.pml, ENDS_BEFORE and B0_LATE): so such ends answer their question, and
 * count for no age, no fresh check and no evidence. They hold while the stream does that brought
 * them. Where it ends before, and where there is no room for them, a mark is begun. */
#include "base/mutant.h"
#include "link/private.h"

/* Marks go on for so long; each repetition of the question wants them anew. */
enum { CONFIRM_WANTED_US = 1000000 };

/* NULL: it is not received any more. */
static struct inflow *inflow_for(const struct link *self, const struct confirm_wait *wait)
{
    return inflow_find(self, wait->filter_id, wait->peer);
}

/* Do the ends that it has brought count? */
static bool are_ends_proved(const struct confirm_wait *wait, struct inflow *inflow,
                            const struct document_entry *entry, const struct site_entry *asker)
{
    return inflow != NULL && inflow->stream != 0 && inflow->stream == wait->ends.stream &&
           marked_is_proved(inflow, wait->ends.reached) && ages_is_about(inflow, entry, asker);
}

/* STATUS_OK: it has; STATUS_NOT_READY: that is not known yet; else it is refused. */
static enum status judge(const struct link *self, const struct confirm_wait *wait)
{
    const struct site_confirm *question = &wait->question;
    const struct document_entry *entry = document_cache_find(router_documents(self->router),
                                                             wait->filter_id);
    enum status status = site_filter_shared(self, wait->peer, entry, &question->other_life,
                                            &question->asker_life);
    struct inflow *inflow = inflow_for(self, wait);
    const struct site_set *set;
    const struct site_entry *asker;

    if (status != STATUS_OK) {
        return status;
    }
    set = document_sites(&entry->document);
    asker = site_set_find(set, &self->config.peers[wait->peer].id);
    if (!MUTANT(SITE_CONFIRM_ANY_SET) &&
        (entry->document.epoch != wait->epoch || mark_set_hash(set) != question->set_hash)) {
        return STATUS_STALE;
    }
    return are_ends_proved(wait, inflow, entry, asker) ||
                   ages_has_since(self, inflow, entry, asker, &wait->noted)
               ? STATUS_OK
               : STATUS_NOT_READY;
}

/* By a channel that is gone nobody hears it; who asks repeats it by another one. */
static void answer(struct link *self, const struct confirm_wait *wait, enum status status)
{
    struct channel *channel = channel_find(self, wait->channel);
    const struct frame frame = {
        .kind = FRAME_SITE_CONFIRMED,
        .body.site_confirmed = {.number = wait->question.number, .status = status},
    };

    link_count(
        self, status == STATUS_OK ? LINK_site_confirms_total : LINK_site_confirms_refused_total, 1);
    if (channel != NULL) {
        (void)channel_send(self, channel, &frame);
    }
}

/* ---- waiting ---- */

static struct confirm_wait *find(struct link *self, uint32_t peer, uint64_t number)
{
    struct confirm_wait *wait;

    TAILQ_FOREACH(wait, &self->confirms.waiting, link)
    {
        if (wait->peer == peer && wait->question.number == number) {
            return wait;
        }
    }
    return NULL;
}

static void drop_ends(struct link *self, struct confirm_wait *wait)
{
    self->confirms.nends -= wait->ends.nends;
    heap_free(wait->ends.ends);
    wait->ends.ends = NULL;
    wait->ends.nends = 0;
}

static void forget(struct link *self, struct confirm_wait *wait)
{
    drop_ends(self, wait);
    TAILQ_REMOVE(&self->confirms.waiting, wait, link);
    self->confirms.nwaiting--;
    heap_free(wait);
}

/* NULL: it is refused. */
static struct confirm_wait *keep(struct link *self, const struct confirm_wait *wait)
{
    struct confirms *confirms = &self->confirms;
    struct confirm_wait *kept = confirms->nwaiting < CONFIRMS_MAX_WAITING
                                    ? heap_alloc(1, sizeof *kept)
                                    : NULL;

    if (kept == NULL) {
        answer(self, wait, STATUS_OVERLOADED);
        return NULL;
    }
    *kept = *wait;
    TAILQ_INSERT_TAIL(&confirms->waiting, kept, link);
    confirms->nwaiting++;
    confirms->due_us = least(confirms->due_us, kept->until_us);
    return kept;
}

static bool is_same(const struct site_confirm *a, const struct site_confirm *b)
{
    return filter_uid_equal(&a->uid, &b->uid) && a->set_hash == b->set_hash &&
           site_life_compare(&a->asker_life, &b->asker_life) == 0 &&
           site_life_compare(&a->other_life, &b->other_life) == 0;
}

static uint64_t until(uint64_t now_us, const struct site_confirm *message)
{
    uint32_t wait_ms = message->wait_ms < SITE_AGE_MAX_WAIT_MS ? message->wait_ms
                                                               : SITE_AGE_MAX_WAIT_MS;

    return now_us + wait_ms * UINT64_C(1000);
}

/* The one that waits already, and goes on to, for the mark that it has waited for. NULL: it is as
 * one that comes for the first time. */
static struct confirm_wait *repeated(struct link *self, uint64_t now_us,
                                     const struct channel *channel,
                                     const struct site_confirm *message)
{
    struct confirm_wait *wait = find(self, channel->peer, message->number);
    enum status status;

    if (wait == NULL) {
        return NULL;
    }
    status = is_same(&wait->question, message) ? judge(self, wait) : STATUS_STALE;
    if (status != STATUS_OK && status != STATUS_NOT_READY) {
        forget(self, wait);
        return NULL;
    }
    wait->channel = channel->number;
    wait->until_us = until(now_us, message);
    wait->news |= status == STATUS_OK;
    self->confirms.news |= wait->news;
    self->confirms.due_us = least(self->confirms.due_us, wait->until_us);
    return wait;
}

/* NULL: it is answered. */
static struct confirm_wait *begin(struct link *self, uint64_t now_us, const struct channel *channel,
                                  const struct site_confirm *message)
{
    const struct document_entry *entry = site_filter_of(self, &message->uid);
    struct confirm_wait wait = {
        .question = *message,
        .peer = channel->peer,
        .channel = channel->number,
        .filter_id = entry != NULL ? entry->document.id : 0,
        .epoch = entry != NULL ? entry->document.epoch : 0,
        .until_us = until(now_us, message),
    };
    enum status status;

    wait.question.ends = NULL;
    wait.question.nends = 0;
    wait.noted = ages_note(inflow_for(self, &wait));
    status = judge(self, &wait);
    if (status == STATUS_NOT_READY) {
        return keep(self, &wait);
    }
    answer(self, &wait, status);
    return NULL;
}

/* ---- with ends ---- */

static void want_mark(struct link *self, uint64_t now_us, const struct confirm_wait *wait,
                      bool at_once)
{
    struct inflow *inflow = inflow_for(self, wait);

    if (inflow != NULL) {
        marked_want(inflow, now_us + CONFIRM_WANTED_US, at_once);
    }
}

/* Two times the same question is about the same. */
static bool has_ends(const struct confirm_wait *wait, uint64_t stream)
{
    return wait->ends.stream == stream && (wait->ends.ends != NULL || wait->ends.reached != 0);
}

/* True: it waits for its ends. They are of a stream that is received here, by the same channel. */
static bool keep_ends(struct link *self, const struct channel *channel, struct confirm_wait *wait,
                      const struct site_confirm *message)
{
    struct confirms *confirms = &self->confirms;
    const struct inflow *inflow = inflow_of(self, channel, message->stream);
    struct site_source *ends;

    if (message->nends == 0 || inflow == NULL || inflow->filter_id != wait->filter_id) {
        return false;
    }
    if (has_ends(wait, message->stream)) {
        return true;
    }
    if (message->nends > CONFIRMS_MAX_ENDS - confirms->nends ||
        marked_judge_ends(message->groups, message->read, message->ends, message->nends) !=
            STATUS_OK) {
        return false;
    }
    ends = heap_alloc(message->nends, sizeof *ends);
    if (ends == NULL) {
        return false;
    }
    memcpy(ends, message->ends, message->nends * sizeof *ends);
    drop_ends(self, wait);
    wait->ends = (struct confirm_ends){
        .stream = message->stream, .batch = message->batch, .ends = ends, .nends = message->nends};
    confirms->nends += message->nends;
    return true;
}

/* True: all below the ends is here now, or will not be by that stream. */
static bool reach(struct link *self, uint64_t now_us, struct confirm_wait *wait)
{
    struct confirm_ends *ends = &wait->ends;
    struct inflow *inflow = inflow_for(self, wait);
    bool lasts = inflow != NULL && inflow->stream == ends->stream;

    if (lasts && inflow->applied < ends->batch) {
        return false;
    }
    if (lasts) {
        ends->reached = marked_reach(inflow, ends->ends, ends->nends);
    }
    if (ends->reached == 0) {
        want_mark(self, now_us, wait, true);
    }
    return true;
}

void confirms_reach(struct link *self, uint64_t now_us)
{
    struct confirm_wait *wait;

    if (self->confirms.nends == 0) {
        return;
    }
    TAILQ_FOREACH(wait, &self->confirms.waiting, link)
    {
        if (wait->ends.ends != NULL && reach(self, now_us, wait)) {
            drop_ends(self, wait);
        }
    }
}

/* ---- a question ---- */

void confirms_on_confirm(struct link *self, uint64_t now_us, const struct channel *channel,
                         const struct site_confirm *message)
{
    struct confirm_wait *wait = repeated(self, now_us, channel, message);
    bool first = wait == NULL;

    if (first) {
        wait = begin(self, now_us, channel, message);
    }
    if (wait != NULL && !keep_ends(self, channel, wait, message)) {
        want_mark(self, now_us, wait, first);
    }
}

/* ---- answering ---- */

void confirms_marked(const struct inflow *inflow)
{
    struct confirms *confirms = &inflow->self->confirms;
    struct confirm_wait *wait;

    TAILQ_FOREACH(wait, &confirms->waiting, link)
    {
        wait->news |= wait->filter_id == inflow->filter_id && wait->peer == inflow->peer;
        confirms->news |= wait->news;
    }
}

/* True: it is answered. */
static bool look(struct link *self, uint64_t now_us, struct confirm_wait *wait)
{
    bool over = now_us >= wait->until_us;
    enum status status;

    if (!over && !wait->news) {
        return false;
    }
    wait->news = false;
    status = judge(self, wait);
    if (status == STATUS_NOT_READY && !over) {
        return false;
    }
    answer(self, wait, status == STATUS_NOT_READY ? STATUS_DEADLINE : status);
    return true;
}

void confirms_turn(struct link *self, uint64_t now_us)
{
    struct confirms *confirms = &self->confirms;
    struct confirm_wait *wait = TAILQ_FIRST(&confirms->waiting);

    if (!confirms->news && now_us < confirms->due_us) {
        return;
    }
    confirms->news = false;
    confirms->due_us = ACTOR_NEVER;
    while (wait != NULL) {
        struct confirm_wait *next = TAILQ_NEXT(wait, link);

        if (look(self, now_us, wait)) {
            forget(self, wait);
        } else {
            confirms->due_us = least(confirms->due_us, wait->until_us);
        }
        wait = next;
    }
}

uint64_t confirms_next_us(const struct link *self)
{
    return self->confirms.due_us;
}

/* ---- life ---- */

void confirms_init(struct link *self)
{
    TAILQ_INIT(&self->confirms.waiting);
    self->confirms.due_us = ACTOR_NEVER;
}

void confirms_fini(struct link *self)
{
    while (!TAILQ_EMPTY(&self->confirms.waiting)) {
        forget(self, TAILQ_FIRST(&self->confirms.waiting));
    }
}
