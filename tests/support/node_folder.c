/* Makes a folder by running a node, keeps its files, and puts them back. */
#include "tests/support/node_folder.h"

#include "base/heap.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { ROOM_BYTES = 1 << 30 };

static void make(struct node_folder *self, enum stage_end how, uint64_t reserve_bytes)
{
    struct node_stage *stage = &self->stage;

    node_stage_init_disk(stage);
    memory_disk_limit(stage->disk, ROOM_BYTES);
    stage->config.reserve_bytes = reserve_bytes;
    stage->config.retain_bytes = (uint64_t)2 * STAGE_DISK_SEGMENT_BYTES;
    /* Room for a few batches at a time, not for all: it is had anew at each of thousands of starts.
     */
    stage->config.steps[STEP_REPLAY_KEYS] = 4 * FOLDER_COUNT;
    cr_assert_eq(node_stage_open(stage), 0);
    self->incarnation = stage->incarnation;
    node_stage_filter(stage, 5, DURABILITY_SYNC, &self->document);
    sample_fingerprints(&self->document, 0, 1, FOLDER_KEYS, self->keys);
    for (uint32_t i = 0; i < FOLDER_KEYS; i += FOLDER_COUNT) {
        cr_assert_eq(node_stage_add(stage, &self->document, self->keys + i, FOLDER_COUNT),
                     STATUS_OK);
    }
    self->record = stage->record;
    self->nkeys = how == STAGE_END_KILL ? FOLDER_KEYS - FOLDER_COUNT : FOLDER_KEYS;
    node_stage_end(stage, how);
    self->disk = node_stage_copy_disk(stage);
}

void node_folder_make(struct node_folder *self, enum stage_end how)
{
    make(self, how, 0);
    cr_assert_geq(node_folder_files(self, "run-"), 2);
    cr_assert_geq(node_folder_files(self, "log-"), 3);
}

void node_folder_make_unmerged(struct node_folder *self, enum stage_end how)
{
    make(self, how, ROOM_BYTES);
    cr_assert_eq(node_folder_files(self, "run-"), 0);
}

void node_folder_drop(struct node_folder *self)
{
    memory_disk_destroy(&self->disk);
    document_fini(&self->document);
    node_stage_fini_disk(&self->stage);
    cr_assert_eq(heap_live(), 0);
}

static struct node_stage source_of(struct node_folder *self)
{
    return (struct node_stage){.disk = self->disk, .config.disk = memory_disk_seam(self->disk)};
}

unsigned node_folder_files(struct node_folder *self, const char *prefix)
{
    struct node_stage source = source_of(self);

    return node_stage_files(&source, prefix);
}

bool node_folder_file(struct node_folder *self, const char *prefix, unsigned number,
                      char name[DISK_NAME_BYTES])
{
    struct node_stage source = source_of(self);

    return node_stage_file(&source, prefix, number, name);
}

struct span node_folder_bytes(struct node_folder *self, const char *name)
{
    return memory_disk_bytes(self->disk, name);
}

void node_folder_restore(struct node_folder *self)
{
    struct node_stage source = source_of(self);
    struct node_stage *stage = &self->stage;

    if (stage->node != NULL) {
        node_stage_end(stage, STAGE_END_KILL);
    }
    node_stage_use_disk(stage, node_stage_copy_disk(&source));
    stage->record = self->record;
    stage->incarnation = self->incarnation;
    document_fini(&self->document);
    node_stage_make_filter(stage, 5, DURABILITY_SYNC, &self->document);
}

void node_folder_remove(struct node_folder *self, const char *name)
{
    const struct disk *disk = self->stage.config.disk;

    cr_assert_eq(disk->remove(disk->context, name), STATUS_OK);
    cr_assert_eq(disk->sync_folder(disk->context), STATUS_OK);
}

enum stage_outcome node_folder_start(struct node_folder *self, const char *what, const char *name,
                                     uint64_t place)
{
    struct node_stage *stage = &self->stage;
    enum stage_outcome outcome = node_stage_outcome(stage, self->incarnation);
    struct subrequest subrequest = node_stage_subrequest(&self->document, OPERATION_CHECK,
                                                         FOLDER_COUNT);
    static struct node_answer answer;

    cr_assert_neq(outcome, STAGE_REFUSED, "%s %s at %u", what, name, (unsigned)place);
    if (outcome == STAGE_SAME) {
        cr_assert_eq(node_stage_absent(stage, &self->document, self->keys, self->nkeys), 0,
                     "%s %s at %u", what, name, (unsigned)place);
        return outcome;
    }
    cr_assert_geq(node_stage_counter(stage, "amnesia_total"), 1);
    cr_assert(node_stage_ask_disk(stage, &subrequest, self->keys, &answer));
    cr_assert_neq(answer.subrequest.status, STATUS_OK, "%s %s at %u", what, name, (unsigned)place);
    cr_assert_neq(answer.subrequest.state, REPLICA_FULL);
    return outcome;
}

void node_folder_expect_rest(struct node_folder *self, uint64_t lost)
{
    cr_assert_lt(lost, self->nkeys, "it would say nothing");
    node_stage_hand(&self->stage, &self->document);
    node_stage_settle(&self->stage);
    node_stage_adopt(&self->stage, &self->document);
    cr_assert_leq(node_stage_absent(&self->stage, &self->document, self->keys, self->nkeys), lost);
}
