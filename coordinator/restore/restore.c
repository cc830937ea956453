/* Taking a backup's records into a store that was lost or is older than its nodes. */
#include "coordinator/restore/restore.h"

#include "coordinator/cluster.h"
#include "coordinator/features.h"
#include "coordinator/records.h"
#include "coordinator/stored.h"
#include "proto/signed_document.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t restore_number(struct span value)
{
    uint64_t number = 0;

    for (size_t i = 0; i < 8 && i < value.size; i++) {
        number |= (uint64_t)value.data[i] << (8 * i);
    }
    return number;
}

struct span restore_number_bytes(uint64_t number, uint8_t bytes[8])
{
    for (size_t i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(number >> (8 * i));
    }
    return span_of(bytes, 8);
}

enum status restore_read(struct coordinator *self, const char *key, struct restore_record *record)
{
    enum status status;

    buffer_init(&record->value, STORE_MAX_VALUE_BYTES);
    record->version = 0;
    status = stored_get(self, key, &record->value, &record->version);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

enum status restore_write(struct coordinator *self, const char *key, uint64_t version,
                          struct span value)
{
    const struct store_swap one = {.key = key, .expected = version, .value = value};

    return stored_swap(self, &one, 1);
}

/* ---- records ---- */

/* Of two histories: two contents under one number, or two names or uids under one id. */
static bool same_filter(const struct filter_document *a, const struct filter_document *b)
{
    return strcmp(a->content.name, b->content.name) == 0 &&
           filter_uid_equal(&a->content.uid, &b->content.uid) &&
           (a->epoch != b->epoch || a->epoch_hash == b->epoch_hash);
}

static enum status merge_filter(struct coordinator *self, const struct map_record *record)
{
    struct filter_document ours = {0};
    struct filter_document theirs = {0};
    struct restore_record held;
    char key[STORE_KEY_BYTES];
    enum status status = codec_filter_document_open(record->value, &self->config.key, &theirs);

    (void)snprintf(key, sizeof key, "filter/%" PRIu64, theirs.id);
    if (status == STATUS_OK && strcmp(key, record->key) != 0) {
        status = STATUS_MALFORMED;
    }
    if (status != STATUS_OK || document_cache_is_dropped(&self->documents, theirs.id)) {
        document_fini(&theirs); /* Since the backup it was dropped for good. */
        return status;
    }
    status = restore_read(self, key, &held);
    if (status == STATUS_OK && held.version != 0) {
        status = codec_filter_document_open(buffer_span(&held.value), &self->config.key, &ours);
        if (status == STATUS_OK && !same_filter(&ours, &theirs)) {
            status = STATUS_EXISTS;
        }
    }
    if (status == STATUS_OK && theirs.revision > ours.revision) {
        status = restore_write(self, key, held.version, record->value);
    }
    buffer_fini(&held.value);
    document_fini(&ours);
    document_fini(&theirs);
    return status;
}

static enum status merge_secret(struct coordinator *self, const struct map_record *record)
{
    struct hash_secret secret;
    struct restore_record held;
    unsigned long long id = 0;
    int end = 0;
    enum status status = STATUS_MALFORMED;

    if (sscanf(record->key, "secret/%llu%n", &id, &end) == 1 && record->key[end] == '\0' &&
        record->value.size == SEAL_SECRET_BYTES) {
        status = seal_secret_open(&self->config.key, id, record->value, &secret);
    }
    if (status != STATUS_OK) {
        return status;
    }
    status = restore_read(self, record->key, &held);
    if (status == STATUS_OK && held.version == 0) {
        status = restore_write(self, record->key, 0, record->value);
    }
    buffer_fini(&held.value);
    return status;
}

static enum status merge_nodes(struct coordinator *self, const struct map_record *record)
{
    struct node_list ours = {0};
    struct node_list theirs = {0};
    struct restore_record held;
    enum status status = codec_node_list_open(record->value, &self->config.key, &theirs);

    if (status != STATUS_OK) {
        return status;
    }
    status = restore_read(self, RESTORE_NODES_KEY, &held);
    if (status == STATUS_OK && held.version != 0) {
        status = codec_node_list_open(buffer_span(&held.value), &self->config.key, &ours);
    }
    if (status == STATUS_OK && theirs.revision > ours.revision) {
        status = restore_write(self, RESTORE_NODES_KEY, held.version, record->value);
    }
    buffer_fini(&held.value);
    node_list_fini(&ours);
    node_list_fini(&theirs);
    return status;
}

/* What either of them names is dropped. */
static enum status merge_dropped(struct coordinator *self, const struct map_record *record)
{
    struct dropped_record ours = {0};
    struct dropped_record theirs = {0};
    struct restore_record held;
    struct buffer value;
    enum status status = codec_dropped_open(record->value, &self->config.key, &theirs);

