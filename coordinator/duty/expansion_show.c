/* Expansion in words for operators. */
#include "base/number.h"
#include "coordinator/duty/expansion.h"
#include "coordinator/nodes/moves.h"
#include "coordinator/rounds.h"
#include "filter/sizing.h"

#include <inttypes.h>
#include <stdio.h>

static const char *name_of(const struct coordinator *self, uint32_t node)
{
    const struct node_record *record = node_list_find(&self->documents.nodes, node);

    return record != NULL ? record->name : "a node not listed";
}

static void explain_keys(const struct filter_document *document,
                         const struct expansion_answer *answer, char *text)
{
    char keys[NUMBER_TEXT_BYTES];
    char capacity[NUMBER_TEXT_BYTES];
    uint32_t nslices = document->nslices;

    if (nslices > 0) {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                       "its fullest slice holds about %s keys, more than a slice of that capacity "
                       "takes, %s; ask for more",
                       number_show_count(answer->keys / nslices, keys),
                       number_show_count(window_set_capacity(nslices, answer->capacity), capacity));
        return;
    }

    (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                   "it holds about %s keys, more than the capacity of %s; ask for more",
                   number_show_count(answer->keys, keys),
                   number_show_count(answer->capacity, capacity));
}

static void explain_grows_on(const struct expansion_answer *answer, char *text)
{
    char keys[NUMBER_TEXT_BYTES];
    char capacity[NUMBER_TEXT_BYTES];
    char least[NUMBER_TEXT_BYTES];

    (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                   "it holds about %s keys and grows by itself (when-full expand): from %s it "
                   "would do so at once; ask for %s or more",
                   number_show_count(answer->keys, keys),
                   number_show_count(answer->capacity, capacity),
                   number_show_count(answer->least, least));
}

static void explain_max(const struct filter_document *document,
                        const struct expansion_answer *answer, char *text)
{
    char asked[NUMBER_TEXT_BYTES];
    char most[NUMBER_TEXT_BYTES];

    if (answer->capacity <= document->max_capacity) {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                       "its capacity is max-capacity already, %s keys, for which its shards were "
                       "made; create a larger filter and add its keys again",
                       number_show_count(document->max_capacity, most));
        return;
    }
    (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                   "%s keys are more than its max-capacity of %s, for which its shards were made; "
                   "ask for less, or create a larger filter and add its keys again",
                   number_show_count(answer->capacity, asked),
                   number_show_count(document->max_capacity, most));
}

static void explain_room(const struct coordinator *self, const struct expansion_answer *answer,
                         char *text)
{
    const struct node_record *record = node_list_find(&self->documents.nodes, answer->node);
    char missing[NUMBER_TEXT_BYTES];
    char needed[NUMBER_TEXT_BYTES];
    char limit[NUMBER_TEXT_BYTES];

    (void)snprintf(
        text, COORDINATOR_MESSAGE_BYTES,
        "memory does not suffice: node %s lacks %s; at the peak it takes %s there, and its "
        "memory_limit is %s. Raise it and restart that node, or ask for less",
        name_of(self, answer->node), number_show_bytes(answer->missing_bytes, missing),
        number_show_bytes(answer->needed_bytes, needed),
        number_show_bytes(record != NULL ? record->memory_limit_bytes : 0, limit));
}

/* Who does not answer counts as silent before long, and is then left out. */
static void explain_old(const struct coordinator *self, const struct expansion_answer *answer,
                        char *text)
{
    (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                   "how many keys it holds now is not known: node %s was asked and has not "
                   "answered, so nothing was changed. See `orbloom status`, and retry: without an "
                   "answer for %" PRIu64 " ms it counts as silent, and the others suffice",
                   name_of(self, answer->node), self->config.node_timeout_us / 1000);
}

