/* `orbloom user`: who may use the cluster. Each change is planned by what a coordinator has just
 * told, and asked for as such: see cli/users/record.h. */
#include "base/number.h"
#include "cli/cmd.h"
#include "cli/output.h"
#include "cli/show/users.h"
#include "cli/users/apply.h"
#include "cli/users/credentials.h"
#include "cli/users/file.h"
#include "cli/users/record.h"
#include "cli/users/token.h"
#include "client/shell_credential.h"
#include "runtime/date.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RIGHTS = USER_MAX_GRANTS, MS_PER_US = 1000 };

struct user_settings {
    struct flags_common common;
    const char *role;
    const char *rights[MAX_RIGHTS];
    uint32_t nrights;
    bool create;
    uint64_t keys_per_s;
    uint64_t filters;
    uint64_t bytes;
    uint64_t connections;
    uint64_t in_flight;
    const char *tls_subject;
    const char *token_file;
    bool no_token;
    uint64_t expires_us;
    bool dry_run;
    bool prune;
    bool yes;
    bool json;
    const char *as;
    const char *cluster_key;
    const char *file; /* of create and key add: --credential is what they write */
};

static const struct option options[] = {
    {
        .name = "role",
        .kind = OPTION_CHOICE,
        .offset = offsetof(struct user_settings, role),
        .sample = "ROLE",
        .range = "client | monitor | admin",
        .help = "create: client may do what its rights say, monitor sees how the cluster does, "
                "admin may do everything; client if not given",
    },
    {
        .name = "rights",
        .kind = OPTION_TEXTS,
        .offset = offsetof(struct user_settings, rights),
        .count_offset = offsetof(struct user_settings, nrights),
        .max_count = MAX_RIGHTS,
        .sample = "\"RIGHTS PATTERN\"",
        .range = "letters of rwcd, a blank, and a filter's name or how names begin and *",
        .help = "create: r check, w add, c create, drop, rename, expire, rebuild, expand, d dump; "
                "several times for several patterns",
    },
    {
        .name = "create",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct user_settings, create),
        .help = "create: an add by Redis' protocol to a name that nobody has makes a filter, with "
                "right c",
    },
    {
        .name = "keys-per-s",
        .kind = OPTION_COUNT,
        .offset = offsetof(struct user_settings, keys_per_s),
        .min = 1,
        .max = UINT64_MAX,
        .sample = "KEYS",
        .range = "1 on",
        .help = "create: at most so many checked and added a second, by all routers together; "
                "without it as many as there are",
    },
    {
        .name = "filters",
        .kind = OPTION_COUNT,
        .offset = offsetof(struct user_settings, filters),
        .min = 1,
        .max = UINT64_MAX,
        .sample = "N",
        .range = "1 on",
        .help = "create: at most so many that it has made; without it any number",
    },
    {
        .name = "bytes",
        .kind = OPTION_BYTES,
        .offset = offsetof(struct user_settings, bytes),
        .min = 1,
        .max = UINT64_MAX,
        .sample = "SIZE",
        .range = "1 on",
        .help = "create: at most so much for the arrays of these, of one replica; without it as "
                "much as there is",
    },
    {
        .name = "connections",
        .kind = OPTION_COUNT,
        .offset = offsetof(struct user_settings, connections),
        .min = 1,
        .max = UINT32_MAX,
        .sample = "N",
        .range = "1 to 4294967295",
        .help = "create: at most so many to one router; without it any number",
    },
    {
        .name = "in-flight",
        .kind = OPTION_BYTES,
        .offset = offsetof(struct user_settings, in_flight),
        .min = 1,
        .max = UINT64_MAX,
        .sample = "SIZE",
        .range = "1 on",
        .help = "create: at most so much of requests under way at one router; without it as much "
                "as a router takes",
    },
    {
        .name = "tls-subject",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct user_settings, tls_subject),
        .sample = "SUBJECT",
        .range = "as RFC 2253 writes it",
        .help = "create: who has a certificate of this subject is that user: CN=crawler,O=Example",
    },
    {
        .name = "token-file",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct user_settings, token_file),
        .sample = "FILE",
        .range = "a file of mode 600",
        .help = "create, token add: the token is the file's first line, of 16 to 512 bytes; else "
                "one of 256 bits is drawn and printed, this once",
    },
    {
        .name = "no-token",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct user_settings, no_token),
        .excludes = "token-file",
        .help = "create: without one, for a user who comes with a certificate",
    },
    {
        .name = "expires",
        .kind = OPTION_DURATION,
        .offset = offsetof(struct user_settings, expires_us),
        .min = 1000000,
        .max = UINT64_C(31536000000000000),
        .sample = "TIME",
        .range = "1s to 1,000 years",
        .help = "create, token add, key add: the token or key is good for so long from now on; "
                "without it for ever",
    },
    {
        .name = "as",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct user_settings, as),
        .sample = "FILE",
        .range = "a file, or none",
        .help = "create, key add: the admin who asks, as --credential is the file to write there; "
                "else $ORBLOOM_CREDENTIAL",
    },
    {
        .name = "cluster-key",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct user_settings, cluster_key),
        .sample = "FILE",
        .range = "a cluster key file",
        .excludes = "as",
        .help = "who asks holds the cluster key: for the first admin; renew: asks nobody",
    },
    {
        .name = "dry-run",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct user_settings, dry_run),
        .help = "apply: only tell what it would do",
    },
    {
        .name = "prune",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct user_settings, prune),
        .help = "apply: delete users that are not in the file",
    },
    {
        .name = "yes",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct user_settings, yes),
        .help =
            "delete, apply, token remove, key remove: also where no admin who can come in would "
            "be left",
    },
    {
        .name = "json",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct user_settings, json),
        .help = "list: print an array of objects; show: an object",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "user",
    .words = "create NAME | list | show NAME | delete NAME | apply FILE | "
             "token NAME add | token NAME remove ID | key NAME add | key NAME remove ID | renew",
    .summary = "Say who may use the cluster, and for what.",
    .notes =
        "While there is no user a CURVE port lets in who holds the cluster key, and nobody else;\n"
        "at a plain port whoever reaches it may do everything, also later on. Tokens are "
        "passwords\n"
        "of Redis clients (AUTH NAME TOKEN); a user may have several, so that one can take\n"
        "another's place: token add, move the clients, token remove. What is kept is a hash: a\n"
        "token is printed once. A deleted user or token counts no more as soon as routers hear of\n"
        "it.\n\n"
        "create --credential FILE and key NAME add --credential FILE draw a key pair, for clients\n"
        "that speak CURVE, and write it to a new file of mode 600, with the public keys of the\n"
        "cluster's processes; renew --credential FILE brings these up to date, while the cluster\n"
        "key is replaced.\n\n"
        "apply makes the users of a file what the file says, tokens aside, in one step:\n\n"
        "  users = ({ name = \"crawler\"; rights = (\"rwc crawl:*\", \"r shared:*\"); create = "
        "\"on\";\n"
        "    limits = { keys_per_s = \"2M\"; filters = 100; bytes = \"8GiB\"; connections = 500;\n"
        "               in_flight = \"16MiB\"; };\n"
        "    tls_subject = \"CN=crawler\"; });\n\n"
        "  orbloom user create crawler --rights \"rwc crawl:*\" --rights \"r shared:*\" "
        "--expires 90d\n"
        "  orbloom user create root --role admin --credential root.cred --cluster-key cluster.key\n"
        "  orbloom user apply users.conf --dry-run\n\n"
        "Exit: 0 done, 1 not (or not surely: ask again), 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 1,
    .max_words = 4,
};

