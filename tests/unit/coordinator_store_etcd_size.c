/* What etcd says of its size and quota: read where it makes sense, and never more than was said;
 * and who looks, beside all else that a store does. */
#include "coordinator/store/etcd/etcd.h"
#include "coordinator/store/etcd/size.h"
#include "tests/support/gateway.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { MIB = 1 << 20, WAITS = 2000, WAIT_MS = 5 };

#define SIZE   "etcd_mvcc_db_total_size_in_bytes"
#define IN_USE "etcd_mvcc_db_total_size_in_use_in_bytes"
#define QUOTA  "etcd_server_quota_backend_bytes"

static struct etcd_size of_status(const char *text)
{
    struct etcd_size size = {0};
    json_t *answer = json_loads(text, 0, NULL);

    etcd_size_read_status(&size, answer);
    json_decref(answer);
    return size;
}

static struct etcd_size of_metrics(const char *text)
{
    struct etcd_size size = {0};

    etcd_size_read_metrics(&size, span_text(text));
    return size;
}

static void expect_nothing(struct etcd_size size, const char *text)
{
    struct store_room room = etcd_size_room(&size);

    cr_expect_eq(size.bytes, 0, "%s", text);
    cr_expect_not(size.quota_said, "%s", text);
    cr_expect_eq(room.bytes, 0, "%s", text);
    cr_expect_eq(room.quota, 0, "%s", text);
}

/* ---- /v3/maintenance/status ---- */

/* As 3.4 writes it; 3.6 tells the quota, too. */
Test(coordinator_store_etcd_size, status_tells_the_size_and_perhaps_the_quota)
{
    struct etcd_size size = of_status("{\"header\":{\"revision\":\"1\"},\"version\":\"3.4.23\","
                                      "\"dbSize\":\"20480\",\"dbSizeInUse\":\"16384\"}");
    struct store_room room = etcd_size_room(&size);

    cr_assert_eq(room.bytes, 20480);
    cr_assert_eq(room.in_use, 16384);
    cr_assert_not(size.quota_said);
    cr_assert_eq(room.quota, ETCD_DEFAULT_QUOTA);
    size = of_status("{\"dbSize\":\"20480\",\"dbSizeInUse\":16384,\"dbSizeQuota\":\"1048576\"}");
    room = etcd_size_room(&size);
    cr_assert(size.quota_said);
    cr_assert_eq(room.quota, MIB);
}

Test(coordinator_store_etcd_size, a_status_without_sense_tells_nothing)
{
    static const char *const texts[] = {
        "",
        "[]",
        "\"dbSize\"",
        "{}",
        "{\"dbSize\":\"\"}",
        "{\"dbSize\":\"-1\"}",
        "{\"dbSize\":-1}",
        "{\"dbSize\":\"12x\"}",
        "{\"dbSize\":{\"dbSize\":\"5\"}}",
        "{\"dbSize\":\"18446744073709551615\"}",
        "{\"dbSize\":\"99999999999999999999999\"}",
        "{\"dbSize\":1.5}",
        "{\"dbSizeInUse\":\"5\"}",
        "{\"error\":\"etcdserver: permission denied\",\"code\":7}",
        "{\"dbSizeQuota\":\"-5\"}",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        expect_nothing(of_status(texts[i]), texts[i]);
    }
}

/* ---- /metrics ---- */

Test(coordinator_store_etcd_size, metrics_tell_all_three)
{
    struct etcd_size size = of_metrics("# HELP " SIZE " Total size\n"
                                       "# TYPE " SIZE " gauge\n"
                                       "etcd_debugging_mvcc_db_total_size_in_bytes 7\n"
                                       "other{of=\"x\"} 5\n\n" SIZE " 20480\n" IN_USE
                                       " 16384\n" QUOTA " 1.6777216e+07\n"
                                       "etcd_server_quota 3\n");
    struct store_room room = etcd_size_room(&size);

    cr_assert_eq(room.bytes, 20480);
    cr_assert_eq(room.in_use, 16384);
    cr_assert_eq(room.quota, 16 * MIB);
    size = of_metrics(SIZE " 1\n" QUOTA " 2"); /* No line's end. */
    cr_assert_eq(etcd_size_room(&size).quota, 2);
}

