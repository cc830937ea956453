/* A hub with one session on it, set up from options or the environment: driven by the library,
 * or for one question at a time by commands. */
#include "client/shell_channel.h"

#include "base/heap.h"
#include "client/endpoint_list.h"
#include "client/shell_credential.h"
#include "runtime/hub.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ATTEMPT_US = 1000000, INFLIGHT_BYTES = 64 << 20, WAIT_US = 1000000 };

struct channel {
    struct hub *hub;
    struct session *session;
    struct actor actor;
    struct hub_curve curve;
    bool has_credential;
    struct credential credential;
    char *credential_path; /* NULL: it is of no file */
    char coordinators[SESSION_MAX_ENDPOINTS][DOCUMENT_TEXT_BYTES];
    uint32_t ncoordinators;
};

/* ---- by CURVE: who has a credential speaks nothing else, who has none plain ---- */

/* Keys of one kind of process that a link may meet, the one that serves first; not all of a long
 * ring, where there are others to try. */
static size_t put_dials(const struct channel *self, enum curve_kind kind, size_t most,
                        struct hub_dial *dials)
{
    const struct public_keys *keys = &self->credential.processes.of[kind];
    size_t count = keys->count < most ? keys->count : most;

    for (size_t i = 0; i < count; i++) {
        dials[i].own = self->credential.pair;
        memcpy(dials[i].server, keys->keys[i], CURVE_KEY_BYTES);
    }
    return count;
}

static bool is_coordinator(const struct channel *self, const char *endpoint)
{
    for (uint32_t i = 0; i < self->ncoordinators; i++) {
        if (strcmp(self->coordinators[i], endpoint) == 0) {
            return true;
        }
    }
    return false;
}

/* It may have been renewed, as it is while the cluster key is replaced; else what was read stands.
 */
static void read_again(struct channel *self)
{
    struct credential fresh;
    char why[FILE_REASON_BYTES];

    if (self->credential_path != NULL &&
        credential_file_read(self->credential_path, &fresh, why) == STATUS_OK) {
        self->credential = fresh;
        credential_wipe(&fresh);
    }
}

/* What stands in the place of a router may be another process: it is asked for its counters. */
static size_t dial(void *context, const char *endpoint, bool *plain,
                   struct hub_dial dials[HUB_MAX_DIALS])
{
    struct channel *self = context;
    size_t count = 0;

    if (!self->has_credential) {
        *plain = true;
        return 0;
    }
    read_again(self);
    if (is_coordinator(self, endpoint)) {
        return put_dials(self, CURVE_COORDINATOR, HUB_MAX_DIALS, dials);
    }
    count = put_dials(self, CURVE_ROUTER, HUB_MAX_DIALS / 2, dials);
    count += put_dials(self, CURVE_NODE, HUB_MAX_DIALS / 4, dials + count);
    return count + put_dials(self, CURVE_COORDINATOR, HUB_MAX_DIALS / 4, dials + count);
}

static enum status read_credential(struct channel *self, const struct channel_options *options,
                                   char *reason)
{
    const char *path = options->credential != NULL ? options->credential
                                                   : getenv(CREDENTIAL_VARIABLE);
    char why[FILE_REASON_BYTES];
    enum status status;

    if (options->held != NULL) {
        self->credential = *options->held;
        self->has_credential = true;
        return STATUS_OK;
    }
    if (path == NULL || path[0] == '\0' || strcmp(path, CHANNEL_NO_CREDENTIAL) == 0) {
        return STATUS_OK;
    }
    status = credential_file_read(path, &self->credential, why);
    self->has_credential = status == STATUS_OK;
    if (status != STATUS_OK) {
        (void)snprintf(reason, CHANNEL_REASON_BYTES, "%s", why);
        return status;
    }
    self->credential_path = heap_strdup(path);
    return self->credential_path != NULL ? STATUS_OK : STATUS_NOMEM;
}

/* ---- options ---- */

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

enum status channel_routers(const char *given, char names[][DOCUMENT_TEXT_BYTES], uint32_t *count,
                            char reason[CHANNEL_REASON_BYTES])
{
    return read_list(given, "ORBLOOM_ROUTER", ENDPOINT_DEFAULT_ROUTER, names, count, reason);
}

enum status channel_coordinators(const char *given, char names[][DOCUMENT_TEXT_BYTES],
                                 uint32_t *count, char reason[CHANNEL_REASON_BYTES])
{
    return read_list(given, "ORBLOOM_COORDINATOR", ENDPOINT_DEFAULT_COORDINATOR, names, count,
                     reason);
}

static enum status configure(const struct channel_options *options, struct session_config *config,
                             char *reason)
{
    enum status status = channel_routers(options->routers, config->routers, &config->nrouters,
                                         reason);

    if (status == STATUS_OK) {
        status = channel_coordinators(options->coordinators, config->coordinators,
                                      &config->ncoordinators, reason);
    }
    config->attempt_us = options->attempt_us > 0 ? options->attempt_us : ATTEMPT_US;
    config->max_inflight_bytes = options->max_inflight_bytes > 0 ? options->max_inflight_bytes
                                                                 : INFLIGHT_BYTES;
    config->in_order = options->in_order;
    config->fail_over = options->fail_over;
    return status;
}

static enum status open_hub(struct channel *self, const struct session_config *config)
{
    const struct hub_options options = {.max_frame_bytes = CODEC_MAX_FRAME_BYTES,
                                        .curve = &self->curve};

    memcpy(self->coordinators, config->coordinators, sizeof self->coordinators);
    self->ncoordinators = config->ncoordinators;
    self->curve = (struct hub_curve){.context = self, .dial = dial};
    return hub_create(&options, &self->hub);
}

enum status channel_open(const struct channel_options *options, struct channel **out,
                         char reason[CHANNEL_REASON_BYTES])
{
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
        status = read_credential(self, options, reason);
    }
    if (status == STATUS_OK) {
        status = open_hub(self, config);
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
    if (self->hub != NULL) {
        hub_part_from_parent(self->hub);
    }
    session_destroy(&self->session);
    hub_destroy(&self->hub);
    credential_wipe(&self->credential);
    heap_free(self->credential_path);
    heap_free(self);
    *channel = NULL;
}

bool channel_is_encrypted(const struct channel *channel)
{
    return channel->has_credential;
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
