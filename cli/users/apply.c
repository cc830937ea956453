/* The difference between a file and the record: + is made, ~ is changed, - is not in the file. It
 * is told once the coordinator has taken it, as what was refused has not happened; where somebody
 * else was first all is planned anew. */
#include "cli/users/apply.h"

#include "base/buffer.h"
#include "base/heap.h"
#include "cli/cmd.h"
#include "cli/users/file.h"
#include "cli/users/record.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TOLD_BYTES = USER_NAME_BYTES + 80, TELLING_BYTES = 2 * USER_MAX * TOLD_BYTES };

struct application {
    const struct user_application *asked;
    struct user_list wanted;
    struct user *puts; /* borrow what they have from `wanted` */
    uint32_t *deletes;
    struct buffer telling; /* lines */
    size_t changes;
};

/* Without memory no more is told; what is asked for does not hang on that. */
PRINTF_LIKE(2, 3)
static void tell(struct application *self, const char *format, ...)
{
    char line[TOLD_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (buffer_append(&self->telling, span_text(line)) != STATUS_OK) {
        self->telling.max = self->telling.size;
    }
}

/* Which of its settings are others. */
static void tell_differences(struct application *self, const char *name, unsigned differences)
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

    tell(self, "~ %s", name);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if ((differences & words[i].setting) != 0) {
            tell(self, "%s %s", before, words[i].word);
            before = ",";
        }
    }
    tell(self, "\n");
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
        tell(self, "+ %s: created, without a token\n", wanted->name);
    } else {
        tell_differences(self, wanted->name, differences);
    }
}

/* Who is in the record, and not in the file. */
static void plan_others(struct application *self, const struct user_list *held,
                        struct user_change *change)
{
    size_t left = 0;

    for (size_t i = 0; i < held->count; i++) {
        const struct user *user = &held->users[i];

        if (user_list_find(&self->wanted, user->name) != NULL) {
            continue;
        }
        if (self->asked->prune) {
            tell(self, "- %s: deleted\n", user->name);
            self->deletes[change->ndeletes++] = user->id;
        } else {
            left++;
        }
    }
    if (left > 0) {
        tell(self, "- %zu user%s not in the file: left alone\n", left, left == 1 ? "" : "s");
    }
}

/* A subject names one user; in the file it does, so it is left to look at who stays besides. */
static int check_subjects(const struct application *self, const struct user_list *held)
{
    for (size_t i = 0; i < self->wanted.count; i++) {
        const struct user *wanted = &self->wanted.users[i];
        const struct user *other = wanted->subject[0] != '\0' && !self->asked->prune
                                       ? user_list_find_subject(held, wanted->subject)
                                       : NULL;

        if (other != NULL && user_list_find(&self->wanted, other->name) == NULL) {
            return cmd_fail(STATUS_EXISTS,
                            "%s: tls_subject %.255s of user %s is that of user %s, who is not in "
                            "the file and stays; put that user into it, or say --prune",
                            self->asked->path, wanted->subject, wanted->name, other->name);
        }
    }
    return CMD_OK;
}

static int plan_application(void *context, const struct users_record *record,
                            struct user_change *change)
{
    struct application *self = context;

    heap_free(self->puts);
    heap_free(self->deletes);
    buffer_clear(&self->telling);
    self->puts = heap_alloc(self->wanted.count + 1, sizeof *self->puts);
    self->deletes = heap_alloc(record->list.count + 1, sizeof *self->deletes);
    if (self->puts == NULL || self->deletes == NULL) {
        return cmd_fail(STATUS_NOMEM, "%s", status_meaning(STATUS_NOMEM));
    }
    for (size_t i = 0; i < self->wanted.count; i++) {
        const struct user *wanted = &self->wanted.users[i];

        plan_one(self, wanted, user_list_find(&record->list, wanted->name), change);
    }
    plan_others(self, &record->list, change);
    change->puts = self->puts;
    change->deletes = self->deletes;
    change->without_admin = self->asked->without_admin;
    self->changes = change->nputs + change->ndeletes;
    return check_subjects(self, &record->list);
}

static void tell_done(const struct application *self)
{
    if (self->telling.size > 0) {
        (void)fwrite(self->telling.data, 1, self->telling.size, stdout);
    }
    if (self->changes == 0) {
        (void)printf("nothing to do: all is as %s says\n", self->asked->path);
    } else {
        (void)printf("%s\n", self->asked->dry_run ? "nothing was changed: --dry-run" : "done");
    }
}

int user_apply(const struct flags_common *common, const struct user_application *asked)
{
    struct application application = {.asked = asked};
    bool unsure = false;
    int code = CMD_USAGE;

    buffer_init(&application.telling, TELLING_BYTES);
    if (user_file_read(asked->path, &application.wanted) == STATUS_OK) {
        code = users_edit(common, asked->dry_run, plan_application, &application, &unsure);
    }
    if (code == CMD_OK) {
        tell_done(&application);
    } else if (unsure) {
        (void)fprintf(stderr, "orbloom: it is not sure whether this was done; repeat the command, "
                              "which tells what is left to do\n");
    }
    heap_free(application.puts);
    heap_free(application.deletes);
    buffer_fini(&application.telling);
    user_list_fini(&application.wanted);
    return code;
}
