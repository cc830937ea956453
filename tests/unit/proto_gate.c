/* Who may send what to whom: all cells, against a table of their own. A kind of frame or of action
 * that is in the schema and not in here fails. */
#include "map/access/identity.h"
#include "proto/gate.h"
#include "proto_samples.h"

#include <criterion/criterion.h>

enum { MAY_NKINDS = SAMPLE_NKINDS };

/* Whom a door is open to, by role: a kind that is not listed may not pass. */
struct cell {
    enum gate_door door;
    enum peer_role role;
    enum frame_kind kinds[8];
};

static const struct cell cells[] = {
    {GATE_ROUTER, PEER_CLIENT, {FRAME_CLIENT_REQUEST, FRAME_INFO_REQUEST, FRAME_DUMP_REQUEST}},
    {GATE_ROUTER,
     PEER_MONITOR,
     {FRAME_STATS_REQUEST, FRAME_SITE_AGE_REQUEST, FRAME_SITE_LAG_REQUEST}},
    {GATE_ROUTER,
     PEER_ADMIN,
     {FRAME_CLIENT_REQUEST, FRAME_INFO_REQUEST, FRAME_STATS_REQUEST, FRAME_SITE_AGE_REQUEST,
      FRAME_SITE_LAG_REQUEST, FRAME_DUMP_REQUEST, FRAME_LOAD_REQUEST}},
    {GATE_ROUTER, PEER_ROUTER, {FRAME_SITE_AGE_REQUEST}},
    {GATE_ROUTER, PEER_NODE, {FRAME_NONE}},
    {GATE_ROUTER, PEER_COORDINATOR, {FRAME_HINT, FRAME_SITE_AGE_REQUEST, FRAME_SITE_LAG_REQUEST}},
    {GATE_NODE, PEER_CLIENT, {FRAME_NONE}},
    {GATE_NODE, PEER_MONITOR, {FRAME_STATS_REQUEST}},
    {GATE_NODE, PEER_ADMIN, {FRAME_STATS_REQUEST}},
    {GATE_NODE,
     PEER_ROUTER,
     {FRAME_NODE_REQUEST, FRAME_DOCUMENTS, FRAME_INFO_REQUEST, FRAME_PULL_REQUEST,
      FRAME_SITE_TAIL_REQUEST, FRAME_SITE_CURSOR_REQUEST}},
    {GATE_NODE, PEER_NODE, {FRAME_BOOT_REQUEST, FRAME_PULL_REQUEST, FRAME_DOCUMENTS}},
    {GATE_NODE,
     PEER_COORDINATOR,
     {FRAME_FENCE_REQUEST, FRAME_HINT, FRAME_INFO_REQUEST, FRAME_DOCUMENTS}},
    {GATE_COORDINATOR, PEER_CLIENT, {FRAME_ADMIN_REQUEST}},
    {GATE_COORDINATOR, PEER_MONITOR, {FRAME_ADMIN_REQUEST, FRAME_STATS_REQUEST}},
    {GATE_COORDINATOR, PEER_ADMIN, {FRAME_ADMIN_REQUEST, FRAME_STATS_REQUEST}},
    {GATE_COORDINATOR, PEER_ROUTER, {FRAME_SYNC_REQUEST, FRAME_ADMIN_REQUEST}},
    {GATE_COORDINATOR, PEER_NODE, {FRAME_SYNC_REQUEST}},
    {GATE_COORDINATOR, PEER_COORDINATOR, {FRAME_ADMIN_REQUEST}},
};

enum { NCELLS = sizeof cells / sizeof cells[0], MAX_BYTES = 1 << 24 };

static bool expected(enum gate_door door, enum peer_role role, enum frame_kind kind)
{
    for (size_t i = 0; i < NCELLS; i++) {
        if (cells[i].door != door || cells[i].role != role) {
            continue;
        }
        for (size_t k = 0; k < sizeof cells[i].kinds / sizeof cells[i].kinds[0]; k++) {
            if (cells[i].kinds[k] == kind) {
                return true;
            }
        }
        return false;
    }
    cr_assert_fail("no cell for door %d, role %d", (int)door, (int)role);
    return false;
}

static struct buffer bytes;

static void setup(void)
{
    buffer_init(&bytes, MAX_BYTES);
}

static void teardown(void)
{
    buffer_fini(&bytes);
}

TestSuite(gate, .init = setup, .fini = teardown);

static void encode(enum frame_kind kind)
{
    struct frame frame;

    sample_frame(kind, SAMPLE_EMPTY, &frame);
    frame.correlation = 4711;
    buffer_clear(&bytes);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
}