    if (status != STATUS_OK) {
        return status;
    }
    buffer_init(&value, CODEC_MAX_FRAME_BYTES);
    status = restore_read(self, RECORDS_DROPPED_KEY, &held);
    if (status == STATUS_OK && held.version != 0) {
        status = codec_dropped_open(buffer_span(&held.value), &self->config.key, &ours);
    }
    if (status == STATUS_OK && !id_set_covers(&ours.ids, &theirs.ids)) {
        status = id_set_join(&ours.ids, &theirs.ids);
        ours.revision = (theirs.revision > ours.revision ? theirs.revision : ours.revision) + 1;
        status = status == STATUS_OK ? codec_dropped_sign(&ours, &self->config.key, &value)
                                     : status;
        status = status == STATUS_OK
                     ? restore_write(self, RECORDS_DROPPED_KEY, held.version, buffer_span(&value))
                     : status;
    }
    buffer_fini(&value);
    buffer_fini(&held.value);
    dropped_record_fini(&ours);
    dropped_record_fini(&theirs);
    return status;
}

/* The newest one counts: in an older one are users and tokens that were taken away since. */
static enum status merge_users(struct coordinator *self, const struct map_record *record)
{
    struct user_list ours = {0};
    struct user_list theirs = {0};
    struct restore_record held;
    enum status status = codec_users_open(record->value, &self->config.key, &theirs);

    if (status != STATUS_OK) {
        return status;
    }
    status = restore_read(self, RECORDS_USERS_KEY, &held);
    if (status == STATUS_OK && held.version != 0) {
        status = codec_users_open(buffer_span(&held.value), &self->config.key, &ours);
    }
    if (status == STATUS_OK && theirs.revision > ours.revision) {
        status = restore_write(self, RECORDS_USERS_KEY, held.version, record->value);
    }
    buffer_fini(&held.value);
    user_list_fini(&ours);
    user_list_fini(&theirs);
    return status;
}

/* It was settled as the restore began. */
static enum status merge_cluster(struct coordinator *self, const struct map_record *record)
{
    struct cluster_id id;
    enum status status = codec_cluster_open(record->value, &self->config.key, &id);

    return status == STATUS_OK && cluster_id_differ(&id, &self->cluster.id) ? STATUS_EXISTS
                                                                            : status;
}

static enum status merge_features(struct coordinator *self, const struct map_record *record)
{
    struct restore_record held;
    struct buffer value;
    enum status status = restore_read(self, record->key, &held);

    buffer_init(&value, CODEC_MAX_FRAME_BYTES);
    status = status == STATUS_OK
                 ? features_join(self, record->value, buffer_span(&held.value), &value)
                 : status;
    if (status == STATUS_OK && value.size > 0) {
        status = restore_write(self, record->key, held.version, buffer_span(&value));
    }
    buffer_fini(&value);
    buffer_fini(&held.value);
    return status;
}

static enum status merge_counter(struct coordinator *self, const struct map_record *record)
{
    struct restore_record held;
    enum status status = restore_read(self, record->key, &held);

