/* fake_effects.h - the world of one actor in a unit test: keeps what it sends, decodes it.
 *
 * Nothing moves by itself: a test hands in frames and time, then takes what was sent, oldest
 * first. Links are numbered from 1 in the order of opening and are always connected, unless
 * `deaf` says that sends fail.
 *
 * Errors:  a failed cr_assert.
 * Owner:   fake_init()'s caller calls fake_fini(). A decoded frame is valid until the next
 *          fake_take().
 */
#ifndef ORBLOOM_TESTS_SUPPORT_FAKE_EFFECTS_H
#define ORBLOOM_TESTS_SUPPORT_FAKE_EFFECTS_H

#include "base/actor.h"
#include "base/buffer.h"
#include "proto/codec.h"
#include "tests/support/job_lane.h"

enum { FAKE_MAX_LINKS = 64, FAKE_MAX_FRAMES = 4096 };

/* One frame that the actor has sent. */
struct fake_sent {
    uint32_t link; /* 0: a reply */
    struct peer peer;
    struct frame frame;
};

struct fake_effects {
    struct effects effects; /* for the actor's create function */
    struct {
        uint32_t link;
        struct peer peer;
        uint8_t *bytes;
        size_t size;
    } frames[FAKE_MAX_FRAMES];
    size_t nframes;
    size_t ntaken;
    char endpoints[FAKE_MAX_LINKS][DOCUMENT_TEXT_BYTES];
    bool closed[FAKE_MAX_LINKS];
    uint32_t nlinks;
    bool deaf; /* sends and replies fail */
    uint64_t random;
    uint64_t date_ms;        /* that the clock shows; 0 at first */
    uint64_t waited_us;      /* that what is handed over may have waited */
    uint64_t clock_us;       /* ... it is so late by now, or as late as the event says */
    struct job_lanes *lanes; /* where jobs go; NULL: the actor has none */
    struct codec_arena *arena;
};

void fake_init(struct fake_effects *self);
void fake_fini(struct fake_effects *self);

/* Before the actor is made: its jobs go there. */
void fake_use_lanes(struct fake_effects *self, struct job_lanes *lanes);

/* The oldest frame not taken yet; false when there is none. */
bool fake_take(struct fake_effects *self, struct fake_sent *out);

/* Forget everything not taken yet. */
void fake_forget(struct fake_effects *self);

/* The open link to an endpoint; 0: none. */
uint32_t fake_link(const struct fake_effects *self, const char *endpoint);

/* A peer by number. */
struct peer fake_peer(uint32_t number);

/* Hand the actor one frame, then let it have its turn. */
void fake_request(const struct actor *actor, uint64_t now_us, uint32_t peer,
                  const struct frame *frame);
void fake_request_bytes(const struct actor *actor, uint64_t now_us, uint32_t peer,
                        struct span bytes);
void fake_answer(const struct actor *actor, uint64_t now_us, uint32_t link,
                 const struct frame *frame);

/* The value of one of its counters, asked for by a peer; nothing else may be left to take. */
uint64_t fake_counter(struct fake_effects *self, const struct actor *actor, uint64_t now_us,
                      uint32_t peer, const char *name);

#endif
