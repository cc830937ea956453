#include "client/cmd_bench_load.h"

#include "base/heap.h"
#include "runtime/hub.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { SUB_BITS = 5, SUBS = 1 << SUB_BITS, WAIT_MS = 1000, ID_DIGITS = 16, ID_AT = 43 };

/* One batch in flight; what its keys are is known from its first number. */
struct load_batch {
    enum orbloom_operation operation;
    uint64_t first; /* sequence of its first key in the load */
    uint32_t count;
    uint8_t *blob;
};

struct run {
    const struct load *load;
    struct load_result *result;
    struct load_batch *batches;
    struct load_batch **idle;
    size_t nidle;
    uint32_t *lengths;
    uint64_t sent;
    uint64_t number; /* of batches */
};

unsigned load_bucket(uint64_t latency_us)
{
    unsigned shift = 0;
    unsigned bucket;

    while (latency_us >> shift >= 2 * SUBS) {
        shift++;
    }
    bucket = shift * SUBS + (unsigned)(latency_us >> shift);
    return bucket < LOAD_BUCKETS ? bucket : LOAD_BUCKETS - 1;
}

double load_bucket_us(unsigned bucket)
{
    unsigned shift = bucket < 2 * SUBS ? 0 : bucket / SUBS - 1;
    uint64_t value = bucket - shift * SUBS;

    return (double)(((value + 1) << shift) - 1);
}

double load_latency_us(const struct load_result *result, double share)
{
    double wanted = share * (double)result->batches;
    uint64_t sum = 0;

    for (unsigned i = 0; i < LOAD_BUCKETS; i++) {
        sum += result->latency[i];
        if (sum > 0 && (double)sum >= wanted) {
            return load_bucket_us(i);
        }
    }
    return 0;
}

static void write_key(uint8_t *key, uint64_t id)
{
    static const char text[LOAD_KEY_BYTES + 1] =
        "https://bench.example.org/some/folder/page-0000000000000000?";
    static const char digits[] = "0123456789abcdef";

    memcpy(key, text, LOAD_KEY_BYTES);
    for (int i = ID_DIGITS - 1; i >= 0; i--) {
        key[ID_AT + i] = (uint8_t)digits[id & 15];
        id >>= 4;
    }
}

/* Every other key of a load is known; LOAD_FILL is all new. */
static bool is_known(const struct load *load, uint64_t sequence)
{
    return load->kind != LOAD_FILL && sequence % 2 == 0;
}

static uint64_t key_id(const struct load *load, uint64_t sequence)
{
    if (load->kind == LOAD_FILL) {
        return load->fresh + sequence;
    }
    return is_known(load, sequence) ? sequence / 2 % load->known : load->fresh + sequence / 2;
}

static void fill_batch(struct run *run, struct load_batch *batch)
{
    const struct load *load = run->load;
    uint64_t left = load->keys - run->sent;

    batch->operation = load->kind == LOAD_CHECK || (load->kind == LOAD_MIX && run->number % 2 == 0)
                           ? ORBLOOM_CHECK
                           : ORBLOOM_ADD;
    batch->first = run->sent;
    batch->count = left < load->batch ? (uint32_t)left : load->batch;
    for (uint32_t i = 0; i < batch->count; i++) {
        write_key(batch->blob + (size_t)i * LOAD_KEY_BYTES, key_id(load, batch->first + i));
    }
    run->number++;
    run->sent += batch->count;
}

static void judge_key(struct run *run, const struct load_batch *batch, uint64_t sequence,
                      uint8_t answer)
{
    struct load_result *result = run->result;
    bool known = is_known(run->load, sequence);

    result->unanswered += answer == ORBLOOM_UNKNOWN;
    result->lost += known && answer == ORBLOOM_ABSENT;
    if (batch->operation == ORBLOOM_CHECK && !known) {
        result->absent++;
        result->false_positives += answer == ORBLOOM_PRESENT;
    }
}

static void take(struct run *run, const struct orbloom_completion *completion)
{
    struct load_batch *batch = completion->user;
    struct load_result *result = run->result;

    for (uint32_t i = 0; i < batch->count; i++) {
        judge_key(run, batch, batch->first + i, completion->answers[i]);
    }
    if (completion->code != ORBLOOM_OK) {
        result->code = completion->code;
        (void)snprintf(result->message, sizeof result->message, "%s", completion->message);
    }
    result->keys += batch->count;
    result->batches++;
    result->latency[load_bucket(completion->latency_us)]++;
    run->idle[run->nidle++] = batch;
}

static void collect(struct run *run, uint32_t timeout_ms)
{
    struct orbloom_completion completion;

    while (orbloom_wait(run->load->handle, timeout_ms, &completion) != 0) {
        take(run, &completion);
        timeout_ms = 0;
    }
}

static void submit(struct run *run)
{
    struct load_batch *batch = run->idle[--run->nidle];
    struct orbloom_request request = {.filter = run->load->filter, .user = batch};
    int code;

    fill_batch(run, batch);
    request.operation = batch->operation;
    request.keys = (struct orbloom_keys){batch->blob, run->lengths, batch->count};
    code = orbloom_submit(run->load->handle, &request);
    while (code == ORBLOOM_OVERLOADED && orbloom_in_flight(run->load->handle) > 0) {
        collect(run, WAIT_MS);
        code = orbloom_submit(run->load->handle, &request);
    }
    if (code != ORBLOOM_OK) {
        run->result->code = code;
        run->result->unanswered += batch->count;
        (void)snprintf(run->result->message, sizeof run->result->message, "%s",
                       orbloom_error(run->load->handle));
        run->idle[run->nidle++] = batch;
    }
}

static bool prepare(struct run *run)
{
    const struct load *load = run->load;

    run->batches = heap_zalloc(load->in_flight, sizeof *run->batches);
    run->idle = heap_zalloc(load->in_flight, sizeof(struct load_batch *));
    run->lengths = heap_alloc(load->batch, sizeof *run->lengths);
    if (run->batches == NULL || run->idle == NULL || run->lengths == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < load->batch; i++) {
        run->lengths[i] = LOAD_KEY_BYTES;
    }
    for (uint32_t i = 0; i < load->in_flight; i++) {
        run->batches[i].blob = heap_alloc(load->batch, LOAD_KEY_BYTES);
        if (run->batches[i].blob == NULL) {
            return false;
        }
        run->idle[run->nidle++] = &run->batches[i];
    }
    return true;
}

static void release(struct run *run)
{
    for (uint32_t i = 0; run->batches != NULL && i < run->load->in_flight; i++) {
        heap_free(run->batches[i].blob);
    }
    heap_free(run->batches);
    heap_free(run->idle);
    heap_free(run->lengths);
}

bool load_run(const struct load *load, struct load_result *result)
{
    struct run run = {.load = load, .result = result};
    uint64_t start_us;
    bool ready;

    assert(load->batch > 0 && load->batch <= LOAD_MAX_BATCH && load->in_flight > 0);
    assert(load->known > 0 || load->kind == LOAD_FILL);

    *result = (struct load_result){0};
    ready = prepare(&run);
    start_us = hub_now_us();
    while (ready && run.sent < load->keys && result->code == ORBLOOM_OK) {
        if (run.nidle > 0) {
            submit(&run); /* Leaves at once; answers are taken when no batch is idle. */
        } else {
            collect(&run, WAIT_MS);
        }
    }
    while (ready && orbloom_in_flight(load->handle) > 0) {
        collect(&run, WAIT_MS);
    }
    result->elapsed_us = hub_now_us() - start_us;
    release(&run);
    return ready;
}
