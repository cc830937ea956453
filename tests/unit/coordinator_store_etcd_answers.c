/* Answers that are lost, and answers that make no sense: never a false OK or a false CONFLICT. */
#include "coordinator/store/etcd/etcd.h"
#include "tests/support/etcd.h"
#include "tests/support/gateway.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <string.h>

static struct etcd etcd;

static void set_up(void)
{
    etcd_make(&etcd);
    etcd_start(&etcd);
    cr_redirect_stderr();
}

static void tear_down(void)
{
    etcd_remove(&etcd);
}

TestSuite(coordinator_store_etcd_answers, .init = set_up, .fini = tear_down, .timeout = 120);

/* A handle that asks `first`, if there is one, before etcd. */
static struct store *open_store(const char *first)
{
    struct store_etcd_config config = {.timeout_us = 10000000, .prefix = "/o/"};
    struct store *store = NULL;

    if (first != NULL) {
        (void)snprintf(config.endpoints[config.nendpoints++], STORE_ETCD_ENDPOINT_BYTES, "%s",
                       first);
    }
    (void)snprintf(config.endpoints[config.nendpoints++], STORE_ETCD_ENDPOINT_BYTES, "%s",
                   etcd.endpoint);
    cr_assert_eq(store_etcd_open(&config, &store), STATUS_OK);
    return store;
}

static enum status put(struct store *store, const char *key, uint64_t expected, const char *value,
                       uint64_t *change)
{
    struct store_swap swap = {.key = key, .expected = expected, .value = span_text(value)};

    return store->swap(store->self, &swap, 1, change);
}

static void expect(struct store *store, const char *key, const char *value, uint64_t version)
{
    struct buffer got;
    uint64_t found = 0;

    buffer_init(&got, 100);
    cr_assert_eq(store->get(store->self, key, &got, &found), STATUS_OK);
    cr_assert(span_equal(buffer_span(&got), span_text(value)), "%.*s", (int)got.size, got.data);
    cr_assert_eq(found, version);
    buffer_fini(&got);
}

/* ---- lost answers ---- */

/* Between a handle and etcd: transactions of swaps are passed on, and their answers kept back. */
struct thief {
    struct gateway gateway;
    bool passes;         /* else: not even the request arrives */
    struct store *rival; /* writes before the request is passed on, or NULL ... */
    struct store *heir;  /* ... and after it */
    uint64_t version;    /* of the last of these writes */
    unsigned stolen;
};

static struct span steal(void *context, const char *request)
{
    struct thief *thief = context;

    if (strstr(request, "/v3/kv/txn") == NULL || strstr(request, "L28vZm9ybWF0") != NULL) {
        return gateway_pass_on(etcd.endpoint, request);
    }
    thief->stolen++;
    if (thief->rival != NULL) {
        cr_assert_eq(put(thief->rival, "a", thief->version, "rival", &thief->version), STATUS_OK);
    }
    if (thief->passes) {
        (void)gateway_pass_on(etcd.endpoint, request);
    }
    if (thief->heir != NULL) {
        struct buffer value;

        buffer_init(&value, 100);
        cr_assert_eq(thief->heir->get(thief->heir->self, "a", &value, &thief->version), STATUS_OK);
        buffer_fini(&value);
        cr_assert_eq(put(thief->heir, "a", thief->version, "heir", &thief->version), STATUS_OK);
    }
    return span_of(NULL, 0);
}

static struct store *open_robbed(struct thief *thief)
{
    thief->gateway = (struct gateway){.handle = steal, .context = thief};
    gateway_start(&thief->gateway);
    return open_store(thief->gateway.endpoint);
}

Test(coordinator_store_etcd_answers, a_swap_whose_answer_was_lost_is_found_to_be_done)
{
    struct thief thief = {.passes = true};
    struct store *store = open_robbed(&thief);
    uint64_t change = 0;

    cr_assert_eq(put(store, "a", 0, "mine", &change), STATUS_OK);
    cr_assert_eq(thief.stolen, 1);
    expect(store, "a", "mine", change);
    cr_assert_eq(put(store, "a", change, "next", &change), STATUS_OK);
    expect(store, "a", "next", change);
    gateway_stop(&thief.gateway);
    store_etcd_close(&store);
}

Test(coordinator_store_etcd_answers, a_swap_that_was_lost_itself_is_made)
{
    struct thief thief = {.passes = false};
    struct store *store = open_robbed(&thief);
    uint64_t change = 0;

    cr_assert_eq(put(store, "a", 0, "mine", &change), STATUS_OK);
    cr_assert_eq(thief.stolen, 1);
    expect(store, "a", "mine", change);
    gateway_stop(&thief.gateway);
    store_etcd_close(&store);
}

