#include "tests/torture/credentials.h"

#include "tests/torture/journal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXEC_FAILED = 126 };

/* orbloom user create torture ... Returns its exit status. */
static int create_user(const char *program, const char *coordinators, const char *key,
                       const char *credential)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        sigset_t none;

        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)freopen("/dev/null", "w", stdout);
        (void)execl(program, program, "user", "create", "torture", "--role", "admin",
                    "--credential", credential, "--cluster-key", key, "--coordinator", coordinators,
                    (char *)NULL);
        _exit(EXEC_FAILED);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                           : EXEC_FAILED;
}

bool credentials_make(struct cluster *cluster)
{
    const char *bin = getenv("ORBLOOM_BIN_DIR");
    char list[CLUSTER_LIST_BYTES];
    char program[DAEMON_PATH_BYTES];
    char key[DAEMON_PATH_BYTES];
    char credential[DAEMON_PATH_BYTES];
    int code;

    if (!cluster->options->curve) {
        return setenv("ORBLOOM_CREDENTIAL", "none", 1) == 0;
    }
    (void)snprintf(program, sizeof program, "%s/orbloom", bin != NULL ? bin : ORBLOOM_BIN_DIR);
    (void)snprintf(key, sizeof key, "%s/key", cluster->dir);
    (void)snprintf(credential, sizeof credential, "%s/credential", cluster->dir);
    code = create_user(program, cluster_list(cluster, DAEMON_COORDINATOR, list), key, credential);
    if (code != 0) {
        journal_tell("`%s user create` ended with %d", program, code);
        return false;
    }
    return setenv("ORBLOOM_CREDENTIAL", credential, 1) == 0;
}
