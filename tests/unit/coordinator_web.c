/* What browsers are told: JSON whatever names there are, pages of any number of filters, and of
 * what changes what it waits for. */
#include "coordinator/private.h"
#include "coordinator/web/survey.h"
#include "coordinator/web/web.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

enum { SECOND_US = 1000000, MANY = 2000, GROUP_KEYS = 2500 };

static struct memory_store store;
static struct coordinator_stage stage;
static struct buffer body;

static void begin(void)
{
    coordinator_stage_survey = true;
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_report(&stage, 3, 0, 0, REPLICA_NONE);
}

static void end(void)
{
    buffer_fini(&body);
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

TestSuite(coordinator_web, .init = begin, .fini = end);

/* A filter on nodes 1 to 3, as if the store had told of it. */
static void put_filter(uint64_t id, const char *name)
{
    const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
    struct filter_document document;
    struct buffer bytes;
    bool changed;

    sample_document(id, name, &rule, 3, &document);
    sample_sign(&document, sample_key(), &bytes);
    cr_assert_eq(document_cache_take(&stage.coordinator->documents, &document, buffer_span(&bytes),
                                     &changed),
                 STATUS_OK);
    cr_assert(changed);
    document_fini(&document);
    buffer_fini(&bytes);
}

static void put_many(uint32_t count)
{
    for (uint32_t i = 1; i <= count; i++) {
        char name[DOCUMENT_NAME_BYTES];

        (void)snprintf(name, sizeof name, "%s-%04u", i % 2 == 0 ? "even" : "Odd", i);
        put_filter(i, name);
    }
}

/* Until all filters were looked at twice. */
static void survey_all(void)
{
    coordinator_stage_pass(&stage,
                           2 * (SURVEY_PASS_US + (uint64_t)MANY / SURVEY_STEP * SURVEY_STEP_US));
}

static json_t *ask_as(web_tell_fn *tell, const struct web_question *question, enum status status)
{
    json_error_t error;
    json_t *answer;

    buffer_fini(&body);
    buffer_init(&body, 64 << 20);
    cr_assert_eq(tell(stage.coordinator, stage.now_us, question, &body), status);
    answer = json_loadb((const char *)body.data, body.size, JSON_REJECT_DUPLICATES, &error);
    cr_assert_not_null(answer, "%s at %d: %.*s", error.text, error.position,
                       (int)(body.size < 400 ? body.size : 400), (const char *)body.data);
    return answer;
}

static json_t *ask(web_tell_fn *tell)
{
    return ask_as(tell, &(struct web_question){0}, STATUS_OK);
}

static json_t *ask_page(const char *q, const char *page, const char *size)
{
    return ask_as(web_tell_filters, &(struct web_question){q, page, size}, STATUS_OK);
}

static json_t *at(json_t *object, const char *list, size_t i)
{
    json_t *item = json_array_get(json_object_get(object, list), i);

    cr_assert_not_null(item, "no %s %zu", list, i);
    return item;
}

static size_t size_of(json_t *object, const char *list)
{
    return json_array_size(json_object_get(object, list));
}

static const char *text_of(json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    cr_assert_not_null(text, "no %s", name);
    return text;
}

static long long number_of(json_t *object, const char *name)
{
    cr_assert(json_is_integer(json_object_get(object, name)), "no %s", name);
    return json_integer_value(json_object_get(object, name));
}

/* ---- pages ---- */

Test(coordinator_web, without_filters_there_is_an_empty_page)
{
    json_t *answer = ask_page(NULL, NULL, NULL);

    cr_expect_eq(size_of(answer, "filters"), 0);
    cr_expect_eq(number_of(answer, "total"), 0);
    cr_expect_eq(number_of(answer, "pages"), 0);
    cr_expect_eq(number_of(answer, "page"), 1);
    cr_expect_eq(number_of(answer, "size"), WEB_PAGE_SIZE);
    json_decref(answer);
}

Test(coordinator_web, many_filters_are_paged_in_order_of_names)
{
    static const struct {
        const char *q;
        const char *page;
        const char *size;
        size_t count;
        long long total;
        long long pages;
        const char *first;
    } cases[] = {
        {"", "", "", 50, 2000, 40, "Odd-0001"},
        {NULL, "40", NULL, 50, 2000, 40, "even-1902"},
        {NULL, "41", NULL, 0, 2000, 40, NULL},
        {NULL, "131072", "200", 0, 2000, 10, NULL},
        {"ODD", "1", "200", 200, 1000, 5, "Odd-0001"},
        {"d-", "7", "150", 100, 1000, 7, "Odd-1801"},
        {"-000", "1", "3", 3, 9, 3, "Odd-0001"},
        {"-000", "3", "3", 3, 9, 3, "even-0004"},
        {"even-2000", "1", "1", 1, 1, 1, "even-2000"},
        {"none such", "1", "1", 0, 0, 0, NULL},
        {"%", "1", "1", 0, 0, 0, NULL},
    };

    put_many(MANY);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *answer = ask_page(cases[i].q, cases[i].page, cases[i].size);

        cr_expect_eq(size_of(answer, "filters"), cases[i].count, "case %zu", i);
        cr_expect_eq(number_of(answer, "total"), cases[i].total, "case %zu", i);
        cr_expect_eq(number_of(answer, "pages"), cases[i].pages, "case %zu", i);
        if (cases[i].first != NULL) {
            cr_expect_str_eq(text_of(at(answer, "filters", 0), "name"), cases[i].first);
        }
        json_decref(answer);
    }
}

