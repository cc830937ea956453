/* A change of users is worked out on a copy of the record, as one compare-and-swap writes all of
 * it. What comes of it is compared with what is there: where nothing differs nothing is written, so
 * that a change may be asked for again; else it must have been the record that was seen. */
#include "coordinator/users/users.h"

#include "base/heap.h"
#include "base/mutant.h"
#include "coordinator/duty.h"
#include "coordinator/records.h"
#include "proto/gate.h"
#include "proto/signed_document.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- a change, worked out ---- */

struct edit {
    const struct user_change *change;
    struct user_list list; /* a copy, changed */
    struct hash_secret secret;
    uint64_t date_ms;
    bool changed;
    bool dry_run;
    char *message;
};

/* All but its id, its name, its tokens and its keys. */
static enum status define(struct user *user, const struct user *wish)
{
    struct user_grant *grants = NULL;

    if (wish->ngrants > 0) {
        grants = heap_alloc(wish->ngrants, sizeof *grants);
        if (grants == NULL) {
            return STATUS_NOMEM;
        }
        memcpy(grants, wish->grants, wish->ngrants * sizeof *grants);
    }
    heap_free(user->grants);
    user->grants = grants;
    user->ngrants = wish->ngrants;
    user->role = wish->role;
    user->create = wish->create;
    user->limits = wish->limits;
    memcpy(user->subject, wish->subject, sizeof user->subject);
    return STATUS_OK;
}

/* A place among the others, in order of names. */
static struct user *insert(struct user_list *list, const char *name)
{
    struct user *grown = heap_realloc(list->users, list->count + 1, sizeof *grown);
    size_t at = 0;

    if (grown == NULL) {
        return NULL;
    }
    list->users = grown;
    while (at < list->count && strcmp(grown[at].name, name) < 0) {
        at++;
    }
    memmove(&grown[at + 1], &grown[at], (list->count - at) * sizeof *grown);
    grown[at] = (struct user){.id = ++list->last_id};
    (void)snprintf(grown[at].name, sizeof grown[at].name, "%s", name);
    list->count++;
    return &grown[at];
}

static enum status refuse(const struct edit *self, enum status status, const char *name,
                          const char *why)
{
    (void)snprintf(self->message, COORDINATOR_MESSAGE_BYTES, "user %.64s %s; nothing was changed",
                   name, why);
    return status;
}

static enum status make(struct edit *self, const struct user *wish)
{
    struct user *user;

    if (self->list.count >= USER_MAX || self->list.last_id == UINT32_MAX) {
        return refuse(self, STATUS_TOO_LARGE, wish->name,
                      "can't be made: there are as many users as may be; delete some");
    }
    user = insert(&self->list, wish->name);
    if (user == NULL) {
        return STATUS_NOMEM;
    }
    self->changed = true;
    return define(user, wish);
}

static enum status put(struct edit *self, const struct user *wish)
{
    struct user *user = user_list_find(&self->list, wish->name);

    if (!user_name_valid(wish->name)) {
        return refuse(self, STATUS_INVALID, wish->name,
                      "has no valid name: 1 to 64 letters, digits and . _ : -");
    }
    if (user == NULL && wish->id != 0) {
        return refuse(self, STATUS_NOT_FOUND, wish->name,
                      "was deleted meanwhile; look, and ask again");
    }
    if (user == NULL) {
        return make(self, wish);
    }
    if (user_differences(user, wish) == 0) {
        return STATUS_OK;
    }
    if (wish->id != user->id) {
        return refuse(self, STATUS_EXISTS, wish->name,
                      "exists and is another one; change it with `orbloom user apply`, or delete "
                      "it first");
    }
    self->changed = true;
    return define(user, wish);
}

/* ---- tokens and keys ---- */

static enum status append(void *items, size_t *count, size_t size, const void *item)
{
    void *array;
    void *grown;

