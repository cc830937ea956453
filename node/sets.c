/* The sets of a hosted filter, by its document: made, kept, given up. */
#include "base/number.h"
#include "node/private.h"
#include "node/pull/live_sets.h"

static void drop(struct node *self, struct arrays *set)
{
    self->memory_used_bytes -= set->bytes;
    arrays_destroy(&set);
}

static void show_memory(struct node *self)
{
    self->counters[NODE_memory_used_bytes] = self->memory_used_bytes;
}

void node_sets_release(struct node *self, struct hosted_filter *hosted)
{
    while (hosted->set != NULL) {
        struct arrays *set = hosted->set;

        hosted->set = set->next;
        drop(self, set);
    }
    hosted->lacks_read = hosted->lacks_written = false;
    hosted->lacks_ahead = hosted->lacks_groups = false;
    show_memory(self);
}

void node_sets_destroy(struct hosted_filter *hosted)
{
    while (hosted->set != NULL) {
        struct arrays *set = hosted->set;

        hosted->set = set->next;
        arrays_destroy(&set);
    }
}

static void say_no_room(const struct node *self, const struct hosted_filter *hosted,
                        const struct filter_document *document, enum status status)
{
    bool serves = !hosted->lacks_read && !hosted->lacks_written && hosted->lacks_ahead;
    char used[NUMBER_TEXT_BYTES];
    char limit[NUMBER_TEXT_BYTES];

    log_line(LOG_ERROR,
             "cannot hold %sfilter %s: %s; %s of memory_limit %s are in use; raise memory_limit or "
             "drop filters%s",
             serves ? "one more generation of " : "", document->content.name,
             status_meaning(status), number_show_bytes(self->memory_used_bytes, used),
             number_show_bytes(self->config.memory_limit_bytes, limit),
             serves ? ". What is there serves" : "");
}

/* Has the log nothing of it? */
static bool is_empty(const struct node *self, const struct filter_document *document,
                     const struct arrays *set)
{
    const struct storage_set stored = hosted_storage_set(document, set);

    return self->storage == NULL || !storage_has(self->storage, &stored);
}

/* What the log has nothing of is complete at once: a new keyset, or slice, serves as soon as its
 * arrays stand, or before. NULL: no room, or no place here. */
static struct arrays *make(struct node *self, struct hosted_filter *hosted,
                           const struct filter_document *document, const struct live_set *live,
                           enum status *status)
{
    struct arrays *set = NULL;

    *status = arrays_create(document, live->generation, self->life.id, self->life.incarnation,
                            node_expansion_room(self), &set);
    if (*status != STATUS_OK || set == NULL) {
        return NULL;
    }
    set->keyset = live->keyset;
    set->slice = live->slice;
    set->hosting = hosted->hosting = ++self->hostings;
    set->loaded = is_empty(self, document, set);
    set->doubted = hosted->doubted;
    self->memory_used_bytes += set->bytes;
    self->building = hosted->unbuilt = true;
    return set;
}

/* Slot groups that are new here join the sets, in all or in none; those that are here already go
 * on. */
static enum status gain_groups(struct node *self, struct hosted_filter *hosted,
                               const struct filter_document *document)
{
    enum status status = STATUS_OK;
    uint64_t lacks = 0;

    for (const struct arrays *set = hosted->set; set != NULL; set = set->next) {
        lacks += arrays_lacks_bytes(set, document, self->life.id);
    }
    hosted->lacks_groups = lacks > node_expansion_room(self);
    if (lacks == 0 || hosted->lacks_groups) {
        return hosted->lacks_groups ? STATUS_NO_SPACE : STATUS_OK;
    }
    for (struct arrays *set = hosted->set; set != NULL && status == STATUS_OK; set = set->next) {
        uint64_t held = set->bytes;

        status = arrays_gain(set, document, self->life.id, is_empty(self, document, set));
        self->memory_used_bytes += set->bytes - held;
        set->hosting = hosted->hosting = ++self->hostings; /* What was begun of it is void. */
    }
    if (status != STATUS_OK) {
        /* In all or in none: sets of one filter host the same groups. */
        node_sets_release(self, hosted);
    }
    self->building = hosted->unbuilt = true;
    return status;
}

