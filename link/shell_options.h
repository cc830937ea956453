/* shell_options.h - the options of orbloom-link.
 *
 * Errors:  STATUS_USAGE after printing what does not go together, and where.
 * Owner:   `keys` holds a secret: site_key_wipe().
 */
#ifndef ORBLOOM_LINK_SHELL_OPTIONS_H
#define ORBLOOM_LINK_SHELL_OPTIONS_H

#include "link/link.h"
#include "map/site_key.h"
#include "runtime/daemon.h"

enum { LINK_PEER_TEXT_BYTES = 512 };

struct link_settings {
    struct daemon_settings daemon; /* first: lib/runtime reads it */
    struct router_config router;   /* of the core that it hosts */
    struct link_config config;     /* but for what keys and sockets tell */
    char advertise[DOCUMENT_TEXT_BYTES];
    char site_key_file[DAEMON_PATH_BYTES];
    char site_listen[DAEMON_ENDPOINT_BYTES]; /* "": it dials all the others */
    char peers[LINK_MAX_SITES][LINK_PEER_TEXT_BYTES];
    uint32_t npeers;
    uint8_t peer_keys[LINK_MAX_SITES][CURVE_KEY_BYTES]; /* of config.peers, in their order */
    struct curve_pair keys;                             /* of the site, once its file was read */
    struct option_origins origins;                      /* for what only the key file shows */
};

const struct option_table *link_option_table(void);

/* What one option alone does not show; and makes the configuration's peers of the texts. */
MUST_USE enum status link_options_finish(void *settings, const struct option_origins *origins);

/* What only the key in site_key_file shows, once it is in `keys`. */
MUST_USE enum status link_options_check_key(const struct link_settings *settings,
                                            const struct curve_pair *keys);

#endif
