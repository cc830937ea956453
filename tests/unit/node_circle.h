/* node_circle.h - the circle of nodes, and the filter on it, that a file's tests are about. */
#ifndef ORBLOOM_TESTS_UNIT_NODE_CIRCLE_H
#define ORBLOOM_TESTS_UNIT_NODE_CIRCLE_H

#include "tests/support/node_circle.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { SECOND = 1000000, N1 = 2, N2 = 4, N3 = 8 /* bits of a set of nodes */ };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct circle *circle;
static struct filter_document document;

/* So many nodes; filter 5 is to be on the first `hosts` of them, and was not handed over. */
static inline void make_circle_of(uint32_t count, uint32_t hosts)
{
    circle = calloc(1, sizeof *circle);
    cr_assert_not_null(circle);
    circle_init(circle, count);
    circle_document(circle, 5, &rule, hosts, &document);
}

static inline void make_circle(uint32_t count)
{
    make_circle_of(count, 3);
}

static inline void close_circle(void)
{
    circle_fini(circle);
    document_fini(&document);
    free(circle);
}

/* As they are told to start since: see struct circle. */
static inline void restart_all(void)
{
    for (uint32_t id = 1; id <= circle->count; id++) {
        circle_stop(circle, id);
        circle_start(circle, id);
    }
    circle_run(circle, SECOND);
}

/* A node ends, if it has not, and starts on a copy of its folder. */
static inline void put_back(uint32_t id, struct memory_disk *copy)
{
    if (circle_node(circle, id) != NULL) {
        circle_stop(circle, id);
    }
    memory_disk_destroy(&circle->nodes[id - 1].disk);
    circle->nodes[id - 1].disk = copy;
    circle_start(circle, id);
}

/* The keys of `nbatches` batches of slot group 0, one after the other. */
static inline void make_keys(uint64_t *keys, uint32_t nbatches, uint32_t count)
{
    for (uint32_t i = 0; i < nbatches; i++) {
        sample_fingerprints(&document, 0, i + 1, count, keys + (size_t)i * count);
    }
}

/* A batch to a set of nodes. */
static inline void add_to(unsigned nodes, uint64_t number, const uint64_t *keys, uint32_t count)
{
    for (uint32_t id = 1; id <= circle->count; id++) {
        if ((nodes >> id & 1) != 0) {
            cr_assert_eq(circle_add(circle, id, &document, number, keys, count), STATUS_OK);
        }
    }
}

/* What a node has of the filter. */
static inline const struct arrays *set_of(uint32_t id)
{
    const struct document_entry *entry = document_cache_find(&circle_node(circle, id)->documents,
                                                             document.id);
    const struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;

    cr_assert(hosted != NULL && hosted->set != NULL);
    return hosted->set;
}

static inline const struct replica_group *group_of(uint32_t id)
{
    return &set_of(id)->groups[0];
}

/* ---- spies, see struct circle ---- */

/* What the spy has changed goes on its way. */
static inline void replace_frame(struct circle_frame *frame, const struct frame *decoded)
{
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(decoded, &bytes), STATUS_OK);
    free(frame->bytes);
    frame->bytes = malloc(bytes.size);
    frame->size = bytes.size;
    memcpy(frame->bytes, bytes.data, bytes.size);
    buffer_fini(&bytes);
}

/* So many answers to pulls get through, and no more. */
static unsigned replies_left;

static inline bool let_through_some(struct circle *self, struct circle_frame *frame,
                                    struct frame *decoded)
{
    (void)self;
    (void)frame;
    if (decoded->kind == FRAME_PULL_REPLY) {
        if (replies_left == 0) {
            return false;
        }
        replies_left--;
    }
    return true;
}

#endif
