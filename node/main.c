/* orbloom-node: the shell around the node's core. */
#include "base/log.h"
#include "node/shell_options.h"
#include "proto/codec.h"

#include <stdio.h>

static struct node *node;

static enum status start(void *context, struct hub *hub, struct actor *actor)
{
    struct node_settings *settings = context;
    struct node_config *config = &settings->config;

    if (config->endpoint[0] == '\0') { /* The port may only be known now. */
        (void)snprintf(config->endpoint, sizeof config->endpoint, "%s", hub_endpoint(hub));
    }
    if (node_create(config, hub_effects(hub), &node) != STATUS_OK) {
        log_line(LOG_ERROR, "out of memory");
        return STATUS_NOMEM;
    }
    *actor = node_actor(node);
    return STATUS_OK;
}

static void stop(void)
{
    node_destroy(&node);
}

int main(int argc, char **argv)
{
    static struct node_settings settings;
    const struct daemon daemon = {
        .options = node_option_table(),
        .settings = &settings,
        .read_key = cluster_key_read,
        .key = &settings.config.key,
        .max_frame_bytes = CODEC_MAX_FRAME_BYTES,
        .finish = node_settings_finish,
        .start = start,
        .stop = stop,
    };

    return daemon_main(&daemon, argc, argv);
}
