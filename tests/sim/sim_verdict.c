/* What must hold of an answer. */
#include "tests/sim/sim.h"
#include "tests/sim/sim_grown.h"
#include "tests/sim/sim_oracle.h"

#include <inttypes.h>

enum { DEADLINE_SLACK_US = 2000 /* a client's turn comes a little after its timer */ };

/* ---- what it can have been about ---- */

/* The one binding that served the operation; NULL when it cannot be told. The answer's own word
 * decides only between those that are possible. */
static struct sim_binding *served_by(struct sim_name_history *history, uint32_t mask,
                                     const struct session_result *result)
{
    const struct frame *frame = result->frame;

    if (__builtin_popcount(mask) == 1) {
        return &history->bindings[__builtin_ctz(mask)];
    }
    if (result->attempts != 1 || frame == NULL || frame->kind != FRAME_CLIENT_REPLY) {
        return NULL;
    }
    for (uint32_t i = 0; i < history->nbindings; i++) {
        struct sim_binding *binding = &history->bindings[i];

        if ((mask >> i & 1) != 0 && binding->filter_id != 0 &&
            binding->filter_id == frame->body.client_reply.filter_id) {
            return binding;
        }
    }
    return NULL;
}

/* May the operation have been about it? A list goes into what is not read yet. */
static bool concerns(const struct sim *sim, const struct sim_op *op,
                     const struct sim_keyset *keyset)
{
    if (op->operation != OPERATION_FEED) {
        return sim_keyset_is_read(keyset, op->begun_us, sim->now_us);
    }
    return op->keyset != 0 ? keyset->id == op->keyset
                           : keyset->id != SIM_FIRST_KEYSET && keyset->read_us >= op->begun_us;
}

/* Into one of the keysets that the operation may have been about. */
static bool may_have_met(const struct sim *sim, const struct sim_op *op,
                         const struct sim_binding *binding, const struct sim_add *add)
{
    for (size_t i = 0; i < binding->keysets->count; i++) {
        const struct sim_keyset *keyset = &binding->keysets->items[i];

        if (concerns(sim, op, keyset) && sim_keyset_may_have(keyset, add)) {
            return true;
        }
    }
    return false;
}

/* An add of the key, begun by now and not by `op` itself, of that binding's filter: by any of the
 * names that it has had. */
static bool was_added_to(const struct sim *sim, const struct sim_op *op, uint32_t key,
                         const struct sim_binding *binding, const struct sim_name_history *history)
{
    uint32_t mask = sim_oracle_bindings_of(history, binding->keysets);

    for (uint32_t at = history->first_add[key]; mask != 0 && at != 0;
         at = sim->oracle.adds[at].next) {
        const struct sim_add *add = &sim->oracle.adds[at];

        if (add->serial != op->serial && (sim_oracle_entered(history, add) & mask) != 0 &&
            may_have_met(sim, op, binding, add)) {
            return true;
        }
    }
    return false;
}

/* ... in one of the bindings of `mask`. */
static bool was_added(const struct sim *sim, const struct sim_op *op, uint32_t key, uint32_t mask)
{
    const struct sim_name_history *history = &sim->oracle.names[op->name];
    bool any = false;

    for (uint32_t i = 0; i < history->nbindings; i++) {
        for (uint32_t name = 0; (mask >> i & 1) != 0 && name < SIM_MAX_NAMES; name++) {
            any = any ||
                  was_added_to(sim, op, key, &history->bindings[i], &sim->oracle.names[name]);
        }
    }
    return any;
}

/* ---- verdicts ---- */

/* On one key. */
struct verdict {
    bool present;
    bool absent;
};

/* "Absent" takes R FULL replicas of one document, each of which ran while the check did. */
static bool can_be_sure(const struct sim *sim, const struct sim_op *op)
{
    const struct filter_document *document = sim_view_document(sim, op->name);

    return document == NULL || sim->view.changed_us[op->name] >= op->begun_us ||
           sim_view_most_ran(sim, op->name, op->begun_us) >= document->content.rule.read;
}