    memcpy(&array, items, sizeof array);
    grown = heap_realloc(array, *count + 1, size);
    if (grown == NULL) {
        return STATUS_NOMEM;
    }
    memcpy((uint8_t *)grown + *count * size, item, size);
    memcpy(items, &grown, sizeof grown);
    ++*count;
    return STATUS_OK;
}

/* What is there already is no change, but until when it is good is not changed unsaid. */
static enum status add_again(const struct edit *self, const struct user_wish *wish,
                             uint64_t expires_ms)
{
    return expires_ms == wish->expires_ms
               ? STATUS_OK
               : refuse(self, STATUS_EXISTS, wish->user,
                        "has this token or key already, which expires at another time; remove it "
                        "first (`orbloom user show`), or give another one");
}

static enum status add_token(struct edit *self, struct user *user, const struct user_wish *wish)
{
    struct user_token token = {.created_ms = self->date_ms, .expires_ms = wish->expires_ms};

    if (wish->token.size < USER_MIN_TOKEN_BYTES || wish->token.size > USER_MAX_TOKEN_BYTES) {
        return refuse(self, STATUS_INVALID, wish->user,
                      "can't have a token that is not of 16 to "
                      "512 bytes");
    }
    user_token_hash(&self->secret, wish->token, token.hash);
    for (size_t i = 0; i < user->ntokens; i++) {
        if (memcmp(user->tokens[i].hash, token.hash, sizeof token.hash) == 0) {
            return add_again(self, wish, user->tokens[i].expires_ms);
        }
    }
    if (user->ntokens >= USER_MAX_TOKENS) {
        return refuse(self, STATUS_TOO_LARGE, wish->user,
                      "has 8 tokens already; remove one: `orbloom user token NAME remove ID`");
    }
    token.id = ++user->last_credential;
    self->changed = true;
    return append(&user->tokens, &user->ntokens, sizeof token, &token);
}

static enum status add_key(struct edit *self, struct user *user, const struct user_wish *wish)
{
    struct user_key key = {.created_ms = self->date_ms, .expires_ms = wish->expires_ms};
    const struct user *holder = user_list_find_key(&self->list, wish->key, NULL);

    if (holder != NULL && holder != user) {
        return refuse(self, STATUS_EXISTS, wish->user, "can't have the key of another user");
    }
    for (size_t i = 0; i < user->nkeys; i++) {
        if (memcmp(user->keys[i].key, wish->key, sizeof key.key) == 0) {
            return add_again(self, wish, user->keys[i].expires_ms);
        }
    }
    if (user->nkeys >= USER_MAX_KEYS) {
        return refuse(self, STATUS_TOO_LARGE, wish->user,
                      "has 8 keys already; remove one: `orbloom user key NAME remove ID`");
    }
    key.id = ++user->last_credential;
    memcpy(key.key, wish->key, sizeof key.key);
    self->changed = true;
    return append(&user->keys, &user->nkeys, sizeof key, &key);
}

static enum status add(struct edit *self, const struct user_wish *wish)
{
    struct user *user = user_list_find(&self->list, wish->user);

    if (user == NULL) {
        return refuse(self, STATUS_NOT_FOUND, wish->user,
                      "does not exist; see `orbloom user list`");
    }
    if (user_wish_has_key(wish) == (wish->token.size > 0)) {
        return refuse(self, STATUS_INVALID, wish->user,
                      "is to have a token or a key, and not both");
    }
    if (wish->expires_ms != 0 && wish->expires_ms <= self->date_ms) {
        return refuse(self, STATUS_INVALID, wish->user,
                      "can't have a token or key that has expired by the coordinator's clock");
    }
    return wish->token.size > 0 ? add_token(self, user, wish) : add_key(self, user, wish);
}