static void explain_running(const struct filter_document *document, char *text)
{
    char capacity[NUMBER_TEXT_BYTES];
    char rate[NUMBER_TEXT_BYTES];

    (void)snprintf(text, COORDINATOR_MESSAGE_BYTES, "it is %s to %s keys at %s already; %s",
                   expansion_goes_back(document) ? "going back" : "on its way",
                   number_show_count(document->capacity, capacity),
                   number_show_rate(document->rate, rate),
                   expansion_goes_back(document) ? "ask again when it is there"
                   : document_is_chain(document) ? "let it end"
                                                 : "let it end, or take it back first with "
                                                   "--abort");
}

static void explain_range(char *text)
{
    (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                   "capacity takes 1 to 1e12 keys, the rate %g to %g", SIZING_RATE_MIN,
                   SIZING_RATE_MAX);
}

/* Of a filter without a log of keys. */
static const char *chain_text(enum expansion_verdict verdict)
{
    if (verdict == EXPANSION_VERDICT_CHAIN_SHRINKS) {
        return "it has no log to be built anew from, so arrays that are there stay: it can only "
               "grow; create a smaller filter and add its keys again";
    }
    if (verdict == EXPANSION_VERDICT_CHAIN_RATE) {
        return "it has no log to be built anew from, so its rate stays: only its capacity can "
               "grow; leave out --fpr, or create another filter and add its keys again";
    }
    if (verdict == EXPANSION_VERDICT_CHAIN_BACK) {
        return "it has no log to be built anew from: what it grows by can't be taken back; let it "
               "end";
    }
    return "its checks read as many generations already as its rate can be divided among; create a "
           "larger filter and add its keys again";
}

static const char *fixed_text(enum expansion_verdict verdict)
{
    switch (verdict) {
    case EXPANSION_VERDICT_NO_KEYLOG:
        return "it has no key log to be built anew from (keylog off), and its one array takes the "
               "whole rate (when-full refuse), so none can be added; create a larger filter, with "
               "--when-full expand if it is to grow, and add its keys again";
    case EXPANSION_VERDICT_IN_MEMORY:
        return "it is kept in memory only, without a log to be built anew from, and its one array "
               "takes the whole rate (when-full refuse), so none can be added; create a larger "
               "filter, with --when-full expand if it is to grow, and add its keys again";
    case EXPANSION_VERDICT_NOTHING:
        return "nothing is under way; say how far it is to grow: --capacity, or --fpr";
    case EXPANSION_VERDICT_KEYS_UNKNOWN:
        return "how many keys it holds now is not known: no replica of some slot group can tell; "
               "see `orbloom status`, and retry";
    case EXPANSION_VERDICT_NOT_ACTIVE:
        return "it is being dropped";
    case EXPANSION_VERDICT_REBUILDS:
        return "a rebuild from a list is open; end that first: `orbloom rebuild NAME commit`, or "
               "abort";
    case EXPANSION_VERDICT_CHAIN_SHRINKS:
    case EXPANSION_VERDICT_CHAIN_RATE:
    case EXPANSION_VERDICT_CHAIN_BACK:
    case EXPANSION_VERDICT_CHAIN_LONG:
        return chain_text(verdict);
    case EXPANSION_VERDICT_REPLICAS:
        return "replicas are being replaced; that goes first: retry when `orbloom status` shows "
               "none";
    case EXPANSION_VERDICT_BEGIN:
    case EXPANSION_VERDICT_JOINS:
    case EXPANSION_VERDICT_IS_SO:
    case EXPANSION_VERDICT_OTHER_RUNS:
    case EXPANSION_VERDICT_OUT_OF_RANGE:
    case EXPANSION_VERDICT_ABOVE_MAX:
    case EXPANSION_VERDICT_BELOW_KEYS:
    case EXPANSION_VERDICT_GROWS_ON:
    case EXPANSION_VERDICT_KEYS_OLD:
    case EXPANSION_VERDICT_NO_ROOM:
        break;
    }
    return "";
}