/* ---- frames ---- */

Test(gate, every_kind_of_the_schema_has_cells)
{
    const ProtobufCMessageDescriptor *frame = &orbloom__v1__frame__descriptor;
    unsigned bodies = 0;

    for (unsigned i = 0; i < frame->n_fields; i++) {
        bodies += (frame->fields[i].flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
    }
    cr_assert_eq(bodies + 1, MAY_NKINDS, "a new kind of frame: say who may send it");
    cr_assert_eq(NCELLS, GATE_NDOORS * (PEER_NROLES - 1));
}

/* What such a peer is told, under the frame's correlation. */
static const char *refusal_of(enum gate_door door, enum peer_role role, struct span sent)
{
    static char text[GATE_REASON_BYTES];
    const struct peer peer = {.size = 1, .role = (uint8_t)role, .user = 3};
    struct codec_arena *arena = NULL;
    struct buffer answer;
    struct frame frame;

    buffer_init(&answer, MAX_BYTES);
    cr_assert_eq(codec_arena_create(SAMPLE_ARENA_BYTES, &arena), STATUS_OK);
    cr_assert_not(gate_pass(door, &peer, true, sent, &answer));
    cr_assert_eq(codec_decode(arena, buffer_span(&answer), &frame), STATUS_OK);
    cr_assert_eq(frame.kind, FRAME_ERROR);
    cr_assert_eq(frame.correlation, codec_peek(sent).correlation);
    cr_assert_eq(frame.body.error.status, STATUS_UNAUTHENTIC);
    (void)snprintf(text, sizeof text, "%s", frame.body.error.message);
    codec_arena_destroy(&arena);
    buffer_fini(&answer);
    return text;
}

Test(gate, every_cell_is_as_the_table_says)
{
    for (int door = 0; door < GATE_NDOORS; door++) {
        for (int role = PEER_CLIENT; role < PEER_NROLES; role++) {
            for (int kind = FRAME_NONE + 1; kind < MAY_NKINDS; kind++) {
                cr_expect_eq(
                    gate_admits_kind((enum gate_door)door, (enum peer_role)role,
                                     (enum frame_kind)kind),
                    expected((enum gate_door)door, (enum peer_role)role, (enum frame_kind)kind),
                    "door %d, %s, kind %d", door, gate_role_name((enum peer_role)role), kind);
            }
        }
    }
}

Test(gate, frames_as_they_are_sent_are_told_by_their_bytes)
{
    for (int kind = FRAME_NONE + 1; kind < MAY_NKINDS; kind++) {
        encode((enum frame_kind)kind);
        for (int door = 0; door < GATE_NDOORS; door++) {
            cr_assert(gate_admits((enum gate_door)door, PEER_ANYBODY, buffer_span(&bytes)));
            for (int role = PEER_CLIENT; role < PEER_NROLES; role++) {
                bool may = gate_admits((enum gate_door)door, (enum peer_role)role,
                                       buffer_span(&bytes));

                cr_expect_eq(may, expected((enum gate_door)door, (enum peer_role)role,
                                           (enum frame_kind)kind));
                if (!may) {
                    cr_expect_gt(strlen(refusal_of((enum gate_door)door, (enum peer_role)role,
                                                   buffer_span(&bytes))),
                                 20);
                }
            }
        }
    }
}

/* ---- what can't be told ---- */

#define VERSION_1 "\x08\x01"
#define FIELD_200 "\xc0\x0c\x07" /* varint */
#define STATS     "\xa2\x03\x00" /* stats_request, empty */
#define BODY_130  "\x92\x08\x01\xff"

static bool admits(const char *text, size_t size)
{
    return gate_admits(GATE_NODE, PEER_CLIENT, span_of(text, size));
}

#define ADMITS(literal) admits(literal, sizeof literal - 1)

/* The decoder refuses these, and does nothing: by the rules by which the gate has read them. */
Test(gate, what_is_no_frame_is_the_decoders)
{
    static const struct {
        const char *text;
        size_t size;
    } garbage[] = {
        {"", 0},
        {"\xff\xff\xff\xff\xff\xff\xff", 7},
        {VERSION_1, 2},
        {VERSION_1 BODY_130, 6},
        {VERSION_1 "\xa2\x03\x7f", 5}, /* longer than there is */
        {VERSION_1 "\xa0\x03\x00", 5}, /* the body is a number */
    };
    struct codec_arena *arena = NULL;
    struct frame frame;

    cr_assert_eq(codec_arena_create(SAMPLE_ARENA_BYTES, &arena), STATUS_OK);
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        cr_expect(admits(garbage[i].text, garbage[i].size), "%zu", i);
        cr_expect_neq(codec_decode(arena, span_of(garbage[i].text, garbage[i].size), &frame),
                      STATUS_OK, "%zu", i);
    }
    codec_arena_destroy(&arena);
}

