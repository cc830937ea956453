/* What only a file can have: no folder, no permission, another program's content, damage. */
#include "coordinator/store/sqlite/place.h"
#include "coordinator/store/sqlite/sqlite.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/orbloom-sqlite-XXXXXX";
static char path[64];

static void set_up(void)
{
    if (mkdtemp(folder) == NULL || chmod(folder, 0755) != 0) {
        abort();
    }
    (void)snprintf(path, sizeof path, "%s/store.db", folder);
    cr_redirect_stderr();
}

static void tear_down(void)
{
    char command[128];

    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0) {
        abort();
    }
}

TestSuite(coordinator_store_sqlite, .init = set_up, .fini = tear_down, .timeout = 60);

static void make_store(void)
{
    struct store_swap swap = {.key = "a", .value = span_text("1")};
    struct store *store = NULL;
    uint64_t change = 0;

    cr_assert_eq(store_sqlite_open(path, &store), STATUS_OK);
    cr_assert_eq(store->swap(store->self, &swap, 1, &change), STATUS_OK);
    store_sqlite_close(&store);
}

/* The log names the file and what to do. */
static void expect_refused(const char *place, enum status wanted, const char *remedy)
{
    FILE *log = cr_get_redirected_stderr();
    struct store *store = NULL;
    char line[1024] = "";

    cr_assert_eq(store_sqlite_open(place, &store), wanted);
    cr_assert_null(store);
    (void)fflush(stderr);
    cr_assert_not_null(fgets(line, sizeof line, log), "nothing is logged");
    cr_assert_not_null(strstr(line, place), "%s", line);
    cr_assert_not_null(strstr(line, remedy), "%s", line);
}

/* It holds secrets: the file is its owner's alone, and so is its write-ahead log. */
Test(coordinator_store_sqlite, a_new_file_is_for_its_owner_alone)
{
    struct store_swap swap = {.key = "a", .value = span_text("1")};
    struct store *store = NULL;
    uint64_t change = 0;
    struct stat about;
    char log[80];

    (void)umask(0);
    (void)snprintf(log, sizeof log, "%s-wal", path);
    cr_assert_eq(store_sqlite_open(path, &store), STATUS_OK);
    cr_assert_eq(store->swap(store->self, &swap, 1, &change), STATUS_OK);
    cr_assert_eq(stat(path, &about), 0);
    cr_assert_eq(about.st_mode & 0777, 0600);
    cr_assert_eq(stat(log, &about), 0);
    cr_assert_eq(about.st_mode & 0777, 0600);
    store_sqlite_close(&store);
}

Test(coordinator_store_sqlite, a_missing_folder_is_named)
{
    char place[80];

    (void)snprintf(place, sizeof place, "%s/none/store.db", folder);
    expect_refused(place, STATUS_IO, "the folder must exist");
    expect_refused(folder, STATUS_IO, folder);
}

/* Where the tests run is a disk. */
Test(coordinator_store_sqlite, file_systems_of_networks_are_known)
{
    cr_assert_str_eq(store_sqlite_place_network(0x6969), "NFS");
    cr_assert_str_eq(store_sqlite_place_network(0xff534d42), "SMB");
    cr_assert_str_eq(store_sqlite_place_network((unsigned long)(int)0xff534d42), "SMB");
    cr_assert_null(store_sqlite_place_network(0xef53), "ext4");
    cr_assert_null(store_sqlite_place_network(0x01021994), "tmpfs");
    cr_assert_null(store_sqlite_place_of(path));
    cr_assert_null(store_sqlite_place_of("store.db"), "here");
    cr_assert_null(store_sqlite_place_of("/nonexistent/store.db"), "told when it is opened");
}

