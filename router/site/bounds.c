/* Checks that are bounded: "absent" only if all that other sites acknowledged until then is here.
 *
 * Links know how old the newest mark of each site is (site/freshness.h has the rules), and are
 * asked while checks want to know. A check is asked of nodes at once, as "present" needs no proof.
 * What it would call absent takes votes that were asked for after the proof: where there was none
 * yet the check is parked, and begins anew once there is. At its deadline it ends BEHIND. A fresh
 * check takes a question that was sent after it came.
 */
#include "base/mutant.h"
#include "map/staleness.h"
#include "router/site/inquiry.h"

#include <assert.h>
#include <stdio.h>

enum { REFRESH_PARTS = 4 /* links are asked again when so much of the bound is used up */ };

/* Not earlier than when this is called: `now_us` may have been read before what is handled came. */
static uint64_t late_us(const struct router *self, uint64_t now_us)
{
    uint64_t clock_us = self->effects.clock_us != NULL
                            ? self->effects.clock_us(self->effects.context)
                            : now_us;

    return clock_us > now_us ? clock_us : now_us;
}

void site_bound_enter(struct router *self, uint64_t now_us, struct op *op, uint64_t own,
                      struct document_entry *entry)
{
    uint64_t filters = staleness_bound(entry->document.max_staleness);
    uint64_t requests = staleness_bound(own);
    const struct site_inquiry *inquiry = site_inquiry_of(entry, SITE_AGES);

    op->bound_us = FRESHNESS_UNBOUNDED;
    if (op->operation == OPERATION_CHECK) {
        op->bound_us = filters < requests ? filters : requests;
    }
    /* Also where there are no sites yet: the document may be older than those. What is asked of
     * later is asked after this. */
    if (op->bound_us != FRESHNESS_UNBOUNDED) {
        op->came = (struct freshness_moment){
            .us = late_us(self, now_us), .questions = inquiry != NULL ? inquiry->fresh.sent : 0};
    }
}

static struct freshness_ruling judge(const struct site_inquiry *inquiry, const struct op *op)
{
    return inquiry != NULL ? freshness_allows(&inquiry->fresh, op->bound_us, &op->came)
                           : (struct freshness_ruling){.verdict = FRESHNESS_FILLING};
}

/* Most of the bound is used up: those who come later may do without waiting. */
static bool runs_out(const struct site_inquiry *inquiry, const struct op *op)
{
    return freshness_allows(&inquiry->fresh, op->bound_us / REFRESH_PARTS, &op->came).verdict !=
           FRESHNESS_MAY_SAY;
}

bool site_bound_proves(struct router *self, uint64_t now_us, const struct op *op,
                       struct document_entry *entry)
{
    struct site_inquiry *inquiry;
    bool proved;

    if (op->operation != OPERATION_CHECK || op->bound_us == FRESHNESS_UNBOUNDED ||
        !document_has_sites(&entry->document)) {
        return true;
    }
    inquiry = site_inquiry_make(self, entry, SITE_AGES);
    if (inquiry == NULL) {
        return false;
    }
    proved = judge(inquiry, op).verdict == FRESHNESS_MAY_SAY;
    /* What is under way was asked before a fresh check came. */
    if (!proved && (op->bound_us == 0 || now_us >= inquiry->await_us)) {
        site_inquire(self, op->filter_id, SITE_AGES, inquiry, op->bound_us == 0);
    } else if (proved && now_us >= inquiry->await_us && runs_out(inquiry, op)) {
        site_inquire(self, op->filter_id, SITE_AGES, inquiry, false);
    }
    return proved;
}

static bool has_absent(const struct op *op)
{
    bool any = false;

    for (uint32_t i = 0; i < op->nparts; i++) {
        const struct part *part = &op->parts[i];

        for (size_t word = 0; word < bits_words(part->count); word++) {
            any = any || (part->absent[word] & ~part->present[word]) != 0;
        }
    }
    return any;
}

/* A mark may prove it within moments. What a filter that fails open answers it would rather answer
 * now, but where the question is for what is known after it. */