Test(gate, fields_before_the_body_hide_nothing)
{
    cr_assert_not(ADMITS(VERSION_1 STATS));
    cr_assert_not(ADMITS(STATS VERSION_1));
    cr_assert_not(ADMITS(VERSION_1 FIELD_200 FIELD_200 BODY_130 STATS));
    cr_assert(ADMITS(VERSION_1 FIELD_200 FIELD_200));
}

#define FOUR_FIELDS FIELD_200 FIELD_200 FIELD_200 FIELD_200

/* More than are looked at: whatever comes behind them does not get in. */
Test(gate, what_never_comes_to_its_body_does_not_pass)
{
    static const char many[] = FOUR_FIELDS FOUR_FIELDS FOUR_FIELDS FOUR_FIELDS VERSION_1 STATS;
    struct codec_arena *arena = NULL;
    struct frame frame;

    cr_assert_eq(codec_arena_create(SAMPLE_ARENA_BYTES, &arena), STATUS_OK);
    cr_assert_eq(codec_decode(arena, span_of(many, sizeof many - 1), &frame), STATUS_OK);
    cr_assert_not(ADMITS(many));
    cr_assert(gate_admits(GATE_NODE, PEER_ANYBODY, span_of(many, sizeof many - 1)));
    /* Nor from who may send it when it is put plainly: that is no frame of ours. */
    cr_assert_not(gate_admits(GATE_NODE, PEER_ADMIN, span_of(many, sizeof many - 1)));
    cr_assert(strstr(refusal_of(GATE_NODE, PEER_ADMIN, span_of(many, sizeof many - 1)),
                     "first fields") != NULL);
    codec_arena_destroy(&arena);
}

/* ---- actions ---- */

#define FILTERS ADMIN_CREATE, ADMIN_DROP, ADMIN_EXPAND, ADMIN_REBUILD, ADMIN_EXPIRE, ADMIN_RENAME

static const struct {
    enum peer_role role;
    enum admin_action actions[12]; /* admins and who holds the cluster key: all */
} allowed[] = {
    {PEER_CLIENT, {FILTERS, ADMIN_STATUS, ADMIN_LOOK, ADMIN_PROCESS_KEYS}},
    {PEER_MONITOR, {ADMIN_STATUS, ADMIN_SITE, ADMIN_UPGRADE_STATUS, ADMIN_PROCESS_KEYS}},
    {PEER_ROUTER, {FILTERS, ADMIN_STATUS, ADMIN_LOOK, ADMIN_LOAD}},
    {PEER_NODE, {(enum admin_action)0}},
};

static bool action_expected(enum peer_role role, enum admin_action action)
{
    if (role == PEER_ADMIN || role == PEER_COORDINATOR || role == PEER_ANYBODY) {
        return true;
    }
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        for (size_t k = 0; k < sizeof allowed[i].actions / sizeof allowed[i].actions[0]; k++) {
            if (allowed[i].role == role && allowed[i].actions[k] == action) {
                return true;
            }
        }
    }
    return false;
}

/* Those of the schema, so that a new one needs a row: without one not even an admin may. */
Test(gate, every_action_is_as_the_table_says)
{
    const ProtobufCEnumDescriptor *all = &orbloom__v1__admin_action__descriptor;

    for (unsigned i = 0; i < all->n_values; i++) {
        enum admin_action action = (enum admin_action)all->values[i].value;

        for (int role = 0; action != 0 && role < PEER_NROLES; role++) {
            cr_expect_eq(gate_admits_action((enum peer_role)role, action),
                         action_expected((enum peer_role)role, action), "%s, action %s",
                         gate_role_name((enum peer_role)role), all->values[i].name);
        }
    }
}

Test(gate, an_action_that_is_not_in_the_table_is_refused_to_all)
{
    cr_assert_not(gate_admits_action(PEER_ADMIN, (enum admin_action)0));
    cr_assert_not(gate_admits_action(PEER_ADMIN, (enum admin_action)17));
    cr_assert_not(gate_admits_action(PEER_ADMIN, (enum admin_action)1000));
    cr_assert(gate_admits_action(PEER_ANYBODY, (enum admin_action)1000));
}