/* --quota-backend-bytes=-1 */
Test(coordinator_store_etcd_size, etcd_may_have_no_quota)
{
    struct etcd_size size = of_metrics(SIZE " 3e9\n" QUOTA " -1\n");
    struct store_room room = etcd_size_room(&size);

    cr_assert(size.quota_said);
    cr_assert_eq(room.bytes, 3000000000);
    cr_assert_eq(room.quota, 0);
    cr_assert_eq(etcd_room_share(&room), 0);
}

Test(coordinator_store_etcd_size, metrics_without_sense_tell_nothing)
{
    static const char *const texts[] = {
        "",
        "\n\n\n",
        SIZE,
        SIZE "\n",
        SIZE " \n",
        SIZE " x\n",
        SIZE " 12x\n",
        SIZE " -3\n",
        SIZE " NaN\n",
        SIZE " +Inf\n",
        SIZE " 1e300\n",
        SIZE " 0\n",
        SIZE "{a=\"b\"} 5\n",
        SIZE " 00000000000000000000000000000000000000000000000000005\n",
        QUOTA " NaN\n" QUOTA " 0\n" QUOTA " 12 34\n",
        "<html><body>404 page not found</body></html>",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        expect_nothing(of_metrics(texts[i]), texts[i]);
    }
    expect_nothing(of_metrics("\x00\xff" SIZE), "bytes");
}

Test(coordinator_store_etcd_size, in_use_is_never_more_than_there_is)
{
    const struct etcd_size size = {.bytes = 10, .in_use = 20, .quota_said = true, .quota = 40};
    struct store_room room = etcd_size_room(&size);

    cr_assert_eq(room.in_use, 10);
    cr_assert_float_eq(etcd_room_share(&room), 0.25, 1e-9);
}

/* ---- who looks ---- */

#define OK(text) "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" text
#define DENIED \
    "HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n{\"error\":\"permission denied\"}"

struct member {
    const char *status;
    const char *metrics;
};

/* Reads of the store are hung up on. */
static struct span answer(void *context, const char *request)
{
    const struct member *member = context;

    if (strncmp(request, "POST /v3/maintenance/status ", 28) == 0) {
        return span_text(member->status);
    }
    return span_text(strncmp(request, "GET /metrics ", 13) == 0 ? member->metrics : "");
}

/* Two members; what is told of them once the first look is over. */
static struct store_room look_at(const struct member members[2])
{
    struct store_etcd_config config = {.timeout_us = 10000000, .prefix = "/o/", .nendpoints = 2};
    struct gateway gateways[2];
    struct store_room room = {0};
    struct store *store = NULL;

    for (uint32_t i = 0; i < 2; i++) {
        gateways[i] = (struct gateway){.handle = answer, .context = (void *)&members[i]};
        gateway_start(&gateways[i]);
        (void)snprintf(config.endpoints[i], STORE_ETCD_ENDPOINT_BYTES, "%s", gateways[i].endpoint);
    }
    cr_redirect_stderr();
    cr_assert_eq(store_etcd_open(&config, &store), STATUS_OK);
    cr_assert_eq(store->room(store->self).bytes, 0);
    cr_assert_eq(store_etcd_room_start(store), STATUS_OK);
    for (int i = 0; i < WAITS && room.bytes == 0; i++) {
        (void)poll(NULL, 0, WAIT_MS);
        room = store->room(store->self);
    }
    store_etcd_close(&store);
    for (uint32_t i = 0; i < 2; i++) {
        gateway_stop(&gateways[i]);
    }
    return room;
}

/* With users etcd 3.5.28 and later tell their status to root alone. */
Test(coordinator_store_etcd_size, the_member_that_has_least_left_is_told, .timeout = 60)
{
    static const struct member members[2] = {
        {OK("{\"dbSize\":\"50\",\"dbSizeInUse\":\"40\",\"dbSizeQuota\":\"100\"}"), ""},
        {DENIED, OK(SIZE " 30\n" IN_USE " 20\n" QUOTA " 40\n")},
    };
    struct store_room room = look_at(members);

    cr_assert_eq(room.bytes, 30);
    cr_assert_eq(room.in_use, 20);
    cr_assert_eq(room.quota, 40);
}

Test(coordinator_store_etcd_size, one_that_tells_only_its_size_has_the_default, .timeout = 60)
{
    static const struct member members[2] = {
        {DENIED, OK("nothing\n")},
        {OK("{\"dbSize\":\"30\",\"dbSizeInUse\":\"20\"}"), DENIED},
    };
    struct store_room room = look_at(members);

    cr_assert_eq(room.bytes, 30);
    cr_assert_eq(room.quota, ETCD_DEFAULT_QUOTA);
}
