/* Ports, configuration files and the env file of a playground, and the question whether its
 * cluster answers. */
#include "cli/cmd.h"
#include "cli/playground/private.h"
#include "client/shell_channel.h"
#include "client/shell_credential.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    CONF_BYTES = 4 * PLAYGROUND_PATH_BYTES,
    LIST_BYTES = PLAYGROUND_MAX_ROUTERS * DOCUMENT_TEXT_BYTES,
    ASK_US = 300000,
    RESP_PORT = 2, /* after the base */
};

/* Where it is to listen; port 0: the kernel chooses. */
static enum status plan_one(struct playground *self, enum playground_role role, const char *name,
                            uint32_t port_offset)
{
    struct playground_process *process = &self->processes[self->nprocesses++];
    uint32_t base = self->options->base_port;

    process->role = role;
    process->folder = &self->folder;
    process->watcher = &self->watcher;
    (void)snprintf(process->name, sizeof process->name, "%s", name);
    if (base == 0) {
        (void)snprintf(process->endpoint, sizeof process->endpoint, "tcp://127.0.0.1:*");
    } else {
        (void)snprintf(process->endpoint, sizeof process->endpoint, "tcp://127.0.0.1:%u",
                       base + port_offset);
    }
    playground_remove(&self->folder, name, "pid"); /* of a playground that was killed */
    return playground_folder_make(&self->folder, name);
}

/* The first router has the port after the coordinator's, more of them have those below the
 * nodes': the third one is kept for RESP. */
static uint32_t router_offset(uint32_t index)
{
    return index == 0 ? 1 : index + 2;
}

enum status playground_plan(struct playground *self)
{
    enum status status = plan_one(self, PLAYGROUND_COORDINATOR, "coordinator", 0);
    char name[PLAYGROUND_NAME_BYTES];

    for (uint32_t i = 0; status == STATUS_OK && i < self->options->routers; i++) {
        (void)snprintf(name, sizeof name, i == 0 ? "router" : "router-%u", i + 1);
        status = plan_one(self, PLAYGROUND_ROUTER, name, router_offset(i));
    }
    for (uint32_t i = 0; status == STATUS_OK && i < self->options->nodes; i++) {
        (void)snprintf(name, sizeof name, "node-%u", i + 1);
        status = plan_one(self, PLAYGROUND_NODE, name, PLAYGROUND_NODE_PORT + i);
    }
    return status;
}

/* Nodes take the host labels in turn. */
static uint32_t host_of(const struct playground *self, const struct playground_process *process)
{
    uint32_t index = (uint32_t)(process - self->processes) - 1 - self->options->routers;

    return index % self->options->hosts + 1;
}

/* Append what nodes alone have. */
static void print_node(const struct playground *self, const struct playground_process *process,
                       char *text, size_t size)
{
    int used = snprintf(text, size,
                        "coordinators = [\"%s\"];\n"
                        "memory_limit = \"%" PRIu64 "\";\n"
                        "host = \"host-%u\";\n",
                        self->processes[0].endpoint, self->options->memory_bytes,
                        host_of(self, process));

    if (!self->options->in_memory) {
        (void)snprintf(text + used, size - (size_t)used, "data_dir = \"%s/%s/data\";\n",
                       self->folder.path, process->name);
    }
}

/* Append what routers alone have. Redis clients find the first one behind its port, and each by a
 * socket in its folder. */
static void print_router(const struct playground *self, const struct playground_process *process,
                         char *text, size_t size)
{
    uint32_t base = self->options->base_port;
    int used = snprintf(text, size,
                        "coordinators = [\"%s\"];\n"
                        "resp_socket = \"%s/%s/resp.sock\";\n",
                        self->processes[0].endpoint, self->folder.path, process->name);

    if (base != 0 && process == &self->processes[1]) {
        (void)snprintf(text + used, size - (size_t)used, "resp_listen = \"tcp://127.0.0.1:%u\";\n",
                       base + RESP_PORT);
    }
}

