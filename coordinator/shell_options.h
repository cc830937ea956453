/* shell_options.h - the options of orbloom-coordinator. */
#ifndef ORBLOOM_COORDINATOR_SHELL_OPTIONS_H
#define ORBLOOM_COORDINATOR_SHELL_OPTIONS_H

#include "coordinator/coordinator.h"
#include "runtime/daemon.h"

struct coordinator_settings {
    struct daemon_settings daemon; /* first: lib/runtime reads it */
    char store[DAEMON_PATH_BYTES];
    struct coordinator_config config;
};

const struct option_table *coordinator_option_table(void);

#endif
