/* What links say when they greet each other; and why one is refused that does. By whichever
 * connection it comes (greetings.c, strands.c), a greeting tells who speaks, and is answered. */
#include "link/private.h"

#include <stdio.h>
#include <string.h>

/* An answer repeats the correlation of what it answers; who greets has put its time there, so that
 * it need not remember when it sent which of them. */
struct frame hello_frame(const struct link *self, bool answer, uint64_t correlation)
{
    struct frame frame = {
        .correlation = correlation,
        .kind = FRAME_SITE_HELLO,
        .body.site_hello = {.version = SITE_LINK_VERSION,
                            .answer = answer,
                            .id = self->config.id,
                            .boot = self->boot},
    };

    memcpy(frame.body.site_hello.site, self->config.site, sizeof self->config.site);
    return frame;
}

const char *hello_fault(const struct link *self, const struct site_hello *hello,
                        const struct other_site *peer, char text[HELLO_FAULT_BYTES])
{
    if (hello->version != SITE_LINK_VERSION) {
        (void)snprintf(text, HELLO_FAULT_BYTES,
                       "a link of site %s speaks version %u of what links tell each other, and "
                       "this one %u: upgrade the older one",
                       peer->name, hello->version, (unsigned)SITE_LINK_VERSION);
        return text;
    }
    if (!site_id_equal(&hello->id, &peer->id)) {
        (void)snprintf(text, HELLO_FAULT_BYTES,
                       "the link that has the key of site %s tells the id of another site; give "
                       "all links of a site the same site_key_file",
                       peer->name);
        return text;
    }
    if (strcmp(hello->site, peer->name) != 0) {
        (void)snprintf(text, HELLO_FAULT_BYTES,
                       "a link calls its site %s, and site_peers here calls the site with that key "
                       "%s; a site has one name everywhere: correct one of the two",
                       hello->site, peer->name);
        return text;
    }
    if (hello->boot == self->boot) {
        (void)snprintf(text, HELLO_FAULT_BYTES,
                       "site_peers names this link itself as site %s; take it out", peer->name);
        return text;
    }
    return NULL;
}

void hello_refuse(struct link *self, uint64_t now_us, const struct peer *from, uint32_t link,
                  const char *fault)
{
    const struct frame frame = {
        .kind = FRAME_SITE_CLOSE,
        .body.site_close = {.status = STATUS_INVALID, .message = fault},
    };

    link_count(self, LINK_site_refused_total, 1);
    log_limited(&self->refused_log, now_us, LOG_WARN, "%s", fault);
    if (link == 0) {
        struct channel answer = {.strands[0].from = *from};

        (void)channel_send(self, &answer, &frame);
    }
}
