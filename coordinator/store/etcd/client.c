/* One call at a time by libcurl: each endpoint in turn, a token where a user is named, and what
 * became of a request whose answer is missing. */
#include "coordinator/store/etcd/client.h"

#include "base/log.h"
#include "coordinator/store/etcd/refusal.h"
#include "runtime/hub.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum {
    QUIET_US = 10000000,
    ELECTION_MS = 100, /* what is left of one when members that answer have said so */
};

/* What became of one attempt at one endpoint. */
enum outcome {
    OUTCOME_ANSWERED,
    OUTCOME_NOT_SENT, /* it was not executed */
    OUTCOME_LOST,     /* it may have been */
    OUTCOME_REFUSED,  /* by etcd: asking another member is of no use */
    OUTCOME_NO_TOKEN, /* refused, for want of a valid token */
};

static size_t take(char *data, size_t size, size_t count, void *context)
{
    struct etcd_client *self = context;
    enum status status = buffer_append(&self->answer, span_of(data, size * count));

    self->too_large = status == STATUS_TOO_LARGE;
    self->no_memory = status == STATUS_NOMEM;
    return status == STATUS_OK ? size * count : 0;
}

enum status etcd_client_init(struct etcd_client *self, const struct store_etcd_config *config)
{
    *self = (struct etcd_client){.config = config};
    buffer_init(&self->answer, ETCD_MAX_ANSWER_BYTES);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return STATUS_NOMEM;
    }
    self->curl = curl_easy_init();
    if (self->curl == NULL) {
        curl_global_cleanup();
        return STATUS_NOMEM;
    }
    return STATUS_OK;
}

void etcd_client_fini(struct etcd_client *self)
{
    if (self->curl != NULL) {
        curl_easy_cleanup(self->curl);
        curl_global_cleanup();
    }
    self->curl = NULL;
    buffer_fini(&self->answer);
    explicit_bzero(self->token, sizeof self->token);
}

void etcd_client_interrupt(struct etcd_client *self)
{
    atomic_store(&self->interrupted, true);
}

/* libcurl asks this about once a second, and more often while anything moves; not 0: stop. */
static int is_interrupted(void *context, curl_off_t total, curl_off_t now, curl_off_t total_up,
                          curl_off_t now_up)
{
    const struct etcd_client *self = context;

    (void)total, (void)now, (void)total_up, (void)now_up;
    return atomic_load(&self->interrupted);
}

static void set_tls(CURL *curl, const struct store_etcd_config *config)
{
    if (config->ca_file[0] != '\0') {
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, config->ca_file);
    }
    if (config->cert_file[0] != '\0') {
        (void)curl_easy_setopt(curl, CURLOPT_SSLCERT, config->cert_file);
        (void)curl_easy_setopt(curl, CURLOPT_SSLKEY, config->key_file);
    }
}

static struct curl_slist *make_headers(const struct etcd_client *self)
{
    char token[ETCD_TOKEN_BYTES + 32];
    struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");
    struct curl_slist *longer;

    if (list == NULL) {
        return NULL;
    }
    (void)snprintf(token, sizeof token, "Authorization: %s", self->token);
    /* "Expect: 100-continue" would cost a second with servers that do not know it. */
    longer = curl_slist_append(list, "Expect:");
    if (longer != NULL && self->token[0] != '\0') {
        longer = curl_slist_append(list, token);
    }
    if (longer == NULL) {
        curl_slist_free_all(list);
    }
    return longer;
}

struct curl_slist *etcd_client_prepare(struct etcd_client *self, CURL *curl, const char *path,
                                       struct span body)
{
    char url[STORE_ETCD_ENDPOINT_BYTES + 64];
    struct curl_slist *headers = make_headers(self);
    long timeout_ms = (long)((self->config->timeout_us + 999) / 1000);

    (void)snprintf(url, sizeof url, "%s%s", self->config->endpoints[self->endpoint], path);
    curl_easy_reset(curl); /* Connections stay. */
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, timeout_ms);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.size);
    (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data);
    set_tls(curl, self->config);
    return headers;
}

static enum outcome note(struct etcd_client *self, enum outcome outcome, const char *reason,
                         const char *remedy)
{
    (void)snprintf(self->reason, sizeof self->reason, "%.200s; %.100s", reason, remedy);
    return outcome;
}

/* What failed before a request could leave. */
static bool was_not_sent(CURLcode code)
{
    switch ((int)code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_URL_MALFORMAT:
    case CURLE_OUT_OF_MEMORY:
        return true;
    default:
        return false;
    }
}

