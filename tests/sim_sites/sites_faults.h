/* sites_faults.h - what goes wrong between sites, and with links; and that a site burns.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_SITES_SITES_FAULTS_H
#define ORBLOOM_TESTS_SIM_SITES_SITES_FAULTS_H

#include <stdint.h>

struct site;
struct sites;

/* From now until the calm, as the settings say; inside of each site, too. */
void sites_faults_begin(struct sites *sites);

/* Everything works from now on, but in what has burnt. */
void sites_faults_calm(struct sites *sites);

/* A site has just been named: perhaps a part of one of them is behind for a while. */
void sites_fault_tempt(struct sites *sites);

/* What it sends does perhaps not get to one of the others any more. */
void sites_fault_part(struct site *site, uint64_t duration_us);

/* Neither side hears of the other. */
void sites_fault_cast_out(struct site *site, uint64_t duration_us);

/* It has been put back, or all that it has was dropped: as long as it joins anew processes of it
 * die, it is cut off, and links of all sites die, or stop, as the settings say. Nothing is lost by
 * it. */
void sites_fault_joining_anew(struct site *site);

/* Its processes die for good, with all that they have. */
void sites_fault_burn(struct site *site);

#endif