/* What is not there any more is no change. */
static void remove_credential(struct edit *self, const struct user_use *which)
{
    struct user *user = user_list_find_id(&self->list, which->user);

    for (size_t i = 0; user != NULL && i < user->ntokens; i++) {
        if (user->tokens[i].id == which->credential) {
            user->ntokens--;
            memmove(&user->tokens[i], &user->tokens[i + 1],
                    (user->ntokens - i) * sizeof *user->tokens);
            self->changed = true;
        }
    }
    for (size_t i = 0; user != NULL && i < user->nkeys; i++) {
        if (user->keys[i].id == which->credential) {
            user->nkeys--;
            memmove(&user->keys[i], &user->keys[i + 1], (user->nkeys - i) * sizeof *user->keys);
            self->changed = true;
        }
    }
}

static void delete_user(struct edit *self, uint32_t id)
{
    struct user *user = user_list_find_id(&self->list, id);

    if (user != NULL) {
        size_t at = (size_t)(user - self->list.users);

        user_fini(user);
        self->list.count--;
        memmove(user, user + 1, (self->list.count - at) * sizeof *user);
        self->changed = true;
    }
}

/* What goes makes room first. */
static enum status work_out(struct edit *self)
{
    const struct user_change *change = self->change;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < change->ndeletes; i++) {
        delete_user(self, change->deletes[i]);
    }
    for (size_t i = 0; i < change->nremoves; i++) {
        remove_credential(self, &change->removes[i]);
    }
    for (size_t i = 0; i < change->nputs && status == STATUS_OK; i++) {
        status = put(self, &change->puts[i]);
    }
    for (size_t i = 0; i < change->nadds && status == STATUS_OK; i++) {
        status = add(self, &change->adds[i]);
    }
    return status;
}

/* ---- ... not so that nobody is left who could take it back ---- */

/* How well users can be seen to by users where ports speak CURVE: an admin comes by a key, and
 * everybody else holds the cluster key. */
enum standing { STANDING_NONE, STANDING_FOR_NOW, STANDING_FOR_GOOD };

static enum standing standing_by(uint64_t expires_ms, uint64_t date_ms)
{
    if (expires_ms == 0) {
        return STANDING_FOR_GOOD;
    }
    return expires_ms > date_ms ? STANDING_FOR_NOW : STANDING_NONE;
}

static enum standing standing_of(const struct user *user, uint64_t date_ms)
{
    enum standing best = STANDING_NONE;

    for (size_t i = 0; user->role == USER_ADMIN && i < user->nkeys; i++) {
        enum standing standing = standing_by(user->keys[i].expires_ms, date_ms);

        best = standing > best ? standing : best;
    }
    return best;
}

/* The admin of the best standing; NULL: none has a key. */
static const struct user *best_admin(const struct user_list *list, uint64_t date_ms)
{
    const struct user *best = NULL;

    for (size_t i = 0; i < list->count; i++) {
        enum standing standing = standing_of(&list->users[i], date_ms);

        if (standing > (best != NULL ? standing_of(best, date_ms) : STANDING_NONE)) {
            best = &list->users[i];
        }
    }
    return best;
}

static enum status keep_admin(const struct edit *self, const struct user_list *before)
{
    const struct user *was = best_admin(before, self->date_ms);
    const struct user *is = best_admin(&self->list, self->date_ms);
    enum standing lost = was != NULL ? standing_of(was, self->date_ms) : STANDING_NONE;

    if (self->change->without_admin || lost == STANDING_NONE ||
        (is != NULL && standing_of(is, self->date_ms) >= lost)) {
        return STATUS_OK;
    }
    (void)snprintf(
        self->message, COORDINATOR_MESSAGE_BYTES,
        "no admin with a key%s would be left without user %.64s, and by CURVE only who "
        "holds the cluster key could change users; make another admin first (orbloom user "
        "create NAME --role admin --credential FILE), or say --yes; nothing was changed",
        is != NULL ? " that does not expire" : "", was->name);
    return STATUS_INVALID;
}

/* ---- ... and written ---- */

