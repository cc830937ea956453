/* shadow SEED COUNT: COUNT plays made from SEED, in which a client, an old and a new server say
 * what they should and what they should not, in pieces, to a visit of `orbloom shadow`.
 *
 * An input is a byte, odd: the new server answers; then steps of a byte that says who speaks, a
 * byte of length, and so many bytes.
 *
 * An input passes when the old server gets exactly what the client sends, the client exactly what
 * the old server answers, unless the new one does, and nothing is left in memory. Prints "N passed,
 * N failed".
 */
#include "base/heap.h"
#include "cli/shadow/compare.h"
#include "cli/shadow/visit.h"
#include "tests/support/fuzz_loop.h"
#include "tests/support/random.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 40, MOST_BENDS = 3, QUEUE_BYTES = 20000, PATIENCE_US = 5 };

enum step { CLIENT, OLD, NEW, GIVE_UP, RECONNECT, AGAIN, NSTEPS };

/* ---- inputs ---- */

static const char *const said_by_clients[] = {
    "BF.ADD f a\r\n",
    "*3\r\n$6\r\nBF.ADD\r\n$1\r\nf\r\n$2\r\n\r\n\r\n",
    "*5\r\n$7\r\nBF.MADD\r\n$1\r\nf\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n",
    "BF.INSERT f CAPACITY 9 ITEMS a b\r\n",
    "BF.EXISTS f a\r\n",
    "BF.MEXISTS f a b\r\n",
    "BF.RESERVE f 0.01 100\r\n",
    "MULTI\r\n",
    "EXEC\r\n",
    "DISCARD\r\n",
    "HELLO 3\r\n",
    "SELECT 1\r\n",
    "SELECT 0\r\n",
    "RESET\r\n",
    "SUBSCRIBE x\r\n",
    "\r\n*0\r\nPING\r\n",
};

static const char *const said_by_servers[] = {
    ":1\r\n",
    ":0\r\n",
    "#t\r\n",
    "+OK\r\n",
    "+QUEUED\r\n",
    "-ERR no\r\n",
    "-UNAVAILABLE no\r\n",
    "*2\r\n:1\r\n:0\r\n",
    "*3\r\n:1\r\n-ERR x\r\n*1\r\n:1\r\n",
    "*-1\r\n",
    "%1\r\n+a\r\n:1\r\n",
    ">2\r\n+a\r\n+b\r\n",
    "$3\r\nabc\r\n",
    "|1\r\n+a\r\n+b\r\n:1\r\n",
};

static void put_step(struct buffer *input, uint8_t who, const char *said)
{
    uint8_t size = (uint8_t)strlen(said);

    fuzz_put(input, &who, 1);
    fuzz_put(input, &size, 1);
    fuzz_put(input, said, size);
}

static void make(void *context, uint64_t seed, struct buffer *input)
{
    uint64_t random = seed;
    uint8_t mode = (uint8_t)random_below(&random, 2);
    size_t steps = (size_t)random_below(&random, MOST_STEPS);
    size_t size;

    (void)context;
    fuzz_put(input, &mode, 1);
    for (size_t i = 0; i < steps; i++) {
        uint8_t who = (uint8_t)random_below(&random, random_below(&random, 4) == 0 ? NSTEPS : 3);

        if (who == CLIENT) {
            put_step(input, who,
                     said_by_clients[random_below(&random, sizeof said_by_clients /
                                                               sizeof said_by_clients[0])]);
        } else {
            put_step(input, who,
                     said_by_servers[random_below(&random, sizeof said_by_servers /
                                                               sizeof said_by_servers[0])]);
        }
    }
    size = input->size;
    for (uint64_t i = random_below(&random, MOST_BENDS + 1); i > 0 && size > 0; i--) {
        fuzz_bend(&random, input->data, &size);
    }
    input->size = size;
}

/* ---- the play ---- */

struct play {
    struct buffer client; /* what each has got */
    struct buffer old_server;
    struct buffer said_by_client;
    struct buffer said_by_old;
    struct mirror mirror;
    struct tally tally;
    struct visit *visit;
    uint64_t now_us;
};

