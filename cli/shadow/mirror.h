/* mirror.h - commands on their way to the new server, on one connection, in the order of what the
 * old one has answered. Pure: it sends and tells by its port.
 *
 * A command is kept until it is answered, and sent again on a new connection: adding twice is
 * harmless. One that was sent on three connections, and each ended before it was answered, is given
 * up. An add that can't be done for the moment (UNAVAILABLE, OVERLOADED...) is put off and sent
 * again later, behind what has come meanwhile. The bytes kept are bounded, with those of commands
 * that the old server has not answered yet; beyond that nothing is taken.
 *
 * Once three answers in a row were not there in time nobody is to wait for one, until one has been.
 *
 * Owner:   items are the mirror's from mirror_put() on; the port gets them lent.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHADOW_MIRROR_H
#define ORBLOOM_CLI_SHADOW_MIRROR_H

#include "base/buffer.h"
#include "cli/shadow/command.h"
#include "cli/shadow/framer.h"

#include <sys/queue.h>

/* A client's command as it came. */
struct shadow_deed {
    TAILQ_ENTRY(shadow_deed) entry; /* in a transaction */
    enum shadow_kind kind;
    uint32_t database; /* SHADOW_SELECT */
    uint32_t nkeys;
    bool no_room;    /* for its request, which so is empty */
    size_t reserved; /* of the mirror's bytes */
    size_t size;
    uint8_t request[];
};

/* NULL: no memory. `request` is empty where nobody will read it. */
struct shadow_deed *shadow_deed_create(const struct shadow_command *command, struct span request);

static inline size_t shadow_deed_bytes(const struct shadow_deed *deed)
{
    return deed != NULL ? sizeof *deed + deed->size : 0;
}

TAILQ_HEAD(shadow_deeds, shadow_deed);

struct mirror_item {
    TAILQ_ENTRY(mirror_item) entry;
    struct shadow_deed *deed;
    void *waiter; /* who is to be told; NULL: nobody */
    uint64_t since_us;
    uint32_t attempts;
    bool put_off;
    uint8_t old[]; /* enum shadow_answer, one a key: as the old server answered */
};

TAILQ_HEAD(mirror_items, mirror_item);

struct mirror_port {
    void *context;
    void (*send)(void *context, struct span bytes);

    /* `reply` is empty: there is none, and there will be none. */
    void (*answered)(void *context, struct mirror_item *item, struct span reply);

    /* It is sent again later. */
    void (*put_off)(void *context, struct mirror_item *item);
};

struct mirror {
    struct mirror_port port;
    size_t max_bytes;
    uint64_t patience_us; /* an answer is in time so long after the command was put */
    struct span greeting; /* sent first on each connection; empty: none. Borrowed */

    /* To be read. */
    uint64_t count; /* of items, those put off, too */
    uint64_t sent;  /* ... and not answered yet */
    uint64_t owed;  /* ... that were put off, and are not answered since */

    /* Private. */
    struct mirror_items items;
    struct mirror_items later;
    struct mirror_item *next; /* to be sent; those before it are */
    uint32_t late;            /* answers in a row that were not in time */
    size_t bytes;             /* of items, and reserved ones */
    size_t sent_bytes;        /* of those that are sent */
    bool connected;
    bool greeted;
    struct framer framer;
    struct buffer reply;
};

void mirror_init(struct mirror *self, const struct mirror_port *port, size_t max_bytes,
                 uint64_t patience_us, struct span greeting);

/* Each item that is left is told of, with no reply. */
void mirror_fini(struct mirror *self);

/* Bytes of what may come to it later, for all clients. False: it is full. */
bool mirror_reserve(struct mirror *self, size_t bytes);
void mirror_release(struct mirror *self, size_t bytes);

/* The same for a deed, which gives them back with its end. */
bool mirror_reserve_deed(struct mirror *self, struct shadow_deed *deed);
void mirror_drop_deed(struct mirror *self, struct shadow_deed **deed);

/* Takes the deed, whether or not. NULL: it is full. */
struct mirror_item *mirror_put(struct mirror *self, struct shadow_deed **deed, struct span old,
                               uint64_t now_us);

void mirror_connected(struct mirror *self);
void mirror_disconnected(struct mirror *self);

/* False: what answers there is no such server, or does not let us in: `reply` says what it said. */
bool mirror_bytes(struct mirror *self, uint64_t now_us, struct span bytes);

/* Send again what was put off. */
void mirror_again(struct mirror *self);

/* Somebody has waited for an answer in vain. */
void mirror_was_late(struct mirror *self);

/* Have the last ones been late? */
bool mirror_is_late(const struct mirror *self);

/* Is it there, and lets us in? */
bool mirror_ready(const struct mirror *self);

/* ... and owes no answer? */
bool mirror_is_idle(const struct mirror *self);

#endif