/* Somebody was first: both attempts fail, and that is a conflict for sure, as "b" is untouched. */
Test(coordinator_store_etcd_answers, a_conflict_whose_answer_was_lost_is_one)
{
    struct thief thief = {.passes = true, .rival = open_store(NULL)};
    struct store_swap swaps[] = {{.key = "a", .value = span_text("mine")},
                                 {.key = "b", .value = span_text("mine")}};
    struct store *store = open_robbed(&thief);
    uint64_t change = 7;

    cr_assert_eq(store->swap(store->self, swaps, 2, &change), STATUS_CONFLICT);
    cr_assert_eq(change, 7);
    expect(store, "a", "rival", thief.version);
    gateway_stop(&thief.gateway);
    store_etcd_close(&store);
    store_etcd_close(&thief.rival);
}

/* It was done, but one of its keys was written again: the other one still tells. */
Test(coordinator_store_etcd_answers, one_key_of_a_lost_swap_tells_that_it_was_done)
{
    struct thief thief = {.passes = true, .heir = open_store(NULL)};
    struct store_swap swaps[] = {{.key = "a", .value = span_text("mine")},
                                 {.key = "b", .value = span_text("mine")}};
    struct store *store = open_robbed(&thief);
    uint64_t change = 0;

    cr_assert_eq(store->swap(store->self, swaps, 2, &change), STATUS_OK);
    cr_assert_lt(change, thief.version);
    expect(store, "a", "heir", thief.version);
    expect(store, "b", "mine", change);
    gateway_stop(&thief.gateway);
    store_etcd_close(&store);
    store_etcd_close(&thief.heir);
}

/* All that it wrote was written again: nobody can tell, and neither OK nor CONFLICT is said. */
Test(coordinator_store_etcd_answers, a_lost_swap_that_left_no_trace_is_an_error)
{
    struct thief thief = {.passes = true, .heir = open_store(NULL)};
    struct store *store = open_robbed(&thief);
    uint64_t change = 7;

    cr_assert_eq(put(store, "a", 0, "mine", &change), STATUS_IO);
    cr_assert_eq(change, 7);
    expect(store, "a", "heir", thief.version);
    gateway_stop(&thief.gateway);
    store_etcd_close(&store);
    store_etcd_close(&thief.heir);
}

/* ---- nonsense ---- */

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"

struct fool {
    struct gateway gateway;
    struct span answer;
};

/* Says that the format is right, so that it is asked for more. */
static struct span say_nonsense(void *context, const char *request)
{
    struct fool *fool = context;

    if (strstr(request, "L28vZm9ybWF0") != NULL) { /* "/o/format" */
        return span_text(OK_HEAD "{\"header\":{},\"kvs\":[{\"mod_revision\":\"1\","
                                 "\"value\":\"b3JibG9vbSAx\"}]}");
    }
    return fool->answer;
}

static bool ignore(void *context, const char *key, uint64_t version, struct span value)
{
    (void)context;
    (void)key;
    (void)version;
    (void)value;
    return true;
}

static struct store *open_fooled(struct fool *fool)
{
    struct store_etcd_config config = {.nendpoints = 1, .timeout_us = 3000000, .prefix = "/o/"};
    struct store *store = NULL;

    fool->gateway = (struct gateway){
        .handle = say_nonsense, .context = fool, .repeat = fool->gateway.repeat};
    gateway_start(&fool->gateway);
    (void)snprintf(config.endpoints[0], sizeof config.endpoints[0], "%s", fool->gateway.endpoint);
    cr_assert_eq(store_etcd_open(&config, &store), STATUS_OK);
    return store;
}

/* Each call by a handle of its own: one that has found nobody rests for a while. */
static void expect_error(struct span answer, bool swaps_too)
{
    struct buffer value;

    buffer_init(&value, 100);
    for (unsigned call = 0; call < (swaps_too ? 4 : 3); call++) {
        struct fool fool = {.answer = answer};
        struct store *store = open_fooled(&fool);
        enum status status = STATUS_OK;
        uint64_t number = 7;

        status = call == 0   ? store->get(store->self, "k", &value, &number)
                 : call == 1 ? store->change(store->self, &number)
                 : call == 2 ? store->since(store->self, 5, ignore, NULL)
                             : put(store, "k", 5, "v", &number);
        cr_assert_eq(status, STATUS_IO, "call %u: %s for: %.*s", call, status_code(status),
                     (int)answer.size, (const char *)answer.data);
        cr_assert_eq(number, 7);
        cr_assert_eq(value.size, 0);
        gateway_stop(&fool.gateway);
        store_etcd_close(&store);
    }
    buffer_fini(&value);
}

