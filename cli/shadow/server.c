/* One address and one set of files, both looked at once, at the start. */
#include "cli/shadow/server.h"

#include "base/log.h"
#include "cli/cmd.h"

#include <string.h>

/* None, or that of TCP: whoever says rediss:// means TLS, and does not get it by that. */
static bool has_fit_scheme(const char *endpoint)
{
    return strstr(endpoint, "://") == NULL || strncmp(endpoint, "tcp://", strlen("tcp://")) == 0;
}

static bool find_address(struct server *self)
{
    return has_fit_scheme(self->endpoint) && address_resolve(self->endpoint, &self->address) != 0 &&
           address_host(self->endpoint, self->host);
}

enum status server_find(struct server *self)
{
    if (!find_address(self)) {
        (void)cmd_fail(STATUS_INVALID,
                       "%s is no address that can be reached; write it as HOST:PORT, and for TLS "
                       "give --%s-ca-file",
                       self->endpoint, self->name);
        return STATUS_INVALID;
    }
    return self->files->authority[0] != '\0'
               ? tls_identity_read_client(self->files, self->prefix, &self->identity)
               : STATUS_OK;
}

void server_fini(struct server *self)
{
    tls_identity_destroy(&self->identity);
}

struct hub_stream *server_connect(const struct server *self, struct hub_streams *streams,
                                  void *owner)
{
    return self->identity == NULL ? hub_streams_connect(streams, &self->address, owner)
                                  : hub_streams_connect_tls(streams, &self->address, self->identity,
                                                            self->host, owner);
}

void server_say_away(struct server *self, const char *failure)
{
    bool tls = self->identity != NULL;

    if (!self->away) {
        log_line(LOG_WARN, "cannot reach the %s server at %s: %s; check --%s%s%s%s", self->name,
                 self->endpoint, failure, self->name, tls ? ", --" : "", tls ? self->name : "",
                 tls ? "-ca-file" : "");
    }
    self->away = true;
}

void server_is_there(struct server *self)
{
    self->away = false;
}
