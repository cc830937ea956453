/* Compare-and-swap as one transaction, and the question after a lost answer: was the first
 * attempt carried out? */
#include "coordinator/store/etcd/private.h"
#include "runtime/hub.h"

#include <assert.h>
#include <string.h>

enum {
    KEY_BASE64_BYTES = ETCD_KEY_BYTES * 2,
    /* A value in base64 and its key twice, with what JSON puts around them. */
    DRAFT_VALUE_BYTES = STORE_MAX_VALUE_BYTES / 3 * 4 + 2 * KEY_BASE64_BYTES + 1024,
};

/* {"compare":[...],"success":[...]}: all expectations, then which change was the last one, and all
 * writes. */
static void draft_swap(struct etcd_draft *draft, const struct store_etcd *self,
                       const struct store_swap *swaps, size_t count)
{
    struct span name = span_of(self->swap_name, ETCD_TOKEN_SIZE);

    etcd_draft_text(draft, "{\"compare\":[");
    for (size_t i = 0; i < count; i++) {
        etcd_draft_text(draft, i > 0 ? "," : "");
        etcd_draft_text(draft, "{\"target\":\"MOD\",\"result\":\"EQUAL\",\"key\":");
        etcd_draft_key(draft, self, "record/", swaps[i].key);
        etcd_draft_text(draft, ",\"mod_revision\":");
        etcd_draft_number(draft, swaps[i].expected);
        etcd_draft_text(draft, "}");
    }
    etcd_draft_text(draft, "],\"success\":[{\"request_range\":{\"keys_only\":true,\"key\":");
    etcd_draft_key(draft, self, "change", "");
    etcd_draft_text(draft, "}},");
    for (size_t i = 0; i < count; i++) {
        etcd_draft_text(draft, swaps[i].remove ? "{\"request_delete_range\":{\"key\":"
                                               : "{\"request_put\":{\"key\":");
        etcd_draft_key(draft, self, "record/", swaps[i].key);
        if (!swaps[i].remove) {
            etcd_draft_text(draft, ",\"value\":");
            etcd_draft_bytes(draft, name, swaps[i].value);
        }
        etcd_draft_text(draft, "}},");
    }
    etcd_draft_text(draft, "{\"request_put\":{\"key\":");
    etcd_draft_key(draft, self, "change", "");
    etcd_draft_text(draft, ",\"value\":");
    etcd_draft_bytes(draft, name, span_of(NULL, 0));
    etcd_draft_text(draft, "}}]}");
}

/* STATUS_OK with the version, when the record is of the swap under way; STATUS_CONFLICT when it
 * is the one that was expected; else STATUS_NOT_FOUND. */
static enum status look_back(struct store_etcd *self, const struct store_swap *swap,
                             uint64_t *version)
{
    uint8_t name[ETCD_TOKEN_SIZE];
    struct etcd_record record;
    json_t *answer = NULL;
    enum status status = etcd_read_record(self, "record/", swap->key, true, &record, &answer);

    if (status == STATUS_OK && record.version == swap->expected) {
        status = STATUS_CONFLICT;
    } else if (status == STATUS_OK && record.kv == NULL) {
        status = STATUS_NOT_FOUND; /* Removed, by this swap or another one. */
    } else if (status == STATUS_OK) {
        status = etcd_read_value(self, record.kv, name, NULL);
        *version = record.version;
        if (status == STATUS_OK && memcmp(name, self->swap_name, sizeof name) != 0) {
            status = STATUS_NOT_FOUND;
        }
    }
    json_decref(answer);
    return status;
}

/* An attempt got no answer, and the next one found other versions than expected. So the first can
 * no longer succeed; either it has, or another swap was first:
 *   any record is this swap's: it has;
 *   any record is still as expected: it has not, as it would have written that one too;
 *   neither: others have written all of them since, and nobody knows. */
