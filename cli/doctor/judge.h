/* judge.h - what is to be said of what was gathered: one function a subject, without I/O.
 *
 * Bounds are here, so that tests look at both sides of each.
 *
 * Errors:  none.
 * Owner:   all is borrowed for the call; texts are copied.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_CLI_DOCTOR_JUDGE_H
#define ORBLOOM_CLI_DOCTOR_JUDGE_H

#include "cli/doctor/findings.h"
#include "cli/doctor/gathered.h"

enum {
    JUDGE_ROUND_TRIP_US = 100000, /* slower than this is slow, within a site */
    JUDGE_UNHEARD_MS = 3000,      /* a node tells coordinators each second, by default */
    JUDGE_CLOCK_MS = 5000,
    JUDGE_EXPIRY_MS = 14 * 86400 * 1000, /* a key or token that expires sooner expires soon */
    JUDGE_BACKUP_MS = 2 * 86400 * 1000,  /* older than this is old */
    JUDGE_FULL_S = 7 * 86400,
    JUDGE_REPORTS_US = 2000000, /* within which coordinators have heard of all keys there are */
    JUDGE_NEW_KEYS = 100,       /* fewer say too little of how fast they come */
    JUDGE_STUCK_US = 5000000,   /* a change that has not moved for so long is stuck */
    JUDGE_UNSYNCED_BYTES = 64 << 20, /* of a log */
    JUDGE_DISK_BYTES = 256 << 20, /* free; disk_reserve and the next files of a log, by default */
    JUDGE_DISK_PART = 10,         /* ... of what the node has there: what a merge takes at least */
    JUDGE_WRITE_US = 50000,       /* a write of a log, on average ... */
    JUDGE_WRITES = 100,           /* ... of so many */
    JUDGE_SITE_US = 30000000,     /* a site is further behind than it should be */
    JUDGE_DESCRIPTORS = 4096,
};

#define JUDGE_STORE_SHARE  0.7   /* of etcd's quota, its database */
#define JUDGE_NEAR_SHARE   0.9   /* of a capacity, or of a node's memory */
#define JUDGE_FULL_SHARE   0.995 /* keys are estimated */
#define JUDGE_RATE_SHARE   1.05  /* ... and so are rates */
#define JUDGE_STEADY_SHARE 0.5   /* of the faster half of a look, the slower one: else it changes */
#define JUDGE_GROWTH_SHARE 2     /* growth_factor's default: coordinators do not tell theirs */

typedef void (*judge_fn)(const struct gathered *gathered, struct findings *out);

void judge_reach(const struct gathered *gathered, struct findings *out);    /* reach, slow */
void judge_versions(const struct gathered *gathered, struct findings *out); /* version, features */
void judge_store(const struct gathered *gathered, struct findings *out);    /* store */
void judge_backup(const struct gathered *gathered, struct findings *out);   /* backup */
void judge_keys(const struct gathered *gathered, struct findings *out);     /* key, credential */
void judge_clocks(const struct gathered *gathered, struct findings *out);   /* clock */
void judge_filters(const struct gathered *gathered, struct findings *out);  /* quorum, replicas */
void judge_fill(const struct gathered *gathered,
                struct findings *out); /* full, rate, growth refused */
void judge_growth(const struct gathered *gathered, struct findings *out);   /* growth, memory */
void judge_hosts(const struct gathered *gathered, struct findings *out);    /* host, zone */
void judge_nodes(const struct gathered *gathered, struct findings *out);    /* silent, memory */
void judge_disks(const struct gathered *gathered, struct findings *out);    /* disk, log */
void judge_counters(const struct gathered *gathered, struct findings *out); /* see its table */
void judge_sites(const struct gathered *gathered, struct findings *out);    /* site, link */
void judge_ports(const struct gathered *gathered, struct findings *out);    /* port, certificate */
void judge_machine(const struct gathered *gathered, struct findings *out);  /* descriptors ... */

/* All of them, sorted. */
void judge(const struct gathered *gathered, struct findings *out);

#endif
