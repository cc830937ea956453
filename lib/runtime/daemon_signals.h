/* daemon_signals.h - what a daemon does on SIGTERM, SIGINT and SIGHUP: see daemon.h.
 *
 * Errors:  daemon_signals_init: STATUS_NOMEM, said.
 * Owner:   daemon_signals_init()'s caller calls daemon_signals_fini().
 * Threads: the loop's.
 */
#ifndef ORBLOOM_RUNTIME_DAEMON_SIGNALS_H
#define ORBLOOM_RUNTIME_DAEMON_SIGNALS_H

#include "runtime/daemon.h"

struct daemon_signals {
    const struct daemon *daemon;
    int argc;
    char **argv;
    struct hub *hub;
    void *loaded; /* settings as file and flags gave them, without what finish() makes of them */
    bool draining;
};

/* The daemon's settings have just been loaded. */
MUST_USE enum status daemon_signals_init(struct daemon_signals *self);
void daemon_signals_fini(struct daemon_signals *self);

/* hub_options.on_signal */
void daemon_on_signal(void *context, int number);

#endif
