/* The struct store itself: one transaction for a swap, one statement for a look, so that each
 * sees one state of the file. */
#include "coordinator/store/sqlite/sqlite.h"

#include "base/heap.h"
#include "base/log.h"
#include "coordinator/store/sqlite/file.h"

#include <assert.h>
#include <string.h>

/* Each swap writes something and stamps that, so the highest version of any record is the store's
 * change number: there is no counter that could disagree with it. */
enum query { QUERY_GET, QUERY_PUT, QUERY_REMOVE, QUERY_SINCE, QUERY_CHANGE, QUERY_NQUERIES };

static const char *const queries[QUERY_NQUERIES] = {
    [QUERY_GET] = "SELECT version, value FROM record WHERE key = ?1",
    [QUERY_PUT] = "INSERT INTO record (key, version, value) VALUES (?1, ?2, ?3)"
                  " ON CONFLICT (key) DO UPDATE SET version = ?2, value = ?3",
    [QUERY_REMOVE] = "DELETE FROM record WHERE key = ?1",
    [QUERY_SINCE] = "SELECT key, version, value FROM record WHERE version > ?1"
                    " ORDER BY version, key",
    [QUERY_CHANGE] = "SELECT coalesce(max(version), 0) FROM record",
};

enum { REASON_BYTES = 400 };

struct store_sqlite {
    struct store store;
    char *path;
    sqlite3 *connection;
    sqlite3_stmt *statements[QUERY_NQUERIES];
    char reason[REASON_BYTES];
    bool locked; /* the lock was waited for in vain, and not had since */
};

static enum status refuse(struct store_sqlite *self, const char *doing)
{
    store_sqlite_file_explain(self->connection, self->reason, sizeof self->reason);
    return store_sqlite_file_refuse(self->path, self->connection, doing);
}

static enum status execute(struct store_sqlite *self, const char *sql)
{
    if (sqlite3_exec(self->connection, sql, NULL, NULL, NULL) != SQLITE_OK) {
        return refuse(self, "write");
    }
    return STATUS_OK;
}

static struct span column_span(sqlite3_stmt *statement, int column)
{
    const void *data = sqlite3_column_blob(statement, column);

    return span_of(data, (size_t)sqlite3_column_bytes(statement, column));
}

static void bind_key(sqlite3_stmt *statement, const char *key)
{
    /* Fails only for a wrong index, or a key longer than SQLite takes. */
    int rc = sqlite3_bind_text(statement, 1, key, (int)strlen(key), SQLITE_STATIC);

    assert(rc == SQLITE_OK);
    (void)rc;
}

static void release(sqlite3_stmt *statement)
{
    (void)sqlite3_reset(statement); /* Its result repeats that of the step before. */
    (void)sqlite3_clear_bindings(statement);
}

/* Version 0 when there is no such key. `value` may be NULL. */
static enum status read_record(struct store_sqlite *self, const char *key, struct buffer *value,
                               uint64_t *version)
{
    sqlite3_stmt *statement = self->statements[QUERY_GET];
    enum status status = STATUS_OK;
    int rc;

    *version = 0;
    bind_key(statement, key);
    rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) {
        if (value != NULL) {
            status = buffer_append(value, column_span(statement, 1));
        }
        *version = (uint64_t)sqlite3_column_int64(statement, 0);
    } else if (rc != SQLITE_DONE) {
        status = refuse(self, "read");
    }
    release(statement);
    return status;
}

static enum status get(void *context, const char *key, struct buffer *value, uint64_t *version)
{
    enum status status;

    assert(strlen(key) < STORE_KEY_BYTES);
    status = read_record(context, key, value, version);
    if (status == STATUS_OK && *version == 0) {
        return STATUS_NOT_FOUND;
    }
    return status;
}

static enum status read_change(void *context, uint64_t *change)
{
    struct store_sqlite *self = context;
    sqlite3_stmt *statement = self->statements[QUERY_CHANGE];
    enum status status = STATUS_OK;

    if (sqlite3_step(statement) == SQLITE_ROW) {
        *change = (uint64_t)sqlite3_column_int64(statement, 0);
    } else {
        status = refuse(self, "read");
    }
    release(statement);
    return status;
}

static enum status check_expected(struct store_sqlite *self, const struct store_swap *swaps,
                                  size_t count)
{
    enum status status = STATUS_OK;
    uint64_t version;

    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        status = read_record(self, swaps[i].key, NULL, &version);
        if (status == STATUS_OK && version != swaps[i].expected) {
            status = STATUS_CONFLICT;
        }
    }
    return status;
}

static enum status put(struct store_sqlite *self, const struct store_swap *swap, uint64_t version)
{
    sqlite3_stmt *statement = self->statements[QUERY_PUT];
    const void *data = swap->value.size > 0 ? swap->value.data : (const void *)"";
    enum status status = STATUS_OK;

    bind_key(statement, swap->key);
    if (sqlite3_bind_int64(statement, 2, (int64_t)version) != SQLITE_OK ||
        sqlite3_bind_blob(statement, 3, data, (int)swap->value.size, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_DONE) {
        status = refuse(self, "write");
    }
    release(statement);
    return status;
}

static enum status take_away(struct store_sqlite *self, const struct store_swap *swap)
{
    sqlite3_stmt *statement = self->statements[QUERY_REMOVE];
    enum status status = STATUS_OK;