enum status playground_write_conf(const struct playground *self,
                                  const struct playground_process *process)
{
    const char *folder = self->folder.path;
    char text[CONF_BYTES];
    int used = snprintf(text, sizeof text,
                        "# Written by orbloom playground.\n"
                        "name = \"%s\";\n"
                        "listen = \"%s\";\n"
                        "cluster_key_file = \"%s/key\";\n"
                        "log_level = \"%s\";\n",
                        process->name, process->endpoint, folder, self->options->log_level);
    char *rest = text + used;
    size_t room = sizeof text - (size_t)used;

    if (process->role == PLAYGROUND_COORDINATOR) {
        (void)snprintf(rest, room, "store = \"%s/%s/data/store.sqlite\";\n", folder, process->name);
    } else if (process->role == PLAYGROUND_ROUTER) {
        print_router(self, process, rest, room);
    } else {
        print_node(self, process, rest, room);
    }
    return playground_write(&self->folder, process->name, "conf", text);
}

const char *playground_routers(const struct playground *self, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < self->options->routers; i++) {
        int written = snprintf(text + used, size - used, "%s%s", i > 0 ? "," : "",
                               self->processes[1 + i].endpoint);

        used += (size_t)written < size - used ? (size_t)written : 0;
    }
    return text;
}

struct check {
    uint32_t nodes;
    bool good;
};

static void on_status(void *context, const struct session_result *result)
{
    struct check *check = context;
    uint32_t seen = 0;

    if (result->frame == NULL || result->frame->kind != FRAME_ADMIN_REPLY) {
        return;
    }
    for (size_t i = 0; i < result->frame->body.admin_reply.nnodes; i++) {
        seen += result->frame->body.admin_reply.nodes[i].alive;
    }
    check->good = seen >= check->nodes;
}

/* A router that says "no such filter" has asked the store: it is in touch. */
static void on_info(void *context, const struct session_result *result)
{
    struct check *check = context;

    check->good = result->status == STATUS_OK || result->status == STATUS_NOT_FOUND;
}

static bool ask(const struct channel_options *options, const struct frame *frame,
                session_done_fn done, struct check *check)
{
    struct channel *channel = NULL;
    char reason[CHANNEL_REASON_BYTES];

    if (channel_open(options, &channel, reason) == STATUS_OK) {
        channel_ask(channel, ASK_US, frame, done, check);
    }
    channel_close(&channel);
    return check->good;
}

/* A filter that nobody has. */
#define PROBE "playground-probe"

bool playground_answers(const struct playground *self)
{
    struct channel_options options = {.coordinators = self->processes[0].endpoint,
                                      .routers = self->processes[1].endpoint,
                                      .credential = CHANNEL_NO_CREDENTIAL};
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct check check = {.nodes = self->options->nodes};

    frame.body.admin_request = (struct admin_request){.action = ADMIN_STATUS,
                                                      .name = PROBE}; /* All filters may be many. */
    if (!ask(&options, &frame, on_status, &check)) {
        return false;
    }
    frame = (struct frame){.kind = FRAME_INFO_REQUEST};
    frame.body.info_request.filter = PROBE;
    for (uint32_t i = 0; i < self->options->routers; i++) {
        check.good = false;
        options.routers = self->processes[1 + i].endpoint;
        if (!ask(&options, &frame, on_info, &check)) {
            return false;
        }
    }
    return true;
}

enum status playground_export(const struct playground *self)
{
    char routers[LIST_BYTES];
    char text[CONF_BYTES];

    (void)playground_routers(self, routers, sizeof routers);
    (void)snprintf(text, sizeof text,
                   "export ORBLOOM_ROUTER='%s'\n"
                   "export ORBLOOM_COORDINATOR='%s'\n"
                   "export ORBLOOM_DIR='%s'\n"
                   "unset " CREDENTIAL_VARIABLE "\n", /* Of another cluster: this one is plain. */
                   routers, self->processes[0].endpoint, self->folder.path);
    if (setenv("ORBLOOM_ROUTER", routers, 1) != 0 ||
        setenv("ORBLOOM_COORDINATOR", self->processes[0].endpoint, 1) != 0 ||
        setenv("ORBLOOM_DIR", self->folder.path, 1) != 0 || unsetenv(CREDENTIAL_VARIABLE) != 0) {
        (void)cmd_fail(STATUS_NOMEM, "no memory for the environment");
        return STATUS_NOMEM;
    }
    return playground_write(&self->folder, NULL, "env", text);
}
