/* Lives that an operator vouches for by name. */
#include "coordinator/nodes/vouch.h"

#include "coordinator/ask/fences.h"
#include "coordinator/nodes/moves.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct node_record *record_of(const struct coordinator *self,
                                           const struct member *life)
{
    return node_list_find(&self->documents.nodes, life->node);
}

static struct evidence_nodes look(const struct coordinator *self, uint64_t now_us,
                                  bool alive[DOCUMENT_MAX_NODES])
{
    const struct node_list *nodes = &self->documents.nodes;

    for (uint32_t i = 0; i < nodes->count; i++) {
        alive[i] = heard_alive(self, now_us, nodes->nodes[i].id);
    }
    return (struct evidence_nodes){.nodes = nodes, .alive = alive};
}

/* ---- whom the word is about ---- */

enum status vouch_check(const struct coordinator *self, const struct admin_request *request,
                        char *message)
{
    for (size_t i = 0; i < request->nconfirmed_off; i++) {
        const struct member *life = &request->confirmed_off[i].life;
        const struct node_record *record = record_of(self, life);

        if (record != NULL && record->incarnation != life->incarnation) {
            (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                           "node %.128s has another life by now, %016" PRIx64 ", and not the one "
                           "that was vouched for, %016" PRIx64 "; see `orbloom status`, and if "
                           "that one is off for good, too, vouch for it",
                           record->name, record->incarnation, life->incarnation);
            return STATUS_CONFLICT;
        }
    }
    return STATUS_OK;
}

/* Would it count for this filter? Without memory: as if. */
static bool concerns(const struct coordinator *self, uint64_t now_us,
                     const struct filter_document *document, const struct vouched_life *word)
{
    bool alive[DOCUMENT_MAX_NODES];
    const struct evidence_nodes nodes = look(self, now_us, alive);
    struct evidence evidence = {0};
    bool counts = true;

    if (evidence_open(&evidence, document) == STATUS_OK) {
        counts = evidence_vouch(&evidence, document, &nodes, word);
    }
    evidence_fini(&evidence);
    return counts;
}

enum status vouch_judge(const struct coordinator *self, uint64_t now_us,
                        const struct admin_request *request, const struct filter_document *document,
                        char *message)
{
    enum status status = vouch_check(self, request, message);

    for (size_t i = 0; status == STATUS_OK && i < request->nconfirmed_off; i++) {
        const struct member *life = &request->confirmed_off[i].life;
        const struct node_record *record = record_of(self, life);
        bool alive = heard_alive(self, now_us, life->node) || request->confirmed_off[i].runs;

        if (!concerns(self, now_us, document, &request->confirmed_off[i])) {
            (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                           "node %.128s %s: leave it out of --confirmed-off%s",
                           record != NULL ? record->name : "of that number",
                           alive ? "is alive, and confirms by itself"
                                 : "holds nothing of the filter",
                           alive ? ", or end its process first" : "");
            status = STATUS_INVALID;
        }
    }
    return status;
}

void vouch_note(struct coordinator *self, uint64_t now_us, const struct admin_request *request,
                const struct filter_document *document)
{
    bool alive[DOCUMENT_MAX_NODES];
    const struct evidence_nodes nodes = look(self, now_us, alive);
    struct fencing *fencing = request->nconfirmed_off > 0 ? fences_open(self, document) : NULL;

    for (size_t i = 0; fencing != NULL && i < request->nconfirmed_off; i++) {
        const struct member *life = &request->confirmed_off[i].life;

        if (evidence_vouch(&fencing->evidence, document, &nodes, &request->confirmed_off[i])) {
            log_line(LOG_WARN,
                     "filter %s, id %" PRIu64 ": an operator vouches that %s before incarnation "
                     "%016" PRIx64 " of node %" PRIu32 " is off",
                     document->content.name, document->id,
                     request->confirmed_off[i].runs ? "what ran" : "it and what ran",
                     life->incarnation, life->node);
        }
    }
}

/* ---- what it is worth ---- */

uint32_t vouch_open_group(const struct coordinator *self, uint64_t now_us,
                          const struct filter_document *document, const struct evidence *evidence,
                          uint32_t needed)
{
    bool alive[DOCUMENT_MAX_NODES];
    const struct evidence_nodes nodes = look(self, now_us, alive);
    uint32_t group = 0;

    while (group < document->content.ngroups && (uint32_t)__builtin_popcount(evidence_quiet(
                                                    evidence, document, &nodes, group)) >= needed) {
        group++;
    }
    return group;
}

static void put_life(const struct coordinator *self, const struct member *life, char *text,
                     size_t size)
{
    const struct node_record *record = record_of(self, life);
    size_t used = strlen(text);
    const char *comma = used > 0 ? ", " : "";

    if (record == NULL) {
        (void)snprintf(text + used, size - used, "%s#%" PRIu32 "@%016" PRIx64, comma, life->node,
                       life->incarnation);
    } else if (record->incarnation == life->incarnation) {
        (void)snprintf(text + used, size - used, "%s%.128s@%016" PRIx64, comma, record->name,
                       life->incarnation);
    } else {
        (void)snprintf(text + used, size - used,
                       "%s%.128s@%016" PRIx64 " for %016" PRIx64 ", which was before it", comma,
                       record->name, record->incarnation, life->incarnation);
    }
}

void vouch_tell_awaited(const struct coordinator *self, uint64_t now_us,
                        const struct filter_document *document, const struct evidence *evidence,
                        uint32_t group, char *text, size_t size)
{
    bool alive[DOCUMENT_MAX_NODES];
    const struct evidence_nodes nodes = look(self, now_us, alive);
    uint8_t quiet = evidence_quiet(evidence, document, &nodes, group);

    text[0] = '\0';
    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        if ((quiet >> i & 1) == 0) {
            put_life(self, &document->content.groups[group].slots[i].current, text, size);
        }
    }
}
