/* Shards with fewer replicas that count than they are to have: how many, why, and what an operator
 * can do about it. Steps that are under way are told by coordinator/duty/change.c. */
#include "base/heap.h"
#include "coordinator/duty.h"
#include "coordinator/nodes/moves.h"
#include "coordinator/private.h"

#include <stdarg.h>
#include <stdio.h>

/* Appends; what does not fit is left out. */
static void put(char *text, const char *format, ...) PRINTF_LIKE(2, 3);

static void put(char *text, const char *format, ...)
{
    size_t used = 0;
    va_list args;

    while (text[used] != '\0') {
        used++;
    }
    va_start(args, format);
    (void)vsnprintf(text + used, COORDINATOR_MESSAGE_BYTES - used, format, args);
    va_end(args);
}

/* ---- who counts ---- */

static void note_reports(const struct filter_document *document, const struct heard *heard,
                         uint8_t *full)
{
    size_t count;
    const struct replica_report *reports = heard_reports(heard, document->id, &count);

    for (size_t i = 0; i < count; i++) {
        const struct replica_report *report = &reports[i];

        if (report->state == REPLICA_FULL && report->group < document->content.ngroups &&
            member_role(document, report->group, heard->node, heard->incarnation) == MEMBER_FULL) {
            int slot = document_slot_of(document, report->group, heard->node, 0);

            full[report->group] |= (uint8_t)(1U << slot);
        }
    }
}

struct lack {
    uint32_t shards; /* with fewer than N */
    uint32_t fewest; /* that any of them has */
    uint32_t group;  /* that one's */
    uint8_t full;    /* bit s: its slot s has one */
};

static struct lack weigh(const struct filter_document *document, const uint8_t *full)
{
    uint32_t replicas = document->content.rule.replicas;
    struct lack lack = {.fewest = replicas};

    for (uint32_t shard = 0; shard < document_nshards(document); shard++) {
        uint32_t group = document->content.group_of_shard[shard];
        uint32_t count = (uint32_t)__builtin_popcount(full[group]);

        lack.shards += count < replicas;
        if (count < lack.fewest) {
            lack.fewest = count;
            lack.group = group;
            lack.full = full[group];
        }
    }
    return lack;
}

/* ---- why ---- */

static const char *name_of(const struct coordinator *self, uint32_t node)
{
    const struct node_record *record = node_list_find(&self->documents.nodes, node);

    return record != NULL ? record->name : "a node not listed";
}

static const char *reason(const struct coordinator *self, uint64_t now_us,
                          const struct slot_group *group, uint32_t index)
{
    const struct slot *slot = &group->slots[index];
    const struct member *reader = slot_reader(slot);
    const struct node_record *record = node_list_find(&self->documents.nodes, reader->node);

    if (slot_group_gave_up(group, reader) && !slot_is_pair(slot)) {
        return "was given up there";
    }
    if (record != NULL && record->incarnation != reader->incarnation) {
        return slot_is_pair(slot) ? "came back without its data, and is being completed"
                                  : "came back without its data";
    }
    if (!heard_alive(self, now_us, reader->node)) {
        return "is silent";
    }
    return coordinator_heard(self, reader->node)->round.told
               ? "is making its arrays, or catching up"
               : "has not told yet of all that it holds";
}

static void tell_reasons(const struct coordinator *self, uint64_t now_us,
                         const struct filter_document *document, const struct lack *lack,
                         char *text)
{
    const struct slot_group *group = &document->content.groups[lack->group];
    const char *comma = "";

    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        if ((lack->full >> i & 1) == 0) {
            put(text, "%s%.128s %s", comma, name_of(self, slot_reader(&group->slots[i])->node),
                reason(self, now_us, group, i));
            comma = ", ";
        }
    }
}

/* ---- what helps ---- */

/* The first of the group's silent members that hold a slot alone; NULL: none. */
static const struct node_record *silent_member(const struct coordinator *self, uint64_t now_us,
                                               const struct filter_document *document,
                                               const struct lack *lack)
{
    const struct slot *slots = document->content.groups[lack->group].slots;

    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        const struct member *reader = slot_reader(&slots[i]);

        if ((lack->full >> i & 1) == 0 && !heard_alive(self, now_us, reader->node)) {
            return node_list_find(&self->documents.nodes, reader->node);
        }
    }
    return NULL;
}