/* Of slot groups that have gone the memory is given back. All sets or none go on. */
static void follow_groups(struct node *self, struct hosted_filter *hosted,
                          const struct filter_document *document)
{
    bool goes_on = true;
    bool left = false;

    for (struct arrays *set = hosted->set; set != NULL && goes_on; set = set->next) {
        uint64_t held = set->bytes;

        goes_on = arrays_follow(set, document, self->life.id, self->life.incarnation);
        self->memory_used_bytes -= held - set->bytes;
        if (set->bytes != held) {
            left = true;
            set->hosting = hosted->hosting = ++self->hostings; /* What was begun of it is void. */
        }
    }
    if (left && self->storage != NULL && document->keylog == KEYLOG_OFF) {
        node_forget_batches(self->exchange); /* Their bits may go from the next snapshot on. */
    }
    if (!goes_on) {
        node_sets_release(self, hosted);
    }
}

static struct arrays *take_out(struct hosted_filter *hosted, const struct live_set *live)
{
    struct arrays **place = &hosted->set;
    struct arrays *set;

    while (*place != NULL && ((*place)->keyset != live->keyset || (*place)->slice != live->slice)) {
        place = &(*place)->next;
    }
    set = *place;
    if (set != NULL) {
        *place = set->next;
        set->next = NULL;
    }
    return set;
}

/* The sets of the document in its order, each with its part in it. Returns the end of the list. */
static struct arrays **line_up(struct node *self, struct hosted_filter *hosted,
                               const struct filter_document *document, struct arrays **first,
                               enum status *status)
{
    struct arrays **end = first;

    hosted->lacks_read = hosted->lacks_written = false;
    for (uint32_t i = 0; i < live_sets_count(document); i++) {
        const struct live_set live = live_sets_at(document, i);
        struct arrays *set = take_out(hosted, &live);

        if (set == NULL) {
            set = make(self, hosted, document, &live, status);
        }
        if (set != NULL) {
            set->read = live.read;
            set->written = live.written;
            set->chained = document_is_chain(document);
            set->unawaited = set->unawaited || (i > 0 && set->loaded);
            *end = set;
            end = &set->next;
        } else {
            hosted->lacks_read = hosted->lacks_read || live.read;
            hosted->lacks_written = hosted->lacks_written || live.written;
        }
    }
    return end;
}

/* Arrays for the slice or generation to come, so that adds need not wait for pages when it begins.
 * Without room for a slice's they will; a chain does not get longer before they stand. */
static void stand_ahead(struct node *self, struct hosted_filter *hosted,
                        const struct filter_document *document, struct arrays **end,
                        enum status *status)
{
    struct live_set live;
    enum status refused = STATUS_OK;

    hosted->lacks_ahead = false;
    if (!live_sets_ahead(document, &live)) {
        return;
    }
    *end = take_out(hosted, &live);
    if (*end == NULL) {
        *end = make(self, hosted, document, &live, &refused);
    }
    if (*end == NULL && document_is_chain(document)) {
        hosted->lacks_ahead = true;
        *status = *status == STATUS_OK ? refused : *status;
    }
    if (*end != NULL) {
        (*end)->unawaited = (*end)->unawaited || (*end)->loaded;
    }
}

/* What the document does not name is not looked at any more: its arrays go at once. If they are
 * needed again, as this document has not reached the disk, the log still has all of it. */
static void forget_rest(struct node *self, struct hosted_filter *hosted)
{
    while (hosted->set != NULL) {
        struct arrays *set = hosted->set;

        hosted->set = set->next;
        drop(self, set);
    }
}

void node_sets_follow(struct node *self, struct hosted_filter *hosted,
                      const struct filter_document *document, bool suits)
{
    struct arrays *first = NULL;
    struct arrays **end;
    enum status status = STATUS_OK;

    follow_groups(self, hosted, document);
    if (suits) {
        status = gain_groups(self, hosted, document);
    }
    if (hosted->set == NULL && !suits) {
        return;
    }
    end = line_up(self, hosted, document, &first, &status);
    if (first != NULL) {
        stand_ahead(self, hosted, document, end, &status);
    }
    forget_rest(self, hosted);
    hosted->set = first;
    if (first == NULL) {
        hosted->lacks_read = hosted->lacks_written = false;
        hosted->lacks_ahead = hosted->lacks_groups = false;
    }
    if (status != STATUS_OK && !hosted->refused) {
        say_no_room(self, hosted, document, status);
    }
    hosted->refused = status != STATUS_OK;
    show_memory(self);
}