static enum status open_list(struct coordinator *self, struct edit *edit)
{
    enum status status = user_list_copy(&self->documents.users, &edit->list);

    if (status == STATUS_OK && edit->list.revision == 0) {
        for (size_t i = 0; i < sizeof edit->secret.bytes; i += 8) {
            records_put_number(self->effects.random(self->effects.context), &edit->secret.bytes[i]);
        }
        records_seal(self, 0, &edit->secret, edit->list.sealed);
    } else if (status == STATUS_OK) {
        status = seal_secret_open(&self->config.key, 0,
                                  span_of(edit->list.sealed, sizeof edit->list.sealed),
                                  &edit->secret);
    }
    edit->list.revision++;
    edit->changed = false;
    return status;
}

static enum status check(const struct edit *edit)
{
    const char *reason = NULL;
    enum status status = user_list_validate(&edit->list, &reason);

    if (status == STATUS_MALFORMED) {
        (void)snprintf(edit->message, COORDINATOR_MESSAGE_BYTES, "%s; nothing was changed", reason);
        status = STATUS_INVALID;
    }
    return status;
}

static enum status write(struct coordinator *self, struct edit *edit)
{
    struct store_swap swap = {.key = RECORDS_USERS_KEY, .expected = self->users_version};
    struct buffer value;
    enum status status;

    buffer_init(&value, CODEC_MAX_FRAME_BYTES);
    status = records_sign_users(self, &edit->list, &value);
    if (status == STATUS_TOO_LARGE) {
        (void)snprintf(edit->message, COORDINATOR_MESSAGE_BYTES,
                       "the record of users would be larger than the 1 MiB that it may be; "
                       "nothing was changed: give fewer grants a user, or delete users");
    }
    swap.value = buffer_span(&value);
    status = status == STATUS_OK ? records_swap(self, &swap, 1) : status;
    buffer_fini(&value);
    return status;
}

static enum status refuse_moved(struct coordinator *self, const struct edit *edit)
{
    self->order.moved = true;
    (void)snprintf(edit->message, COORDINATOR_MESSAGE_BYTES,
                   "users were changed meanwhile, by somebody else or as the cluster key was "
                   "replaced; look, and ask again");
    return STATUS_CONFLICT;
}

static enum status attempt(struct coordinator *self, uint64_t now_us, void *context)
{
    struct edit *edit = context;
    enum status status = open_list(self, edit);

    (void)now_us;
    status = status == STATUS_OK ? work_out(edit) : status;
    status = status == STATUS_OK ? check(edit) : status;
    status = status == STATUS_OK ? keep_admin(edit, &self->documents.users) : status;
    if ((status != STATUS_OK || edit->changed) && status != STATUS_NOMEM &&
        edit->change->revision != self->documents.users.revision) {
        status = refuse_moved(self, edit);
    }
    if (status == STATUS_OK && edit->changed && !edit->dry_run) {
        status = write(self, edit);
    }
    user_list_fini(&edit->list);
    edit->secret = (struct hash_secret){{0}};
    return status;
}

void coordinator_on_user_change(struct coordinator *self, uint64_t now_us, const struct peer *from,
                                const struct frame *frame)
{
    const struct admin_request *request = &frame->body.admin_request;
    char message[COORDINATOR_MESSAGE_BYTES] = "";
    struct edit edit = {.change = &request->users,
                        .date_ms = coordinator_date_ms(self),
                        .dry_run = request->dry_run,
                        .message = message};
    enum status status = records_change(self, now_us, attempt, &edit);

    if (status == STATUS_OK && edit.changed && !edit.dry_run) {
        log_line(LOG_INFO, "users: changed, revision %" PRIu64, self->documents.users.revision);
        coordinator_hint(self, now_us);
    } else if (status != STATUS_OK && message[0] == '\0') {
        records_tell(self, status, "written", message, sizeof message);
    }
    coordinator_answer(self, from, frame->correlation, status, status == STATUS_OK && edit.changed,
                       message);
}

