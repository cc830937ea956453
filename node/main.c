#include "base/log.h"
#include "node/node.h"
#include "node/shell_options.h"
#include "proto/codec.h"
#include "runtime/file.h"
#include "runtime/hub.h"
#include "runtime/options.h"
#include "runtime/process.h"

#include <stdio.h>

static void set_up_log(const struct node_settings *settings)
{
    enum log_level level = LOG_INFO;

    (void)log_level_parse(settings->log_level, &level); /* One of the option's choices. */
    log_setup(node_option_table()->program, level);
}

/* The port may only be known now. */
static void settle_endpoint(struct node_config *config, const struct hub *hub)
{
    if (config->endpoint[0] == '\0') {
        (void)snprintf(config->endpoint, sizeof config->endpoint, "%s", hub_endpoint(hub));
    }
}

static void serve(struct hub *hub, struct node *node)
{
    struct actor actor = node_actor(node);

    hub_attach(hub, &actor);
    process_announce(hub_endpoint(hub));
    hub_run(hub);
    log_line(LOG_INFO, "stopped");
}

static int run(struct node_settings *settings)
{
    struct hub_options options = {.listen = settings->listen,
                                  .max_frame_bytes = CODEC_MAX_FRAME_BYTES,
                                  .stop_on_signals = true};
    struct hub *hub = NULL;
    struct node *node = NULL;
    int code = PROCESS_EXIT_FAILURE;

    if (file_read_secret(settings->cluster_key_file, cluster_key_read, &settings->config.key) !=
            STATUS_OK ||
        hub_create(&options, &hub) != STATUS_OK) {
        goto done;
    }
    settle_endpoint(&settings->config, hub);
    if (node_create(&settings->config, hub_effects(hub), &node) != STATUS_OK) {
        log_line(LOG_ERROR, "out of memory");
        goto done;
    }
    serve(hub, node);
    code = PROCESS_EXIT_OK;

done:
    node_destroy(&node);
    hub_destroy(&hub);
    return code;
}

int main(int argc, char **argv)
{
    static struct node_settings settings;
    struct option_result result;

    process_prepare();
    if (options_load(node_option_table(), argc, argv, &settings, &result) != STATUS_OK) {
        return PROCESS_EXIT_USAGE;
    }
    if (result.done) {
        return PROCESS_EXIT_OK;
    }
    if (node_settings_finish(&settings) != STATUS_OK) {
        return PROCESS_EXIT_USAGE;
    }
    if (result.check_config) {
        (void)printf("%s: ok\n", result.config);
        return PROCESS_EXIT_OK;
    }
    set_up_log(&settings);
    return run(&settings);
}
