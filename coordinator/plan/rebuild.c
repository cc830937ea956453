/* May a step be taken, and what it writes: verdicts first, edits below. Asking for the fences is
 * the coordinator's. */
#include "coordinator/plan/rebuild.h"

#include "base/mutant.h"
#include "map/history/keyset.h"

#include <assert.h>

enum { FIRST_KEYSET = 1 /* that a filter is created with */ };

static bool has_pairs(const struct filter_document *document)
{
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            if (slot_is_pair(&document->content.groups[group].slots[i])) {
                return true;
            }
        }
    }
    return false;
}

/* ---- fences ---- */

static uint32_t fences_needed(const struct filter_document *document)
{
    uint32_t needed = quorum_fences(&document->content.rule);

    if (MUTANT(BEGIN_UNFENCED) && rebuild_keyset(document) != 0) {
        return 0;
    }
    if (MUTANT(COMMIT_RETURNS_UNFENCED) && rebuild_keyset(document) == 0) {
        return 0;
    }
    return MUTANT(REBUILD_ONE_FENCE_SHORT) ? needed - 1 : needed;
}

uint32_t rebuild_fences_missing(const struct filter_document *document,
                                const struct evidence *evidence, uint32_t group)
{
    uint32_t needed = fences_needed(document);
    uint32_t have = (uint32_t)__builtin_popcount(evidence_silenced(evidence, document, group));

    return have < needed ? needed - have : 0;
}

bool rebuild_fenced(const struct filter_document *document, const struct evidence *evidence)
{
    if (evidence == NULL || !evidence_fits(evidence, document)) {
        return false;
    }
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        if (rebuild_fences_missing(document, evidence, group) > 0) {
            return false;
        }
    }
    return true;
}

/* ---- begin ---- */

static enum rebuild_verdict judge_kind(const struct filter_document *document)
{
    if (document->content.state != FILTER_ACTIVE) {
        return REBUILD_VERDICT_NOT_ACTIVE;
    }
    if (document_is_loading(document)) {
        return REBUILD_VERDICT_LOADS;
    }
    if (document->keylog == KEYLOG_OFF) {
        return REBUILD_VERDICT_NO_KEYLOG;
    }
    if (document->durability == DURABILITY_MEMORY) {
        return REBUILD_VERDICT_IN_MEMORY;
    }
    if (document->window_us != 0) {
        return REBUILD_VERDICT_WINDOW;
    }
    if (document_has_sites(document)) {
        return REBUILD_VERDICT_SITES;
    }
    if (rebuild_keyset(document) != 0) {
        return REBUILD_VERDICT_JOINS;
    }
    if (expansion_running(document)) {
        return REBUILD_VERDICT_GROWS;
    }
    return has_pairs(document) ? REBUILD_VERDICT_REPLICAS : REBUILD_VERDICT_WRITE;
}

static uint64_t bytes_on(const struct filter_document *document, uint32_t node)
{
    uint64_t shards = 0;

    for (uint32_t shard = 0; shard < document_nshards(document); shard++) {
        shards += document_slot_of(document, document->content.group_of_shard[shard], node, 0) >= 0;
    }
    return shards * document_shard_bytes(document);
}

/* Whether every node has room for its shards once more; else the one that lacks most. */
static bool fits(const struct expansion_view *view, struct rebuild_answer *answer)
{
    for (uint32_t i = 0; i < view->nnodes; i++) {
        const struct expansion_node *node = &view->nodes[i];
        uint64_t more = bytes_on(view->document, node->id);
        uint64_t needed = node->used_bytes + more;

        if (more > 0 && needed > node->limit_bytes &&
            needed - node->limit_bytes > answer->missing_bytes) {
            answer->node = node->id;
            answer->needed_bytes = needed;
            answer->missing_bytes = needed - node->limit_bytes;
        }
    }
    return answer->missing_bytes == 0;
}

struct rebuild_answer rebuild_may_begin(const struct expansion_view *view)
{
    const struct filter_document *document = view->document;
    struct rebuild_answer answer = {.verdict = judge_kind(document)};

