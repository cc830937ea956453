/* shell_options.h - the options of orbloom-coordinator. */
#ifndef ORBLOOM_COORDINATOR_SHELL_OPTIONS_H
#define ORBLOOM_COORDINATOR_SHELL_OPTIONS_H

#include "coordinator/coordinator.h"
#include "runtime/options.h"

enum { COORDINATOR_PATH_BYTES = 4096, COORDINATOR_LEVEL_BYTES = 8 };

struct coordinator_settings {
    char listen[DOCUMENT_TEXT_BYTES];
    char store[COORDINATOR_PATH_BYTES];
    char cluster_key_file[COORDINATOR_PATH_BYTES];
    char log_level[COORDINATOR_LEVEL_BYTES];
    struct coordinator_config config;
};

const struct option_table *coordinator_option_table(void);

#endif