/* ---- the list ---- */

/* One of them, or all; nobody is told a hash. */
static void tell_users(struct coordinator *self, const char *name, struct user_list *list,
                       struct user_page *page)
{
    const struct user *one = name[0] != '\0' ? user_list_find(list, name) : NULL;

    for (size_t i = 0; i < list->count; i++) {
        for (size_t k = 0; k < list->users[i].ntokens; k++) {
            memset(list->users[i].tokens[k].hash, 0, USER_HASH_BYTES);
        }
    }
    users_forget_uses(self);
    *page = (struct user_page){
        .revision = list->revision,
        .now_ms = coordinator_date_ms(self),
        .users = one != NULL ? one : list->users,
        .nusers = one != NULL ? 1 : list->count,
        .uses = self->users.uses,
        .nuses = self->users.nuses,
    };
}

void coordinator_on_user_list(struct coordinator *self, uint64_t now_us, const struct peer *from,
                              const struct frame *frame)
{
    const char *name = frame->body.admin_request.name;
    struct frame answer = {.correlation = frame->correlation, .kind = FRAME_ADMIN_REPLY};
    struct admin_reply *reply = &answer.body.admin_reply;
    char message[COORDINATOR_MESSAGE_BYTES] = "";
    struct user_list list = {0};

    (void)now_us;
    reply->status = user_list_copy(&self->documents.users, &list);
    if (reply->status == STATUS_OK && name[0] != '\0' && user_list_find(&list, name) == NULL) {
        reply->status = STATUS_NOT_FOUND;
        (void)snprintf(message, sizeof message, "there is no user %.64s; see `orbloom user list`",
                       name);
    }
    if (reply->status == STATUS_OK) {
        tell_users(self, name, &list, &reply->users);
    }
    reply->message = message;
    coordinator_reply(self, from, &answer);
    user_list_fini(&list);
}

/* ---- who may ask for what ---- */

struct users_asker users_asker(const struct coordinator *self, const struct peer *from,
                               const struct admin_request *request)
{
    const char *named = request->user != NULL ? request->user : "";
    bool own = from->role == PEER_CLIENT || from->role == PEER_MONITOR || from->role == PEER_ADMIN;
    struct users_asker asker = {NULL, false};

    if (own) {
        asker.user = user_list_find_id(&self->documents.users, from->user);
        asker.unknown = asker.user == NULL;
    }
    if (named[0] == '\0' || asker.unknown) {
        return asker;
    }
    /* Only an admin asks for another one. */
    if (own && asker.user->role != USER_ADMIN && strcmp(asker.user->name, named) != 0) {
        return (struct users_asker){NULL, true};
    }
    asker.user = user_list_find(&self->documents.users, named);
    asker.unknown = asker.user == NULL;
    return asker;
}

static const char *target_of(const struct admin_request *request)
{
    return request->rename.name != NULL ? request->rename.name : "";
}

/* One of the names of a rename, or of the look before one. */
static bool may_name(const struct user *user, const struct admin_request *request, const char *name)
{
    return request->action == ADMIN_LOOK ? user_sees(user, name)
                                         : user_may(user, USER_CREATE, name);
}

