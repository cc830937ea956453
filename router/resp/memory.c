/* What all connections hold together, and who is closed when that is too much.
 *
 * Connections stand in classes by powers of two of what they hold, so that the one which holds the
 * most is found without looking at all of them. What they hold is what was allocated for them; what
 * an idle one takes is no part of it. */
#include "base/heap.h"
#include "router/resp/private.h"

#include <stdio.h>

enum {
    LOOK_MOST = 256,    /* of a class: one that holds half as much as the most may be taken */
    LEAST_BYTES = 1024, /* who holds less is not closed for it */
    GATHERS_PART = 4,   /* of all: keys of commands under way, whoever sent them */
    TRIM_PART = 8,      /* ... what was freed goes back to the system when it is so much ... */
    PRESSED_PART = 2,   /* ... and at once if so much was held since that was done last */
};

void memory_init(struct front *self)
{
    for (size_t i = 0; i < FRONT_MEMORY_CLASSES; i++) {
        TAILQ_INIT(&self->holders[i]);
    }
}

/* ---- keys under way ---- */

void memory_count_gather(struct front *self, struct gather *gather)
{
    size_t bytes = gather->keys.capacity + gather->room * sizeof *gather->lengths;

    self->gathered += bytes - gather->counted;
    gather->counted = bytes;
}

bool memory_takes_keys(const struct front *self, size_t bytes)
{
    return self->gathered + bytes <= self->config.max_memory / GATHERS_PART;
}

/* ---- connections ---- */

/* What was dropped goes as soon as the loop has come round. */
static size_t weight(const struct front *self, const struct session *session)
{
    size_t unsent = self->streams.unsent(self->streams.context, session->stream);

    return session->dropped
               ? 0
               : session->input.capacity + session->out.capacity + session->queued.capacity +
                     session->request.words.capacity + subscriptions_bytes(session) +
                     session->request.capacity * sizeof(struct span) + unsent + session->owed +
                     session->ncalls * sizeof(struct call);
}

static uint32_t class_of(size_t bytes)
{
    return bytes < LEAST_BYTES ? 0 : 63 - (uint32_t)__builtin_clzll(bytes);
}

static void move(struct front *self, struct session *session, uint32_t class)
{
    if (session->class != 0) {
        TAILQ_REMOVE(&self->holders[session->class], session, holder_entry);
    }
    if (class != 0) {
        TAILQ_INSERT_TAIL(&self->holders[class], session, holder_entry);
    }
    session->class = class;
}

static void note(struct front *self, struct session *session, size_t held)
{
    uint32_t class = class_of(held);

    self->freed += held < session->held ? session->held - held : 0;
    self->held += held - session->held;
    self->most = self->held + self->gathered > self->most ? self->held + self->gathered
                                                          : self->most;
    session->held = held;
    if (class != session->class) {
        move(self, session, class);
    }
    self->counters[FRONT_resp_memory_bytes] = self->held + self->gathered;
}

void memory_weigh(struct front *self, struct session *session)
{
    note(self, session, weight(self, session));
}

void memory_forget(struct front *self, struct session *session)
{
    note(self, session, 0);
}

/* ---- too much ---- */

/* Of the highest class; of equals the one that has been in it for the longest. */
static struct session *find_largest(struct front *self)
{
    uint32_t class = FRONT_MEMORY_CLASSES - 1;
    struct session *largest;
    uint32_t looked = 0;

    while (class > 0 && TAILQ_EMPTY(&self->holders[class])) {
        class --;
    }
    largest = TAILQ_FIRST(&self->holders[class]);
    for (struct session *one = largest; one != NULL && looked < LOOK_MOST;
         one = TAILQ_NEXT(one, holder_entry), looked++) {
        largest = one->held > largest->held ? one : largest;
    }
    return largest;
}

static bool is_over(const struct front *self)
{
    return self->held + self->gathered > self->config.max_memory;
}

/* The allocator keeps what was freed, in pieces that the next one has no use for: those who come
 * after a crowd that has left would take as much again. What is freed in everyday work is little at
 * any time, and stays where it is. */
static void give_back(struct front *self)
{
    self->freed = 0;
    self->most = self->held + self->gathered;
    heap_trim();
}

bool memory_is_loose(const struct front *self)
{
    return self->most > self->held + self->gathered + self->config.max_memory / TRIM_PART;
}

void memory_settle(struct front *self)
{
    if (memory_is_loose(self)) {
        give_back(self);
    }
}

static void close_one(struct front *self, struct session *session)
{
    front_count(self, FRONT_resp_memory_total);
    log_limited(&self->memory_limit, self->now_us, LOG_WARN,
                "closes the connection of RESP client %s, which holds %zu KiB: all hold more than "
                "resp_memory",
                session->peer, session->held >> 10);
    session_give_up(self, session,
                    "OVERLOADED all clients hold more than resp_memory, this one the most; "
                    "connection closed");
}

/* Of what was sent to a connection some may have left meanwhile, so it is weighed again first. */
void memory_enforce(struct front *self)
{
    while (is_over(self)) {
        struct session *largest = find_largest(self);
        size_t held = largest != NULL ? largest->held : 0;

        if (largest == NULL) {
            break;
        }
        memory_weigh(self, largest);
        if (largest->held >= held) {
            close_one(self, largest);
            memory_weigh(self, largest);
        }
    }
    if (self->freed > self->config.max_memory / TRIM_PART &&
        self->most > self->config.max_memory / PRESSED_PART) {
        give_back(self);
    }
}
