/* A ring of batches between input and cluster: read, sent, answered and handed out in order,
 * without waiting for more input than there is. */
#include "cli/stream.h"

#include "base/heap.h"
#include "base/number.h"
#include "cli/cmd.h"
#include "cli/stream_batch.h"
#include "map/staleness.h"
#include "proto/codec.h"
#include "runtime/hub.h"

#include <assert.h>
#include <inttypes.h>
#include <unistd.h>

enum {
    OUTPUT_BYTES = 1 << 20,
    SHOWN_FAILURES = 10,
    UNANSWERED_ROUNDS = 4, /* of all in flight, before giving up */
    PAUSE_MS = 5,
    WAIT_MS = 1000,
    PROGRESS_US = 500000,
    US_PER_MS = 1000,
    INFLIGHT_BYTES = 256 << 20,
};

struct run {
    const struct stream *stream;
    struct stream_totals *totals;
    struct orbloom *handle;
    struct key_source *source;
    struct stream_batch *batches; /* a ring, oldest at `first` */
    size_t nbatches;
    size_t first;
    size_t used;
    uint64_t shown;      /* failures printed one by one */
    uint64_t unanswered; /* batches in a row */
    bool answered;       /* any batch, ever */
    uint64_t noted;      /* lines told of as reached */
    bool progress;
    uint64_t start_us;
    uint64_t progress_us;
};

const char *stream_show_pace(const struct stream_totals *totals, char text[64])
{
    double seconds = (double)totals->elapsed_us / 1e6;
    double pace = seconds > 0 ? (double)totals->lines / seconds : 0;
    char keys[NUMBER_TEXT_BYTES];

    (void)snprintf(text, 64, "%.2f s, %s keys/s", seconds, number_show_count((uint64_t)pace, keys));
    return text;
}

static void show_progress(struct run *run)
{
    uint64_t now_us = hub_now_us();
    char text[64];

    if (!run->progress || now_us < run->progress_us) {
        return;
    }
    run->progress_us = now_us + PROGRESS_US;
    run->totals->elapsed_us = now_us - run->start_us;
    (void)fprintf(stderr, "\r%" PRIu64 " keys, %s\033[K", run->totals->lines,
                  stream_show_pace(run->totals, text));
}

static void report_bad(const struct key_item *item)
{
    (void)fprintf(stderr, "%s:%" PRIu64 ": %s\n", item->file, item->line, item->reason);
}

/* Keys without an answer are told where they stand, the first few of them. */
static void report_unanswered(struct run *run, const struct stream_batch *batch, size_t entry)
{
    if (run->shown++ < SHOWN_FAILURES) {
        (void)fprintf(stderr, "%s:%" PRIu64 ": %s: %s\n", batch->places[entry].file,
                      batch->places[entry].line, orbloom_code_name(batch->code), batch->message);
    }
}

static void stop(struct run *run, int code, const char *message, const char *because)
{
    if (!run->totals->stopped) {
        (void)cmd_fail((enum status)code, "%s%s", message, because);
    }
    run->totals->stopped = true;
}

/* Refusals that the next batch would meet too. */
static bool is_hopeless(int code)
{
    return code == ORBLOOM_NOT_FOUND || code == ORBLOOM_DROPPED || code == ORBLOOM_INVALID ||
           code == ORBLOOM_VERSION_UNSERVED;
}

static void judge_batch(struct run *run, const struct stream_batch *batch)
{
    uint64_t limit = UNANSWERED_ROUNDS * run->nbatches;

    if (batch->code == ORBLOOM_OK) {
        run->answered = true;
        run->unanswered = 0;
    } else if (is_hopeless(batch->code)) {
        stop(run, batch->code, batch->message, "");
    } else if (batch->code == ORBLOOM_DEADLINE) {
        run->unanswered++;
        if (!run->answered) {
            stop(run, batch->code, batch->message, "");
        } else if (run->unanswered >= limit) {
            stop(run, batch->code, batch->message, " (given up: no batch is answered any more)");
        }
    }
}

/* Every key of the batch, and of all before it, is answered: tell how far that is. One that is not
 * is where the stream is to go on, so nothing behind it is told of. */
static void note(struct run *run, const struct stream_batch *batch)
{
    const struct stream_notes *notes = run->stream->notes;

    if (notes == NULL || run->totals->stopped) {
        return;
    }
    if (memchr(batch->answers, ORBLOOM_UNKNOWN, batch->nkeys) != NULL) {
        stop(run, batch->code, batch->message, "");
        return;
    }
    run->noted += batch->nplaces;
    run->totals->stopped = !notes->reached(notes->context, &batch->end, run->noted);
}

