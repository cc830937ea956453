/* credentials.h - who the torture is where processes speak CURVE: a user for its adds, checks and
 * commands, and a process for what only processes may ask of nodes.
 *
 *   DIR/key           the operator's copy of the cluster key's ring, which `orbloom key` edits
 *   DIR/NAME/key      each daemon's own copy
 *   DIR/credential    of the user, $ORBLOOM_CREDENTIAL
 *   DIR/process       of whoever holds the ring
 *
 * Errors:  said in the journal; false.
 * Threads: the main thread before any other is started, then whoever changes the ring.
 */
#ifndef ORBLOOM_TESTS_TORTURE_CREDENTIALS_H
#define ORBLOOM_TESTS_TORTURE_CREDENTIALS_H

#include "tests/torture/cluster.h"

/* DIR/FILE. Returns `path`. */
const char *credentials_path(const struct cluster *cluster, const char *file,
                             char path[DAEMON_PATH_BYTES]);

/* Draw the first key, for everybody. */
bool credentials_draw_key(struct cluster *cluster);

/* Give one daemon the ring as the operator has it; what runs reads it upon SIGHUP. */
bool credentials_give_key(const struct cluster *cluster, const struct daemon *daemon);

/* What holds the ring may be any process: with --curve write DIR/process, as the ring is now. */
bool credentials_become_process(const struct cluster *cluster);

/* With coordinators up: make the user, as an operator would, and go by its credential from here on
 * ($ORBLOOM_CREDENTIAL). Without --curve: by none. */
bool credentials_make(struct cluster *cluster);

#endif
