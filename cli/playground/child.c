/* A hidden command between the playground and a daemon, which sees to it that the daemon dies
 * with the playground. */
#include "cli/cmd.h"
#include "cli/playground/process.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* `orbloom playground-child PARENT PROGRAM CONF`: becomes a daemon that dies with the
 * playground. uv_spawn() can't ask the kernel for that; what is asked here survives exec. */

static const struct option_table table = {
    .program = "orbloom",
    .command = "playground-child",
    .words = "PARENT PROGRAM CONF",
    .summary = "Used by playground to start a daemon.",
    .min_words = 3,
    .max_words = 3,
};

static int run(int argc, char **argv)
{
    char config[] = "--config";
    char path[PLAYGROUND_PATH_BYTES];
    struct option_words words;
    char nothing;
    size_t used;

    if (options_parse_command(&table, argc, argv, &nothing, &words) != STATUS_OK ||
        playground_bin_folder(path) != STATUS_OK) {
        return CMD_USAGE;
    }
    used = strlen(path);
    (void)snprintf(path + used, sizeof path - used, "/%s", words.items[1]);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != (pid_t)atol(words.items[0])) {
        return CMD_PARTIAL; /* The playground has gone already. */
    }
    (void)execv(path, (char *[]){path, config, words.items[2], NULL});
    return cmd_fail(STATUS_IO, "cannot start %s: %s; all programs belong into one folder", path,
                    strerror(errno));
}

static const struct command command = {.flags = &table, .run = run, .hidden = true};

const struct command *cmd_playground_child(void)
{
    return &command;
}
