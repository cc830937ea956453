/* In which boots other sites know the nodes of this one. After it was put back to an older copy a
 * site lacks keys that it has acknowledged itself, and no mark of another one tells of that. But
 * that one has places of the logs here, and gives them to whoever sends it these: where they are
 * not of these logs, the stream does not begin (put_back.c). So who goes on from a log in its
 * present boot vouches that nothing is missing in it, and says so with each mark that it answers;
 * who has no place at all could not tell. Only what is vouched for by all others counts for bounded
 * checks: "absent" then means, at no site before, this one included.
 *
 * A third site asks the one that was put back, and it alone, for what that has acknowledged; and
 * may have been cut off itself while those keys came to the second one. So a mark also says whether
 * all further sites have vouched for the logs whose ends it tells, and counts for bounded checks
 * only if they have. Where they have not, marks of theirs are asked for: as each boot has to be
 * vouched for once, that is soon over. A site that is sent the logs has vouched for them as well:
 * its places were judged before (judging.c), whatever it has applied since. */
#include "base/mutant.h"
#include "link/private.h"

#include <string.h>

enum { WANTED_US = 1000000 }; /* marks of a site that does not vouch yet */

/* ---- told ---- */

static bool is_listed(const struct link *self, size_t count, const struct site_source *source)
{
    for (size_t i = 0; i < count; i++) {
        if (self->boots[i].node == source->node) {
            return true; /* One node has one log: of two boots the first one will do. */
        }
    }
    return false;
}

void vouched_fill(struct link *self, const struct outflow *outflow, struct site_marked *message)
{
    const struct inflow *inflow = inflow_find(self, outflow->filter_id, outflow->peer);
    size_t count = 0;

    if (inflow == NULL || inflow->places.state != PLACES_KNOWN ||
        site_life_compare(&inflow->own_life, &outflow->own_life) != 0 ||
        site_life_compare(&inflow->source_life, &outflow->peer_life) != 0) {
        return;
    }
    for (size_t i = 0; i < inflow->nsources && count < DOCUMENT_MAX_NODES; i++) {
        const struct site_source *source = &inflow->sources[i];

        if (!is_listed(self, count, source)) {
            self->boots[count++] = (struct site_boot){
                .node = source->node, .incarnation = source->incarnation, .boot = source->boot};
        }
    }
    message->boots = self->boots;
    message->nboots = count;
    message->boots_all = inflow->nsources == 0 && inflow->places.none && !inflow->places.too_many;
}

/* ---- heard ---- */

/* Who has known a boot has judged it for good. While it looks its own places up it tells none. */
void vouched_take(struct inflow *inflow, const struct site_marked *message)
{
    struct vouched *vouched = &inflow->vouched;

    vouched->all = message->boots_all;
    if (message->nboots > 0 &&
        heap_grow(&vouched->boots, &vouched->room, message->nboots, sizeof *vouched->boots)) {
        memcpy(vouched->boots, message->boots, message->nboots * sizeof *vouched->boots);
        vouched->count = message->nboots;
    }
}

void vouched_void(struct inflow *inflow)
{
    inflow->vouched.count = 0;
    inflow->vouched.all = false;
}

void vouched_fini(struct inflow *inflow)
{
    heap_free(inflow->vouched.boots);
}

/* ---- whether ---- */

/* Another site, as far as this link speaks with it. */
struct voucher {
    const struct inflow *inflow;   /* NULL: it tells nothing */
    const struct outflow *outflow; /* NULL: it is sent nothing */
};

/* It knows none of the logs, or did when it said so: of nodes that have started since it may. */
static bool knows_none(const struct inflow *inflow, const struct site_boot *log)
{
    return inflow->vouched.all && !inflow->own.suspect && !own_boots_differ(inflow, log);
}

static bool has_told(const struct inflow *inflow, const struct site_boot *log)
{
    for (size_t i = 0; i < inflow->vouched.count; i++) {
        const struct site_boot *one = &inflow->vouched.boots[i];

        if (one->node == log->node && one->incarnation == log->incarnation &&
            one->boot == log->boot) {
            return true;
        }
    }
    return knows_none(inflow, log);
}

/* It says so itself, or is sent that log: then the node has judged the place that it gave. */
static bool vouches(const struct voucher *self, const struct site_boot *log)
{
    return (self->inflow != NULL && has_told(self->inflow, log)) ||
           (self->outflow != NULL && outflow_goes_on(self->outflow, log));
}

bool vouched_has_all(const struct inflow *inflow, const struct router_ends_told *told)
{
    const struct voucher source = {
        .inflow = inflow,
        .outflow = outflow_find(inflow->self, inflow->filter_id, inflow->peer, &inflow->own_life,
                                &inflow->source_life),
    };

    for (size_t i = 0; i < told->count; i++) {
        const struct router_end *end = &told->ends[i];
        const struct site_boot log = {end->node, end->incarnation, end->boot};

        if (!vouches(&source, &log) && !MUTANT(SITE_UNVOUCHED)) {
            return false;
        }
    }
    return true;
}

/* ---- told on ---- */

static bool vouches_for(const struct voucher *self, const struct site_source *ends, size_t nends)
{
    for (size_t i = 0; i < nends; i++) {
        const struct site_boot log = {ends[i].node, ends[i].incarnation, ends[i].boot};

        if (!vouches(self, &log)) {
            return false;
        }
    }
    return true;
}

/* Does that site? Where it does not it is asked for marks, with which it tells what it knows. */
static bool site_vouches(struct link *self, uint64_t now_us, uint64_t filter_id,
                         const struct site_entry *own, const struct site_entry *site,
                         const struct site_marked *message)
{
    uint32_t peer = site_peer_of(self, &site->id);
    bool is_spoken_to = peer < LINK_MAX_SITES;
    struct inflow *inflow = is_spoken_to ? inflow_find(self, filter_id, peer) : NULL;
    const struct voucher voucher = {
        .inflow = inflow,
        .outflow = is_spoken_to ? outflow_find(self, filter_id, peer, &own->life, &site->life)
                                : NULL,
    };
    bool all = vouches_for(&voucher, message->ends, message->nends);

    if (inflow != NULL && !all) {
        marked_want(inflow, now_us + WANTED_US, now_us >= inflow->marked.wanted_until_us);
    }
    return all;
}

uint64_t vouched_by_others(struct link *self, uint64_t now_us, const struct outflow *outflow,
                           const struct site_marked *message)
{
    const struct document_entry *entry = outflow_document(self, outflow);
    const struct site_set *set = entry != NULL ? document_sites(&entry->document) : NULL;
    bool all = set != NULL && site_set_own(set) != NULL;

    for (uint32_t i = 0; all && i < set->count; i++) {
        const struct site_entry *site = &set->entries[i];

        if (i != set->own && site->state != SITE_GONE &&
            !site_id_equal(&site->id, &self->config.peers[outflow->peer].id)) {
            all = site_vouches(self, now_us, outflow->filter_id, site_set_own(set), site, message);
        }
    }
    return all ? mark_set_hash(set) : 0;
}
