/* private.h - the parts of a store in etcd; for coordinator/store/etcd only.
 *
 * Threads: `contacts` and `moved` are also the watch's.
 */
#ifndef ORBLOOM_COORDINATOR_STORE_ETCD_PRIVATE_H
#define ORBLOOM_COORDINATOR_STORE_ETCD_PRIVATE_H

#include "base/log.h"
#include "coordinator/store/etcd/client.h"
#include "coordinator/store/etcd/etcd.h"
#include "coordinator/store/etcd/message.h"
#include "coordinator/store/etcd/recent.h"

#include <stdatomic.h>
#include <stdio.h>

enum { ETCD_TOKEN_SIZE = 16, ETCD_KEY_BYTES = STORE_ETCD_PREFIX_BYTES + STORE_KEY_BYTES + 16 };

struct etcd_watch;
struct etcd_room;

struct store_etcd {
    struct store store;
    struct store_etcd_config config;
    struct etcd_client client;
    uint8_t swap_name[ETCD_TOKEN_SIZE]; /* of the swap under way: random half, counted half */
    bool checked;                       /* the prefix is ours and of our format */
    bool down;                          /* the last call found nobody */
    uint64_t retry_us;                  /* ... and until then none is tried */
    unsigned contacts_seen;             /* ... unless the watch has reached etcd since */
    atomic_uint contacts;
    atomic_bool moved;
    struct etcd_watch *watch;
    struct etcd_room *room;
    struct recent recent;
    struct log_limit damage;
};

/* One key as etcd tells of it; a value that is left out is empty. */
struct etcd_record {
    const json_t *kv;
    uint64_t version; /* 0: there is no such key */
};

/* PREFIX + part + key, as base64. */
static inline void etcd_draft_key(struct etcd_draft *draft, const struct store_etcd *self,
                                  const char *part, const char *key)
{
    char text[ETCD_KEY_BYTES];

    (void)snprintf(text, sizeof text, "%s%s", self->config.prefix, part);
    etcd_draft_bytes(draft, span_text(text), span_text(key));
}

/* ---- ask.c ---- */

/* Ask etcd. STATUS_IO, at once, while it is known to be down. *lost may be NULL. */
MUST_USE enum status etcd_ask(struct store_etcd *self, const char *path,
                              const struct etcd_draft *draft, bool *lost, json_t **answer);

/* One key, with its value or without it; *answer, which *record borrows from, is the caller's. */
MUST_USE enum status etcd_read_record(struct store_etcd *self, const char *part, const char *key,
                                      bool with_value, struct etcd_record *record, json_t **answer);

/* The change number. STATUS_IO, logged, as above. */
MUST_USE enum status etcd_read_change(struct store_etcd *self, uint64_t *change);

/* A record's value, in parts. STATUS_IO, logged, when it is none of ours. */
MUST_USE enum status etcd_read_value(struct store_etcd *self, const json_t *kv,
                                     uint8_t name[ETCD_TOKEN_SIZE], struct buffer *value);

/* An answer that can't be: log it. Always STATUS_IO. */
enum status etcd_refuse_answer(struct store_etcd *self, const char *what);

/* ---- swap.c, since.c, format.c ---- */

MUST_USE enum status etcd_swap(void *context, const struct store_swap *swaps, size_t count,
                               uint64_t *change);
MUST_USE enum status etcd_since(void *context, uint64_t since, store_visit_fn visit, void *visitor);

/* Is the prefix ours? One without keys becomes so. */
MUST_USE enum status etcd_check_format(struct store_etcd *self);

/* ---- watch.c ---- */

void etcd_watch_stop(struct etcd_watch **watch);

/* Whatever it asks ends soon; it is going to be stopped. NULL: there is none. */
void etcd_watch_interrupt(struct etcd_watch *watch);

/* Nobody answered: find out whether anybody does, and count that as a contact. */
void etcd_watch_probe(struct etcd_watch *watch);

/* ---- room.c: NULL where there is none ---- */

struct store_room etcd_room_last(struct etcd_room *room);
void etcd_room_interrupt(struct etcd_room *room);
void etcd_room_stop(struct etcd_room **room);

#endif
