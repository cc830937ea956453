/* Draws or reads the cluster's id before anything else is written, and judges nodes and backups
 * by it. */
#include "coordinator/cluster.h"

#include "coordinator/features.h"
#include "coordinator/records.h"
#include "proto/signed_document.h"

#include <stdio.h>
#include <string.h>

/* ---- the record ---- */

struct span cluster_record(const struct coordinator *self)
{
    return span_of(self->cluster.bytes, self->cluster.size);
}

const char *cluster_lacking(const struct coordinator *self)
{
    return self->change != 0 && !cluster_id_known(&self->cluster.id)
               ? "the store does not say which cluster it is of: it was made by a version of "
                 "orbloom before clusters had ids, and this one can't go on with it. Run that "
                 "version, or begin with an empty store and empty data folders"
               : NULL;
}

/* ---- drawing it ---- */

static enum status write_drawn(struct coordinator *self)
{
    const struct cluster_id id = cluster_id_make(self->effects.random(self->effects.context),
                                                 self->effects.random(self->effects.context));
    char text[CLUSTER_ID_TEXT_BYTES];
    struct store_swap swaps[] = {{.key = CLUSTER_KEY}, {.key = FEATURES_KEY}};
    struct buffer value;
    struct buffer features;
    enum status status;

    buffer_init(&value, CODEC_MAX_FRAME_BYTES);
    buffer_init(&features, CODEC_MAX_FRAME_BYTES);
    status = codec_cluster_sign(&id, &self->config.key, &value);
    status = status == STATUS_OK ? features_begin(self, &features) : status;
    if (status == STATUS_OK) {
        swaps[0].value = buffer_span(&value);
        swaps[1].value = buffer_span(&features);
        status = records_swap(self, swaps, 2);
    }
    if (status == STATUS_OK) {
        log_line(LOG_INFO, "the store was empty: this is cluster %s from here on",
                 cluster_id_show(&self->cluster.id, text));
    }
    buffer_fini(&value);
    buffer_fini(&features);
    return status;
}

/* Of several coordinators that draw, one wins: its id it is. */
static enum status draw(struct coordinator *self, uint64_t now_us, void *context)
{
    (void)now_us;
    (void)context;
    return cluster_id_known(&self->cluster.id) ? STATUS_OK : write_drawn(self);
}

enum status cluster_ensure(struct coordinator *self, char *message)
{
    enum status status;

    if (cluster_lacking(self) != NULL) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES, "%s", cluster_lacking(self));
        return STATUS_VERSION;
    }
    status = records_change(self, self->now_us, draw, NULL);
    if (status != STATUS_OK) {
        records_tell(self, status, "written", message, COORDINATOR_MESSAGE_BYTES);
    }
    return status;
}

/* ---- nodes ---- */

enum status cluster_check(const struct coordinator *self, const struct sync_request *request,
                          char *message)
{
    char theirs[CLUSTER_ID_TEXT_BYTES];
    char ours[CLUSTER_ID_TEXT_BYTES];

    if (!cluster_id_differ(&self->cluster.id, &request->cluster)) {
        return STATUS_OK;
    }
    (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                   "what node %s holds belongs to cluster %s, and this is cluster %s: name the "
                   "coordinators of its own cluster, or give it a data_dir of its own. Was the "
                   "store begun anew after a loss, restore its backup into an empty one: "
                   "`orbloom map restore`",
                   request->name, cluster_id_show(&request->cluster, theirs),
                   cluster_id_show(&self->cluster.id, ours));
    return STATUS_INVALID;
}

/* ---- a restore ---- */

/* Nothing but the id has come of it. */
static bool is_unused(const struct coordinator *self)
{
    return self->documents.count == 0 && self->documents.nodes.count == 0 &&
           self->documents.dropped.revision == 0 && self->documents.users.revision == 0;
}

static const struct map_record *find_record(const struct map_parameters *map)
{
    for (size_t i = 0; i < map->nrecords; i++) {
        if (strcmp(map->records[i].key, CLUSTER_KEY) == 0) {
            return &map->records[i];
        }
    }
    return NULL;
}

static enum status refuse_store(const struct coordinator *self, const struct cluster_id *backup,
                                char *message)
{
    char theirs[CLUSTER_ID_TEXT_BYTES];
    char ours[CLUSTER_ID_TEXT_BYTES];

    (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                   "the backup is of cluster %s, and the store is of cluster %s, which has been "
                   "begun: restore into an empty store",
                   cluster_id_show(backup, theirs), cluster_id_show(&self->cluster.id, ours));
    return STATUS_EXISTS;
}

enum status cluster_restore(struct coordinator *self, const struct map_parameters *map,
                            struct store_swap *swap, bool *writes, char *message)
{
    const struct map_record *record = find_record(map);
    struct cluster_id backup;
    enum status status = STATUS_VERSION;

    *writes = false;
    if (cluster_lacking(self) != NULL) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES, "%s", cluster_lacking(self));
        return STATUS_VERSION;
    }
    if (record != NULL) {
        status = codec_cluster_open(record->value, &self->config.key, &backup);
    }
    if (status != STATUS_OK) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "the backup does not say which cluster it is of%s",
                       record == NULL ? ": it was made by a version of orbloom before clusters had "
                                        "ids; take a later one"
                                      : ", or its cluster key is another one");
        return status;
    }
    if (cluster_id_differ(&self->cluster.id, &backup) &&
        (self->mark.restoring || !is_unused(self))) {
        return refuse_store(self, &backup, message);
    }
    *writes = !cluster_id_equal(&self->cluster.id, &backup);
    *swap = (struct store_swap){
        .key = CLUSTER_KEY, .expected = self->cluster.version, .value = record->value};
    return STATUS_OK;
}

/* What wrote files under an id that was drawn for the store when it was empty would be of no
 * cluster at all. */
enum status cluster_check_restore(const struct coordinator *self, uint64_t now_us,
                                  const struct cluster_id *cluster, char *message)
{
    char theirs[CLUSTER_ID_TEXT_BYTES];
    char ours[CLUSTER_ID_TEXT_BYTES];

    for (size_t i = 0; i < self->nclaims; i++) {
        const struct claim *claim = &self->claims[i];

        if (cluster_id_differ(&claim->cluster, cluster) &&
            coordinator_lately(self, now_us, claim->last_us)) {
            (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                           "what node %s holds belongs to cluster %s, and the backup is of cluster "
                           "%s: end that node. If it began its folder after the store was lost, "
                           "empty it and start the node again; then repeat this",
                           claim->record.name, cluster_id_show(&claim->cluster, theirs),
                           cluster_id_show(cluster, ours));
            return STATUS_EXISTS;
        }
    }
    return STATUS_OK;
}
