/* front_stage.h - a RESP front on a stage: clients type, the test answers as the router and the
 * coordinator would.
 *
 * Nothing moves by itself. Connections are numbered from 0; what each was sent is kept as text.
 *
 * Errors:  a failed cr_assert.
 * Owner:   front_stage_init()'s caller calls front_stage_fini(), which finds what was leaked.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_FRONT_STAGE_H
#define ORBLOOM_TESTS_SUPPORT_FRONT_STAGE_H

#include "router/resp/front.h"
#include "tests/support/fake_effects.h"

#define FRONT_STAGE_COORDINATOR "tcp://coordinator:7400"

enum { FRONT_STAGE_FILTER = 7, FRONT_STAGE_REVISION = 40 };

enum { FRONT_STAGE_STREAMS = 64, FRONT_STAGE_ASKED = 1024, FRONT_STAGE_KEYS = 256 };

/* A request to the router. */
struct front_asked {
    enum frame_kind kind;
    uint64_t correlation;
    char filter[DOCUMENT_NAME_BYTES];
    enum operation operation;
    uint64_t filter_id;
    uint32_t keyset;
    struct op_id op;
    uint32_t timeout_ms;
    size_t count;
    char keys[FRONT_STAGE_KEYS]; /* with spaces between, as far as there is room */
};

struct front_stream {
    struct session *session; /* NULL: none, or gone */
    char *text;              /* what was sent since the last front_stage_expect() */
    size_t size;
    size_t unsent; /* what the test says */
    bool reading;
    bool closed;
    bool dropped;
};

struct front_stage {
    struct fake_effects fake; /* the coordinator is behind it */
    bool looks; /* the test answers what a change looks at; else it finds front_stage_filter() */
    struct front *front;
    struct actor actor;
    uint64_t now_us;
    struct front_stream streams[FRONT_STAGE_STREAMS];
    struct front_asked asked[FRONT_STAGE_ASKED];
    size_t nasked;
    struct user_list users;    /* the record, as the router has it; the test's own */
    bool unheard;              /* the router does not know whether there are users */
    const char *subject;       /* of the certificates of those that connect; NULL: none */
    struct user_use use;       /* of a token, the last one told ... */
    size_t nuses;              /* ... of so many */
    uint64_t later_ms;         /* than when it began, by the time of day */
    uint32_t copies;           /* that the fake router tells of; 0: 2 */
    const char *reply_in_turn; /* the fake router answers the newest request so in its turn */
    size_t live;
};

/* What tests begin with: a timeout of 5 s, 1 MiB unread, never idle, missing is zero. */
struct front_config front_stage_config(void);
void front_stage_init(struct front_stage *self, const struct front_config *config);

/* The same with front_stage_config() and so many connections. */
void front_stage_start(struct front_stage *self, size_t nstreams);
void front_stage_fini(struct front_stage *self);

void front_stage_open(struct front_stage *self, size_t stream);

/* Bytes come; nothing is done with them until front_stage_turn(). */
void front_stage_bytes(struct front_stage *self, size_t stream, struct span bytes);
void front_stage_type(struct front_stage *self, size_t stream, const char *text);
void front_stage_turn(struct front_stage *self);

/* Both. */
void front_stage_say(struct front_stage *self, size_t stream, const char *text);

/* The connection ends, as the client or the front wants it. */
void front_stage_gone(struct front_stage *self, size_t stream);
void front_stage_drained(struct front_stage *self, size_t stream);

/* All that was sent is this; it is forgotten. */
void front_stage_expect(struct front_stage *self, size_t stream, const char *text);

/* Say it, and be answered so. */
void front_stage_answers(struct front_stage *self, size_t stream, const char *said,
                         const char *answer);

/* Let time pass, with the timers that the front wants. */
void front_stage_pass(struct front_stage *self, uint64_t duration_us);

/* The router answers request `at`: of every key, p present  a absent  m both  u undecided. */
void front_stage_reply(struct front_stage *self, size_t at, enum status status,
                       const char *letters);

/* The router answers request `at`, which was for a filter's description. */
void front_stage_info(struct front_stage *self, size_t at, const struct info_reply *reply);

/* ... which was for its counters: it has none. */
void front_stage_stats(struct front_stage *self, size_t at);

/* What is sent next; looks of changes are answered by the way, unless `looks` is set. False:
 * nothing is. */
bool front_stage_take(struct front_stage *self, struct fake_sent *sent);

/* The newest question to the coordinator, which there must be. */
struct frame front_stage_question(struct front_stage *self);

/* A filter of 16 shards of 4 KiB, as it is told of: active, N 3, W 2, R 2, for 1000 keys. */
struct filter_summary front_stage_filter(const char *name);

/* The coordinator answers the question. */
void front_stage_answer(struct front_stage *self, const struct frame *question, enum status status,
                        bool created);
void front_stage_answer_with(struct front_stage *self, const struct frame *question,
                             const struct admin_reply *reply);
/* ... that this is the filter. */
void front_stage_answer_filter(struct front_stage *self, const struct frame *question,
                               const struct filter_summary *filter);

/* The same without a turn after it. */
void front_stage_hear(struct front_stage *self, const struct frame *question,
                      const struct admin_reply *reply);
void front_stage_answer_error(struct front_stage *self, const struct frame *question,
                              enum status status);

uint64_t front_stage_counter(const struct front_stage *self, const char *name);

#endif
