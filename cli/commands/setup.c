/* `orbloom setup`: the files of a first cluster, and what to do with them. Nobody is asked
 * anything, and nothing is started. */
#include "cli/cmd.h"
#include "cli/setup/plan.h"
#include "cli/setup/steps.h"
#include "cli/setup/write.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MEMORY_SHARE = 5, /* A node of three gets so much of the machine's memory: a fifth. */
    MEMORY_LEAST = 64 << 20,
    ETCD_URLS = 8,
};

struct setup_settings {
    const char *dir;
    const char *data;
    const char *machines;
    const char *etcd;
    uint64_t base_port;
};

static bool machines_valid(const char *text)
{
    struct setup_options options;

    return setup_read_machines(text, &options);
}

/* What it does not know of URLs the coordinator says. */
static bool etcd_valid(const char *text)
{
    if (strlen(text) >= SETUP_TEXT_BYTES / 8 || strpbrk(text, "\"\\ \t\n%") != NULL) {
        return false;
    }
    for (unsigned count = 0; count < ETCD_URLS; count++) {
        if (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0) {
            return false;
        }
        text += strcspn(text, ",");
        if (*text++ == '\0') {
            return true;
        }
    }
    return false;
}

static const struct option options_of_setup[] = {
    {
        .name = "dir",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct setup_settings, dir),
        .sample = "DIR",
        .range = "a folder, made if it is not there",
        .value = SETUP_HOME,
        .help = "where the files go: this machine's own, or a folder for each of the machines",
    },
    {
        .name = "machines",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct setup_settings, machines),
        .accepts = machines_valid,
        .sample = "A,B,C",
        .range = "three different names or IPv4 addresses",
        .help = "three machines, instead of this one alone: where they reach each other",
    },
    {
        .name = "etcd",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct setup_settings, etcd),
        .accepts = etcd_valid,
        .sample = "URLS",
        .range = "1 to 8 of http://HOST:PORT or https://HOST:PORT",
        .help = "etcd that is there already: a coordinator on each of the machines",
        .needs = "machines",
    },
    {
        .name = "data",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct setup_settings, data),
        .sample = "DIR",
        .range = "a folder",
        .value = SETUP_DATA,
        .help = "where daemons keep their data",
    },
    {
        .name = "base-port",
        .kind = OPTION_COUNT,
        .offset = offsetof(struct setup_settings, base_port),
        .min = 1,
        .max = UINT16_MAX - SETUP_HTTP_PORTS - 100,
        .sample = "PORT",
        .range = "1 to 63435",
        .value = "7400",
        .help = "coordinators listen there, routers on the next one, nodes from 10 above it; "
                "metrics are 2000 above each",
    },
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "setup",
    .words = "",
    .summary = "Write keys and configuration of a first cluster, and say what to do next.",
    .notes =
        "One machine: a coordinator with its store in SQLite, three nodes and a router, on\n"
        "loopback, for the units of systemd. With another --dir or --data than the default\n"
        "they are for starting by hand.\n\n"
        "--machines A,B,C: a folder below DIR for each, to be copied there as " SETUP_HOME ":\n"
        "a node, a router, and one coordinator on the first machine; with --etcd one on each.\n"
        "They speak CURVE.\n\n"
        "Draws a cluster key, and a token for those who ask for metrics. A file that is there\n"
        "is never replaced: then nothing is written.\n\n"
        "Exit: 0 written, 1 not, 2 wrong usage.\n\n"
        "  orbloom setup\n"
        "  orbloom setup --dir ~/seen --data ~/seen/data\n"
        "  orbloom setup --machines 10.0.0.1,10.0.0.2,10.0.0.3 --dir cluster",
    .options = options_of_setup,
    .count = sizeof options_of_setup / sizeof options_of_setup[0],
};

/* It stands between quotes in files of options, and as it is in commands that are pasted. */
static bool is_plain(const char *path)
{
    for (; *path != '\0'; path++) {
        unsigned char byte = (unsigned char)*path;

        if (byte <= ' ' || byte == 0x7f || strchr("\"\\'$`;&|<>()[]{}*?!", byte) != NULL) {
            return false;
        }
    }
    return true;
}

static bool make_absolute(const char *flag, const char *path, char out[SETUP_DIR_BYTES])
{
    char here[SETUP_DIR_BYTES] = "";
    size_t size;

    if (path[0] != '/' && getcwd(here, sizeof here) == NULL) {
        (void)cmd_fail(STATUS_IO, "--%s: %s; give a path from / on", flag, strerror(errno));
        return false;
    }
    size = (size_t)snprintf(out, SETUP_DIR_BYTES, "%s%s%s", here, here[0] != '\0' ? "/" : "", path);
    while (size > 1 && size < SETUP_DIR_BYTES && out[size - 1] == '/') {
        out[--size] = '\0';
    }
    if (size >= SETUP_DIR_BYTES || !is_plain(out)) {
        (void)cmd_fail(STATUS_INVALID,
                       "--%s: \"%.200s\" is too long, or has blanks, quotes or other signs in it "
                       "that a shell does not take for itself; choose another folder",
                       flag, out);
        return false;
    }
    return true;
}

static uint64_t memory_of_node(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page_bytes > 0
                         ? (uint64_t)pages * (uint64_t)page_bytes / MEMORY_SHARE
                         : 0;

    return bytes > MEMORY_LEAST ? bytes : MEMORY_LEAST;
}

static bool take(const struct setup_settings *settings, struct setup_options *options)
{
    bool read = settings->machines == NULL || setup_read_machines(settings->machines, options);

    assert(read); /* accepts() has seen it. */
    options->etcd = settings->etcd;
    options->base_port = settings->base_port;
    options->memory_bytes = memory_of_node();
    if (!make_absolute("dir", settings->dir, options->dir) ||
        !make_absolute("data", settings->data, options->data)) {
        return false;
    }
    if (options->nmachines > 0 && strcmp(options->data, SETUP_DATA) != 0) {
        (void)cmd_fail(STATUS_INVALID, "--data: units write below " SETUP_DATA
                                       " alone; mount the disk that is to have it there, on each "
                                       "of the machines");
        return false;
    }
    if (!keygen_draw(options->key) || !keygen_draw(options->token)) {
        (void)cmd_fail(STATUS_IO, "no random bytes: %s", strerror(errno));
        return false;
    }
    return true;
}

/* Root gives secrets to the group of the units, where this machine has it. */
static gid_t find_group(const struct setup_options *options)
{
    const struct group *group = NULL;

    if (options->nmachines == 0 && setup_is_for_units(options) && geteuid() == 0) {
        group = getgrnam("orbloom");
    }
    return group != NULL ? group->gr_gid : SETUP_NO_GROUP;
}

static enum status write_all(const struct setup_options *options, struct setup_plan *plan)
{
    gid_t group = find_group(options);
    enum status status;

    setup_make_plan(options, plan);
    status = setup_write(plan, setup_is_for_units(options) ? NULL : options->data, group);
    if (status == STATUS_OK) {
        setup_show_steps(options, group != SETUP_NO_GROUP);
    }
    return status;
}

static int run(int argc, char **argv)
{
    static struct setup_plan plan;
    struct setup_settings settings = {0};
    struct setup_options options = {.nmachines = 0};
    struct option_words words;
    enum status status;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    if (!take(&settings, &options)) {
        return CMD_USAGE;
    }
    status = write_all(&options, &plan);
    explicit_bzero(&plan, sizeof plan);
    explicit_bzero(&options, sizeof options);
    return status == STATUS_OK ? cmd_close_output(CMD_OK) : CMD_PARTIAL;
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_setup(void)
{
    return &command;
}
