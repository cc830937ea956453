/* map.h - the two halves of `orbloom map`.
 *
 * Errors:  printed; the exit code is returned.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_COMMANDS_MAP_H
#define ORBLOOM_CLI_COMMANDS_MAP_H

#include "cli/flags.h"

struct map_settings {
    struct flags_common common;
    const char *confirmed_off; /* names, separated by commas; NULL: none */
    bool yes;
};

int map_backup(const struct map_settings *settings, const char *path);
int map_restore(const struct map_settings *settings, const char *path);

#endif
