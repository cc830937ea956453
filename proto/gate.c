/* The table, a row a kind of frame and a row an action, and the words of refusals, which are made
 * of it: so they can't tell of a role that may not either. */
#include "proto/gate.h"

#include "base/mutant.h"
#include "map/access/identity.h"
#include "proto/answers.h"

#include <assert.h>
#include <stdio.h>

#define ROLE(role) (1U << PEER_##role)

/* All roles but PEER_ANYBODY, who is not asked for. */
enum {
    CLIENT = ROLE(CLIENT),
    MONITOR = ROLE(MONITOR),
    ADMIN = ROLE(ADMIN),
    ROUTER = ROLE(ROUTER),
    NODE = ROLE(NODE),
    COORDINATOR = ROLE(COORDINATOR),
    USERS = CLIENT | MONITOR | ADMIN,
};

struct frame_row {
    const char *what; /* NULL: there is no row, and nobody may send it */
    uint8_t from[GATE_NDOORS];
};

/* In the order of doors: router, node, coordinator. Answers arrive at no door. */
static const struct frame_row frames[] = {
    [FRAME_CLIENT_REQUEST] = {"adds and checks", {CLIENT | ADMIN, 0, 0}},
    [FRAME_CLIENT_REPLY] = {"answers", {0, 0, 0}},
    [FRAME_NODE_REQUEST] = {"a router's requests", {0, ROUTER, 0}},
    [FRAME_NODE_REPLY] = {"answers", {0, 0, 0}},
    [FRAME_DOCUMENTS] = {"documents", {0, ROUTER | NODE | COORDINATOR, 0}},
    [FRAME_SYNC_REQUEST] = {"syncs", {0, 0, ROUTER | NODE}},
    [FRAME_SYNC_REPLY] = {"answers", {0, 0, 0}},
    [FRAME_HINT] = {"hints", {COORDINATOR, COORDINATOR, 0}},
    [FRAME_FENCE_REQUEST] = {"fences", {0, COORDINATOR, 0}},
    [FRAME_FENCE_REPLY] = {"answers", {0, 0, 0}},
    [FRAME_BOOT_REQUEST] = {"questions about a start", {0, NODE, 0}},
    [FRAME_BOOT_REPLY] = {"answers", {0, 0, 0}},
    [FRAME_ADMIN_REQUEST] = {"commands", {0, 0, USERS | ROUTER | COORDINATOR}},
    [FRAME_ADMIN_REPLY] = {"answers", {0, 0, 0}},
    [FRAME_INFO_REQUEST] = {"questions about filters", {CLIENT | ADMIN, ROUTER | COORDINATOR, 0}},
    [FRAME_INFO_REPLY] = {"answers", {0, 0, 0}},
    [FRAME_STATS_REQUEST] = {"questions about counters",
                             {MONITOR | ADMIN, MONITOR | ADMIN, MONITOR | ADMIN}},
    [FRAME_STATS_REPLY] = {"answers", {0, 0, 0}},
    [FRAME_PULL_REQUEST] = {"pulls", {0, ROUTER | NODE, 0}},
    [FRAME_PULL_REPLY] = {"answers", {0, 0, 0}},
    [FRAME_SITE_HELLO] = {"what links of other sites say", {0, 0, 0}},
    [FRAME_SITE_OPEN] = {"what links of other sites say", {0, 0, 0}},
    [FRAME_SITE_BATCH] = {"what links of other sites say", {0, 0, 0}},
    [FRAME_SITE_APPLIED] = {"what links of other sites say", {0, 0, 0}},
    [FRAME_SITE_MARK] = {"what links of other sites say", {0, 0, 0}},
    [FRAME_SITE_MARKED] = {"what links of other sites say", {0, 0, 0}},
    [FRAME_SITE_CLOSE] = {"what links of other sites say", {0, 0, 0}},
    [FRAME_SITE_FILTERS] = {"what links of other sites say", {0, 0, 0}},
    [FRAME_SITE_CONFIRM] = {"what links of other sites say", {0, 0, 0}},
    [FRAME_SITE_CONFIRMED] = {"what links of other sites say", {0, 0, 0}},
    [FRAME_SITE_OFFER] = {"what links of other sites say", {0, 0, 0}},
    [FRAME_SITE_HELD] = {"what links of other sites say", {0, 0, 0}},
    [FRAME_SITE_TAIL_REQUEST] = {"questions for the tail of a log", {0, ROUTER, 0}},
    [FRAME_SITE_TAIL_REPLY] = {"answers", {0, 0, 0}},
    [FRAME_SITE_CURSOR_REQUEST] = {"cursors of other sites", {0, ROUTER, 0}},
    [FRAME_SITE_CURSOR_REPLY] = {"answers", {0, 0, 0}},
    [FRAME_SITE_AGE_REQUEST] = {"questions about other sites' keys",
                                {MONITOR | ADMIN | ROUTER | COORDINATOR, 0, 0}},
    [FRAME_SITE_AGE_REPLY] = {"answers", {0, 0, 0}},
    [FRAME_SITE_LAG_REQUEST] = {"questions how far sites are",
                                {MONITOR | ADMIN | COORDINATOR, 0, 0}},
    [FRAME_SITE_LAG_REPLY] = {"answers", {0, 0, 0}},
    [FRAME_DUMP_REQUEST] = {"questions for dumps", {CLIENT | ADMIN, 0, 0}},
    [FRAME_DUMP_REPLY] = {"answers", {0, 0, 0}},
    [FRAME_LOAD_REQUEST] = {"chunks of dumps", {ADMIN, 0, 0}},
    [FRAME_ERROR] = {"refusals", {0, 0, 0}},
};