/* What a client may ask for: about which filters, and with which right to them. */
static bool may(const struct user *user, const struct admin_request *request)
{
    const char *target = target_of(request);

    switch (request->action) {
    case ADMIN_DROP:
        return user_may(user, USER_CREATE, request->name) || MUTANT(ANY_USER_DROPS);
    case ADMIN_CREATE:
    case ADMIN_EXPAND:
    case ADMIN_EXPIRE:
    case ADMIN_LOAD:
        return user_may(user, USER_CREATE, request->name);
    case ADMIN_REBUILD: /* Who may feed a list may say how much of it was. */
        return user_may(user, request->rebuild.step == REBUILD_FED ? USER_WRITE : USER_CREATE,
                        request->name);
    case ADMIN_RENAME:
        return may_name(user, request, request->name) && may_name(user, request, target);
    case ADMIN_LOOK:
        return may_name(user, request, request->name) &&
               (target[0] == '\0' || may_name(user, request, target));
    case ADMIN_STATUS:
    case ADMIN_PROCESS_KEYS:
        return true; /* It is shown what it sees. */
    case ADMIN_SITE:
    case ADMIN_SITE_CHANGE:
    case ADMIN_NODE_DRAIN:
    case ADMIN_NODE_REPLACE:
    case ADMIN_NODE_REMOVE:
    case ADMIN_REBALANCE:
    case ADMIN_ACCEPT_LOSS:
    case ADMIN_MAP_BACKUP:
    case ADMIN_MAP_BEGIN:
    case ADMIN_MAP_RECORDS:
    case ADMIN_MAP_FINISH:
    case ADMIN_UPGRADE_STATUS:
    case ADMIN_UPGRADE_FINALIZE:
    case ADMIN_USER_LIST:
    case ADMIN_USER_CHANGE:
        break;
    }
    return false;
}

static bool is_allowed(const struct user *user, const struct admin_request *request)
{
    switch (user->role) {
    case USER_ADMIN:
        return true;
    case USER_MONITOR:
        return gate_admits_action(PEER_MONITOR, request->action);
    case USER_CLIENT:
        break;
    }
    return may(user, request);
}

const char *users_name(const struct users_asker *asker, const struct admin_request *request)
{
    bool named = request->user != NULL && request->user[0] != '\0';

    return asker->user != NULL ? asker->user->name : named ? request->user : NULL;
}

/* Which of the names is why. */
static const char *blamed(const struct user *user, const struct admin_request *request)
{
    return target_of(request)[0] != '\0' && may_name(user, request, request->name)
               ? target_of(request)
               : request->name;
}

/* "user x may not do this to "y"; ...". */
static void explain(const struct users_asker *asker, const struct admin_request *request,
                    char *message)
{
    const char *name = asker->unknown ? "" : blamed(asker->user, request);
    bool named = name[0] != '\0';

    if (asker->unknown) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "the user who asks is not one of the cluster's, or not any more, or asks in "
                       "another one's name; see `orbloom user list`");
        return;
    }
    (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                   "user %.64s may not do this%s%.128s%s; an administrator grants what is to be "
                   "allowed: right c for the names of filters, role admin for the rest (`orbloom "
                   "user apply`)",
                   asker->user->name, named ? " to \"" : "", name, named ? "\"" : "");
}

enum status users_judge(struct coordinator *self, const struct peer *from,
                        const struct admin_request *request, enum status read, char *message)
{
    struct users_asker asker = users_asker(self, from, request);
    enum peer_role role = (enum peer_role)from->role;

    if (!gate_admits_action(role, request->action)) {
        char why[GATE_REASON_BYTES];

        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES, "%s",
                       gate_why_action(role, request->action, why));
    } else if (asker.unknown && read != STATUS_OK) {
        records_tell(self, read, "read", message, COORDINATOR_MESSAGE_BYTES);
        return read;
    } else if (!asker.unknown && (asker.user == NULL || is_allowed(asker.user, request))) {
        return STATUS_OK;
    } else {
        explain(&asker, request, message);
    }
    coordinator_count(self, COORDINATOR_not_permitted_total);
    if (!audit_refuse(&self->audit, self->now_us, from, users_name(&asker, request), request)) {
        coordinator_count(self, COORDINATOR_audit_left_out_total);
    }
    return STATUS_UNAUTHENTIC;
}

bool users_show(const struct users_asker *asker, const struct filter_document *document)
{
    return !asker->unknown &&
           (asker->user == NULL || user_sees(asker->user, document->content.name));
}