/* ---- refusals ---- */

Test(gate, a_refusal_says_what_and_who_may)
{
    encode(FRAME_STATS_REQUEST);
    cr_assert_str_eq(refusal_of(GATE_ROUTER, PEER_CLIENT, buffer_span(&bytes)),
                     "a client may not send questions about counters to a router; use a "
                     "credential of a monitor: orbloom user create NAME --role monitor "
                     "--credential FILE");
    encode(FRAME_BOOT_REQUEST);
    cr_assert_str_eq(refusal_of(GATE_NODE, PEER_ADMIN, buffer_span(&bytes)),
                     "an admin may not send questions about a start to a node; only processes of "
                     "the cluster may; check the address");
    encode(FRAME_SYNC_REQUEST);
    cr_assert_str_eq(refusal_of(GATE_NODE, PEER_ROUTER, buffer_span(&bytes)),
                     "a router may not send syncs to a node; nobody may; check the address");
}

Test(gate, who_is_not_known_any_more_sends_nothing)
{
    const struct peer admin = {.size = 1, .role = PEER_ADMIN, .user = 3};
    struct codec_arena *arena = NULL;
    struct buffer answer;
    struct frame frame;

    buffer_init(&answer, MAX_BYTES);
    cr_assert_eq(codec_arena_create(SAMPLE_ARENA_BYTES, &arena), STATUS_OK);
    encode(FRAME_STATS_REQUEST);
    cr_assert(gate_pass(GATE_NODE, &admin, true, buffer_span(&bytes), &answer));
    cr_assert_eq(answer.size, 0);
    cr_assert_not(gate_pass(GATE_NODE, &admin, false, buffer_span(&bytes), &answer));
    cr_assert_eq(codec_decode(arena, buffer_span(&answer), &frame), STATUS_OK);
    cr_assert_eq(frame.body.error.status, STATUS_UNAUTHENTIC);
    cr_assert(strstr(frame.body.error.message, "withdrawn") != NULL);
    cr_assert_eq(frame.correlation, 4711);
    buffer_clear(&answer);
    encode(FRAME_BOOT_REQUEST);
    cr_assert_not(gate_pass(GATE_NODE, &admin, true, buffer_span(&bytes), &answer));
    cr_assert_eq(codec_decode(arena, buffer_span(&answer), &frame), STATUS_OK);
    cr_assert(strstr(frame.body.error.message, "an admin may not send") != NULL);
    codec_arena_destroy(&arena);
    buffer_fini(&answer);
}

/* Nor is it told that nobody has its key, which would end what it does. */
Test(gate, who_can_not_be_known_yet_is_put_off)
{
    struct peer peer = {.size = 1, .role = PEER_CLIENT, .user = PEER_PENDING};
    struct codec_arena *arena = NULL;
    struct buffer answer;
    struct frame frame;

    buffer_init(&answer, MAX_BYTES);
    cr_assert_eq(codec_arena_create(SAMPLE_ARENA_BYTES, &arena), STATUS_OK);
    for (int kind = FRAME_NONE + 1; kind < MAY_NKINDS; kind++) {
        encode((enum frame_kind)kind);
        buffer_clear(&answer);
        cr_assert_not(gate_pass(GATE_ROUTER, &peer, true, buffer_span(&bytes), &answer));
        cr_assert_eq(codec_decode(arena, buffer_span(&answer), &frame), STATUS_OK);
        cr_assert_eq(frame.body.error.status, STATUS_NOT_READY);
        cr_assert_eq(frame.correlation, 4711);
    }
    codec_arena_destroy(&arena);
    buffer_fini(&answer);
}

Test(gate, a_refused_command_is_named)
{
    char reason[GATE_REASON_BYTES];

    cr_assert_str_eq(gate_why_action(PEER_MONITOR, ADMIN_DROP, reason),
                     "a monitor may not ask a coordinator for drop; use a credential of a client: "
                     "orbloom user create NAME --role client --credential FILE");
    cr_assert_str_eq(gate_why_action(PEER_CLIENT, ADMIN_MAP_BACKUP, reason),
                     "a client may not ask a coordinator for map backup; use a credential of an "
                     "admin: orbloom user create NAME --role admin --credential FILE");
    cr_assert_str_eq(gate_why_action(PEER_MONITOR, ADMIN_LOOK, reason),
                     "a monitor may not ask a coordinator for a change; use a credential of an "
                     "admin, or, where it is of a filter, of a client with right c to it: orbloom "
                     "user create NAME --role ROLE --credential FILE");
}
