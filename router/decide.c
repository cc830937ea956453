/* What the votes so far decide of an operation. */
#include "router/private.h"

#include <string.h>

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
        if (slot_pending(self, group, part, slot)) {
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
        count += slot_hopeful(part, slot);
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
        return hopeful(part, rule) < rule->write;
    }
    /* Acknowledged. A further vote may tell new from present, if it comes soon. */
    return nunsure == 0 || now_us - op->started_us >= hedge_patience_us(self) ||
           !expects_more(self, entry, part);
}

/* A filter that guards a cache would rather hear "maybe" now than "absent" at the deadline. */
static bool fails_open(const struct router *self, uint64_t now_us, const struct op *op,
                       const struct document_entry *entry)
{
    return entry->document.when_unavailable == WHEN_UNAVAILABLE_MAYBE &&
           now_us - op->started_us >= hedge_patience_us(self);
}

static bool check_decided(struct router *self, uint64_t now_us, struct op *op, struct part *part,
                          const struct document_entry *entry)
{
    const struct quorum_rule *rule = &entry->document.content.rule;
    struct quorum_votes votes;

    collect(part, rule, &votes);
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
        (void)quorum_check(rule, &votes, part->count, true, part->present, part->absent);
    }
}

void op_evaluate(struct router *self, uint64_t now_us, struct op *op, bool last)
{
    const struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);

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
    if (op->nopen == 0) {
        op_answer(self, op);
    }
}
