/* The table of options, and what they may be. */
#include "tests/torture/options.h"

#include "base/number.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "torture: kill, stop, cut off and wipe the processes of a real cluster; no acknowledged key\n"
    "may be lost. Exit 0: none was, 1: one was, or the cluster did not recover, 2: wrong usage.\n\n"
    "  --seconds N        of faults (default 600); reading everything back comes on top\n"
    "  --faults N         stop after so many\n"
    "  --seed N           of the choice of faults (default: the time)\n"
    "  --keys-max N       acknowledged keys held at a time (default 20M)\n"
    "  --pace N           adds a second (default 300k)\n"
    "  --verify-keys N    newest keys, and random ones, read back after faults (default 1M)\n"
    "  --nodes N          (default 4)      --routers N   (default 2)\n"
    "  --gap N            milliseconds between two faults, at most (default 700)\n"
    "  --patience N       seconds that the cluster may leave a question open, or a change\n"
    "                     unfinished (default 120, with --change 240)\n"
    "  --dir DIR          data, logs and the journal (default: a temporary folder)\n"
    "  --keep             the folder, also when all went well\n"
    "  --only LIST        faults, such as kill-node,stop\n"
    "  --without LIST     faults to leave out; and grow (expansions), grow-asked (but those that\n"
    "                     filters begin by themselves), move (drains, which take a fourth node),\n"
    "                     rotate (other cluster keys, with --curve)\n"
    "  --in-memory        nodes without a disk: leave out kill-node, kill-all and destructions\n"
    "  --loopback         no network namespaces, and so no partitions\n"
    "  --curve            processes and clients speak CURVE, and the cluster key is replaced\n"
    "                     (default: plain ZMTP)\n"
    "  --change WHAT      instead of all that: expand, drain or replace, again and again, and kill "
    "-9\n"
    "                     of each kind of process in each phase of it, with these:\n"
    "    --keys N         that the filter has before the first one (default 10M)\n"
    "    --to N           that it has at the end (default: expand 4, else 2 times as many)\n"
    "    --hits N         kills wanted in each cell of the table (default 2)\n"
    "    --rounds N       changes, at most (default 40); none begins after --seconds (default "
    "240)\n"
    "  --upgrade DIR      instead of all that: begin with the programs of an older release in "
    "DIR,\n"
    "                     and take one process after the other to this one and back\n"
    "    --rounds N       there and back (default 6: every order of the kinds of process)\n"
    "  --break HOW        a defect on purpose, which must be found: wipe-majority, false-claim,\n"
    "                     old-credential\n";

struct number_option {
    const char *name;
    size_t offset;
    uint64_t least;
    uint64_t most;
};

#define FIELD(name) offsetof(struct options, name)

static const struct number_option numbers[] = {
    {"--seconds", FIELD(seconds), 1, 1000000},
    {"--faults", FIELD(faults), 1, 1000000},
    {"--seed", FIELD(seed), 0, UINT64_MAX},
    {"--keys-max", FIELD(keys_max), 100000, 2000000000},
    {"--pace", FIELD(pace), 1000, 100000000},
    {"--verify-keys", FIELD(verify_keys), 1000, 1000000000},
    {"--nodes", FIELD(nodes), 3, 12},
    {"--routers", FIELD(routers), 1, 6},
    {"--gap", FIELD(gap_ms), 1, 1000000},
    {"--patience", FIELD(patience), 10, 1000000},
    {"--keys", FIELD(keys), 10000, 1000000000},
    {"--to", FIELD(to), 10000, 1000000000},
    {"--hits", FIELD(hits), 1, 1000},
    {"--rounds", FIELD(rounds), 1, 10000},
};

static const struct {
    const char *name;
    size_t offset;
} switches[] = {
    {"--keep", FIELD(keep)},
    {"--in-memory", FIELD(in_memory)},
    {"--loopback", FIELD(loopback)},
    {"--curve", FIELD(curve)},
};

static const struct {
    const char *name;
    size_t offset;
} texts[] = {{"--dir", FIELD(dir)},
             {"--only", FIELD(only)},
             {"--without", FIELD(without)},
             {"--upgrade", FIELD(upgrade)}};

static int refuse(const char *word, const char *why)
{
    (void)fprintf(stderr, "torture: %s: %s; see --help\n", word, why);
    return -1;
}

static int set_number(struct options *self, const struct number_option *option, const char *text)
{
    uint64_t value;

    if (number_parse_count(text, &value) != STATUS_OK || value < option->least ||
        value > option->most) {
        return refuse(option->name, "not a number in its range");
    }
    memcpy((char *)self + option->offset, &value, sizeof value);
    return 2;
}

static int set_sabotage(struct options *self, const char *text)
{
    if (strcmp(text, "wipe-majority") == 0) {
        self->sabotage = SABOTAGE_WIPE_MAJORITY;
    } else if (strcmp(text, "false-claim") == 0) {
        self->sabotage = SABOTAGE_FALSE_CLAIM;
    } else if (strcmp(text, "old-credential") == 0) {
        self->sabotage = SABOTAGE_OLD_CREDENTIAL;
    } else {
        return refuse("--break", "wipe-majority, false-claim or old-credential");
    }
    return 2;
}

