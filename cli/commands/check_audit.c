/* Sends each batch to every set of slots through every router, and prints the keys that any of
 * them calls absent. */
#include "cli/commands/check_audit.h"

#include "base/heap.h"
#include "base/number.h"
#include "cli/cmd.h"
#include "cli/stream_batch.h"
#include "runtime/hub.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    GIVE_UP_BATCHES = 3, /* without any answer */
    WAIT_MS = 2,
    US_PER_MS = 1000,
    INFLIGHT_BYTES = 256 << 20,
};

/* One router and one set. */
struct probe {
    uint32_t router;
    uint32_t mask;
    uint32_t unanswered; /* batches in a row */
    uint8_t *answers;    /* of the batch under way */
};

struct audit {
    const struct stream *stream;
    const struct stream_settings *settings; /* its */
    const struct check_sets *sets;
    char routers[SESSION_MAX_ENDPOINTS][DOCUMENT_TEXT_BYTES];
    uint32_t nrouters;
    struct orbloom *handles[SESSION_MAX_ENDPOINTS];
    struct probe *probes;
    size_t nprobes;
    struct key_source *source;
    struct stream_batch batch;
    uint64_t lines;
    uint64_t bad;
    uint64_t answers[4];
    uint64_t keys_absent;
    bool failed; /* a file could not be read, or memory was out */
};

/* ---- one batch ---- */

static void take(struct audit *self, const struct orbloom_completion *done)
{
    struct probe *probe = done->user;
    char set[CHECK_SET_BYTES];
    bool answered = false;

    for (size_t i = 0; i < done->count; i++) {
        probe->answers[i] = done->answers[i];
        answered |= done->answers[i] != ORBLOOM_UNKNOWN;
    }
    probe->unanswered = answered ? 0 : probe->unanswered + 1;
    if (probe->unanswered == GIVE_UP_BATCHES) {
        (void)fprintf(stderr, "slots %s through %s are not asked any more: %s: %s\n",
                      check_set_show(probe->mask, set), self->routers[probe->router],
                      orbloom_code_name(done->code), done->message);
    }
}

/* In turn, since a handle that is not waited for does not look at its answers either. */
static size_t collect(struct audit *self)
{
    struct orbloom_completion done;
    size_t open = 0;

    for (uint32_t i = 0; i < self->nrouters; i++) {
        if (orbloom_wait(self->handles[i], WAIT_MS, &done) != 0) {
            take(self, &done);
        }
        open += orbloom_in_flight(self->handles[i]);
    }
    return open;
}

static void submit(struct audit *self, struct probe *probe)
{
    struct orbloom *handle = self->handles[probe->router];
    struct orbloom_request request = {
        .filter = self->stream->filter,
        .operation = ORBLOOM_CHECK,
        .keys = {self->batch.blob.data, self->batch.lengths, self->batch.nkeys},
        .replicas = probe->mask,
        .user = probe,
    };
    int code;

    stream_put_bound(self->stream, &request);
    memset(probe->answers, ORBLOOM_UNKNOWN, self->batch.nkeys);
    if (probe->unanswered >= GIVE_UP_BATCHES) {
        return;
    }
    code = orbloom_submit(handle, &request);
    while (code == ORBLOOM_OVERLOADED && orbloom_in_flight(handle) > 0) {
        (void)collect(self);
        code = orbloom_submit(handle, &request);
    }
    if (code != ORBLOOM_OK) {
        (void)fprintf(stderr, "orbloom: %s\n", orbloom_error(handle));
        self->failed = true;
    }
}

/* In input order, whichever answer came first. */
static void print_key(struct audit *self, struct span key, size_t index)
{
    bool absent = false;

    for (size_t i = 0; i < self->nprobes; i++) {
        const struct probe *probe = &self->probes[i];
        char set[CHECK_SET_BYTES];

        self->answers[probe->answers[index]]++;
        if (probe->answers[index] == ORBLOOM_ABSENT) {
            absent = true;
            (void)fwrite(key.data, 1, key.size, stdout);
            (void)printf("\tabsent\t%s\t%s%c", check_set_show(probe->mask, set),
                         self->routers[probe->router], self->settings->nul ? '\0' : '\n');
        }
    }
    self->keys_absent += absent;
}

static void ask(struct audit *self)
{
    const uint8_t *key = self->batch.blob.data;

    for (size_t i = 0; i < self->nprobes; i++) {
        submit(self, &self->probes[i]);
    }
    while (collect(self) > 0) {
    }
    for (size_t i = 0; i < self->batch.nkeys; i++) {
        print_key(self, span_of(key, self->batch.lengths[i]), i);
        key += self->batch.lengths[i];
    }
    batch_clear(&self->batch);
}

/* ---- all of them ---- */

static bool is_full(const struct audit *self)
{
    return self->batch.nplaces >= self->settings->batch || self->batch.blob.size >= BATCH_MAX_BYTES;
}

/* False at the end of the input. */
static bool read_key(struct audit *self)
{
    struct key_item item;
    enum key_event event = key_source_next(self->source, &item);

    if (event == KEY_END) {
        return false;
    }
    if (event == KEY_WAIT) {
        key_source_wait(self->source, -1);
    } else if (event == KEY_UNREADABLE) {
        (void)cmd_fail(STATUS_IO, "%s: %s", item.file, item.reason);
        self->failed = true;
    } else if (event == KEY_BAD) {
        (void)fprintf(stderr, "%s:%" PRIu64 ": %s\n", item.file, item.line, item.reason);
        self->lines++;
        self->bad++;
    } else {
        self->lines++;
        if (batch_append(&self->batch, &item, false) != STATUS_OK) {
            (void)cmd_fail(STATUS_NOMEM, "no memory for a batch; give a smaller --batch");
            self->failed = true;
            return false;
        }
    }
    return true;
}

