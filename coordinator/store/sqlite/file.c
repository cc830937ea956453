/* What must hold before an SQLite file is taken for a store: its owner's alone, of our format,
 * on a local disk, synced at each commit. */
#include "coordinator/store/sqlite/file.h"

#include "base/log.h"
#include "base/span.h"
#include "coordinator/store/sqlite/place.h"
#include "runtime/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The file's format; a change of the tables gets a new number. */
#define STORE_FORMAT         1
#define STORE_APPLICATION_ID 0x6f72626c /* "orbl", so that another program's file is told apart */

#define TEXT_OF(number)  TEXT_OF_(number)
#define TEXT_OF_(number) #number

enum {
    BUSY_TIMEOUT_MS = 2000, /* the coordinator answers no one while it waits */
    OPEN_TRIES = 50,        /* taking up the write-ahead log fails at once when another does so */
    OPEN_PAUSE_MS = 20,
    HEADER_BYTES = 100,
};

static const char schema[] =
    "CREATE TABLE record (key TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL,"
    " value BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX record_version ON record (version);"
    "PRAGMA application_id = " TEXT_OF(STORE_APPLICATION_ID) ";"
                                                             "PRAGMA user_version = " TEXT_OF(
                                                                 STORE_FORMAT) ";";

static const char *remedy(int code)
{
    switch (code & 0xff) {
    case SQLITE_CANTOPEN:
        return "the folder must exist and be writable";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return "the coordinator's user must own the file and its folder";
    case SQLITE_NOTADB:
        return "choose another file with --store, or restore a backup";
    case SQLITE_CORRUPT:
        return "restore a backup";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "another process, here or on another host, holds it locked; find it with fuser";
    case SQLITE_FULL:
        return "make room on the disk";
    case SQLITE_IOERR:
        return "check the disk and the system log";
    default:
        return "see the system log";
    }
}

static enum status refuse(const char *path, const char *doing, const char *reason, int code)
{
    log_line(LOG_ERROR, "store %s: cannot %s: %s; %s", path, doing, reason, remedy(code));
    return STATUS_IO;
}

void store_sqlite_file_wait(sqlite3 *connection, bool waits)
{
    (void)sqlite3_busy_timeout(connection, waits ? BUSY_TIMEOUT_MS : 0);
}

void store_sqlite_file_explain(sqlite3 *connection, char *text, size_t size)
{
    (void)snprintf(text, size, "%.200s; %s", sqlite3_errmsg(connection),
                   remedy(sqlite3_errcode(connection)));
}

enum status store_sqlite_file_refuse(const char *path, sqlite3 *connection, const char *doing)
{
    return refuse(path, doing, sqlite3_errmsg(connection), sqlite3_errcode(connection));
}

/* The first column of the first row as a number. */
static int read_number(sqlite3 *connection, const char *sql, int64_t *number)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(connection, sql, -1, &statement, NULL);

    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
        if (rc == SQLITE_ROW) {
            *number = sqlite3_column_int64(statement, 0);
            rc = SQLITE_OK;
        }
    }
    (void)sqlite3_finalize(statement);
    return rc;
}

/* It holds hash secrets, so it is for its owner alone; SQLite gives its log the same mode.
 * Only when there is none: closing a file that this process has open would lose its locks. */
static enum status make_file(const char *path)
{
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (descriptor >= 0) {
        (void)close(descriptor);
    } else if (errno != EEXIST) {
        return refuse(path, "create", strerror(errno), SQLITE_CANTOPEN);
    }
    return STATUS_OK;
}

static enum status refuse_format(const char *path, int64_t format)
{
    log_line(LOG_ERROR,
             "store %s: its format is %lld and this build reads %d; run the release that "
             "wrote it",
             path, (long long)format, STORE_FORMAT);
    return STATUS_VERSION;
}

/* Is what is there ours? An empty file is; it gets its tables. Inside a transaction: another
 * process may be making them between two of the questions. */
static enum status check_format(const char *path, sqlite3 *connection, bool *empty)
{
    int64_t application = 0;
    int64_t format = 0;
    int64_t tables = 0;

    if (read_number(connection, "PRAGMA application_id", &application) != SQLITE_OK ||
        read_number(connection, "PRAGMA user_version", &format) != SQLITE_OK ||
        read_number(connection, "SELECT count(*) FROM sqlite_master", &tables) != SQLITE_OK) {
        return store_sqlite_file_refuse(path, connection, "read");
    }
    *empty = application == 0 && format == 0 && tables == 0;
    if (!*empty && application != STORE_APPLICATION_ID) {
        return refuse(path, "use", "it belongs to another program", SQLITE_NOTADB);
    }
    if (!*empty && format != STORE_FORMAT) {
        return refuse_format(path, format);
    }
    return STATUS_OK;
}

static enum status make_tables(const char *path, sqlite3 *connection)
{
    if (sqlite3_exec(connection, schema, NULL, NULL, NULL) != SQLITE_OK) {
        return store_sqlite_file_refuse(path, connection, "make tables");
    }
    return STATUS_OK;
}

/* Check the format; with `make`, as the only writer, also make what is missing. */
static enum status inspect(const char *path, sqlite3 *connection, bool make, bool *empty)
{
    const char *begin = make ? "BEGIN IMMEDIATE" : "BEGIN DEFERRED";
    enum status status;

