/* runtime_disk.h - a disk of files in a folder of the test's own.
 *
 * Owner: disk_set_up() and disk_tear_down() are a suite's .init and .fini.
 */
#ifndef ORBLOOM_TESTS_RUNTIME_DISK_H
#define ORBLOOM_TESTS_RUNTIME_DISK_H

#include "runtime/disk_files.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char disk_parent[] = "/tmp/orbloom-disk-XXXXXX";
static char disk_folder[64];

static inline void disk_set_up(void)
{
    if (mkdtemp(disk_parent) == NULL || chmod(disk_parent, 0755) != 0) {
        abort();
    }
    (void)snprintf(disk_folder, sizeof disk_folder, "%s/data", disk_parent);
    cr_redirect_stderr();
}

static inline void disk_tear_down(void)
{
    char command[128];

    (void)snprintf(command, sizeof command, "rm -rf %s", disk_parent);
    if (system(command) != 0) {
        abort();
    }
}

static inline struct disk_files *disk_open(void)
{
    struct disk_files *files = NULL;

    cr_assert_eq(disk_files_open(disk_folder, &files), STATUS_OK);
    return files;
}

static inline const char *disk_path(const char *name)
{
    static char path[192];

    (void)snprintf(path, sizeof path, "%s/%s", disk_folder, name);
    return path;
}

/* The folder can't be opened; the log names it and says why or what to do. */
static inline void disk_expect_refused(const char *path, enum status wanted, const char *text)
{
    FILE *log = cr_get_redirected_stderr();
    struct disk_files *files = NULL;
    char line[8192] = "";

    cr_assert_eq(disk_files_open(path, &files), wanted);
    cr_assert_null(files);
    (void)fflush(stderr);
    cr_assert_not_null(fgets(line, sizeof line, log), "nothing is logged");
    cr_assert_not_null(strstr(line, path), "%s", line);
    cr_assert_not_null(strstr(line, text), "%s", line);
}

/* What is in the folder, listed or not, but the lock. */
static inline unsigned disk_count(void)
{
    DIR *open = opendir(disk_folder);
    unsigned count = 0;

    cr_assert_not_null(open);
    while (readdir(open) != NULL) {
        count++;
    }
    cr_assert_eq(closedir(open), 0);
    return count - 3; /* ".", ".." and "lock" */
}

static inline void disk_make(struct disk *disk, const char *name, uint64_t size)
{
    uint32_t file;

    cr_assert_eq(disk->create(disk->context, name, size, &file), STATUS_OK);
    disk->close(disk->context, file);
}

#endif
