/* Names are switched while checks go on, with real processes: at no moment is there no filter of
 * that name, and once it is confirmed nobody answers from the former one. */
#include "client/orbloom.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>

enum { LIMIT_S = 180, TURNS = 12, MOST_TEXT = 4096 };

static struct playground playground;

/* Somebody who asks for one key by the name "list" all the time. */
struct asker {
    struct orbloom *handle;
    thrd_t thread;
    atomic_bool stop;
    unsigned long answered;
    unsigned long unsure; /* neither present nor absent was said */
    unsigned long absent;
    int first_code;
    char first_error[512];
};

/* Both filters have the key, so it is present whichever answers. */
static int ask(void *context)
{
    struct asker *self = context;

    while (!atomic_load(&self->stop)) {
        enum orbloom_answer answer = ORBLOOM_UNKNOWN;
        int code = orbloom_check_key(self->handle, "list", "always", 6, &answer);

        self->answered += answer == ORBLOOM_PRESENT;
        self->absent += answer == ORBLOOM_ABSENT;
        self->unsure += answer == ORBLOOM_UNKNOWN;
        if (code != ORBLOOM_OK && self->first_code == ORBLOOM_OK) {
            self->first_code = code;
            (void)snprintf(self->first_error, sizeof self->first_error, "%s",
                           orbloom_error(self->handle));
        }
    }
    return 0;
}

static void begin_asking(struct asker *self, uint32_t router)
{
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    char name[32];
    struct orbloom_options options = {.routers = endpoint, .timeout_ms = 60000};

    *self = (struct asker){.handle = NULL};
    (void)snprintf(name, sizeof name, router == 0 ? "router" : "router-%u", router + 1);
    playground_endpoint(&playground, name, endpoint);
    cr_assert_eq(orbloom_connect(&options, &self->handle), ORBLOOM_OK);
    cr_assert_eq(thrd_create(&self->thread, ask, self), thrd_success);
}

static void end_asking(struct asker *self)
{
    atomic_store(&self->stop, true);
    cr_assert_eq(thrd_join(self->thread, NULL), thrd_success);
    orbloom_close(&self->handle);
    cr_assert_gt(self->answered, 0);
    cr_assert_eq(self->absent, 0);
    cr_assert_eq(self->first_code, ORBLOOM_OK, "%s", self->first_error);
    cr_assert_eq(self->unsure, 0);
}

static void make(const char *name, const char *keys)
{
    PLAYGROUND_DO("", "create", name, "--capacity", "10k", "--fpr", "0.01%");
    PLAYGROUND_DO(keys, "add", name);
}

static void expect_check(const char *name, const char *keys, const char *answers)
{
    struct command command;

    command_run(&command, span_text(keys), "orbloom", "check", name, NULL);
    cr_assert_str_eq(command.output, answers, "%s: %s", name, command.errors);
    command_forget(&command);
}

/* What was built aside takes the name over and over, while two routers are asked for it. */
Test(rename, a_name_is_never_nobodys, .timeout = LIMIT_S)
{
    static struct asker askers[2];
    char keys[32] = "always\nturn-0\n";

    playground_start(&playground, &(struct playground_plan){.routers = 2});
    make("list", keys);
    begin_asking(&askers[0], 0);
    begin_asking(&askers[1], 1);
    for (int i = 1; i <= TURNS; i++) {
        char both[64];

        (void)snprintf(both, sizeof both, "always\nturn-%d\nturn-%d\n", i - 1, i);
        (void)snprintf(keys, sizeof keys, "always\nturn-%d\n", i);
        make("list.next", keys);
        PLAYGROUND_DO("", "rename", "list.next", "list", "--replace");
        expect_check("list", both, "present\nabsent\npresent\n");
        expect_check("list.next", "always\n", "unknown\n");
    }
    end_asking(&askers[0]);
    end_asking(&askers[1]);
    playground_stop(&playground);
}

static void expect_refused(const char *old, const char *name, const char *code)
{
    struct command command;

    command_run(&command, span_text(""), "orbloom", "rename", old, name, "--timeout", "1s", NULL);
    command_expect_errors(&command, 1, code);
    command_forget(&command);
}

/* With too few nodes it is written and not confirmed, and the former name stays taken; whoever is
 * killed meanwhile, it ends once they are back. */
Test(rename, it_is_confirmed_by_enough_nodes_only, .timeout = LIMIT_S)
{
    struct command command;

    playground_start(&playground, &(struct playground_plan){0});
    make("next", "a\n");
    playground_kill(&playground, "node-1");
    playground_kill(&playground, "node-2");
    expect_refused("next", "list", "DEADLINE");
    command_run(&command, span_text(""), "orbloom", "create", "next", "--capacity", "10k", "--fpr",
                "1%", NULL);
    command_expect_errors(&command, 1, "NAME_BUSY");
    command_forget(&command);
    playground_kill(&playground, "coordinator");
    playground_restart(&playground, "coordinator");
    playground_restart(&playground, "node-1");
    playground_wait_counter(&playground, "coordinator", "filters_renamed_total", 1);
    expect_check("list", "a\nb\n", "present\nabsent\n");
    playground_restart(&playground, "node-2");
    expect_refused("nobody", "list", "NOT_FOUND");
    make("next", "b\n");
    expect_refused("next", "list", "EXISTS");
    expect_check("next", "a\nb\n", "absent\npresent\n");
    playground_stop(&playground);
}

/* In a shell, with $S as the arguments that name the socket. */
static void run_shell(const char *script, const char *output)
{
    char line[MOST_TEXT];
    char text[MOST_TEXT];
    FILE *shell;
    size_t size;

    (void)snprintf(line, sizeof line, "S='-s %s/router/resp.sock'; { %s; } 2>&1", playground.dir,
                   script);
    shell = popen(line, "r");
    cr_assert_not_null(shell);
    size = fread(text, 1, sizeof text - 1, shell);
    text[size] = '\0';
    cr_assert_eq(pclose(shell), 0);
    cr_assert_str_eq(text, output, "%s: %s", script, text);
}

Test(rename, the_commands_of_redis, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){.in_memory = true});
    run_shell("redis-cli $S BF.ADD a x; redis-cli $S BF.ADD b y; redis-cli $S RENAMENX a b;"
              "redis-cli $S RENAME a b; redis-cli $S BF.MEXISTS b x y; redis-cli $S EXISTS a b;"
              "redis-cli $S RENAMENX b a; redis-cli $S BF.EXISTS a x; redis-cli $S RENAME b a",
              "1\n1\n0\nOK\n1\n0\n1\n1\n1\nERR no such key\n\n");
    run_shell("for i in $(seq 20); do redis-cli $S BF.ADD next x >/dev/null;"
              "redis-cli $S RENAME next a; redis-cli $S BF.EXISTS a x; done | sort | uniq -c |"
              "tr -d ' '",
              "201\n20OK\n");
    playground_stop(&playground);
}
