/* First it is seen that none of them is there, then they are made. */
#include "cli/setup/write.h"

#include "cli/cmd.h"
#include "runtime/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status refuse_path(const char *path)
{
    (void)cmd_fail(STATUS_IO, "%s: %s; name a folder that you may write to", path, strerror(errno));
    return STATUS_IO;
}

static enum status refuse_present(const char *path)
{
    (void)cmd_fail(STATUS_EXISTS,
                   "%s is there, and is never replaced; move it away, or name another folder by "
                   "--dir. Nothing was written",
                   path);
    return STATUS_EXISTS;
}

/* All that are there are named, as a run that was killed leaves several. */
static enum status check_absent(const struct setup_plan *plan)
{
    enum status status = STATUS_OK;
    struct stat about;

    for (size_t i = 0; i < plan->count; i++) {
        const char *path = plan->files[i].path;

        if (lstat(path, &about) == 0) {
            status = refuse_present(path);
        } else if (errno != ENOENT) {
            return refuse_path(path);
        }
    }
    return status;
}

/* A new one is for its owner alone, and the group that is to read what is in it. */
static enum status make_folder_of(const char *path, gid_t group)
{
    char folder[SETUP_FOLDER_BYTES];
    struct stat about;

    (void)snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    if (stat(folder, &about) == 0) {
        return STATUS_OK; /* What it is else, making the file shows. */
    }
    if (file_make_folder(folder) != STATUS_OK ||
        (group != SETUP_NO_GROUP &&
         (chown(folder, (uid_t)-1, group) != 0 || chmod(folder, 0750) != 0))) {
        return refuse_path(folder);
    }
    return STATUS_OK;
}

/* The group may read a secret only once it is that group's. */
static enum status make_file(const struct setup_file *file, gid_t group)
{
    bool shared = file->secret && group != SETUP_NO_GROUP;
    enum status status = make_folder_of(file->path, group);

    if (status != STATUS_OK) {
        return status;
    }
    if (file_make(file->path, file->secret ? 0600 : 0644, span_text(file->text)) != STATUS_OK) {
        return errno == EEXIST ? refuse_present(file->path) : refuse_path(file->path);
    }
    if (shared && (chown(file->path, (uid_t)-1, group) != 0 || chmod(file->path, 0640) != 0)) {
        status = refuse_path(file->path);
        (void)unlink(file->path);
    }
    return status;
}

/* Empty ones that are left behind by a failure are in nobody's way. */
static enum status make_data(const char *data)
{
    static const char *const folders[] = {"coordinator", "router"}; /* Nodes make their own. */
    char path[SETUP_PATH_BYTES];

    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", data, folders[i]);
        if (file_make_folder(path) != STATUS_OK) {
            return refuse_path(path);
        }
    }
    return STATUS_OK;
}

enum status setup_write(const struct setup_plan *plan, const char *data, gid_t group)
{
    enum status status = check_absent(plan);
    size_t made = 0;

    if (status == STATUS_OK && data != NULL) {
        status = make_data(data);
    }
    while (status == STATUS_OK && made < plan->count) {
        status = make_file(&plan->files[made], group);
        made += status == STATUS_OK;
    }
    while (status != STATUS_OK && made > 0) {
        (void)unlink(plan->files[--made].path);
    }
    return status;
}