static const char *const change_names[] = {[CHANGE_NONE] = "",
                                           [CHANGE_EXPAND] = "expand",
                                           [CHANGE_DRAIN] = "drain",
                                           [CHANGE_REPLACE] = "replace"};

const char *options_change_name(enum change change)
{
    return change_names[change];
}

static int set_change(struct options *self, const char *text)
{
    for (enum change change = CHANGE_EXPAND; change <= CHANGE_REPLACE; change++) {
        if (strcmp(text, change_names[change]) == 0) {
            self->change = change;
            return 2;
        }
    }
    return refuse("--change", "expand, drain or replace");
}

/* How many words were used; -1: refused. */
static int parse_one(struct options *self, const char *word, const char *value)
{
    static const bool yes = true;

    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        if (strcmp(word, switches[i].name) == 0) {
            memcpy((char *)self + switches[i].offset, &yes, sizeof yes);
            return 1;
        }
    }
    if (value == NULL) {
        return refuse(word, "unknown, or its value is missing");
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(word, numbers[i].name) == 0) {
            return set_number(self, &numbers[i], value);
        }
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(word, texts[i].name) == 0) {
            memcpy((char *)self + texts[i].offset, &value, sizeof value);
            return 2;
        }
    }
    if (strcmp(word, "--change") == 0) {
        return set_change(self, value);
    }
    return strcmp(word, "--break") == 0 ? set_sabotage(self, value) : refuse(word, "unknown");
}

static bool holds_programs(const char *folder)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s/orbloom-node", folder);
    return access(path, X_OK) == 0;
}

/* What was left out, and what does not go together. */
static int complete(struct options *self)
{
    bool changes = self->change != CHANGE_NONE;
    bool upgrades = self->upgrade != NULL;
    uint64_t times = self->change == CHANGE_EXPAND ? 4 : 2;

    if (!changes && (self->keys | self->to | self->hits) != 0) {
        return refuse("--keys, --to, --hits", "only with --change");
    }
    if (!changes && !upgrades && self->rounds != 0) {
        return refuse("--rounds", "only with --change or --upgrade");
    }
    if (upgrades && (changes || self->in_memory || self->sabotage != SABOTAGE_NONE)) {
        return refuse("--upgrade", "not with --change, --in-memory or --break");
    }
    if (upgrades && !holds_programs(self->upgrade)) {
        return refuse("--upgrade", "there is no program orbloom-node in that folder");
    }
    self->patience = self->patience != 0 ? self->patience : changes ? 240 : 120;
    self->seconds = self->seconds != 0 ? self->seconds : changes ? 240 : 600;
    self->keys = self->keys != 0 ? self->keys : 10000000;
    self->to = self->to != 0 ? self->to : self->keys * times;
    self->hits = self->hits != 0 ? self->hits : 2;
    self->rounds = self->rounds != 0 ? self->rounds : upgrades ? 6 : 40;
    if (changes && self->in_memory) {
        return refuse("--in-memory", "there is no log to build or copy from: not with --change");
    }
    if (changes && self->sabotage != SABOTAGE_NONE && self->sabotage != SABOTAGE_FALSE_CLAIM) {
        return refuse("--break", "with --change: false-claim only");
    }
    if (!self->curve && self->sabotage == SABOTAGE_OLD_CREDENTIAL) {
        return refuse("--break", "old-credential: only with --curve");
    }
    if (changes && self->to < self->keys) {
        return refuse("--to", "less than --keys");
    }
    if (changes && self->change != CHANGE_EXPAND && self->nodes <= 3) {
        return refuse("--nodes", "a drain and a replacement take a fourth one");
    }
    return 0;
}

int options_parse(struct options *self, int argc, char **argv, int *code)
{
    *self = (struct options){.seed = (uint64_t)time(NULL),
                             .keys_max = 20000000,
                             .pace = 300000,
                             .verify_keys = 1000000,
                             .nodes = 4,
                             .routers = 2,
                             .gap_ms = 700};
    for (int i = 1; i < argc;) {
        int used;

        if (strcmp(argv[i], "--help") == 0) {
            (void)fputs(usage, stdout);
            *code = 0;
            return 1;
        }
        used = parse_one(self, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
        if (used < 0) {
            *code = 2;
            return 1;
        }
        i += used;
    }
    if (complete(self) != 0) {
        *code = 2;
        return 1;
    }
    return 0;
}

bool options_list_has(const char *list, const char *word)
{
    while (list != NULL && *list != '\0') {
        size_t size = strcspn(list, ",");

        if (size > 0 && strncmp(list, word, size) == 0 &&
            (word[size] == '\0' || word[size] == '-')) {
            return true;
        }
        list += size + (list[size] == ',');
    }
    return false;
}