    if (answer.verdict == REBUILD_VERDICT_JOINS) {
        answer.keyset = rebuild_keyset(document);
    }
    if (answer.verdict == REBUILD_VERDICT_WRITE && keyset_next(&document->content) == 0) {
        answer.verdict = REBUILD_VERDICT_WORN;
    } else if (answer.verdict == REBUILD_VERDICT_WRITE) {
        answer.keyset = keyset_next(&document->content);
        answer.verdict = fits(view, &answer) ? REBUILD_VERDICT_WRITE : REBUILD_VERDICT_NO_ROOM;
    }
    return answer;
}

/* ---- the other steps ---- */

/* Is the keyset that is named the one that is open? */
static enum rebuild_verdict judge_open(const struct filter_document *document, uint32_t keyset)
{
    if (document->content.state != FILTER_ACTIVE) {
        return REBUILD_VERDICT_NOT_ACTIVE;
    }
    if (rebuild_keyset(document) == 0) {
        return REBUILD_VERDICT_NOT_OPEN;
    }
    return rebuild_takes(document, keyset) ? REBUILD_VERDICT_WRITE : REBUILD_VERDICT_OTHER;
}

struct rebuild_answer rebuild_may_feed(const struct filter_document *document, uint32_t keyset)
{
    return (struct rebuild_answer){
        .verdict = judge_open(document, keyset),
        .keyset = rebuild_keyset(document),
    };
}

struct rebuild_answer rebuild_may_commit(const struct filter_document *document, uint32_t keyset,
                                         const struct evidence *evidence, bool empty)
{
    struct rebuild_answer answer = rebuild_may_feed(document, keyset);

    if (document->content.state == FILTER_ACTIVE && keyset == rebuild_serving(document) &&
        keyset > FIRST_KEYSET) {
        answer = (struct rebuild_answer){.verdict = REBUILD_VERDICT_JOINS, .keyset = keyset};
    } else if (answer.verdict != REBUILD_VERDICT_WRITE) {
        return answer;
    } else if (document_is_loading(document)) {
        answer.verdict = REBUILD_VERDICT_LOADS;
    } else if (document->fed_keys == 0 && !empty) {
        answer.verdict = REBUILD_VERDICT_EMPTY;
    } else if (has_pairs(document)) {
        answer.verdict = REBUILD_VERDICT_REPLICAS;
    } else if (!rebuild_fenced(document, evidence)) {
        answer.verdict = MUTANT(COMMIT_UNFENCED) ? REBUILD_VERDICT_WRITE : REBUILD_VERDICT_FENCES;
    }
    return answer;
}

struct rebuild_answer rebuild_may_abort(const struct filter_document *document, uint32_t keyset)
{
    struct rebuild_answer answer = rebuild_may_feed(document, keyset);

    if (answer.verdict == REBUILD_VERDICT_WRITE && has_pairs(document)) {
        answer.verdict = REBUILD_VERDICT_REPLICAS;
    }
    return answer;
}

/* ---- edits ---- */

static void advance(struct filter_document *document)
{
    document->fed_keys = 0;
    document_epoch_advance(document);
}

void rebuild_begin(struct filter_document *document, const struct rebuild_answer *answer)
{
    struct epoch_content *content = &document->content;

    assert(answer->verdict == REBUILD_VERDICT_WRITE && content->nkeysets == 1);
    keyset_add(content);
    assert(rebuild_keyset(document) == answer->keyset);
    advance(document);
}

/* Its keys are those of no dump any more. */
void rebuild_commit(struct filter_document *document)
{
    struct epoch_content *content = &document->content;

    assert(content->nkeysets == 2 && !document_is_loading(document));
    document->load_source = 0;
    document->loaded = 0;
    content->keysets[0] = (struct keyset){.id = content->keysets[1].id, .serving = true};
    content->nkeysets = 1;
    advance(document);
}

void rebuild_abort(struct filter_document *document)
{
    assert(document->content.nkeysets == 2);
    document->content.nkeysets = 1;
    advance(document);
}

void rebuild_note_fed(struct filter_document *document, uint64_t keys)
{
    document->fed_keys = keys < UINT64_MAX - document->fed_keys ? document->fed_keys + keys
                                                                : UINT64_MAX;
    document->revision++;
}
