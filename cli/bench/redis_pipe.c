/* A socket without blocking: batches are written as it takes them, and replies are read
 * meanwhile, so that neither side fills up. */
#include "cli/bench/redis_pipe.h"

#include "base/heap.h"
#include "cli/bench/load.h"
#include "runtime/hub.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
    RING = LOAD_MAX_IN_FLIGHT,
    VECTORS = 64,
    READ_BYTES = 16 << 10,  /* hiredis moves what is left of its buffer: keep that short */
    EARLY_BYTES = 64 << 10, /* so much waiting to be sent leaves before the next wait */
    MESSAGE_BYTES = 512,
    US_PER_MS = 1000,
    US_PER_S = 1000000,
};

struct redis_pipe {
    struct redis_pipe_options options;
    redisReader *reader;
    struct reply_taker taker;
    struct redis_pipe_batch *ring[RING];
    uint64_t answered; /* batches so far; the one in ring[answered % RING] is answered next */
    uint64_t written;  /* batches that are sent whole */
    uint64_t submitted;
    size_t unsent_bytes;
    uint64_t progress_us; /* when a byte last went in either direction */
    int code;
    char message[MESSAGE_BYTES]; /* "CODE: cause; remedy" */
    const char *reason;          /* behind the code */
    char refusal[MESSAGE_BYTES]; /* of one batch */
    uint8_t buffer[READ_BYTES];
};

static struct redis_pipe_batch *at(const struct redis_pipe *self, uint64_t number)
{
    return self->ring[number % RING];
}

static void PRINTF_LIKE(3, 4) break_pipe(struct redis_pipe *self, int code, const char *format, ...)
{
    int size = snprintf(self->message, sizeof self->message, "%s: ", orbloom_code_name(code));
    va_list args;

    va_start(args, format);
    (void)vsnprintf(self->message + size, sizeof self->message - (size_t)size, format, args);
    va_end(args);
    self->reason = self->message + size;
    self->code = code;
}

/* ---- writing ---- */

static int gather(const struct redis_pipe *self, struct iovec vectors[VECTORS])
{
    int count = 0;

    for (uint64_t i = self->written; i < self->submitted && count < VECTORS; i++) {
        const struct redis_pipe_batch *batch = at(self, i);

        vectors[count].iov_base = batch->resp.bytes + batch->sent;
        vectors[count].iov_len = batch->resp.end - batch->sent;
        count++;
    }
    return count;
}

static void count_sent(struct redis_pipe *self, size_t size)
{
    self->unsent_bytes -= size;
    while (size > 0) {
        struct redis_pipe_batch *batch = at(self, self->written);
        size_t left = batch->resp.end - batch->sent;
        size_t part = size < left ? size : left;

        batch->sent += part;
        size -= part;
        self->written += batch->sent == batch->resp.end;
    }
}

static void flush(struct redis_pipe *self)
{
    while (self->code == ORBLOOM_OK && self->unsent_bytes > 0) {
        struct iovec vectors[VECTORS];
        struct msghdr message = {.msg_iov = vectors};
        ssize_t sent;

        message.msg_iovlen = (size_t)gather(self, vectors);
        sent = sendmsg(self->options.connection->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            count_sent(self, (size_t)sent);
            self->progress_us = hub_now_us();
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } else if (errno != EINTR) {
            break_pipe(self, ORBLOOM_IO,
                       "the connection to %s broke (%s); does the server still run? See its log",
                       self->options.place, strerror(errno));
        }
    }
}

/* ---- reading ---- */

static void await_next(struct redis_pipe *self)
{
    if (self->answered < self->submitted) {
        struct redis_pipe_batch *batch = at(self, self->answered);

        reply_begin(&self->taker, batch->batch->operation, batch->batch->count, batch->answers);
    } else {
        self->taker.count = 0;
    }
}

/* Take whole replies out of what was read; true when the oldest batch has all of its own. */
static bool parse(struct redis_pipe *self)
{
    void *reply = NULL;

    while (self->code == ORBLOOM_OK) {
        if (redisReaderGetReply(self->reader, &reply) != REDIS_OK) {
            break_pipe(self, ORBLOOM_MALFORMED,
                       "what listens at %s is no Redis server (%s); give --redis the endpoint of "
                       "one",
                       self->options.place, self->reader->errstr);
        } else if (self->taker.wrong) {
            break_pipe(self, ORBLOOM_MALFORMED,
                       "%s answers like no Redis server; SMISMEMBER needs version 6.2 or newer",
                       self->options.place);
        } else if (reply == NULL) {
            return false;
        } else if (reply_end_one(&self->taker)) {
            return true;
        }
    }
    return false;
}

