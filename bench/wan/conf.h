/* conf.h - the configuration of a link that is to speak with the other sites by a wan.
 *
 * Errors:  false, said on stderr.
 * Threads: none.
 */
#ifndef ORBLOOM_BENCH_WAN_CONF_H
#define ORBLOOM_BENCH_WAN_CONF_H

#include <stdbool.h>
#include <stdint.h>

/* Files of all sites' links, where each listens for the others on loopback, are read; `written` of
 * each, which may be the same one, is to have the addresses of the wan instead. */
bool wan_conf_write(const char *const *read, const char *const *written, uint32_t sites);

#endif
