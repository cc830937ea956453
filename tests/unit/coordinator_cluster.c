/* Which cluster is this? Drawn once, told to whoever asks, and what belongs to another is refused.
 */
#include "map/access/seal.h"
#include "proto/signed_document.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

static struct memory_store store;
static struct coordinator_stage stage;
static struct coordinator_stage other;
static struct buffer record; /* the backup's, of sample_cluster() */

static void open_stage(void)
{
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    buffer_init(&record, 1024);
    cr_assert_eq(codec_cluster_sign(sample_cluster(), sample_key(), &record), STATUS_OK);
}

static void close_stage(void)
{
    buffer_fini(&record);
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

static struct sync_request question(uint32_t n)
{
    struct sync_request request = coordinator_stage_node(n);

    request.incarnation = 0;
    request.boot = 0;
    return request;
}

static struct coordinator_synced ask(struct coordinator_stage *asked, uint32_t n)
{
    struct sync_request request = question(n);

    return coordinator_stage_send(asked, n, &request);
}

/* Node n, whose data belong to this cluster. */
static struct coordinator_synced claim(uint32_t n, const struct cluster_id *cluster)
{
    struct sync_request request = coordinator_stage_node(n);

    request.cluster = *cluster;
    return coordinator_stage_sync(&stage, n, &request);
}

/* The same, and it holds a node list that the store has not. */
static struct coordinator_synced claim_list(uint32_t n, const struct cluster_id *cluster)
{
    const struct held_document held = {.revision = 9, .hash = 5};
    struct sync_request request = coordinator_stage_node(n);

    request.cluster = *cluster;
    request.held = &held;
    request.nheld = 1;
    request.held_count = 1;
    return coordinator_stage_send(&stage, n, &request);
}

static struct coordinator_told begin_restore(bool with_record)
{
    const struct map_record records[] = {{"cluster", buffer_span(&record)}};
    struct admin_request begin = {
        .action = ADMIN_MAP_BEGIN,
        .name = "",
        .map = {.key = cluster_key_tag(sample_key()), .records = records, .nrecords = with_record}};

    coordinator_stage_command(&stage, 9, &begin);
    return coordinator_stage_told(&stage);
}

static bool says(const char *message, const struct cluster_id *id)
{
    char text[CLUSTER_ID_TEXT_BYTES];

    return strstr(message, cluster_id_show(id, text)) != NULL;
}

Test(coordinator_cluster, it_is_drawn_once_and_told)
{
    struct coordinator_synced told;
    struct cluster_id drawn;

    open_stage();
    told = ask(&stage, 1);
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    cr_assert(cluster_id_known(&told.cluster));
    cr_assert_eq(told.node_id, 0, "and the node is not registered");
    drawn = told.cluster;
    told = ask(&stage, 2);
    cr_assert(cluster_id_equal(&told.cluster, &drawn));
    told = claim(1, &drawn);
    cr_assert_eq(told.status, STATUS_OK);
    cr_assert(cluster_id_equal(&told.cluster, &drawn));
    coordinator_stage_fini(&stage);
    coordinator_stage_init(&stage, &store.store);
    told = ask(&stage, 3);
    cr_assert(cluster_id_equal(&told.cluster, &drawn));
    close_stage();
}

static void draw_elsewhere(void *context)
{
    (void)context;
    store.before_swap = NULL;
    cr_assert_eq(ask(&other, 2).status, STATUS_OK);
}

/* Both have read an empty store, and the other one writes first. */
Test(coordinator_cluster, of_two_that_draw_at_once_one_wins)
{
    struct coordinator_synced told;

    open_stage();
    coordinator_stage_init(&other, &store.store);
    other.fake.random = 99;
    store.before_swap = draw_elsewhere;
    told = ask(&stage, 1);
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    cr_assert(cluster_id_known(&other.synced.cluster));
    cr_assert(cluster_id_equal(&told.cluster, &other.synced.cluster));
    coordinator_stage_fini(&other);
    close_stage();
}

Test(coordinator_cluster, what_belongs_to_another_one_is_refused_by_name)
{
    struct coordinator_synced told;
    struct cluster_id ours;
    uint64_t change;

    open_stage();
    ours = ask(&stage, 1).cluster;
    change = store.change;
    told = claim(1, sample_cluster());
    cr_assert_eq(told.status, STATUS_INVALID);
    cr_assert(says(told.message, sample_cluster()) && says(told.message, &ours), "%s",
              told.message);
    cr_assert_eq(store.change, change, "nothing was written");
    close_stage();
}

/* As its MAC covers the rest. */
Test(coordinator_cluster, a_question_without_the_cluster_key_is_not_answered)
{
    struct frame frame = {.kind = FRAME_SYNC_REQUEST, .body.sync_request = question(1)};

    open_stage();
    fake_request(&stage.actor, stage.now_us, 1, &frame);
    coordinator_stage_turn(&stage);
    cr_assert_eq(store.change, 0);
    close_stage();
}

Test(coordinator_cluster, none_is_drawn_where_a_store_was_lost)
{
    struct coordinator_synced told;

    open_stage();
    cr_assert_eq(claim_list(1, sample_cluster()).status, STATUS_UNAVAILABLE);
    told = ask(&stage, 2);
    cr_assert_eq(told.status, STATUS_UNAVAILABLE);
    cr_assert_not_null(strstr(told.message, "map restore"), "%s", told.message);
    cr_assert_eq(store.change, 0);
    close_stage();
}

/* Else it could never say that it holds nothing any more. */
Test(coordinator_cluster, a_folder_that_was_emptied_counts_once_its_process_is_silent)
{
    struct cluster_id drawn;

    open_stage();
    drawn = ask(&stage, 1).cluster;
    cr_assert_eq(claim(1, &drawn).status, STATUS_OK);
    cr_assert_eq(claim_list(2, sample_cluster()).status, STATUS_INVALID);
    cr_assert_eq(ask(&stage, 2).status, STATUS_UNAVAILABLE, "that process may live");
    coordinator_stage_pass(&stage, 20000000);
    cr_assert_eq(ask(&stage, 3).status, STATUS_UNAVAILABLE, "another node's word");
    cr_assert_eq(ask(&stage, 2).status, STATUS_OK);
    cr_assert_eq(claim(2, &drawn).status, STATUS_OK);
    close_stage();
}

/* Of the version before: nodes and filters, and nothing that says which cluster. */
Test(coordinator_cluster, a_store_of_before_is_refused_in_words)
{
    const struct store_swap old = {.key = "next/filter", .value = {(const uint8_t *)"12345678", 8}};
    struct coordinator_synced told;
    uint64_t change;

    open_stage();
    cr_assert_eq(store.store.swap(store.store.self, &old, 1, &change), STATUS_OK);
    told = ask(&stage, 1);
    cr_assert_neq(told.status, STATUS_OK);
    cr_assert_not_null(strstr(told.message, "before clusters had ids"), "%s", told.message);
    told = claim(1, sample_cluster());
    cr_assert_neq(told.status, STATUS_OK);
    cr_assert_not_null(strstr(told.message, "before clusters had ids"), "%s", told.message);
    cr_assert_eq(begin_restore(true).status, STATUS_VERSION);
    cr_assert_eq(store.change, change, "nothing was written");
    close_stage();
}

/* ---- restores ---- */

Test(coordinator_cluster, a_restore_brings_the_id_of_the_backup)
{
    struct coordinator_synced told;

    open_stage();
    cr_assert_eq(claim_list(1, sample_cluster()).status, STATUS_UNAVAILABLE);
    cr_assert_eq(begin_restore(true).status, STATUS_OK);
    told = ask(&stage, 2);
    cr_assert(cluster_id_equal(&told.cluster, sample_cluster()),
              "who lost his folder, too, may begin it now");
    cr_assert_eq(begin_restore(true).status, STATUS_OK, "it is gone on with");
    close_stage();
}

Test(coordinator_cluster, nobody_has_begun_with_what_was_drawn_so_the_backup_wins)
{
    struct coordinator_synced told;
    struct cluster_id drawn;

    open_stage();
    drawn = ask(&stage, 1).cluster;
    cr_assert(cluster_id_differ(&drawn, sample_cluster()));
    cr_assert_eq(begin_restore(true).status, STATUS_OK);
    told = ask(&stage, 1);
    cr_assert(cluster_id_equal(&told.cluster, sample_cluster()));
    close_stage();
}

Test(coordinator_cluster, a_node_that_began_with_what_was_drawn_keeps_the_restore_off)
{
    struct coordinator_told told;
    struct cluster_id drawn;

    open_stage();
    drawn = ask(&stage, 2).cluster;
    cr_assert_neq(claim_list(1, sample_cluster()).status, STATUS_OK);
    cr_assert_neq(claim(2, &drawn).status, STATUS_OK, "while the store is older it is not taken");
    told = begin_restore(true);
    cr_assert_eq(told.status, STATUS_EXISTS);
    cr_assert_not_null(strstr(told.message, "node-2"), "%s", told.message);
    cr_assert(says(told.message, &drawn) && says(told.message, sample_cluster()));
    coordinator_stage_pass(&stage, 20000000);
    cr_assert_eq(begin_restore(true).status, STATUS_OK, "it was ended");
    close_stage();
}

/* Merged with those of the backup some would vanish without a word. */
Test(coordinator_cluster, a_store_with_users_is_in_use)
{
    static const struct user user = {.name = "crawler", .role = USER_CLIENT};
    struct coordinator_told told;

    open_stage();
    (void)ask(&stage, 1);
    coordinator_stage_command(&stage, 6,
                              &(struct admin_request){.action = ADMIN_USER_CHANGE,
                                                      .name = "",
                                                      .users = {.puts = &user, .nputs = 1}});
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    cr_assert_eq(begin_restore(true).status, STATUS_EXISTS);
    close_stage();
}

Test(coordinator_cluster, a_store_that_is_in_use_takes_no_other_id)
{
    struct cluster_id drawn;
    struct coordinator_told told;

    open_stage();
    drawn = ask(&stage, 1).cluster;
    cr_assert_eq(claim(1, &drawn).status, STATUS_OK);
    told = begin_restore(true);
    cr_assert_eq(told.status, STATUS_EXISTS);
    cr_assert(says(told.message, &drawn) && says(told.message, sample_cluster()), "%s",
              told.message);
    close_stage();
}

Test(coordinator_cluster, a_backup_that_names_no_cluster_is_refused_in_words)
{
    struct coordinator_told told;

    open_stage();
    told = begin_restore(false);
    cr_assert_eq(told.status, STATUS_VERSION);
    cr_assert_not_null(strstr(told.message, "before clusters had ids"), "%s", told.message);
    cr_assert_eq(store.change, 0);
    close_stage();
}