/* Is one of the silent node's slot groups, of any filter, there already? */
static bool shares_group(const struct coordinator *self, uint32_t silent, uint32_t other)
{
    for (size_t i = 0; i < self->documents.count; i++) {
        const struct filter_document *document = &self->documents.by_id[i]->document;

        for (uint32_t group = 0; group < document->content.ngroups; group++) {
            if (document->content.state != FILTER_DROPPED &&
                document_slot_of(document, group, silent, 0) >= 0 &&
                document_slot_of(document, group, other, 0) >= 0) {
                return true;
            }
        }
    }
    return false;
}

/* Who could take a slot of the group at once; whoever could take all that the silent one holds
 * first. NULL: nobody. */
static const struct node_record *spare(const struct coordinator *self, uint64_t now_us,
                                       const struct filter_document *document, uint32_t group,
                                       uint32_t silent, bool *takes_all)
{
    const struct node_list *nodes = &self->documents.nodes;
    const struct node_record *some = NULL;

    *takes_all = false;
    for (uint32_t i = 0; i < nodes->count && !*takes_all; i++) {
        const struct node_record *record = &nodes->nodes[i];

        if (heard_alive(self, now_us, record->id) && record->durable &&
            !node_record_leaves(record) && move_may_come(document, group, record)) {
            *takes_all = !shares_group(self, silent, record->id);
            some = some == NULL || *takes_all ? record : some;
        }
    }
    return some;
}

/* One takes its place, or several share what it held. */
static void tell_command(const struct node_record *silent, const struct node_record *other,
                         bool takes_all, bool vouch, char *text)
{
    const char *flag = vouch ? " --confirmed-off" : "";

    put(text, "; if it is gone for good: ");
    if (other != NULL && !takes_all) {
        put(text, "`orbloom node drain %.128s%s`", silent->name, flag);
        return;
    }
    put(text, "`orbloom node replace %.128s %.128s%s`", silent->name,
        other != NULL ? other->name : "NEW", flag);
    if (other == NULL) {
        put(text, ", NEW being a node to be started that holds none of these shards");
    }
}

static void tell_replacing(const struct coordinator *self, uint64_t now_us,
                           const struct filter_document *document, const struct lack *lack,
                           const struct node_record *silent, char *text)
{
    bool takes_all;
    const struct node_record *other = spare(self, now_us, document, lack->group, silent->id,
                                            &takes_all);
    bool vouch = quorum_fences(&document->content.rule) == document->content.rule.replicas;
    const struct member life = {.node = silent->id, .incarnation = silent->incarnation};
    bool given_up = slot_group_gave_up(&document->content.groups[lack->group], &life);

    put(text, "%s %.128s", given_up ? "empty the folder of, and start" : "start", silent->name);
    if (document->durability == DURABILITY_MEMORY) {
        put(text, "; what it held in memory is gone, and not copied");
    } else if (node_record_leaves(silent)) {
        put(text, ", or wait: its replicas move to other nodes");
    } else {
        tell_command(silent, other, takes_all, vouch, text);
        if (self->config.replace_after_us != 0 && other != NULL && !vouch) {
            put(text, ", which happens by itself after replace_after");
        }
    }
}

static void tell_remedy(const struct coordinator *self, uint64_t now_us,
                        const struct filter_document *document, const struct lack *lack,
                        bool changes, char *text)
{
    const struct node_record *silent = silent_member(self, now_us, document, lack);

    if (silent != NULL) {
        tell_replacing(self, now_us, document, lack, silent, text);
    } else if (changes) {
        put(text, "see below what its replacement awaits");
    } else {
        put(text, "nothing: that ends by itself");
    }
}

void lack_describe(const struct coordinator *self, uint64_t now_us,
                   const struct filter_document *document, struct telling *out)
{
    struct filter_summary *summary = out->summary;
    char *lacking = telling_text(out);
    char *remedy = telling_text(out);
    uint8_t *full = heap_zalloc(document->content.ngroups, 1);
    struct lack lack;

    summary->lacking = lacking;
    summary->lacking_remedy = remedy;
    if (full == NULL || document->content.state != FILTER_ACTIVE) {
        heap_free(full);
        return;
    }
    for (size_t i = 0; i < self->nheard; i++) {
        if (heard_alive(self, now_us, self->heard[i].node)) {
            note_reports(document, &self->heard[i], full);
        }
    }
    lack = weigh(document, full);
    heap_free(full);
    summary->shards_lacking = lack.shards;
    summary->fewest_full = lack.fewest;
    if (lack.shards > 0) {
        tell_reasons(self, now_us, document, &lack, lacking);
        tell_remedy(self, now_us, document, &lack, out->changes, remedy);
    }
}