Test(coordinator_web, a_question_that_makes_no_sense_is_refused)
{
    static const struct web_question questions[] = {
        {.page = "0"},
        {.page = "-1"},
        {.page = "x"},
        {.page = "1x"},
        {.page = " 1"},
        {.page = "131073"},
        {.size = "0"},
        {.size = "201"},
        {.size = "1e2"},
        {.size = "0x10"},
        {.size = "\xff"},
        {.page = "99999999999999999999999999"},
        {.q = "12345678901234567890123456789012345678901234567890123456789012345678901234567890"
              "1234567890123456789012345678901234567890123456789"},
    };

    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        json_t *answer = ask_as(web_tell_filters, &questions[i], STATUS_INVALID);

        cr_expect_gt(strlen(text_of(answer, "error")), 0, "case %zu", i);
        json_decref(answer);
    }
}

/* Documents are read from a store and may come from another version: whatever names there are. */
Test(coordinator_web, names_of_any_bytes_are_told_as_text)
{
    static const char *const names[][2] = {
        {"<script>alert(1)</script>", "<script>alert(1)</script>"},
        {"\"},{\"name\":\"\\", "\"},{\"name\":\"\\"},
        {"Z\xc3\xbcrich", "Z\xc3\xbcrich"},
        {"a\xff\n", "a\xef\xbf\xbd\n"},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        put_filter(i + 1, "x");
        (void)snprintf(stage.coordinator->documents.by_id[i]->document.content.name,
                       DOCUMENT_NAME_BYTES, "%s", names[i][0]);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        json_t *answer = ask_page(names[i][0], NULL, NULL);

        cr_expect_eq(number_of(answer, "total"), 1, "case %zu", i);
        cr_expect_str_eq(text_of(at(answer, "filters", 0), "name"), names[i][1]);
        cr_expect_str_eq(text_of(answer, "q"), names[i][1]);
        json_decref(answer);
    }
    survey_all();
    json_decref(ask(web_tell_status));
    json_decref(ask(web_tell_changes));
}

/* ---- one filter ---- */

static void report(uint32_t n, uint64_t id, enum replica_state state, uint64_t keys)
{
    struct replica_report report = {
        .filter_id = id, .state = state, .keys = keys, .generation = 1, .progress = 0.5};
    struct sync_request request = coordinator_stage_node(n);

    request.replicas = &report;
    request.nreplicas = 1;
    cr_assert_eq(coordinator_stage_sync(&stage, n, &request).status, STATUS_OK);
}

