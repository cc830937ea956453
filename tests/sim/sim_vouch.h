/* sim_vouch.h - the word of an operator who drops or renames a filter, about nodes that can't
 * confirm that any more.
 *
 * He is honest: of a node whose life is gone with its data, or is off and stays so until the drop
 * has ended (ACCEPT), he vouches for that life and those before it; of any other node for those
 * before the life that it has. He says nothing while a life whose place was taken still runs.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_VOUCH_H
#define ORBLOOM_TESTS_SIM_VOUCH_H

#include "tests/sim/sim_operator.h"

/* For the command that begins: about nodes of the filter that lack a life which it names. With
 * `document` NULL about all nodes. */
void sim_vouch(const struct sim *sim, const struct filter_document *document,
               struct sim_managed_name *one);

/* Was it said that a life that is off never comes back, by a command that has not ended? */
bool sim_vouch_binds(const struct sim *sim);

#endif