/* Hand out the oldest batch, which is answered. */
static void emit(struct run *run)
{
    struct stream_batch *batch = &run->batches[run->first];
    const uint8_t *key = batch->blob.data;

    judge_batch(run, batch);
    for (size_t i = 0, k = 0; i < batch->nplaces; i++) {
        struct stream_line line = {.bad = batch->places[i].bad};

        if (!line.bad) {
            line.key = span_of(key, batch->lengths[k]);
            line.answer = (enum orbloom_answer)batch->answers[k];
            run->totals->answers[line.answer]++;
            key += batch->lengths[k++];
            if (line.answer == ORBLOOM_UNKNOWN && !run->totals->stopped) {
                report_unanswered(run, batch, i);
            }
        }
        run->stream->line(run->stream->context, &line);
    }
    if (ferror(stdout)) {
        run->totals->stopped = true;
    }
    note(run, batch);
    batch_clear(batch);
    run->first = (run->first + 1) % run->nbatches;
    run->used--;
    show_progress(run);
}

/* Take what has been answered, wait for at most `timeout_ms` if nothing has. */
static void collect(struct run *run, uint32_t timeout_ms)
{
    struct orbloom_completion completion;

    while (orbloom_wait(run->handle, timeout_ms, &completion) != 0) {
        struct stream_batch *batch = completion.user;

        batch_finish(batch, &completion);
        timeout_ms = 0;
    }
    while (run->used > 0 && run->batches[run->first].done) {
        emit(run);
    }
}

static void drain(struct run *run)
{
    while (run->used > 0) {
        collect(run, WAIT_MS);
    }
}

void stream_put_bound(const struct stream *stream, struct orbloom_request *request)
{
    request->bounded = stream->bound != 0;
    request->max_staleness_us = stream->bound != 0 ? staleness_bound(stream->bound) : 0;
}

static void submit(struct run *run, struct stream_batch *batch)
{
    struct orbloom_request request = {
        .filter = run->stream->filter,
        .operation = run->stream->operation,
        .keys = {batch->blob.data, batch->lengths, batch->nkeys},
        .replicas = run->stream->replicas,
        .keyset = run->stream->keyset,
        .acks = run->stream->acks,
        .user = batch,
    };
    int code;

    stream_put_bound(run->stream, &request);
    code = batch->nkeys > 0 ? orbloom_submit(run->handle, &request) : ORBLOOM_OK;
    while (code == ORBLOOM_OVERLOADED && orbloom_in_flight(run->handle) > 0) {
        collect(run, WAIT_MS);
        code = orbloom_submit(run->handle, &request);
    }
    if (batch->nkeys == 0) {
        batch->done = true;
    } else if (code != ORBLOOM_OK) {
        batch_refuse(batch, code, orbloom_error(run->handle));
    }
}

/* A free batch at the end of the ring; waits for one if need be. */
static struct stream_batch *next_batch(struct run *run)
{
    while (run->used == run->nbatches) {
        collect(run, WAIT_MS);
    }
    return &run->batches[(run->first + run->used) % run->nbatches];
}

static bool is_full(const struct run *run, const struct stream_batch *batch)
{
    return batch->nplaces >= run->stream->settings->batch || batch->blob.size >= BATCH_MAX_BYTES;
}

/* Read into the batch until it is full or the input pauses or ends. */
static enum key_event fill(struct run *run, struct stream_batch *batch)
{
    struct key_item item;
    enum key_event event = KEY_READY;

    while (!is_full(run, batch)) {
        event = key_source_next(run->source, &item);
        if (event == KEY_WAIT || event == KEY_END) {
            return event;
        }
        if (event == KEY_UNREADABLE) {
            (void)cmd_fail(STATUS_IO, "%s: %s", item.file, item.reason);
            run->totals->unreadable = true;
            if (run->stream->notes != NULL) {
                run->totals->stopped = true;
                return KEY_END;
            }
            continue;
        }
        run->totals->lines++;
        if (event == KEY_BAD) {
            report_bad(&item);
            run->totals->bad++;
        }
        if (batch_append(batch, &item, event == KEY_BAD) != STATUS_OK) {
            stop(run, STATUS_NOMEM, "no memory for a batch; give a smaller --batch", "");
            return KEY_END;
        }
    }
    return KEY_READY;
}

/* Nothing to read for now: show what is answered, sleep until there is more of either. */
static void idle(struct run *run)
{
    collect(run, PAUSE_MS);
    (void)fflush(stdout);
    if (run->used == 0) {
        key_source_wait(run->source, -1);
    }
}

