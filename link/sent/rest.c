/* Places of streams without traffic. The logs of nodes go on with what is added to other filters,
 * and how far they are taken has to be known: nodes keep what is not, and a link that starts reads
 * from there. A batch for each stream that says nothing else would cost more than all of their
 * keys. So greetings tell it, now and then, for all streams of the channel at once: up to where the
 * log of each node is taken, the least by any of them. Those that have traffic are named; they tell
 * it by themselves, and so do those that know a log by another boot than the others.
 *
 * It is said of streams of which all that was sent is applied, and believed where the streams are
 * the same on both sides (alive.c), and all that came is applied. */
#include "base/heap.h"
#include "link/private.h"

enum { REST_US = 10000000 };

/* ---- sent ---- */

static bool is_at_rest(const struct outflow *outflow)
{
    bool rests = outflow->applied == outflow->number && outflow->npending == 0 &&
                 !outflow->section.active && outflow->kept.size == 0;

    for (size_t i = 0; i < outflow->nfollows && rests; i++) {
        const struct follow *follow = &outflow->follows[i];

        rests = !follow->fills && follow->taken_boot == follow->source.boot;
    }
    return rests;
}

/* NULL: nothing is told of it yet. */
static struct site_source *find_log(struct link *self, uint32_t node)
{
    for (size_t i = 0; i < self->nrest_logs; i++) {
        if (self->rest_logs[i].node == node) {
            return &self->rest_logs[i];
        }
    }
    return NULL;
}

static bool is_same_log(const struct site_source *a, const struct site_source *b)
{
    return a->incarnation == b->incarnation && a->boot == b->boot;
}

/* False: it follows another log of one of the nodes, or memory is out. */
static bool add_logs(struct link *self, const struct outflow *outflow)
{
    for (size_t i = 0; i < outflow->nfollows; i++) {
        const struct site_source *source = &outflow->follows[i].source;
        const struct site_source *log = find_log(self, source->node);

        if (log != NULL && !is_same_log(log, source)) {
            return false;
        }
    }
    if (!heap_grow(&self->rest_logs, &self->rest_logs_room, self->nrest_logs + outflow->nfollows,
                   sizeof *self->rest_logs)) {
        return false;
    }
    for (size_t i = 0; i < outflow->nfollows; i++) {
        const struct site_source *source = &outflow->follows[i].source;
        struct site_source *log = find_log(self, source->node);

        if (log == NULL) {
            log = &self->rest_logs[self->nrest_logs++];
            *log = (struct site_source){.node = source->node,
                                        .incarnation = source->incarnation,
                                        .boot = source->boot,
                                        .offset = source->offset};
        }
        log->offset = least(log->offset, source->offset);
    }
    return true;
}

/* False: too many are busy, or memory is out. */
static bool add_busy(struct link *self, const struct outflow *outflow)
{
    if (self->nrest_busy == SITE_MAX_BUSY ||
        !heap_grow(&self->rest_busy, &self->rest_busy_room, self->nrest_busy + 1,
                   sizeof *self->rest_busy)) {
        return false;
    }
    self->rest_busy[self->nrest_busy++] = outflow->stream;
    return true;
}

/* False: nothing can be told, or nothing has moved. */
static bool gather(struct link *self, const struct channel *channel)
{
    struct outflow *outflow;
    bool moved = false;
    bool done = true;

    self->nrest_logs = self->nrest_busy = 0;
    TAILQ_FOREACH(outflow, &self->outflows, link)
    {
        if (outflow->channel == channel->number && !outflow->over && done) {
            outflow->rests = is_at_rest(outflow) && add_logs(self, outflow);
            moved |= outflow->rests && outflow->moved;
            done = outflow->rests || add_busy(self, outflow);
        }
    }
    return done && moved && self->nrest_logs <= SITE_MAX_SOURCES;
}

static void note_told(struct link *self, struct outflow *outflow)
{
    outflow->moved = false;
    outflow->placed_us = self->now_us;
    for (size_t i = 0; i < outflow->nfollows; i++) {
        struct follow *follow = &outflow->follows[i];
        uint64_t told = find_log(self, follow->source.node)->offset;

        follow->taken = told > follow->taken ? told : follow->taken;
        outflow->moved |= follow->source.offset > told;
    }
}

void rest_tell(struct link *self, struct channel *channel, struct site_hello *hello)
{
    struct outflow *outflow;

    if (self->now_us - channel->rested_us < REST_US || !gather(self, channel)) {
        return;
    }
    channel->rested_us = self->now_us;
    hello->logs = self->rest_logs;
    hello->nlogs = self->nrest_logs;
    hello->busy = self->rest_busy;
    hello->nbusy = self->nrest_busy;
    TAILQ_FOREACH(outflow, &self->outflows, link)
    {
        if (outflow->channel == channel->number && !outflow->over && outflow->rests) {
            note_told(self, outflow);
        }
    }
}

/* ---- received ---- */

/* NULL: nothing is told of it. */
static const struct site_source *log_of(const struct site_hello *hello,
                                        const struct site_source *source)
{
    for (size_t i = 0; i < hello->nlogs; i++) {
        if (hello->logs[i].node == source->node && is_same_log(&hello->logs[i], source)) {
            return &hello->logs[i];
        }
    }
    return NULL;
}

static bool is_place(uint64_t offset)
{
    return offset % 8 == 0 && offset <= INT64_MAX;
}

static void move_on(struct inflow *inflow, const struct site_hello *hello)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < inflow->nsources; i++) {
        struct site_source *source = &inflow->sources[i];
        const struct site_source *log = log_of(hello, source);

        if (log != NULL && log->offset > source->offset && is_place(log->offset)) {
            bytes += log->offset - source->offset;
            source->offset = log->offset;
        }
    }
    if (bytes > 0 && inflow->unplaced) {
        places_advanced(inflow, true);
        inflow->unplaced = false;
    } else if (bytes > 0) {
        places_drifted(inflow, bytes);
    }
}

void rest_heard(struct link *self, const struct channel *channel, const struct site_hello *hello)
{
    struct inflow *inflow;

    for (size_t i = 0; i < hello->nbusy; i++) {
        inflow = inflow_of(self, channel, hello->busy[i]);
        if (inflow != NULL) {
            inflow->busy = true;
        }
    }
    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        if (inflow->stream != 0 && inflow->channel == channel->number && !inflow->busy &&
            TAILQ_EMPTY(&inflow->arrivals)) {
            move_on(inflow, hello);
        }
        inflow->busy = false;
    }
}
