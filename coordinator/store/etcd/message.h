/* message.h - JSON as etcd's gateway writes it: bytes in base64, 64-bit numbers as
 * text, fields left out that are zero, false or empty.
 *
 * Owner:   who inits a draft finis it. What is read is borrowed from the answer.
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_STORE_ETCD_MESSAGE_H
#define ORBLOOM_COORDINATOR_STORE_ETCD_MESSAGE_H

#include "base/buffer.h"
#include "base/span.h"
#include "base/status.h"

#include <jansson.h>
#include <stdint.h>

/* A request that is being written. The first error stays, what follows it is left out. */
struct etcd_draft {
    struct buffer bytes;
    enum status status;
};

void etcd_draft_init(struct etcd_draft *self, size_t max_bytes);
void etcd_draft_fini(struct etcd_draft *self);

/* JSON as it is, without checks. */
void etcd_draft_text(struct etcd_draft *self, const char *json);

/* "NUMBER", and "BASE64" of bytes that come in two parts. */
void etcd_draft_number(struct etcd_draft *self, uint64_t number);
void etcd_draft_bytes(struct etcd_draft *self, struct span first, struct span second);

/* Append what the base64 text stands for; STATUS_MALFORMED, STATUS_TOO_LARGE, STATUS_NOMEM. */
MUST_USE enum status etcd_decode_bytes(const json_t *text, struct buffer *out);

/* A field that is a number, in quotes or not; 0 when it is left out. STATUS_MALFORMED. */
MUST_USE enum status etcd_read_number(const json_t *object, const char *field, uint64_t *out);

#endif
