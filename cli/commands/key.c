/* `orbloom key`: changes a cluster key file step by step while the cluster runs. A key goes only
 * when every coordinator says that nothing is signed with it any more. */
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/key_file.h"
#include "cli/show/users.h"
#include "cli/users/record.h"

#include <inttypes.h>
#include <string.h>

enum { WARNING_US = 2000000 }; /* that a warning may wait for what the cluster knows */

struct key_settings {
    struct flags_common common;
    bool force;
};

static const struct option options[] = {
    {
        .name = "force",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct key_settings, force),
        .help = "retire: do not ask the cluster whether the key is in use; promote: nor who its "
                "users with keys are",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "key",
    .words = "list|add|promote|retire FILE",
    .summary = "Replace the cluster key while the cluster runs.",
    .notes =
        "A key file is a ring of 1 to 8 keys, one a line: the first one signs, all verify. list\n"
        "shows them by fingerprints, which say nothing of the keys; add appends a new random\n"
        "one; promote makes the last one the first; retire removes the last one, unless a\n"
        "coordinator says that it is in use, or can't be asked.\n\n"
        "After each of add, promote and retire bring the same file to all processes and send\n"
        "them SIGHUP, before the next step; before retire wait until `orbloom status` tells of\n"
        "no record that is signed with an older key.\n\n"
        "  orbloom key list /etc/orbloom/cluster.key\n"
        "  orbloom key add /etc/orbloom/cluster.key\n\n"
        "Exit: 0 done, 1 not, 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 2,
    .max_words = 2,
};

static int list(struct key_file *file, const struct key_settings *settings)
{
    (void)settings;
    for (uint32_t i = 0; i < file->key.count; i++) {
        (void)printf("%u  %016" PRIx64 "  %s\n", i + 1, seal_key_tag(&file->key.keys[i]),
                     i == 0 ? "signs and verifies" : "verifies");
    }
    return cmd_close_output(CMD_OK);
}

static int add(struct key_file *file, const struct key_settings *settings)
{
    (void)settings;
    if (key_file_add(file) != STATUS_OK) {
        return CMD_PARTIAL;
    }
    (void)printf(
        "%s holds %u keys; bring it to all processes, send them SIGHUP, have each user renew "
        "its credential (orbloom user renew --credential FILE), then: orbloom key promote "
        "%s\n",
        file->path, file->key.count + 1, file->path);
    return cmd_close_output(CMD_OK);
}

/* Which public keys a client's file lists the cluster does not know: only the client's machine has
 * it. So all users are named who may have such a file. */
static void warn_of_credentials(const struct key_settings *settings)
{
    static const char warning[] =
        "orbloom: before processes have this file: a credential that was not renewed since "
        "`orbloom "
        "key add` is refused from then on, and which were the cluster can't tell. Each user renews "
        "its own: orbloom user renew --credential FILE\n";
    struct flags_common common = settings->common;
    struct cmd_outcome outcome = {.message = "--force asks nobody"};
    struct users_record record = {0};
    int code = CMD_PARTIAL;

    common.timeout_us = common.timeout_us < WARNING_US ? common.timeout_us : WARNING_US;
    if (!settings->force) {
        code = users_fetch_quietly(&common, "", &record, &outcome);
    }
    if (code != CMD_OK) {
        (void)fprintf(stderr,
                      "%s  `orbloom user list` tells who has a key, and when it was last "
                      "seen; it is not known here: %s\n",
                      warning, outcome.message);
    } else {
        users_show_keys(warning, &record);
    }
    users_record_fini(&record);
}

static int promote(struct key_file *file, const struct key_settings *settings)
{
    uint32_t count = file->key.count;

    if (count < 2) {
        return cmd_fail(STATUS_NOT_FOUND,
                        "%s holds one key only; add one first: orbloom key add %s", file->path,
                        file->path);
    }
    warn_of_credentials(settings); /* Before the file tells by which key they are cut off. */
    if (key_file_promote(file) != STATUS_OK) {
        return CMD_PARTIAL;
    }
    (void)printf("%016" PRIx64
                 " signs; bring %s to all processes, send them SIGHUP, and wait until "
                 "`orbloom status` tells of no older key, then: orbloom key retire %s\n",
                 seal_key_tag(&file->key.keys[count - 1]), file->path, file->path);
    return cmd_close_output(CMD_OK);
}

/* ---- retire ---- */

/* One coordinator that is asked. */
struct witness {
    const struct key_file *file;
    const char *endpoint;
};

static const struct node_summary *silent_node(const struct admin_reply *reply)
{
    for (size_t i = 0; i < reply->nnodes; i++) {
        if (!reply->nodes[i].alive) {
            return &reply->nodes[i];
        }
    }
    return NULL;
}

