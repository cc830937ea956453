/* cmd.h - the commands of `orbloom`: one file and one record each.
 *
 * A command reads its flags from its table, works, and returns an exit code: CMD_OK when
 * everything was answered, CMD_PARTIAL when not, CMD_USAGE when it was called wrongly.
 * Results go to stdout, summaries and errors to stderr.
 *
 * Threads: the main thread.
 */
#ifndef ORBLOOM_CLI_CMD_H
#define ORBLOOM_CLI_CMD_H

#include "cli/flags.h"

enum { CMD_OK = 0, CMD_PARTIAL = 1, CMD_USAGE = 2 };

struct command {
    const struct option_table *flags;
    int (*run)(int argc, char **argv); /* without the command's own name */
    bool hidden;                       /* not for people */
};

const struct command *cmd_add(void);
const struct command *cmd_backup(void);
const struct command *cmd_bench(void);
const struct command *cmd_check(void);
const struct command *cmd_create(void);
const struct command *cmd_dedup(void);
const struct command *cmd_doctor(void);
const struct command *cmd_drop(void);
const struct command *cmd_expand(void);
const struct command *cmd_expire(void);
const struct command *cmd_info(void);
const struct command *cmd_key(void);
const struct command *cmd_keygen(void);
const struct command *cmd_map(void);
const struct command *cmd_upgrade(void);
const struct command *cmd_node(void);
const struct command *cmd_plan(void);
const struct command *cmd_playground(void);
const struct command *cmd_playground_child(void);
const struct command *cmd_rebalance(void);
const struct command *cmd_rebuild(void);
const struct command *cmd_rename(void);
const struct command *cmd_restore(void);
const struct command *cmd_setup(void);
const struct command *cmd_shadow(void);
const struct command *cmd_shard(void);
const struct command *cmd_site(void);
const struct command *cmd_stats(void);
const struct command *cmd_status(void);
const struct command *cmd_user(void);

/* "orbloom: CODE: cause; remedy" on stderr. Returns the exit code that fits: CMD_USAGE for
 * STATUS_USAGE and STATUS_INVALID, else CMD_PARTIAL. */
int cmd_fail(enum status status, const char *format, ...) PRINTF_LIKE(2, 3);

/* The exit code of that outcome, as cmd_fail() has it; CMD_OK of STATUS_OK. */
int cmd_code(enum status status);

/* Flush stdout; `code`, or CMD_PARTIAL when what was printed did not get out. */
int cmd_close_output(int code);

/* Is `name` a filter's name? Prints why not. */
bool cmd_check_filter_name(const char *name);

#endif
