/* What the votes so far decide of an operation, and its answer: verdicts at their keys' places, and
 * in words why some have none. */
#include "map/history/expansion.h"
#include "router/private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- what can still be expected of a slot: of a pair, of both its halves ---- */

static bool is_hopeful(const struct slot_ask *ask)
{
    return ask->state != ASK_ANSWERED || (ask->voted && ask->refusal == STATUS_OK);
}

/* Has the slot accepted all keys, or still may? */
static bool slot_hopes(const struct part *part, uint32_t index)
{
    return is_hopeful(&part->asks[index]) &&
           (!part->asks[index].paired || is_hopeful(&part->partners[index]));
}

/* Is an answer awaited of a node that answers? */
static bool is_pending(const struct router *self, const struct slot_group *group, struct part *part,
                       uint32_t index)
{
    for (uint32_t seat = index; seat < 2 * SEAT_PARTNER; seat += SEAT_PARTNER) {
        if (seat_taken(part, seat) && seat_ask(part, seat)->state == ASK_SENT &&
            !backend_suspect(self, seat_member(group, seat)->node)) {
            return true;
        }
    }
    return false;
}

/* ---- deciding one part ---- */

/* The votes that count so far. */
static void collect(const struct part *part, const struct quorum_rule *rule,
                    struct quorum_votes *votes)
{
    size_t nwords = bits_words(part->count);

    memset(votes, 0, sizeof *votes);
    for (uint32_t slot = 0; slot < rule->replicas; slot++) {
        if (slot_counts(part, slot)) {
            votes->present[slot] = part->planes + 2 * slot * nwords;
            votes->absent[slot] = votes->present[slot] + nwords;
            votes->tainted[slot] = part->asks[slot].tainted;
        }
    }
}

/* Can another vote still be expected soon: asked, unanswered, of a node that answers? */
static bool expects_more(const struct router *self, const struct document_entry *entry,
                         struct part *part)
{
    const struct slot_group *group = &entry->document.content.groups[part->group];

    for (uint32_t slot = 0; slot < entry->document.content.rule.replicas; slot++) {
        if (is_pending(self, group, part, slot)) {
            return true;
        }
    }
    return false;
}

/* Slots that have accepted all keys or still may. */
static uint32_t hopeful(const struct part *part, const struct quorum_rule *rule)
{
    uint32_t count = 0;

    for (uint32_t slot = 0; slot < rule->replicas; slot++) {
        count += slot_hopes(part, slot);
    }
    return count;
}

static bool add_decided(struct router *self, uint64_t now_us, const struct op *op,
                        struct part *part, const struct document_entry *entry)
{
    const struct quorum_rule *rule = &entry->document.content.rule;
    struct quorum_votes votes;
    size_t nunsure;
    size_t open;

    collect(part, rule, &votes);
    open = quorum_add(rule, &votes, part->count, part->present, part->absent, &nunsure);
    if (open > 0) {
        /* Of those that are left too few can take it: waiting would only cost the client its time.
         */
        return hopeful(part, rule) < rule->write;
    }
    /* Acknowledged. A further vote may tell new from present, if it comes soon and that is asked.
     */
    return nunsure == 0 || op->relayed || now_us - op->started_us >= hedge_patience_us(self) ||
           !expects_more(self, entry, part);
}

/* A filter that guards a cache would rather hear "maybe" now than "absent" at the deadline. */
static bool fails_open(const struct router *self, uint64_t now_us, const struct op *op,
                       const struct document_entry *entry)
{
    /* Not before those that were asked have had time to answer. */
    return entry->document.when_unavailable == WHEN_UNAVAILABLE_MAYBE &&
           now_us - op->started_us >= hedge_patience_us(self);
}

static bool check_decided(struct router *self, uint64_t now_us, struct op *op, struct part *part,
                          const struct document_entry *entry)
{
    const struct quorum_rule *rule = &entry->document.content.rule;
    struct quorum_votes votes;

    collect(part, rule, &votes);
    /* While others may still answer, one "present" is not enough. */
    if (quorum_check(rule, &votes, part->count, false, part->present, part->absent) == 0) {
        return true;
    }
    if (expects_more(self, entry, part)) {
        return false;
    }
    if (part_ask_more(self, now_us, op, part, rule->replicas) > 0) {
        if (!part->hedged) {
            router_count(self, ROUTER_disagreements_total);
        }
        part->hedged = true;
        if (expects_more(self, entry, part)) {
            return false;
        }
    }
    /* Nobody else will answer: one "present" is enough then. "Absent" still takes R. */
    return quorum_check(rule, &votes, part->count, true, part->present, part->absent) == 0 ||
           fails_open(self, now_us, op, entry);
}

