/* shell_options.h - the options of orbloom-router. */
#ifndef ORBLOOM_ROUTER_SHELL_OPTIONS_H
#define ORBLOOM_ROUTER_SHELL_OPTIONS_H

#include "router/router.h"
#include "runtime/daemon.h"

struct router_settings {
    struct daemon_settings daemon; /* first: lib/runtime reads it */
    struct router_config config;
    uint64_t spin_us; /* see hub_set_spin() */
};

const struct option_table *router_option_table(void);

#endif
