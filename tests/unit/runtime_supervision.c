/* What a supervisor is told, when, and by which socket. */
#include "runtime/supervisor/notify.h"
#include "runtime/supervisor/supervision.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the words ---- */

static const struct health well;

static struct health amiss(const char *what, const char *why)
{
    struct health health = {0};

    health_want(&health, false, what, "%s", why);
    return health;
}

static const char *beat(struct supervision *self, uint64_t now_us, const struct health *moves,
                        const struct health *fitness)
{
    static char text[SUPERVISION_TEXT_BYTES];

    return supervision_beat(self, now_us, moves, fitness, text);
}

Test(runtime_supervision, a_boot_takes_as_long_as_it_moves)
{
    const struct health boot = amiss("boot", "nobody has confirmed it");
    const struct health hangs = amiss("loop", "the loop has not turned");
    struct supervision self;

    supervision_init(&self, 30000000);
    cr_assert(supervision_due(&self, 1));
    cr_expect_str_eq(beat(&self, 1, &well, &boot),
                     "EXTEND_TIMEOUT_USEC=30000000\nSTATUS=starting: nobody has confirmed it");
    cr_expect_not(supervision_due(&self, 1));
    cr_expect_str_eq(beat(&self, 2, &well, &boot), "EXTEND_TIMEOUT_USEC=30000000\n");
    cr_expect_str_eq(beat(&self, 3, &hangs, &boot), "STATUS=starting: the loop has not turned");
    cr_expect_str_eq(beat(&self, 4, &hangs, &boot), "", "it would be taken for one that moves");
}

Test(runtime_supervision, the_watchdog_hears_of_one_that_serves_and_moves)
{
    const struct health lacks = amiss("replicas", "3 of 16\nare FULL");
    const struct health hangs = amiss("commit", "one write has taken 12 s");
    struct supervision self;

    supervision_init(&self, 3000000);
    supervision_ready(&self);
    cr_assert(supervision_due(&self, 0));
    cr_expect_str_eq(beat(&self, 10, &well, &well), "READY=1\nWATCHDOG=1\nSTATUS=serving");
    cr_expect_not(supervision_due(&self, 10 + 999999));
    cr_expect(supervision_due(&self, 10 + 1000000), "a third of what it may be silent");
    cr_expect_str_eq(beat(&self, 20, &well, &lacks),
                     "READY=1\nWATCHDOG=1\nSTATUS=serving: 3 of 16 are FULL",
                     "one that is not fit lives");
    cr_expect_str_eq(beat(&self, 30, &hangs, &lacks), "STATUS=serving: one write has taken 12 s");
    cr_expect_str_eq(beat(&self, 40, &hangs, &lacks), "");
    cr_expect_str_eq(beat(&self, 50, &well, &well), "READY=1\nWATCHDOG=1\nSTATUS=serving");
}

Test(runtime_supervision, without_a_watchdog_there_is_news_alone)
{
    struct supervision self;

    supervision_init(&self, 0);
    cr_expect_str_eq(beat(&self, 1, &well, &well), "EXTEND_TIMEOUT_USEC=30000000\nSTATUS=starting");
    supervision_ready(&self);
    cr_expect_str_eq(beat(&self, 2, &well, &well), "READY=1\nSTATUS=serving");
    cr_expect_str_eq(beat(&self, 3, &well, &well), "READY=1\n", "the first one may be lost");
    cr_expect_not(supervision_due(&self, 3 + SUPERVISION_EVERY_US - 1));
    cr_expect(supervision_due(&self, 3 + SUPERVISION_EVERY_US));
}

Test(runtime_supervision, only_who_serves_reads_again)
{
    char text[SUPERVISION_TEXT_BYTES];
    struct supervision self;

    supervision_init(&self, 0);
    cr_expect_str_eq(supervision_reload(&self, 7, text), "");
    supervision_reloaded(&self, false);
    cr_expect_null(strstr(beat(&self, 1, &well, &well), "READY=1"), "too early");
    supervision_ready(&self);
    cr_expect_str_eq(supervision_reload(&self, 7, text), "RELOADING=1\nMONOTONIC_USEC=7");
    supervision_reloaded(&self, true);
    cr_assert(supervision_due(&self, 1));
    cr_expect_str_eq(beat(&self, 1, &well, &well),
                     "READY=1\nSTATUS=serving; the last SIGHUP was refused, see the log");
    supervision_reloaded(&self, false);
    cr_expect_str_eq(beat(&self, 2, &well, &well), "READY=1\nSTATUS=serving");
}