Test(coordinator_web, a_filter_is_told_by_what_its_replicas_say)
{
    json_t *answer;
    json_t *filter;

    put_filter(1, "urls");
    report(1, 1, REPLICA_FULL, GROUP_KEYS);
    report(2, 1, REPLICA_FULL, GROUP_KEYS - 1);
    report(3, 1, REPLICA_JOINING, 10);
    answer = ask_page("urls", NULL, NULL);
    filter = at(answer, "filters", 0);
    cr_expect_eq(number_of(filter, "keys_estimate"), GROUP_KEYS);
    cr_expect_eq(number_of(filter, "capacity"), 10000);
    cr_expect_float_eq(json_real_value(json_object_get(filter, "fill")), 0.25, 1e-6);
    cr_expect_eq(number_of(filter, "replicas_full"), 2);
    cr_expect_eq(number_of(filter, "replicas_joining"), 1);
    cr_expect_eq(number_of(filter, "shards_lacking"), 16);
    cr_expect_eq(number_of(filter, "fewest_full"), 2);
    cr_expect(json_is_true(json_object_get(filter, "served")));
    cr_expect(json_is_null(json_object_get(filter, "full_in_s")));
    cr_expect_gt(json_number_value(json_object_get(filter, "rate_now")), 0);
    json_decref(answer);
}

/* As `orbloom info` tells it: what one slice has room for decides, not what all have. */
Test(coordinator_web, a_window_is_as_full_as_its_fullest_slice)
{
    enum { SLICES = 4 };
    struct filter_document *document;
    json_t *answer;
    json_t *filter;

    put_filter(1, "urls");
    document = &stage.coordinator->documents.by_id[0]->document;
    document->window_us = UINT64_C(3600) * SECOND_US;
    document->nslices = SLICES;
    for (uint32_t n = 1; n <= 3; n++) {
        report(n, 1, REPLICA_FULL, GROUP_KEYS);
    }
    answer = ask_page("urls", NULL, NULL);
    filter = at(answer, "filters", 0);
    cr_expect_eq(number_of(filter, "capacity"), SLICES * GROUP_KEYS);
    cr_expect_float_eq(json_number_value(json_object_get(filter, "fill")), 1, 1e-6);
    json_decref(answer);
}

/* So fast as it was seen to fill. */
Test(coordinator_web, when_a_filter_will_be_full_is_told_once_it_is_known)
{
    json_t *answer;

    put_filter(1, "urls");
    for (uint64_t s = 0; s <= 200; s += 5) {
        for (uint32_t n = 1; n <= 3; n++) {
            report(n, 1, REPLICA_FULL, 1000 + s * 10);
        }
        coordinator_stage_pass(&stage, 5 * SECOND_US);
    }
    answer = ask_page("urls", NULL, NULL);
    cr_expect_float_eq(json_number_value(json_object_get(at(answer, "filters", 0), "keys_per_s")),
                       10, 1);
    cr_expect_float_eq((double)number_of(at(answer, "filters", 0), "full_in_s"), 700, 100);
    json_decref(answer);
}

/* ---- the cluster ---- */

Test(coordinator_web, nodes_are_told_and_one_that_is_silent)
{
    json_t *answer;

    put_filter(1, "urls");
    for (uint32_t n = 1; n <= 3; n++) {
        report(n, 1, n == 2 ? REPLICA_BUILDING : REPLICA_FULL, 10);
    }
    coordinator_stage_pass(&stage, 7 * SECOND_US);
    report(1, 1, REPLICA_FULL, 10);
    report(2, 1, REPLICA_BUILDING, 10);
    coordinator_stage_pass(&stage, 7 * SECOND_US);
    answer = ask(web_tell_status);
    cr_expect_eq(size_of(answer, "nodes"), 3);
    cr_expect_str_eq(text_of(at(answer, "nodes", 0), "host"), "host-1");
    cr_expect(json_is_true(json_object_get(at(answer, "nodes", 0), "alive")));
    cr_expect_eq(number_of(at(answer, "nodes", 0), "replicas_full"), 1);
    cr_expect_eq(number_of(at(answer, "nodes", 1), "replicas_building"), 1);
    cr_expect(json_is_false(json_object_get(at(answer, "nodes", 2), "alive")));
    cr_expect_geq(number_of(at(answer, "nodes", 2), "seen_ago_ms"), 14000);
    cr_expect_eq(number_of(at(answer, "nodes", 2), "replicas_full"), 0);
    cr_expect_eq(number_of(json_object_get(answer, "sums"), "filters"), 1);
    cr_expect_eq(number_of(json_object_get(answer, "sums"), "filters_unserved"), 1);
    cr_expect_eq(number_of(at(answer, "lacking", 0), "fewest_full"), 1);
    cr_expect_not_null(strstr(text_of(at(answer, "lacking", 0), "why"), "node-3 is silent"));
    cr_expect(json_is_true(json_object_get(json_object_get(answer, "ready"), "ok")));
    json_decref(answer);
}