/* Promised before the operation began, in all that it may have been about? */
static bool was_promised(const struct sim *sim, const struct sim_op *op,
                         const struct sim_binding *binding, uint32_t key)
{
    for (size_t i = 0; i < binding->keysets->count; i++) {
        const struct sim_keyset *keyset = &binding->keysets->items[i];
        uint64_t acked_us = keyset->acked_us[key];
        bool over = sim_window_over(sim, op->name, keyset->sent_us[key]);

        if (concerns(sim, op, keyset) && (acked_us == 0 || acked_us >= op->begun_us || over)) {
            return false;
        }
    }
    return true;
}

static void judge_absent(struct sim *sim, const struct sim_op *op, uint32_t key, uint32_t mask)
{
    const struct sim_name_history *history = &sim->oracle.names[op->name];
    bool possible = false;

    for (uint32_t i = 0; i < history->nbindings; i++) {
        possible = possible ||
                   ((mask >> i & 1) != 0 && !was_promised(sim, op, &history->bindings[i], key));
    }
    if (!possible) {
        sim_fail(sim,
                 "lost key: check %" PRIu64 " of %s, begun at %" PRIu64
                 " us, says key %u is absent; its add was acknowledged before",
                 op->serial, sim_name(op->name), op->begun_us, key);
    } else if (__builtin_popcount(mask) == 1 && !can_be_sure(sim, op)) {
        sim_fail(sim,
                 "not sure is never absent: check %" PRIu64 " of %s says key %u is absent, while "
                 "fewer than R FULL replicas ran",
                 op->serial, sim_name(op->name), key);
    }
}

static void judge_certainty(struct sim *sim, const struct sim_op *op, uint32_t key)
{
    if (op->expect == SIM_EXPECT_NO_CERTAINTY) {
        sim_fail(sim,
                 "operation %" PRIu64 " is sure about key %u of %s, with too few FULL replicas",
                 op->serial, key, sim_name(op->name));
    }
}

/* The one exception: a router that has not heard of a drop, or of a commit, and a replica that has
 * not either. The answer says by which document the router went; of several attempts only that of
 * the last one is known. */
static bool is_of_minority(struct sim *sim, const struct sim_op *op,
                           const struct session_result *result)
{
    const struct filter_document *document = sim_view_document(sim, op->name);
    const struct client_reply *reply = result->frame != NULL &&
                                               result->frame->kind == FRAME_CLIENT_REPLY
                                           ? &result->frame->body.client_reply
                                           : NULL;
    bool told = reply != NULL && result->attempts == 1;
    bool former = told && (document == NULL || reply->filter_id != document->id ||
                           reply->epoch < document->epoch);

    if (!op->minority || (told ? !former : !sim_keysets_router_lags(sim, op->name))) {
        return false;
    }
    sim->coverage->minority++;
    return true;
}

static void judge_check(struct sim *sim, const struct sim_op *op, uint32_t key,
                        const struct verdict *verdict, uint32_t mask,
                        const struct session_result *result)
{
    bool present = verdict->present;
    bool absent = verdict->absent;

    if (absent && !present) {
        judge_absent(sim, op, key, mask);
        judge_certainty(sim, op, key);
    } else if (absent && op->expect == SIM_EXPECT_SUCCESS) {
        sim_fail(sim,
                 "nothing is wrong any more, yet check %" PRIu64 " is not sure about key %u of %s",
                 op->serial, key, sim_name(op->name));
    } else if (present && !absent && !was_added(sim, op, key, mask) &&
               !is_of_minority(sim, op, result)) {
        sim_fail(sim,
                 "wrong present: check %" PRIu64 " of %s finds key %u, which nobody has added "
                 "since the name was bound",
                 op->serial, sim_name(op->name), key);
    }
}

/* NEW in each keyset that it can have been about before? Notes it where there is only one. What an
 * operation was told before an accepted loss took the key says nothing of what came after. */
static bool was_new(const struct sim *sim, const struct sim_op *op, uint32_t key,
                    struct sim_binding *binding)
{
    struct sim_keyset *only = NULL;
    uint32_t count = 0;
    bool all = true;

    for (size_t i = 0; i < binding->keysets->count; i++) {
        struct sim_keyset *keyset = &binding->keysets->items[i];

        if (concerns(sim, op, keyset)) {
            only = keyset;
            count++;
            all = all && keyset->was_new[key] && keyset->lost_us[key] < op->begun_us;
        }
    }
    if (count == 1 && only->lost_us[key] < op->begun_us) {
        only->was_new[key] = true;
    }
    return all;
}