void expansion_explain(const struct coordinator *self, const struct filter_document *document,
                       const struct expansion_answer *answer, char text[COORDINATOR_MESSAGE_BYTES])
{
    if (answer->verdict == EXPANSION_VERDICT_BELOW_KEYS) {
        explain_keys(document, answer, text);
    } else if (answer->verdict == EXPANSION_VERDICT_GROWS_ON) {
        explain_grows_on(answer, text);
    } else if (answer->verdict == EXPANSION_VERDICT_ABOVE_MAX) {
        explain_max(document, answer, text);
    } else if (answer->verdict == EXPANSION_VERDICT_NO_ROOM) {
        explain_room(self, answer, text);
    } else if (answer->verdict == EXPANSION_VERDICT_OTHER_RUNS) {
        explain_running(document, text);
    } else if (answer->verdict == EXPANSION_VERDICT_KEYS_OLD) {
        explain_old(self, answer, text);
    } else if (answer->verdict == EXPANSION_VERDICT_OUT_OF_RANGE) {
        explain_range(text);
    } else {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES, "%s", fixed_text(answer->verdict));
    }
}

/* "node-1, node-4 and 2 more". */
static void list_turns(const struct coordinator *self, const struct filter_document *document,
                       char *text, size_t size)
{
    enum { LISTED = 3 };
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < document->nturns && i < LISTED; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%.60s", i > 0 ? ", " : "",
                                 name_of(self, document->turns[i]));
    }
    if (document->nturns > LISTED) {
        (void)snprintf(text + used, size - used, " and %" PRIu32 " more",
                       document->nturns - LISTED);
    }
}

/* Keys came while nodes heard of a change to less room: they stay with what they serve. */
static bool tell_too_many(const struct filter_document *document, const struct expansion_view *view,
                          char *text)
{
    const struct generation *wanted = document_generation(document);
    const struct generation *left = &document->generations[0];
    char keys[NUMBER_TEXT_BYTES];
    char room[NUMBER_TEXT_BYTES];
    char former[NUMBER_TEXT_BYTES];
    uint64_t held;
    bool known;

    held = expansion_keys(view, &known);
    if (wanted->capacity >= left->capacity || held <= wanted->capacity) {
        return false;
    }
    (void)snprintf(
        text, COORDINATOR_MESSAGE_BYTES, "it holds about %s keys by now, more than %s: %s %s",
        number_show_count(held, keys), number_show_count(wanted->capacity, room),
        expansion_goes_back(document) ? "ask again for" : "take it back (--abort), nodes keep",
        number_show_count(left->capacity, former));
    return true;
}

static void tell(const struct coordinator *self, const struct filter_document *document,
                 const struct expansion_view *view, char *text)
{
    char names[COORDINATOR_MESSAGE_BYTES / 2];

    list_turns(self, document, names, sizeof names);
    if (!expansion_sees_most(view)) {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                       "half of its nodes or more have not reported to this coordinator lately");
    } else if (document_is_chain(document)) {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES, "%s",
                       rounds_is_moving(document)
                           ? "replicas are being replaced; that goes first"
                           : "all nodes that live to have room for the next generation");
    } else if (tell_too_many(document, view, text)) {
        return;
    } else if (document->nturns > 0) {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES, "%s %s", names,
                       document->nturns == 1 ? "builds" : "build");
    } else if (rounds_is_moving(document)) {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                       "replicas are being replaced; that goes first");
    } else {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES, "nodes to report that they know of it");
    }
}

void expansion_describe(struct coordinator *self, uint64_t now_us,
                        const struct document_entry *entry, struct telling *out)
{
    struct filter_summary *summary = out->summary;
    char *awaited = telling_text(out);
    char *refused = telling_text(out);
    const struct expanding *expanding = notes_find(&self->notes, NOTE_EXPANDING,
                                                   entry->document.id);
    struct expansion_view *view;

    summary->growth_awaited = awaited;
    summary->growth_refused = refused;
    if (!expansion_running(&entry->document)) {
        if (expanding != NULL) {
            (void)snprintf(refused, COORDINATOR_MESSAGE_BYTES, "%s", expanding->refused);
        }
        return;
    }
    view = expansion_view_make(self, now_us, entry);
    if (view != NULL) {
        struct expansion_progress progress = expansion_progress(view);

        summary->shards_grown = progress.grown;
        summary->shards_growing = progress.shards;
        tell(self, &entry->document, view, awaited);
    }
    expansion_view_free(view);
}
