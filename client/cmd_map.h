/* cmd_map.h - the two halves of `orbloom map`; for client/cmd_map*.c only.
 *
 * Errors:  printed; the exit code is returned.
 * Threads: none.
 */
#ifndef ORBLOOM_CLIENT_CMD_MAP_H
#define ORBLOOM_CLIENT_CMD_MAP_H

#include "client/cmd_flags.h"

struct map_settings {
    struct flags_common common;
    const char *confirmed_off; /* names, separated by commas; NULL: none */
    bool yes;
};

int map_backup(const struct map_settings *settings, const char *path);
int map_restore(const struct map_settings *settings, const char *path);

#endif
