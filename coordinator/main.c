/* orbloom-coordinator: the shell around the coordinator's core, on an SQLite store. */
#include "base/log.h"
#include "coordinator/shell_options.h"
#include "coordinator/store_sqlite.h"
#include "proto/codec.h"

static struct coordinator *coordinator;
static struct store *store;

static enum status stop(void)
{
    coordinator_destroy(&coordinator);
    store_sqlite_close(&store);
    return STATUS_OK;
}

static enum status start(void *context, struct hub *hub, struct actor *actor)
{
    const struct coordinator_settings *settings = context;
    enum status status = store_sqlite_open(settings->store, &store);

    if (status != STATUS_OK) {
        return status;
    }
    status = coordinator_create(&settings->config, hub_effects(hub), store, &coordinator);
    if (status != STATUS_OK) {
        log_line(LOG_ERROR, "cannot start: %s", status_meaning(status));
        (void)stop();
        return status;
    }
    *actor = coordinator_actor(coordinator);
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    static struct coordinator_settings settings;
    const struct daemon daemon = {
        .options = coordinator_option_table(),
        .settings = &settings,
        .read_key = cluster_key_read,
        .key = &settings.config.key,
        .max_frame_bytes = CODEC_MAX_FRAME_BYTES,
        .start = start,
        .stop = stop,
    };

    return daemon_main(&daemon, argc, argv);
}
