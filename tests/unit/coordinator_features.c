/* A feature is in use once every process knows it and an operator has said so; not before. */
#include "base/log.h"
#include "map/feature.h"
#include "proto/signed_document.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 3, ROUTER = 14, LINK = 15 };

static const uint64_t old = UINT64_C(1) << FEATURE_BASE;

static struct memory_store store;
static struct coordinator_stage stage;

/* A cluster that began under this version of a coordinator. */
static void open_stage(uint64_t features)
{
    memory_store_init(&store);
    coordinator_stage_features = features;
    coordinator_stage_init(&stage, &store.store);
}

static void close_stage(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

/* Another version of the coordinator goes on with the store. */
static void upgrade_coordinator(uint64_t features)
{
    coordinator_stage_fini(&stage);
    coordinator_stage_features = features;
    coordinator_stage_init(&stage, &store.store);
}

static struct coordinator_synced sync_node(uint32_t n, uint64_t features)
{
    struct sync_request request = coordinator_stage_node(n);

    request.features = features;
    return coordinator_stage_sync(&stage, n, &request);
}

static void sync_nodes(uint64_t features)
{
    for (uint32_t n = 1; n <= NODES; n++) {
        cr_assert_eq(sync_node(n, features).status, STATUS_OK);
    }
}

static struct coordinator_synced sync_router(uint64_t features)
{
    const struct sync_request request = {.role = SYNC_ROUTER,
                                         .name = "router-1",
                                         .endpoint = "",
                                         .host = "",
                                         .zone = "",
                                         .features = features};

    return coordinator_stage_send(&stage, ROUTER, &request);
}

/* It asks as routers do, and says whose site it links. */
static struct coordinator_synced sync_link(uint64_t features)
{
    const struct sync_request request = {.role = SYNC_ROUTER,
                                         .name = "link-1",
                                         .endpoint = "",
                                         .host = "",
                                         .zone = "",
                                         .features = features,
                                         .link = {.id = {1, 2}}};

    return coordinator_stage_send(&stage, LINK, &request);
}

static struct coordinator_told command(struct admin_request request)
{
    coordinator_stage_command(&stage, 9, &request);
    return coordinator_stage_told(&stage);
}

static struct coordinator_told finalize(void)
{
    return command((struct admin_request){.action = ADMIN_UPGRADE_FINALIZE, .name = ""});
}

static struct coordinator_told upgrade_status(void)
{
    return command((struct admin_request){.action = ADMIN_UPGRADE_STATUS, .name = ""});
}

/* Of a filter that is not there: past the gate it is looked for. */
static struct coordinator_told rename_nothing(void)
{
    return command((struct admin_request){
        .action = ADMIN_RENAME, .name = "nothing", .rename = {.name = "other"}});
}

Test(coordinator_features, a_new_cluster_uses_all_that_its_coordinator_knows)
{
    open_stage(0);
    sync_nodes(features_known());
    cr_assert_eq(rename_nothing().status, STATUS_NOT_FOUND);
    cr_assert_eq(finalize().status, STATUS_OK, "there is nothing to do");
    close_stage();
}

static struct coordinator_told make_user(bool dry_run)
{
    static const struct user user = {.name = "crawler", .role = USER_CLIENT};

    return command((struct admin_request){.action = ADMIN_USER_CHANGE,
                                          .name = "",
                                          .dry_run = dry_run,
                                          .users = {.puts = &user, .nputs = 1}});
}

/* Users come first where nobody else is to get in; but a store that is empty may have been lost. */
Test(coordinator_features, a_new_cluster_has_users_before_nodes)
{
    struct coordinator_told told;

    open_stage(0);
    told = make_user(false);
    cr_assert_eq(told.status, STATUS_UNAVAILABLE, "%s", told.message);
    coordinator_stage_pass(&stage, 60 * UINT64_C(1000000));
    cr_assert_eq(make_user(true).status, STATUS_OK);
    cr_assert_null(memory_store_find(&store, "cluster"), "nothing was to be written");
    told = make_user(false);
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    sync_nodes(features_known());
    cr_assert_eq(finalize().status, STATUS_OK, "there is nothing to do");
    close_stage();
}

Test(coordinator_features, what_is_gated_is_refused_until_all_know_it_and_it_was_said)
{
    struct admin_request create = coordinator_stage_create();
    struct coordinator_told told;

    open_stage(old);
    sync_nodes(old);
    upgrade_coordinator(0);
    sync_nodes(features_known());
    cr_assert_eq(sync_node(2, old).status, STATUS_OK);
    told = rename_nothing();
    cr_assert_eq(told.status, STATUS_VERSION);
    cr_assert_str_eq(told.message, "node-2 does not know renames; upgrade it, then say `orbloom "
                                   "upgrade finalize`");
    told = finalize();
    cr_assert_eq(told.status, STATUS_VERSION);
    cr_assert_not_null(strstr(told.message, "node-2 does not know renames, windows, expiry"), "%s",
                       told.message);
    cr_assert_eq(sync_node(2, features_known()).status, STATUS_OK);
    told = rename_nothing();
    cr_assert_eq(told.status, STATUS_VERSION, "nobody has said so");
    cr_assert_not_null(strstr(told.message, "orbloom upgrade finalize"), "%s", told.message);
    told = command((struct admin_request){
        .action = ADMIN_EXPIRE, .name = "nothing", .expire = {.after_us = 5000000}});
    cr_assert_eq(told.status, STATUS_VERSION);
    told = command((struct admin_request){.action = ADMIN_USER_CHANGE, .name = ""});
    cr_assert_eq(told.status, STATUS_VERSION, "%s", told.message);
    create.create.window_us = 3600000000;
    create.create.nslices = 6;
    cr_assert_eq(command(create).status, STATUS_VERSION);
    create = coordinator_stage_create();
    create.create.max_staleness = 1;
    cr_assert_eq(command(create).status, STATUS_VERSION);
    create = coordinator_stage_create();
    create.create.acks = 2;
    cr_assert_eq(command(create).status, STATUS_VERSION);
    told = finalize();
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    cr_assert_str_eq(told.message, "in use from now on: renames, windows, expiry, users, sites");
    cr_assert_eq(rename_nothing().status, STATUS_NOT_FOUND);
    upgrade_coordinator(0);
    sync_nodes(features_known());
    cr_assert_eq(rename_nothing().status, STATUS_NOT_FOUND, "it is in the store");
    close_stage();
}

Test(coordinator_features, what_is_not_gated_goes_on)
{
    open_stage(old);
    sync_nodes(old);
    cr_assert_neq(coordinator_stage_make_filter(&stage), 0);
    close_stage();
}

Test(coordinator_features, who_does_not_know_what_is_in_use_is_refused)
{
    struct coordinator_synced synced;
    uint64_t change;

    open_stage(0);
    sync_nodes(features_known());
    change = store.change;
    synced = sync_node(4, old | UINT64_C(1) << FEATURE_WINDOWS);
    cr_assert_eq(synced.status, STATUS_VERSION);
    cr_assert_not_null(strstr(synced.message, "node node-4 does not know renames, expiry"), "%s",
                       synced.message);
    cr_assert_eq(store.change, change, "nothing was written");
    synced = sync_router(old);
    cr_assert_eq(synced.status, STATUS_VERSION);
    cr_assert_not_null(strstr(synced.message, "router router-1 does not know renames"), "%s",
                       synced.message);
    cr_assert_eq(sync_router(features_known() << 1 | 1).status, STATUS_OK, "a newer one does");
    synced = sync_link(old);
    cr_assert_eq(synced.status, STATUS_VERSION);
    cr_assert_not_null(strstr(synced.message, "link link-1 does not know renames"), "%s",
                       synced.message);
    close_stage();
}

Test(coordinator_features, routers_and_nodes_that_are_silent_stand_in_the_way)
{
    struct coordinator_told told;

    open_stage(old);
    sync_nodes(old);
    upgrade_coordinator(0);
    sync_nodes(features_known());
    cr_assert_eq(sync_router(old).status, STATUS_OK);
    told = upgrade_status();
    cr_assert_eq(told.status, STATUS_OK);
    cr_assert_not_null(strstr(told.message, "router-1 does not know renames"), "%s", told.message);
    cr_assert_eq(finalize().status, STATUS_VERSION);
    coordinator_stage_pass(&stage, 20000000);
    cr_assert_eq(sync_node(1, features_known()).status, STATUS_OK);
    cr_assert_eq(sync_node(3, features_known()).status, STATUS_OK);
    told = finalize();
    cr_assert_eq(told.status, STATUS_VERSION);
    cr_assert_not_null(strstr(told.message, "node node-2 is not heard of"), "%s", told.message);
    cr_assert_eq(sync_node(2, features_known()).status, STATUS_OK);
    told = upgrade_status();
    cr_assert_not_null(strstr(told.message, "nothing stands in the way"), "%s", told.message);
    cr_assert_eq(finalize().status, STATUS_OK);
    close_stage();
}

Test(coordinator_features, so_do_links)
{
    struct coordinator_told told;

    open_stage(old);
    sync_nodes(old);
    upgrade_coordinator(0);
    sync_nodes(features_known());
    cr_assert_eq(sync_link(old | feature_bit(FEATURE_SITES)).status, STATUS_OK);
    told = finalize();
    cr_assert_eq(told.status, STATUS_VERSION);
    cr_assert_not_null(strstr(told.message, "link-1 does not know renames"), "%s", told.message);
    cr_assert_eq(sync_link(features_known()).status, STATUS_OK);
    cr_assert_eq(finalize().status, STATUS_OK);
    close_stage();
}

/* It must not write documents of which it does not understand all. */
Test(coordinator_features, a_coordinator_that_lacks_what_is_in_use_changes_nothing)
{
    struct coordinator_told told;

    open_stage(0);
    sync_nodes(features_known());
    upgrade_coordinator(old);
    cr_assert_neq(sync_node(1, features_known()).status, STATUS_OK);
    told = command(coordinator_stage_create());
    cr_assert_eq(told.status, STATUS_CONFLICT);
    cr_assert_not_null(strstr(told.message, "does not know renames, windows, expiry"), "%s",
                       told.message);
    close_stage();
}

static const char *logged(void)
{
    static char text[8192];
    FILE *file = cr_get_redirected_stderr();
    size_t size;

    (void)fflush(stderr);
    size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    return text;
}

static size_t count_in(const char *text, const char *part)
{
    size_t count = 0;

    for (text = strstr(text, part); text != NULL; text = strstr(text + 1, part)) {
        count++;
    }
    return count;
}

/* Whoever asks it is told; so is who looks at its log: as an error, and once. */
Test(coordinator_features, a_coordinator_that_lacks_what_is_in_use_logs_it_once,
     .init = cr_redirect_stderr)
{
    const char *text;

    open_stage(0);
    sync_nodes(features_known());
    log_setup("coordinator", LOG_ERROR);
    upgrade_coordinator(old);
    for (uint32_t turn = 0; turn < 3; turn++) {
        (void)sync_node(1, features_known());
        coordinator_stage_pass(&stage, 10000000);
    }
    text = logged();
    cr_assert_eq(count_in(text, "error coordinator: coordinator coordinator-1 does not know "
                                "renames, windows, expiry, users, sites, which this cluster uses, "
                                "and changes nothing; run a version of orbloom there that does\n"),
                 1, "%s", text);
    close_stage();
}

/* ---- restores ---- */

static struct coordinator_told restore(enum admin_action action, const char *key, struct span value)
{
    const struct map_record record = {.key = key, .value = value};

    return command((struct admin_request){
        .action = action,
        .name = "",
        .map = {.key = cluster_key_tag(sample_key()), .records = &record, .nrecords = 1}});
}

static void expect_restored(uint64_t in_backup, enum status status, enum status renames)
{
    const struct cluster_features features = {.revision = 3, .in_use = in_backup};
    struct coordinator_told told;
    struct buffer cluster;
    struct buffer record;

    open_stage(0);
    buffer_init(&cluster, 1024);
    buffer_init(&record, 1024);
    cr_assert_eq(codec_cluster_sign(sample_cluster(), sample_key(), &cluster), STATUS_OK);
    cr_assert_eq(codec_features_sign(&features, sample_key(), &record), STATUS_OK);
    sync_router(0);
    told = restore(ADMIN_MAP_BEGIN, "cluster", buffer_span(&cluster));
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    told = restore(ADMIN_MAP_RECORDS, "cluster_features", buffer_span(&record));
    cr_assert_eq(told.status, status, "%s", told.message);
    if (status == STATUS_OK) {
        told = restore(ADMIN_MAP_FINISH, "", span_text(""));
        cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
        cr_assert_eq(rename_nothing().status, renames);
    }
    buffer_fini(&cluster);
    buffer_fini(&record);
    close_stage();
}

Test(coordinator_features, a_restore_brings_what_the_backup_has_in_use)
{
    expect_restored(features_known(), STATUS_OK, STATUS_NOT_FOUND);
    expect_restored(old, STATUS_OK, STATUS_VERSION);
    expect_restored(features_known() + 1, STATUS_VERSION, STATUS_VERSION);
}