/* The time is up: keep what is certain. */
static void settle(const struct op *op, struct part *part, const struct quorum_rule *rule)
{
    struct quorum_votes votes;
    size_t nunsure;

    collect(part, rule, &votes);
    if (op->operation == OPERATION_ADD) {
        (void)quorum_add(rule, &votes, part->count, part->present, part->absent, &nunsure);
    } else {
        /* As nobody else will answer by now, one "present" is enough. */
        (void)quorum_check(rule, &votes, part->count, true, part->present, part->absent);
    }
}

/* ---- what has no verdict, and why ---- */

/* Undecided keys of an operation, and what its first undecided part has to say. */
struct shortfall {
    size_t keys;
    enum status status;
    char message[ROUTER_MESSAGE_BYTES];
};

static size_t count_undecided(const struct part *part)
{
    return part->count - bits_count_either(part->present, part->absent, part->count);
}

/* Why a slot has no vote: of a pair whichever half is missing. */
static const char *reason_of(const struct slot *slot, const struct slot_ask *ask)
{
    if (pair_of_one_node(slot)) {
        return "is being replaced";
    }
    return ask->refusal == STATUS_OK || ask->state == ASK_SENT ? "does not answer"
                                                               : status_code(ask->refusal);
}

enum status part_describe(const struct router *self, const struct document_entry *entry,
                          struct part *part, char *text, size_t size)
{
    const struct slot_group *group = &entry->document.content.groups[part->group];
    enum status gravest = STATUS_UNAVAILABLE;
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t slot = 0; slot < entry->document.content.rule.replicas && used < size; slot++) {
        bool partner = part->asks[slot].paired && part->asks[slot].voted;
        uint32_t seat = partner ? slot + SEAT_PARTNER : slot;
        const struct slot_ask *ask = seat_ask(part, seat);
        const struct node_record *record = node_list_find(&self->documents.nodes,
                                                          seat_member(group, seat)->node);

        gravest = ask->refusal == STATUS_FULL || part->asks[slot].refusal == STATUS_FULL
                      ? STATUS_FULL
                      : gravest;
        if (slot_counts(part, slot) || ask->state == ASK_NOT) {
            continue;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s %s", used > 0 ? ", " : "",
                                 record != NULL ? record->name : "a node not listed",
                                 reason_of(&group->slots[slot], ask));
    }
    if (used == 0) {
        (void)snprintf(text, size, "the request lets too few of them be asked");
    }
    return gravest;
}

static bool expects_room(const struct slot_ask *ask)
{
    return ask->refusal == STATUS_FULL && ask->makes_room;
}

/* Is it full only until it has grown? A node may hear later than we do that this is over, and takes
 * no more until then than while it went on. */
static bool waits_for_room(const struct filter_document *document, struct part *part)
{
    bool waits = expansion_makes_room(document);

    for (uint32_t slot = 0; slot < document->content.rule.replicas; slot++) {
        waits = waits || expects_room(&part->asks[slot]) ||
                (part->asks[slot].paired && expects_room(seat_ask(part, slot + SEAT_PARTNER)));
    }
    return waits;
}

/* Why keys of this part have no verdict, as the client is told. */
static void describe(const struct router *self, const struct op *op,
                     const struct document_entry *entry, struct part *part,
                     struct shortfall *shortfall)
{
    const struct quorum_rule *rule = &entry->document.content.rule;
    char asks[ROUTER_MESSAGE_BYTES / 2];

