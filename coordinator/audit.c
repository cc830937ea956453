/* A line is made in two parts: what was asked for when it comes, what became of it when it is
 * answered. */
#include "coordinator/audit.h"

#include "base/heap.h"
#include "coordinator/order.h"
#include "map/acks.h"
#include "map/staleness.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PIECE_BYTES = 512, SHOWN_USERS = 128 };

struct audit_entry {
    struct buffer text; /* members of the object, each after a comma */
    uint64_t filter_id; /* 0: none as yet */
    bool whole;         /* there was memory for all of it */
};

/* ---- JSON ---- */

static void put(struct audit_entry *self, const char *format, ...) PRINTF_LIKE(2, 3);

static void put(struct audit_entry *self, const char *format, ...)
{
    char piece[PIECE_BYTES];
    va_list args;
    int size;

    va_start(args, format);
    size = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    assert(size >= 0 && (size_t)size < sizeof piece);
    self->whole = self->whole &&
                  buffer_append(&self->text, span_of(piece, (size_t)size)) == STATUS_OK;
}

static void put_quoted(struct audit_entry *self, const char *text)
{
    self->whole = self->whole && audit_quote(&self->text, span_text(text)) == STATUS_OK;
}

static void put_text(struct audit_entry *self, const char *name, const char *text)
{
    put(self, ",\"%s\":", name);
    put_quoted(self, text);
}

static void put_count(struct audit_entry *self, const char *name, uint64_t value)
{
    put(self, ",\"%s\":%" PRIu64, name, value);
}

static void put_number(struct audit_entry *self, const char *name, double value)
{
    put(self, ",\"%s\":%.9g", name, value);
}

/* What is not so is not told. */
static void put_true(struct audit_entry *self, const char *name, bool value)
{
    if (value) {
        put(self, ",\"%s\":true", name);
    }
}

static void put_peer(struct audit_entry *self, const struct peer *peer)
{
    put(self, ",\"peer\":\"");
    for (size_t i = 0; i < peer->size; i++) {
        put(self, "%02x", peer->id[i]);
    }
    put(self, "\"");
}

/* ---- what was asked for ---- */

static const char *action_word(enum admin_action action)
{
    switch (action) {
    case ADMIN_CREATE:
        return "create";
    case ADMIN_DROP:
        return "drop";
    case ADMIN_EXPAND:
        return "expand";
    case ADMIN_REBUILD:
        return "rebuild";
    case ADMIN_EXPIRE:
        return "expire";
    case ADMIN_RENAME:
        return "rename";
    case ADMIN_NODE_DRAIN:
        return "node drain";
    case ADMIN_NODE_REPLACE:
        return "node replace";
    case ADMIN_NODE_REMOVE:
        return "node remove";
    case ADMIN_REBALANCE:
        return "rebalance";
    case ADMIN_ACCEPT_LOSS:
        return "shard accept-loss";
    case ADMIN_SITE_CHANGE:
        return "site";
    case ADMIN_LOAD:
        return "load";
    case ADMIN_MAP_BACKUP:
        return "map backup";
    case ADMIN_MAP_BEGIN:
    case ADMIN_MAP_RECORDS:
    case ADMIN_MAP_FINISH:
        return "map restore";
    case ADMIN_UPGRADE_FINALIZE:
        return "upgrade finalize";
    case ADMIN_USER_CHANGE:
        return "user change";
    case ADMIN_USER_LIST:
    case ADMIN_PROCESS_KEYS:
    case ADMIN_SITE:
    case ADMIN_STATUS:
    case ADMIN_LOOK:
    case ADMIN_UPGRADE_STATUS:
        break;
    }
    return NULL;
}

/* A backup changes nothing, and takes everything along. */
static bool is_noted(const struct admin_request *request)
{
    return action_word(request->action) != NULL && !request->dry_run && !order_is_progress(request);
}

static const char *subject(enum admin_action action)
{
    bool node = action >= ADMIN_NODE_DRAIN && action <= ADMIN_NODE_REMOVE;

    return node ? "node" : "filter";
}

