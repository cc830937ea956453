/* The ring of the cluster key has another first key: what others of the ring have signed in the
 * store is signed anew, and hash secrets are sealed anew, a few at a time, until the former key can
 * go.
 *
 * The MAC is part of a document's bytes, and one revision has one content: so a document that is
 * signed anew is an edit of its own, under the next revision and in the same epoch, which nodes and
 * routers take as any other and nodes log. The cluster's record has no revision, as it never
 * changes: of that only the MAC is another one. Records are read, changed and written by what they
 * are in the store, not in the cache: some have no document there any more, and whoever comes with
 * one key only has to read them too. */
#include "coordinator/cluster.h"
#include "coordinator/duty.h"
#include "coordinator/features.h"
#include "coordinator/records.h"
#include "coordinator/restore/restore.h"
#include "coordinator/signatures.h"
#include "coordinator/stored.h"
#include "proto/signed_document.h"

#include <string.h>

enum {
    REKEY_BATCH = 8,       /* records that are written at once */
    REKEY_PACE_US = 50000, /* ... and between two such batches */
    REKEY_RETRY_US = 1000000,
};

static enum status sign_filter(const struct cluster_key *key, struct span held, struct buffer *out)
{
    struct filter_document document = {0};
    enum status status = codec_filter_document_open(held, key, &document);

    if (status == STATUS_OK) {
        document.revision++;
        status = codec_filter_document_sign(&document, key, out);
    }
    document_fini(&document);
    return status;
}

static enum status sign_nodes(const struct cluster_key *key, struct span held, struct buffer *out)
{
    struct node_list nodes = {0};
    enum status status = codec_node_list_open(held, key, &nodes);

    if (status == STATUS_OK) {
        nodes.revision++;
        status = codec_node_list_sign(&nodes, key, out);
    }
    node_list_fini(&nodes);
    return status;
}

/* What a backup said stays what it said; nobody is told. */
static enum status sign_restored(const struct cluster_key *key, struct span held,
                                 struct buffer *out)
{
    struct node_list nodes = {0};
    enum status status = codec_node_list_open(held, key, &nodes);

    status = status == STATUS_OK ? codec_node_list_sign(&nodes, key, out) : status;
    node_list_fini(&nodes);
    return status;
}

static enum status sign_dropped(const struct cluster_key *key, struct span held, struct buffer *out)
{
    struct dropped_record record = {0};
    enum status status = codec_dropped_open(held, key, &record);

    if (status == STATUS_OK) {
        record.revision++;
        status = codec_dropped_sign(&record, key, out);
    }
    dropped_record_fini(&record);
    return status;
}

static enum status sign_cluster(const struct cluster_key *key, struct span held, struct buffer *out)
{
    struct cluster_id id;
    enum status status = codec_cluster_open(held, key, &id);

    return status == STATUS_OK ? codec_cluster_sign(&id, key, out) : status;
}

static enum status sign_features(const struct cluster_key *key, struct span held,
                                 struct buffer *out)
{
    struct cluster_features record;
    enum status status = codec_features_open(held, key, &record);

    record.revision++;
    return status == STATUS_OK ? codec_features_sign(&record, key, out) : status;
}

/* The secret itself stays: what is kept of tokens is keyed with it. */
static enum status sign_users(struct coordinator *self, struct span held, struct buffer *out)
{
    struct user_list users = {0};
    enum status status = codec_users_open(held, &self->config.key, &users);

    if (status == STATUS_OK) {
        users.revision++;
        status = records_sign_users(self, &users, out);
    }
    user_list_fini(&users);
    return status;
}

static enum status seal_again(struct coordinator *self, uint64_t filter_id, struct span held,
                              struct buffer *out)
{
    struct hash_secret secret;
    uint8_t sealed[SEAL_SECRET_BYTES];
    enum status status = seal_secret_open(&self->config.key, filter_id, held, &secret);

    if (status == STATUS_OK) {
        records_seal(self, filter_id, &secret, sealed);
        status = buffer_append(out, span_of(sealed, sizeof sealed));
    }
    secret = (struct hash_secret){{0}};
    return status;
}