static const char *remedy_of(const struct etcd_client *self, CURLcode code)
{
    bool bare = self->config->cert_file[0] == '\0';

    switch ((int)code) {
    case CURLE_OPERATION_TIMEDOUT:
        return "see etcd's log, or raise etcd_timeout";
    case CURLE_PEER_FAILED_VERIFICATION:
        return "etcd_ca_file must vouch for etcd's certificate, and that name the endpoint";
    case CURLE_SSL_CACERT_BADFILE:
        return "check etcd_ca_file";
    case CURLE_SSL_CERTPROBLEM:
        return "check etcd_cert_file and etcd_key_file";
    case CURLE_GOT_NOTHING:
        return "see etcd's log; if it takes TLS only, the endpoint is https://HOST:PORT";
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR: /* So it looks where etcd lets nobody in by the certificate. */
        return bare ? "see etcd's log; it may want etcd_cert_file"
                    : "see etcd's log; its trusted-ca-file must vouch for etcd_cert_file";
    default:
        return was_not_sent(code) ? "is etcd running, and reachable from here?" : "see etcd's log";
    }
}

static enum outcome judge_transfer(struct etcd_client *self, CURLcode code)
{
    const char *reason = self->error[0] != '\0' ? self->error : curl_easy_strerror(code);

    if (self->too_large) {
        reason = "its answer is longer than any of etcd";
    }
    return note(self, was_not_sent(code) ? OUTCOME_NOT_SENT : OUTCOME_LOST, reason,
                remedy_of(self, code));
}

static enum outcome judge_refusal(struct etcd_client *self, long http, const json_t *answer)
{
    struct etcd_refusal refusal = etcd_refusal_judge(http, answer);

    self->refused = STATUS_IO;
    switch (refusal.kind) {
    case ETCD_REFUSAL_TOKEN:
        self->refused = STATUS_UNAUTHENTIC;
        return note(self, OUTCOME_NO_TOKEN, refusal.reason, refusal.remedy);
    case ETCD_REFUSAL_UNKNOWN:
        self->unsettled = true;
        return note(self, OUTCOME_LOST, refusal.reason, refusal.remedy);
    case ETCD_REFUSAL_NOT_ETCD:
        return note(self, OUTCOME_NOT_SENT, refusal.reason, refusal.remedy);
    case ETCD_REFUSAL_USER:
        self->refused = STATUS_UNAUTHENTIC;
        break;
    case ETCD_REFUSAL_SIZE:
        self->refused = STATUS_TOO_LARGE;
        break;
    case ETCD_REFUSAL_REQUEST:
        break;
    }
    return note(self, OUTCOME_REFUSED, refusal.reason, refusal.remedy);
}

/* What etcd_client_prepare() has begun, whose headers are freed. */
static CURLcode perform(struct etcd_client *self, struct curl_slist *headers)
{
    CURLcode code;

    buffer_clear(&self->answer);
    self->error[0] = '\0';
    self->too_large = false;
    self->no_memory = false;
    (void)curl_easy_setopt(self->curl, CURLOPT_WRITEFUNCTION, take);
    (void)curl_easy_setopt(self->curl, CURLOPT_WRITEDATA, self);
    (void)curl_easy_setopt(self->curl, CURLOPT_ERRORBUFFER, self->error);
    (void)curl_easy_setopt(self->curl, CURLOPT_XFERINFOFUNCTION, is_interrupted);
    (void)curl_easy_setopt(self->curl, CURLOPT_XFERINFODATA, self);
    (void)curl_easy_setopt(self->curl, CURLOPT_NOPROGRESS, 0L);
    code = curl_easy_perform(self->curl);
    curl_slist_free_all(headers);
    return code;
}

/* One request to one endpoint; *answer also when it was refused, NULL when it makes no sense. */
static enum outcome attempt(struct etcd_client *self, const struct etcd_call *call, json_t **answer)
{
    struct curl_slist *headers = etcd_client_prepare(self, self->curl, call->path, call->body);
    enum outcome outcome = OUTCOME_ANSWERED;
    long http = 0;
    CURLcode code;

    *answer = NULL;
    if (headers == NULL) {
        return note(self, OUTCOME_NOT_SENT, "out of memory", "stop other programs");
    }
    (void)curl_easy_setopt(self->curl, CURLOPT_FRESH_CONNECT, call->writes ? 1L : 0L);
    code = perform(self, headers);
    if (code != CURLE_OK) {
        return judge_transfer(self, code);
    }
    (void)curl_easy_getinfo(self->curl, CURLINFO_RESPONSE_CODE, &http);
    *answer = json_loadb((const char *)self->answer.data, self->answer.size, 0, NULL);
    if (http != 200) {
        outcome = judge_refusal(self, http, *answer);
    } else if (!json_is_object(json_object_get(*answer, "header"))) {
        json_decref(*answer);
        *answer = NULL;
        outcome = note(self, OUTCOME_LOST, "its answer is not one of etcd's",
                       "name the endpoints of etcd's clients, usually of port 2379");
    }
    return outcome;
}

bool etcd_client_fetch(struct etcd_client *self, uint32_t endpoint, const char *path,
                       struct span body)
{
    struct curl_slist *headers;
    long http = 0;

