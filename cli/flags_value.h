/* flags_value.h - the value of one flag, from text into its field of the settings.
 *
 * Errors:  STATUS_INVALID, after printing "orbloom: CODE: cause; remedy" on stderr. The field
 *          may have changed then.
 * Owner:   texts are borrowed from the caller.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_FLAGS_VALUE_H
#define ORBLOOM_CLI_FLAGS_VALUE_H

#include "cli/flags.h"

MUST_USE enum status flag_value_set(const struct flag *flag, const char *text, void *settings);

#endif
