/* place.h - where a Redis server is: "HOST:PORT", "[::1]:6379" or "unix:PATH".
 *
 * Threads: any; no state.
 */
#ifndef ORBLOOM_CLI_BENCH_PLACE_H
#define ORBLOOM_CLI_BENCH_PLACE_H

#include <stdbool.h>

enum { PLACE_TEXT_BYTES = 256 };

struct redis_place {
    char text[PLACE_TEXT_BYTES]; /* as it was given */
    char name[PLACE_TEXT_BYTES]; /* host or path */
    int port;                    /* 0: `name` is the path of a socket */
};

bool redis_place_parse(const char *text, struct redis_place *out);

#endif
