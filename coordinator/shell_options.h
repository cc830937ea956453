/* shell_options.h - the options of orbloom-coordinator. */
#ifndef ORBLOOM_COORDINATOR_SHELL_OPTIONS_H
#define ORBLOOM_COORDINATOR_SHELL_OPTIONS_H

#include "coordinator/coordinator.h"
#include "coordinator/store/etcd/etcd.h"
#include "runtime/daemon.h"

struct coordinator_settings {
    struct daemon_settings daemon; /* first: lib/runtime reads it */
    char store[DAEMON_PATH_BYTES]; /* "": the store is in etcd */
    struct store_etcd_config etcd;
    char etcd_password_file[DAEMON_PATH_BYTES];
    char audit_log[DAEMON_PATH_BYTES]; /* "": none */
    struct coordinator_config config;
};

const struct option_table *coordinator_option_table(void);

/* What one option alone does not show; a default etcd_prefix ends in '/', and so must any other.
 * STATUS_USAGE after printing why. */
MUST_USE enum status coordinator_settings_finish(void *settings,
                                                 const struct option_origins *origins);

/* The password of etcd_user, from its file; none without one. STATUS_INVALID, STATUS_IO: logged. */
MUST_USE enum status coordinator_settings_read_password(struct coordinator_settings *settings);

#endif