static void put_create(struct audit_entry *self, const struct create_parameters *create)
{
    put_count(self, "capacity", create->capacity);
    put_number(self, "rate", create->rate);
    put_count(self, "max_capacity", create->max_capacity);
    put_count(self, "replicas", create->rule.replicas);
    put_count(self, "write", create->rule.write);
    put_count(self, "read", create->rule.read);
    if (create->window_us != 0) {
        put_count(self, "window_us", create->window_us);
        put_count(self, "slices", create->nslices);
    }
    if (create->max_staleness != 0) {
        put_count(self, "max_staleness_us", staleness_bound(create->max_staleness));
    }
    if (acks_stored(create->acks) != 0) {
        put_count(self, "acks", create->acks);
    }
}

static void put_expire(struct audit_entry *self, const struct expiry_wish *wish)
{
    put_true(self, "never", wish->never);
    if (wish->dated) {
        put_count(self, "at_ms", wish->at_ms);
    } else if (!wish->never) {
        put_count(self, "after_us", wish->after_us);
    }
}

static void put_expand(struct audit_entry *self, const struct expand_parameters *expand)
{
    if (expand->capacity != 0) {
        put_count(self, "capacity", expand->capacity);
    }
    if (expand->rate != 0) {
        put_number(self, "rate", expand->rate);
    }
    put_true(self, "abort", expand->abort);
}

static void put_rebuild(struct audit_entry *self, const struct rebuild_parameters *rebuild)
{
    static const char *const steps[] = {[REBUILD_BEGIN] = "begin",
                                        [REBUILD_FED] = "fed",
                                        [REBUILD_COMMIT] = "commit",
                                        [REBUILD_ABORT] = "abort"};

    assert(rebuild->step >= REBUILD_BEGIN && rebuild->step <= REBUILD_ABORT);
    put_text(self, "step", steps[rebuild->step]);
    if (rebuild->keyset != 0) {
        put_count(self, "keyset", rebuild->keyset);
    }
    put_true(self, "empty", rebuild->empty);
}

static void put_loss(struct audit_entry *self, const struct loss_parameters *loss)
{
    put_true(self, "all", loss->all);
    if (!loss->all) {
        put_count(self, "shard", loss->shard);
    }
}

static void put_map(struct audit_entry *self, const struct admin_request *request)
{
    const struct map_parameters *map = &request->map;

    if (request->action == ADMIN_MAP_BACKUP) {
        put_count(self, "since", map->since);
    } else if (request->action == ADMIN_MAP_RECORDS) {
        put_text(self, "step", "records");
        put_count(self, "records", map->nrecords);
    } else {
        put_text(self, "step", request->action == ADMIN_MAP_BEGIN ? "begin" : "finish");
        put_true(self, "accept_losses", map->accept_losses);
    }
    for (size_t i = 0; i < map->nconfirmed_off; i++) {
        put(self, "%s", i == 0 ? ",\"confirmed_off\":[" : ",");
        put_quoted(self, map->confirmed_off[i]);
    }
    put(self, "%s", map->nconfirmed_off > 0 ? "]" : "");
}

/* Nodes of which the operator says that they never answer again, by their numbers. */
static void put_confirmed_off(struct audit_entry *self, const struct admin_request *request)
{
    for (size_t i = 0; i < request->nconfirmed_off; i++) {
        put(self, "%s%" PRIu32, i == 0 ? ",\"confirmed_off\":[" : ",",
            request->confirmed_off[i].life.node);
    }
    put(self, "%s", request->nconfirmed_off > 0 ? "]" : "");
}

/* One of the parts of a change of users: a list of as many as are shown; the first of them opens
 * it. */
static void put_item(struct audit_entry *self, const char *name, size_t at)
{
    if (at == 0) {
        put(self, ",\"%s\":[", name);
    } else {
        put(self, ",");
    }
}

static void put_end(struct audit_entry *self, size_t count)
{
    put(self, "%s", count > 0 ? "]" : "");
}

static bool is_new(const struct user *user)
{
    return user->id == 0;
}

static bool is_old(const struct user *user)
{
    return user->id != 0;
}

static bool is_admin(const struct user *user)
{
    return user->role == USER_ADMIN;
}