static bool may_be_proved(const struct site_inquiry *inquiry, const struct op *op,
                          const struct document_entry *entry)
{
    enum freshness_verdict verdict = judge(inquiry, op).verdict;

    if (entry->document.when_unavailable == WHEN_UNAVAILABLE_MAYBE && op->bound_us > 0) {
        return verdict == FRESHNESS_MAY_SAY;
    }
    return verdict != FRESHNESS_FILLING && verdict != FRESHNESS_UNSETTLED;
}

bool site_bound_hold(struct router *self, struct op *op, struct document_entry *entry)
{
    if (!op->unproved || op->withholds || !has_absent(op) || !op_may_park(self, op) ||
        !may_be_proved(site_inquiry_of(entry, SITE_AGES), op, entry)) {
        return false;
    }
    op_park(self, op);
    return true;
}

enum site_ruling site_bound_rule(struct router *self, uint64_t now_us, struct op *op,
                                 struct document_entry *entry)
{
    struct site_inquiry *inquiry = site_inquiry_of(entry, SITE_AGES);

    assert(op->parked && op->nopen == 0);
    if (judge(inquiry, op).verdict == FRESHNESS_MAY_SAY) {
        op->unproved = op->unproved && !MUTANT(SITE_OLD_VOTES);
        return MUTANT(SITE_OLD_VOTES) ? SITE_DECIDES : SITE_ASKS_AGAIN;
    }
    if (inquiry != NULL) {
        site_inquire_on(self, now_us, op->filter_id, SITE_AGES, inquiry);
    }
    return SITE_WAITS;
}

/* ---- in words ---- */

static void describe_behind(const struct op *op, const char *site, uint64_t behind_us,
                            const char *remedy, char *text)
{
    if (op->bound_us == 0) {
        (void)snprintf(text, ROUTER_MESSAGE_BYTES,
                       "%s %.1fs: no mark of site %s that was begun after this check is here; %s",
                       site, (double)behind_us / 1e6, site, remedy);
        return;
    }
    (void)snprintf(text, ROUTER_MESSAGE_BYTES,
                   "%s %.1fs: what site %s acknowledged since then may not be here, and the bound "
                   "is %g s; %s",
                   site, (double)behind_us / 1e6, site, (double)op->bound_us / 1e6, remedy);
}

void site_bound_describe(const struct op *op, const struct document_entry *entry, char *text)
{
    const struct site_inquiry *inquiry = site_inquiry_of(entry, SITE_AGES);
    const struct freshness_ruling ruling = judge(inquiry, op);
    const char *name = entry->document.content.name;
    const struct site_id *id = ruling.verdict == FRESHNESS_UNHEARD ||
                                       ruling.verdict == FRESHNESS_BEHIND
                                   ? &inquiry->fresh.sites[ruling.site].id
                                   : NULL;
    const char *site = id != NULL ? site_name_of(entry, id) : "";
    char remedy[SITE_REMEDY_BYTES] = "";

    if (id != NULL) {
        (void)site_remedy(inquiry, entry, id, remedy);
    }
    switch (ruling.verdict) {
    case FRESHNESS_BEHIND:
        describe_behind(op, site, ruling.behind_us, remedy, text);
        break;
    case FRESHNESS_UNHEARD:
        (void)snprintf(text, ROUTER_MESSAGE_BYTES,
                       "%s: no link of this site knows how far its keys are here; %s", site,
                       remedy);
        break;
    case FRESHNESS_UNSETTLED:
        (void)snprintf(text, ROUTER_MESSAGE_BYTES,
                       "a site was removed from filter %s, and what the others have of it is not "
                       "compared yet: nothing can be told within a bound; see `orbloom site %s`",
                       name, name);
        break;
    case FRESHNESS_MAY_SAY: /* since nodes were asked */
    case FRESHNESS_FILLING:
        (void)snprintf(text, ROUTER_MESSAGE_BYTES,
                       "it took too long to prove \"absent\" within the bound of filter %s; retry",
                       name);
        break;
    }
}
