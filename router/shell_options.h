/* shell_options.h - the options of orbloom-router. */
#ifndef ORBLOOM_ROUTER_SHELL_OPTIONS_H
#define ORBLOOM_ROUTER_SHELL_OPTIONS_H

#include "router/resp/front.h"
#include "router/router.h"
#include "runtime/daemon.h"
#include "runtime/tls/tls.h"

struct router_settings {
    struct daemon_settings daemon; /* first: lib/runtime reads it */
    struct router_config config;
    uint64_t spin_us; /* see hub_set_spin() */
    uint64_t drain_timeout_us;
    char kept_file[DAEMON_PATH_BYTES]; /* "": nothing is kept */
    struct front_config resp;
    char resp_listen[DAEMON_ENDPOINT_BYTES]; /* "": no RESP clients */
    char resp_socket[DAEMON_PATH_BYTES];
    char resp_password_file[DAEMON_PATH_BYTES];  /* "": no password */
    char resp_tls_listen[DAEMON_ENDPOINT_BYTES]; /* "": no TLS */
    char tls_cert_file[DAEMON_PATH_BYTES];
    char tls_key_file[DAEMON_PATH_BYTES];
    char tls_ca_file[DAEMON_PATH_BYTES];
    char tls_clients[16];
    struct tls_files tls; /* these, in one */
    uint64_t resp_max_clients;
    double resp_error_rate;
    char resp_open[4];
    char resp_users[16];
    char audit_log[DAEMON_PATH_BYTES]; /* "": none */
    char slowlog_items[8];
    char resp_missing[8];
    char resp_flush[4];
};

const struct option_table *router_option_table(void);

/* What one option alone does not show. STATUS_USAGE after printing why, and where. */
MUST_USE enum status router_options_finish(void *settings, const struct option_origins *origins);

#endif