Test(runtime_supervision, an_end_is_told_and_may_take_its_time)
{
    char text[SUPERVISION_TEXT_BYTES];
    struct supervision self;

    supervision_init(&self, 9000000);
    supervision_ready(&self);
    cr_expect_str_eq(supervision_stop(&self), "STOPPING=1");
    cr_expect_str_eq(supervision_stop(&self), "");
    supervision_ready(&self);
    cr_expect_str_eq(supervision_reload(&self, 7, text), "");
    cr_expect_str_eq(beat(&self, 1, &well, &well),
                     "STOPPING=1\nEXTEND_TIMEOUT_USEC=9000000\nSTATUS=stopping");
}

/* What is longest still fits, and ends as a text. */
Test(runtime_supervision, a_long_reason_is_cut)
{
    char why[2 * HEALTH_WHY_BYTES];
    struct supervision self;
    struct health health;

    memset(why, 'x', sizeof why);
    why[sizeof why - 1] = '\0';
    health = amiss("x", why);
    supervision_init(&self, UINT64_MAX);
    cr_assert_lt(strlen(beat(&self, UINT64_MAX - SUPERVISION_EVERY_US, &well, &health)),
                 SUPERVISION_TEXT_BYTES);
}

/* ---- the socket ---- */

static void expect_heard(const char *where, const struct sockaddr_un *address, socklen_t size)
{
    int ear = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct notify notify;
    char heard[16] = "";

    cr_assert_geq(ear, 0);
    cr_assert_eq(bind(ear, (const struct sockaddr *)address, size), 0);
    notify_open(&notify, where);
    cr_assert(notify_is_open(&notify));
    notify_send(&notify, "");
    notify_send(&notify, "READY=1");
    cr_assert_eq(recv(ear, heard, sizeof heard, MSG_DONTWAIT), 7);
    cr_expect_arr_eq(heard, "READY=1", 7);
    (void)close(ear);
    notify_send(&notify, "STOPPING=1"); /* Nobody is there: nothing happens. */
    notify_close(&notify);
    cr_expect_not(notify_is_open(&notify));
}

Test(runtime_supervision, a_path_leads_to_whoever_asked)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/orbloom-notify-XXXXXX";

    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
    expect_heard(address.sun_path, &address, sizeof address);
    (void)unlink(address.sun_path);
    (void)rmdir(folder);
}

Test(runtime_supervision, and_so_does_a_name_that_no_file_has)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char where[64];
    int size = snprintf(where, sizeof where, "@orbloom-notify-%d", (int)getpid());

    memcpy(address.sun_path + 1, where + 1, (size_t)size - 1);
    expect_heard(where, &address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)size));
}

Test(runtime_supervision, what_is_no_socket_harms_nobody)
{
    static const char *const places[] = {"", "/", "@", "socket", "vsock:2:1234"};
    char long_place[sizeof((struct sockaddr_un *)NULL)->sun_path + 1];
    struct notify notify;

    notify_open(&notify, NULL);
    cr_expect_not(notify_is_open(&notify));
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        notify_open(&notify, places[i]);
        cr_expect_not(notify_is_open(&notify), "%s", places[i]);
    }
    memset(long_place, '/', sizeof long_place);
    long_place[sizeof long_place - 1] = '\0';
    notify_open(&notify, long_place);
    cr_expect_not(notify_is_open(&notify));
    notify_send(&notify, "READY=1");
    notify_close(&notify);
}

Test(runtime_supervision, a_watchdog_may_be_meant_for_another_process)
{
    char own[16];

    (void)snprintf(own, sizeof own, "%d", (int)getpid());
    cr_expect_eq(notify_watchdog_us("30000000", own), 30000000);
    cr_expect_eq(notify_watchdog_us("30000000", NULL), 30000000);
    cr_expect_eq(notify_watchdog_us("30000000", "1"), 0);
    cr_expect_eq(notify_watchdog_us(NULL, own), 0);
    cr_expect_eq(notify_watchdog_us("", own), 0);
    cr_expect_eq(notify_watchdog_us("-1", own), 0);
    cr_expect_eq(notify_watchdog_us("3s", own), 0);
    cr_expect_eq(notify_watchdog_us("99999999999999999999", own), 0);
}