static enum status resolve(struct store_etcd *self, const struct store_swap *swaps, size_t count,
                           uint64_t *change)
{
    enum status status = STATUS_NOT_FOUND;

    for (size_t i = 0; status == STATUS_NOT_FOUND && i < count; i++) {
        status = look_back(self, &swaps[i], change);
    }
    if (status == STATUS_NOT_FOUND) {
        log_limited(&self->damage, hub_now_us(), LOG_WARN,
                    "store: a write of %s got no answer, and others have written it since; what "
                    "it was for will be tried again",
                    swaps[0].key);
        status = STATUS_IO;
    }
    return status;
}

static enum status read_outcome(struct store_etcd *self, const json_t *answer,
                                const struct store_swap *swaps, size_t count, bool lost,
                                uint64_t *change)
{
    enum status status;

    if (!json_is_true(json_object_get(answer, "succeeded"))) { /* Left out when it is false. */
        return lost ? resolve(self, swaps, count, change) : STATUS_CONFLICT;
    }
    status = etcd_read_number(json_object_get(answer, "header"), "revision", change);
    if (status != STATUS_OK || *change == 0) {
        return etcd_refuse_answer(self, "an answer without a revision");
    }
    return STATUS_OK;
}

/* The change before this one, as the transaction has found it; 0: there was none, or it is not
 * told. */
static uint64_t change_before(const json_t *answer)
{
    const json_t *first = json_array_get(json_object_get(answer, "responses"), 0);
    const json_t *range = json_object_get(first, "response_range");
    const json_t *kv = json_array_get(json_object_get(range, "kvs"), 0);
    uint64_t before = 0;

    return kv != NULL && etcd_read_number(kv, "mod_revision", &before) == STATUS_OK ? before : 0;
}

/* What was written is known, if it is known to have come right behind what was known before. */
static void note(struct store_etcd *self, const json_t *answer, uint64_t change,
                 const struct store_swap *swaps, size_t count)
{
    uint64_t before = json_is_true(json_object_get(answer, "succeeded")) ? change_before(answer)
                                                                         : 0;

    if (before != 0 && before < change) {
        recent_note(&self->recent, before, change, swaps, count);
    } else {
        recent_forget(&self->recent);
    }
}

static bool can_match(const struct store_swap *swaps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert(strlen(swaps[i].key) < STORE_KEY_BYTES);
        assert(swaps[i].value.size <= STORE_MAX_VALUE_BYTES);
        if (swaps[i].expected > INT64_MAX) {
            return false;
        }
    }
    return true;
}

/* The second half of the name counts. */
static void name_next(struct store_etcd *self)
{
    uint8_t *digit = &self->swap_name[ETCD_TOKEN_SIZE - 1];

    while (++*digit == 0 && digit > &self->swap_name[ETCD_TOKEN_SIZE / 2]) {
        digit--;
    }
}

enum status etcd_swap(void *context, const struct store_swap *swaps, size_t count, uint64_t *change)
{
    struct store_etcd *self = context;
    uint64_t stamped = 0;
    struct etcd_draft draft;
    json_t *answer = NULL;
    enum status status;
    bool lost = false;

    assert(count > 0 && count <= STORE_MAX_KEYS && !swaps[0].remove);
    if (!can_match(swaps, count)) {
        return STATUS_CONFLICT;
    }
    name_next(self);
    etcd_draft_init(&draft, count * DRAFT_VALUE_BYTES + 4096);
    draft_swap(&draft, self, swaps, count);
    status = etcd_ask(self, "/v3/kv/txn", &draft, &lost, &answer);
    if (status == STATUS_OK) {
        status = read_outcome(self, answer, swaps, count, lost, &stamped);
    }
    if (status == STATUS_OK) {
        note(self, answer, stamped, swaps, count);
        *change = stamped;
    } else if (status != STATUS_CONFLICT) {
        recent_forget(&self->recent);
    }
    json_decref(answer);
    etcd_draft_fini(&draft);
    return status;
}
