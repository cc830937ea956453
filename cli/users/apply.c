/* The difference between a file and the record, told as it is planned: + is made, ~ is changed, -
 * is not in the file. Where somebody else was first all is planned and told anew. */
#include "cli/users/apply.h"

#include "base/heap.h"
#include "cli/cmd.h"
#include "cli/users/file.h"
#include "cli/users/record.h"

#include <stdio.h>

struct application {
    const struct user_application *asked;
    struct user_list wanted;
    struct user *puts; /* borrow what they have from `wanted` */
    uint32_t *deletes;
    size_t changes;
};

/* Which of its settings are others. */
static void print_differences(const char *name, unsigned differences)
{
    static const struct {
        enum user_setting setting;
        const char *word;
    } words[] = {
        {USER_SETS_ROLE, "role"},           {USER_SETS_GRANTS, "rights"},
        {USER_SETS_CREATE, "create"},       {USER_SETS_LIMITS, "limits"},
        {USER_SETS_SUBJECT, "tls_subject"},
    };
    const char *before = ":";

    (void)printf("~ %s", name);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if ((differences & words[i].setting) != 0) {
            (void)printf("%s %s", before, words[i].word);
            before = ",";
        }
    }
    (void)printf("\n");
}

static void plan_one(struct application *self, const struct user *wanted, const struct user *held,
                     struct user_change *change)
{
    unsigned differences = held != NULL ? user_differences(wanted, held) : 0;

    if (held != NULL && differences == 0) {
        return;
    }
    self->puts[change->nputs] = *wanted;
    self->puts[change->nputs++].id = held != NULL ? held->id : 0;
    if (held == NULL) {
        (void)printf("+ %s: created, without a token\n", wanted->name);
    } else {
        print_differences(wanted->name, differences);
    }
}

static int plan_application(void *context, const struct users_record *record,
                            struct user_change *change)
{
    struct application *self = context;

    heap_free(self->puts);
    heap_free(self->deletes);
    self->puts = heap_alloc(self->wanted.count + 1, sizeof *self->puts);
    self->deletes = heap_alloc(record->list.count + 1, sizeof *self->deletes);
    if (self->puts == NULL || self->deletes == NULL) {
        return cmd_fail(STATUS_NOMEM, "%s", status_meaning(STATUS_NOMEM));
    }
    for (size_t i = 0; i < self->wanted.count; i++) {
        const struct user *wanted = &self->wanted.users[i];

        plan_one(self, wanted, user_list_find(&record->list, wanted->name), change);
    }
    for (size_t i = 0; i < record->list.count; i++) {
        const struct user *held = &record->list.users[i];

        if (user_list_find(&self->wanted, held->name) == NULL) {
            (void)printf("- %s: %s\n", held->name, self->asked->prune ? "deleted" : "left alone");
            self->deletes[change->ndeletes] = held->id;
            change->ndeletes += self->asked->prune;
        }
    }
    change->puts = self->puts;
    change->deletes = self->deletes;
    change->without_admin = self->asked->without_admin;
    self->changes = change->nputs + change->ndeletes;
    return CMD_OK;
}

int user_apply(const struct flags_common *common, const struct user_application *asked)
{
    struct application application = {.asked = asked};
    bool unsure = false; /* Who repeats the command is told what is left to do. */
    int code = CMD_USAGE;

    if (user_file_read(asked->path, &application.wanted) == STATUS_OK) {
        code = users_edit(common, asked->dry_run, plan_application, &application, &unsure);
    }
    if (code == CMD_OK && application.changes == 0) {
        (void)printf("nothing to do: all is as %s says\n", asked->path);
    } else if (code == CMD_OK) {
        (void)printf("%s\n", asked->dry_run ? "nothing was changed: --dry-run" : "done");
    }
    heap_free(application.puts);
    heap_free(application.deletes);
    user_list_fini(&application.wanted);
    return code;
}
