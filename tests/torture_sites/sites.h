/* sites.h - the sites under torture: an `orbloom playground --sites N` and all its processes.
 *
 * Ports are below those that the kernel gives to anybody: a process that was killed must find its
 * own one free.
 *
 * Errors:  false, and said by verdict_fail().
 * Threads: the main thread; `endpoints` may be read by any once it is open.
 */
#ifndef ORBLOOM_TESTS_TORTURE_SITES_SITES_H
#define ORBLOOM_TESTS_TORTURE_SITES_SITES_H

#include "tests/torture_sites/options.h"
#include "tests/torture_sites/process.h"

enum {
    SITES_MAX_PROCESSES = OPTIONS_MAX_SITES * (3 + OPTIONS_MAX_NODES),
    SITES_ENDPOINT_BYTES = 64
};

#define SITES_FILTER "keep"
#define SITES_RATE   0.01

struct sites {
    const struct options *options;
    char dir[PROCESS_PATH_BYTES - 128];
    uint32_t base_port;
    struct process playground;
    struct process processes[SITES_MAX_PROCESSES];
    uint32_t count;
    struct {
        char router[SITES_ENDPOINT_BYTES];
        char coordinator[SITES_ENDPOINT_BYTES];
    } endpoints[OPTIONS_MAX_SITES];
};

/* Makes the folder, starts all, and learns which processes there are. With `by_wan` links speak by
 * the addresses of a wan, which is there. */
bool sites_open(struct sites *self, const struct options *options, bool by_wan);

/* Make SITES_FILTER in all sites, and wait until each says "absent". */
bool sites_create_filter(const struct sites *self);

/* `orbloom WORDS` at a site; what it says is in the journal. False: it has failed. */
bool sites_command(const struct sites *self, uint32_t site, const char *words);

/* The same, of the programs in that folder; NULL: of this build. */
bool sites_command_of(const struct sites *self, uint32_t site, const char *programs,
                      const char *words);

/* What a process counts, by its name in `orbloom stats`; 0: it does not, or says nothing. */
uint64_t sites_count(const struct process *process, const char *counter);

/* Wait until each site is counted and says "absent", of SITES_FILTER, or of any. */
bool sites_wait_absent(const struct sites *self);
bool sites_wait_absent_of(const struct sites *self, const char *filter);

/* Wait until no site has the filter any more. */
bool sites_wait_dropped(const struct sites *self, const char *filter);

/* Wait until the links of all sites are connected. */
bool sites_wait_connected(const struct sites *self);

/* Wait until each other one says "absent": what the site loses then is not all that there is. */
bool sites_wait_others(const struct sites *self, uint32_t site);

/* All end on SIGTERM, with exit status 0 and without a sanitizer's report; then none is left. */
void sites_end(struct sites *self);

/* End at once whoever is left, stopped ones too. */
void sites_kill(struct sites *self);

/* The process of that role; of nodes number `index` from 0. */
struct process *sites_find(struct sites *self, uint32_t site, enum role role, uint32_t index);

#endif
