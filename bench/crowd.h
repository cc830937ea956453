/* crowd.h - clients of a RESP socket that each send a request but for its end, and wait.
 *
 * They send in turn, a piece at a time, so that all requests are about as far as each other. Of one
 * that the server closes it is noted whether it was told why; with `again` it dials anew.
 *
 * Errors:  false with a reason.
 * Threads: one; whoever else looks at the server does so from another.
 */
#ifndef ORBLOOM_BENCH_CROWD_H
#define ORBLOOM_BENCH_CROWD_H

#include <stdbool.h>
#include <stdint.h>

enum { CROWD_REASON_BYTES = 160 };

struct crowd_plan {
    const char *path; /* of a unix-domain socket */
    uint32_t clients;
    uint32_t request_bytes;  /* of each, to be sent */
    uint32_t argument_bytes; /* of one of its arguments */
    uint64_t for_us;         /* at most; then all leave */
    uint64_t rest_us;        /* how long they stay once nobody has anything to send */
    bool again;
};

struct crowd_result {
    uint64_t sent_bytes;
    uint64_t told;    /* closed, and told an error before */
    uint64_t mute;    /* closed without */
    uint64_t waiting; /* in the end: had sent all of it */
};

bool crowd_run(const struct crowd_plan *plan, struct crowd_result *result,
               char reason[CROWD_REASON_BYTES]);

#endif