static void put_names(struct audit_entry *self, const char *name, const struct user_change *change,
                      bool (*is_meant)(const struct user *user))
{
    size_t shown = 0;

    for (size_t i = 0; i < change->nputs && shown < SHOWN_USERS; i++) {
        if (is_meant(&change->puts[i])) {
            put_item(self, name, shown++);
            put_quoted(self, change->puts[i].name);
        }
    }
    put_end(self, shown);
}

/* Tokens are no part of it, nor keys. */
static void put_users(struct audit_entry *self, const struct user_change *change)
{
    size_t nadds = change->nadds < SHOWN_USERS ? change->nadds : SHOWN_USERS;
    size_t nremoves = change->nremoves < SHOWN_USERS ? change->nremoves : SHOWN_USERS;
    size_t ndeletes = change->ndeletes < SHOWN_USERS ? change->ndeletes : SHOWN_USERS;

    put_count(self, "users", change->nputs + change->nadds + change->nremoves + change->ndeletes);
    put_true(self, "without_admin", change->without_admin);
    put_names(self, "created", change, is_new);
    put_names(self, "changed", change, is_old);
    put_names(self, "admins", change, is_admin);
    for (size_t i = 0; i < nadds; i++) {
        put_item(self, "credentials_added", i);
        put_quoted(self, change->adds[i].user);
    }
    put_end(self, nadds);
    for (size_t i = 0; i < nremoves; i++) {
        put_item(self, "credentials_removed", i);
        put(self, "\"%" PRIu32 "/%" PRIu32 "\"", change->removes[i].user,
            change->removes[i].credential);
    }
    put_end(self, nremoves);
    for (size_t i = 0; i < ndeletes; i++) {
        put_item(self, "deleted", i);
        put(self, "%" PRIu32, change->deletes[i]);
    }
    put_end(self, ndeletes);
}

static void put_scope(struct audit_entry *self, enum drop_scope scope)
{
    if (scope != 0) {
        put_text(self, "scope", scope == DROP_HERE ? "here" : "everywhere");
    }
}

static void put_site(struct audit_entry *self, const struct site_parameters *site)
{
    static const char *const steps[] = {
        [SITE_STEP_LIST] = "list",     [SITE_STEP_ADD] = "add",     [SITE_STEP_LEAVE] = "leave",
        [SITE_STEP_REMOVE] = "remove", [SITE_STEP_PAUSE] = "pause", [SITE_STEP_RESUME] = "resume",
        [SITE_STEP_RESYNC] = "resync",
    };

    put_text(self, "step", steps[site->step]);
    put_text(self, "site", site->site);
}

static void put_parameters(struct audit_entry *self, const struct admin_request *request)
{
    switch (request->action) {
    case ADMIN_CREATE:
    case ADMIN_LOAD:
        put_create(self, &request->create);
        break;
    case ADMIN_EXPAND:
        put_expand(self, &request->expand);
        break;
    case ADMIN_REBUILD:
        put_rebuild(self, &request->rebuild);
        break;
    case ADMIN_EXPIRE:
        put_expire(self, &request->expire);
        break;
    case ADMIN_RENAME:
        put_text(self, "to", request->rename.name);
        put_true(self, "replace", request->rename.replace);
        break;
    case ADMIN_DROP:
        put_scope(self, request->scope);
        break;
    case ADMIN_NODE_REPLACE:
        put_text(self, "successor", request->successor);
        break;
    case ADMIN_NODE_DRAIN:
    case ADMIN_REBALANCE:
        put_true(self, "undo", request->undo);
        break;
    case ADMIN_ACCEPT_LOSS:
        put_loss(self, &request->loss);
        break;
    case ADMIN_SITE_CHANGE:
        put_site(self, &request->site);
        break;
    case ADMIN_MAP_BACKUP:
    case ADMIN_MAP_BEGIN:
    case ADMIN_MAP_RECORDS:
    case ADMIN_MAP_FINISH:
        put_map(self, request);
        break;
    case ADMIN_USER_CHANGE:
        put_users(self, &request->users);
        break;
    case ADMIN_USER_LIST:
    case ADMIN_PROCESS_KEYS:
    case ADMIN_SITE:
    case ADMIN_NODE_REMOVE:
    case ADMIN_UPGRADE_FINALIZE:
    case ADMIN_STATUS:
    case ADMIN_LOOK:
    case ADMIN_UPGRADE_STATUS:
        break;
    }
    put_confirmed_off(self, request);
}