enum { NFRAMES = sizeof frames / sizeof frames[0] };

struct action_row {
    const char *what;
    uint8_t from;
    const char *remedy; /* NULL: to be the first of these */
};

/* It does not tell of what, and nodes take another role than filters. */
static const char look_remedy[] =
    "use a credential of an admin, or, where it is of a filter, of a client with right c to it: "
    "orbloom user create NAME --role ROLE --credential FILE";

/* What RESP clients may ask for comes from routers, too, which name the user. */
static const struct action_row actions[] = {
    [ADMIN_CREATE] = {"create", CLIENT | ADMIN | ROUTER | COORDINATOR},
    [ADMIN_DROP] = {"drop", CLIENT | ADMIN | ROUTER | COORDINATOR},
    [ADMIN_STATUS] = {"status", USERS | ROUTER | COORDINATOR},
    [ADMIN_EXPAND] = {"expand", CLIENT | ADMIN | ROUTER | COORDINATOR},
    [ADMIN_REBUILD] = {"rebuild", CLIENT | ADMIN | ROUTER | COORDINATOR},
    [ADMIN_EXPIRE] = {"expire", CLIENT | ADMIN | ROUTER | COORDINATOR},
    [ADMIN_RENAME] = {"rename", CLIENT | ADMIN | ROUTER | COORDINATOR},
    [ADMIN_SITE] = {"site", MONITOR | ADMIN | COORDINATOR},
    [ADMIN_SITE_CHANGE] = {"a change of a filter's sites", ADMIN | COORDINATOR},
    [ADMIN_NODE_DRAIN] = {"node drain", ADMIN | COORDINATOR},
    [ADMIN_NODE_REPLACE] = {"node replace", ADMIN | COORDINATOR},
    [ADMIN_NODE_REMOVE] = {"node remove", ADMIN | COORDINATOR},
    [ADMIN_REBALANCE] = {"rebalance", ADMIN | COORDINATOR},
    [ADMIN_ACCEPT_LOSS] = {"shard accept-loss", ADMIN | COORDINATOR},
    [ADMIN_LOOK] = {"a change", CLIENT | ADMIN | ROUTER | COORDINATOR, look_remedy},
    [ADMIN_LOAD] = {"making a filter of a dump", ADMIN | ROUTER | COORDINATOR},
    [ADMIN_MAP_BACKUP] = {"map backup", ADMIN | COORDINATOR},
    [ADMIN_MAP_BEGIN] = {"map restore", ADMIN | COORDINATOR},
    [ADMIN_MAP_RECORDS] = {"map restore", ADMIN | COORDINATOR},
    [ADMIN_MAP_FINISH] = {"map restore", ADMIN | COORDINATOR},
    [ADMIN_UPGRADE_STATUS] = {"upgrade status", MONITOR | ADMIN | COORDINATOR},
    [ADMIN_UPGRADE_FINALIZE] = {"upgrade finalize", ADMIN | COORDINATOR},
    [ADMIN_USER_LIST] = {"user list", ADMIN | COORDINATOR},
    [ADMIN_USER_CHANGE] = {"a change of users", ADMIN | COORDINATOR},
    [ADMIN_PROCESS_KEYS] = {"public keys", USERS | COORDINATOR},
};

enum { NACTIONS = sizeof actions / sizeof actions[0] };

/* ---- judging ---- */

static bool has(uint8_t roles, enum peer_role role)
{
    assert((unsigned)role < PEER_NROLES);
    return role == PEER_ANYBODY || (roles >> role & 1) != 0;
}

bool gate_admits_kind(enum gate_door door, enum peer_role role, enum frame_kind kind)
{
    assert(door < GATE_NDOORS);
    return kind == FRAME_NONE || has((unsigned)kind < NFRAMES ? frames[kind].from[door] : 0, role);
}

bool gate_admits_action(enum peer_role role, enum admin_action action)
{
    return has((unsigned)action < NACTIONS ? actions[action].from : 0, role);
}

bool gate_admits(enum gate_door door, enum peer_role role, struct span frame)
{
    struct frame_face face;

    if (role == PEER_ANYBODY) {
        return true;
    }
    face = codec_peek(frame);
    return !face.undecided && gate_admits_kind(door, role, face.kind);
}

