/* What a coordinator tells of filters, the largest one by one and the others together, of nodes,
 * users' limits and backups. */
#include "base/heap.h"
#include "coordinator/private.h"
#include "coordinator/view/filter_metrics.h"
#include "filter/sizing.h"
#include "tests/support/sample_cluster.h"
#include "tests/unit/coordinator_moves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHARDS = 16, CAPACITY = 10000, HALF = 5000, MORE = 40000, MOST = 10 };

static char *told(void)
{
    const struct histogram store_times = {.counts = {1}, .sum_us = 50};
    struct buffer out;
    struct metrics metrics = metrics_to(&out);

    buffer_init(&out, 1 << 20);
    coordinator_tell_metrics(stage.coordinator, stage.now_us, &store_times, &metrics);
    cr_assert_eq(metrics.status, STATUS_OK);
    cr_assert_eq(buffer_append(&out, span_of("", 1)), STATUS_OK);
    return (char *)out.data;
}

/* "orbloom_filter_keys{filter=\"urls\"}"; NAN: it is not told. */
static double value_of(const char *series)
{
    char *text = told();
    char line[256];
    const char *found;
    double value = NAN;

    (void)snprintf(line, sizeof line, "\n%s ", series);
    found = strstr(text, line);
    if (found != NULL) {
        value = strtod(found + strlen(line), NULL);
        cr_expect_null(strstr(found + 1, line), "%s is told twice", series);
    }
    free(text);
    return value;
}

static void expect_value(const char *series, double value)
{
    double is = value_of(series);

    cr_expect(fabs(is - value) < 1e-9, "%s is %g, not %g", series, is, value);
}

static void expect_none(const char *series)
{
    cr_expect(isnan(value_of(series)), "%s is told", series);
}

static void open_one(void)
{
    open_stage(2, 2, DURABILITY_SYNC);
    stage.coordinator->config.metrics_filters = MOST;
}

static void report_as(uint32_t from, uint32_t to, const struct replica_report *report)
{
    for (uint32_t n = from; n <= to; n++) {
        struct sync_request request = coordinator_stage_node(n);

        request.replicas = report;
        request.nreplicas = 1;
        request.page.from.filter_id = report->filter_id;
        request.page.to.filter_id = report->filter_id + 1;
        cr_assert_eq(coordinator_stage_sync(&stage, n, &request).status, STATUS_OK);
    }
}

static void report(uint32_t from, uint32_t to, uint64_t filter_id, uint64_t keys)
{
    report_as(from, to,
              &(struct replica_report){
                  .filter_id = filter_id, .state = REPLICA_FULL, .keys = keys, .keys_kept = keys});
}