    if (atomic_load(&self->interrupted)) {
        return false;
    }
    self->endpoint = endpoint;
    self->token[0] = '\0';
    headers = etcd_client_prepare(self, self->curl, path, body);
    if (headers == NULL) {
        return false;
    }
    if (body.size == 0) {
        (void)curl_easy_setopt(self->curl, CURLOPT_HTTPGET, 1L);
    }
    return perform(self, headers) == CURLE_OK &&
           curl_easy_getinfo(self->curl, CURLINFO_RESPONSE_CODE, &http) == CURLE_OK && http == 200;
}

/* Log why an endpoint failed, and not again soon unless it has answered meanwhile. */
static enum status say(struct etcd_client *self, enum status status)
{
    uint64_t now_us = hub_now_us();

    if (!self->quiet && !atomic_load(&self->interrupted) &&
        now_us >= self->quiet_until_us[self->endpoint]) {
        log_line(LOG_ERROR, "store %s: %s", self->config->endpoints[self->endpoint], self->reason);
        self->quiet_until_us[self->endpoint] = now_us + QUIET_US;
    }
    return status;
}

/* ---- user and token ---- */

static enum outcome log_in(struct etcd_client *self)
{
    json_t *request = json_pack("{s:s, s:s}", "name", self->config->user, "password",
                                self->config->password);
    char *text = request != NULL ? json_dumps(request, JSON_COMPACT) : NULL;
    struct etcd_call call = {.path = "/v3/auth/authenticate", .writes = false};
    enum outcome outcome;
    json_t *answer = NULL;
    const char *token;

    json_decref(request);
    if (text == NULL) {
        return note(self, OUTCOME_NOT_SENT, "the user or password cannot be sent",
                    "they must be UTF-8");
    }
    call.body = span_text(text);
    outcome = attempt(self, &call, &answer);
    explicit_bzero(text, strlen(text));
    free(text);
    token = json_string_value(json_object_get(answer, "token"));
    if (outcome == OUTCOME_ANSWERED &&
        (token == NULL || strlen(token) >= sizeof self->token || token[strcspn(token, "\r\n")])) {
        self->refused = STATUS_UNAUTHENTIC;
        outcome = note(self, OUTCOME_REFUSED, "its answer holds no token", "see etcd's log");
    }
    if (outcome == OUTCOME_ANSWERED) {
        (void)snprintf(self->token, sizeof self->token, "%s", token);
    }
    json_decref(answer);
    return outcome == OUTCOME_LOST ? OUTCOME_NOT_SENT : outcome;
}

static bool wants_token(const struct etcd_client *self)
{
    return self->config->user[0] != '\0' && self->token[0] == '\0';
}

/* With a token where a user is named; a second time when the first one's token has expired. */
static enum outcome ask(struct etcd_client *self, const struct etcd_call *call, json_t **answer)
{
    enum outcome outcome = OUTCOME_NO_TOKEN;

    for (int try = 0; try < 2 && outcome == OUTCOME_NO_TOKEN; try++) {
        if (wants_token(self)) {
            outcome = log_in(self);
            if (outcome != OUTCOME_ANSWERED) {
                return outcome;
            }
        }
        json_decref(*answer);
        outcome = attempt(self, call, answer);
        if (outcome == OUTCOME_NO_TOKEN) {
            self->token[0] = '\0';
        }
    }
    return outcome;
}

/* ---- endpoints in turn ---- */

/* Ask each endpoint once. STATUS_UNAVAILABLE: nobody could say. */
static enum status ask_in_turn(struct etcd_client *self, struct etcd_call *call, json_t **answer)
{
    for (uint32_t tries = 0; tries < self->config->nendpoints && !atomic_load(&self->interrupted);
         tries++) {
        enum outcome outcome = ask(self, call, answer);

        if (outcome == OUTCOME_ANSWERED) {
            self->quiet_until_us[self->endpoint] = 0;
            return STATUS_OK;
        }
        if (outcome == OUTCOME_REFUSED || outcome == OUTCOME_NO_TOKEN) {
            return say(self, self->refused);
        }
        if (!call->writes && (self->too_large || self->no_memory)) {
            return self->too_large ? STATUS_TOO_LARGE : STATUS_NOMEM; /* Less may be asked. */
        }
        call->lost = call->lost || outcome == OUTCOME_LOST;
        (void)say(self, STATUS_UNAVAILABLE);
        self->endpoint = (self->endpoint + 1) % self->config->nendpoints;
        self->token[0] = '\0'; /* Simple tokens are known to all members, but not at once. */
    }
    return STATUS_UNAVAILABLE;
}

/* Members that answer, and have no leader yet or a new one, will serve in a moment: once more. */
enum status etcd_client_call(struct etcd_client *self, struct etcd_call *call, json_t **answer)
{
    enum status status;

    call->lost = false;
    *answer = NULL;
    self->unsettled = false;
    status = ask_in_turn(self, call, answer);
    if (status == STATUS_UNAVAILABLE && self->unsettled) {
        (void)poll(NULL, 0, ELECTION_MS);
        status = ask_in_turn(self, call, answer);
    }
    if (status != STATUS_OK) {
        json_decref(*answer);
        *answer = NULL;
    }
    return status;
}
