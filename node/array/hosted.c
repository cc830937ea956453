/* What follows from a document for this node: whether it is ready, in which state each slot
 * group stands, and for which requests it counts. */
#include "node/array/hosted.h"

#include "base/mutant.h"

struct arrays *hosted_find(const struct hosted_filter *self, uint32_t keyset, uint64_t slice)
{
    struct arrays *set = self != NULL ? self->set : NULL;

    while (set != NULL && (set->keyset != keyset || set->slice != slice)) {
        set = set->next;
    }
    return set;
}

struct arrays *hosted_find_hosting(const struct hosted_filter *self, uint64_t hosting)
{
    struct arrays *set = self != NULL ? self->set : NULL;

    while (set != NULL && set->hosting != hosting) {
        set = set->next;
    }
    return set;
}

struct storage_set hosted_storage_set(const struct filter_document *document,
                                      const struct arrays *set)
{
    return (struct storage_set){
        .filter_id = document->id, .slice = set->slice, .keyset = set->keyset};
}

bool hosted_ready(const struct hosted_filter *self)
{
    bool ready = self->set != NULL && !self->lacks_read && !self->lacks_written;

    for (const struct arrays *set = self->set; set != NULL; set = set->next) {
        ready = ready && (!hosted_is_live(set) || arrays_ready(set));
    }
    return ready;
}

static enum replica_state least(enum replica_state a, enum replica_state b)
{
    return a < b ? a : b;
}

enum replica_state hosted_state(const struct hosted_filter *self, uint32_t group)
{
    enum replica_state state = arrays_state(self->set, group);

    for (const struct arrays *set = self->set; set != NULL; set = set->next) {
        state = hosted_is_live(set) ? least(state, arrays_state(set, group)) : state;
    }
    return self->lacks_read || self->lacks_written ? least(state, REPLICA_BUILDING) : state;
}

bool hosted_is_target(const struct arrays *set, const struct subrequest *subrequest)
{
    return set->written && (subrequest->keyset == 0 || subrequest->keyset == set->keyset);
}

/* What takes no keys yet, and has nothing to be read back into it, is empty: no check needs it. */
bool hosted_is_looked_at(const struct arrays *set)
{
    if (MUTANT(SET_PASSED_OVER)) {
        return set->read && arrays_ready(set);
    }
    return set->read && (arrays_ready(set) || !set->loaded || arrays_covers_any(set));
}

/* The vote of an add rests on what checks look into, too. */
static bool is_about(const struct arrays *set, const struct subrequest *subrequest)
{
    bool checks = (subrequest->keyset == 0 || subrequest->operation == OPERATION_CHECK) &&
                  hosted_is_looked_at(set);

    if (MUTANT(CHAIN_VOTES_EARLY) && subrequest->operation != OPERATION_CHECK) {
        checks = false;
    }
    return checks || (subrequest->operation == OPERATION_ADD && hosted_is_target(set, subrequest));
}

enum replica_state hosted_state_for(const struct hosted_filter *self,
                                    const struct subrequest *subrequest)
{
    bool lacks = subrequest->operation == OPERATION_ADD ? self->lacks_written : self->lacks_read;
    enum replica_state state = REPLICA_FULL;
    bool any = false;

    if (self->set == NULL) {
        return REPLICA_NONE;
    }
    for (const struct arrays *set = self->set; set != NULL; set = set->next) {
        if (is_about(set, subrequest)) {
            state = least(state, arrays_state(set, subrequest->group));
            any = true;
        }
    }
    return lacks || !any ? least(arrays_state(self->set, subrequest->group), REPLICA_BUILDING)
                         : state;
}

uint64_t hosted_bytes(const struct hosted_filter *self)
{
    uint64_t sum = 0;

    for (const struct arrays *set = self->set; set != NULL; set = set->next) {
        sum += set->bytes;
    }
    return sum;
}