static bool check_name(const char *name)
{
    if (!user_name_valid(name)) {
        (void)cmd_fail(STATUS_INVALID,
                       "\"%.80s\" is no user's name: 1 to 64 letters, digits, '.', '_', ':' or '-'",
                       name);
        return false;
    }
    return true;
}

static uint64_t expiry_of(const struct user_settings *settings)
{
    return settings->expires_us != 0 ? date_now_ms() + settings->expires_us / MS_PER_US : 0;
}

/* What was made here can't be had again, so it is told where the user may have it by now, too. */
static void tell_unsure(const char *name)
{
    (void)fprintf(
        stderr,
        "orbloom: it is not sure whether this was done: a coordinator may have done it, or "
        "do so within a moment; see `orbloom user show %s`, and repeat the command if "
        "nothing is there\n",
        name);
}

/* ---- create ---- */

struct creation {
    struct user user;
    struct user_wish wishes[2];
    size_t nwishes;
    struct credential_draft *credential; /* NULL: none */
};

static int plan_creation(void *context, const struct users_record *record,
                         struct user_change *change)
{
    struct creation *self = context;

    if (user_list_find(&record->list, self->user.name) != NULL) {
        return cmd_fail(STATUS_EXISTS,
                        "user %s exists; change it with `orbloom user apply FILE`, or give it "
                        "another token: `orbloom user token %s add`",
                        self->user.name, self->user.name);
    }
    change->puts = &self->user;
    change->nputs = 1;
    change->adds = self->wishes;
    change->nadds = self->nwishes;
    return self->credential != NULL
               ? credentials_put(self->credential, self->user.name, self->user.role)
               : CMD_OK;
}