static void judge_new(struct sim *sim, const struct sim_op *op, uint32_t key,
                      struct sim_binding *binding)
{
    bool new = was_new(sim, op, key, binding);

    if (new || was_promised(sim, op, binding, key)) {
        sim_fail(sim, "lost key: add %" PRIu64 " of %s says key %u is NEW; it was %s before",
                 op->serial, sim_name(op->name), key, new ? "NEW" : "acknowledged");
    }
}

/* An add: in all keysets whose `begin` had returned before it. */
static void promise(struct sim *sim, const struct sim_op *op, uint32_t key,
                    struct sim_binding *binding)
{
    for (size_t i = 0; i < binding->keysets->count; i++) {
        struct sim_keyset *keyset = &binding->keysets->items[i];
        bool meant = op->operation == OPERATION_FEED
                         ? op->keyset == keyset->id
                         : keyset->begun_us != SIM_OPEN && keyset->begun_us <= op->begun_us;

        bool renews = sim_window_renews(sim, op->name) && op->begun_us > keyset->sent_us[key];

        if (meant && (keyset->acked_us[key] == 0 || renews)) {
            keyset->sent_us[key] = op->begun_us;
            keyset->acked_us[key] = sim->now_us;
        }
    }
}

/* What the window has left may be NEW once more. */
static void let_go(const struct sim *sim, const struct sim_op *op, uint32_t key,
                   struct sim_binding *binding)
{
    for (size_t i = 0; i < binding->keysets->count; i++) {
        struct sim_keyset *keyset = &binding->keysets->items[i];

        if (sim_window_over(sim, op->name, keyset->sent_us[key])) {
            keyset->acked_us[key] = 0;
            keyset->was_new[key] = false;
        }
    }
}

static void judge_add(struct sim *sim, const struct sim_op *op, uint32_t key,
                      const struct verdict *verdict, uint32_t mask, struct sim_binding *binding)
{
    bool present = verdict->present;
    bool absent = verdict->absent;

    if (present && !absent && !was_added(sim, op, key, mask)) {
        /* `dedup` would throw the key away though nobody ever had it. */
        sim_fail(sim,
                 "lost key: add %" PRIu64 " of %s says key %u is PRESENT; nobody else has added it",
                 op->serial, sim_name(op->name), key);
    }
    judge_certainty(sim, op, key);
    if (binding == NULL) {
        return;
    }
    if (binding == sim_oracle_newest(sim, op->name) &&
        sim_accepted_lets_off(sim, op->name, key, op->begun_us)) {
        return;
    }
    let_go(sim, op, key, binding);
    if (absent && !present) {
        judge_new(sim, op, key, binding);
    }
    promise(sim, op, key, binding);
}

/* ---- ends ---- */

static bool is_expected(const struct sim *sim, const struct sim_op *op, enum status status)
{
    if (status == STATUS_UNAUTHENTIC) {
        return sim_users_is_client(sim, op->client);
    }
    if (status == STATUS_INVALID) {
        return op->operation == OPERATION_FEED; /* The rebuild has ended, or is another one. */
    }
    return status == STATUS_OK || status == STATUS_UNAVAILABLE || status == STATUS_DEADLINE ||
           status == STATUS_NOT_READY || status == STATUS_STALE || status == STATUS_OVERLOADED ||
           status == STATUS_NOT_FOUND || status == STATUS_FULL;
}

/* When nothing is wrong any more it is the capacity of now that counts. */
static bool can_be_full(const struct sim *sim, const struct sim_op *op)
{
    bool settled = op->expect == SIM_EXPECT_SUCCESS && sim->scenario.calm;

    return op->operation != OPERATION_CHECK &&
           sim_oracle_tried(sim, op->name) >= sim_grown_room(sim, op->name, settled);
}

/* Whether the one binding was confirmed before the operation and not dropped while it ran, or only
 * replaced by another one in the same step. */
static bool lived_through(const struct sim_name_history *history, const struct sim_op *op,
                          uint32_t mask)
{
    const struct sim_binding *first = mask != 0 ? &history->bindings[__builtin_ctz(mask)] : NULL;

    if (__builtin_popcount(mask) == 2) { /* A rename to the name of another filter. */
        return first->live_us < op->begun_us && first[1].replaces && first[1].drop_us == SIM_OPEN &&
               (mask >> __builtin_ctz(mask) & 2) != 0;
    }
    return __builtin_popcount(mask) == 1 && first->live_us < op->begun_us &&
           first->drop_us == SIM_OPEN;
}

