#include "base/log.h"
#include "coordinator/coordinator.h"
#include "coordinator/shell_options.h"
#include "coordinator/store_sqlite.h"
#include "proto/codec.h"
#include "runtime/file.h"
#include "runtime/hub.h"
#include "runtime/options.h"
#include "runtime/process.h"

#include <stdio.h>

static void set_up_log(const struct coordinator_settings *settings)
{
    enum log_level level = LOG_INFO;

    (void)log_level_parse(settings->log_level, &level); /* One of the option's choices. */
    log_setup(coordinator_option_table()->program, level);
}

static void serve(struct hub *hub, struct coordinator *coordinator)
{
    struct actor actor = coordinator_actor(coordinator);

    hub_attach(hub, &actor);
    process_announce(hub_endpoint(hub));
    hub_run(hub);
    log_line(LOG_INFO, "stopped");
}

static int run(struct coordinator_settings *settings)
{
    struct hub_options options = {.listen = settings->listen,
                                  .max_frame_bytes = CODEC_MAX_FRAME_BYTES,
                                  .stop_on_signals = true};
    struct hub *hub = NULL;
    struct store *store = NULL;
    struct coordinator *coordinator = NULL;
    int code = PROCESS_EXIT_FAILURE;

    if (file_read_secret(settings->cluster_key_file, cluster_key_read, &settings->config.key) !=
            STATUS_OK ||
        store_sqlite_open(settings->store, &store) != STATUS_OK ||
        hub_create(&options, &hub) != STATUS_OK) {
        goto done;
    }
    if (coordinator_create(&settings->config, hub_effects(hub), store, &coordinator) != STATUS_OK) {
        log_line(LOG_ERROR, "cannot start: out of memory, or the store could not be read");
        goto done;
    }
    serve(hub, coordinator);
    code = PROCESS_EXIT_OK;

done:
    coordinator_destroy(&coordinator);
    store_sqlite_close(&store);
    hub_destroy(&hub);
    return code;
}

int main(int argc, char **argv)
{
    static struct coordinator_settings settings;
    struct option_result result;

    process_prepare();
    if (options_load(coordinator_option_table(), argc, argv, &settings, &result) != STATUS_OK) {
        return PROCESS_EXIT_USAGE;
    }
    if (result.done) {
        return PROCESS_EXIT_OK;
    }
    if (result.check_config) {
        (void)printf("%s: ok\n", result.config);
        return PROCESS_EXIT_OK;
    }
    set_up_log(&settings);
    return run(&settings);
}