    bind_key(statement, swap->key);
    if (sqlite3_step(statement) != SQLITE_DONE) {
        status = refuse(self, "write");
    }
    release(statement);
    return status;
}

/* Inside a transaction that has the write lock: nothing moves between the checks and the writes. */
static enum status swap_locked(struct store_sqlite *self, const struct store_swap *swaps,
                               size_t count, uint64_t *change)
{
    enum status status = check_expected(self, swaps, count);

    if (status == STATUS_OK) {
        status = read_change(self, change);
    }
    *change += 1;
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        status = swaps[i].remove ? take_away(self, &swaps[i]) : put(self, &swaps[i], *change);
    }
    if (status == STATUS_OK) {
        status = execute(self, "COMMIT");
    }
    return status;
}

static void assert_swaps(const struct store_swap *swaps, size_t count)
{
    assert(count > 0 && count <= STORE_MAX_KEYS && !swaps[0].remove);
    for (size_t i = 0; i < count; i++) {
        assert(strlen(swaps[i].key) < STORE_KEY_BYTES);
        assert(swaps[i].value.size <= STORE_MAX_VALUE_BYTES);
    }
}

/* Whoever waits keeps all changes waiting: for a lock that somebody keeps only once. From
 * then on it is tried without waiting, until it is had. */
static enum status take_lock(struct store_sqlite *self)
{
    int code = sqlite3_exec(self->connection, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    bool before = self->locked;

    self->locked = (code & 0xff) == SQLITE_BUSY;
    if (self->locked != before) {
        store_sqlite_file_wait(self->connection, before);
    }
    if (self->locked && before) { /* That is in the log. */
        store_sqlite_file_explain(self->connection, self->reason, sizeof self->reason);
        return STATUS_IO;
    }
    return code == SQLITE_OK ? STATUS_OK : refuse(self, "write");
}

static enum status swap(void *context, const struct store_swap *swaps, size_t count,
                        uint64_t *change)
{
    struct store_sqlite *self = context;
    uint64_t stamped = 0;
    enum status status;

    assert_swaps(swaps, count);
    status = take_lock(self);
    if (status != STATUS_OK) {
        return status;
    }
    status = swap_locked(self, swaps, count, &stamped);
    if (status == STATUS_OK) {
        *change = stamped;
    } else if (sqlite3_get_autocommit(self->connection) == 0) { /* Some errors roll back alone. */
        (void)sqlite3_exec(self->connection, "ROLLBACK", NULL, NULL, NULL);
    }
    return status;
}

/* One statement reads one state of the file, whatever other processes write meanwhile. */
static enum status since(void *context, uint64_t after, store_visit_fn visit, void *visitor)
{
    struct store_sqlite *self = context;
    sqlite3_stmt *statement = self->statements[QUERY_SINCE];
    enum status status = STATUS_OK;
    bool go_on = true;
    int rc = SQLITE_ROW;

    if (after > INT64_MAX) {
        return STATUS_OK; /* Beyond any version. */
    }
    assert(!sqlite3_stmt_busy(statement));
    (void)sqlite3_bind_int64(statement, 1, (int64_t)after);
    while (go_on && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        go_on = visit(visitor, (const char *)sqlite3_column_text(statement, 0),
                      (uint64_t)sqlite3_column_int64(statement, 1), column_span(statement, 2));
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        status = refuse(self, "read");
    }
    release(statement);
    return status;
}

static const char *tell_reason(void *context)
{
    const struct store_sqlite *self = context;

    return self->reason;
}

static enum status prepare(struct store_sqlite *self)
{
    for (size_t i = 0; i < QUERY_NQUERIES; i++) {
        if (sqlite3_prepare_v3(self->connection, queries[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &self->statements[i], NULL) != SQLITE_OK) {
            return refuse(self, "read");
        }
    }
    return STATUS_OK;
}

static void destroy(struct store_sqlite *self)
{
    if (self == NULL) {
        return;
    }
    for (size_t i = 0; i < QUERY_NQUERIES; i++) {
        (void)sqlite3_finalize(self->statements[i]);
    }
    (void)sqlite3_close(self->connection);
    heap_free(self->path);
    heap_free(self);
}

enum status store_sqlite_open(const char *path, struct store **out)
{
    enum status status = STATUS_NOMEM;
    struct store_sqlite *self = heap_zalloc(1, sizeof *self);

    assert(*out == NULL);
    if (self == NULL) {
        goto fail;
    }
    self->path = heap_strdup(path);
    if (self->path == NULL) {
        goto fail;
    }
    status = store_sqlite_file_open(path, &self->connection);
    if (status == STATUS_OK) {
        status = prepare(self);
    }
    if (status != STATUS_OK) {
        goto fail;
    }
    self->store = (struct store){.self = self,
                                 .get = get,
                                 .swap = swap,
                                 .since = since,
                                 .change = read_change,
                                 .reason = tell_reason};
    *out = &self->store;
    return STATUS_OK;

fail:
    destroy(self);
    return status;
}

void store_sqlite_close(struct store **store)
{
    if (*store != NULL) {
        destroy((*store)->self);
    }
    *store = NULL;
}
