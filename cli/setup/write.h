/* write.h - the files of a plan, all of them or none.
 *
 * A file that is there is never replaced. Secrets are for their owner alone, unless there is a
 * group that is to read them.
 *
 * Errors:  printed; STATUS_EXISTS, STATUS_IO. What was written before is removed again.
 */
#ifndef ORBLOOM_CLI_SETUP_WRITE_H
#define ORBLOOM_CLI_SETUP_WRITE_H

#include "cli/setup/plan.h"

#include <sys/types.h>

#define SETUP_NO_GROUP ((gid_t)-1)

/* `data`: where one's own user is to have data; NULL: units make their folders. */
MUST_USE enum status setup_write(const struct setup_plan *plan, const char *data, gid_t group);

#endif