Test(coordinator_store_etcd_answers, what_is_not_etcd_is_an_error)
{
    static const char *const answers[] = {
        "",
        "nonsense",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"header\":{}",
        OK_HEAD,
        OK_HEAD "<html>hello</html>",
        OK_HEAD "[]",
        OK_HEAD "null",
        OK_HEAD "{}",
        OK_HEAD "{\"header\":{},\"kvs\":[{\"mod_revision\":",
        OK_HEAD "{\"header\":1,\"succeeded\":true}",
        "HTTP/1.1 500 Internal Server Error\r\n\r\n",
        "HTTP/1.1 503 Service Unavailable\r\n\r\n{\"error\":\"no leader\",\"code\":14}",
        "HTTP/1.1 404 Not Found\r\n\r\n404 page not found",
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n",
        "HTTP/1.1 400 Bad Request\r\n\r\n{\"error\":\"what?\",\"code\":3}",
    };

    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        expect_error(span_text(answers[i]), true);
    }
}

/* Shaped like answers of etcd, with what can't be in them. */
Test(coordinator_store_etcd_answers, impossible_records_are_errors)
{
    static const char *const kvs[] = {
        "{}",
        "7",
        "{\"key\":\"L28vcmVjb3JkL2s=\",\"value\":\"MTIzNDU2Nzg5MDEyMzQ1Ng==\"}",
        "{\"key\":\"L28vcmVjb3JkL2s=\",\"mod_revision\":\"-9\"}",
        "{\"key\":\"L28vcmVjb3JkL2s=\",\"mod_revision\":\"9x\"}",
        "{\"key\":\"L28vcmVjb3JkL2s=\",\"mod_revision\":\"99999999999999999999\"}",
        "{\"key\":\"L28vcmVjb3JkL2s=\",\"mod_revision\":9.5}",
        "{\"key\":\"L28vcmVjb3JkL2s=\",\"mod_revision\":[9]}",
    };
    char answer[512];

    for (size_t i = 0; i < sizeof kvs / sizeof kvs[0]; i++) {
        (void)snprintf(answer, sizeof answer, OK_HEAD "{\"header\":{},\"kvs\":[%s]}", kvs[i]);
        expect_error(span_text(answer), false);
    }
}

static void expect_broken_value(const char *key, const char *value)
{
    struct fool fool = {.answer = {0}};
    struct store *store;
    char answer[512];

    (void)snprintf(answer, sizeof answer,
                   OK_HEAD "{\"header\":{},\"kvs\":[{\"key\":%s,\"mod_revision\":\"9\","
                           "\"value\":%s}]}",
                   key, value);
    fool.answer = span_text(answer);
    store = open_fooled(&fool);
    cr_assert_eq(store->since(store->self, 5, ignore, NULL), STATUS_IO, "%s", answer);
    gateway_stop(&fool.gateway);
    store_etcd_close(&store);
}

Test(coordinator_store_etcd_answers, keys_and_values_that_orbloom_did_not_write_are_errors)
{
    static const char key[] = "\"L28vcmVjb3JkL2s=\"";
    static const char value[] = "\"MTIzNDU2Nzg5MDEyMzQ1Ng==\"";

    expect_broken_value(key, "\"\"");
    expect_broken_value(key, "\"MTIz\"");
    expect_broken_value(key, "\"MTIzNDU2Nzg5MDEyMzQ1Ng=\"");
    expect_broken_value(key, "\"MTIzNDU2Nz*5MDEyMzQ1Ng==\"");
    expect_broken_value(key, "\"====\"");
    expect_broken_value(key, "[1]");
    expect_broken_value("\"L28v\"", value);
    expect_broken_value("\"eHgvcmVjb3JkL2s=\"", value);
    expect_broken_value("\"L28vcmVjb3JkLwBr\"", value); /* a NUL inside */
    expect_broken_value("\"no base64\"", value);
    expect_broken_value("null", value);
}

/* A swap is not said to be done where it can't be said as which change. */
Test(coordinator_store_etcd_answers, a_success_without_a_revision_is_an_error)
{
    struct fool fool = {.answer = span_text(OK_HEAD "{\"header\":{},\"succeeded\":true}")};
    struct store *store = open_fooled(&fool);
    uint64_t change = 7;

    cr_assert_eq(put(store, "k", 0, "v", &change), STATUS_IO);
    fool.answer = span_text(OK_HEAD "{\"header\":{\"revision\":\"9\"},\"succeeded\":\"true\"}");
    cr_assert_eq(put(store, "k", 0, "v", &change), STATUS_CONFLICT);
    cr_assert_eq(change, 7);
    gateway_stop(&fool.gateway);
    store_etcd_close(&store);
}

/* An answer without end is cut off, not gathered. */
Test(coordinator_store_etcd_answers, an_endless_answer_is_an_error)
{
    static char blanks[1 << 16];
    struct fool fool = {.gateway.repeat = 1 << 16};
    struct store *store;

    memset(blanks, ' ', sizeof blanks);
    memcpy(blanks, OK_HEAD, sizeof OK_HEAD - 1);
    fool.answer = span_of(blanks, sizeof blanks);
    store = open_fooled(&fool);
    cr_assert_eq(store->since(store->self, 5, ignore, NULL), STATUS_IO);
    gateway_stop(&fool.gateway);
    store_etcd_close(&store);
}