    if (status == STATUS_OK &&
        restore_number(record->value) > restore_number(buffer_span(&held.value))) {
        status = restore_write(self, record->key, held.version, record->value);
    }
    buffer_fini(&held.value);
    return status;
}

/* Names follow from the filters; what a later version has added is left to that one. */
static enum status merge(struct coordinator *self, const struct map_record *record)
{
    if (strncmp(record->key, "filter/", 7) == 0) {
        return merge_filter(self, record);
    }
    if (strncmp(record->key, "secret/", 7) == 0) {
        return merge_secret(self, record);
    }
    if (strcmp(record->key, "nodes") == 0 || strcmp(record->key, RESTORE_NODES_KEY) == 0) {
        return merge_nodes(self, record);
    }
    if (strcmp(record->key, RECORDS_DROPPED_KEY) == 0) {
        return merge_dropped(self, record);
    }
    if (strcmp(record->key, RECORDS_USERS_KEY) == 0) {
        return merge_users(self, record);
    }
    if (strcmp(record->key, CLUSTER_KEY) == 0) {
        return merge_cluster(self, record);
    }
    if (strcmp(record->key, FEATURES_KEY) == 0) {
        return merge_features(self, record);
    }
    return strcmp(record->key, RECORDS_LAST_FILTER_KEY) == 0 && record->value.size == 8
               ? merge_counter(self, record)
               : STATUS_OK;
}

/* ---- the operator's requests ---- */

/* A store that was emptied under its coordinators: what they have read of it is not there. */
static bool was_emptied(struct coordinator *self)
{
    struct restore_record held;
    enum status status = restore_read(self, "store", &held);
    bool emptied = status == STATUS_OK && held.version < self->mark.version;

    buffer_fini(&held.value);
    return emptied;
}

/* The mark, and which cluster it is: the backup's, whatever was drawn for an empty store; of which
 * features it uses the backup's records tell. */
static enum status write_begin(struct coordinator *self, const struct store_swap *cluster,
                               bool writes)
{
    struct store_mark mark = self->mark;
    uint8_t bytes[RECORDS_MARK_BYTES];
    struct store_swap swaps[3] = {{.key = "store", .expected = mark.version}};
    struct buffer features;
    enum status status;

    mark.restoring = true;
    records_put_mark(&mark, bytes);
    swaps[0].value = span_of(bytes, sizeof bytes);
    swaps[1] = *cluster;
    buffer_init(&features, CODEC_MAX_FRAME_BYTES);
    status = features_blank(self, &features);
    swaps[2] = (struct store_swap){
        .key = FEATURES_KEY, .expected = self->features.version, .value = buffer_span(&features)};
    status = status == STATUS_OK ? stored_swap(self, swaps, writes ? 3 : 1) : status;
    buffer_fini(&features);
    return status;
}

static enum status begin(struct coordinator *self, uint64_t now_us,
                         const struct map_parameters *map, char *message)
{
    struct store_swap cluster = {0};
    struct cluster_id backup;
    bool writes;
    enum status status = cluster_restore(self, map, &cluster, &writes, message);

    if (status == STATUS_OK) {
        status = codec_cluster_open(cluster.value, &self->config.key, &backup);
        status = status == STATUS_OK ? cluster_check_restore(self, now_us, &backup, message)
                                     : status;
    }
    if (status != STATUS_OK || self->mark.restoring) {
        return status; /* One that is under way is gone on with. */
    }
    if (age_reason(self) == NULL && self->documents.count > 0) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "the store has filters, and no node holds anything that it lacks: there is "
                       "nothing to restore. After a coordinator's start, wait until all nodes are "
                       "heard of (`orbloom status`)");
        return STATUS_INVALID;
    }
    if (order_may_mark(self, self->mark.version) != STATUS_OK) {
        return STATUS_CONFLICT;
    }
    status = write_begin(self, &cluster, writes);
    if (status == STATUS_OK) {
        log_line(LOG_WARN, "a restore from a backup begins");
        status = records_refresh(self);
    } else if (status == STATUS_CONFLICT && was_emptied(self)) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "the store was emptied while this coordinator ran, which still knows what "
                       "was in it; restart all coordinators, then repeat this");
    }
    return status;
}

static enum status take_records(struct coordinator *self, const struct map_parameters *map,
                                char *message)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < map->nrecords; i++) {
        status = merge(self, &map->records[i]);
        if (status == STATUS_EXISTS) {
            (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                           "%.64s is another filter in the store than in the backup: the store was "
                           "begun anew and used; restore into an empty store",
                           map->records[i].key);
        } else if (status != STATUS_OK) {
            (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                           "the record %.64s of the backup can't be taken: %s%s",
                           map->records[i].key, status_meaning(status),
                           codec_document_remedy(status));
        }
    }
    return status;
}

static enum status serve(struct coordinator *self, uint64_t now_us,
                         const struct admin_request *request, char *message)
{
    const struct map_parameters *map = &request->map;

    enum status status;

    if (!cluster_key_has_tag(&self->config.key, map->key)) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "the backup is of another cluster, or the coordinator's cluster_key_file is "
                       "without the one that was used when it was made");
        return STATUS_UNAUTHENTIC;
    }
    if (request->action == ADMIN_MAP_BEGIN) {
        return begin(self, now_us, map, message);
    }
    if (order_may_mark(self, self->mark.version) != STATUS_OK) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "another restore has begun or ended meanwhile; see `orbloom status`");
        return STATUS_CONFLICT;
    }
    if (!self->mark.restoring) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "no restore is under way: another one has ended it; see `orbloom status`");
        return STATUS_CONFLICT;
    }
    status = cluster_check_restore(self, now_us, &self->cluster.id, message);
    if (status != STATUS_OK) {
        return status;
    }
    return request->action == ADMIN_MAP_RECORDS ? take_records(self, map, message)
                                                : restore_finish(self, now_us, map, message);
}

void coordinator_on_map_restore(struct coordinator *self, uint64_t now_us, const struct peer *from,
                                const struct frame *frame)
{
    char message[COORDINATOR_MESSAGE_BYTES] = "";
    enum status status = serve(self, now_us, &frame->body.admin_request, message);

    if (status == STATUS_CONFLICT && message[0] == '\0' && !self->order.moved) {
        status = STATUS_UNAVAILABLE; /* A swap that another one won: once more. */
    }
    if (status != STATUS_OK && message[0] == '\0') {
        (void)snprintf(message, sizeof message, "the store cannot be read or written: %s",
                       status == STATUS_UNAVAILABLE ? "somebody else writes it; retry"
                                                    : status_meaning(status));
    }
    coordinator_answer(self, from, frame->correlation, status, false, message);
}
