/* coordinator_moves.h - a filter on nodes 1 to 3, node 4 as a spare, and operators' commands on
 * nodes.
 */
#ifndef ORBLOOM_TESTS_UNIT_COORDINATOR_MOVES_H
#define ORBLOOM_TESTS_UNIT_COORDINATOR_MOVES_H

#include "coordinator/nodes/moves.h"
#include "coordinator/nodes/usage.h"
#include "coordinator/plan/change.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { FILTER = 1, LEAVER = 2, SPARE = 4, SECOND_US = 1000000, SILENCE_US = 11 * SECOND_US };

static struct memory_store store;
static struct coordinator_stage stage;

static inline void keep_alive(struct coordinator_stage *at, uint32_t from, uint32_t to)
{
    for (uint32_t n = from; n <= to; n++) {
        struct sync_request request = coordinator_stage_node(n);

        cr_assert_eq(coordinator_stage_sync(at, n, &request).status, STATUS_OK);
    }
}

/* A filter on nodes 1 to 3; others come later. */
static inline void open_stage(uint32_t write, uint32_t read, enum durability durability)
{
    struct admin_request request = coordinator_stage_create();

    coordinator_stage_disks = durability != DURABILITY_MEMORY;
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    request.create.durability = durability;
    request.create.rule.write = write;
    request.create.rule.read = read;
    coordinator_stage_report(&stage, 3, 0, 0, REPLICA_NONE);
    coordinator_stage_command(&stage, 1, &request);
    coordinator_stage_report(&stage, 3, FILTER, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
}

static inline void close_stage(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

static inline struct coordinator_told command(struct coordinator_stage *at,
                                              enum admin_action action, const char *node,
                                              const char *successor, bool confirmed_off)
{
    const struct node_record *record = node_list_find_name(&at->coordinator->documents.nodes, node);
    const struct vouched_life off = {
        .life = {record != NULL ? record->id : 1, record != NULL ? record->incarnation : 1}};
    const struct admin_request request = {.action = action,
                                          .name = node,
                                          .successor = successor,
                                          .confirmed_off = &off,
                                          .nconfirmed_off = confirmed_off};

    coordinator_stage_command(at, 9, &request);
    return coordinator_stage_told(at);
}

static inline void expect(const struct coordinator_told *told, enum status status, const char *part)
{
    cr_assert_eq(told->status, status, "%s: %s", status_code(told->status), told->message);
    cr_assert_not_null(strstr(told->message, part), "\"%s\" is not in: %s", part, told->message);
}

static inline const struct filter_document *document_at(const struct coordinator_stage *at)
{
    return &document_cache_find(&at->coordinator->documents, FILTER)->document;
}

static inline const struct node_record *record_at(const struct coordinator_stage *at, uint32_t node)
{
    return node_list_find(&at->coordinator->documents.nodes, node);
}

static inline void expect_slot(const struct coordinator_stage *at, uint64_t epoch,
                               enum slot_stage stands, uint32_t current, uint32_t incoming)
{
    int index = document_slot_of(document_at(at), 0, current, 0);
    const struct slot *slot;

    cr_assert_geq(index, 0, "node %u holds no slot", current);
    slot = &document_at(at)->content.groups[0].slots[index];
    cr_assert_eq(document_at(at)->epoch, epoch, "epoch %llu",
                 (unsigned long long)document_at(at)->epoch);
    cr_assert_eq(slot_stage(slot), stands);
    cr_assert_eq(slot->current.node, current);
    cr_assert_eq(slot->incoming.node, incoming);
}

static inline void confirm(struct coordinator_stage *at, uint32_t node)
{
    coordinator_stage_confirm(at, node, SAMPLE_INCARNATION + node, STATUS_OK);
}

/* The spare has all that was there by the fences of this epoch. */
static inline void complete(struct coordinator_stage *at, uint64_t epoch)
{
    struct sync_request request = coordinator_stage_node(SPARE);
    const struct replica_report reports[1] = {
        {.filter_id = FILTER, .state = REPLICA_JOINING, .complete = epoch}};

    request.replicas = reports;
    request.nreplicas = 1;
    cr_assert_eq(coordinator_stage_sync(at, SPARE, &request).status, STATUS_OK);
}

#endif
