/* What a site may do with a filter that lives in several of them, by what its epoch says of it.
 *
 * A newcomer takes no adds before all others know of it: an add that is to be in every site would
 * else be acknowledged without those who have not heard of each other. It does not say "absent"
 * until it has what all others had, nor "new" of what it is given. Whoever leaves takes no adds, as
 * nobody would come for them. Adds that other sites relay are taken at all times: these fill it.
 *
 * Votes count under one epoch, so an operation keeps to what its own epoch said: keys that have
 * come since then were not there to be found.
 */
#include "base/mutant.h"
#include "router/private.h"

const char site_gate_reason[] =
    "this site takes no adds of the filter now: it joins the filter's sites, or leaves them; see "
    "`orbloom site`, and add at another site";

bool site_gate_shuts_out(const struct filter_document *document)
{
    return document_has_sites(document) && !document_sites(document)->takes_adds &&
           !MUTANT(SITE_ADDS_ANY_TIME);
}

bool site_gate_left(const struct filter_document *document)
{
    const struct site_entry *own = site_set_own(document_sites(document));

    return own != NULL && (own->state == SITE_LEAVING || own->state == SITE_GONE);
}

bool site_gate_withholds(const struct filter_document *document)
{
    return document_has_sites(document) && !document_sites(document)->says_absent &&
           !MUTANT(SITE_FILLING_ANSWERS);
}

/* Who leaves in order has all until then, and gets no more: settled it stays, unless another one is
 * removed of which it may lack something. A newcomer is not settled before it has copied all. */
bool site_gate_lacks(const struct filter_document *document)
{
    return site_gate_withholds(document) &&
           !(site_gate_left(document) && document_sites(document)->settled &&
             !document_sites(document)->joins_anew);
}

size_t site_gate_withhold(struct router *self, struct part *part)
{
    size_t count = 0;

    for (size_t i = 0; i < bits_words(part->count); i++) {
        uint64_t absent = part->absent[i] & ~part->present[i];

        part->absent[i] &= ~absent;
        count += bits_count_word(absent);
    }
    self->counters[ROUTER_checks_behind_total] += count;
    return count;
}
