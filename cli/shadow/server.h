/* server.h - where the old or the new server of a shadow is, and how to get there: by TCP, or by
 * TLS to one that proves to be the host that was named.
 *
 * Owner:   options and files are borrowed; server_fini() what server_find() was called on.
 * Threads: one.
 */
#ifndef ORBLOOM_CLI_SHADOW_SERVER_H
#define ORBLOOM_CLI_SHADOW_SERVER_H

#include "runtime/address.h"
#include "runtime/streams/hub_streams.h"

struct server {
    const char *name;   /* "old", as the option that names it */
    const char *prefix; /* "old_", as those of its files begin */
    const char *endpoint;
    const struct tls_files *files; /* no authority: no TLS */

    /* Private. */
    struct sockaddr_storage address;
    char host[ADDRESS_BYTES];
    struct tls_identity *identity; /* NULL: no TLS */
    bool away;                     /* and that was said */
};

/* Look the address up, read the files. Errors are said. */
MUST_USE enum status server_find(struct server *self);
void server_fini(struct server *self);

/* As hub_streams_connect(). */
struct hub_stream *server_connect(const struct server *self, struct hub_streams *streams,
                                  void *owner);

/* Say why it can't be reached, once until it is there again. */
void server_say_away(struct server *self, const char *failure);
void server_is_there(struct server *self);

#endif