static int refuse_setting(enum status status, const char *reason)
{
    return cmd_fail(status, "%s", reason[0] != '\0' ? reason : status_meaning(status));
}

static int define(const struct user_settings *settings, const char *name, struct user *user)
{
    char reason[USER_REASON_BYTES] = "";
    enum status status;

    *user = (struct user){
        .role = USER_CLIENT,
        .create = settings->create,
        .limits = {settings->keys_per_s, settings->filters, settings->bytes,
                   (uint32_t)settings->connections, settings->in_flight},
    };
    status = user_file_set(user, "name", name, reason);
    if (status == STATUS_OK && settings->role != NULL) {
        status = user_file_set(user, "role", settings->role, reason);
    }
    if (status == STATUS_OK && settings->tls_subject != NULL) {
        status = user_file_set(user, "tls_subject", settings->tls_subject, reason);
    }
    for (uint32_t i = 0; i < settings->nrights && status == STATUS_OK; i++) {
        status = user_file_set(user, "rights", settings->rights[i], reason);
    }
    return status == STATUS_OK ? CMD_OK : refuse_setting(status, reason);
}

/* What there was none of is empty. */
static void end_secrets(const char *name, struct new_token *token,
                        struct credential_draft *credential, bool has, bool unsure)
{
    if (unsure) {
        tell_unsure(name);
    }
    if (has || unsure) {
        user_token_print(name, token);
    }
    credentials_end(credential, has, unsure);
    explicit_bzero(token, sizeof *token);
}

/* Who comes with a key or a certificate needs no token. */
static bool wants_token(const struct user_settings *settings)
{
    return !settings->no_token && (settings->file == NULL || settings->token_file != NULL);
}

static int run_create(const struct user_settings *settings, const struct option_words *words)
{
    const char *name = words->items[1];
    struct creation creation = {.nwishes = 0};
    struct new_token token = {.drawn = false};
    struct credential_draft credential = {.path = settings->file};
    bool unsure = false;
    int code = define(settings, name, &creation.user);

    if (code == CMD_OK && settings->expires_us != 0 && settings->file == NULL &&
        settings->no_token) {
        code = cmd_fail(STATUS_USAGE, "--expires is of a token or key, and --no-token makes none; "
                                      "leave one of them out");
    }
    if (code == CMD_OK && wants_token(settings)) {
        code = user_token_make(settings->token_file, &token);
        creation.wishes[creation.nwishes++] = (struct user_wish){
            .user = name,
            .token = span_of(token.text, token.size),
            .expires_ms = expiry_of(settings)};
    }
    if (code == CMD_OK && credential.path != NULL) {
        code = credentials_make(&credential, &settings->common);
        creation.credential = &credential;
        creation.wishes[creation.nwishes++] = credentials_wish(&credential, name,
                                                               expiry_of(settings));
    }
    if (code == CMD_OK) {
        code = users_edit(&settings->common, false, plan_creation, &creation, &unsure);
    }
    if (code == CMD_OK) {
        (void)fprintf(stderr, "created user %s\n", name);
    }
    end_secrets(name, &token, &credential, code == CMD_OK, unsure);
    user_fini(&creation.user);
    return code;
}

