/* plan.h - the answers of `orbloom plan` as people and programs read them.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHOW_PLAN_H
#define ORBLOOM_CLI_SHOW_PLAN_H

#include "cli/show/plan_answer.h"

#include <stdio.h>

/* One plan, a line a figure. */
void plan_show_one(const struct plan_answer *answer, FILE *out);

/* Several plans, a line each. */
void plan_show_list(const struct plan_answer *answers, size_t count, FILE *out);

/* An object; an array of such objects. */
void plan_show_one_json(const struct plan_answer *answer, FILE *out);
void plan_show_list_json(const struct plan_answer *answers, size_t count, FILE *out);

#endif
