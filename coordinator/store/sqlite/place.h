/* place.h - may an SQLite file lie there?
 *
 * Its write-ahead log takes memory that all processes share, and locks that all of them see. Over a
 * network neither is so: two hosts would write into one file and damage it, without an error.
 *
 * Errors:  none.
 * Threads: any.
 */
#ifndef ORBLOOM_COORDINATOR_STORE_SQLITE_PLACE_H
#define ORBLOOM_COORDINATOR_STORE_SQLITE_PLACE_H

/* The name of a network's file system by its statfs() type; NULL: it is none that is known. */
const char *store_sqlite_place_network(unsigned long type);

/* The same for the folder of the file; NULL, too, when that can't be told. */
const char *store_sqlite_place_of(const char *path);

#endif
