/* shell_resp.h - the RESP front on real connections. */
#ifndef ORBLOOM_ROUTER_SHELL_RESP_H
#define ORBLOOM_ROUTER_SHELL_RESP_H

#include "router/resp/front.h"
#include "runtime/streams/hub_streams.h"

/* The front's connections are this hub's. "", "" and no TLS: none is opened. STATUS_IO,
 * STATUS_NOMEM; said. */
MUST_USE enum status shell_resp_open(struct hub *hub, const struct hub_streams_options *options,
                                     struct front *front, struct hub_streams **out);

/* What the front does to connections. */
struct stream_effects shell_resp_effects(void);

#endif
