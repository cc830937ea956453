/* cluster_pull.h - one pull from one source: its next question, and a good answer to bend. */
#ifndef ORBLOOM_TESTS_UNIT_CLUSTER_PULL_H
#define ORBLOOM_TESTS_UNIT_CLUSTER_PULL_H

#include "node/pull/pull.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { DELAY = 1000000, NOW = 5000000 };

static const struct pull_scope scope = {
    .filter_id = 5, .epoch = 3, .epoch_hash = 33, .keyset = 1, .group = 2};
static const struct member source = {.node = 7, .incarnation = 77};
static struct pull pull;
static struct pull_request question;
static struct pull_reply reply;
static struct batch_set *have;

static void teardown(void)
{
    pull_fini(&pull);
    batch_set_fini(have);
    free(have);
}

static inline void begin(enum pull_purpose purpose, const uint64_t *cursor)
{
    have = calloc(1, sizeof *have);
    pull_init(&pull, purpose, &scope, &source, cursor, DELAY);
}

/* The next question, and a good answer to it to begin with. */
static void ask(enum pull_kind kind, uint64_t from, uint64_t to)
{
    cr_assert_leq(pull_due_us(&pull), NOW);
    pull_question(&pull, &question);
    cr_assert_eq(question.kind, kind, "kind %d", question.kind);
    cr_assert_eq(question.from, from);
    cr_assert_eq(question.to, to);
    cr_assert_eq(question.source.incarnation, 77);
    pull_asked(&pull);
    cr_assert_eq(pull_due_us(&pull), UINT64_MAX, "one question at a time");
    reply = (struct pull_reply){
        .status = STATUS_OK,
        .kind = kind,
        .scope = scope,
        .source = source,
        .state = REPLICA_FULL,
        .fence_epoch = 3,
        .fence_position = 600,
        .from = from,
        .durable = 500,
    };
}

static void take(uint64_t next, bool end, uint64_t merged, uint64_t appended)
{
    reply.next = next;
    reply.end = end;
    reply.merged = merged;
    cr_assert_eq(pull_judge(&pull, &reply), STATUS_OK);
    pull_take(&pull, NOW, &reply, appended);
}

#endif
