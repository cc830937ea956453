/* room.h - how many keys a filter of a backup is made for.
 *
 * A filter at its capacity may hold some more than that, each of which is acknowledged: what is
 * made of its backup has to take them all, in whatever order they come.
 *
 * Threads: none; pure.
 */
#ifndef ORBLOOM_CLI_BACKUP_ROOM_H
#define ORBLOOM_CLI_BACKUP_ROOM_H

#include "backup/record.h"

/* Make it for so many `keys` and a twentieth more, and for as many as are `asked` for, unless it is
 * for more already. Is it for more now than it was? */
bool room_make(struct backup_filter *filter, uint64_t keys, uint64_t asked);

#endif
