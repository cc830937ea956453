/* What client libraries send when they connect: as `default`, and as a user that may do next to
 * nothing. */
#include "router/resp/command.h"
#include "tests/support/connects.h"
#include "tests/unit/resp_front_users.h"

/* The router tells its counters; of each name there is no filter. */
static void answer_what_is_asked(size_t asked)
{
    struct fake_sent sent;
    const struct admin_reply none = {.status = STATUS_NOT_FOUND, .message = ""};

    if (stage.nasked > asked) {
        front_stage_stats(&stage, stage.nasked - 1);
    }
    if (front_stage_take(&stage, &sent)) {
        front_stage_answer_with(&stage, &sent.frame, &none);
    }
}

static void expect_line(const char *client, const char *said, const char *answer)
{
    size_t asked = stage.nasked;
    const char *text;

    front_stage_say(&stage, 0, said);
    answer_what_is_asked(asked);
    text = stage.streams[0].text != NULL ? stage.streams[0].text : "";
    cr_assert_eq(strncmp(text, answer, strlen(answer)), 0, "%s: %s: %s", client, said, text);
    front_stage_expect(&stage, 0, text);
}

Test(resp_clients, each_has_what_it_needs_to_begin)
{
    size_t count;
    const struct connect_client *clients = connect_clients(&count);

    for (size_t i = 0; i < count; i++) {
        struct front_config config = front_stage_config();
        char said[CONNECT_SAID_BYTES];

        config.guarded = clients[i].guarded;
        config.auth_us = 10 * (uint64_t)SECOND;
        cr_assert_eq(password_read(&config.password, span_text(CONNECT_PASSWORD "\n")), STATUS_OK);
        front_stage_init(&stage, &config);
        front_stage_open(&stage, 0);
        for (size_t j = 0; connect_said(&clients[i], j, NULL, NULL, said); j++) {
            expect_line(clients[i].name, said, connect_answer(&clients[i].lines[j], false));
        }
        front_stage_fini(&stage);
    }
}

static void start_as_reader(void)
{
    const struct front_config config = front_stage_config();
    struct user *user;

    start_empty(&config);
    user = add_user(&stage.users, "reader", USER_CLIENT);
    add_grant(user, "r shared:*");
    add_token(user, "rtoken", 0);
    seal_record(&stage.users);
    front_stage_open(&stage, 0);
}

/* It has no right to what some of them look for, and none of them gives up for that. */
Test(resp_clients, each_has_it_as_a_restricted_user)
{
    size_t count;
    const struct connect_client *clients = connect_clients(&count);

    for (size_t i = 0; i < count; i++) {
        char said[CONNECT_SAID_BYTES];

        start_as_reader();
        if (connect_logs_in_first(&clients[i])) {
            expect_line(clients[i].name, "AUTH reader rtoken\r\n", "+OK\r\n");
        }
        for (size_t j = 0; connect_said(&clients[i], j, "reader", "rtoken", said); j++) {
            expect_line(clients[i].name, said, connect_answer(&clients[i].lines[j], true));
        }
        cr_assert_eq(front_stage_counter(&stage, "resp_wrong_passwords_total"), 0);
        finish();
    }
}

/* What they read in it, line by line. */
Test(resp_clients, info_says_what_they_look_for)
{
    static const char *const wanted[] = {"redis_version:7.", "redis_mode:standalone\r\n",
                                         "loading:0\r\n", "role:master\r\n"};

    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "INFO\r\n");
    front_stage_stats(&stage, 0);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        cr_assert_not_null(strstr(stage.streams[0].text, wanted[i]), "%s", wanted[i]);
    }
    front_stage_expect(&stage, 0, stage.streams[0].text);
    front_stage_fini(&stage);
}