static void ask_all(struct audit *self)
{
    while (read_key(self) && !ferror(stdout)) {
        if (is_full(self)) {
            ask(self);
        }
    }
    if (self->batch.nkeys > 0) {
        ask(self);
    }
}

/* ---- before and after ---- */

static int connect_routers(struct audit *self)
{
    struct orbloom_options options = {
        .credential = self->settings->common.credential,
        .timeout_ms = (uint32_t)(self->settings->common.timeout_us / US_PER_MS),
        .max_in_flight = CHECK_MAX_SETS,
        .max_bytes = INFLIGHT_BYTES,
    };
    char reason[CHANNEL_REASON_BYTES];

    if (channel_routers(self->settings->common.routers, self->routers, &self->nrouters, reason) !=
        STATUS_OK) {
        return cmd_fail(STATUS_INVALID, "%s", reason);
    }
    for (uint32_t i = 0; i < self->nrouters; i++) {
        options.routers = self->routers[i];
        if (orbloom_connect(&options, &self->handles[i]) != ORBLOOM_OK) {
            (void)fprintf(stderr, "orbloom: %s\n", orbloom_error(self->handles[i]));
            return CMD_PARTIAL;
        }
    }
    return CMD_OK;
}

/* N and R are the filter's; the first router that knows them tells. */
static int find_sets(struct audit *self, struct check_sets *sets)
{
    struct orbloom_info info;

    self->sets = sets;
    for (uint32_t i = 0; sets->all && i < self->nrouters; i++) {
        if (orbloom_info(self->handles[i], self->stream->filter, &info) == ORBLOOM_OK) {
            check_sets_fill(sets, info.replicas, info.read_quorum);
            return CMD_OK;
        }
    }
    if (sets->all) {
        (void)fprintf(stderr, "orbloom: %s\n", orbloom_error(self->handles[0]));
        return CMD_PARTIAL;
    }
    return CMD_OK;
}

static enum status make_probes(struct audit *self)
{
    self->nprobes = self->nrouters * self->sets->count;
    self->probes = heap_zalloc(self->nprobes, sizeof *self->probes);
    for (size_t i = 0; self->probes != NULL && i < self->nprobes; i++) {
        struct probe *probe = &self->probes[i];

        probe->router = (uint32_t)(i / self->sets->count);
        probe->mask = self->sets->masks[i % self->sets->count];
        probe->answers = heap_alloc(self->settings->batch, 1);
        if (probe->answers == NULL) {
            return STATUS_NOMEM;
        }
    }
    return self->probes != NULL ? STATUS_OK : STATUS_NOMEM;
}

static void release(struct audit *self)
{
    for (size_t i = 0; self->probes != NULL && i < self->nprobes; i++) {
        heap_free(self->probes[i].answers);
    }
    heap_free(self->probes);
    for (uint32_t i = 0; i < self->nrouters; i++) {
        orbloom_close(&self->handles[i]);
    }
    key_source_destroy(&self->source);
    batch_fini(&self->batch);
}

static void summarize(const struct audit *self, uint64_t start_us)
{
    struct stream_totals totals = {.lines = self->lines, .elapsed_us = hub_now_us() - start_us};
    char text[6][NUMBER_TEXT_BYTES];
    char pace[64];

    (void)fprintf(stderr,
                  "check %s: %s read, each through %zu sets of slots and %u routers: %s present, "
                  "%s absent, %s maybe, %s unknown; %s keys absent somewhere; %s\n",
                  self->stream->filter, number_show_count(self->lines, text[0]), self->sets->count,
                  self->nrouters, number_show_count(self->answers[ORBLOOM_PRESENT], text[1]),
                  number_show_count(self->answers[ORBLOOM_ABSENT], text[2]),
                  number_show_count(self->answers[ORBLOOM_MAYBE], text[3]),
                  number_show_count(self->answers[ORBLOOM_UNKNOWN], text[4]),
                  number_show_count(self->keys_absent, text[5]), stream_show_pace(&totals, pace));
}

static int conclude(const struct audit *self)
{
    bool sure = self->answers[ORBLOOM_ABSENT] == 0 && self->answers[ORBLOOM_MAYBE] == 0 &&
                self->answers[ORBLOOM_UNKNOWN] == 0 && self->bad == 0 && !self->failed;

    return sure ? CMD_OK : CMD_PARTIAL;
}

int audit_run(const struct stream *stream, struct check_sets *sets, char *const *files,
              size_t nfiles)
{
    const struct stream_settings *settings = stream->settings;
    struct audit audit = {.stream = stream, .settings = settings};
    uint64_t start_us = hub_now_us();
    int code = connect_routers(&audit);

    batch_init(&audit.batch, settings->batch);
    if (code == CMD_OK) {
        code = find_sets(&audit, sets);
    }
    if (code == CMD_OK && (make_probes(&audit) != STATUS_OK ||
                           key_source_create(files, nfiles, settings->nul ? '\0' : '\n',
                                             &audit.source) != STATUS_OK)) {
        code = cmd_fail(STATUS_NOMEM, "no memory for the sets; give a smaller --batch");
    }
    if (code == CMD_OK) {
        ask_all(&audit);
        code = conclude(&audit);
        if (!settings->quiet) {
            summarize(&audit, start_us);
        }
    }
    release(&audit);
    return cmd_close_output(code);
}