    if (sqlite3_exec(connection, begin, NULL, NULL, NULL) != SQLITE_OK) {
        return store_sqlite_file_refuse(path, connection, "lock");
    }
    status = check_format(path, connection, empty);
    if (status == STATUS_OK && make && *empty) {
        status = make_tables(path, connection);
    }
    if (status == STATUS_OK && sqlite3_exec(connection, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) {
        status = store_sqlite_file_refuse(path, connection, "write");
    }
    if (status != STATUS_OK) {
        (void)sqlite3_exec(connection, "ROLLBACK", NULL, NULL, NULL);
    }
    return status;
}

/* FULL: in this mode each commit is synced before it returns. */
static enum status set_durable(const char *path, sqlite3 *connection)
{
    static const char sql[] = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;";
    int rc = sqlite3_exec(connection, sql, NULL, NULL, NULL);

    for (int tries = 1; rc == SQLITE_BUSY && tries < OPEN_TRIES; tries++) {
        (void)sqlite3_sleep(OPEN_PAUSE_MS);
        rc = sqlite3_exec(connection, sql, NULL, NULL, NULL);
    }
    if (rc != SQLITE_OK) {
        return store_sqlite_file_refuse(path, connection, "write");
    }
    return STATUS_OK;
}

static enum status check_pages(const char *path, sqlite3 *connection)
{
    sqlite3_stmt *statement = NULL;
    enum status status = STATUS_OK;
    const char *found = NULL;

    if (sqlite3_prepare_v2(connection, "PRAGMA quick_check(1)", -1, &statement, NULL) ==
            SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        found = (const char *)sqlite3_column_text(statement, 0);
    }
    if (found == NULL) {
        status = store_sqlite_file_refuse(path, connection, "check");
    } else if (strcmp(found, "ok") != 0) {
        status = refuse(path, "use", "it is damaged", SQLITE_CORRUPT);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static enum status check_place(const char *path)
{
    const char *network = store_sqlite_place_of(path);

    if (network != NULL) {
        log_line(LOG_ERROR,
                 "store %s: it is on %s, over which hosts do not see each other's locks and would "
                 "damage it; choose a folder on a local disk, or etcd_endpoints for coordinators "
                 "on several hosts",
                 path, network);
        return STATUS_IO;
    }
    return STATUS_OK;
}

static uint32_t header_number(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* The beginning of a file as SQLite's documents have it ("Database Header"). What was never moved
 * there from its log is 0. */
static enum status check_header(const char *path, struct span bytes)
{
    static const char magic[] = "SQLite format 3"; /* and its NUL */
    uint32_t format;
    uint32_t application;

    if (bytes.size == 0) {
        return STATUS_OK;
    }
    if (bytes.size < HEADER_BYTES || memcmp(bytes.data, magic, sizeof magic) != 0) {
        return refuse(path, "use", "it is no SQLite file", SQLITE_NOTADB);
    }
    format = header_number(bytes.data + 60);
    application = header_number(bytes.data + 68);
    if (application != 0 && application != STORE_APPLICATION_ID) {
        return refuse(path, "use", "it belongs to another program", SQLITE_NOTADB);
    }
    return application == 0 || format == STORE_FORMAT ? STATUS_OK : refuse_format(path, format);
}

enum status store_sqlite_file_check(const char *path)
{
    enum status status = check_place(path);
    char log[PATH_MAX];
    uint8_t header[HEADER_BYTES];
    ssize_t size = 0;
    int descriptor;

    (void)snprintf(log, sizeof log, "%s-wal", path); /* Is made beside it, with another one. */
    if (status == STATUS_OK &&
        (file_check_writable(path) != STATUS_OK || file_check_writable(log) != STATUS_OK)) {
        status = refuse(path, "write", strerror(errno),
                        errno == ENOENT || errno == ENOTDIR ? SQLITE_CANTOPEN : SQLITE_READONLY);
    }
    if (status != STATUS_OK) {
        return status;
    }
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor >= 0) {
        size = pread(descriptor, header, sizeof header, 0);
        (void)close(descriptor);
    }
    if (size < 0 || (descriptor < 0 && errno != ENOENT)) {
        return refuse(path, "read", strerror(errno), SQLITE_READONLY);
    }
    return check_header(path, span_of(header, (size_t)size));
}

enum status store_sqlite_file_open(const char *path, sqlite3 **connection)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    enum status status = check_place(path);
    bool empty = false;

    if (status == STATUS_OK) {
        status = make_file(path);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (sqlite3_open_v2(path, connection, flags, NULL) != SQLITE_OK) {
        return store_sqlite_file_refuse(path, *connection, "open");
    }
    store_sqlite_file_wait(*connection, true);
    /* SQLite opens what it may not write for reading, and says so only at the first write. */
    if (sqlite3_db_readonly(*connection, "main") != 0) {
        return refuse(path, "write", "it is read-only", SQLITE_READONLY);
    }
    status = inspect(path, *connection, false, &empty); /* Before anything is changed. */
    if (status == STATUS_OK) {
        status = set_durable(path, *connection);
    }
    if (status == STATUS_OK && empty) {
        status = inspect(path, *connection, true, &empty);
    }
    if (status == STATUS_OK) {
        status = check_pages(path, *connection);
    }
    return status;
}
