/* Rows and words of replicas, changes and what is lacking, as text and as JSON. */
#include "cli/replicas.h"

#include <stdio.h>
#include <string.h>

static const struct change_summary *change_of(const struct admin_reply *reply, uint64_t filter_id)
{
    for (size_t i = 0; i < reply->nchanges; i++) {
        if (reply->changes[i].filter_id == filter_id) {
            return &reply->changes[i];
        }
    }
    return NULL;
}

static const struct filter_summary *filter_of(const struct admin_reply *reply, uint64_t filter_id)
{
    for (size_t i = 0; i < reply->nfilters; i++) {
        if (reply->filters[i].id == filter_id) {
            return &reply->filters[i];
        }
    }
    return NULL;
}

static void take_report(struct replicas_state *self, const struct replica_report *report,
                        uint32_t *speaking)
{
    if (self->groups == 0 || report->state < self->state) {
        self->state = report->state;
        self->phase = PHASE_NONE;
        self->progress = 0;
        *speaking = 0;
    }
    if (report->state == self->state) {
        self->progress += report->progress;
        self->phase = report->phase > self->phase ? report->phase : self->phase;
        (*speaking)++;
    }
    self->groups++;
    self->behind += report->state != REPLICA_FULL;
    self->disk_bytes += report->disk_bytes;
}

struct replicas_state replicas_state_of(const struct admin_reply *reply, uint64_t filter_id,
                                        uint32_t node)
{
    const struct change_summary *change = change_of(reply, filter_id);
    struct replicas_state sum = {.state = REPLICA_NONE};
    uint32_t speaking = 0;

    for (size_t i = 0; i < reply->nreplicas; i++) {
        const struct replica_report *report = &reply->replicas[i];

        if (report->filter_id == filter_id && report->node_id == node) {
            take_report(&sum, report, &speaking);
        }
    }
    sum.progress = speaking > 0 ? sum.progress / speaking : 0;
    sum.not_replaced = sum.state == REPLICA_JOINING && sum.phase == PHASE_NONE &&
                       (change == NULL || change->slots == 0);
    return sum;
}

static const char *phase_name(enum replica_phase phase)
{
    switch (phase) {
    case PHASE_NONE:
        return "";
    case PHASE_REPLAYING:
        return "replaying";
    case PHASE_SYNCING:
        return "syncing";
    case PHASE_GROWING:
        return "growing";
    }
    return "";
}

const char *replicas_state_text(const struct replicas_state *state, char text[REPLICAS_TEXT_BYTES])
{
    static const char *const names[] = {"-", "BUILDING", "JOINING", "FULL"};
    bool moves = state->phase != PHASE_NONE || state->state == REPLICA_BUILDING;
    size_t used = 0;

    if (state->not_replaced) {
        used += (size_t)snprintf(text, REPLICAS_TEXT_BYTES, "NOT REPLACED: old incarnation");
    } else {
        used += (size_t)snprintf(text, REPLICAS_TEXT_BYTES, "%s", names[state->state & 3]);
    }
    if ((state->behind > 0 || state->phase == PHASE_GROWING) && moves && !state->not_replaced) {
        used += (size_t)snprintf(text + used, REPLICAS_TEXT_BYTES - used, " %d %%%s%s",
                                 (int)(state->progress * 100),
                                 state->phase != PHASE_NONE ? " " : "", phase_name(state->phase));
    }
    if (state->behind > 0 && state->behind < state->groups) {
        (void)snprintf(text + used, REPLICAS_TEXT_BYTES - used, " (%u of %u groups)", state->behind,
                       state->groups);
    }
    return text;
}

void replicas_text(const struct admin_reply *reply)
{
    if (reply->nreplicas == 0) {
        return;
    }
    (void)printf("\n%-24s %-14s %s\n", "FILTER", "NODE", "REPLICA");
    for (size_t i = 0; i < reply->nfilters; i++) {
        for (size_t k = 0; k < reply->nnodes; k++) {
            struct replicas_state state = replicas_state_of(reply, reply->filters[i].id,
                                                            reply->nodes[k].id);
            char text[REPLICAS_TEXT_BYTES];

            if (state.groups > 0) {
                (void)printf("%-24s %-14s %s\n", reply->filters[i].name, reply->nodes[k].name,
                             replicas_state_text(&state, text));
            }
        }
    }
}

