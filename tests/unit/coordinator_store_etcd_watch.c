/* Prompt news of what others wrote, whatever becomes of the server; and users with passwords. */
#include "coordinator/store/etcd/etcd.h"
#include "tests/support/command.h"
#include "tests/support/etcd.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { LIMIT_MS = 30000 };

static uint64_t timeout_us = 10000000; /* a check of a password takes long, on purpose */

static struct etcd etcd;
static atomic_uint woken;

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

TestSuite(coordinator_store_etcd_watch, .init = set_up, .fini = tear_down, .timeout = 120);

static enum status try_open(const char *user, const char *password, struct store **store)
{
    struct store_etcd_config config = {.nendpoints = 1, .timeout_us = timeout_us, .prefix = "/o/"};

    (void)snprintf(config.endpoints[0], sizeof config.endpoints[0], "%s", etcd.endpoint);
    (void)snprintf(config.user, sizeof config.user, "%s", user);
    (void)snprintf(config.password, sizeof config.password, "%s", password);
    return store_etcd_open(&config, store);
}

static struct store *open_as(const char *user, const char *password)
{
    struct store *store = NULL;

    cr_assert_eq(try_open(user, password, &store), STATUS_OK);
    return store;
}

static enum status put(struct store *store, uint64_t *version)
{
    struct store_swap swap = {.key = "k", .expected = *version, .value = span_text("v")};

    return store->swap(store->self, &swap, 1, version);
}

static void wake(void *context)
{
    (void)context;
    atomic_fetch_add(&woken, 1);
}

/* The watch has woken its owner more than `before` times, and says why. */
static void expect_news(struct store *store, unsigned before)
{
    uint64_t deadline_ms = command_now_ms() + LIMIT_MS;

    while (atomic_load(&woken) == before) {
        cr_assert_lt(command_now_ms(), deadline_ms, "no news");
        (void)poll(NULL, 0, 5);
    }
    cr_assert(store->moved(store->self));
}

/* The beginning of the watch is news too, as it is not known what was before. */
static struct store *open_watched(const char *user, const char *password)
{
    struct store *store = open_as(user, password);

    cr_assert_not(store->moved(store->self));
    cr_assert_eq(store_etcd_watch_start(store, wake, NULL), STATUS_OK);
    expect_news(store, 0);
    return store;
}

Test(coordinator_store_etcd_watch, what_another_one_writes_is_news)
{
    struct store *store = open_watched("", "");
    struct store *other = open_as("", "");
    uint64_t version = 0;

    for (unsigned i = 0; i < 5; i++) {
        unsigned before = atomic_load(&woken);
        uint64_t change = 0;

        cr_assert_not(store->moved(store->self), "once");
        cr_assert_eq(put(other, &version), STATUS_OK);
        expect_news(store, before);
        cr_assert_eq(store->change(store->self, &change), STATUS_OK);
        cr_assert_eq(change, version);
    }
    store_etcd_close(&store);
    store_etcd_close(&other);
}

static void expect_change(struct store *store, uint64_t wanted)
{
    uint64_t deadline_ms = command_now_ms() + LIMIT_MS;
    uint64_t change = 0;

    while (store->change(store->self, &change) != STATUS_OK) {
        cr_assert_lt(command_now_ms(), deadline_ms);
        (void)poll(NULL, 0, 5);
    }
    cr_assert_eq(change, wanted);
}

/* The watch finds the server again by itself, and ends the rest of who found it away. */
Test(coordinator_store_etcd_watch, a_server_that_is_back_is_news)
{
    struct store *store = open_watched("", "");
    uint64_t version = 0;
    uint64_t change = 0;
    unsigned before;

    cr_assert_eq(put(store, &version), STATUS_OK);
    etcd_signal(&etcd, SIGKILL);
    cr_assert_eq(store->change(store->self, &change), STATUS_IO);
    before = atomic_load(&woken);
    etcd_start(&etcd);
    expect_news(store, before);
    expect_change(store, version);
    before = atomic_load(&woken);
    cr_assert_eq(put(store, &version), STATUS_OK);
    expect_news(store, before);
    store_etcd_close(&store);
}

