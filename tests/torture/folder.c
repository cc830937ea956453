/* Copies and removes folders by child processes. */
#include "tests/torture/folder.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* `script` sees $1 and $2. */
static folder_job run(const char *script, const char *first, const char *second)
{
    char shell[] = "/bin/sh";
    char flag[] = "-c";
    char text[256];
    char words[2][PATH_MAX];
    char *list[] = {shell, flag, text, shell, words[0], words[1], NULL};
    pid_t pid;

    (void)snprintf(text, sizeof text, "%s", script);
    (void)snprintf(words[0], sizeof words[0], "%s", first);
    (void)snprintf(words[1], sizeof words[1], "%s", second);
    pid = fork();
    if (pid == 0) {
        sigset_t none;

        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)execv(shell, list);
        _exit(1);
    }
    return pid;
}

folder_job folder_copy(const char *from, const char *to)
{
    return run("rm -rf \"$2\" && cp -a --reflink=auto \"$1\" \"$2\"", from, to);
}

folder_job folder_wipe(const char *path)
{
    return run("rm -rf \"$1\" && mkdir -m 700 \"$1\"", path, "");
}

bool folder_done(folder_job *job, bool wait, bool *good)
{
    int status = 0;
    pid_t pid = *job > 0 ? waitpid(*job, &status, wait ? 0 : WNOHANG) : -1;

    if (pid == 0) {
        return false;
    }
    *good = pid == *job && status == 0;
    *job = 0;
    return true;
}

void folder_remove(const char *path)
{
    folder_job job = run("rm -rf \"$1\"", path, "");
    bool good;

    (void)folder_done(&job, true, &good);
}

bool folder_is_empty(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    bool empty = dir != NULL;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        empty &= strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    errno = empty ? 0 : ENOTEMPTY;
    return empty;
}

bool folder_absolute(const char *path, char *out, size_t size)
{
    char whole[PATH_MAX];

    if (realpath(path, whole) == NULL || strlen(whole) >= size) {
        return false;
    }
    memcpy(out, whole, strlen(whole) + 1);
    return true;
}

uint64_t folder_room(const char *path)
{
    struct statvfs fs;

    return statvfs(path, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : 0;
}