/* ---- from a request to its answer ---- */

static void entry_free(struct audit_entry *entry)
{
    if (entry != NULL) {
        buffer_fini(&entry->text);
        heap_free(entry);
    }
}

/* Of those that change nothing. */
static const char *question_word(enum admin_action action)
{
    return action == ADMIN_LOOK             ? "look"
           : action == ADMIN_USER_LIST      ? "user list"
           : action == ADMIN_PROCESS_KEYS   ? "process keys"
           : action == ADMIN_UPGRADE_STATUS ? "upgrade status"
           : action == ADMIN_SITE           ? "site"
                                            : "status";
}

static void begin(struct audit *self, const struct peer *from, const char *who,
                  const struct admin_request *request)
{
    const char *word = action_word(request->action);
    struct audit_entry *entry;

    if (!audit_log_is_on(&self->log)) {
        return;
    }
    entry = heap_zalloc(1, sizeof *entry);
    if (entry == NULL) {
        ++*self->log.lost;
        return;
    }
    buffer_init(&entry->text, AUDIT_LINE_BYTES);
    entry->whole = true;
    entry->filter_id = request->filter_id;
    put_text(entry, "coordinator", self->name);
    put_text(entry, "action", word != NULL ? word : question_word(request->action));
    if (request->name[0] != '\0') {
        put_text(entry, subject(request->action), request->name);
    }
    if (who != NULL) {
        put_text(entry, "user", who);
    }
    put_parameters(entry, request);
    put_peer(entry, from);
    self->current = entry;
}

void audit_begin(struct audit *self, const struct peer *from, const char *who,
                 const struct admin_request *request)
{
    assert(self->current == NULL);
    if (is_noted(request)) {
        begin(self, from, who, request);
    }
}

bool audit_refuse(struct audit *self, uint64_t now_us, const struct peer *from, const char *who,
                  const struct admin_request *request)
{
    if (!audit_log_is_on(&self->log)) {
        return true;
    }
    if (!audit_limit_take(&self->refusals, now_us)) {
        entry_free(self->current);
        self->current = NULL;
        return false;
    }
    if (self->current == NULL) {
        begin(self, from, who, request);
    }
    return true;
}

static void finish(struct audit *self, struct audit_entry *entry, const struct admin_reply *reply)
{
    if (entry->filter_id == 0 && reply->nfilters == 1) {
        entry->filter_id = reply->filters[0].id;
    }
    if (entry->filter_id != 0) {
        put_count(entry, "filter_id", entry->filter_id);
    }
    put_text(entry, "outcome", status_code(reply->status));
    if (self->refusals.left_out > 0) {
        put_count(entry, "left_out", self->refusals.left_out);
    }
}

void audit_end(struct audit *self, uint64_t now_us, const struct admin_reply *reply)
{
    struct audit_entry *entry = self->current;

    if (entry == NULL) {
        return;
    }
    self->current = NULL;
    finish(self, entry, reply);
    if (entry->whole) {
        self->refusals.left_out = 0; /* It is told. */
        audit_log_write(&self->log, now_us, buffer_span(&entry->text));
    } else {
        audit_log_lose(&self->log, now_us);
    }
    entry_free(entry);
}

struct audit_entry *audit_suspend(struct audit *self, uint64_t filter_id)
{
    struct audit_entry *entry = self->current;

    if (entry != NULL && entry->filter_id == 0) {
        entry->filter_id = filter_id;
    }
    self->current = NULL;
    return entry;
}

void audit_resume(struct audit *self, struct audit_entry *entry)
{
    assert(self->current == NULL);
    self->current = entry;
}

/* ---- its life ---- */

void audit_init(struct audit *self, const struct audit_sink *sink, const struct effects *effects,
                const char *name, uint64_t *lost)
{
    *self = (struct audit){.name = name};
    audit_log_init(&self->log, sink, effects, lost);
}

void audit_leave_lanes(struct audit *self)
{
    audit_log_leave_lanes(&self->log);
}

void audit_fini(struct audit *self)
{
    entry_free(self->current);
    audit_log_fini(&self->log);
}