    shortfall->status = part_describe(self, entry, part, asks, sizeof asks);
    if (shortfall->status == STATUS_FULL && waits_for_room(&entry->document, part)) {
        /* Keys came faster than it grows: those who add wait a moment. A link does so anyway, and
         * counts why. */
        shortfall->status = op->relayed ? STATUS_FULL : STATUS_UNAVAILABLE;
        (void)snprintf(shortfall->message, sizeof shortfall->message,
                       "filter %s is full until it has grown; retry, see `orbloom status`",
                       entry->document.content.name);
    } else if (shortfall->status == STATUS_FULL) {
        (void)snprintf(shortfall->message, sizeof shortfall->message,
                       "filter %s has reached its capacity; checks go on, create a larger filter",
                       entry->document.content.name);
    } else if (op->operation == OPERATION_ADD) {
        (void)snprintf(shortfall->message, sizeof shortfall->message,
                       "not acknowledged by %u of %u replicas: %s; retry, see `orbloom status`",
                       rule->write, rule->replicas, asks);
    } else {
        (void)snprintf(shortfall->message, sizeof shortfall->message,
                       "\"absent\" takes %u of %u replicas: %s; retry, see `orbloom status`",
                       rule->read, rule->replicas, asks);
    }
}

/* The filter lives in other sites, too, and has not all that was acknowledged there. */
static void describe_behind(const struct op *op, const struct document_entry *entry,
                            struct shortfall *shortfall)
{
    const char *name = entry->document.content.name;

    shortfall->status = STATUS_BEHIND;
    if (op->operation == OPERATION_ADD) {
        site_acks_describe(op, entry, shortfall->message);
        return;
    }
    if (!op->withholds) {
        site_bound_describe(op, entry, shortfall->message);
        return;
    }
    (void)snprintf(shortfall->message, sizeof shortfall->message,
                   site_gate_left(&entry->document)
                       ? "this site leaves the sites of filter %s, or has left them, and says no "
                         "\"absent\" any more; see `orbloom site %s`, and ask at another site"
                       : "this site is still being filled with what other sites have of filter "
                         "%s, and can't say \"absent\" yet; see `orbloom site %s`, or ask at "
                         "another site",
                   name, name);
}

/* That the site is being filled is told where there is nothing else to say: what else is missing
 * another moment may bring. */
static bool is_described(const struct shortfall *shortfall)
{
    return shortfall->keys > 0 && shortfall->status != STATUS_BEHIND;
}

/* Unknown keys of a check become "maybe" for a filter that wants to fail open. */
static void fail_open(struct router *self, struct part *part, size_t undecided)
{
    for (size_t i = 0; i < bits_words(part->count); i++) {
        uint64_t unknown = bits_mask(part->count, i) & ~(part->present[i] | part->absent[i]);

        part->present[i] |= unknown;
        part->absent[i] |= unknown;
    }
    self->counters[ROUTER_keys_maybe_total] += undecided;
}

/* Hides what the verdict may not tell; returns of how many keys. */
static size_t withhold(struct router *self, const struct op *op, struct part *part)
{
    if (op->operation == OPERATION_ADD) {
        return op->unproved ? site_acks_withhold(part) : 0;
    }
    return op->withholds || op->unproved ? site_gate_withhold(self, part) : 0;
}

/* Count what is undecided, fill it with "maybe" where the filter wants that, and note why. */
static void survey(struct router *self, const struct op *op, const struct document_entry *entry,
                   struct shortfall *shortfall)
{
    bool open = op->operation == OPERATION_CHECK &&
                entry->document.when_unavailable == WHEN_UNAVAILABLE_MAYBE;

    for (uint32_t i = 0; i < op->nparts; i++) {
        struct part *part = &op->parts[i];
        size_t withheld = withhold(self, op, part);
        size_t undecided = count_undecided(part);

        if (undecided > 0 && open) {
            fail_open(self, part, undecided);
        } else if (undecided > 0) {
            if (!is_described(shortfall) && withheld == undecided) {
                describe_behind(op, entry, shortfall);
            } else if (!is_described(shortfall)) {
                describe(self, op, entry, part, shortfall);
            }
            shortfall->keys += undecided;
        }
    }
}

/* ---- the answer ---- */

/* Put each part's verdict at its keys' positions in the client's batch. */
static void scatter(const struct op *op, uint64_t *present, uint64_t *absent)
{
    for (uint32_t i = 0; i < op->nparts; i++) {
        const struct part *part = &op->parts[i];

        for (uint32_t key = 0; key < part->count; key++) {
            uint32_t at = part->positions[key];

            bits_or(present, at, bits_has(part->present, key));
            bits_or(absent, at, bits_has(part->absent, key));
        }
    }
}

