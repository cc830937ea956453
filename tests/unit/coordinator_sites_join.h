/* coordinator_sites_join.h - coordinators of several sites and what they are asked; shared by
 * coordinator_sites_join.c and coordinator_sites_leave.c only.
 *
 * Errors:  a failed cr_assert.
 */
#ifndef ORBLOOM_TESTS_UNIT_COORDINATOR_SITES_JOIN_H
#define ORBLOOM_TESTS_UNIT_COORDINATOR_SITES_JOIN_H

#include "coordinator/private.h"
#include "map/acks.h"
#include "tests/support/sample_cluster.h"
#include "tests/support/site_stages.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static inline void setup(void)
{
    site_stages_init(SITE_STAGES);
    site_stages_make(ACKS_EACH);
}

static inline const struct site_set *set_of(uint32_t i)
{
    const struct filter_document *document = site_stages_document(i, "urls");

    cr_assert_not_null(document, "%s has no filter", site_stages_name(i));
    return document_sites(document);
}

static inline void add(uint32_t i, const char *site)
{
    struct coordinator_told told = site_stages_change(i, SITE_STEP_ADD, site);

    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
}

static inline void expect_refused(struct coordinator_told told, enum status status,
                                  const char *words)
{
    cr_assert_eq(told.status, status, "%d: %s", told.status, told.message);
    cr_assert_not_null(strstr(told.message, words), "%s", told.message);
}

static inline void expect_awaited(uint32_t i, const char *words)
{
    const char *text = site_stages_awaited(i);

    cr_assert_not_null(strstr(text, words), "%s: %s", site_stages_name(i), text);
}

/* A drop that is begun is not answered before the nodes have confirmed it. */
static inline void drop_here(uint32_t i, enum status status, const char *words)
{
    struct admin_request drop = coordinator_stage_drop();
    struct coordinator_stage *stage = &site_stages[i].stage;

    drop.scope = DROP_HERE;
    stage->ntold = 0;
    coordinator_stage_command(stage, 2, &drop);
    if (status != STATUS_OK) {
        expect_refused(coordinator_stage_told(stage), status, words);
        return;
    }
    cr_assert_eq(stage->ntold, 0);
    for (int n = 0; n < 3; n++) {
        site_stages_confirm(i);
        coordinator_stage_turn(stage);
    }
    cr_assert_null(site_stages_document(i, "urls"));
    stage->ntold = 0;
}

/* From where it has opened: copied, counted, marked. */
static inline void finish_join(uint32_t i)
{
    for (uint32_t k = 0; k < SITE_STAGES; k++) {
        if (k != i && site_stages_state(i, k) != 0 && site_stages_state(i, k) != SITE_GONE) {
            site_stages_copy(i, k);
        }
    }
    site_stages_run();
    for (uint32_t k = 0; k < SITE_STAGES; k++) {
        if (k != i && site_stages_state(i, k) != 0 && site_stages_state(i, k) != SITE_GONE) {
            site_stages_mark(i, k);
        }
    }
    site_stages_run();
}

static inline void join(uint32_t i, uint32_t newcomer)
{
    add(i, site_stages_name(newcomer));
    site_stages_run();
    finish_join(newcomer);
    cr_assert(set_of(newcomer)->says_absent);
}

#endif
