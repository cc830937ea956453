/* Keeps the sets up to date with what is read of the store. With a ring of one key there is nothing
 * to find out: whatever verifies is by that key. */
#include "coordinator/signatures.h"

#include "coordinator/cluster.h"
#include "coordinator/features.h"
#include "coordinator/private.h"
#include "coordinator/records.h"
#include "coordinator/restore/restore.h"
#include "proto/signed_document.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void signatures_fini(struct signatures *self)
{
    id_set_fini(&self->filters);
    id_set_fini(&self->secrets);
}

bool signatures_unread(const struct coordinator *self)
{
    return self->signatures.read != self->signatures.ring;
}

void signatures_begin(struct coordinator *self)
{
    struct signatures *signatures = &self->signatures;

    signatures_fini(signatures);
    *signatures = (struct signatures){.ring = signatures->ring, .next_us = signatures->next_us};
}

uint64_t signatures_id(const char *key, const char *kind)
{
    size_t size = strlen(kind);
    char *end = NULL;
    uint64_t id;

    if (strncmp(key, kind, size) != 0 || key[size] < '1' || key[size] > '9') {
        return 0;
    }
    id = strtoull(key + size, &end, 10);
    return *end == '\0' ? id : 0;
}

static enum status set(struct id_set *set, uint64_t id, bool left)
{
    return left ? id_set_add(set, id) : id_set_remove(set, id);
}

/* NULL: it is none of the records that there is only one of. */
static bool *single(struct signatures *self, const char *key)
{
    const struct {
        const char *key;
        bool *left;
    } singles[] = {
        {"nodes", &self->nodes},           {RECORDS_DROPPED_KEY, &self->dropped},
        {CLUSTER_KEY, &self->cluster},     {FEATURES_KEY, &self->features},
        {RECORDS_USERS_KEY, &self->users}, {RESTORE_NODES_KEY, &self->restored},
    };

    for (size_t i = 0; i < sizeof singles / sizeof singles[0]; i++) {
        if (strcmp(key, singles[i].key) == 0) {
            return singles[i].left;
        }
    }
    return NULL;
}

static enum status mark(struct signatures *self, const char *key, bool left)
{
    uint64_t filter = signatures_id(key, "filter/");
    uint64_t secret = signatures_id(key, "secret/");
    bool *one = single(self, key);

    if (filter != 0) {
        return set(&self->filters, filter, left);
    }
    if (secret != 0) {
        return set(&self->secrets, secret, left);
    }
    if (one != NULL) {
        *one = left;
    }
    return STATUS_OK;
}

enum status signatures_note(struct coordinator *self, const char *key, struct span value, bool news)
{
    struct signatures *signatures = &self->signatures;
    uint64_t secret = signatures_id(key, "secret/");
    bool is_signed = secret != 0 || signatures_id(key, "filter/") != 0 ||
                     single(signatures, key) != NULL;
    bool left;

    if (self->config.key.count < 2 || !is_signed) {
        return STATUS_OK;
    }
    left = secret != 0 ? !seal_secret_by_first(&self->config.key, secret, value)
                       : !codec_document_by_first(value, &self->config.key);
    if (left && news) {
        signatures->quiet_us = self->now_us + SIGNATURES_QUIET_US;
    }
    return mark(signatures, key, left);
}

void signatures_forget(struct coordinator *self, const char *key)
{
    (void)mark(&self->signatures, key, false); /* Where memory is short it is looked at again. */
}

uint64_t signatures_left(const struct coordinator *self)
{
    const struct signatures *signatures = &self->signatures;
    uint64_t left = id_set_size(&signatures->filters) + id_set_size(&signatures->secrets) +
                    signatures->nodes + signatures->dropped + signatures->cluster +
                    signatures->features + signatures->users + signatures->restored;

    if (left == 0 && self->config.key.count > 1 && signatures_unread(self)) {
        left = 1;
    }
    return left;
}

static bool next_id(const struct id_set *ids, const char *kind, char *key, size_t size)
{
    if (ids->count > 0) {
        (void)snprintf(key, size, "%s%" PRIu64, kind, ids->intervals[0].first);
    }
    return ids->count > 0;
}

/* What there is one of comes first. */
bool signatures_next(const struct coordinator *self, char *key, size_t size)
{
    const struct signatures *signatures = &self->signatures;
    const char *one = signatures->cluster    ? CLUSTER_KEY
                      : signatures->features ? FEATURES_KEY
                      : signatures->nodes    ? "nodes"
                      : signatures->dropped  ? RECORDS_DROPPED_KEY
                      : signatures->users    ? RECORDS_USERS_KEY
                      : signatures->restored ? RESTORE_NODES_KEY
                                             : NULL;

    if (one != NULL) {
        (void)snprintf(key, size, "%s", one);
        return true;
    }
    return next_id(&signatures->secrets, "secret/", key, size) ||
           next_id(&signatures->filters, "filter/", key, size);
}