static const char *step_text(enum change_step step)
{
    switch (step) {
    case CHANGE_TO_BEGIN:
        return "to be replaced (step 1 of 4)";
    case CHANGE_COPYING:
        return "being copied (step 2 of 4: written in both places, read in the old one)";
    case CHANGE_HANDING_OVER:
        return "being handed over (step 3 of 4: written in both places, read in the new one)";
    }
    return "";
}

void replicas_changes_text(const struct admin_reply *reply)
{
    for (size_t i = 0; i < reply->nchanges; i++) {
        const struct change_summary *change = &reply->changes[i];
        const struct filter_summary *filter = filter_of(reply, change->filter_id);

        (void)printf("\n%s: ", filter != NULL ? filter->name : "?");
        if (change->slots == 0) {
            (void)printf("not replaced. %s\n", change->awaited);
        } else {
            (void)printf("%u replica%s %s.\nAwaited: %s\n", change->slots,
                         change->slots == 1 ? "" : "s", step_text(change->step), change->awaited);
        }
    }
}

static void replica_json(struct json *json, const struct filter_summary *filter,
                         const struct node_summary *node, const struct replicas_state *state)
{
    json_begin(json, NULL, '{');
    json_text(json, "filter", filter->name);
    json_text(json, "node", node->name);
    json_text(json, "state", replica_state_name(state->state));
    json_text(json, "phase", state->phase == PHASE_NONE ? "none" : phase_name(state->phase));
    json_number(json, "progress", state->progress);
    json_bool(json, "not_replaced", state->not_replaced);
    json_count(json, "groups", state->groups);
    json_count(json, "groups_behind", state->behind);
    json_count(json, "disk_bytes", state->disk_bytes);
    json_end(json, '}');
}

void replicas_json(struct json *json, const struct admin_reply *reply)
{
    json_begin(json, "replicas", '[');
    for (size_t i = 0; i < reply->nfilters; i++) {
        for (size_t k = 0; k < reply->nnodes; k++) {
            struct replicas_state state = replicas_state_of(reply, reply->filters[i].id,
                                                            reply->nodes[k].id);

            if (state.groups > 0) {
                replica_json(json, &reply->filters[i], &reply->nodes[k], &state);
            }
        }
    }
    json_end(json, ']');
}

void replicas_changes_json(struct json *json, const struct admin_reply *reply)
{
    static const char *const names[] = {"", "to_begin", "copying", "handing_over"};

    json_begin(json, "changes", '[');
    for (size_t i = 0; i < reply->nchanges; i++) {
        const struct change_summary *change = &reply->changes[i];
        const struct filter_summary *filter = filter_of(reply, change->filter_id);

        json_begin(json, NULL, '{');
        json_text(json, "filter", filter != NULL ? filter->name : "");
        json_text(json, "step", names[change->step & 3]);
        json_count(json, "slots", change->slots);
        json_text(json, "awaited", change->awaited);
        json_end(json, '}');
    }
    json_end(json, ']');
}

void replicas_lacking_text(const struct admin_reply *reply)
{
    bool any = false;

    for (size_t i = 0; i < reply->nfilters; i++) {
        const struct filter_summary *filter = &reply->filters[i];

        if (filter->shards_lacking > 0) {
            (void)printf("\n%s: %u of %u shards have fewer than %u FULL replicas, at least %u: "
                         "%s.\nWhat helps: %s\n",
                         filter->name, filter->shards_lacking, filter->nshards,
                         filter->rule.replicas, filter->fewest_full, filter->lacking,
                         filter->lacking_remedy);
            any = true;
        }
    }
    if (!any && reply->nfilters > 0) {
        (void)printf("\nAll shards have all their replicas FULL.\n");
    }
}

void replicas_lacking_json(struct json *json, const struct admin_reply *reply)
{
    json_begin(json, "lacking", '[');
    for (size_t i = 0; i < reply->nfilters; i++) {
        const struct filter_summary *filter = &reply->filters[i];

        if (filter->shards_lacking > 0) {
            json_begin(json, NULL, '{');
            json_text(json, "filter", filter->name);
            json_count(json, "shards", filter->shards_lacking);
            json_count(json, "fewest_full", filter->fewest_full);
            json_count(json, "replicas", filter->rule.replicas);
            json_text(json, "why", filter->lacking);
            json_text(json, "remedy", filter->lacking_remedy);
            json_end(json, '}');
        }
    }
    json_end(json, ']');
}
