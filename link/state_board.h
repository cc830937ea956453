/* state_board.h - states of filters at one site, as they were heard last, in the order in which
 * they are to be told on.
 *
 * Whoever is told holds a place: all before it he has heard. What changes, and what is to be said
 * once more, moves to the end; so with a place of zeros everything is told, and where nothing
 * changes nothing is.
 *
 * A link keeps a board of what its own coordinators say, and one of each other site. What they hold
 * is as it goes over the wire: about 250 bytes a filter in two sites, and 150 more.
 *
 * Bounds:  STATE_BOARD_MOST filters and STATE_BOARD_BYTES. Beyond them tombstones give way, and
 * else what is new, or has grown, is refused. Owner:   state_board_fini(); states that are read
 * belong to the arena that is given. Threads: none; pure.
 */
#ifndef ORBLOOM_LINK_STATE_BOARD_H
#define ORBLOOM_LINK_STATE_BOARD_H

#include "base/number_table.h"
#include "proto/codec.h"

#include <sys/queue.h>

enum {
    STATE_BOARD_MOST = 65536,
    STATE_BOARD_BYTES = 64 << 20,

    /* So seldom everything is said once more, although nobody has to have lost it; and so many of
     * them at a time at most, which is each second. What waits for other sites comes first. */
    STATE_UNSETTLED_US = 10000000,
    STATE_UNSETTLED_BURST = 32,
    STATE_SETTLED_US = 60000000,
    STATE_SETTLED_BURST = 2,
};

struct held_state;
TAILQ_HEAD(held_states, held_state);

/* Zeroed it knows nothing. */
struct state_board {
    struct number_table by_uid;
    struct held_states lists[2];   /* unsettled, settled; by rising stamps */
    struct held_states tombstones; /* also in one of these; the oldest first */
    uint64_t last_stamp;
    size_t count;
    size_t bytes;
};

/* All up to these stamps was told. */
struct state_place {
    uint64_t told[2];
};

void state_board_init(struct state_board *self);
void state_board_fini(struct state_board *self);

/* One that has no fault. STATUS_OK: it is new. STATUS_EXISTS: it was known so. STATUS_STALE: a
 * newer one is known. STATUS_NOMEM, STATUS_TOO_LARGE: it is not taken. The arena is used. */
MUST_USE enum status state_board_put(struct state_board *self, uint64_t now_us,
                                     struct codec_arena *arena, const struct site_filter *state);

/* False: it is not known, or memory is out. */
MUST_USE bool state_board_find(const struct state_board *self, const struct filter_uid *uid,
                               struct codec_arena *arena, struct site_filter *out);

/* Rises whenever the filter's state becomes another; 0: it is not known. */
uint64_t state_board_version(const struct state_board *self, const struct filter_uid *uid);

/* Is it known, and waits for other sites, or others for it? */
bool state_board_unsettled(const struct state_board *self, const struct filter_uid *uid);

bool state_board_has_news(const struct state_board *self, const struct state_place *place);

/* What comes next behind the place, which moves on; returns how many. */
size_t state_board_page(const struct state_board *self, struct state_place *place,
                        struct codec_arena *arena, struct site_filter *out, size_t most);

/* Say once more what is due; about once a second. */
void state_board_repeat(struct state_board *self, uint64_t now_us);

#endif
