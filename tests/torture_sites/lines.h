/* lines.h - the ways between sites under torture: real ones, with a distance and losses, which are
 * cut now and then, also in one direction only.
 *
 * Links alone speak by them. All else is on loopback in the same network of our own, which ends
 * with us. Without the rights for that all is on the machine's loopback, and nothing is cut.
 *
 * Errors:  false, and said by verdict_fail().
 * Threads: the main thread.
 */
#ifndef ORBLOOM_TESTS_TORTURE_SITES_LINES_H
#define ORBLOOM_TESTS_TORTURE_SITES_LINES_H

#include "bench/wan/wan.h"
#include "tests/torture_sites/options.h"

/* What a pair of sites suffers. */
enum line_trouble { LINE_CUT, LINE_CUT_ONE_WAY, LINE_BURST };

struct lines {
    struct wan *wan; /* NULL: loopback */
    struct line_kind usual;
    uint32_t sites;
    /* Of two sites, the lower one first: until when the trouble lasts, and when there may be
     * another one. */
    struct {
        uint64_t until_ms;
        uint64_t rests_ms;
    } pairs[OPTIONS_MAX_SITES][OPTIONS_MAX_SITES];
};

/* Before anything is started: processes that are started from now on have these lines. Says so
 * where there are none. */
void lines_open(struct lines *self, const struct options *options);
void lines_close(struct lines *self);

/* Of loss so many of a million, in a burst. From `from` to `to`, and but for LINE_CUT_ONE_WAY back.
 * False: these two have been in trouble just now. */
bool lines_trouble(struct lines *self, enum line_trouble trouble, uint32_t from, uint32_t to,
                   uint32_t loss, uint64_t for_ms);

/* End what is over. */
void lines_tick(struct lines *self, uint64_t now_ms);

/* End all of it. */
void lines_heal(struct lines *self);

#endif