/* ---- refusing ---- */

const char *gate_role_name(enum peer_role role)
{
    static const char *const names[PEER_NROLES] = {
        [PEER_ANYBODY] = "anybody",         [PEER_CLIENT] = "client",
        [PEER_MONITOR] = "monitor",         [PEER_ADMIN] = "admin",
        [PEER_ROUTER] = "router",           [PEER_NODE] = "node",
        [PEER_COORDINATOR] = "coordinator",
    };

    assert((unsigned)role < PEER_NROLES);
    return names[role];
}

/* "a client", "an admin" */
static const char *article(enum peer_role role)
{
    return role == PEER_ADMIN ? "an" : "a";
}

/* The role that may with the fewest rights; users' come first. */
static enum peer_role least(uint8_t roles)
{
    for (unsigned role = PEER_CLIENT; role < PEER_NROLES; role++) {
        if ((roles >> role & 1) != 0) {
            return (enum peer_role)role;
        }
    }
    return PEER_ANYBODY;
}

/* Whom one would have to be. */
static void remedy(uint8_t roles, char *text, size_t size)
{
    enum peer_role role = least(roles);

    if (role == PEER_ANYBODY) {
        (void)snprintf(text, size, "nobody may; check the address");
    } else if (role > PEER_ADMIN) {
        (void)snprintf(text, size, "only processes of the cluster may; check the address");
    } else {
        (void)snprintf(text, size,
                       "use a credential of %s %s: orbloom user create NAME --role %s "
                       "--credential FILE",
                       article(role), gate_role_name(role), gate_role_name(role));
    }
}

static const char *why_not(enum gate_door door, enum peer_role role, struct span frame,
                           char reason[GATE_REASON_BYTES])
{
    static const char *const doors[GATE_NDOORS] = {"router", "node", "coordinator"};
    struct frame_face face = codec_peek(frame);
    char what_then[GATE_REASON_BYTES / 2];

    assert(door < GATE_NDOORS && !gate_admits(door, role, frame));
    if (face.undecided) {
        (void)snprintf(reason, GATE_REASON_BYTES,
                       "what %s %s sends to a %s must tell by its first fields what it is; "
                       "upgrade the older one of both",
                       article(role), gate_role_name(role), doors[door]);
        return reason;
    }
    remedy(frames[face.kind].from[door], what_then, sizeof what_then);
    (void)snprintf(reason, GATE_REASON_BYTES, "%s %s may not send %s to a %s; %s", article(role),
                   gate_role_name(role), frames[face.kind].what, doors[door], what_then);
    return reason;
}

const char *gate_why_action(enum peer_role role, enum admin_action action,
                            char reason[GATE_REASON_BYTES])
{
    bool known = (unsigned)action < NACTIONS && actions[action].what != NULL;
    const char *own = known ? actions[action].remedy : NULL;
    char what_then[GATE_REASON_BYTES / 2];

    remedy(known ? actions[action].from : 0, what_then, sizeof what_then);
    (void)snprintf(reason, GATE_REASON_BYTES, "%s %s may not ask a coordinator for %s; %s",
                   article(role), gate_role_name(role),
                   known ? actions[action].what : "what has no word here",
                   own != NULL ? own : what_then);
    return reason;
}

static enum status answer_with(struct span frame, enum status status, const char *why,
                               struct buffer *out)
{
    struct frame answer;

    answer_refusal(codec_peek(frame).correlation, status, &answer);
    answer.body.error.message = why;
    return codec_encode(&answer, out);
}

/* To say "nobody" would be a claim, and end what a client does. */
static bool put_off(struct span frame, struct buffer *refusal)
{
    if (answer_with(frame, STATUS_NOT_READY,
                    "this process has just started and has not heard who its users are; is a "
                    "coordinator running, and is that what its coordinators option says?",
                    refusal) != STATUS_OK) {
        buffer_clear(refusal);
    }
    return false;
}

bool gate_pass(enum gate_door door, const struct peer *from, bool known, struct span frame,
               struct buffer *refusal)
{
    static const char withdrawn[] =
        "nobody has the key of this connection any more: its user was deleted, or the key was "
        "withdrawn or has expired; ask an admin for a new credential";
    char reason[GATE_REASON_BYTES];
    const char *why = withdrawn;

    if (MUTANT(DELETED_LET_IN) && !known) {
        return true;
    }
    if (known && from->user == PEER_PENDING) {
        return put_off(frame, refusal);
    }
    if (known && gate_admits(door, (enum peer_role)from->role, frame)) {
        return true;
    }
    if (known) {
        why = why_not(door, (enum peer_role)from->role, frame, reason);
    }
    if (answer_with(frame, STATUS_UNAUTHENTIC, why, refusal) != STATUS_OK) {
        buffer_clear(refusal);
    }
    return false;
}
