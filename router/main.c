/* orbloom-router: the shell around the router's core and its RESP front. */
#include "base/log.h"
#include "proto/codec.h"
#include "router/shell_options.h"
#include "router/shell_resp.h"

static struct router *router;
static struct front *front;
static struct hub_streams *streams;

static enum status make(const struct router_settings *settings, struct hub *hub,
                        struct actor *actor)
{
    const struct stream_effects effects = shell_resp_effects();
    struct actor core;

    if (front_create(&settings->resp, &settings->config, hub_effects(hub), &front) != STATUS_OK ||
        router_create(&settings->config, front_effects(front), &router) != STATUS_OK) {
        log_line(LOG_ERROR, "out of memory");
        return STATUS_NOMEM;
    }
    core = router_actor(router);
    front_attach(front, &core, &effects);
    front_attach_core(front, router);
    *actor = front_actor(front);
    return STATUS_OK;
}

static enum status stop(void)
{
    hub_streams_close(&streams);
    router_destroy(&router);
    front_destroy(&front);
    return STATUS_OK;
}

static enum status start(void *context, struct hub *hub, struct actor *actor)
{
    const struct router_settings *settings = context;
    const struct hub_streams_options options = {
        .endpoint = settings->resp_listen,
        .path = settings->resp_socket,
        .max_streams = (uint32_t)settings->resp_max_clients,
    };
    enum status status = make(settings, hub, actor);

    status = status == STATUS_OK ? shell_resp_open(hub, &options, front, &streams) : status;
    if (status != STATUS_OK) {
        (void)stop();
        return status;
    }
    hub_set_spin(hub, settings->spin_us);
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
        .finish = router_options_finish,
        .start = start,
        .stop = stop,
    };

    return daemon_main(&daemon, argc, argv);
}
