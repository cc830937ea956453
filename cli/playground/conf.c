/* Ports, configuration files and the env file of a playground, and the question whether its
 * cluster answers. */
#include "cli/cmd.h"
#include "cli/keygen.h"
#include "cli/playground/private.h"
#include "client/shell_channel.h"
#include "client/shell_credential.h"
#include "map/site_key.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    CONF_BYTES = 4 * PLAYGROUND_PATH_BYTES,
    LIST_BYTES = PLAYGROUND_MAX_ROUTERS * DOCUMENT_TEXT_BYTES,
    ASK_US = 300000,
    RESP_PORT = 2, /* after the base */
    SITE_LINE_BYTES = PLAYGROUND_SITE_BYTES + 16,
    HTTP_LINE_BYTES = 64,
};

/* Where it is to listen, so far above the site's first port; no base port: the kernel chooses. */
static void plan_port(const struct playground *self, uint32_t site, uint32_t offset,
                      char endpoint[DOCUMENT_TEXT_BYTES])
{
    uint32_t base = self->options->base_port;

    if (base == 0) {
        (void)snprintf(endpoint, DOCUMENT_TEXT_BYTES, "tcp://127.0.0.1:*");
    } else {
        (void)snprintf(endpoint, DOCUMENT_TEXT_BYTES, "tcp://127.0.0.1:%u",
                       base + site * PLAYGROUND_SITE_PORTS + offset);
    }
}

static enum status plan_one(struct playground *self, enum playground_role role, uint32_t site,
                            const char *name, uint32_t port_offset)
{
    struct playground_process *process = &self->processes[self->nprocesses++];
    char folder[PLAYGROUND_SITE_BYTES + 1] = "";

    if (self->options->sites > 1) {
        (void)snprintf(folder, sizeof folder, "site-%u/", site + 1);
    }
    process->role = role;
    process->site = site;
    process->folder = &self->folder;
    process->watcher = &self->watcher;
    (void)snprintf(process->name, sizeof process->name, "%s%s", folder, name);
    plan_port(self, site, port_offset, process->endpoint);
    playground_remove(&self->folder, process->name, "pid"); /* of a playground that was killed */
    return playground_folder_make(&self->folder, process->name);
}

/* The first router has the port after the coordinator's, more of them have those below the
 * nodes': the third one is kept for RESP. */
static uint32_t router_offset(uint32_t index)
{
    return index == 0 ? 1 : index + 2;
}

/* The key of an earlier playground there is kept: with another one it would be another site. */
static enum status plan_link(struct playground *self, uint32_t at)
{
    struct playground_site *site = &self->sites[at];
    char path[PLAYGROUND_PATH_BYTES];
    enum status status;

    site->link = &self->processes[self->nprocesses];
    status = plan_one(self, PLAYGROUND_LINK, at, "link", PLAYGROUND_LINK_PORT);
    plan_port(self, at, PLAYGROUND_LINK_PORT + 1, site->link->site_endpoint);
    if (status == STATUS_OK) {
        status = playground_make_keys(&self->folder, site->name);
    }
    playground_path(&self->folder, site->name, "site.key", path);
    return status == STATUS_OK ? keygen_read_site(path, &site->key) : status;
}

static enum status plan_site(struct playground *self, uint32_t at)
{
    struct playground_site *site = &self->sites[at];
    char name[PLAYGROUND_NAME_BYTES];
    enum status status;

    if (self->options->sites > 1) {
        (void)snprintf(site->name, sizeof site->name, "site-%u", at + 1);
    }
    playground_remove(&self->folder, site->name[0] != '\0' ? site->name : NULL, "env");
    site->coordinator = &self->processes[self->nprocesses];
    site->routers = site->coordinator + 1;
    site->nodes = site->routers + self->options->routers;
    status = plan_one(self, PLAYGROUND_COORDINATOR, at, "coordinator", 0);
    for (uint32_t i = 0; status == STATUS_OK && i < self->options->routers; i++) {
        (void)snprintf(name, sizeof name, i == 0 ? "router" : "router-%u", i + 1);
        status = plan_one(self, PLAYGROUND_ROUTER, at, name, router_offset(i));
    }
    for (uint32_t i = 0; status == STATUS_OK && i < self->options->nodes; i++) {
        (void)snprintf(name, sizeof name, "node-%u", i + 1);
        status = plan_one(self, PLAYGROUND_NODE, at, name, PLAYGROUND_NODE_PORT + i);
    }
    if (status == STATUS_OK && self->options->sites > 1) {
        status = plan_link(self, at);
    } else if (status == STATUS_OK) {
        status = playground_make_keys(&self->folder, NULL);
    }
    return status;
}

enum status playground_plan(struct playground *self)
{
    enum status status = STATUS_OK;

    for (uint32_t i = 0; status == STATUS_OK && i < self->options->sites; i++) {
        status = plan_site(self, i);
    }
    return status;
}