static void to_client(void *owner, struct span bytes)
{
    fuzz_put(&((struct play *)owner)->client, bytes.data, bytes.size);
}

static void to_old(void *owner, struct span bytes)
{
    fuzz_put(&((struct play *)owner)->old_server, bytes.data, bytes.size);
}

static void to_new(void *context, struct span bytes)
{
    (void)context;
    (void)bytes;
}

static void answered(void *context, struct mirror_item *item, struct span reply)
{
    shadow_compare(&((struct play *)context)->tally, item, reply);
    visit_new_answered(item, reply);
}

static void put_off(void *context, struct mirror_item *item)
{
    (void)context;
    visit_new_answered(item, span_of(NULL, 0)); /* For whoever waits it is none. */
}

static void reconnect(struct play *play)
{
    mirror_disconnected(&play->mirror);
    mirror_connected(&play->mirror);
}

static void speak(struct play *play, enum step who, struct span said)
{
    switch (who) {
    case CLIENT:
        fuzz_put(&play->said_by_client, said.data, said.size);
        visit_client_bytes(play->visit, said);
        break;
    case OLD:
        fuzz_put(&play->said_by_old, said.data, said.size);
        visit_old_bytes(play->visit, ++play->now_us, said);
        break;
    case NEW:
        if (!mirror_bytes(&play->mirror, ++play->now_us, said)) {
            reconnect(play);
        }
        break;
    case GIVE_UP:
        visit_give_up(play->visit, play->now_us);
        break;
    case RECONNECT:
        reconnect(play);
        break;
    case AGAIN:
        mirror_again(&play->mirror);
        break;
    case NSTEPS:
        break;
    }
}

static void perform(struct play *play, struct span input)
{
    while (input.size > 0) {
        uint8_t head[2];
        uint8_t *said;
        size_t size;

        fuzz_take(&input, head, sizeof head);
        size = head[1] < input.size ? head[1] : input.size;
        said = fuzz_copy(span_of(input.data, size));
        input = span_of(input.data + size, input.size - size);
        if (size > 0) {
            speak(play, (enum step)(head[0] % NSTEPS), span_of(said, size));
        }
        free(said);
    }
}

static bool try_input(void *context, struct span input)
{
    size_t live = heap_live();
    struct play play = {.now_us = 1};
    const struct mirror_port mirror = {
        .context = &play, .send = to_new, .answered = answered, .put_off = put_off};
    struct visit_port port = {
        .to_client = to_client, .to_old = to_old, .mirror = &play.mirror, .tally = &play.tally};
    uint8_t mode;
    bool passed;

    (void)context;
    fuzz_take(&input, &mode, 1);
    port.answers_new = mode % 2 == 1;
    buffer_init(&play.client, 2 * FUZZ_INPUT_BYTES);
    buffer_init(&play.old_server, FUZZ_INPUT_BYTES);
    buffer_init(&play.said_by_client, FUZZ_INPUT_BYTES);
    buffer_init(&play.said_by_old, FUZZ_INPUT_BYTES);
    mirror_init(&play.mirror, &mirror, QUEUE_BYTES, PATIENCE_US, span_of(NULL, 0));
    mirror_connected(&play.mirror);
    play.visit = visit_create(&port, &play);
    perform(&play, input);
    passed = span_equal(buffer_span(&play.old_server), buffer_span(&play.said_by_client)) &&
             (port.answers_new ||
              span_equal(buffer_span(&play.client), buffer_span(&play.said_by_old)));
    visit_destroy(&play.visit);
    mirror_fini(&play.mirror);
    buffer_fini(&play.client);
    buffer_fini(&play.old_server);
    buffer_fini(&play.said_by_client);
    buffer_fini(&play.said_by_old);
    return passed && heap_live() == live;
}

int main(int argc, char **argv)
{
    const struct fuzz_target target = {.name = "shadow", .make = make, .try_input = try_input};

    return fuzz_loop(&target, argc, argv);
}
