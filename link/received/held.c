/* What is here of what the source offers before it sends a copy. Nodes are asked for digests of
 * just these ranges: what W replicas of one epoch have is as good as a batch of it that they have
 * acknowledged. So their boots count as those of who acknowledges do, and when one of them is
 * another than what is known here arose in, nothing is held: all of it is begun anew.
 *
 * Whatever goes wrong, the answer is that nothing is held, or there is none; then it is sent. */
#include "link/private.h"

#include <string.h>

enum { COMPARE_US = 4000000 };

/* `words` NULL: nothing is known. */
static void say_held(struct link *self, const struct inflow *inflow, uint64_t number,
                     const uint64_t *words, size_t count, bool unsure)
{
    static const uint64_t nothing[SITE_MAX_OFFERED];
    struct channel *channel = channel_find(self, inflow->channel);
    const struct frame frame = {
        .kind = FRAME_SITE_HELD,
        .body.site_held = {.stream = inflow->stream,
                           .number = number,
                           .held = words != NULL ? words : nothing,
                           .nheld = count,
                           .unsure = unsure || words == NULL},
    };

    if (channel != NULL) {
        (void)channel_send(self, channel, &frame);
    }
}

static void on_compared(void *owner, const struct router_compared *compared)
{
    struct inflow *inflow = owner;
    struct held_here *held = &inflow->held_here;
    bool lasts;

    held->asking = false;
    if (inflow->stream != 0 && inflow->stream == held->stream) {
        for (size_t i = 0; i < compared->nboots; i++) {
            own_boots_heard(inflow, &compared->boots[i]);
        }
        lasts = compared->status == STATUS_OK && !inflow->own.doubted && inflow_lasts(inflow);
        say_held(inflow->self, inflow, held->number, lasts ? compared->equal : NULL,
                 held->nprefixes, compared->unsure);
    }
    held_here_clear(&inflow->held_here);
}

/* False: memory is out. */
static bool keep_offer(struct held_here *held, const struct site_offer *message)
{
    held->prefixes = heap_alloc(message->nprefixes + 1, sizeof *held->prefixes);
    held->digests = heap_alloc(message->ndigests + 1, sizeof *held->digests);
    if (held->prefixes == NULL || held->digests == NULL) {
        return false;
    }
    memcpy(held->prefixes, message->prefixes, message->nprefixes * sizeof *held->prefixes);
    memcpy(held->digests, message->digests, message->ndigests * sizeof *held->digests);
    held->nprefixes = message->nprefixes;
    held->stream = message->stream;
    held->number = message->number;
    return true;
}

static void compare(struct link *self, uint64_t now_us, struct inflow *inflow, uint32_t bits)
{
    struct held_here *held = &inflow->held_here;
    const struct router_compare question = {
        .filter_id = inflow->filter_id,
        .keyset = inflow->keyset,
        .bits = bits,
        .prefixes = held->prefixes,
        .nprefixes = held->nprefixes,
        .digests = held->digests,
        .deadline_us = now_us + COMPARE_US,
        .done = on_compared,
        .owner = inflow,
    };

    held->asking = true;
    router_compare(self->router, now_us, &question);
}

void inflow_on_offer(struct link *self, uint64_t now_us, struct channel *channel,
                     const struct site_offer *message)
{
    struct inflow *inflow = inflow_of(self, channel, message->stream);

    if (inflow == NULL) {
        return; /* That the stream is over is noticed by greetings. */
    }
    inflow->heard_us = now_us;
    if (message->nprefixes == 0 || message->ndigests != message->nprefixes * PULL_PARTS) {
        inflow_close(self, inflow, STATUS_MALFORMED, "an offer makes no sense");
    } else if (inflow->held_here.asking) {
        say_held(self, inflow, message->number, NULL, message->nprefixes, true);
    } else if (keep_offer(&inflow->held_here, message)) {
        compare(self, now_us, inflow, message->bits);
    } else {
        held_here_clear(&inflow->held_here);
        say_held(self, inflow, message->number, NULL, message->nprefixes, true);
    }
}