/* ---- list, show ---- */

static int show(const struct user_settings *settings, const char *name)
{
    struct users_record record;
    struct json json;
    int code = users_fetch(&settings->common, name, &record);

    if (code == CMD_OK && settings->json) {
        json_open(&json, stdout);
        if (name[0] == '\0') {
            json_begin(&json, NULL, '[');
        }
        for (size_t i = 0; i < record.list.count; i++) {
            users_show_json(&json, &record, &record.list.users[i]);
        }
        if (name[0] == '\0') {
            json_end(&json, ']');
        }
    } else if (code == CMD_OK) {
        users_show_text(&record);
    }
    users_record_fini(&record);
    return code;
}

static int run_list(const struct user_settings *settings, const struct option_words *words)
{
    (void)words;
    return show(settings, "");
}

static int run_show(const struct user_settings *settings, const struct option_words *words)
{
    return show(settings, words->items[1]);
}

/* ---- delete ---- */

struct deletion {
    const char *name;
    uint32_t id;
    bool without_admin;
};

static int plan_deletion(void *context, const struct users_record *record,
                         struct user_change *change)
{
    struct deletion *self = context;
    const struct user *user = user_list_find(&record->list, self->name);

    if (user == NULL && self->id == 0) {
        return users_refuse_unknown(self->name);
    }
    if (user != NULL && self->id == 0) {
        self->id = user->id; /* That one, and no later one of its name. */
    }
    change->deletes = &self->id;
    change->ndeletes = 1;
    change->without_admin = self->without_admin;
    return CMD_OK;
}

static int run_delete(const struct user_settings *settings, const struct option_words *words)
{
    struct deletion deletion = {.name = words->items[1], .without_admin = settings->yes};
    bool unsure;
    int code = users_edit(&settings->common, false, plan_deletion, &deletion, &unsure);

    if (code == CMD_OK) {
        (void)printf("deleted user %s\n", deletion.name);
    }
    return code;
}

/* ---- tokens and keys ---- */

struct addition {
    struct user_wish wish;
    struct credential_draft *credential; /* of a key; NULL: it is a token */
};

static int plan_addition(void *context, const struct users_record *record,
                         struct user_change *change)
{
    struct addition *self = context;
    const struct user *user = user_list_find(&record->list, self->wish.user);

    if (user == NULL) {
        return users_refuse_unknown(self->wish.user);
    }
    change->adds = &self->wish;
    change->nadds = 1;
    return self->credential != NULL ? credentials_put(self->credential, user->name, user->role)
                                    : CMD_OK;
}

static int run_token_add(const struct user_settings *settings, const struct option_words *words)
{
    const char *name = words->items[1];
    struct new_token token = {.drawn = false};
    struct credential_draft none = {.path = NULL};
    struct addition addition = {.credential = NULL};
    bool unsure = false;
    int code = user_token_make(settings->token_file, &token);

    addition.wish = (struct user_wish){
        .user = name, .token = span_of(token.text, token.size), .expires_ms = expiry_of(settings)};
    if (code == CMD_OK) {
        code = users_edit(&settings->common, false, plan_addition, &addition, &unsure);
    }
    if (code == CMD_OK) {
        (void)fprintf(stderr, "user %s has another token\n", name);
    }
    end_secrets(name, &token, &none, code == CMD_OK, unsure);
    return code;
}

struct removal {
    const char *name;
    const char *kind; /* "token" or "key" */
    struct user_use which;
    bool without_admin;
};

static bool is_key(const struct user *user, uint32_t id)
{
    bool found = false;

    for (size_t i = 0; i < user->nkeys; i++) {
        found = found || user->keys[i].id == id;
    }
    return found;
}

/* Ids of tokens and keys are of one row: a wrong word is no reason to remove another thing. */
static bool is_meant(const struct removal *self, const struct user *user)
{
    return user_has_credential(user, self->which.credential) &&
           is_key(user, self->which.credential) == (strcmp(self->kind, "key") == 0);
}

