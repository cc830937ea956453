/* The table of options, and what they may be. */
#include "tests/torture_sites/options.h"

#include "base/number.h"
#include "bench/wan/line.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "torture-sites: kill and stop the processes of several linked sites, and so cut these off "
    "from\n"
    "each other; no key that a site has acknowledged may be lost, and at the end all sites must\n"
    "have all keys. Exit 0: so it is, 1: it is not, or something did not recover, 2: wrong "
    "usage.\n\n"
    "  --seconds N        of faults (default 600); reading everything back comes on top\n"
    "  --seed N           of the choice of faults (default: the time)\n"
    "  --sites N          2 to 4 (default 2)      --nodes N   of each, 1 to 7 (default 3)\n"
    "  --keys-max N       different keys added at each site (default 4M)\n"
    "  --pace N           adds a second at each site (default 20k)\n"
    "  --gap N            milliseconds between two faults, at most (default 1500)\n"
    "  --losses N         times that a whole site is put back to an older copy, and the next time\n"
    "                     loses all that it has (default 2)\n"
    "  --patience N       seconds until all sites must be equal, and the like (default 300)\n"
    "  --wan TIME,LOSS    links speak by lines of such a round trip that lose so many packets "
    "each\n"
    "                     way, and are cut: 80ms,1%. In network namespaces of its own, with TUN\n"
    "                     devices; where these can't be made by loopback, which is said\n"
    "  --cut N            seconds that a line is cut for, 1 to N (default 20)\n"
    "  --dir DIR          data, logs and the journal; empty (default: a temporary folder)\n"
    "  --keep             the folder, also when all went well\n"
    "  --break HOW        a defect on purpose, which must be found: false-claim, rewind-site\n\n"
    "  --upgrade DIR      no faults: begin with the programs in DIR, of an older release, and "
    "take\n"
    "                     all processes to this one and back, in all orders of the kinds; no "
    "client\n"
    "                     may see an error\n"
    "  --rounds N         times there and back; 12 are all orders, both ways (default 12)\n";

struct number_option {
    const char *name;
    size_t offset;
    uint64_t least;
    uint64_t most;
};

enum { MOST_ROUND_TRIP_US = 2000000 };

#define MOST_LOSS 0.5

#define FIELD(name) offsetof(struct options, name)

static const struct number_option numbers[] = {
    {"--seconds", FIELD(seconds), 1, 1000000},
    {"--seed", FIELD(seed), 0, UINT64_MAX},
    {"--sites", FIELD(sites), 2, OPTIONS_MAX_SITES},
    {"--nodes", FIELD(nodes), 1, OPTIONS_MAX_NODES},
    {"--keys-max", FIELD(keys_max), 100000, 1000000000},
    {"--pace", FIELD(pace), 1000, 10000000},
    {"--gap", FIELD(gap_ms), 1, 1000000},
    {"--losses", FIELD(losses), 0, 100},
    {"--patience", FIELD(patience), 10, 1000000},
    {"--cut", FIELD(cut), 1, 3600},
    {"--rounds", FIELD(rounds), 1, 1000},
};

static int refuse(const char *word, const char *why)
{
    (void)fprintf(stderr, "torture-sites: %s: %s; see --help\n", word, why);
    return -1;
}

static int set_sabotage(struct options *self, const char *text)
{
    if (strcmp(text, "false-claim") == 0) {
        self->sabotage = SABOTAGE_FALSE_CLAIM;
    } else if (strcmp(text, "rewind-site") == 0) {
        self->sabotage = SABOTAGE_REWIND_SITE;
    } else {
        return refuse("--break", "false-claim or rewind-site");
    }
    return 2;
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

/* "80ms,1%" */
static int set_wan(struct options *self, const char *text)
{
    const char *comma = strchr(text, ',');
    char time[16];
    double loss = 0;

    if (comma == NULL || (size_t)(comma - text) >= sizeof time) {
        return refuse("--wan", "not a time and a loss, as 80ms,1%");
    }
    (void)snprintf(time, sizeof time, "%.*s", (int)(comma - text), text);
    if (number_parse_duration(time, &self->wan.round_trip_us) != STATUS_OK ||
        self->wan.round_trip_us > MOST_ROUND_TRIP_US ||
        number_parse_rate(comma + 1, &loss) != STATUS_OK || loss > MOST_LOSS) {
        return refuse("--wan", "up to 2s,50%");
    }
    self->wan.loss = (uint64_t)(loss * LINE_ALL);
    self->wan.wanted = true;
    return 2;
}

/* How many words were used; -1: refused. */
static int parse_one(struct options *self, const char *word, const char *value)
{
    if (strcmp(word, "--keep") == 0) {
        self->keep = true;
        return 1;
    }
    if (value == NULL) {
        return refuse(word, "unknown, or its value is missing");
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(word, numbers[i].name) == 0) {
            return set_number(self, &numbers[i], value);
        }
    }
    if (strcmp(word, "--dir") == 0) {
        self->dir = value;
        return 2;
    }
    if (strcmp(word, "--upgrade") == 0) {
        self->upgrade = value;
        return 2;
    }
    if (strcmp(word, "--wan") == 0) {
        return set_wan(self, value);
    }
    return strcmp(word, "--break") == 0 ? set_sabotage(self, value) : refuse(word, "unknown");
}

int options_parse(struct options *self, int argc, char **argv, int *code)
{
    *self = (struct options){.seconds = 600,
                             .seed = (uint64_t)time(NULL),
                             .sites = 2,
                             .nodes = 3,
                             .keys_max = 4000000,
                             .pace = 20000,
                             .gap_ms = 1500,
                             .losses = 2,
                             .cut = 20,
                             .patience = 300,
                             .rounds = 12};
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
    return 0;
}
