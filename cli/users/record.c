/* Looks before each change, and once more where the record was changed in between. */
#include "cli/users/record.h"

#include "base/heap.h"
#include "cli/cmd.h"

#include <stdlib.h>
#include <string.h>

enum { EDIT_ATTEMPTS = 8 };

void users_record_fini(struct users_record *self)
{
    user_list_fini(&self->list);
    heap_free(self->uses);
    *self = (struct users_record){0};
}

/* ---- what there is ---- */

static int take(void *context, const struct frame *frame)
{
    const struct user_page *page = &frame->body.admin_reply.users;
    const struct user_list list = {
        .revision = page->revision, .users = (struct user *)page->users, .count = page->nusers};
    struct users_record *out = context;
    enum status status = user_list_copy(&list, &out->list);

    out->uses = heap_alloc(page->nuses + 1, sizeof *out->uses);
    if (status != STATUS_OK || out->uses == NULL) {
        return cmd_fail(STATUS_NOMEM, "%s", status_meaning(STATUS_NOMEM));
    }
    if (page->nuses > 0) {
        memcpy(out->uses, page->uses, page->nuses * sizeof *out->uses);
    }
    out->nuses = page->nuses;
    out->now_ms = page->now_ms;
    return CMD_OK;
}

int users_fetch_quietly(const struct flags_common *common, const char *name,
                        struct users_record *out, struct cmd_outcome *outcome)
{
    const struct frame frame = {
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request = {.action = ADMIN_USER_LIST, .name = name, .successor = ""},
    };

    *out = (struct users_record){0};
    return cmd_ask_quietly(common, &frame, take, out, outcome);
}

int users_fetch(const struct flags_common *common, const char *name, struct users_record *out)
{
    struct cmd_outcome outcome;
    int code = users_fetch_quietly(common, name, out, &outcome);

    if (outcome.status != STATUS_OK) {
        (void)cmd_fail(outcome.status, "%s", outcome.message);
    }
    return code;
}

uint64_t users_seen_ms(const struct users_record *self, uint32_t user, uint32_t credential)
{
    const struct user_use key = {.user = user, .credential = credential};
    const struct user_use *found =
        self->nuses > 0 ? bsearch(&key, self->uses, self->nuses, sizeof key, user_use_order) : NULL;

    return found != NULL ? found->at_ms : 0;
}

int users_refuse_unknown(const char *name)
{
    return cmd_fail(STATUS_NOT_FOUND, "there is no user %.64s; see `orbloom user list`", name);
}

/* ---- what is to become of it ---- */

static int show_nothing(void *context, const struct frame *frame)
{
    (void)context;
    (void)frame;
    return CMD_OK;
}

static bool is_empty(const struct user_change *change)
{
    return change->nputs + change->nadds + change->nremoves + change->ndeletes == 0;
}

static int attempt(const struct flags_common *common, bool dry_run, users_plan_fn plan,
                   void *context, struct cmd_outcome *outcome)
{
    struct frame frame = {
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request = {.action = ADMIN_USER_CHANGE,
                               .name = "",
                               .successor = "",
                               .dry_run = dry_run},
    };
    struct user_change *change = &frame.body.admin_request.users;
    struct users_record record;
    int code = users_fetch(common, "", &record);

    *outcome = (struct cmd_outcome){.status = STATUS_OK};
    code = code == CMD_OK ? plan(context, &record, change) : code;
    change->revision = record.list.revision;
    if (code == CMD_OK && !is_empty(change)) {
        code = cmd_ask_quietly(common, &frame, show_nothing, NULL, outcome);
    }
    users_record_fini(&record);
    return code;
}

int users_edit(const struct flags_common *common, bool dry_run, users_plan_fn plan, void *context,
               bool *unsure)
{
    struct cmd_outcome outcome = {.status = STATUS_CONFLICT};
    int code = CMD_PARTIAL;

    for (int i = 0; outcome.status == STATUS_CONFLICT && i < EDIT_ATTEMPTS; i++) {
        code = attempt(common, dry_run, plan, context, &outcome);
    }
    *unsure = outcome.unsure && !dry_run;
    if (outcome.status != STATUS_OK) {
        (void)cmd_fail(outcome.status, "%s", outcome.message);
    }
    return code;
}