static int plan_removal(void *context, const struct users_record *record,
                        struct user_change *change)
{
    struct removal *self = context;
    const struct user *user = user_list_find(&record->list, self->name);
    bool first = self->which.user == 0;

    if (user == NULL && first) {
        return users_refuse_unknown(self->name);
    }
    if (first && !is_meant(self, user)) {
        return cmd_fail(STATUS_NOT_FOUND,
                        "user %s has no %s of id %" PRIu32 "; see `orbloom user show %s`",
                        self->name, self->kind, self->which.credential, self->name);
    }
    if (first) {
        self->which.user = user->id;
    }
    change->removes = &self->which;
    change->nremoves = 1;
    change->without_admin = self->without_admin;
    return CMD_OK;
}

static int run_remove(const struct user_settings *settings, const struct option_words *words)
{
    const char *name = words->items[1];
    const char *text = words->items[3];
    struct removal removal = {
        .name = name, .kind = words->items[0], .without_admin = settings->yes};
    bool unsure;
    uint64_t id;
    int code;

    if (number_parse_count(text, &id) != STATUS_OK || id == 0 || id > UINT32_MAX) {
        return cmd_fail(STATUS_USAGE, "ID cannot be \"%.60s\"; see `orbloom user show %s`", text,
                        name);
    }
    removal.which.credential = (uint32_t)id;
    code = users_edit(&settings->common, false, plan_removal, &removal, &unsure);
    if (code == CMD_OK) {
        (void)printf("removed %" PRIu64 " of user %s\n", id, name);
    }
    return code;
}

static int run_key_add(const struct user_settings *settings, const struct option_words *words)
{
    const char *name = words->items[1];
    struct credential_draft credential = {.path = settings->file};
    struct addition addition = {.credential = &credential};
    struct new_token none = {.drawn = false};
    bool unsure = false;
    int code;

    if (settings->file == NULL) {
        return cmd_fail(STATUS_USAGE, "which file is to be written? --credential FILE");
    }
    code = credentials_make(&credential, &settings->common);
    addition.wish = credentials_wish(&credential, name, expiry_of(settings));
    if (code == CMD_OK) {
        code = users_edit(&settings->common, false, plan_addition, &addition, &unsure);
    }
    end_secrets(name, &none, &credential, code == CMD_OK, unsure);
    return code;
}

static int run_renew(const struct user_settings *settings, const struct option_words *words)
{
    const char *path = settings->common.credential != NULL ? settings->common.credential
                                                           : getenv(CREDENTIAL_VARIABLE);

    (void)words;
    if (path == NULL || path[0] == '\0') {
        return cmd_fail(STATUS_USAGE, "which file is to be written anew? --credential FILE");
    }
    return credentials_renew(&settings->common, path);
}

/* ---- apply ---- */

static int run_apply(const struct user_settings *settings, const struct option_words *words)
{
    const struct user_application application = {
        .path = words->items[1],
        .dry_run = settings->dry_run,
        .prune = settings->prune,
        .without_admin = settings->yes,
    };

    return user_apply(&settings->common, &application);
}

/* ---- which of them ---- */

enum { CREATES = 1, TOKENS = 2, APPLIES = 4, SHOWS = 8, EXPIRES = 16, WRITES = 32, TAKES = 64 };

static const struct action {
    const char *word;
    const char *then; /* the word after the user's name; NULL: none */
    size_t words;
    bool named; /* the second word is a user */
    unsigned flags;
    int (*run)(const struct user_settings *settings, const struct option_words *words);
} actions[] = {
    {"create", NULL, 2, true, CREATES | TOKENS | EXPIRES | WRITES, run_create},
    {"list", NULL, 1, false, SHOWS, run_list},
    {"show", NULL, 2, true, SHOWS, run_show},
    {"delete", NULL, 2, true, TAKES, run_delete},
    {"apply", NULL, 2, false, APPLIES | TAKES, run_apply},
    {"token", "add", 3, true, TOKENS | EXPIRES, run_token_add},
    {"token", "remove", 4, true, TAKES, run_remove},
    {"key", "add", 3, true, EXPIRES | WRITES, run_key_add},
    {"key", "remove", 4, true, TAKES, run_remove},
    {"renew", NULL, 1, false, 0, run_renew},
};

