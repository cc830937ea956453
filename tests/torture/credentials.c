/* Writes keys and credentials to files, and has this process speak as their owner. */
#include "tests/torture/credentials.h"

#include "client/shell_credential.h"
#include "runtime/file.h"
#include "tests/torture/journal.h"
#include "tests/torture/operator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { KEY_BYTES = 32, RING_BYTES = 4096 };

const char *credentials_path(const struct cluster *cluster, const char *file,
                             char path[DAEMON_PATH_BYTES])
{
    (void)snprintf(path, DAEMON_PATH_BYTES, "%s/%s", cluster->dir, file);
    return path;
}

/* ---- the ring ---- */

bool credentials_give_key(const struct cluster *cluster, const struct daemon *daemon)
{
    char path[DAEMON_PATH_BYTES];
    struct buffer ring;
    bool good;

    buffer_init(&ring, RING_BYTES);
    good = file_read(credentials_path(cluster, "key", path), &ring) == STATUS_OK &&
           file_write(daemon_path(daemon, "key", path), 0600, buffer_span(&ring)) == STATUS_OK;
    buffer_fini(&ring);
    if (!good) {
        journal_tell("the cluster key can't be copied to %s", path);
    }
    return good;
}

bool credentials_draw_key(struct cluster *cluster)
{
    char path[DAEMON_PATH_BYTES];
    uint8_t bytes[KEY_BYTES];
    char text[2 * KEY_BYTES + 2];
    bool good = getrandom(bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes;

    for (size_t i = 0; i < sizeof bytes; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
    memcpy(text + 2 * sizeof bytes, "\n", 2);
    good = good &&
           file_write(credentials_path(cluster, "key", path), 0600, span_text(text)) == STATUS_OK;
    for (uint32_t i = 0; good && i < cluster->ndaemons; i++) {
        good = credentials_give_key(cluster, &cluster->daemons[i]);
    }
    return good && credentials_become_process(cluster);
}

/* ---- a process ---- */

bool credentials_become_process(const struct cluster *cluster)
{
    struct cluster_key ring = {.count = 0};
    struct credential credential = {.user = "torture", .role = USER_ADMIN};
    char path[DAEMON_PATH_BYTES];
    char why[FILE_REASON_BYTES] = "the cluster key can't be read";
    bool good;

    if (!cluster->options->curve) {
        return true;
    }
    good = file_read_secret(&file_cluster_key, credentials_path(cluster, "key", path),
                            cluster_key_read, &ring) == STATUS_OK;
    if (good) {
        process_keys_derive(&ring, &credential.processes);
        seal_curve_pair(&ring.keys[0], CURVE_COORDINATOR, &credential.pair);
        good = credential_file_write(credentials_path(cluster, "process", path), false, &credential,
                                     why) == STATUS_OK;
    }
    if (!good) {
        journal_tell("%s", why);
    }
    return good;
}

/* ---- a user ---- */

bool credentials_make(struct cluster *cluster)
{
    char list[CLUSTER_LIST_BYTES];
    char key[DAEMON_PATH_BYTES];
    char file[DAEMON_PATH_BYTES];
    int code;

    if (!cluster->options->curve) {
        return setenv("ORBLOOM_CREDENTIAL", "none", 1) == 0;
    }
    (void)credentials_path(cluster, "credential", file);
    code = operator_run(cluster,
                        (const char *const[OPERATOR_MAX_WORDS]){
                            "user", "create", "torture", "--role", "admin", "--credential", file,
                            "--cluster-key", credentials_path(cluster, "key", key), "--coordinator",
                            cluster_list(cluster, DAEMON_COORDINATOR, list)});
    if (code != 0) {
        journal_tell("`orbloom user create` ended with %d; see %s/operator", code, cluster->dir);
        return false;
    }
    return setenv("ORBLOOM_CREDENTIAL", file, 1) == 0;
}
