/* Opens the wan between sites where it can be had, troubles single ways, and heals them. */
#include "tests/torture_sites/lines.h"

#include "bench/wan/space.h"
#include "tests/torture/journal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void lines_open(struct lines *self, const struct options *options)
{
    *self = (struct lines){
        .usual = {.delay_us = options->wan.round_trip_us / 2, .loss = (uint32_t)options->wan.loss},
        .sites = (uint32_t)options->sites};
    if (!options->wan.wanted) {
        return;
    }
    if (!space_leave()) {
        (void)fprintf(stderr,
                      "torture-sites: no network of its own (%s): links speak by loopback, "
                      "nothing between sites is delayed, lost or cut\n",
                      strerror(errno));
        return;
    }
    self->wan = wan_open(self->sites, options->seed);
    if (self->wan == NULL) {
        (void)fprintf(stderr, "torture-sites: links speak by loopback, nothing between sites is "
                              "delayed, lost or cut\n");
        return;
    }
    wan_set_all(self->wan, &self->usual);
    (void)wan_set_congestion(self->wan, "cubic"); /* As on most machines, and the slow one. */
}

void lines_close(struct lines *self)
{
    wan_close(&self->wan);
}

static void end_trouble(struct lines *self, uint32_t one, uint32_t other)
{
    self->pairs[one][other].until_ms = 0;
    wan_set(self->wan, one, other, &self->usual);
    wan_set(self->wan, other, one, &self->usual);
}

/* Each trouble is followed by as long a time without, so that sites have their good days, too. */
bool lines_trouble(struct lines *self, enum line_trouble trouble, uint32_t from, uint32_t to,
                   uint32_t loss, uint64_t for_ms)
{
    uint32_t one = from < to ? from : to;
    uint32_t other = from < to ? to : from;
    uint64_t now_ms = journal_now_ms();
    struct line_kind kind = self->usual;

    if (self->wan == NULL || now_ms < self->pairs[one][other].rests_ms) {
        return false;
    }
    kind.cut = trouble != LINE_BURST;
    kind.loss = trouble == LINE_BURST ? loss : kind.loss;
    wan_set(self->wan, from, to, &kind);
    if (trouble != LINE_CUT_ONE_WAY) {
        wan_set(self->wan, to, from, &kind);
    }
    self->pairs[one][other].until_ms = now_ms + for_ms;
    self->pairs[one][other].rests_ms = now_ms + 2 * for_ms;
    return true;
}

void lines_tick(struct lines *self, uint64_t now_ms)
{
    for (uint32_t one = 0; one < self->sites; one++) {
        for (uint32_t other = one + 1; other < self->sites; other++) {
            uint64_t until_ms = self->pairs[one][other].until_ms;

            if (until_ms != 0 && until_ms <= now_ms) {
                end_trouble(self, one, other);
                journal_say("the way between site-%u and site-%u is good again", one + 1,
                            other + 1);
            }
        }
    }
}

void lines_heal(struct lines *self)
{
    lines_tick(self, UINT64_MAX);
}
