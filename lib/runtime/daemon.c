/* The order of a daemon's life; what is special to a daemon comes as a table of functions. */
#include "runtime/daemon.h"

#include "base/log.h"
#include "runtime/daemon_signals.h"
#include "runtime/process.h"

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
    if (self->interrupt != NULL) {
        self->interrupt();
    }
    hub_stop_lanes(hub);
    if (self->stop() != STATUS_OK) {
        return PROCESS_EXIT_FAILURE;
    }
    log_line(LOG_INFO, "stopped");
    return PROCESS_EXIT_OK;
}

static int run(const struct daemon *self, struct daemon_signals *signals)
{
    const struct daemon_settings *settings = self->settings;
    const struct hub_options options = {
        .listen = settings->listen,
        .max_frame_bytes = self->max_frame_bytes,
        .on_signal = daemon_on_signal,
        .signal_context = signals,
    };
    int code;

    if (file_read_secret(&file_cluster_key, settings->cluster_key_file, self->read_key,
                         self->key) != STATUS_OK ||
        (self->read_files != NULL && self->read_files(self->settings) != STATUS_OK) ||
        hub_create(&options, &signals->hub) != STATUS_OK) {
        return PROCESS_EXIT_FAILURE;
    }
    code = serve(self, signals->hub);
    hub_destroy(&signals->hub);
    return code;
}

int daemon_main(const struct daemon *self, int argc, char **argv)
{
    struct daemon_signals signals = {.daemon = self, .argc = argc, .argv = argv};
    struct option_result result;
    int code;

    process_prepare();
    if (options_load(self->options, argc, argv, self->settings, &result) != STATUS_OK) {
        return PROCESS_EXIT_USAGE;
    }
    if (result.done) {
        return PROCESS_EXIT_OK;
    }
    if (daemon_signals_init(&signals) != STATUS_OK) {
        return PROCESS_EXIT_FAILURE;
    }
    if (self->finish != NULL && self->finish(self->settings) != STATUS_OK) {
        code = PROCESS_EXIT_USAGE;
    } else if (result.check_config) {
        (void)printf("%s: ok\n", result.config);
        code = PROCESS_EXIT_OK;
    } else {
        set_up_log(self);
        code = run(self, &signals);
    }
    daemon_signals_fini(&signals);
    return code;
}
