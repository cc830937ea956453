/* shell_options.h - the options of orbloom-router. */
#ifndef ORBLOOM_ROUTER_SHELL_OPTIONS_H
#define ORBLOOM_ROUTER_SHELL_OPTIONS_H

#include "router/router.h"
#include "runtime/options.h"

enum { ROUTER_PATH_BYTES = 4096, ROUTER_LEVEL_BYTES = 8 };

struct router_settings {
    char listen[DOCUMENT_TEXT_BYTES];
    char cluster_key_file[ROUTER_PATH_BYTES];
    char log_level[ROUTER_LEVEL_BYTES];
    struct router_config config;
};

const struct option_table *router_option_table(void);

#endif
