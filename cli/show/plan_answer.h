/* plan_answer.h - the sizes that `orbloom plan` shows: this filter's beside the classic one's.
 *
 * Errors:  STATUS_INVALID where sizing.h says so; *answer is undefined then.
 * Threads: any; no state.
 */
#ifndef ORBLOOM_CLI_SHOW_PLAN_ANSWER_H
#define ORBLOOM_CLI_SHOW_PLAN_ANSWER_H

#include "filter/sizing.h"

struct plan_question {
    struct sizing_request filter;
    uint64_t replicas; /* at least 1 */
    uint64_t nodes;    /* at least as many */
};

struct plan_answer {
    struct plan_question question;
    struct sizing_plan ours;
    struct sizing_classic classic;
    uint64_t bits; /* of one copy, as `lines` are */
    uint64_t lines;
    uint32_t hashes;
    uint32_t shards;
    uint64_t cluster_bytes;
    uint64_t node_bytes; /* of the fullest */
};

MUST_USE enum status plan_answer_make(const struct plan_question *question,
                                      struct plan_answer *answer);

#endif
