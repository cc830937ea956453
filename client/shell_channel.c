/* A hub with one session on it, set up from options or the environment: driven by the library,
 * or for one question at a time by commands. */
#include "client/shell_channel.h"

#include "base/heap.h"
#include "client/endpoint_list.h"
#include "runtime/hub.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { ATTEMPT_US = 1000000, INFLIGHT_BYTES = 64 << 20, WAIT_US = 1000000 };

struct channel {
    struct hub *hub;
    struct session *session;
    struct actor actor;
};

/* A list's text: as given, else of the environment, else the default. */
static enum status read_list(const char *given, const char *variable, const char *fallback,
                             char names[][DOCUMENT_TEXT_BYTES], uint32_t *count, char *reason)
{
    const char *text = given;
    enum status status;

    if (text == NULL) {
        text = getenv(variable);
    }
    if (text == NULL || text[0] == '\0') {
        text = fallback;
    }
    status = endpoint_list_parse(text, names, count);
    if (status != STATUS_OK) {
        (void)snprintf(reason, CHANNEL_REASON_BYTES,
                       "\"%.200s\" is not a list of endpoints; write at most %d as "
                       "tcp://HOST:PORT, separated by commas, in %s or as a flag",
                       text, SESSION_MAX_ENDPOINTS, variable);
    }
    return status;
}

static enum status configure(const struct channel_options *options, struct session_config *config,
                             char *reason)
{
    enum status status = read_list(options->routers, "ORBLOOM_ROUTER", ENDPOINT_DEFAULT_ROUTER,
                                   config->routers, &config->nrouters, reason);

    if (status == STATUS_OK) {
        status = read_list(options->coordinators, "ORBLOOM_COORDINATOR",
                           ENDPOINT_DEFAULT_COORDINATOR, config->coordinators,
                           &config->ncoordinators, reason);
    }
    config->attempt_us = options->attempt_us > 0 ? options->attempt_us : ATTEMPT_US;
    config->max_inflight_bytes = options->max_inflight_bytes > 0 ? options->max_inflight_bytes
                                                                 : INFLIGHT_BYTES;
    config->in_order = options->in_order;
    return status;
}

enum status channel_open(const struct channel_options *options, struct channel **out,
                         char reason[CHANNEL_REASON_BYTES])
{
    struct hub_options hub_options = {.max_frame_bytes = CODEC_MAX_FRAME_BYTES};
    struct session_config *config = heap_zalloc(1, sizeof *config);
    struct channel *self = heap_zalloc(1, sizeof *self);
    enum status status = STATUS_NOMEM;

    assert(out != NULL && *out == NULL);

    reason[0] = '\0';
    if (config == NULL || self == NULL) {
        goto fail;
    }
    status = configure(options, config, reason);
    if (status == STATUS_OK) {
        status = hub_create(&hub_options, &self->hub);
    }
    if (status == STATUS_OK) {
        status = session_create(config, hub_effects(self->hub), &self->session);
    }
    if (status != STATUS_OK) {
        goto fail;
    }
    self->actor = session_actor(self->session);
    hub_attach(self->hub, &self->actor);
    heap_free(config);
    *out = self;
    return STATUS_OK;

fail:
    if (reason[0] == '\0') {
        (void)snprintf(reason, CHANNEL_REASON_BYTES, "%s", status_meaning(status));
    }
    heap_free(config);
    channel_close(&self);
    return status;
}

void channel_close(struct channel **channel)
{
    struct channel *self = *channel;

    if (self == NULL) {
        return;
    }
    session_destroy(&self->session);
    hub_destroy(&self->hub);
    heap_free(self);
    *channel = NULL;
}

struct session *channel_session(struct channel *channel)
{
    return channel->session;
}

void channel_run(struct channel *channel, uint64_t timeout_us)
{
    hub_run_once(channel->hub, timeout_us);
}

struct waiting {
    session_done_fn done;
    void *context;
    bool over;
};

static void on_done(void *context, const struct session_result *result)
{
    struct waiting *waiting = context;

    waiting->over = true;
    waiting->done(waiting->context, result);
}

void channel_ask(struct channel *channel, uint64_t timeout_us, const struct frame *frame,
                 session_done_fn done, void *context)
{
    struct waiting waiting = {.done = done, .context = context};
    enum status status = session_ask(channel->session, hub_now_us(), timeout_us, frame, on_done,
                                     &waiting);

    if (status != STATUS_OK) {
        struct session_result refusal = {.status = status, .message = status_meaning(status)};

        done(context, &refusal);
        return;
    }
    while (!waiting.over) {
        channel_run(channel, WAIT_US);
    }
}