static void receive(struct redis_pipe *self)
{
    ssize_t size = recv(self->options.connection->fd, self->buffer, sizeof self->buffer,
                        MSG_DONTWAIT);

    if (size > 0) {
        self->progress_us = hub_now_us();
        if (redisReaderFeed(self->reader, (const char *)self->buffer, (size_t)size) != REDIS_OK) {
            break_pipe(self, ORBLOOM_NOMEM, "no memory for replies; give a smaller --batch");
        }
    } else if (size == 0) {
        break_pipe(self, ORBLOOM_IO,
                   "the server at %s closed the connection; does it still run? See its log",
                   self->options.place);
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        break_pipe(self, ORBLOOM_IO,
                   "the connection to %s broke (%s); does the server still run? See its log",
                   self->options.place, strerror(errno));
    }
}

/* Wait until the socket can be read, or written when something is to be; false: it could not
 * within the time, and no deadline has passed. */
static bool sleep_until_ready(struct redis_pipe *self, uint32_t timeout_ms)
{
    struct pollfd waited = {.fd = self->options.connection->fd, .events = POLLIN};
    uint64_t deadline_us = self->progress_us + self->options.timeout_us;
    uint64_t now_us = hub_now_us();
    uint64_t left_ms = now_us < deadline_us ? (deadline_us - now_us) / US_PER_MS + 1 : 0;

    if (self->unsent_bytes > 0) {
        waited.events |= POLLOUT;
    }
    if (poll(&waited, 1, (int)(left_ms < timeout_ms ? left_ms : timeout_ms)) > 0) {
        if ((waited.revents & ~POLLOUT) != 0) {
            receive(self);
        }
        return true;
    }
    if (hub_now_us() < deadline_us) {
        return false;
    }
    break_pipe(self, ORBLOOM_DEADLINE, "no answer from %s within %g s; give a longer --timeout",
               self->options.place, (double)self->options.timeout_us / US_PER_S);
    return true;
}

/* ---- batches ---- */

static void hand_out(struct redis_pipe *self, struct bench_completion *out)
{
    struct redis_pipe_batch *batch = at(self, self->answered);
    bool counted = self->code == ORBLOOM_OK && self->taker.error[0] == '\0' &&
                   self->taker.method == REDIS_SET && self->taker.operation == ORBLOOM_ADD;

    *out = (struct bench_completion){.batch = batch->batch,
                                     .code = self->code,
                                     .message = self->code == ORBLOOM_OK ? "" : self->reason,
                                     .answers = counted ? NULL : batch->answers,
                                     .added = self->taker.added,
                                     .latency_us = hub_now_us() - batch->submitted_us};
    if (self->code == ORBLOOM_OK && self->taker.error[0] != '\0') {
        (void)snprintf(self->refusal, sizeof self->refusal, "%s refused %s: %s",
                       self->options.place, resp_command(self->taker.method, self->taker.operation),
                       self->taker.error);
        out->code = ORBLOOM_UNAVAILABLE;
        out->message = self->refusal;
    }
    self->answered++;
    await_next(self);
}

int redis_pipe_submit(struct redis_pipe *self, struct redis_pipe_batch *batch)
{
    if (self->code != ORBLOOM_OK) {
        return self->code;
    }
    if (redis_pipe_in_flight(self) == RING) {
        return ORBLOOM_OVERLOADED;
    }
    batch->sent = batch->resp.begin;
    batch->submitted_us = hub_now_us();
    self->ring[self->submitted % RING] = batch;
    self->submitted++;
    self->unsent_bytes += batch->resp.end - batch->resp.begin;
    if (redis_pipe_in_flight(self) == 1) {
        self->progress_us = batch->submitted_us;
        await_next(self);
    }
    if (self->unsent_bytes >= EARLY_BYTES) {
        flush(self);
    }
    return ORBLOOM_OK; /* Should it have broken, wait() says so. */
}

bool redis_pipe_wait(struct redis_pipe *self, uint32_t timeout_ms, struct bench_completion *out)
{
    while (redis_pipe_in_flight(self) > 0) {
        if (parse(self) || self->code != ORBLOOM_OK) {
            hand_out(self, out);
            return true;
        }
        if (timeout_ms == 0) {
            return false; /* What was read is taken; more of it costs a system call. */
        }
        flush(self);
        if (self->code == ORBLOOM_OK && !sleep_until_ready(self, timeout_ms)) {
            return false;
        }
    }
    return false;
}

size_t redis_pipe_in_flight(const struct redis_pipe *self)
{
    return (size_t)(self->submitted - self->answered);
}

const char *redis_pipe_error(const struct redis_pipe *self)
{
    return self->message;
}

struct redis_pipe *redis_pipe_create(const struct redis_pipe_options *options)
{
    struct redis_pipe *self = heap_zalloc(1, sizeof *self);

    if (self == NULL) {
        redisFree(options->connection);
        return NULL;
    }
    self->options = *options;
    self->taker.method = options->method;
    self->reader = reply_reader_create(&self->taker);
    if (self->reader == NULL) {
        redis_pipe_destroy(&self);
    }
    return self;
}

void redis_pipe_destroy(struct redis_pipe **pipe)
{
    struct redis_pipe *self = *pipe;

    if (self != NULL) {
        if (self->reader != NULL) {
            redisReaderFree(self->reader);
        }
        redisFree(self->options.connection);
        heap_free(self);
        *pipe = NULL;
    }
}
