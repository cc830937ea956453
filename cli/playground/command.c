/* `orbloom playground`: its flags, and the command behind --run or "--". */
#include "cli/cmd.h"
#include "cli/playground/playground.h"

#include <string.h>

struct playground_settings {
    const char *dir;
    uint64_t nodes;
    uint64_t routers;
    uint64_t sites;
    uint64_t hosts;
    uint64_t base_port;
    uint64_t memory_bytes;
    bool in_memory;
    const char *log_level;
};

#define FIELD(name) offsetof(struct playground_settings, name)

static const struct option options[] = {
    {
        .name = "dir",
        .kind = OPTION_TEXT,
        .offset = FIELD(dir),
        .sample = "DIR",
        .help = "keep all there: started on it again the cluster goes on; else a temporary folder, "
                "removed at the end",
    },
    {
        .name = "nodes",
        .kind = OPTION_COUNT,
        .offset = FIELD(nodes),
        .min = 1,
        .max = PLAYGROUND_MAX_NODES,
        .sample = "N",
        .range = "1 to 64",
        .value = "3",
        .help = "how many nodes",
    },
    {
        .name = "routers",
        .kind = OPTION_COUNT,
        .offset = FIELD(routers),
        .min = 1,
        .max = PLAYGROUND_MAX_ROUTERS,
        .sample = "N",
        .range = "1 to 8",
        .value = "1",
        .help = "how many routers",
    },
    {
        .name = "sites",
        .kind = OPTION_COUNT,
        .offset = FIELD(sites),
        .min = 1,
        .max = PLAYGROUND_MAX_SITES,
        .sample = "N",
        .range = "1 to 4",
        .value = "1",
        .help = "how many clusters, each of so many nodes and routers, linked with each other",
    },
    {
        .name = "hosts",
        .kind = OPTION_COUNT,
        .offset = FIELD(hosts),
        .min = 1,
        .max = PLAYGROUND_MAX_NODES,
        .sample = "N",
        .range = "1 to 64",
        .help = "host labels that the nodes take in turn; else one each",
    },
    {
        .name = "base-port",
        .kind = OPTION_COUNT,
        .offset = FIELD(base_port),
        .max = 65535 - PLAYGROUND_HTTP_PORTS - PLAYGROUND_NODE_PORT - PLAYGROUND_MAX_NODES,
        .sample = "PORT",
        .range = "0 to 64461",
        .value = "7400",
        .help = "coordinator PORT, router PORT+1, nodes PORT+10..., a further site PORT+100..., "
                "metrics of each 1000 higher; 0: free ports, and no metrics",
    },
    {
        .name = "memory",
        .kind = OPTION_BYTES,
        .offset = FIELD(memory_bytes),
        .min = UINT64_C(1) << 20,
        .max = UINT64_C(1) << 44,
        .sample = "BYTES",
        .range = "1MiB to 16TiB",
        .value = "1GiB",
        .help = "memory for filters, each node",
    },
    {
        .name = "in-memory",
        .kind = OPTION_SWITCH,
        .offset = FIELD(in_memory),
        .help = "nodes write nothing to disk; what they hold ends with them",
    },
    {
        .name = "log-level",
        .kind = OPTION_CHOICE,
        .offset = FIELD(log_level),
        .sample = "LEVEL",
        .range = "error | warn | info | debug",
        .value = "info",
        .help = "of the daemons",
    },
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "playground",
    .words = "[--run COMMAND...]",
    .summary = "Start a whole cluster on this machine and run it until Ctrl-C.",
    .notes =
        "1 coordinator, nodes and routers, each its own process, in\n"
        "DIR/{coordinator,router,node-I}/{conf,log,pid,data}. When all answers, DIR/env has the\n"
        "shell exports of ORBLOOM_ROUTER, ORBLOOM_COORDINATOR and ORBLOOM_DIR, and unsets\n"
        "ORBLOOM_CREDENTIAL, as the cluster is a plain one. A daemon that dies is named with the\n"
        "end of its log, and the others go on.\n\n"
        "--sites N: whole clusters site-1 to site-N, each with a coordinator, its nodes and\n"
        "routers, and a link to all others, in DIR/site-I/...; each has an env of its own there,\n"
        "and DIR/env is that of site-1. `orbloom site` shows how they are connected.\n\n"
        "--run COMMAND... must be the last flag: runs the command with these variables set,\n"
        "then stops all.\n\n"
        "Examples:\n"
        "  orbloom playground\n"
        "  orbloom playground --dir ~/orbloom --base-port 0 --nodes 5\n"
        "  orbloom playground --sites 2 --nodes 1 --run orbloom site\n"
        "  orbloom playground --base-port 0 --run sh -c 'orbloom status'\n\n"
        "Exit: 0 stopped as asked (with --run: the command's exit status), 1 it did not start,\n"
        "2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
};

/* Cut the command off: behind --run, or --, or both. Returns how many words are left. */
static int split_command(int argc, char **argv, char ***command)
{
    for (int i = 0; i < argc; i++) {
        bool runs = strcmp(argv[i], "--run") == 0;

        if (runs || strcmp(argv[i], "--") == 0) {
            int first = runs && i + 1 < argc && strcmp(argv[i + 1], "--") == 0 ? i + 2 : i + 1;

            *command = &argv[first]; /* argv ends with NULL. */
            return i;
        }
    }
    return argc;
}

/* What the option's own bound does not see: links, and further sites. */
static bool has_ports(const struct playground_settings *settings)
{
    uint64_t last = settings->base_port + (settings->sites - 1) * PLAYGROUND_SITE_PORTS +
                    PLAYGROUND_LINK_PORT + PLAYGROUND_HTTP_PORTS;

    return settings->sites == 1 || last <= 65535;
}

static int run(int argc, char **argv)
{
    struct playground_settings settings = {0};
    char **command = NULL;
    struct option_words words;
    int count = split_command(argc, argv, &command);

    if (options_parse_command(&table, count, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    if (command != NULL && command[0] == NULL) {
        return cmd_fail(STATUS_USAGE, "--run needs a command; give --run COMMAND...");
    }
    if (!has_ports(&settings)) {
        return cmd_fail(STATUS_INVALID,
                        "--base-port: there are no ports for %d sites above %d; give a lower one",
                        (int)settings.sites, (int)settings.base_port);
    }
    return playground_run(&(struct playground_options){
        .dir = settings.dir,
        .nodes = (uint32_t)settings.nodes,
        .routers = (uint32_t)settings.routers,
        .sites = (uint32_t)settings.sites,
        .hosts = (uint32_t)(settings.hosts > 0 ? settings.hosts : settings.nodes),
        .base_port = (uint32_t)settings.base_port,
        .memory_bytes = settings.memory_bytes,
        .in_memory = settings.in_memory,
        .log_level = settings.log_level,
        .command = command,
    });
}

static const struct command command_record = {.flags = &table, .run = run};

const struct command *cmd_playground(void)
{
    return &command_record;
}
