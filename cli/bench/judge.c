/* Known keys must be there, fresh ones should not: what is lost, unanswered or a false positive. */
#include "cli/bench/load.h"

struct tally {
    uint64_t unknown;
    uint64_t present;
    uint64_t absent;
};

/* Answers number `at`, at + step, at + 2 * step... */
static struct tally count_answers(const uint8_t *answers, uint32_t at, uint32_t count,
                                  uint32_t step)
{
    struct tally tally = {0};

    for (; at < count; at += step) {
        tally.unknown += answers[at] == ORBLOOM_UNKNOWN;
        tally.present += answers[at] == ORBLOOM_PRESENT;
        tally.absent += answers[at] == ORBLOOM_ABSENT;
    }
    return tally;
}

static void judge_known(const struct tally *tally, struct load_result *result)
{
    result->unanswered += tally->unknown;
    result->lost += tally->absent;
}

static void judge_fresh(const struct tally *tally, enum orbloom_operation operation, uint32_t count,
                        struct load_result *result)
{
    result->unanswered += tally->unknown;
    if (operation == ORBLOOM_CHECK) {
        result->absent += count;
        result->false_positives += tally->present;
    }
}

void load_judge(const struct key_choice *choice, const struct bench_completion *completion,
                struct load_result *result)
{
    const struct bench_batch *batch = completion->batch;
    uint32_t known = key_count_known(choice, batch->first, batch->count);
    uint32_t fresh = batch->count - known;
    uint32_t first_known = (uint32_t)(batch->first % 2);
    uint32_t step = choice->only_fresh ? 1 : 2;
    struct tally tally;

    if (completion->answers == NULL) {
        result->lost += completion->added > fresh ? completion->added - fresh : 0;
        return;
    }
    if (!choice->only_fresh) {
        tally = count_answers(completion->answers, first_known, batch->count, step);
        judge_known(&tally, result);
    }
    tally = count_answers(completion->answers, choice->only_fresh ? 0 : 1 - first_known,
                          batch->count, step);
    judge_fresh(&tally, batch->operation, fresh, result);
}
