/* router_stage.h - one router on a stage: clients ask, the test answers as the nodes would.
 *
 * The router holds the node list, one document and its secret, as if it had just synchronised.
 * What it sends is collected after every event: messages to nodes, answers to clients,
 * documents handed on, questions to the coordinator.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_ROUTER_STAGE_H
#define ORBLOOM_TESTS_SUPPORT_ROUTER_STAGE_H

#include "map/document.h"
#include "router/router.h"
#include "tests/support/fake_effects.h"

enum {
    ROUTER_STAGE_FILTER = 5,
    ROUTER_STAGE_MAX = 2048,
    ROUTER_STAGE_SUBREQUESTS = 16,
    ROUTER_STAGE_HEDGE_US = 20000,
    ROUTER_STAGE_RETRY_US = 100000,
    ROUTER_STAGE_MAX_INFLIGHT = 1 << 20,
    ROUTER_STAGE_BOOT = 900, /* and the node's number: of its log */
};

/* One message to a node. */
struct router_asked {
    uint32_t node;
    uint32_t link;
    uint64_t correlation;
    struct subrequest subrequests[ROUTER_STAGE_SUBREQUESTS];
    size_t nsubrequests;
    uint64_t fingerprint; /* of the first key */
    bool answered;
};

/* One answer to a client. */
struct router_told {
    struct peer peer;
    uint64_t correlation;
    enum frame_kind kind;
    enum status status;
    char message[CODEC_MAX_TEXT_BYTES + 1];
    struct op_id op;
    uint32_t attempt;
    uint64_t filter_id;
    uint64_t epoch;
    uint32_t copies;
    size_t count;
    uint64_t present; /* of the first 64 keys */
    uint64_t absent;
};

enum { ROUTER_STAGE_USES = 4, ROUTER_STAGE_SITE_ASKS = 256 };

/* A question to a node about cursors of other sites; what it points to is gone. */
struct router_site_asked {
    uint32_t node;
    uint32_t link;
    uint64_t correlation;
    struct site_cursor_request request;
    bool answered;
};

enum { ROUTER_STAGE_AGES = 256 };

/* A question to a link, how far other sites' keys are here. */
struct router_age_asked {
    uint32_t link;
    uint64_t correlation;
    struct site_age_request request;
};

struct router_stage {
    struct fake_effects fake;
    struct router *router;
    struct actor actor;
    uint64_t now_us;
    struct filter_document document;
    struct router_asked asked[ROUTER_STAGE_MAX];
    size_t nasked;
    struct router_told told[ROUTER_STAGE_MAX];
    size_t ntold;
    uint32_t handed[ROUTER_STAGE_MAX]; /* nodes that were handed documents */
    size_t nhanded;
    uint32_t coordinator_link;
    uint64_t sync; /* correlation of the newest question to the coordinator */
    size_t nsyncs;
    struct user_use uses[ROUTER_STAGE_USES]; /* that it tells, the first of them */
    size_t nuses;
    struct router_site_asked site_asked[ROUTER_STAGE_SITE_ASKS];
    size_t nsite_asked;
    const struct link_place *links; /* of the site, as its coordinator tells them */
    size_t nlinks;
    struct router_age_asked ages[ROUTER_STAGE_AGES];
    size_t nages;
    uint64_t position; /* where the logs of nodes end that answer */
};

/* hedge_delay of the routers to come; 0: they learn it. */
extern uint64_t router_stage_hedge_us;

void router_stage_init(struct router_stage *self, const struct quorum_rule *rule, uint32_t nnodes,
                       enum when_unavailable when_unavailable);
void router_stage_fini(struct router_stage *self);

/* Answer the question numbered `sync` with the stage's document and secret as they are now, or
 * with nothing new. */
void router_stage_sync(struct router_stage *self, uint64_t sync, bool with_document);

/* A client's request for `count` keys of 1 byte each, 'a', 'b' and so on. */
struct client_request router_stage_request(enum operation operation, uint64_t sequence,
                                           size_t count);
void router_stage_send(struct router_stage *self, uint32_t peer,
                       const struct client_request *request);

void router_stage_send_frame(struct router_stage *self, uint32_t peer, const struct frame *frame);

/* Let time pass, with every timer that the router wants. */
void router_stage_pass(struct router_stage *self, uint64_t duration_us);

/* The newest unanswered message to a node; NULL when there is none. */
struct router_asked *router_stage_asked(struct router_stage *self, uint32_t node);

/* How many messages wait for answers. */
size_t router_stage_open(const struct router_stage *self);

/* Answer the newest message to `node`, all keys of all subrequests alike:
 *   p present  a absent  j written by a JOINING replica  0 no votes at all
 *   i absent, of another incarnation, one higher   J as j, of that incarnation
 *   e absent, of another epoch   h of another hash
 *   d absent, repeated (an add that arrived before: present)
 *   G as F, g as f, until it has grown
 *   F nothing accepted, at capacity   f the same of a JOINING replica   1 ... the first key only
 *   S STALE with the stage's document  N NEED_DOC  R NOT_READY  C CONFLICT  O OVERLOADED */
void router_stage_vote(struct router_stage *self, uint32_t node, char letter);

/* The newest unanswered question to a node about cursors of other sites; NULL: there is none. */
struct router_site_asked *router_stage_site_asked(struct router_stage *self, uint32_t node);
void router_stage_site_answer(struct router_stage *self, uint32_t node,
                              const struct site_cursor_reply *reply);

/* Answer one of the questions to links. */
void router_stage_age_answer(struct router_stage *self, size_t which,
                             const struct site_age_reply *reply);

/* The only answer told so far, which is then forgotten. */
struct router_told router_stage_told(struct router_stage *self);

uint64_t router_stage_counter(struct router_stage *self, const char *name);

#endif
