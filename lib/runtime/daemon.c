#include "runtime/daemon.h"

#include "base/log.h"
#include "runtime/process.h"

#include <assert.h>
#include <stdio.h>

static void set_up_log(const struct daemon *self)
{
    const struct daemon_settings *settings = self->settings;
    enum log_level level = LOG_INFO;

    (void)log_level_parse(settings->log_level, &level); /* One of the option's choices. */
    log_setup(self->options->program, level);
}

static int serve(const struct daemon *self, struct hub *hub)
{
    struct actor actor = {0};

    if (self->start(self->settings, hub, &actor) != STATUS_OK) {
        return PROCESS_EXIT_FAILURE;
    }
    hub_attach(hub, &actor);
    process_announce(hub_endpoint(hub));
    hub_run(hub);
    hub_stop_lanes(hub);
    if (self->stop() != STATUS_OK) {
        return PROCESS_EXIT_FAILURE;
    }
    log_line(LOG_INFO, "stopped");
    return PROCESS_EXIT_OK;
}

static int run(const struct daemon *self)
{
    const struct daemon_settings *settings = self->settings;
    const struct hub_options options = {
        .listen = settings->listen,
        .max_frame_bytes = self->max_frame_bytes,
        .stop_on_signals = true,
    };
    struct hub *hub = NULL;
    int code;

    if (file_read_secret(&file_cluster_key, settings->cluster_key_file, self->read_key,
                         self->key) != STATUS_OK ||
        hub_create(&options, &hub) != STATUS_OK) {
        return PROCESS_EXIT_FAILURE;
    }
    code = serve(self, hub);
    hub_destroy(&hub);
    return code;
}

int daemon_main(const struct daemon *self, int argc, char **argv)
{
    struct option_result result;

    process_prepare();
    if (options_load(self->options, argc, argv, self->settings, &result) != STATUS_OK) {
        return PROCESS_EXIT_USAGE;
    }
    if (result.done) {
        return PROCESS_EXIT_OK;
    }
    if (self->finish != NULL && self->finish(self->settings) != STATUS_OK) {
        return PROCESS_EXIT_USAGE;
    }
    if (result.check_config) {
        (void)printf("%s: ok\n", result.config);
        return PROCESS_EXIT_OK;
    }
    set_up_log(self);
    return run(self);
}