/* A flag that this action does not have; NULL: none. */
static const char *stray_flag(const struct user_settings *settings, unsigned flags)
{
    const struct {
        const char *name;
        bool given;
        unsigned flags;
    } given[] = {
        {"role", settings->role != NULL, CREATES},
        {"rights", settings->nrights > 0, CREATES},
        {"create", settings->create, CREATES},
        {"keys-per-s", settings->keys_per_s != 0, CREATES},
        {"filters", settings->filters != 0, CREATES},
        {"bytes", settings->bytes != 0, CREATES},
        {"connections", settings->connections != 0, CREATES},
        {"in-flight", settings->in_flight != 0, CREATES},
        {"tls-subject", settings->tls_subject != NULL, CREATES},
        {"no-token", settings->no_token, CREATES},
        {"token-file", settings->token_file != NULL, TOKENS},
        {"expires", settings->expires_us != 0, EXPIRES},
        {"as", settings->as != NULL, WRITES},
        {"dry-run", settings->dry_run, APPLIES},
        {"prune", settings->prune, APPLIES},
        {"yes", settings->yes, TAKES},
        {"json", settings->json, SHOWS},
    };

    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        if (given[i].given && (given[i].flags & flags) == 0) {
            return given[i].name;
        }
    }
    return NULL;
}

static bool is_called(const struct action *self, const struct option_words *words)
{
    return strcmp(words->items[0], self->word) == 0 &&
           (self->then == NULL || (words->count > 2 && strcmp(words->items[2], self->then) == 0));
}

/* NULL: there is none, and it was said what there is. */
static const struct action *find_action(const struct option_words *words)
{
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (is_called(&actions[i], words)) {
            return &actions[i];
        }
    }
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(words->items[0], actions[i].word) == 0) {
            (void)cmd_fail(STATUS_USAGE, "user %s takes NAME add, or NAME remove ID",
                           actions[i].word);
            return NULL;
        }
    }
    (void)cmd_fail(
        STATUS_USAGE,
        "user takes create, list, show, delete, apply, token, key or renew, not \"%.60s\"",
        words->items[0]);
    return NULL;
}

static int check_call(const struct action *action, const struct user_settings *settings,
                      const struct option_words *words)
{
    const char *stray = stray_flag(settings, action->flags);

    if (words->count != action->words) {
        return cmd_fail(STATUS_USAGE, "too %s words; usage: orbloom user %s [FLAGS]",
                        words->count < action->words ? "few" : "many", table.words);
    }
    if (stray != NULL) {
        return cmd_fail(STATUS_USAGE, "--%s is not for user %s%s%s; leave it out", stray,
                        action->word, action->then != NULL ? " NAME " : "",
                        action->then != NULL ? action->then : "");
    }
    return action->named && !check_name(words->items[1]) ? CMD_USAGE : CMD_OK;
}

static int run_action(const struct action *action, struct user_settings *settings,
                      const struct option_words *words)
{
    struct credential held;
    int code = CMD_OK;

    if ((action->flags & WRITES) != 0) {
        settings->file = settings->common.credential;
        settings->common.credential = settings->as;
    }
    if (settings->cluster_key != NULL) {
        code = credentials_of_key(settings->cluster_key, &held);
        settings->common.held = &held;
    }
    if (code == CMD_OK) {
        code = cmd_close_output(action->run(settings, words));
    }
    if (settings->cluster_key != NULL) {
        credential_wipe(&held);
    }
    return code;
}

static int run(int argc, char **argv)
{
    struct user_settings settings = {0};
    struct option_words words;
    const struct action *action;
    int code;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    action = find_action(&words);
    if (action == NULL) {
        return CMD_USAGE;
    }
    code = check_call(action, &settings, &words);
    return code == CMD_OK ? run_action(action, &settings, &words) : code;
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_user(void)
{
    return &command;
}
