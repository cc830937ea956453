/* orbloom-node: the shell around the node's core. */
#include "base/log.h"
#include "node/shell_machine.h"
#include "node/shell_options.h"
#include "proto/gate.h"
#include "runtime/disk_files.h"

#include <stdio.h>

static struct disk_files *files;
static struct node *node;
static struct hub *loop;

static enum status find_boot(struct node_config *config)
{
    config->kernel_boot = machine_boot();
    if (config->kernel_boot == 0) {
        log_line(LOG_ERROR, "the kernel's boot id can't be read, which tells a power loss from a "
                            "restart; mount /proc, or run without data_dir");
        return STATUS_IO;
    }
    return STATUS_OK;
}

/* --check-config */
static enum status check_files(void *context)
{
    struct node_settings *settings = context;
    enum status status;

    if (settings->data_dir[0] == '\0') {
        return STATUS_OK;
    }
    status = find_boot(&settings->config);
    return status == STATUS_OK ? disk_files_check(settings->data_dir) : status;
}

static enum status open_disk(const struct node_settings *settings, struct node_config *config)
{
    enum status status;

    if (settings->data_dir[0] == '\0') {
        log_line(LOG_WARN, "no data_dir: all that this node holds ends with the process");
        return STATUS_OK;
    }
    status = find_boot(config);
    if (status == STATUS_OK) {
        status = disk_files_open(settings->data_dir, &files);
    }
    if (status == STATUS_OK) {
        config->disk = disk_files_disk(files);
    }
    return status;
}

static enum status start(void *context, struct hub *hub, struct actor *actor)
{
    struct node_settings *settings = context;
    struct node_config *config = &settings->config;
    enum status status = open_disk(settings, config);

    if (status != STATUS_OK) {
        return status;
    }
    if (config->endpoint[0] == '\0') { /* The port may only be known now. */
        (void)snprintf(config->endpoint, sizeof config->endpoint, "%s", hub_endpoint(hub));
    }
    status = node_create(config, hub_effects(hub), &node);
    if (status != STATUS_OK) {
        log_line(LOG_ERROR, "cannot start: %s", status_meaning(status));
        disk_files_close(&files);
        return status;
    }
    *actor = node_actor(node);
    loop = hub;
    return STATUS_OK;
}

/* A node that has failed has said so, and its log must not be written to. */
static enum status stop(void)
{
    enum status status = node_failed(node) ? STATUS_IO : node_finish(node);

    node_destroy(&node);
    disk_files_close(&files);
    return status;
}

static void rekey(void *context)
{
    const struct node_settings *settings = context;

    node_rekey(node, &settings->config.key);
}

/* daemon.judge */
static void judge(struct health *health)
{
    node_tell_health(node, health);
}

/* daemon.count */
static size_t count(struct counter_set sets[PAGES_MAX_SETS])
{
    sets[0] = (struct counter_set){"orbloom_node_", node_counters(), node_counts(node)};
    return 1;
}

/* daemon.serves: not one that coordinators refuse. */
static bool serves(void)
{
    return node_registered(node);
}

/* daemon.tell */
static void tell(struct metrics *metrics)
{
    struct histogram log_syncs;

    hub_jobs(loop, JOB_COMMIT, &log_syncs);
    node_tell_metrics(&log_syncs, metrics);
}

/* transport_who_fn */
static bool who(const uint8_t key[CURVE_KEY_BYTES], struct peer *peer)
{
    return node_identify(node, key, peer);
}

/* transport_admits_fn */
static bool admits(const struct peer *from, bool known, struct span frame, struct buffer *refusal)
{
    return gate_pass(GATE_NODE, from, known, frame, refusal);
}

int main(int argc, char **argv)
{
    static struct node_settings settings;
    const struct daemon daemon = {
        .options = node_option_table(),
        .settings = &settings,
        .settings_bytes = sizeof settings,
        .read_key = cluster_key_read,
        .key = &settings.config.key,
        .key_bytes = sizeof settings.config.key,
        .kind = CURVE_NODE,
        .pairs = cluster_key_curve_pairs,
        .coordinators = settings.config.coordinators[0],
        .coordinator_bytes = sizeof settings.config.coordinators[0],
        .ncoordinators = &settings.config.ncoordinators,
        .who = who,
        .admits = admits,
        .max_frame_bytes = CODEC_MAX_FRAME_BYTES,
        .finish = node_settings_finish,
        .check_files = check_files,
        .start = start,
        .serves = serves,
        .name = settings.config.name,
        .logs = true,
        .judge = judge,
        .count = count,
        .tell = tell,
        .rekey = rekey,
        .stop = stop,
    };

    return daemon_main(&daemon, argc, argv);
}
