/* operation.h - one operation of a session: its copy of what was asked, and what is known.
 *
 * Every answer may decide more keys; a decided key stays decided, so a retried add keeps its
 * NEW and a key once present is never turned into an absent one by a later answer.
 *
 * Errors:  operation_create_*: STATUS_INVALID, STATUS_TOO_LARGE, STATUS_NOMEM.
 * Owner:   whoever called operation_create_*() calls operation_destroy().
 * Threads: none.
 */
#ifndef ORBLOOM_CLIENT_OPERATION_H
#define ORBLOOM_CLIENT_OPERATION_H

#include "base/bits.h"
#include "base/buffer.h"
#include "base/number_table.h"
#include "client/endpoints.h"
#include "client/session.h"

enum { OPERATION_MESSAGE_BYTES = 512 };

struct operation_state {
    struct number_entry open; /* first: its sequence, while its session has it open */
    uint64_t sequence;
    uint64_t timeout_us;
    uint64_t deadline_us;
    uint64_t due_us;     /* the next attempt, or the end of this one */
    uint64_t pause_us;   /* before the next retry of a refused attempt */
    bool sent;           /* an attempt is under way */
    size_t sent_bytes;   /* ... of so many bytes */
    uint32_t attempts;   /* sent so far */
    uint32_t executions; /* ... of which so many may have been carried out */
    uint32_t named;      /* ... of which so many only asked which filter has the name */
    uint32_t silences;   /* attempts that nobody answered in time */
    uint32_t endpoint;   /* of the newest attempt */
    bool looking;     /* a change: what it is to name is asked first; see proto/admin_message.h */
    bool looked;      /* ... and was before */
    uint32_t stage;   /* attempts before the look, or the change, that is under way */
    uint32_t strange; /* answers of other sites that were not taken */
    bool doubted;     /* other attempts were asked of another site: PRESENT may be their doing */
    bool bounced;     /* the newest attempt was told which filter it is to name */
    struct endpoints *targets;
    struct frame frame; /* what is asked; points into this operation */
    size_t bytes;       /* of keys */
    size_t count;
    uint64_t *present;
    uint64_t *absent;
    enum status status; /* of the newest answer; OK before any */
    char message[OPERATION_MESSAGE_BYTES];
    session_done_fn done;
    void *context;
    struct operation_state *previous;
    struct operation_state *next;
};

enum operation_step {
    OPERATION_IGNORED, /* not an answer to this operation */
    OPERATION_RETRY,   /* refused for now */
    OPERATION_AGAIN, /* the same process is to be asked once more, at once: it has told what to name
                      */
    OPERATION_FINISHED, /* decided, or refused for good */
};

/* A batch of keys; keys->filter becomes the request's filter. */
MUST_USE enum status operation_create_keys(const struct session_keys *keys, struct op_id id,
                                           struct operation_state **out);

/* A question: info, admin or stats. */
MUST_USE enum status operation_create_question(const struct frame *frame,
                                               struct operation_state **out);

void operation_destroy(struct operation_state **operation);

/* Encode the next attempt's frame, as codec_encode_out(); `left_us` is the time until the
 * deadline. */
MUST_USE enum status operation_encode(struct operation_state *self, uint64_t left_us,
                                      const struct effects *effects, struct buffer *spare,
                                      struct span *out);

/* The attempt under way, if there is one, is over: its bytes are no longer in flight. */
void operation_settle(struct operation_state *self);

/* What an answer says: takes its verdicts, status and message. */
enum operation_step operation_take(struct operation_state *self, const struct frame *answer);

/* An add or a feed, which names the filter that is meant by its id. */
bool operation_adds(const struct operation_state *self);

/* ... which is not known yet. */
bool operation_is_nameless(const struct operation_state *self);

/* The deadline has come: keeps the newest answer's status and message if there is one. */
void operation_end_late(struct operation_state *self);

/* None of those that it may be sent to lets this client in. */
void operation_end_refused(struct operation_state *self);

/* `endpoint` answered in a version that this build does not speak. */
void operation_end_foreign(struct operation_state *self, const char *endpoint, uint32_t version);

/* The sequence that an answer's correlation names. */
uint64_t operation_correlated_sequence(uint64_t correlation);

/* Does the correlation name the newest attempt? */
bool operation_is_newest(const struct operation_state *self, uint64_t correlation);

/* ... an attempt at what is under way now? An answer to a look says nothing of the change. */
bool operation_is_current(const struct operation_state *self, uint64_t correlation);

#endif
