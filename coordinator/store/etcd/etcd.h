/* etcd.h - a store in etcd v3, for coordinators on several hosts: JSON gateway, by HTTP.
 *
 *   PREFIX "format"      what the keys below mean: STORE_ETCD_FORMAT
 *   PREFIX "record/KEY"  a record: 16 bytes that name the swap that wrote it, then the value
 *   PREFIX "change"      written by every swap
 *
 * A version is etcd's revision of the write (mod_revision), so they rise, with gaps; one
 * transaction has one revision, whatever it writes. Keys are never deleted and nothing reads an
 * old revision, so compaction of etcd does no harm. All reads are linearizable.
 *
 * Lost answers: a swap whose answer did not come is asked of the next endpoint again. At most one
 * of the two is executed, as both expect the versions of before. When the second one fails, the
 * records' names tell whether the first had succeeded (STATUS_OK then). Where that can't be told
 * any more, or no endpoint answers, STATUS_IO is returned: written, not written, or soon.
 *
 * Blocking: a call waits at most `timeout_us` an endpoint. When none answered, calls fail at once
 * for a while, or until the watch has reached etcd again.
 * Errors:  STATUS_IO with a logged reason that names the endpoint and the remedy; STATUS_VERSION
 *          for a prefix of another format; STATUS_UNAUTHENTIC for a refused user; STATUS_TOO_LARGE
 *          past etcd's own limit on requests; STATUS_NOMEM.
 * Owner:   store_etcd_open()'s caller calls store_etcd_close(). The configuration is copied.
 */
#ifndef ORBLOOM_COORDINATOR_STORE_ETCD_ETCD_H
#define ORBLOOM_COORDINATOR_STORE_ETCD_ETCD_H

#include "coordinator/store/store.h"

enum {
    STORE_ETCD_MAX_ENDPOINTS = 8,
    STORE_ETCD_ENDPOINT_BYTES = 256,
    STORE_ETCD_PREFIX_BYTES = 96,
    STORE_ETCD_USER_BYTES = 128,
    STORE_ETCD_PASSWORD_BYTES = 256,
    STORE_ETCD_PATH_BYTES = 4096,
};

#define STORE_ETCD_FORMAT "orbloom 1"

struct store_etcd_config {
    char endpoints[STORE_ETCD_MAX_ENDPOINTS][STORE_ETCD_ENDPOINT_BYTES]; /* http://HOST:PORT */
    uint32_t nendpoints;
    char prefix[STORE_ETCD_PREFIX_BYTES]; /* of all keys; ends in '/' */
    uint64_t timeout_us;                  /* how long an endpoint may take to answer */
    char user[STORE_ETCD_USER_BYTES];     /* "": none */
    char password[STORE_ETCD_PASSWORD_BYTES];
    char ca_file[STORE_ETCD_PATH_BYTES]; /* ""s: the machine's authorities, no certificate */
    char cert_file[STORE_ETCD_PATH_BYTES];
    char key_file[STORE_ETCD_PATH_BYTES];
};

/* STATUS_OK also when no endpoint answers, after a warning: calls fail until one does. */
MUST_USE enum status store_etcd_open(const struct store_etcd_config *config, struct store **out);
void store_etcd_close(struct store **store);

/* Have a thread watch for changes, of whoever: it calls `wake`, and the store's moved() is true
 * then. Once; ended by store_etcd_close(). */
MUST_USE enum status store_etcd_watch_start(struct store *store, void (*wake)(void *context),
                                            void *context);

/* Have a thread look once a minute how near etcd is to its quota; the store's room() tells then.
 * Once; ended by store_etcd_close(). */
MUST_USE enum status store_etcd_room_start(struct store *store);

#endif
