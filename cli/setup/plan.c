/* Names, ports and paths of each process, and its file of options. */
#include "cli/setup/plan.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { ENDPOINTS_BYTES = 1024, NODE_PORT = 10 };

/* One process: on which machine, and how it is called. */
struct process {
    const char *program; /* "node" */
    char name[32];
    char file[SETUP_FILE_BYTES];
    size_t machine;
    unsigned port; /* above the base */
};

/* ---- machines ---- */

static bool is_machine(const char *text, size_t size)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";

    return size > 0 && size < SETUP_MACHINE_BYTES && strspn(text, letters) >= size &&
           text[0] != '.' && text[0] != '-';
}

/* What has the letters of an address is no name. */
static bool is_broken_address(const char *machine)
{
    struct in_addr parsed;

    return machine[strspn(machine, "0123456789.")] == '\0' &&
           inet_pton(AF_INET, machine, &parsed) != 1;
}

static bool is_known(const struct setup_options *options, const char *machine)
{
    for (size_t i = 0; i < options->nmachines; i++) {
        if (strcasecmp(options->machines[i], machine) == 0) {
            return true;
        }
    }
    return false;
}

bool setup_read_machines(const char *text, struct setup_options *options)
{
    options->nmachines = 0;
    for (;;) {
        size_t size = strcspn(text, ",");
        char *machine;

        if (options->nmachines == SETUP_MACHINES || !is_machine(text, size)) {
            return false;
        }
        machine = options->machines[options->nmachines];
        memcpy(machine, text, size);
        machine[size] = '\0';
        if (is_broken_address(machine) || is_known(options, machine)) {
            return false;
        }
        options->nmachines++;
        if (text[size] == '\0') {
            return options->nmachines == SETUP_MACHINES;
        }
        text += size + 1;
    }
}

bool setup_has_coordinator(const struct setup_options *options, size_t machine)
{
    return machine == 0 || options->etcd != NULL;
}

static const char *address_of(const struct setup_options *options, size_t machine)
{
    return options->nmachines == 0 ? "127.0.0.1" : options->machines[machine];
}

/* A name is no address to listen on: then it is all that the machine has. */
static const char *listen_of(const struct setup_options *options, size_t machine)
{
    const char *address = address_of(options, machine);
    struct in_addr parsed;

    return inet_pton(AF_INET, address, &parsed) == 1 ? address : "*";
}

static size_t count_machines(const struct setup_options *options)
{
    return options->nmachines == 0 ? 1 : options->nmachines;
}

const char *setup_folder(const struct setup_options *options, size_t machine,
                         char path[SETUP_FOLDER_BYTES])
{
    bool own = options->nmachines > 0;

    (void)snprintf(path, SETUP_FOLDER_BYTES, "%s%s%s", options->dir, own ? "/" : "",
                   own ? options->machines[machine] : "");
    return path;
}

const char *setup_endpoints(const struct setup_options *options, unsigned offset, const char *quote,
                            const char *between, char *text, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < count_machines(options); i++) {
        if (offset > 0 || setup_has_coordinator(options, i)) {
            used += (size_t)snprintf(text + used, size - used, "%s%stcp://%s:%" PRIu64 "%s",
                                     used > 0 ? between : "", quote, address_of(options, i),
                                     options->base_port + offset, quote);
        }
    }
    return text;
}

/* ---- files ---- */

static struct setup_file *add(const struct setup_options *options, struct setup_plan *plan,
                              size_t machine, const char *name)
{
    struct setup_file *file = &plan->files[plan->count++];
    char folder[SETUP_FOLDER_BYTES];

    (void)setup_folder(options, machine, folder);
    (void)snprintf(file->path, sizeof file->path, "%s/%.*s", folder, SETUP_FILE_BYTES - 1, name);
    return file;
}

static void put(struct setup_file *file, const char *format, ...) PRINTF_LIKE(2, 3);

static void put(struct setup_file *file, const char *format, ...)
{
    size_t used = strlen(file->text);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(file->text + used, sizeof file->text - used, format, args);
    va_end(args);
}

/* As the machine sees its files. */
static const char *home_of(const struct setup_options *options)
{
    return options->nmachines == 0 ? options->dir : SETUP_HOME;
}

static void put_common(const struct setup_options *options, const struct process *process,
                       struct setup_file *file)
{
    const char *host = listen_of(options, process->machine);
    uint64_t port = options->base_port + process->port;
    char text[ENDPOINTS_BYTES];

