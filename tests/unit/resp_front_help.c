/* NAME HELP: errors name it, so it is there, and lists what is there. */
#include "router/resp/command.h"
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { MOST_TEXT = 8192, MOST_NAME = 32 };

static struct front_stage stage;
static char answer[MOST_TEXT];

/* What is said of it at once. */
static const char *say(const char *command, const char *word)
{
    char said[128];

    (void)snprintf(said, sizeof said, "%s %s\r\n", command, word);
    front_stage_say(&stage, 0, said);
    (void)snprintf(answer, sizeof answer, "%s",
                   stage.streams[0].text != NULL ? stage.streams[0].text : "");
    front_stage_expect(&stage, 0, answer);
    return answer;
}

/* Lines of the array that it is, as many as its head says. */
static size_t count_lines(const char *text)
{
    size_t lines = 0;
    size_t said = 0;

    cr_assert_eq(sscanf(text, "*%zu\r\n", &said), 1, "%s", text);
    for (; (text = strstr(text, "\r\n+")) != NULL; text += 2) {
        lines++;
    }
    cr_assert_eq(lines, said);
    return lines;
}

/* Each subcommand that is listed is known: its own error is another one, if it has any. */
static void expect_listed_are_known(const char *command)
{
    static char help[MOST_TEXT];
    char name[MOST_NAME];
    char *line = help;

    (void)snprintf(help, sizeof help, "%s", answer);
    line = strstr(help, "\r\n+") + 2; /* the head */
    for (line = strstr(line, "\r\n+"); line != NULL; line = strstr(line + 2, "\r\n+")) {
        if (line[3] == ' ') {
            continue; /* what it does */
        }
        cr_assert_eq(sscanf(line + 3, "%31[A-Z-]", name), 1, "%s", line);
        front_stage_start(&stage, 1);
        cr_assert_null(strstr(say(command, name), "unknown subcommand"), "%s %s", command, name);
        front_stage_fini(&stage);
    }
}

Test(resp_help, it_has_the_form_that_redis_gives_it)
{
    front_stage_start(&stage, 1);
    cr_assert_str_eq(say("ACL", "HELP"),
                     "*13\r\n+ACL <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n"
                     "+CAT [<category>]\r\n"
                     "+    The categories of commands, or the commands of one.\r\n"
                     "+GETUSER <username>\r\n+    What the user may do; null: no such user.\r\n"
                     "+LIST\r\n+    All users, a line each.\r\n"
                     "+USERS\r\n+    Their names.\r\n"
                     "+WHOAMI\r\n+    Tell which user this connection is.\r\n"
                     "+HELP\r\n+    Print this help.\r\n");
    cr_assert_str_eq(say("object", "help"),
                     "*7\r\n+OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n"
                     "+ENCODING <key>\r\n+    raw, as of any value that a module keeps.\r\n"
                     "+REFCOUNT <key>\r\n+    1.\r\n+HELP\r\n+    Print this help.\r\n");
    cr_assert_str_eq(say("CLIENT", "HELP me"),
                     "-ERR wrong number of arguments for 'client|help' command\r\n");
    front_stage_fini(&stage);
}

/* Whatever command says "Try NAME HELP" answers that, with what it has. */
Test(resp_help, whoever_names_it_has_it)
{
    size_t count;
    size_t named = 0;
    const struct command *table = command_table(&count);

    for (size_t i = 0; i < count; i++) {
        char command[MOST_NAME] = "";
        const char *tries;

        front_stage_start(&stage, 1);
        tries = strstr(say(table[i].name, "nonsense"), "Try ");
        if (tries == NULL) {
            front_stage_fini(&stage);
            continue;
        }
        cr_assert_eq(sscanf(tries, "Try %31[A-Z.] HELP.", command), 1, "%s", tries);
        cr_assert_str_eq(answer + strlen(answer) - 8, " HELP.\r\n");
        cr_assert_gt(count_lines(say(command, "HELP")), 4, "%s", answer);
        front_stage_fini(&stage);
        expect_listed_are_known(command);
        named++;
    }
    cr_assert_geq(named, 8, "ACL, CLIENT, CLUSTER, COMMAND, CONFIG, LATENCY, MEMORY, OBJECT...");
}