/* A full filter that is to grow: refused for now. */
static bool waits_for_room(const struct sim *sim, const struct sim_op *op, enum status status)
{
    return sim->expansion.on && status == STATUS_UNAVAILABLE && can_be_full(sim, op);
}

static void judge_end(struct sim *sim, const struct sim_op *op, const struct session_result *result,
                      uint32_t mask)
{
    bool live = lived_through(&sim->oracle.names[op->name], op, mask);

    if (!op->used) {
        sim_fail(sim, "operation %" PRIu64 " was answered twice", op->serial);
    } else if (sim->now_us > op->deadline_us + DEADLINE_SLACK_US) {
        sim_fail(sim, "operation %" PRIu64 " ended %" PRIu64 " us after its deadline", op->serial,
                 sim->now_us - op->deadline_us);
    } else if (!is_expected(sim, op, result->status)) {
        sim_fail(sim, "operation %" PRIu64 " ended with %s: %s", op->serial,
                 status_code(result->status), result->message);
    } else if (result->status == STATUS_NOT_FOUND && live) {
        sim_fail(sim, "operation %" PRIu64 " did not find %s, which existed all the time",
                 op->serial, sim_name(op->name));
    } else if (result->status == STATUS_FULL) {
        if (!can_be_full(sim, op)) {
            sim_fail(sim, "operation %" PRIu64 " finds %s full, which has room: %s", op->serial,
                     sim_name(op->name), result->message);
        }
    } else if (op->expect == SIM_EXPECT_SUCCESS && live && result->status != STATUS_OK &&
               !waits_for_room(sim, op, result->status)) {
        sim_fail(sim, "nothing is wrong any more, yet operation %" PRIu64 " ended with %s: %s",
                 op->serial, status_code(result->status), result->message);
    }
}

/* A request that had no answer, as another one had it, may be on its way still: it is wanted until
 * the operation's time is up, whatever its name stands for by then. */
static uint64_t over_us(const struct sim *sim, const struct sim_op *op,
                        const struct session_result *result)
{
    return result->attempts > 1 && op->deadline_us > sim->now_us ? op->deadline_us : sim->now_us;
}

void sim_oracle_op_ends(struct sim *sim, const struct sim_op *op,
                        const struct session_result *result)
{
    struct sim_name_history *history = &sim->oracle.names[op->name];
    uint32_t mask = sim_oracle_candidates(history, op->begun_us, sim->now_us);
    struct sim_binding *binding = served_by(history, mask, result);

    sim->oracle.answers++;
    judge_end(sim, op, result, mask);
    for (uint32_t i = 0; i < op->count; i++) {
        const struct verdict verdict = {
            .present = (result->present[0] >> i & 1) != 0,
            .absent = (result->absent[0] >> i & 1) != 0,
        };

        if (op->operation != OPERATION_CHECK) {
            sim->oracle.adds[op->adds[i]].over_us = over_us(sim, op, result);
        }
        if (op->operation != OPERATION_CHECK && result->status == STATUS_OK &&
            result->attempts == 1) {
            /* Any other may still be carried out, by a router that was asked and has slept. */
            sim->oracle.adds[op->adds[i]].ended_us = sim->now_us;
        }
        if (!verdict.present && !verdict.absent) {
            if (result->status == STATUS_OK) {
                sim_fail(sim, "operation %" PRIu64 " is OK with undecided keys", op->serial);
            }
        } else if (mask == 0) {
            sim_fail(sim, "operation %" PRIu64 " was answered by %s, which is not bound",
                     op->serial, sim_name(op->name));
        } else if (op->operation != OPERATION_CHECK) {
            judge_add(sim, op, op->keys[i], &verdict, mask, binding);
        } else {
            judge_check(sim, op, op->keys[i], &verdict, mask, result);
        }
    }
    if (op->operation != OPERATION_CHECK && binding == sim_oracle_newest(sim, op->name)) {
        sim_invariant_check(sim, op->name, op->keys, op->count);
    }
}