/* Its connections, and those of users' credentials to it, are by that key. */
static int refuse_behind(const struct witness *self, const struct key_use *one)
{
    return cmd_fail(STATUS_CONFLICT,
                    "%s %.128s serves and signs with key %016" PRIx64
                    " still, and the first one of %s "
                    "is %016" PRIx64 ": bring the file to it and send it SIGHUP first; where that "
                    "is done wait, as it tells with its next sync (sync_interval)",
                    one->kind == PROCESS_ROUTER ? "router" : "node", one->name, one->key,
                    self->file->path, cluster_key_tag(&self->file->key));
}

static int judge(void *context, const struct frame *frame)
{
    const struct witness *self = context;
    const struct admin_reply *reply = &frame->body.admin_reply;
    const struct node_summary *silent = silent_node(reply);

    if (reply->keys.signing != cluster_key_tag(&self->file->key)) {
        return cmd_fail(STATUS_CONFLICT,
                        "the coordinator at %s signs with key %016" PRIx64 ", and the first one of "
                        "%s is %016" PRIx64 ": bring the file to all processes and send them "
                        "SIGHUP first",
                        self->endpoint, reply->keys.signing, self->file->path,
                        cluster_key_tag(&self->file->key));
    }
    if (reply->keys.records_left > 0) {
        return cmd_fail(STATUS_CONFLICT,
                        "%" PRIu64 " records of the store are signed with an older key still; wait "
                        "until `orbloom status` tells of none",
                        reply->keys.records_left);
    }
    if (reply->keys.nbehind > 0) {
        return refuse_behind(self, &reply->keys.behind[0]);
    }
    if (reply->message[0] != '\0') {
        return cmd_fail(STATUS_CONFLICT, "the coordinator at %s can't tell what is signed now: %s",
                        self->endpoint, reply->message);
    }
    if (silent != NULL) {
        return cmd_fail(STATUS_CONFLICT,
                        "node %s is not heard of, and what it holds may be signed with the key: "
                        "start it, or remove it: `orbloom node remove %s`",
                        silent->name, silent->name);
    }
    return CMD_OK;
}

/* Each knows of its own ring only. */
static int ask_all(const struct key_file *file, const struct key_settings *settings)
{
    char names[SESSION_MAX_ENDPOINTS][DOCUMENT_TEXT_BYTES];
    struct flags_common common = settings->common;
    char reason[CHANNEL_REASON_BYTES];
    uint32_t count = 0;
    int code = CMD_OK;

    if (channel_coordinators(common.coordinators, names, &count, reason) != STATUS_OK) {
        return cmd_fail(STATUS_INVALID, "%s", reason);
    }
    for (uint32_t i = 0; i < count && code == CMD_OK; i++) {
        struct frame frame = {.kind = FRAME_ADMIN_REQUEST,
                              .body.admin_request = {.action = ADMIN_STATUS, .name = ""}};
        struct witness witness = {.file = file, .endpoint = names[i]};

        common.coordinators = names[i];
        code = cmd_ask(&common, &frame, judge, &witness);
    }
    return code;
}

static int retire(struct key_file *file, const struct key_settings *settings)
{
    uint32_t count = file->key.count;
    int code = CMD_OK;

    if (count < 2) {
        return cmd_fail(STATUS_NOT_FOUND,
                        "%s holds one key only, which is in use; add one first: "
                        "orbloom key add %s",
                        file->path, file->path);
    }
    if (!settings->force) {
        code = ask_all(file, settings);
    }
    if (code != CMD_OK) {
        (void)fprintf(stderr,
                      "orbloom: %s is as it was; --force retires the key all the same: what "
                      "is signed with it can't be read any more\n",
                      file->path);
        return code;
    }
    if (key_file_retire(file) != STATUS_OK) {
        return CMD_PARTIAL;
    }
    (void)printf("%016" PRIx64 " is retired; bring %s to all processes and send them SIGHUP\n",
                 seal_key_tag(&file->key.keys[count - 1]), file->path);
    return cmd_close_output(CMD_OK);
}

static int run(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(struct key_file *file, const struct key_settings *settings);
    } steps[] = {{"list", list}, {"add", add}, {"promote", promote}, {"retire", retire}};
    struct key_settings settings = {0};
    struct option_words words;
    struct key_file file;
    int code = CMD_PARTIAL;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (strcmp(words.items[0], steps[i].name) == 0) {
            if (key_file_open(&file, words.items[1]) == STATUS_OK) {
                code = steps[i].run(&file, &settings);
            }
            key_file_close(&file);
            return code;
        }
    }
    return cmd_fail(STATUS_USAGE, "key takes list, add, promote or retire, not \"%.60s\"",
                    words.items[0]);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_key(void)
{
    return &command;
}
