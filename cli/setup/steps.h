/* steps.h - what is to be done with the files of a first cluster: the commands, word by word. */
#ifndef ORBLOOM_CLI_SETUP_STEPS_H
#define ORBLOOM_CLI_SETUP_STEPS_H

#include "cli/setup/plan.h"

/* Are the files where the units look for them? Else one starts the daemons by hand. */
bool setup_is_for_units(const struct setup_options *options);

/* On stdout. `shared`: the group of the units may read the secrets. */
void setup_show_steps(const struct setup_options *options, bool shared);

#endif
