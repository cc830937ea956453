/* Rebuilds from a list in words for operators. */
#include "base/heap.h"
#include "base/number.h"
#include "coordinator/ask/fences.h"
#include "coordinator/duty/rebuild.h"

#include <inttypes.h>
#include <stdio.h>

enum { LISTED_NODES = 4 };

static const char *name_of(const struct coordinator *self, uint32_t node)
{
    const struct node_record *record = node_list_find(&self->documents.nodes, node);

    return record != NULL ? record->name : "a node not listed";
}

/* ---- why not ---- */

static void explain_room(const struct coordinator *self, const struct rebuild_answer *answer,
                         char *text)
{
    const struct node_record *record = node_list_find(&self->documents.nodes, answer->node);
    char missing[NUMBER_TEXT_BYTES];
    char needed[NUMBER_TEXT_BYTES];
    char limit[NUMBER_TEXT_BYTES];

    (void)snprintf(
        text, COORDINATOR_MESSAGE_BYTES,
        "memory does not suffice for a second set of arrays: node %s lacks %s; it takes %s there, "
        "and its memory_limit is %s. Raise it and restart that node",
        name_of(self, answer->node), number_show_bytes(answer->missing_bytes, missing),
        number_show_bytes(answer->needed_bytes, needed),
        number_show_bytes(record != NULL ? record->memory_limit_bytes : 0, limit));
}

static const char *fixed_text(enum rebuild_verdict verdict)
{
    switch (verdict) {
    case REBUILD_VERDICT_NO_KEYLOG:
        return "it keeps bits only (keylog off), and bits don't tell whose they are; create "
               "another filter, add the list there, and change over to that";
    case REBUILD_VERDICT_IN_MEMORY:
        return "it is kept in memory only, without a log that tells keys apart by when they came; "
               "create another filter, add the list there, and change over to that";
    case REBUILD_VERDICT_WINDOW:
        return "it has a time window and forgets by itself";
    case REBUILD_VERDICT_NOT_ACTIVE:
        return "it is being dropped";
    case REBUILD_VERDICT_GROWS:
        return "it is on its way to another capacity or rate; let that end, or take it back with "
               "`orbloom expand NAME --abort`";
    case REBUILD_VERDICT_REPLICAS:
        return "replicas of it are being replaced; retry when that is over, see `orbloom status`";
    case REBUILD_VERDICT_NOT_OPEN:
        return "no rebuild of it is open: begin first";
    case REBUILD_VERDICT_OTHER:
        return "the rebuild that is meant was committed or aborted, and another one is open; see "
               "`orbloom info`";
    case REBUILD_VERDICT_EMPTY:
        return "no list has been fed: all keys added before `begin` would be forgotten. Feed the "
               "list first, or say --yes if that is what you want";
    case REBUILD_VERDICT_WORN:
        return "so many rebuilds of it have been begun that no number is left for another one; "
               "create another filter, add the list there, and rename that one with --replace";
    case REBUILD_VERDICT_WRITE:
    case REBUILD_VERDICT_JOINS:
    case REBUILD_VERDICT_FENCES:
    case REBUILD_VERDICT_NO_ROOM:
        break;
    }
    return "";
}

void rebuild_explain(const struct coordinator *self, const struct filter_document *document,
                     const struct rebuild_answer *answer, char text[COORDINATOR_MESSAGE_BYTES])
{
    (void)document;
    if (answer->verdict == REBUILD_VERDICT_NO_ROOM) {
        explain_room(self, answer, text);
    } else {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES, "%s", fixed_text(answer->verdict));
    }
}

/* ---- who is awaited ---- */

static bool is_awaited(const struct filter_document *document, const struct evidence *evidence,
                       uint32_t node)
{
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        int slot = document_slot_of(document, group, node, 0);
        bool missing = evidence == NULL ||
                       (rebuild_fences_missing(document, evidence, group) > 0 && slot >= 0 &&
                        (evidence_silenced(evidence, document, group) >> slot & 1) == 0);

        if (slot >= 0 && missing) {
            return true;
        }
    }
    return false;
}

