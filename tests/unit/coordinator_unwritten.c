/* A store that can't be written or read: each command says why and what helps, status goes on, and
 * what waits for it goes on when it is back. */
#include "coordinator_expansion.h"

#define REASON "the disk is full; make room"

/* What status says of the only filter, and in general. */
static char refused[COORDINATOR_MESSAGE_BYTES];

static const char *growth_refused(void)
{
    struct filter_summary summary = {0};
    char texts[TELLING_TEXTS][COORDINATOR_MESSAGE_BYTES];
    struct telling telling = {.summary = &summary, .texts = texts};

    duty_expansion.describe(stage.coordinator, stage.now_us,
                            document_cache_find(&stage.coordinator->documents, FILTER), &telling);
    (void)strcpy(refused, summary.growth_refused);
    return refused;
}

static struct coordinator_told ask_node(enum admin_action action, const char *name)
{
    const struct admin_request request = {.action = action, .name = name, .successor = ""};

    return command(&stage, &request);
}

static void expect_told(struct coordinator_told told, enum status status, const char *words)
{
    cr_assert_eq(told.status, status, "%s: %s", status_code(told.status), told.message);
    cr_assert_not_null(strstr(told.message, words), "%s", told.message);
}

Test(coordinator_unwritten, expansion_that_is_due_says_that_it_waits_and_goes_on)
{
    first_keys = 8000;
    open_with(WHEN_FULL_EXPAND);
    store.read_only = true;
    says[1].keys = 9000;
    report_all(&stage);
    cr_assert_eq(document_at(&stage)->ngenerations, 1);
    cr_assert_str_eq(growth_refused(), "the store can't be written: " REASON);
    for (int i = 0; i < 5; i++) {
        report_all(&stage);
    }
    cr_assert_str_eq(growth_refused(), "the store can't be written: " REASON);
    store.read_only = false;
    for (int i = 0; i < 3; i++) {
        report_all(&stage);
    }
    cr_assert_eq(document_at(&stage)->ngenerations, 2);
    cr_assert_str_eq(growth_refused(), "");
    close_stage();
}

Test(coordinator_unwritten, commands_name_cause_and_remedy)
{
    struct admin_request create = create_request();
    struct sync_request spare;

    open_with(WHEN_FULL_REFUSE);
    spare = coordinator_stage_node(4);
    cr_assert_eq(coordinator_stage_sync(&stage, 4, &spare).status, STATUS_OK);
    store.read_only = true;
    expect_told(ask(40000, 0), STATUS_IO, "filter urls: the store can't be written: " REASON);
    expect_told(ask(5000, 0), STATUS_IO, "filter urls: the store can't be written: " REASON);
    expect_told(ask_node(ADMIN_NODE_DRAIN, "node-2"), STATUS_IO,
                "the store can't be written: " REASON);
    expect_told(ask_node(ADMIN_DROP, "urls"), STATUS_IO, "the store can't be written: " REASON);
    create.name = "other";
    expect_told(command(&stage, &create), STATUS_IO, "the store can't be written: " REASON);
    cr_assert_eq(document_at(&stage)->revision, 1);
    store.read_only = false;
    cr_assert_eq(ask(40000, 0).status, STATUS_OK);
    close_stage();
}

Test(coordinator_unwritten, unread_it_refuses_changes_and_shows_what_was_known)
{
    struct coordinator_told told;

    open_with(WHEN_FULL_REFUSE);
    store.broken = true;
    expect_told(ask(40000, 0), STATUS_IO, "the store can't be read: " REASON);
    told = ask_node(ADMIN_STATUS, "");
    expect_told(told, STATUS_OK, REASON);
    cr_assert_eq(told.nfilters, 1);
    cr_assert_eq(told.nnodes, NODES);
    close_stage();
}

/* That the store is away does not make nodes silent. */
Test(coordinator_unwritten, nodes_are_heard_of_while_the_store_is_away)
{
    struct sync_request node;

    open_with(WHEN_FULL_REFUSE);
    store.broken = true;
    for (int i = 0; i < 20; i++) {
        for (uint32_t n = 1; n <= NODES; n++) {
            node = coordinator_stage_node(n);
            cr_assert_eq(coordinator_stage_sync(&stage, n, &node).status, STATUS_IO);
            cr_assert_not_null(strstr(stage.synced.message, REASON), "%s", stage.synced.message);
        }
        coordinator_stage_pass(&stage, SECOND_US);
    }
    cr_assert(heard_alive(stage.coordinator, stage.now_us, 2));
    node = coordinator_stage_node(2);
    node.incarnation++; /* Another life is judged by the store, and by nothing else. */
    coordinator_stage_pass(&stage, 20 * SECOND_US);
    (void)coordinator_stage_send(&stage, 2, &node);
    cr_assert_not(heard_alive(stage.coordinator, stage.now_us, 2));
    cr_assert_eq(coordinator_heard(stage.coordinator, 2)->incarnation, SAMPLE_INCARNATION + 2);
    close_stage();
}