static void count_answer(struct router *self, const struct op *op,
                         const struct shortfall *shortfall, const uint64_t *present,
                         const uint64_t *absent)
{
    self->counters[op->relayed                      ? ROUTER_keys_relayed_total
                   : op->operation == OPERATION_ADD ? ROUTER_keys_added_total
                                                    : ROUTER_keys_checked_total] += op->count;
    self->counters[ROUTER_keys_undecided_total] += shortfall->keys;
    if (op->operation == OPERATION_ADD && !op->relayed) {
        for (size_t i = 0; i < bits_words(op->count); i++) {
            self->counters[ROUTER_keys_maybe_new_total] += bits_count_word(present[i] & absent[i]);
        }
    }
}

static void send_answer(struct router *self, uint64_t now_us, const struct op *op,
                        const struct document_entry *entry, const struct shortfall *shortfall,
                        const uint64_t *present, const uint64_t *absent)
{
    bool adds = op->operation == OPERATION_ADD;
    struct frame answer = {
        .correlation = op->correlation,
        .kind = FRAME_CLIENT_REPLY,
        .body.client_reply =
            {
                .op = op->id,
                .attempt = op->attempt,
                .status = shortfall->status,
                .message = shortfall->message,
                .filter_id = op->filter_id,
                .epoch = op->epoch,
                .count = op->count,
                .present = present,
                .absent = absent,
                .copies = adds ? entry->document.content.rule.write : 0,
                .site = document_site_name(&entry->document),
                .site_id = document_site_id(&entry->document),
            },
    };

    count_answer(self, op, shortfall, present, absent);
    router_count_answer(self, now_us, op, shortfall->status, present, absent);
    router_reply(self, &op->client, &answer);
}

/* A relayed add says that keys are acknowledged, and nothing more. Whether they were here before
 * depends on who came first, the other site's router or this one's clients, and on which of the
 * repeats this is. */
static void forget_history(const struct part *part)
{
    for (size_t word = 0; word < bits_words(part->count); word++) {
        part->present[word] |= part->absent[word];
        part->absent[word] = part->present[word];
    }
}

/* Of an add at a site that may not say "absent": other sites may have had a key that is new here.
 */
static void doubt_new(const struct part *part)
{
    for (size_t word = 0; word < bits_words(part->count); word++) {
        part->present[word] |= part->absent[word];
    }
}

static void judge_history(const struct op *op)
{
    for (uint32_t i = 0; op->operation == OPERATION_ADD && i < op->nparts; i++) {
        if (op->relayed) {
            forget_history(&op->parts[i]);
        } else if (op->withholds) {
            doubt_new(&op->parts[i]);
        }
    }
}

/* Answer the client with the verdict of all parts, and end the operation. */
static void answer(struct router *self, uint64_t now_us, struct op *op)
{
    const struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);
    struct shortfall shortfall = {.status = STATUS_OK};
    size_t nwords = bits_words(op->count);

    assert(op->used && op->nopen == 0);
    survey(self, op, entry, &shortfall);
    judge_history(op);
    /* One part that was not sorted: its verdict is in the client's order already. */
    if (op->nparts == 1 && op->parts[0].positions == NULL) {
        send_answer(self, now_us, op, entry, &shortfall, op->parts[0].present, op->parts[0].absent);
    } else {
        memset(op->answer, 0, 2 * nwords * sizeof *op->answer);
        scatter(op, op->answer, op->answer + nwords);
        send_answer(self, now_us, op, entry, &shortfall, op->answer, op->answer + nwords);
    }
    op_end(self, op);
}

/* ---- all parts ---- */

void op_evaluate(struct router *self, uint64_t now_us, struct op *op, bool last)
{
    struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);

    assert(op->used && op->nopen <= op->nparts);
    if (op->operation == OPERATION_ENDS) {
        ends_evaluate(self, op, last);
        return;
    }
    for (uint32_t i = 0; i < op->nparts; i++) {
        struct part *part = &op->parts[i];

        if (part->done) {
            continue;
        }
        if (last) {
            settle(op, part, &entry->document.content.rule);
            part->done = true;
        } else if (op->operation == OPERATION_ADD) {
            part->done = add_decided(self, now_us, op, part, entry);
        } else {
            part->done = check_decided(self, now_us, op, part, entry);
        }
        op->nopen -= part->done;
    }
    assert(!last || op->nopen == 0);
    if (op->nopen == 0 && (last || !site_holds(self, now_us, op, entry))) {
        answer(self, now_us, op);
    }
}