/* Nodes take the host labels in turn. */
static uint32_t host_of(const struct playground *self, const struct playground_process *process)
{
    return (uint32_t)(process - self->sites[process->site].nodes) % self->options->hosts + 1;
}

/* Append what nodes alone have. */
static void print_node(const struct playground *self, const struct playground_process *process,
                       char *text, size_t size)
{
    int used = snprintf(text, size,
                        "coordinators = [\"%s\"];\n"
                        "memory_limit = \"%" PRIu64 "\";\n"
                        "host = \"host-%u\";\n",
                        self->sites[process->site].coordinator->endpoint,
                        self->options->memory_bytes, host_of(self, process));

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
    const struct playground_site *site = &self->sites[process->site];
    char endpoint[DOCUMENT_TEXT_BYTES];
    int used = snprintf(text, size,
                        "coordinators = [\"%s\"];\n"
                        "resp_socket = \"%s/%s/resp.sock\";\n",
                        site->coordinator->endpoint, self->folder.path, process->name);

    if (self->options->base_port != 0 && process == site->routers) {
        plan_port(self, process->site, RESP_PORT, endpoint);
        (void)snprintf(text + used, size - (size_t)used, "resp_listen = \"%s\";\n", endpoint);
    }
}

/* Append what links alone have. Each dials those of the sites before it, whose ports are known by
 * then. */
static void print_link(const struct playground *self, const struct playground_process *process,
                       char *text, size_t size)
{
    const struct playground_site *own = &self->sites[process->site];
    const char *between = "";
    int used = snprintf(text, size,
                        "coordinators = [\"%s\"];\n"
                        "site_key_file = \"%s/%s/site.key\";\n"
                        "site_listen = \"%s\";\n"
                        "site_peers = (",
                        own->coordinator->endpoint, self->folder.path, own->name,
                        process->site_endpoint);

    for (uint32_t i = 0; i < self->options->sites; i++) {
        const struct playground_site *other = &self->sites[i];
        char key[SITE_KEY_TEXT_BYTES];

        if (i != process->site) {
            used += snprintf(text + used, size - (size_t)used, "%s\n    \"%s %s %s\"", between,
                             other->name, i < process->site ? other->link->site_endpoint : "-",
                             site_key_show(other->key.public, key));
            between = ",";
        }
    }
    (void)snprintf(text + used, size - (size_t)used, ");\n");
}

/* ... and what all but those of a single cluster have. */
static const char *print_site(const struct playground_site *site, char text[SITE_LINE_BYTES])
{
    text[0] = '\0';
    if (site->name[0] != '\0') {
        (void)snprintf(text, SITE_LINE_BYTES, "site = \"%s\";\n", site->name);
    }
    return text;
}

/* Where it tells metrics and health: so far above its own port, if that is planned. */
static const char *print_http(const struct playground *self,
                              const struct playground_process *process, char text[HTTP_LINE_BYTES])
{
    const char *port = strrchr(process->endpoint, ':') + 1;

    text[0] = '\0';
    if (self->options->base_port != 0) {
        (void)snprintf(text, HTTP_LINE_BYTES, "http_listen = \"tcp://127.0.0.1:%lu\";\n",
                       strtoul(port, NULL, 10) + PLAYGROUND_HTTP_PORTS);
    }
    return text;
}

/* "node-1" of "site-2/node-1" */
static const char *short_name(const char *name)
{
    const char *slash = strchr(name, '/');

    return slash != NULL ? slash + 1 : name;
}

enum status playground_write_conf(const struct playground *self,
                                  const struct playground_process *process)
{
    const struct playground_site *site = &self->sites[process->site];
    const char *folder = self->folder.path;
    char text[CONF_BYTES];
    char line[SITE_LINE_BYTES];
    char http[HTTP_LINE_BYTES];
    int used = snprintf(text, sizeof text,
                        "# Written by orbloom playground.\n"
                        "name = \"%s\";\n"
                        "listen = \"%s\";\n"
                        "cluster_key_file = \"%s/%s%skey\";\n"
                        "log_level = \"%s\";\n"
                        "%s%s",
                        short_name(process->name), process->endpoint, folder, site->name,
                        site->name[0] != '\0' ? "/" : "", self->options->log_level,
                        process->role != PLAYGROUND_ROUTER ? print_site(site, line) : "",
                        print_http(self, process, http));
    char *rest = text + used;
    size_t room = sizeof text - (size_t)used;

    if (process->role == PLAYGROUND_COORDINATOR) {
        (void)snprintf(rest, room, "store = \"%s/%s/data/store.sqlite\";\n", folder, process->name);
    } else if (process->role == PLAYGROUND_ROUTER) {
        print_router(self, process, rest, room);
    } else if (process->role == PLAYGROUND_NODE) {
        print_node(self, process, rest, room);
    } else {
        print_link(self, process, rest, room);
    }
    return playground_write(&self->folder, process->name, "conf", text);
}