    put(file,
        "# orbloom-%s: written by orbloom setup. What is not here has its default: see\n"
        "# docs/configuration.md, or orbloom-%s --help.\n"
        "name = \"%s\";\n"
        "listen = \"tcp://%s:%" PRIu64 "\";\n"
        "cluster_key_file = \"%s/cluster.key\";\n"
        "http_listen = \"tcp://%s:%" PRIu64 "\";\n"
        "http_token_file = \"%s/http.token\";\n",
        process->program, process->program, process->name, host, port, home_of(options), host,
        port + SETUP_HTTP_PORTS, home_of(options));
    if (options->nmachines > 0) {
        put(file, "transport = \"curve\";\n");
    }
    if (process->port > 0) {
        put(file, "coordinators = [%s];\n",
            setup_endpoints(options, 0, "\"", ", ", text, sizeof text));
    }
}

static struct setup_file *begin(const struct setup_options *options, struct setup_plan *plan,
                                const struct process *process)
{
    struct setup_file *file = add(options, plan, process->machine, process->file);

    put_common(options, process, file);
    return file;
}

/* Those of three machines have names of their own, as logs and metrics meet. */
static struct process make_process(const struct setup_options *options, const char *program,
                                   size_t machine, unsigned port)
{
    struct process process = {.program = program, .machine = machine, .port = port};

    (void)snprintf(process.file, sizeof process.file, "%s.conf", program);
    if (options->nmachines == 0) {
        (void)snprintf(process.name, sizeof process.name, "%s", program);
    } else {
        (void)snprintf(process.name, sizeof process.name, "%s-%zu", program, machine + 1);
    }
    return process;
}

static void put_etcd(struct setup_file *file, const char *urls)
{
    put(file, "etcd_endpoints = (\"");
    for (; *urls != '\0'; urls++) {
        put(file, *urls == ',' ? "\", \"" : "%c", *urls);
    }
    put(file, "\");\n");
}

static void add_coordinator(const struct setup_options *options, struct setup_plan *plan,
                            size_t machine)
{
    const struct process process = make_process(options, "coordinator", machine, 0);
    struct setup_file *file = begin(options, plan, &process);

    if (options->etcd != NULL) {
        put_etcd(file, options->etcd);
    } else {
        put(file, "store = \"%s/coordinator/store.db\";\n", options->data);
    }
}

static void add_router(const struct setup_options *options, struct setup_plan *plan, size_t machine)
{
    const struct process process = make_process(options, "router", machine, 1);
    struct setup_file *file = begin(options, plan, &process);

    put(file, "kept_file = \"%s/router/kept\";\n", options->data);
}

static void add_node(const struct setup_options *options, struct setup_plan *plan, size_t machine,
                     size_t number, unsigned port)
{
    struct process process = make_process(options, "node", machine, port);
    struct setup_file *file;

    (void)snprintf(process.name, sizeof process.name, "node-%zu", number);
    (void)snprintf(process.file, sizeof process.file, "node-%zu.conf", number);
    file = begin(options, plan, &process);
    put(file, "data_dir = \"%s/node-%zu\";\n", options->data, number);
    if (options->nmachines == 0) {
        put(file, "memory_limit = \"%" PRIu64 "MiB\";\n", options->memory_bytes >> 20);
    } else {
        put(file,
            "advertise = \"tcp://%s:%" PRIu64 "\";\n"
            "host = \"%s\";\n",
            address_of(options, machine), options->base_port + port, address_of(options, machine));
    }
}

static void add_secret(const struct setup_options *options, struct setup_plan *plan, size_t machine,
                       const char *name, const char *text)
{
    struct setup_file *file = add(options, plan, machine, name);

    file->secret = true;
    put(file, "%s", text);
}

void setup_make_plan(const struct setup_options *options, struct setup_plan *plan)
{
    *plan = (struct setup_plan){.count = 0};
    for (size_t i = 0; i < count_machines(options); i++) {
        add_secret(options, plan, i, "cluster.key", options->key);
        add_secret(options, plan, i, "http.token", options->token);
        if (setup_has_coordinator(options, i)) {
            add_coordinator(options, plan, i);
        }
        add_router(options, plan, i);
        for (size_t n = 1; options->nmachines == 0 && n <= SETUP_NODES; n++) {
            add_node(options, plan, i, n, NODE_PORT + (unsigned)n);
        }
        if (options->nmachines > 0) {
            add_node(options, plan, i, i + 1, NODE_PORT);
        }
    }
}