static long long silent_after(size_t node)
{
    json_t *answer = ask(web_tell_status);
    long long ms = number_of(at(answer, "nodes", node), "silent_after_ms");

    json_decref(answer);
    return ms;
}

/* Node 1 says something every `gap_us` for so long. */
static void report_every(uint64_t gap_us, uint64_t for_us)
{
    for (uint64_t us = 0; us < for_us; us += gap_us) {
        coordinator_stage_pass(&stage, gap_us);
        report(1, 1, REPLICA_FULL, 10);
    }
}

/* Of N coordinators each hears a node every N seconds; here the timeout is 10 s. */
Test(coordinator_web, a_node_is_silent_after_longer_than_it_takes)
{
    put_filter(1, "urls");
    cr_expect_eq(silent_after(0), 10000, "nobody knows how often it reports");
    report_every(SECOND_US, 20 * SECOND_US);
    cr_expect_eq(silent_after(0), 5000);
    cr_expect_eq(silent_after(1), 10000, "another one was heard once");
    report_every(6 * SECOND_US, 120 * SECOND_US);
    cr_expect_eq(silent_after(0), 9000);
    report_every(8 * SECOND_US, 120 * SECOND_US);
    cr_expect_eq(silent_after(0), 10000, "not longer than it counts as alive");
    report_every(SECOND_US, 130 * SECOND_US);
    cr_expect_eq(silent_after(0), 5000, "what is long ago counts no more");
    report_every(60 * SECOND_US, 60 * SECOND_US);
    cr_expect_eq(silent_after(0), 10000, "it was silent, and begins anew");
    report_every(SECOND_US, 20 * SECOND_US);
    cr_expect_eq(silent_after(0), 5000);
}

Test(coordinator_web, of_many_that_lack_replicas_some_are_told_and_all_are_counted)
{
    json_t *answer;

    put_many(MANY);
    survey_all();
    answer = ask(web_tell_status);
    cr_expect_eq(number_of(json_object_get(answer, "sums"), "filters"), MANY);
    cr_expect_eq(number_of(json_object_get(answer, "sums"), "filters_lacking"), MANY);
    cr_expect_eq(number_of(json_object_get(answer, "sums"), "capacity"), 10000LL * MANY);
    cr_expect_eq(size_of(answer, "lacking"), SURVEY_LACKING);
    json_decref(answer);
}

/* The sums follow when filters go, too. */
Test(coordinator_web, a_filter_that_is_dropped_is_told_to_be_and_then_forgotten)
{
    json_t *answer;

    (void)coordinator_stage_make_filter(&stage);
    survey_all();
    answer = ask(web_tell_changes);
    cr_expect_eq(size_of(answer, "changes"), 0);
    json_decref(answer);
    coordinator_stage_command(
        &stage, 7,
        &(struct admin_request){
            .action = ADMIN_DROP, .timeout_ms = 5000, .name = "urls", .successor = ""});
    survey_all();
    answer = ask(web_tell_changes);
    cr_assert_eq(size_of(answer, "changes"), 1);
    cr_expect_str_eq(text_of(at(answer, "changes", 0), "filter"), "urls");
    cr_expect_str_eq(text_of(at(answer, "changes", 0), "step"), "dropping");
    cr_expect(json_is_null(json_object_get(at(answer, "changes", 0), "progress")));
    cr_expect_eq(number_of(answer, "filters_left"), 0);
    json_decref(answer);
}

Test(coordinator_web, sites_of_filters_are_told)
{
    json_t *answer = ask(web_tell_sites);

    cr_expect_eq(size_of(answer, "sites"), 0);
    cr_expect_eq(size_of(answer, "filters"), 0);
    json_decref(answer);
}