static bool is_left(const struct run *run)
{
    const struct stream_notes *notes = run->stream->notes;

    return notes != NULL && notes->left(notes->context);
}

static void pump(struct run *run)
{
    enum key_event event = KEY_READY;

    while (event != KEY_END && !run->totals->stopped && !is_left(run)) {
        struct stream_batch *batch = next_batch(run);

        event = fill(run, batch);
        batch->end = key_source_place(run->source);
        run->totals->ended = event == KEY_END;
        if (batch->nplaces > 0) {
            run->used++;
            submit(run, batch);
            collect(run, 0);
        }
        if (event == KEY_WAIT) {
            idle(run);
        }
    }
    drain(run);
}

static int connect_handle(struct run *run)
{
    const struct stream_settings *settings = run->stream->settings;
    struct orbloom_options options = {
        .routers = settings->common.routers,
        .credential = settings->common.credential,
        .coordinators = settings->common.coordinators,
        .timeout_ms = (uint32_t)(settings->common.timeout_us / US_PER_MS),
        .max_in_flight = (uint32_t)settings->in_flight,
        .max_bytes = INFLIGHT_BYTES,
        .in_order = run->stream->operation == ORBLOOM_ADD,
        .fail_over = settings->fail_over,
    };
    int code = orbloom_connect(&options, &run->handle);

    if (code != ORBLOOM_OK) {
        (void)fprintf(stderr, "orbloom: %s\n", orbloom_error(run->handle));
        return code == ORBLOOM_INVALID ? CMD_USAGE : CMD_PARTIAL;
    }
    return CMD_OK;
}

static enum status open_source(struct run *run, char *const *files, size_t nfiles)
{
    char delimiter = run->stream->settings->nul ? '\0' : '\n';
    enum status status = key_source_create(files, nfiles, delimiter, &run->source);

    if (status == STATUS_OK && run->stream->notes != NULL) {
        key_source_begin_at(run->source, &run->stream->notes->from);
    }
    return status;
}

static enum status prepare(struct run *run, char *const *files, size_t nfiles)
{
    const struct stream_settings *settings = run->stream->settings;

    run->nbatches = settings->in_flight;
    run->batches = heap_zalloc(run->nbatches, sizeof *run->batches);
    if (run->batches == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < run->nbatches; i++) {
        batch_init(&run->batches[i], settings->batch);
    }
    run->progress = !settings->quiet && run->stream->notes == NULL && isatty(STDERR_FILENO) != 0;
    run->start_us = hub_now_us();
    run->progress_us = run->start_us + 2 * PROGRESS_US;
    (void)setvbuf(stdout, NULL, _IOFBF, OUTPUT_BYTES);
    return open_source(run, files, nfiles);
}

static void release(struct run *run)
{
    orbloom_close(&run->handle);
    key_source_destroy(&run->source);
    for (size_t i = 0; run->batches != NULL && i < run->nbatches; i++) {
        batch_fini(&run->batches[i]);
    }
    heap_free(run->batches);
}

static int conclude(struct run *run)
{
    const struct stream_totals *totals = run->totals;

    if (run->progress) {
        (void)fprintf(stderr, "\r\033[K");
    }
    if (run->shown > SHOWN_FAILURES) {
        (void)fprintf(stderr, "orbloom: %" PRIu64 " more keys without an answer\n",
                      run->shown - SHOWN_FAILURES);
    }
    if (totals->stopped && !totals->ended && !ferror(stdout)) {
        (void)fprintf(stderr, "orbloom: stopped after %" PRIu64 " lines; the rest was not read\n",
                      totals->lines);
    }
    return totals->bad > 0 || totals->answers[ORBLOOM_UNKNOWN] > 0 || totals->stopped ||
                   totals->unreadable || !totals->ended
               ? CMD_PARTIAL
               : CMD_OK;
}

int stream_run(const struct stream *stream, char *const *files, size_t nfiles,
               struct stream_totals *totals)
{
    struct run run = {.stream = stream, .totals = totals};
    int code = connect_handle(&run);

    *totals = (struct stream_totals){0};
    if (code == CMD_OK && prepare(&run, files, nfiles) != STATUS_OK) {
        code = cmd_fail(STATUS_NOMEM,
                        "no memory for %" PRIu64 " batches; give a smaller "
                        "--in-flight",
                        stream->settings->in_flight);
    }
    if (code == CMD_OK) {
        pump(&run);
        totals->elapsed_us = hub_now_us() - run.start_us;
        code = conclude(&run);
    }
    release(&run);
    return cmd_close_output(code);
}
