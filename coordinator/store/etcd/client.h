/* client.h - requests to etcd's JSON gateway: endpoints in turn, TLS, user and token.
 *
 * Errors:  STATUS_UNAVAILABLE: no endpoint answered, or none with sense; STATUS_IO: etcd refused
 *          the request; STATUS_UNAUTHENTIC: it refused the user; STATUS_TOO_LARGE: the request is
 *          past its limit, or the answer past ours; STATUS_NOMEM. All of them are logged with the
 *          endpoint and a remedy, the same endpoint again after ten seconds or an answer.
 * Owner:   the configuration is borrowed; the caller of ..._call() calls json_decref().
 * Threads: each client is one thread's.
 */
#ifndef ORBLOOM_COORDINATOR_STORE_ETCD_CLIENT_H
#define ORBLOOM_COORDINATOR_STORE_ETCD_CLIENT_H

#include "base/buffer.h"
#include "coordinator/store/etcd/etcd.h"

#include <curl/curl.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>

enum {
    ETCD_TOKEN_BYTES = 2048,
    ETCD_REASON_BYTES = 320,
    ETCD_MAX_ANSWER_BYTES = 24 << 20, /* more than ETCD_PAGE_LEAST records of the largest size */
    ETCD_PAGE_LEAST = 16,
};

struct etcd_client {
    const struct store_etcd_config *config;
    CURL *curl;
    struct buffer answer;
    uint32_t endpoint; /* which one is asked first: the last one that answered */
    char token[ETCD_TOKEN_BYTES];
    char error[CURL_ERROR_SIZE];
    char reason[ETCD_REASON_BYTES]; /* why the last attempt failed, and the remedy */
    bool too_large;                 /* ... because the answer is past ETCD_MAX_ANSWER_BYTES */
    bool no_memory;                 /* ... because there was none for the answer */
    bool unsettled;                 /* a member was there and could not say, in this call */
    enum status refused;            /* ... by etcd: what it means */
    atomic_bool interrupted;        /* for good */
    bool quiet;                     /* whoever else asks says what is wrong */
    uint64_t quiet_until_us[STORE_ETCD_MAX_ENDPOINTS];
};

MUST_USE enum status etcd_client_init(struct etcd_client *self,
                                      const struct store_etcd_config *config);
void etcd_client_fini(struct etcd_client *self);

/* From any thread: a call under way ends within a second or so, and no later one is begun. */
void etcd_client_interrupt(struct etcd_client *self);

struct etcd_call {
    const char *path; /* "/v3/kv/range" */
    struct span body;
    bool writes; /* not to be repeated by libcurl on another connection */
    bool lost;   /* out: an endpoint that gave no answer may have executed it, or may yet */
};

MUST_USE enum status etcd_client_call(struct etcd_client *self, struct etcd_call *call,
                                      json_t **answer);

/* One request of that endpoint alone, without a token: a GET where `body` is empty. True: the
 * answer is in self->answer. Logs nothing. */
bool etcd_client_fetch(struct etcd_client *self, uint32_t endpoint, const char *path,
                       struct span body);

/* Fill in what every request has: endpoint, headers (to be freed by curl_slist_free_all()), TLS.
 * NULL: out of memory. */
struct curl_slist *etcd_client_prepare(struct etcd_client *self, CURL *curl, const char *path,
                                       struct span body);

#endif
