/* stream_batch.h - one batch of a stream: lines read, keys to send, answers.
 *
 * Owner:   batch_init()'s caller calls batch_fini().
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_STREAM_BATCH_H
#define ORBLOOM_CLI_STREAM_BATCH_H

#include "base/buffer.h"
#include "cli/keys.h"
#include "client/orbloom.h"

enum {
    BATCH_MAX_BYTES = 4 << 20, /* a batch of this size takes no more keys */
    BATCH_MESSAGE_BYTES = 512,
};

/* Where a line stands in the input. */
struct batch_place {
    const char *file;
    uint64_t line;
    bool bad;
};

struct stream_batch {
    size_t limit; /* lines */
    struct batch_place *places;
    size_t nplaces;
    struct buffer blob;
    uint32_t *lengths;
    size_t nkeys;         /* places that are not bad */
    struct key_place end; /* of the input, behind its last line */
    uint8_t *answers;
    bool done;
    int code;
    char message[BATCH_MESSAGE_BYTES];
};

void batch_init(struct stream_batch *self, size_t limit);
void batch_fini(struct stream_batch *self);

/* Empty it, keep its memory. */
void batch_clear(struct stream_batch *self);

/* STATUS_NOMEM: it is unchanged. */
MUST_USE enum status batch_append(struct stream_batch *self, const struct key_item *item, bool bad);

/* Take the answers. */
void batch_finish(struct stream_batch *self, const struct orbloom_completion *completion);

/* It could not be sent: every key is unknown. `reason` is "CODE: cause" of orbloom_error(). */
void batch_refuse(struct stream_batch *self, int code, const char *reason);

#endif