/* As an ordinary user: root may write anything. */
Test(coordinator_store_sqlite, a_read_only_file_is_refused)
{
    make_store();
    cr_assert_eq(chmod(path, 0444), 0);
    if (geteuid() == 0) {
        cr_assert_eq(setresuid(65534, 65534, 0), 0);
    }
    expect_refused(path, STATUS_IO, "must own the file");
    if (getuid() == 65534) {
        cr_assert_eq(setresuid(0, 0, 0), 0); /* tear_down() */
    }
}

static void overwrite(off_t offset, const char *text)
{
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    cr_assert_geq(descriptor, 0);
    cr_assert_eq(pwrite(descriptor, text, strlen(text), offset), (ssize_t)strlen(text));
    cr_assert_eq(close(descriptor), 0);
}

Test(coordinator_store_sqlite, a_file_that_is_no_store_is_refused)
{
    overwrite(0, "name = \"coordinator-1\"; # a configuration file, longer than a header is\n"
                 "# ..............................................................\n");
    expect_refused(path, STATUS_IO, "choose another file");
}

/* The header is whole, a page below it is not. */
Test(coordinator_store_sqlite, a_damaged_file_is_refused)
{
    make_store();
    overwrite(4096, "this was the root page of the table of records");
    expect_refused(path, STATUS_IO, "restore a backup");
}

static void execute(const char *sql)
{
    sqlite3 *connection = NULL;

    cr_assert_eq(sqlite3_open(path, &connection), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(connection, sql, NULL, NULL, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_close(connection), SQLITE_OK);
}

Test(coordinator_store_sqlite, another_programs_file_is_refused)
{
    execute("CREATE TABLE t (x)");
    expect_refused(path, STATUS_IO, "belongs to another program");
    execute("DROP TABLE t; PRAGMA user_version = 1");
    expect_refused(path, STATUS_IO, "belongs to another program");
}

Test(coordinator_store_sqlite, a_newer_format_is_refused)
{
    make_store();
    execute("PRAGMA user_version = 2");
    expect_refused(path, STATUS_VERSION, "its format is 2");
}

/* As a process on another host would hold it: at start too that is an error that says so. */
Test(coordinator_store_sqlite, a_locked_file_is_refused_at_start)
{
    sqlite3 *other = NULL;

    make_store();
    cr_assert_eq(sqlite3_open(path, &other), SQLITE_OK);
    cr_assert_eq(
        sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", NULL, NULL, NULL),
        SQLITE_OK);
    expect_refused(path, STATUS_IO, "here or on another host, holds it locked");
    cr_assert_eq(sqlite3_close(other), SQLITE_OK);
}

/* Damage that comes while it is open is found by what reads it. */
Test(coordinator_store_sqlite, a_file_that_is_damaged_meanwhile_is_an_error)
{
    struct store *store = NULL;
    struct buffer value;
    uint64_t version = 0;
    char log[80];

    make_store();
    cr_assert_eq(store_sqlite_open(path, &store), STATUS_OK);
    (void)snprintf(log, sizeof log, "%s-wal", path);
    (void)unlink(log);
    cr_assert_eq(truncate(path, 0), 0);
    buffer_init(&value, 100);
    cr_assert_neq(store->get(store->self, "a", &value, &version), STATUS_OK);
    buffer_fini(&value);
    store_sqlite_close(&store);
}

/* A lock that another process does not give back is waited for in bounds. */
Test(coordinator_store_sqlite, a_locked_file_is_an_error_in_bounded_time)
{
    struct store_swap swap = {.key = "b", .value = span_text("1")};
    struct store *store = NULL;
    sqlite3 *other = NULL;
    uint64_t change = 0;

    make_store();
    cr_assert_eq(store_sqlite_open(path, &store), STATUS_OK);
    cr_assert_eq(sqlite3_open(path, &other), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    cr_assert_eq(store->swap(store->self, &swap, 1, &change), STATUS_IO);
    cr_assert_eq(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    cr_assert_eq(store->swap(store->self, &swap, 1, &change), STATUS_OK);
    cr_assert_eq(sqlite3_close(other), SQLITE_OK);
    store_sqlite_close(&store);
}
