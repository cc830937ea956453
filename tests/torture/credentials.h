/* credentials.h - who the torture is where processes speak CURVE: a user for its adds, checks and
 * commands, and a process for what only processes may ask of nodes.
 *
 * Errors:  said in the journal; false.
 * Threads: the main thread, before any other is started.
 */
#ifndef ORBLOOM_TESTS_TORTURE_CREDENTIALS_H
#define ORBLOOM_TESTS_TORTURE_CREDENTIALS_H

#include "tests/torture/cluster.h"

/* With coordinators up: make the user, as an operator would, and go by its credential from here on
 * ($ORBLOOM_CREDENTIAL). Without --curve: by none. */
bool credentials_make(struct cluster *cluster);

#endif
