/* The loop of a load: batches leave by the pace or as fast as answers come, and the time of each
 * is noted. */
#include "cli/bench/load.h"

#include "base/heap.h"
#include "runtime/hub.h"

#include <assert.h>
#include <stdio.h>

/* ---- the judge: known keys must be there, fresh ones should not; what is lost, unanswered or a
 * false positive ---- */

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

/* ---- the loop ---- */

enum { WAIT_MS = 1000, US_PER_MS = 1000, NAP_US = 30, MAX_NAP_US = 100000 };

struct run {
    const struct load *load;
    const struct bench_target_ops *ops;
    struct load_result *result;
    struct bench_batch *batches;
    struct bench_batch **idle;
    size_t nidle;
    size_t prepared;
    uint64_t sent;
    uint64_t number; /* of batches */
    uint64_t start_us;
};

static void fail(struct run *run, int code, const char *message)
{
    run->result->code = code;
    (void)snprintf(run->result->message, sizeof run->result->message, "%s", message);
}

static void take(struct run *run, const struct bench_completion *completion)
{
    struct load_result *result = run->result;

    load_judge(&run->load->choice, completion, result);
    if (completion->code != ORBLOOM_OK) {
        fail(run, completion->code, completion->message);
    }
    result->keys += completion->batch->count;
    result->batches++;
    result->retries += completion->attempts > 1 ? completion->attempts - 1 : 0;
    latency_add(&result->latency, completion->latency_us + completion->batch->late_us);
    run->idle[run->nidle++] = completion->batch;
}

static void collect(struct run *run, uint32_t timeout_ms)
{
    struct bench_completion completion;

    while (run->ops->wait(run->load->target, timeout_ms, &completion)) {
        take(run, &completion);
        timeout_ms = 0;
    }
}

static void fill_batch(struct run *run, struct bench_batch *batch)
{
    const struct load *load = run->load;
    uint64_t left = load->keys - run->sent;

    batch->operation = load->kind == LOAD_CHECK || (load->kind == LOAD_MIX && run->number % 2 == 0)
                           ? ORBLOOM_CHECK
                           : ORBLOOM_ADD;
    batch->first = run->sent;
    batch->count = left < load->batch ? (uint32_t)left : load->batch;
    run->ops->lay_out(load->target, batch);
    key_choose(&load->choice, batch->first, batch->keys, batch->stride, batch->count);
    run->number++;
    run->sent += batch->count;
}

/* When the next batch leaves, by the pace. */
static uint64_t due_us(const struct run *run)
{
    return run->start_us + (uint64_t)((double)run->sent * 1e6 / (double)run->load->pace);
}

static uint64_t early_us(const struct run *run)
{
    uint64_t now_us = hub_now_us();

    return run->load->pace > 0 && due_us(run) > now_us ? due_us(run) - now_us : 0;
}

static void submit(struct run *run)
{
    struct bench_target *target = run->load->target;
    struct bench_batch *batch = run->idle[--run->nidle];
    int code;

    batch->late_us = run->load->pace > 0 ? hub_now_us() - due_us(run) : 0;
    fill_batch(run, batch);
    code = run->ops->submit(target, batch);
    while (code == ORBLOOM_OVERLOADED && run->ops->in_flight(target) > 0) {
        collect(run, WAIT_MS);
        code = run->ops->submit(target, batch);
    }
    if (code != ORBLOOM_OK) {
        run->result->unanswered += batch->count;
        fail(run, code, run->ops->error(target));
        run->idle[run->nidle++] = batch;
    }
}

/* Until answers come or the next batch is due. With nothing in flight nothing would be waited for;
 * and answers are waited for in milliseconds, so the last one passes in naps. */
static void await(struct run *run, uint64_t early_us)
{
    if (run->ops->in_flight(run->load->target) == 0) {
        hub_nap((uint32_t)(early_us < MAX_NAP_US ? early_us : MAX_NAP_US));
        return;
    }
    collect(run, (uint32_t)(early_us / US_PER_MS));
    if (early_us < US_PER_MS) {
        hub_nap(NAP_US);
    }
}

static bool prepare(struct run *run)
{
    const struct load *load = run->load;

    run->batches = heap_zalloc(load->in_flight, sizeof *run->batches);
    run->idle = heap_zalloc(load->in_flight, sizeof(struct bench_batch *));
    if (run->batches == NULL || run->idle == NULL) {
        return false;
    }
    for (; run->prepared < load->in_flight; run->prepared++) {
        struct bench_batch *batch = &run->batches[run->prepared];

        if (!run->ops->prepare(load->target, batch, load->batch)) {
            return false;
        }
        run->idle[run->nidle++] = batch;
    }
    return true;
}

static void release(struct run *run)
{
    for (size_t i = 0; i < run->prepared; i++) {
        run->ops->release(run->load->target, &run->batches[i]);
    }
    heap_free(run->batches);
    heap_free(run->idle);
}

bool load_run(const struct load *load, struct load_result *result)
{
    struct run run = {.load = load, .ops = load->target->ops, .result = result};
    bool ready;

    assert(load->batch > 0 && load->batch <= LOAD_MAX_BATCH && load->in_flight > 0);
    assert(load->choice.known > 0 || load->choice.only_fresh);

    *result = (struct load_result){0};
    ready = prepare(&run);
    run.start_us = hub_now_us();
    while (ready && run.sent < load->keys && result->code == ORBLOOM_OK) {
        if (load->for_us > 0 && hub_now_us() - run.start_us >= load->for_us) {
            break;
        }
        if (run.nidle > 0 && early_us(&run) > 0) {
            await(&run, early_us(&run));
        } else if (run.nidle > 0) {
            submit(&run); /* Leaves at once; answers are taken when no batch is idle. */
        } else {
            collect(&run, WAIT_MS);
        }
    }
    while (ready && run.ops->in_flight(load->target) > 0) {
        collect(&run, WAIT_MS);
    }
    result->elapsed_us = hub_now_us() - run.start_us;
    release(&run);
    return ready;
}