const char *playground_routers(const struct playground *self, uint32_t site, char *text,
                               size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < self->options->routers; i++) {
        int written = snprintf(text + used, size - used, "%s%s", i > 0 ? "," : "",
                               self->sites[site].routers[i].endpoint);

        used += (size_t)written < size - used ? (size_t)written : 0;
    }
    return text;
}

struct check {
    uint32_t nodes;
    uint32_t sites;
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

static void on_sites(void *context, const struct session_result *result)
{
    struct check *check = context;
    uint32_t connected = 0;

    if (result->frame == NULL || result->frame->kind != FRAME_ADMIN_REPLY) {
        return;
    }
    for (size_t i = 0; i < result->frame->body.admin_reply.sites.nsites; i++) {
        connected += result->frame->body.admin_reply.sites.sites[i].links > 0;
    }
    check->good = connected >= check->sites;
}

static bool ask(const struct channel_options *options, const struct frame *frame,
                session_done_fn done, struct check *check)
{
    struct channel *channel = NULL;
    char reason[CHANNEL_REASON_BYTES];

    check->good = false;
    if (channel_open(options, &channel, reason) == STATUS_OK) {
        channel_ask(channel, ASK_US, frame, done, check);
    }
    channel_close(&channel);
    return check->good;
}

/* A filter that nobody has. */
#define PROBE "playground-probe"

static bool routers_answer(const struct playground *self, const struct playground_site *site,
                           struct channel_options *options, struct check *check)
{
    struct frame frame = {.kind = FRAME_INFO_REQUEST};

    frame.body.info_request.filter = PROBE;
    for (uint32_t i = 0; i < self->options->routers; i++) {
        options->routers = site->routers[i].endpoint;
        if (!ask(options, &frame, on_info, check)) {
            return false;
        }
    }
    return true;
}

static bool site_answers(const struct playground *self, const struct playground_site *site)
{
    struct channel_options options = {.coordinators = site->coordinator->endpoint,
                                      .routers = site->routers[0].endpoint,
                                      .credential = CHANNEL_NO_CREDENTIAL};
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct check check = {.nodes = self->options->nodes, .sites = self->options->sites};

    frame.body.admin_request = (struct admin_request){.action = ADMIN_STATUS,
                                                      .name = PROBE}; /* All filters may be many. */
    if (!ask(&options, &frame, on_status, &check)) {
        return false;
    }
    frame.body.admin_request = (struct admin_request){
        .action = ADMIN_SITE, .name = "", .successor = "", .site = {.step = SITE_STEP_LIST}};
    if (self->options->sites > 1 && !ask(&options, &frame, on_sites, &check)) {
        return false;
    }
    return routers_answer(self, site, &options, &check);
}

bool playground_answers(const struct playground *self)
{
    for (uint32_t i = 0; i < self->options->sites; i++) {
        if (!site_answers(self, &self->sites[i])) {
            return false;
        }
    }
    return true;
}

/* The folder that the exports name is the site's. */
static enum status write_env(const struct playground *self, uint32_t site, const char *folder)
{
    const char *name = self->sites[site].name;
    char routers[LIST_BYTES];
    char text[CONF_BYTES];

    (void)snprintf(text, sizeof text,
                   "export ORBLOOM_ROUTER='%s'\n"
                   "export ORBLOOM_COORDINATOR='%s'\n"
                   "export ORBLOOM_DIR='%s%s%s'\n"
                   "unset " CREDENTIAL_VARIABLE "\n", /* Of another cluster: this one is plain. */
                   playground_routers(self, site, routers, sizeof routers),
                   self->sites[site].coordinator->endpoint, self->folder.path,
                   name[0] != '\0' ? "/" : "", name);
    return playground_write(&self->folder, folder, "env", text);
}

enum status playground_export(const struct playground *self)
{
    const struct playground_site *first = &self->sites[0];
    char routers[LIST_BYTES];
    char dir[PLAYGROUND_PATH_BYTES + PLAYGROUND_SITE_BYTES];
    enum status status = STATUS_OK;

    (void)playground_routers(self, 0, routers, sizeof routers);
    (void)snprintf(dir, sizeof dir, "%s%s%s", self->folder.path, first->name[0] != '\0' ? "/" : "",
                   first->name);
    if (setenv("ORBLOOM_ROUTER", routers, 1) != 0 ||
        setenv("ORBLOOM_COORDINATOR", first->coordinator->endpoint, 1) != 0 ||
        setenv("ORBLOOM_DIR", dir, 1) != 0 || unsetenv(CREDENTIAL_VARIABLE) != 0) {
        (void)cmd_fail(STATUS_NOMEM, "no memory for the environment");
        return STATUS_NOMEM;
    }
    for (uint32_t i = 0; i < self->options->sites && self->options->sites > 1; i++) {
        status = status == STATUS_OK ? write_env(self, i, self->sites[i].name) : status;
    }
    return status == STATUS_OK ? write_env(self, 0, NULL) : status;
}
