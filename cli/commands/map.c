/* `orbloom map`: its flags and words; the two halves are in map_backup.c and map_restore.c. */
#include "cli/commands/map.h"

#include "cli/cmd.h"

#include <string.h>

static const struct option options[] = {
    {
        .name = "confirmed-off",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct map_settings, confirmed_off),
        .sample = "NODES",
        .range = "names, separated by commas",
        .help = "restore: vouch that these nodes never come back with their data; what only they "
                "know is lost",
    },
    {
        .name = "yes",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct map_settings, yes),
        .help = "restore: accept the losses that were named without this",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "map",
    .words = "backup|restore FILE",
    .summary = "Back up the coordinators' store, or restore a lost or older one.",
    .notes =
        "The store names filters, nodes and hash secrets. It holds no keys, but without the\n"
        "secrets the keys that nodes hold can't be asked for: losing it loses the filters.\n\n"
        "backup writes all of it into one file of mode 600 (-: standard output), in place of an\n"
        "earlier backup of the same store, and of nothing else. The secrets in it are encrypted\n"
        "with the cluster key, which is not in it: keep that too, elsewhere.\n\n"
        "restore takes a backup into an empty store, or into one that is older than what nodes\n"
        "hold, and goes past all that they hold. All nodes must answer. It may be repeated.\n\n"
        "  orbloom map backup /backup/orbloom.map\n"
        "  orbloom map restore /backup/orbloom.map --confirmed-off node-3\n\n"
        "Exit: 0 done, 1 not, 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 2,
    .max_words = 2,
};

static int run(int argc, char **argv)
{
    struct map_settings settings = {0};
    struct option_words words;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    if (strcmp(words.items[0], "backup") == 0) {
        return map_backup(&settings, words.items[1]);
    }
    if (strcmp(words.items[0], "restore") == 0) {
        return map_restore(&settings, words.items[1]);
    }
    return cmd_fail(STATUS_USAGE, "map takes backup or restore, not \"%.60s\"", words.items[0]);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_map(void)
{
    return &command;
}