static enum status make(struct coordinator *self, const char *name, struct span held,
                        struct buffer *out)
{
    const struct cluster_key *key = &self->config.key;
    uint64_t secret = signatures_id(name, "secret/");

    if (secret != 0) {
        return seal_again(self, secret, held, out);
    }
    if (strcmp(name, CLUSTER_KEY) == 0) {
        return sign_cluster(key, held, out);
    }
    if (strcmp(name, FEATURES_KEY) == 0) {
        return sign_features(key, held, out);
    }
    if (strcmp(name, RECORDS_DROPPED_KEY) == 0) {
        return sign_dropped(key, held, out);
    }
    if (strcmp(name, RECORDS_USERS_KEY) == 0) {
        return sign_users(self, held, out);
    }
    if (strcmp(name, RESTORE_NODES_KEY) == 0) {
        return sign_restored(key, held, out);
    }
    return (strcmp(name, "nodes") == 0 ? sign_nodes : sign_filter)(key, held, out);
}

/* STATUS_CONFLICT: somebody has written it meanwhile; it is looked at once more. */
static enum status write_again(struct coordinator *self, const char *name)
{
    struct store_swap swap = {.key = name};
    struct buffer held;
    struct buffer value;
    enum status status;

    buffer_init(&held, CODEC_MAX_FRAME_BYTES);
    buffer_init(&value, CODEC_MAX_FRAME_BYTES);
    status = stored_get(self, name, &held, &swap.expected);
    if (status == STATUS_NOT_FOUND) {
        signatures_forget(self, name);
        status = STATUS_OK;
    } else if (status == STATUS_OK) {
        status = make(self, name, buffer_span(&held), &value);
        swap.value = buffer_span(&value);
        status = status == STATUS_OK ? records_swap(self, &swap, 1) : status;
        self->counters[COORDINATOR_rekeys_written_total] += status == STATUS_OK;
    }
    buffer_fini(&held);
    buffer_fini(&value);
    return status;
}

static void write_some(struct coordinator *self, uint64_t now_us)
{
    struct signatures *signatures = &self->signatures;
    uint64_t ring = signatures->ring;
    char name[STORE_KEY_BYTES];
    enum status status = STATUS_OK;

    for (int i = 0; i < REKEY_BATCH && status == STATUS_OK && ring == signatures->ring &&
                    signatures_next(self, name, sizeof name);
         i++) {
        status = write_again(self, name);
    }
    if (status == STATUS_OK || status == STATUS_CONFLICT) {
        signatures->next_us = now_us + REKEY_PACE_US;
    } else {
        signatures->next_us = now_us + REKEY_RETRY_US;
        log_limited(&self->rekey_limit, now_us, LOG_WARN,
                    "the store's record %s can't be signed with the new cluster key yet: %s", name,
                    status_meaning(status));
    }
    if (self->hinted != self->change) {
        coordinator_hint(self, now_us);
    }
}

static bool has_work(const struct coordinator *self)
{
    return self->config.key.count > 1 && (signatures_unread(self) || signatures_left(self) > 0);
}

static uint64_t due_us(const struct coordinator *self)
{
    const struct signatures *signatures = &self->signatures;

    if (!has_work(self)) {
        return ACTOR_NEVER;
    }
    return signatures->next_us > signatures->quiet_us ? signatures->next_us : signatures->quiet_us;
}

/* Not of single filters: where many documents are signed anew all others go on as they are. */
static enum duty_round round_of_rekey(struct coordinator *self, uint64_t now_us)
{
    uint64_t left = signatures_left(self);

    if (now_us < due_us(self)) {
        return ROUND_NONE;
    }
    if (signatures_unread(self) && records_refresh(self) != STATUS_OK) {
        self->signatures.next_us = now_us + REKEY_RETRY_US;
        return ROUND_NONE;
    }
    write_some(self, now_us);
    if (left > 0 && signatures_left(self) == 0) {
        log_line(LOG_INFO, "all records of the store are signed with the first cluster key");
    }
    return ROUND_NONE;
}

const struct duty duty_rekey = {
    .round = round_of_rekey,
    .due_us = due_us,
};
