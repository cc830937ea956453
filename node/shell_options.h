/* shell_options.h - the options of orbloom-node.
 *
 * Errors:  STATUS_USAGE after printing what is wrong; STATUS_IO as file_read_secret().
 */
#ifndef ORBLOOM_NODE_SHELL_OPTIONS_H
#define ORBLOOM_NODE_SHELL_OPTIONS_H

#include "node/node.h"
#include "runtime/daemon.h"

struct node_settings {
    struct daemon_settings daemon; /* first: lib/runtime reads it */
    struct node_config config;     /* endpoint: "" until the server socket is bound */
    char data_dir[DAEMON_PATH_BYTES];
};

const struct option_table *node_option_table(void);

/* What one option alone does not show: combinations, and defaults found on this machine. */
MUST_USE enum status node_settings_finish(void *settings, const struct option_origins *origins);

#endif
