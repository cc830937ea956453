/* A credential's keys: drawn here, so that its secret never travels, and asked of the cluster. */
#include "cli/users/credentials.h"

#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/secret_file.h"
#include "client/shell_credential.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

int credentials_of_key(const char *key_file, struct credential *out)
{
    struct cluster_key ring = {.count = 0};
    int code = CMD_OK;

    *out = (struct credential){.user = "operator", .role = USER_ADMIN};
    if (secret_file_read(&file_cluster_key, key_file, cluster_key_read, &ring) != STATUS_OK) {
        code = CMD_PARTIAL; /* It was said why. */
    } else {
        process_keys_derive(&ring, &out->processes);
        seal_curve_pair(&ring.keys[0], CURVE_COORDINATOR, &out->pair);
    }
    explicit_bzero(&ring, sizeof ring);
    return code;
}

/* ---- the cluster's ---- */

static enum curve_kind kind_of(enum process_kind kind)
{
    switch (kind) {
    case PROCESS_COORDINATOR:
        return CURVE_COORDINATOR;
    case PROCESS_NODE:
        return CURVE_NODE;
    case PROCESS_ROUTER:
        break;
    }
    return CURVE_ROUTER;
}

/* cmd_show_fn */
static int take(void *context, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct process_keys *out = context;

    *out = (struct process_keys){0};
    for (size_t i = 0; i < reply->nprocess_keys; i++) {
        struct public_keys *keys = &out->of[kind_of(reply->process_keys[i].kind)];

        if (keys->count < CLUSTER_KEY_MAX) {
            memcpy(keys->keys[keys->count++], reply->process_keys[i].key, CURVE_KEY_BYTES);
        }
    }
    for (int kind = 0; kind < CURVE_NKINDS; kind++) {
        if (out->of[kind].count == 0) {
            return cmd_fail(STATUS_MALFORMED, "the coordinator does not tell all public keys of "
                                              "processes; upgrade the older one of both");
        }
    }
    return CMD_OK;
}

static const struct frame question = {
    .kind = FRAME_ADMIN_REQUEST,
    .body.admin_request = {.action = ADMIN_PROCESS_KEYS, .name = ""},
};

/* ---- a new one ---- */

static int draw(struct curve_pair *pair)
{
    uint8_t seed[CURVE_KEY_BYTES];

    if (getrandom(seed, sizeof seed, 0) != (ssize_t)sizeof seed) {
        return cmd_fail(STATUS_IO, "no random bytes: %s", strerror(errno));
    }
    seal_pair_of_seed(seed, pair);
    explicit_bzero(seed, sizeof seed);
    return CMD_OK;
}

int credentials_make(struct credential_draft *self, const struct flags_common *common)
{
    int code = draw(&self->credential.pair);

    if (code == CMD_OK && common->held != NULL) {
        self->credential.processes = common->held->processes;
    } else if (code == CMD_OK) {
        code = cmd_ask(common, &question, take, &self->credential.processes);
    }
    return code;
}

struct user_wish credentials_wish(const struct credential_draft *self, const char *name,
                                  uint64_t expires_ms)
{
    struct user_wish wish = {.user = name, .token = span_of("", 0), .expires_ms = expires_ms};

    memcpy(wish.key, self->credential.pair.public, sizeof wish.key);
    return wish;
}

int credentials_put(struct credential_draft *self, const char *name, enum user_role role)
{
    char why[FILE_REASON_BYTES];
    enum status status;

    if (self->written) {
        return CMD_OK;
    }
    (void)snprintf(self->credential.user, sizeof self->credential.user, "%s", name);
    self->credential.role = role;
    status = credential_file_write(self->path, true, &self->credential, why);
    self->written = status == STATUS_OK;
    return self->written ? CMD_OK : cmd_fail(status, "%s", why);
}

void credentials_end(struct credential_draft *self, bool has, bool unsure)
{
    if (self->written && has) {
        (void)fprintf(stderr, "wrote the credential of %s to %s\n", self->credential.user,
                      self->path);
    } else if (self->written && unsure) {
        (void)fprintf(
            stderr,
            "orbloom: %s is kept: it is the credential of %s if that has its key; if not, "
            "remove it before the command is repeated\n",
            self->path, self->credential.user);
    } else if (self->written) {
        (void)unlink(self->path);
    }
    credential_wipe(&self->credential);
}

/* ---- one that is there ---- */

/* A ring without any key that the file knows: nothing tells that both are of one cluster, and in
 * another one the file would be of no use. */
static int refuse_stranger(const char *path, const char *user)
{
    return cmd_fail(STATUS_CONFLICT,
                    "%s knows none of the keys of that ring: it is of another cluster, or was not "
                    "renewed while "
                    "the cluster key was replaced; it is as it was. Give the key file of its "
                    "cluster, or make another: orbloom user key %s add --credential NEW",
                    path, user);
}

/* Who is not let in any more can't help itself. */
static int ask_as_user(const struct flags_common *common, const char *path, const char *user,
                       struct process_keys *out)
{
    struct cmd_outcome outcome;
    int code = cmd_ask_quietly(common, &question, take, out, &outcome);

    if (outcome.status != STATUS_OK) {
        (void)cmd_fail(outcome.status, "%s", outcome.message);
    }
    if (outcome.status == STATUS_UNAUTHENTIC) {
        (void)fprintf(
            stderr,
            "orbloom: %s is as it was. Where its keys are too old for that, an admin makes "
            "another (orbloom user key %s add --credential NEW), or who holds the cluster "
            "key renews it (--cluster-key FILE)\n",
            path, user);
    }
    return code;
}

/* The file's own user asks, unless the cluster key is there. */
static int renew(const struct flags_common *common, const char *path, struct credential *credential)
{
    struct process_keys keys = {0};
    char why[FILE_REASON_BYTES];
    enum status status = credential_file_read(path, credential, why);
    int code = CMD_OK;

    if (status != STATUS_OK) {
        return cmd_fail(status, "%s", why);
    }
    if (common->held != NULL) {
        keys = common->held->processes;
    } else {
        code = ask_as_user(common, path, credential->user, &keys);
    }
    if (code == CMD_OK && !process_keys_meet(&keys, &credential->processes)) {
        return refuse_stranger(path, credential->user);
    }
    if (code == CMD_OK && process_keys_equal(&keys, &credential->processes)) {
        (void)printf("%s is up to date: it knows processes by %" PRIu32
                     " key%s of the cluster's ring\n",
                     path, keys.of[0].count, keys.of[0].count == 1 ? "" : "s");
        return CMD_OK;
    }
    if (code == CMD_OK) {
        credential->processes = keys;
        status = credential_file_write(path, false, credential, why);
        code = status == STATUS_OK ? CMD_OK : cmd_fail(status, "%s", why);
    }
    if (code == CMD_OK) {
        (void)printf("%s was written anew: it knows processes by %" PRIu32
                     " key%s of the cluster's ring\n",
                     path, keys.of[0].count, keys.of[0].count == 1 ? "" : "s");
    }
    return code;
}

int credentials_renew(const struct flags_common *common, const char *path)
{
    struct credential credential = {.role = USER_CLIENT};
    int code = renew(common, path, &credential);

    credential_wipe(&credential);
    return code;
}
