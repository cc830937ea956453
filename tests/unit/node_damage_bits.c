/* What an array had of a snapshot, or a sorted run, that is lost goes with it: bits that no log has
 * would be passed over when others tell them, and be gone at the next start. */
#include "base/heap.h"
#include "tests/support/chain_document.h"
#include "tests/support/node_circle.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1000, BATCHES = 20, SECOND = 1000000, DAMAGED = 2, OTHER = 1 };

static const struct quorum_rule rule = {.replicas = 2, .write = 2, .read = 1};
static struct circle *circle;
static struct filter_document document;
static uint64_t keys[2][BATCHES][BATCH];
static uint64_t batches[2]; /* of each group, without gaps */

/* Nothing of the log is kept for others. A snapshot is read back two pages at a time. */
static void open_circle(enum keylog keylog, bool spread)
{
    circle = calloc(1, sizeof *circle);
    cr_assert_not_null(circle);
    circle_init(circle, 2);
    circle->steps[STEP_LOAD_PAGES] = 2;
    circle->steps[STEP_REPLAY_KEYS] = BATCH;
    for (uint32_t id = 1; id <= 2; id++) {
        circle_stop(circle, id);
        circle_start(circle, id);
    }
    circle_run(circle, SECOND);
    circle_document(circle, 5, &rule, 2, &document);
    document.keylog = keylog;
    document.generations[0].geometry.lines = 1 << 9;
    if (spread) {
        struct slot_group *groups = heap_zalloc(2, sizeof *groups);

        cr_assert_not_null(groups);
        groups[0] = groups[1] = document.content.groups[0];
        heap_free(document.content.groups);
        document.content.groups = groups;
        document.content.ngroups = 2;
        for (uint32_t shard = 0; shard < document_nshards(&document); shard++) {
            document.content.group_of_shard[shard] = (uint16_t)(shard % 2);
        }
    }
    for (uint32_t group = 0; group < document.content.ngroups; group++) {
        for (uint32_t i = 0; i < BATCHES; i++) {
            sample_fingerprints(&document, group, i + 1, BATCH, keys[group][i]);
        }
    }
    memset(batches, 0, sizeof batches);
}

static void close_circle(void)
{
    circle_fini(circle);
    document_fini(&document);
    free(circle);
}

static void add(uint32_t group, uint32_t i)
{
    batches[group]++;
    for (uint32_t id = 1; id <= 2; id++) {
        cr_assert_eq(circle_add(circle, id, &document, batches[group], keys[group][i], BATCH),
                     STATUS_OK);
    }
}

static void add_all(void)
{
    for (uint32_t i = 0; i < BATCHES; i++) {
        for (uint32_t group = 0; group < document.content.ngroups; group++) {
            add(group, i);
        }
    }
}

static struct storage_usage usage(void)
{
    return storage_usage(circle_node(circle, DAMAGED)->storage);
}

/* Until the log of DAMAGED is needed for one batch only, which is added again and again. */
static void add_until_kept(uint64_t snapshots, uint32_t nruns)
{
    for (uint32_t i = 0; usage().snapshots < snapshots || usage().nruns < nruns; i++) {
        cr_assert_lt(i, 5000, "nothing is ever kept");
        for (uint32_t group = 0; group < document.content.ngroups; group++) {
            add(group, 0);
        }
        circle_run(circle, 1000);
    }
    circle_run(circle, 2 * SECOND);
}

/* Well behind its beginning, where some of it has been read back by then. */
static void damage(const char *prefix)
{
    struct memory_disk *disk = circle->nodes[DAMAGED - 1].disk;
    char name[DISK_NAME_BYTES];
    struct span bytes;
    unsigned number = 0;

    do {
        cr_assert_lt(number, 1000, "there is no such file");
        (void)snprintf(name, sizeof name, "%s%016x", prefix, ++number);
        bytes = memory_disk_bytes(disk, name);
    } while (bytes.size == 0);
    memory_disk_flip(disk, name, bytes.size * 5 / 8 * 8);
}

static const struct hosted_filter *hosted(void)
{
    const struct document_entry *entry = document_cache_find(
        &circle_node(circle, DAMAGED)->documents, document.id);

    cr_assert(entry != NULL && entry->attachment != NULL);
    return entry->attachment;
}

static void restart(void)
{
    circle_stop(circle, DAMAGED);
    circle_start(circle, DAMAGED);
    circle_run(circle, 5 * SECOND);
    cr_assert(hosted_ready(hosted()));
}

/* The slots of what DAMAGED was become those of what it is, once it has taken over all. */
static void take_back(void)
{
    const struct member now = {.node = DAMAGED,
                               .incarnation = circle_node(circle, DAMAGED)->life.incarnation};

    for (uint32_t group = 0; group < document.content.ngroups; group++) {
        document.content.groups[group].slots[DAMAGED - 1].incoming = now;
    }
    document_epoch_advance(&document);
    circle_hand(circle, &document, 0);
    circle_run(circle, 10 * SECOND);
    for (uint32_t group = 0; group < document.content.ngroups; group++) {
        struct slot *slot = &document.content.groups[group].slots[DAMAGED - 1];

        cr_assert_eq(hosted()->set->groups[group].complete, document.epoch);
        *slot = (struct slot){.current = now, .read_since = document.epoch + 1};
    }
    document_epoch_advance(&document);
    circle_hand(circle, &document, 0);
    circle_run(circle, SECOND);
}

/* ---- what it answers from can be made again from its disk ---- */

enum { MOST_BYTES = 8 << 20 };

