/* record.h - the cluster's users, for commands that show and change them: asked of a coordinator,
 * and changed as they were seen; with others changing them meanwhile the command looks again.
 *
 * Errors:  printed; exit codes are returned.
 * Owner:   users_record_fini() frees what a record has; it copies what was answered.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_USERS_RECORD_H
#define ORBLOOM_CLI_USERS_RECORD_H

#include "cli/ask.h"
#include "proto/admin_message.h"

struct users_record {
    struct user_list list; /* without hashes of tokens */
    struct user_use *uses; /* in order of users and credentials */
    size_t nuses;
    uint64_t now_ms; /* by the coordinator's clock; 0: it has none */
};

void users_record_fini(struct users_record *self);

/* `name`: of one user, who must be there; "": all. */
int users_fetch(const struct flags_common *common, const char *name, struct users_record *out);

/* The same; that it was refused, or not answered, is not printed. */
int users_fetch_quietly(const struct flags_common *common, const char *name,
                        struct users_record *out, struct cmd_outcome *outcome);

/* When the token or key was used last, as far as is known; 0: never. */
uint64_t users_seen_ms(const struct users_record *self, uint32_t user, uint32_t credential);

/* Says what is to become of the users that there are, in *change, which begins as zeros, points to
 * what outlives the call, and may stay so: nothing is asked for then. Its revision is that of the
 * record. CMD_OK, or the command's exit code after an error was printed. */
typedef int (*users_plan_fn)(void *context, const struct users_record *record,
                             struct user_change *change);

/* Fetch, plan, ask for the change. *unsure: it failed, and may have been made all the same, or be
 * made yet. */
int users_edit(const struct flags_common *common, bool dry_run, users_plan_fn plan, void *context,
               bool *unsure);

/* "x" is no user: printed. */
int users_refuse_unknown(const char *name);

#endif