/* "node-1, node-4 and 2 more". */
static void list_awaited(const struct coordinator *self, const struct filter_document *document,
                         const struct evidence *evidence, char *text, size_t size)
{
    const struct node_list *nodes = &self->documents.nodes;
    uint32_t count = 0;
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < nodes->count; i++) {
        if (!is_awaited(document, evidence, nodes->nodes[i].id)) {
            continue;
        }
        if (count++ < LISTED_NODES) {
            used += (size_t)snprintf(text + used, size - used, "%s%.40s", count > 1 ? ", " : "",
                                     nodes->nodes[i].name);
        }
    }
    if (count > LISTED_NODES) {
        (void)snprintf(text + used, size - used, " and %" PRIu32 " more", count - LISTED_NODES);
    }
}

void rebuild_explain_fences(const struct coordinator *self, const struct filter_document *document,
                            enum rebuild_step step, char text[COORDINATOR_MESSAGE_BYTES])
{
    const struct fencing *fencing = fences_find(self, document->id);
    bool fits = fencing != NULL && evidence_fits(&fencing->evidence, document);
    uint32_t needed = quorum_fences(&document->content.rule);
    char names[COORDINATOR_MESSAGE_BYTES / 2];

    list_awaited(self, document, fits ? &fencing->evidence : NULL, names, sizeof names);
    if (step == REBUILD_COMMIT && rebuild_lineage(document) == 0) {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                       "the commit is written, but too few nodes have confirmed it (%" PRIu32
                       " of %" PRIu32 " replicas of each shard must): %s; until then some checks "
                       "may be answered from the former keys. Repeat `commit`, it waits for them",
                       needed, document->content.rule.replicas, names);
    } else {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                       "the rebuild is written, but too few nodes have confirmed it (%" PRIu32
                       " of %" PRIu32 " replicas of each shard must): %s; repeat `%s`, it goes on",
                       needed, document->content.rule.replicas, names,
                       step == REBUILD_COMMIT ? "commit" : "begin");
    }
}

/* ---- status ---- */

/* Of each slot group the most that a replica says it has. */
static uint64_t next_keys(const struct coordinator *self, const struct filter_document *document)
{
    uint64_t *most = heap_zalloc(document->content.ngroups, sizeof *most);
    uint64_t sum = 0;

    for (size_t i = 0; most != NULL && i < self->nheard; i++) {
        size_t count;
        const struct replica_report *reports = heard_reports(&self->heard[i], document->id, &count);

        for (size_t k = 0; k < count; k++) {
            if (reports[k].group < document->content.ngroups &&
                reports[k].keys_next > most[reports[k].group]) {
                most[reports[k].group] = reports[k].keys_next;
            }
        }
    }
    for (uint32_t group = 0; most != NULL && group < document->content.ngroups; group++) {
        sum += most[group];
    }
    heap_free(most);
    return sum;
}

/* Has the member said that it accepts nothing below the document's epoch? */
static bool has_taken(const struct coordinator *self, const struct filter_document *document,
                      uint32_t group, const struct member *member)
{
    const struct heard *heard = coordinator_heard(self, member->node);
    const struct replica_report *report = heard_report(heard, document->id, group);

    return report != NULL && heard->incarnation == member->incarnation &&
           report->fence >= document->epoch;
}

static uint32_t count_lagging(const struct coordinator *self,
                              const struct filter_document *document)
{
    uint32_t lagging = 0;

    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            const struct slot *slot = &document->content.groups[group].slots[i];

            lagging += !has_taken(self, document, group, slot_reader(slot));
        }
    }
    return lagging;
}

void rebuild_describe(const struct coordinator *self, const struct filter_document *document,
                      struct filter_summary *summary, char *text)
{
    uint32_t replicas = document->content.ngroups * document->content.rule.replicas;
    uint32_t lagging = count_lagging(self, document);
    bool open = rebuild_lineage(document) != 0;

    text[0] = '\0';
    summary->rebuild_awaited = text;
    summary->rebuild_keys = open ? next_keys(self, document) : 0;
    if (lagging == 0 || (!open && rebuild_serving(document) == 1)) {
        return;
    }
    (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                   open ? "%" PRIu32 " of %" PRIu32 " replicas have not reported yet that they "
                          "take the new keys"
                        : "%" PRIu32 " of %" PRIu32 " replicas have not reported the newest epoch "
                          "yet; what a rebuild has left is freed as they take it over",
                   lagging, replicas);
}