static size_t copy_arrays(uint8_t *out)
{
    size_t size = 0;

    for (const struct arrays *set = hosted()->set; set != NULL; set = set->next) {
        const struct layer *layer = arrays_base(set);

        for (uint32_t shard = 0; shard < layer->nshards; shard++) {
            cr_assert(layer->shards[shard] != NULL && size + layer->shard_bytes <= MOST_BYTES);
            memcpy(out + size, layer->shards[shard], layer->shard_bytes);
            size += layer->shard_bytes;
        }
    }
    return size;
}

static void expect_made_again(void)
{
    uint8_t *before = malloc(MOST_BYTES);
    uint8_t *after = malloc(MOST_BYTES);
    size_t size;
    size_t gone = 0;

    cr_assert(before != NULL && after != NULL);
    size = copy_arrays(before);
    circle_stop(circle, OTHER); /* Nobody is left to ask. */
    restart();
    cr_assert_eq(copy_arrays(after), size);
    for (size_t i = 0; i < size; i++) {
        gone += (unsigned)__builtin_popcount(before[i] & ~after[i] & 0xff);
    }
    cr_assert_eq(gone, 0, "%zu bits are in no log", gone);
    free(before);
    free(after);
}

static void expect_all(void)
{
    for (uint32_t group = 0; group < document.content.ngroups; group++) {
        for (uint32_t i = 0; i < BATCHES; i++) {
            cr_assert_eq(circle_count(circle, DAMAGED, &document, keys[group][i], BATCH), BATCH,
                         "batch %u of group %u", i, group);
        }
    }
    close_circle();
}

static void expect_damage(void)
{
    cr_assert_eq(circle_counter(circle, DAMAGED, NODE_amnesia_total), 1);
    take_back();
    expect_made_again();
    expect_all();
}

Test(node_damage_bits, of_the_pages_before_a_damaged_one_nothing_stays)
{
    open_circle(KEYLOG_OFF, false);
    circle_hand(circle, &document, 0);
    add_all();
    add_until_kept(1, 0);
    circle_stop(circle, DAMAGED);
    damage("snap-");
    circle_start(circle, DAMAGED);
    circle_run(circle, 5 * SECOND);
    expect_damage();
}

/* It went on while the other one came back, and what it has was in that very file. */
Test(node_damage_bits, nor_of_a_slot_group_that_stood_meanwhile)
{
    struct member left;

    open_circle(KEYLOG_OFF, true);
    circle_hand(circle, &document, 0);
    add_all();
    add_until_kept(1, 0);
    circle->nodes[DAMAGED - 1].cut = true; /* Else it fetches what others' logs still have. */
    left = document.content.groups[1].slots[DAMAGED - 1].current;
    document.content.groups[1].slots[DAMAGED - 1].current.node = 9;
    document_epoch_advance(&document);
    circle_hand(circle, &document, 0);
    damage("snap-");
    document.content.groups[1].slots[DAMAGED - 1].current = left;
    document_epoch_advance(&document);
    circle_hand(circle, &document, 0);
    circle_run(circle, 5 * SECOND);
    circle->nodes[DAMAGED - 1].cut = false;
    expect_damage();
}

/* A newer generation has left out what an older one had. */
Test(node_damage_bits, nor_of_an_older_generation_of_a_chain)
{
    open_circle(KEYLOG_OFF, false);
    chain_document_start(&document, 1 << 9, 1000000);
    circle_hand(circle, &document, 0);
    add_all();
    add_until_kept(1, 0);
    chain_document_list(&document, 1 << 9, 1000000);
    circle_hand(circle, &document, 0);
    circle_run(circle, SECOND);
    chain_document_join(&document);
    circle_hand(circle, &document, 0);
    circle_run(circle, SECOND);
    add_until_kept(2, 0);
    circle_stop(circle, DAMAGED);
    damage("snap-");
    circle_start(circle, DAMAGED);
    circle_run(circle, 5 * SECOND);
    expect_damage();
}

/* The other one has missed some, which were not acknowledged. */
static void open_keys(void)
{
    open_circle(KEYLOG_ON, false);
    circle_hand(circle, &document, 0);
    circle->nodes[DAMAGED - 1].cut = true;
    for (uint32_t i = 0; i < BATCHES; i++) {
        uint64_t alone[BATCH];

        sample_fingerprints(&document, 0, BATCHES + i + 1, BATCH, alone);
        cr_assert_eq(circle_add(circle, DAMAGED, &document, ++batches[0], alone, BATCH), STATUS_OK);
    }
    add_all();
    add_until_kept(0, 1);
}

Test(node_damage_bits, nor_of_a_sorted_run)
{
    open_keys();
    circle_stop(circle, DAMAGED);
    circle->nodes[DAMAGED - 1].cut = false;
    damage("run-");
    circle_start(circle, DAMAGED);
    circle_run(circle, 5 * SECOND);
    expect_damage();
}

/* Found long after its keys were read back: an array serves, and the file is merged. */
static void looked(struct storage_read *read, uint64_t now_us, enum status status)
{
    (void)now_us;
    cr_assert_eq(status, STATUS_STALE);
    *(bool *)read->context = true;
}

Test(node_damage_bits, nor_of_one_that_is_found_damaged_while_it_serves)
{
    const struct storage_set set = {.filter_id = 5, .keyset = 1};
    bool done = false;
    struct storage_read read = {.set = set,
                                .to = UINT64_MAX,
                                .room = 4 * BATCHES * BATCH,
                                .context = &done,
                                .done = looked};

    open_keys();
    damage("run-");
    cr_assert_eq(storage_read(circle_node(circle, DAMAGED)->storage, &read), STATUS_OK);
    circle_run(circle, SECOND);
    cr_assert(done);
    circle->nodes[DAMAGED - 1].cut = false;
    expect_damage();
}