static uint64_t make(const char *name, uint64_t capacity)
{
    struct admin_request request = coordinator_stage_create();
    uint64_t id = stage.coordinator->documents.count + 1;

    request.name = name;
    request.create.capacity = capacity;
    request.create.durability = DURABILITY_SYNC;
    coordinator_stage_command(&stage, 4, &request);
    coordinator_stage_report(&stage, 3, id, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    return id;
}

Test(coordinator_metrics, a_filter_is_told_as_its_replicas_have_it)
{
    const struct filter_document *document;

    open_one();
    report(1, 3, FILTER, HALF);
    document = document_at(&stage);
    expect_value("orbloom_filters", 1);
    expect_value("orbloom_filter_capacity_keys{filter=\"urls\"}", CAPACITY);
    expect_value("orbloom_filter_keys{filter=\"urls\"}", HALF);
    expect_value("orbloom_filter_fill_ratio{filter=\"urls\"}", 0.5);
    expect_value("orbloom_filter_asked_false_positive_ratio{filter=\"urls\"}", 0.01);
    expect_value("orbloom_filter_expected_false_positive_ratio{filter=\"urls\"}",
                 sizing_rate(HALF, document->generations[0].geometry.lines * SHARDS,
                             document->generations[0].geometry.z));
    expect_value("orbloom_filter_bytes{filter=\"urls\"}",
                 (double)document_shard_bytes(document) * SHARDS);
    expect_value("orbloom_filter_generations{filter=\"urls\"}", 1);
    expect_value("orbloom_filter_shards_under_replicated{filter=\"urls\"}", 0);
    expect_value("orbloom_filter_keys{filter=\"\"}", 0);
    expect_none("orbloom_filter_fill_ratio{filter=\"\"}");
    expect_none("orbloom_change_progress_ratio{filter=\"urls\",change=\"move\"}");
    close_stage();
}

/* As far as it grows by itself; what a window has comes and goes. */
Test(coordinator_metrics, a_limit_is_what_is_reached_without_an_operator)
{
    struct filter_document *document;

    open_one();
    expect_value("orbloom_filter_limit_keys{filter=\"urls\"}", CAPACITY);
    document = &document_cache_find(&stage.coordinator->documents, FILTER)->document;
    document->max_capacity = MORE;
    expect_value("orbloom_filter_limit_keys{filter=\"urls\"}", CAPACITY);
    document->when_full = WHEN_FULL_EXPAND;
    expect_value("orbloom_filter_limit_keys{filter=\"urls\"}", MORE);
    document->growth_held = true;
    expect_value("orbloom_filter_limit_keys{filter=\"urls\"}", CAPACITY);
    document->nslices = 4;
    expect_none("orbloom_filter_limit_keys{filter=\"urls\"}");
    close_stage();
}

/* Its slices forget, and one that is full refuses keys, whatever the others have room for. */
Test(coordinator_metrics, a_window_is_as_full_as_its_fullest_slice)
{
    enum { SLICES = 4 };
    struct replica_report full = {
        .state = REPLICA_FULL, .keys = CAPACITY / SLICES, .keys_kept = CAPACITY / 2};
    struct admin_request request = coordinator_stage_create();

    open_one();
    request.name = "window";
    request.create.durability = DURABILITY_SYNC;
    request.create.window_us = UINT64_C(3600) * SECOND_US;
    request.create.nslices = SLICES;
    coordinator_stage_command(&stage, 4, &request);
    full.filter_id = stage.coordinator->documents.count;
    coordinator_stage_report(&stage, 3, full.filter_id, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    report_as(1, 3, &full);
    expect_value("orbloom_filter_capacity_keys{filter=\"window\"}", CAPACITY);
    expect_value("orbloom_filter_keys{filter=\"window\"}", CAPACITY / 2);
    expect_value("orbloom_filter_fill_ratio{filter=\"window\"}", 1);
    close_stage();
}

Test(coordinator_metrics, silent_nodes_leave_shards_and_then_quorums_behind)
{
    open_one();
    expect_value("orbloom_node_up{node=\"node-1\"}", 1);
    coordinator_stage_pass(&stage, SILENCE_US);
    report(1, 2, FILTER, HALF);
    expect_value("orbloom_node_up{node=\"node-2\"}", 1);
    expect_value("orbloom_node_up{node=\"node-3\"}", 0);
    expect_value("orbloom_filter_shards_under_replicated{filter=\"urls\"}", SHARDS);
    expect_value("orbloom_filter_quorum_lost{filter=\"urls\"}", 0);
    coordinator_stage_pass(&stage, SILENCE_US);
    report(1, 1, FILTER, HALF);
    expect_value("orbloom_filter_shards_under_replicated{filter=\"urls\"}", SHARDS);
    expect_value("orbloom_filter_quorum_lost{filter=\"urls\"}", 1);
    close_stage();
}

/* What is wrong with one of them is in the sum. */
Test(coordinator_metrics, beyond_the_largest_filters_are_told_together)
{
    open_one();
    (void)make("large", MORE);
    report(1, 3, make("small", HALF), 7);
    report(1, 3, FILTER, HALF);
    stage.coordinator->config.metrics_filters = 1;
    expect_value("orbloom_filters", 3);
    expect_value("orbloom_filter_capacity_keys{filter=\"large\"}", MORE);
    expect_none("orbloom_filter_capacity_keys{filter=\"urls\"}");
    expect_none("orbloom_filter_fill_ratio{filter=\"urls\"}");
    expect_value("orbloom_filter_capacity_keys{filter=\"\"}", CAPACITY + HALF);
    expect_value("orbloom_filter_keys{filter=\"\"}", HALF + 7);
    coordinator_stage_pass(&stage, SILENCE_US);
    keep_alive(&stage, 1, 1);
    expect_value("orbloom_filter_quorum_lost{filter=\"\"}", 2);
    stage.coordinator->config.metrics_filters = 0;
    expect_value("orbloom_filter_quorum_lost{filter=\"\"}", 3);
    expect_none("orbloom_filter_capacity_keys{filter=\"large\"}");
    close_stage();
}

/* Filters after the stage's own, as if the store had told of them; for more than one step. */
static void put_many(uint64_t count)
{
    const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};

    for (uint64_t id = FILTER + 1; id <= FILTER + count; id++) {
        struct filter_document document;
        struct buffer bytes;
        char name[DOCUMENT_NAME_BYTES];
        bool changed;

        (void)snprintf(name, sizeof name, "many-%u", (unsigned)id);
        sample_document(id, name, &rule, 3, &document);
        sample_sign(&document, sample_key(), &bytes);
        cr_assert_eq(document_cache_take(&stage.coordinator->documents, &document,
                                         buffer_span(&bytes), &changed),
                     STATUS_OK);
        document_fini(&document);
        buffer_fini(&bytes);
    }
}

/* From the id on all are dropped. */
static void drop_from(uint64_t id)
{
    struct document_cache *documents = &stage.coordinator->documents;

    for (size_t i = 0; i < documents->count; i++) {
        struct filter_document *document = &documents->by_id[i]->document;

        if (document->id >= id) {
            document->content.state = FILTER_DROPPED;
        }
    }
}

Test(coordinator_metrics, a_pass_goes_on_where_it_was)
{
    open_one();
    put_many(METRICS_REST_STEP);
    stage.coordinator->config.metrics_filters = 0;
    expect_value("orbloom_filter_capacity_keys{filter=\"\"}", 0);
    expect_value("orbloom_filter_capacity_keys{filter=\"\"}", CAPACITY * (METRICS_REST_STEP + 1.0));
    expect_value("orbloom_filter_capacity_keys{filter=\"\"}", CAPACITY * (METRICS_REST_STEP + 1.0));
    close_stage();
}

/* Those that the pass has been at are not what there is. */
Test(coordinator_metrics, a_pass_whose_filters_have_gone_is_void)
{
    open_one();
    put_many(METRICS_REST_STEP);
    stage.coordinator->config.metrics_filters = 0;
    expect_value("orbloom_filter_capacity_keys{filter=\"\"}", 0);
    drop_from(FILTER + 1);
    expect_value("orbloom_filter_capacity_keys{filter=\"\"}", CAPACITY);
    close_stage();
}

Test(coordinator_metrics, what_is_under_way_is_told_with_its_progress)
{
    struct document_entry *entry;
    struct sync_request request;
    const struct replica_report joining[1] = {
        {.filter_id = FILTER, .state = REPLICA_JOINING, .progress = 0.25}};
    struct coordinator_told answer;

    open_one();
    keep_alive(&stage, 1, SPARE);
    answer = command(&stage, ADMIN_NODE_DRAIN, "node-2", "", false);
    cr_assert_eq(answer.status, STATUS_OK, "%s", answer.message);
    coordinator_stage_pass(&stage, SECOND_US);
    request = coordinator_stage_node(SPARE);
    request.replicas = joining;
    request.nreplicas = 1;
    cr_assert_eq(coordinator_stage_sync(&stage, SPARE, &request).status, STATUS_OK);
    expect_value("orbloom_change_progress_ratio{filter=\"urls\",change=\"move\"}", 0.25);
    expect_none("orbloom_change_progress_ratio{filter=\"urls\",change=\"growth\"}");
    entry = document_cache_find(&stage.coordinator->documents, FILTER);
    entry->document.load_source = 1;
    entry->document.loaded = (DOCUMENT_LOAD_END - DOCUMENT_LOAD_FIRST) / 2 + DOCUMENT_LOAD_FIRST;
    expect_value("orbloom_change_progress_ratio{filter=\"urls\",change=\"load\"}", 0.5);
    close_stage();
}

Test(coordinator_metrics, a_backup_is_as_old_as_its_last_page)
{
    const struct admin_request request = {.action = ADMIN_MAP_BACKUP, .name = "", .successor = ""};
    double before;

    open_one();
    coordinator_stage_pass(&stage, SECOND_US);
    before = value_of("orbloom_map_backup_age_seconds");
    cr_expect_geq(before, 1);
    coordinator_stage_ask(&stage, 6, &request);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    expect_value("orbloom_map_backup_age_seconds", 0);
    coordinator_stage_pass(&stage, 2 * SECOND_US);
    expect_value("orbloom_map_backup_age_seconds", 2);
    expect_value("orbloom_coordinator_store_seconds_count", 1);
    close_stage();
}

static struct store_room tell_room(void *self)
{
    (void)self;
    return (struct store_room){.bytes = 700, .in_use = 500, .quota = 1000};
}

/* A store that does not tell how large it is tells noughts. */
Test(coordinator_metrics, how_large_the_store_is)
{
    open_one();
    cr_assert_null(stage.coordinator->store->room);
    cr_assert_eq(coordinator_stage_counter(&stage, "store_bytes"), 0);
    cr_assert_eq(coordinator_stage_counter(&stage, "store_quota_bytes"), 0);
    stage.coordinator->store->room = tell_room;
    cr_assert_eq(coordinator_stage_counter(&stage, "store_bytes"), 700);
    cr_assert_eq(coordinator_stage_counter(&stage, "store_in_use_bytes"), 500);
    cr_assert_eq(coordinator_stage_counter(&stage, "store_quota_bytes"), 1000);
    stage.coordinator->store->room = NULL;
    close_stage();
}

/* Of users without limits nothing is told. */
Test(coordinator_metrics, users_are_told_beside_their_limits)
{
    struct user users[2] = {{.id = 7, .name = "ann", .limits = {.filters = 5}},
                            {.id = 3, .name = "bob", .limits = {.bytes = 1 << 20}}};
    struct document_cache *documents;
    struct user_list before;

    open_one();
    documents = &stage.coordinator->documents;
    before = documents->users;
    documents->users = (struct user_list){.revision = 1, .users = users, .count = 2};
    document_cache_find(documents, FILTER)->document.owner = 3;
    expect_value("orbloom_user_filters{user=\"ann\"}", 0);
    expect_value("orbloom_user_filters_limit{user=\"ann\"}", 5);
    expect_none("orbloom_user_filters{user=\"bob\"}");
    expect_none("orbloom_user_array_bytes{user=\"ann\"}");
    expect_value("orbloom_user_array_bytes{user=\"bob\"}",
                 (double)document_shard_bytes(document_at(&stage)) * SHARDS);
    expect_value("orbloom_user_array_bytes_limit{user=\"bob\"}", 1 << 20);
    documents->users = before;
    close_stage();
}

/* Nothing is told by halves, and nothing is left behind. */
Test(coordinator_metrics, lack_of_memory_is_said)
{
    const struct histogram store_times = {0};
    enum status status = STATUS_NOMEM;

    open_one();
    for (unsigned n = 0; status == STATUS_NOMEM; n++) {
        size_t before = heap_live();
        struct buffer out;
        struct metrics metrics = metrics_to(&out);

        buffer_init(&out, 1 << 20);
        heap_fault_after(n);
        coordinator_tell_metrics(stage.coordinator, stage.now_us, &store_times, &metrics);
        heap_fault_clear();
        status = metrics.status;
        buffer_fini(&out);
        cr_assert(status == STATUS_OK || status == STATUS_NOMEM);
        cr_assert_eq(heap_live(), before);
        cr_assert_lt(n, 100);
    }
    close_stage();
}
