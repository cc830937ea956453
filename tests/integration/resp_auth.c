/* A router with a password for Redis clients. */
#include "tests/support/redis_shell.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIMIT_S = 120 };

static struct playground playground;
static struct command command;
static char path[REDIS_SOCKET_BYTES];
static char file[] = "/tmp/orbloom-password-XXXXXX";

static void write_password(const char *text)
{
    int fd = mkstemp(file); /* mode 600 */

    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

Test(resp_auth, redis_cli_with_and_without_it, .timeout = LIMIT_S)
{
    char text[256];

    write_password("open sesame\n");
    playground_start(&playground, &(struct playground_plan){.in_memory = true});
    redis_socket(&playground, path);
    (void)snprintf(text, sizeof text, "resp_password_file = \"%s\";\nresp_auth_timeout = \"1s\";\n",
                   file);
    redis_restart_router(&playground, text);
    redis_shell(path,
                "A='--no-auth-warning --pass'; redis-cli $S PING; redis-cli $S BF.ADD k a;"
                "redis-cli $S $A 'open sesame' BF.ADD k a;"
                "redis-cli $S -3 $A 'open sesame' --user default BF.EXISTS k a;"
                "redis-cli $S $A wrong BF.EXISTS k a",
                "NOAUTH Authentication required.\n\nNOAUTH Authentication required.\n\n1\n(true)\n"
                "AUTH failed: WRONGPASS invalid username-password pair or user is disabled.\n"
                "NOAUTH Authentication required.\n\n");
    redis_shell(path, "{ echo PING; sleep 5; echo PING; } | redis-cli $S 2>&1 | head -1",
                "NOAUTH Authentication required.\n");
    redis_shell(path,
                "redis-cli $S --no-auth-warning -a 'open sesame' INFO | grep -c "
                "'resp_strangers_total:[1-9]'",
                "1\n");
    playground_stop(&playground);
    (void)unlink(file);
}

static void expect_refused(const char *text)
{
    char option[64];

    (void)snprintf(option, sizeof option, "--resp_password_file=%s", file);
    command_run(&command, span_text(""), "orbloom-router", "--listen=tcp://127.0.0.1:*",
                "--resp_socket=/tmp/never", option, "--cluster_key_file", file, NULL);
    cr_assert_neq(command.exit_status, 0);
    cr_assert_not_null(strstr(command.errors, text), "%s", command.errors);
    command_forget(&command);
}

#define KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

Test(resp_auth, a_file_that_is_none_is_refused, .timeout = LIMIT_S)
{
    write_password(KEY "\n\n"); /* blanks are allowed around a cluster key */
    expect_refused("cannot use the resp_password_file /tmp/orbloom-password-");
    cr_assert_eq(chmod(file, 0604), 0);
    expect_refused("others than its owner may use it; chmod 600 it");
    (void)unlink(file);
}
