/* Whom a restore asks, what it takes them for, and who is missing. */
#include "base/heap.h"
#include "coordinator/plan/restore_plan.h"
#include "coordinator/restore/restore.h"
#include "proto/signed_document.h"

#include <stdio.h>
#include <string.h>

static bool held_by_node(const struct coordinator *self, uint64_t revision)
{
    for (size_t i = 0; i < self->nclaims; i++) {
        const struct claim *claim = &self->claims[i];

        for (size_t k = 0; k < claim->nheld; k++) {
            if (claim->held[k].filter_id == 0 && claim->held[k].revision >= revision) {
                return true;
            }
        }
    }
    return false;
}

enum status restore_known_nodes(struct coordinator *self, struct node_list *backup,
                                const struct node_list **known, bool *by_node)
{
    struct restore_record record;
    enum status status = restore_read(self, RESTORE_NODES_KEY, &record);

    if (status == STATUS_OK && record.version != 0) {
        status = codec_node_list_open(buffer_span(&record.value), &self->config.key, backup);
    }
    buffer_fini(&record.value);
    *known = self->found.nodes.revision > backup->revision ? &self->found.nodes : backup;
    if (self->documents.nodes.revision > (*known)->revision &&
        restore_same_nodes(&self->documents.nodes, *known)) {
        *known = &self->documents.nodes;
    }
    *by_node = (*known)->count > 0 && held_by_node(self, (*known)->revision);
    return status;
}

static bool answers(const struct coordinator *self, uint64_t now_us, const struct claim *claim)
{
    return claim != NULL && coordinator_lately(self, now_us, claim->last_us);
}

/* Append a name to a list in words. */
static void list_name(char *text, size_t size, const char *name)
{
    size_t used = strlen(text);

    (void)snprintf(text + used, size - used, "%s%.40s", used > 0 ? ", " : "", name);
}

static enum status check_claim(struct coordinator *self, uint64_t now_us, const struct claim *claim,
                               const struct map_parameters *map, char *message)
{
    uint64_t wanted[1];
    uint64_t after;

    if (restore_is_named(map->confirmed_off, map->nconfirmed_off, claim->record.name)) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "node %s answers: it is not off; end its process for good, or leave it out "
                       "of --confirmed-off",
                       claim->record.name);
        return STATUS_INVALID;
    }
    if (claim->rival_us != 0 && coordinator_lately(self, now_us, claim->rival_us)) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "two processes say that they are node %s; end one of them",
                       claim->record.name);
        return STATUS_INVALID;
    }
    if (!age_told_all(claim, &after)) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "node %s has not told all that it holds yet; retry", claim->record.name);
        return STATUS_UNAVAILABLE;
    }
    if (age_wanted(self, claim, wanted, 1) > 0) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "node %s has not sent all that the store lacks yet; retry",
                       claim->record.name);
        return STATUS_UNAVAILABLE;
    }
    return STATUS_OK;
}

enum status restore_check_nodes(struct coordinator *self, uint64_t now_us,
                                const struct node_list *known, const struct map_parameters *map,
                                char *message)
{
    enum status status = STATUS_OK;
    char silent[COORDINATOR_MESSAGE_BYTES / 2] = "";

    for (uint32_t i = 0; i < known->count; i++) {
        const char *name = known->nodes[i].name;

        if (!answers(self, now_us, age_claim(self, name)) &&
            !restore_is_named(map->confirmed_off, map->nconfirmed_off, name)) {
            list_name(silent, sizeof silent, name);
        }
    }
    for (size_t i = 0; status == STATUS_OK && i < self->nclaims; i++) {
        if (answers(self, now_us, &self->claims[i])) {
            status = check_claim(self, now_us, &self->claims[i], map, message);
        }
    }
    if (status == STATUS_OK && silent[0] != '\0') {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "not heard of: %s. What only they know would be lost: start them, or, when "
                       "they never come back with their data, name them with --confirmed-off; see "
                       "docs/store.md",
                       silent);
        return STATUS_UNAVAILABLE;
    }
    return status;
}

struct member *restore_asked(const struct coordinator *self, const struct node_list *known,
                             size_t *count)
{
    struct member *asked = heap_alloc(self->nclaims + 1, sizeof *asked);

    *count = 0;
    for (size_t i = 0; asked != NULL && i < self->nclaims; i++) {
        const struct node_record *record = node_list_find_name(known, self->claims[i].record.name);

        if (record != NULL) {
            asked[(*count)++] = (struct member){.node = record->id,
                                                .incarnation = self->claims[i].record.incarnation};
        }
    }
    return asked;
}

static uint64_t highest_revision(const struct coordinator *self, const struct node_list *known)
{
    uint64_t highest = known->revision > self->documents.nodes.revision
                           ? known->revision
                           : self->documents.nodes.revision;

    for (size_t i = 0; i < self->nclaims; i++) {
        for (size_t k = 0; k < self->claims[i].nheld; k++) {
            const struct held_document *held = &self->claims[i].held[k];

            highest = held->filter_id == 0 && held->revision > highest ? held->revision : highest;
        }
    }
    return highest;
}

static uint32_t highest_id(const struct node_list *list, uint32_t highest)
{
    highest = list->last_id > highest ? list->last_id : highest;
    for (uint32_t i = 0; i < list->count; i++) {
        highest = list->nodes[i].id > highest ? list->nodes[i].id : highest;
    }
    return highest;
}

enum status restore_make_nodes(struct coordinator *self, const struct node_list *known,
                               bool by_node, const struct map_parameters *map,
                               struct node_list *out)
{
    struct restore_claim *claims = heap_alloc(self->nclaims + 1, sizeof *claims);
    struct restore_nodes plan = {
        .known = known,
        .known_by_node = by_node,
        .claims = claims,
        .off = map->confirmed_off,
        .noff = map->nconfirmed_off,
        .last_id = highest_id(&self->documents.nodes, highest_id(known, 0)),
        .revision = highest_revision(self, known),
        .random = self->effects.random(self->effects.context),
    };
    enum status status;

    if (claims == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < self->nclaims; i++) {
        if (!restore_is_named(plan.off, plan.noff, self->claims[i].record.name)) {
            claims[plan.nclaims++] = (struct restore_claim){.record = &self->claims[i].record,
                                                            .life = self->claims[i].life};
        }
    }
    status = restore_plan_nodes(&plan, out);
    heap_free(claims);
    return status;
}