/* Its thread is not waited for without limit. */
Test(coordinator_store_etcd_watch, a_watch_of_a_stopped_server_can_be_ended)
{
    struct store *store;
    struct store *late;

    timeout_us = 300000;
    store = open_watched("", "");
    late = open_as("", "");
    etcd_signal(&etcd, SIGSTOP);
    cr_assert_eq(store_etcd_watch_start(late, wake, NULL), STATUS_OK);
    store_etcd_close(&store);
    store_etcd_close(&late);
    etcd_signal(&etcd, SIGCONT);
}

/* ---- users ---- */

/* root may do anything, "o" what is below "/o/", "p" nothing. */
static void ask_for_passwords(void)
{
    static const char *const requests[][2] = {
        {"/v3/auth/user/add", "{\"name\":\"root\",\"password\":\"r\"}"},
        {"/v3/auth/role/add", "{\"name\":\"root\"}"},
        {"/v3/auth/user/grant", "{\"user\":\"root\",\"role\":\"root\"}"},
        {"/v3/auth/user/add", "{\"name\":\"o\",\"password\":\"se\\\"cret\"}"},
        {"/v3/auth/role/add", "{\"name\":\"o\"}"},
        {"/v3/auth/role/grant", "{\"name\":\"o\",\"perm\":{\"permType\":\"READWRITE\","
                                "\"key\":\"L28v\",\"range_end\":\"L28w\"}}"},
        {"/v3/auth/user/grant", "{\"user\":\"o\",\"role\":\"o\"}"},
        {"/v3/auth/user/add", "{\"name\":\"p\",\"password\":\"pass\"}"},
        {"/v3/auth/enable", "{}"},
    };

    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        const char *answer = etcd_post(&etcd, requests[i][0], requests[i][1]);

        cr_assert_not_null(strstr(answer, " 200 OK"), "%s: %s", requests[i][0], answer);
    }
}

static void expect_refused(const char *user, const char *password, const char *words)
{
    FILE *log = cr_get_redirected_stderr();
    struct store *store = NULL;
    char text[4096];
    size_t size;

    cr_assert_eq(try_open(user, password, &store), STATUS_UNAUTHENTIC);
    cr_assert_null(store);
    (void)fflush(stderr);
    size = fread(text, 1, sizeof text - 1, log);
    text[size] = '\0';
    cr_assert_not_null(strstr(text, words), "%s", text);
    cr_assert_null(strstr(text, password[0] != '\0' ? password : "\x01"), "%s", text);
}

Test(coordinator_store_etcd_watch, a_wrong_password_is_refused)
{
    ask_for_passwords();
    expect_refused("o", "wrong-one", "check etcd_user and etcd_password_file");
    expect_refused("", "", "give etcd_user and etcd_password_file");
}

Test(coordinator_store_etcd_watch, a_user_without_permission_is_refused)
{
    ask_for_passwords();
    expect_refused("p", "pass", "grant etcd_user a role");
}

/* A server that was started again does not know its tokens any more. */
Test(coordinator_store_etcd_watch, a_user_with_a_password_reads_writes_and_watches)
{
    struct store *store;
    struct store *other;
    uint64_t version = 0;
    unsigned before;

    ask_for_passwords();
    store = open_watched("o", "se\"cret");
    other = open_as("o", "se\"cret");
    before = atomic_load(&woken);
    cr_assert_eq(put(other, &version), STATUS_OK);
    expect_news(store, before);
    expect_change(store, version);
    before = atomic_load(&woken);
    etcd_signal(&etcd, SIGKILL);
    etcd_start(&etcd);
    expect_news(store, before);
    expect_change(store, version);
    cr_assert_eq(put(store, &version), STATUS_OK);
    store_etcd_close(&store);
    store_etcd_close(&other);
}
