/* connects.h - what client libraries send when they connect, by their public sources and by what
 * was seen of them on the wire, and the answers that they need to go on.
 *
 * Errors that stand here are those that the library expects of a server without that command, or
 * goes on after: none of them ends its connection.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_CONNECTS_H
#define ORBLOOM_TESTS_SUPPORT_CONNECTS_H

#include <stdbool.h>
#include <stddef.h>

enum { CONNECT_LINES = 20, CONNECT_SAID_BYTES = 256 };

#define CONNECT_PASSWORD "open sesame" /* of `default`, where there is one */

struct connect_line {
    const char *said;
    const char *answer; /* begins so */
};

struct connect_client {
    const char *name;
    bool guarded; /* it gives the password of `default` */
    struct connect_line lines[CONNECT_LINES];
};

const struct connect_client *connect_clients(size_t *count);

/* What it says in this line, with a line end. `user`: it is told to log in as that one, with this
 * token; NULL: as `default`. False: there is no such line. */
bool connect_said(const struct connect_client *client, size_t line, const char *user,
                  const char *token, char said[CONNECT_SAID_BYTES]);

/* How the answer begins; `restricted`: to who may read some filters and nothing else. */
const char *connect_answer(const struct connect_line *line, bool restricted);

/* It begins with a login that is none of its lines, as those have no place for one. */
bool connect_logs_in_first(const struct connect_client *client);

#endif
