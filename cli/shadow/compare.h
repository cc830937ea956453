/* compare.h - what the new server says of a command beside what the old one said. Pure.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHADOW_COMPARE_H
#define ORBLOOM_CLI_SHADOW_COMPARE_H

#include "cli/shadow/mirror.h"
#include "cli/shadow/tally.h"

/* `reply` is whole, or empty: there was none. */
void shadow_compare(struct tally *tally, const struct mirror_item *item, struct span reply);

#endif
