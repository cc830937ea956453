/* orbloom: finds the command, and answers help and version for all of them. */
#include "cli/cmd.h"
#include "client/orbloom.h"
#include "proto/codec.h"
#include "runtime/process.h"

#include <string.h>

typedef const struct command *(*command_fn)(void);

static const command_fn commands[] = {
    cmd_playground, cmd_setup,  cmd_create,    cmd_add,     cmd_check,  cmd_dedup,
    cmd_info,       cmd_status, cmd_expand,    cmd_rebuild, cmd_rename, cmd_expire,
    cmd_drop,       cmd_node,   cmd_rebalance, cmd_shard,   cmd_plan,   cmd_bench,
    cmd_stats,      cmd_doctor, cmd_keygen,    cmd_map,     cmd_key,    cmd_upgrade,
    cmd_user,       cmd_site,   cmd_backup,    cmd_restore, cmd_shadow, cmd_playground_child,
};

enum { NCOMMANDS = sizeof commands / sizeof commands[0] };

static const struct {
    const char *name;
    const char *words;
    const char *summary;
} built_in[] = {
    {"help", "[[--print] COMMAND] | --names", "List commands, or describe one, also to programs."},
    {"version", "", "Show the version."},
};

enum { NBUILT_IN = sizeof built_in / sizeof built_in[0] };

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < NCOMMANDS; i++) {
        const struct command *command = commands[i]();

        if (strcmp(command->flags->command, name) == 0) {
            return command;
        }
    }
    return NULL;
}

static int refuse_unknown(const char *name)
{
    size_t limit = options_typing_limit(name);
    const char *nearest = NULL;

    for (size_t i = 0; i < NCOMMANDS; i++) {
        if (!commands[i]()->hidden) {
            nearest = options_nearest(name, limit, nearest, commands[i]()->flags->command);
        }
    }
    for (size_t i = 0; i < NBUILT_IN; i++) {
        nearest = options_nearest(name, limit, nearest, built_in[i].name);
    }
    if (nearest != NULL) {
        return cmd_fail(STATUS_USAGE, "unknown command \"%.60s\"; did you mean \"%s\"?", name,
                        nearest);
    }
    return cmd_fail(STATUS_USAGE, "unknown command \"%.60s\"; \"orbloom help\" lists all", name);
}

static void print_overview(FILE *out)
{
    (void)fprintf(out, "orbloom COMMAND [WORDS] [FLAGS]: a cluster that knows which keys it has "
                       "seen\n\n");
    for (size_t i = 0; i < NCOMMANDS; i++) {
        const struct command *command = commands[i]();

        if (!command->hidden) {
            (void)fprintf(out, "  %-12s %s\n", command->flags->command, command->flags->summary);
        }
    }
    for (size_t i = 0; i < NBUILT_IN; i++) {
        (void)fprintf(out, "  %-12s %s\n", built_in[i].name, built_in[i].summary);
    }
    (void)fprintf(out, "\n\"orbloom help COMMAND\" shows flags, exit codes and examples.\n");
}

static void print_names(void)
{
    for (size_t i = 0; i < NCOMMANDS; i++) {
        if (!commands[i]()->hidden) {
            (void)puts(commands[i]()->flags->command);
        }
    }
    for (size_t i = 0; i < NBUILT_IN; i++) {
        (void)puts(built_in[i].name);
    }
}

static int run_version(void)
{
    (void)printf("orbloom %s (protocol %d)\n", ORBLOOM_VERSION, CODEC_VERSION);
    return cmd_close_output(CMD_OK);
}

typedef void (*show_fn)(const struct option_table *table, FILE *out);

/* What `help` says of a command, or `help --print` to programs. */
static int describe(const char *name, show_fn show)
{
    const struct command *command = find(name);
    struct option_table table = {.program = "orbloom"};

    for (size_t i = 0; i < NBUILT_IN; i++) {
        if (strcmp(name, built_in[i].name) == 0) {
            table.command = built_in[i].name;
            table.words = built_in[i].words;
            table.summary = built_in[i].summary;
        }
    }
    if (command == NULL && table.command == NULL) {
        return refuse_unknown(name);
    }
    show(command != NULL ? command->flags : &table, stdout);
    return cmd_close_output(CMD_OK);
}

static int run_help(int argc, char **argv)
{
    bool print = argc > 0 && strcmp(argv[0], "--print") == 0;

    if (argc == 0) {
        print_overview(stdout);
        return cmd_close_output(CMD_OK);
    }
    if (argc != (print ? 2 : 1)) {
        return cmd_fail(STATUS_USAGE,
                        "one command at a time; usage: orbloom help [[--print] COMMAND]");
    }
    if (strcmp(argv[0], "--names") == 0) {
        print_names();
        return cmd_close_output(CMD_OK);
    }
    return describe(argv[print ? 1 : 0], print ? options_print_command : options_help_command);
}

/* "orbloom add --help" before any other flag is looked at; not behind "--". */
static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    const struct command *command;

    process_prepare();
    if (argc < 2) {
        print_overview(stderr);
        return CMD_USAGE;
    }
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "-h") == 0) {
        return run_help(argc - 2, argv + 2);
    }
    if (strcmp(argv[1], "version") == 0 || strcmp(argv[1], "--version") == 0) {
        return run_version();
    }
    command = find(argv[1]);
    if (command == NULL) {
        return refuse_unknown(argv[1]);
    }
    if (!command->hidden && asks_for_help(argc - 2, argv + 2)) {
        options_help_command(command->flags, stdout);
        return cmd_close_output(CMD_OK);
    }
    return command->run(argc - 2, argv + 2);
}
