/* orbloom-router: the shell around the router's core. */
#include "base/log.h"
#include "proto/codec.h"
#include "router/shell_options.h"

static struct router *router;

static enum status start(void *context, struct hub *hub, struct actor *actor)
{
    const struct router_settings *settings = context;

    if (router_create(&settings->config, hub_effects(hub), &router) != STATUS_OK) {
        log_line(LOG_ERROR, "out of memory");
        return STATUS_NOMEM;
    }
    *actor = router_actor(router);
    hub_set_spin(hub, settings->spin_us);
    return STATUS_OK;
}

static enum status stop(void)
{
    router_destroy(&router);
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    static struct router_settings settings;
    const struct daemon daemon = {
        .options = router_option_table(),
        .settings = &settings,
        .read_key = cluster_key_read,
        .key = &settings.config.key,
        .max_frame_bytes = CODEC_MAX_FRAME_BYTES,
        .start = start,
        .stop = stop,
    };

    return daemon_main(&daemon, argc, argv);
}
