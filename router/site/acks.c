/* Adds that other sites are to have, too: acknowledged here once W replicas have them, and then by
 * each site that is asked for. A link tells which sites have all that was acknowledged here before
 * it was asked; so all adds that wait share one question, which is sent after their votes are in.
 *
 * Which sites count is what the epoch says under which the votes were given. Joining and leaving
 * ones don't. At its deadline an add is not acknowledged: it is written here, and may be elsewhere.
 */
#include "map/acks.h"

#include "base/mutant.h"
#include "router/site/inquiry.h"

#include <assert.h>
#include <stdio.h>

/* Also where there are no sites yet: the document may be older than those. */
void site_acks_enter(struct op *op, uint32_t own, const struct document_entry *entry)
{
    bool counts = op->operation == OPERATION_ADD && !op->relayed;

    op->acks = counts ? acks_most(entry->document.acks, own) : 0;
}

bool site_acks_wanted(const struct op *op)
{
    return op->acks > ACKS_LOCAL;
}

/* ---- what is there ---- */

/* Other sites of the set that count. */
static uint32_t count_others(const struct document_entry *entry)
{
    const struct site_set *set = document_sites(&entry->document);
    uint32_t count = 0;

    for (uint32_t i = 0; i < set->count; i++) {
        count += i != set->own && set->entries[i].state == SITE_COUNTED;
    }
    return count;
}

/* How many others have to confirm. */
static uint32_t needed(const struct op *op, const struct document_entry *entry)
{
    const struct site_entry *own = site_set_own(document_sites(&entry->document));

    if (op->acks == ACKS_EACH) {
        return count_others(entry) - (MUTANT(SITE_EACH_ONE_SHORT) && count_others(entry) > 0);
    }
    return op->acks - (own == NULL || own->state == SITE_COUNTED);
}

static bool is_confirmed(const struct op *op, const struct document_entry *entry)
{
    const struct site_inquiry *inquiry = site_inquiry_of(entry, SITE_CONFIRMS);
    uint32_t confirmed = inquiry != NULL ? freshness_confirmed(&inquiry->fresh, &op->came) : 0;

    return confirmed >= needed(op, entry);
}

static bool has_acknowledged(const struct op *op)
{
    bool any = false;

    for (uint32_t i = 0; i < op->nparts; i++) {
        const struct part *part = &op->parts[i];

        for (size_t word = 0; word < bits_words(part->count); word++) {
            any = any || (part->absent[word] | part->present[word]) != 0;
        }
    }
    return any;
}

/* ---- waiting ---- */

/* A question is kept until those have confirmed that the least of all adds takes. */
static void want_enough(struct site_inquiry *inquiry, uint32_t count)
{
    inquiry->enough = inquiry->enough == 0 || count < inquiry->enough ? count : inquiry->enough;
}

bool site_acks_hold(struct router *self, uint64_t now_us, struct op *op,
                    struct document_entry *entry)
{
    struct site_inquiry *inquiry;

    if (!op->unproved || !has_acknowledged(op)) {
        return false;
    }
    if (needed(op, entry) == 0) {
        op->unproved = false;
        return false;
    }
    if (needed(op, entry) > count_others(entry)) {
        return false; /* There are not so many. */
    }
    inquiry = site_inquiry_make(self, entry, SITE_CONFIRMS);
    if (inquiry == NULL || !op_may_park(self, op)) {
        return false;
    }
    op->came = freshness_came(&inquiry->fresh, now_us);
    op_park(self, op);
    want_enough(inquiry, needed(op, entry));
    site_inquire(self, op->filter_id, SITE_CONFIRMS, inquiry, true);
    return true;
}

enum site_ruling site_acks_rule(struct router *self, uint64_t now_us, struct op *op,
                                struct document_entry *entry)
{
    struct site_inquiry *inquiry = site_inquiry_of(entry, SITE_CONFIRMS);

    assert(op->parked && op->nopen == 0 && op->unproved);
    if (is_confirmed(op, entry)) {
        op->unproved = false;
        return SITE_DECIDES;
    }
    if (inquiry != NULL) {
        want_enough(inquiry, needed(op, entry));
        site_inquire_on(self, now_us, op->filter_id, SITE_CONFIRMS, inquiry);
    }
    return SITE_WAITS;
}

/* ---- at the deadline ---- */

size_t site_acks_withhold(struct part *part)
{
    size_t count = 0;

    for (size_t i = 0; i < bits_words(part->count); i++) {
        count += bits_count_word(part->absent[i] | part->present[i]);
        part->absent[i] = part->present[i] = 0;
    }
    return count;
}

/* One that counts and has not confirmed; NULL: there is none. */
static const struct site_entry *who_lacks(const struct op *op, const struct document_entry *entry)
{
    const struct site_inquiry *inquiry = site_inquiry_of(entry, SITE_CONFIRMS);
    const struct site_set *set = document_sites(&entry->document);

    for (uint32_t i = 0; i < set->count; i++) {
        if (i != set->own && set->entries[i].state == SITE_COUNTED &&
            (inquiry == NULL ||
             !freshness_has_confirmed(&inquiry->fresh, &op->came, &set->entries[i].id))) {
            return &set->entries[i];
        }
    }
    return NULL;
}

/* Where none lacks it any more it came too late. */
static void describe_lacking(const struct op *op, const struct document_entry *entry,
                             const char *acks, char *text)
{
    const struct site_entry *lacks = who_lacks(op, entry);
    const char *site = lacks != NULL ? lacks->name : "";
    char remedy[SITE_REMEDY_BYTES] = "retry";

    if (lacks != NULL) {
        (void)site_remedy(site_inquiry_of(entry, SITE_CONFIRMS), entry, &lacks->id, remedy);
    }
    (void)snprintf(text, ROUTER_MESSAGE_BYTES,
                   "%s: not acknowledged: site %s has not confirmed that it has them (acks %s); %s",
                   site, site, acks, remedy);
}

void site_acks_describe(const struct op *op, const struct document_entry *entry, char *text)
{
    char acks[NUMBER_TEXT_BYTES];
    const char *name = entry->document.content.name;

    (void)acks_show(op->acks, acks);
    if (needed(op, entry) > count_others(entry)) {
        (void)snprintf(
            text, ROUTER_MESSAGE_BYTES,
            "not acknowledged: acks %s takes as many sites that count, and filter %s has "
            "%u others; add a site, or ask for fewer",
            acks, name, count_others(entry));
        return;
    }
    if (!op->parked) {
        (void)snprintf(
            text, ROUTER_MESSAGE_BYTES,
            "not acknowledged: there was no time, or too many wait already, to hear that "
            "other sites of filter %s have it (acks %s); retry",
            name, acks);
        return;
    }
    describe_lacking(op, entry, acks, text);
}
