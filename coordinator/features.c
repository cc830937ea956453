/* The record of features in use, who has been heard of that lacks one, and the operator's word
 * that takes new ones into use. */
#include "coordinator/features.h"

#include "base/heap.h"
#include "coordinator/records.h"
#include "proto/signed_document.h"

#include <stdio.h>
#include <string.h>

/* ---- the record ---- */

/* Of another version, in tests. */
static uint64_t known(const struct coordinator *self)
{
    return self->config.features != 0 ? self->config.features : features_known();
}

static uint64_t in_use(const struct coordinator *self)
{
    return self->features.record.in_use | feature_bit(FEATURE_BASE);
}

static uint64_t told_by(uint64_t features)
{
    return features | feature_bit(FEATURE_BASE);
}

static enum status sign(const struct coordinator *self, uint64_t revision, uint64_t features,
                        struct buffer *out)
{
    const struct cluster_features record = {.revision = revision, .in_use = features};

    return codec_features_sign(&record, &self->config.key, out);
}

enum status features_begin(const struct coordinator *self, struct buffer *out)
{
    return sign(self, 1, known(self), out);
}

enum status features_blank(const struct coordinator *self, struct buffer *out)
{
    return sign(self, self->features.record.revision + 1, feature_bit(FEATURE_BASE), out);
}

enum status features_join(const struct coordinator *self, struct span record, struct span held,
                          struct buffer *out)
{
    struct cluster_features theirs;
    struct cluster_features ours = {0};
    enum status status = codec_features_open(record, &self->config.key, &theirs);

    if (status == STATUS_OK && held.size > 0) {
        status = codec_features_open(held, &self->config.key, &ours);
    }
    if (status == STATUS_OK && (theirs.in_use & ~known(self)) != 0) {
        status = STATUS_VERSION;
    }
    if (status != STATUS_OK || (ours.revision != 0 && (theirs.in_use & ~ours.in_use) == 0)) {
        return status;
    }
    return sign(self, (ours.revision > theirs.revision ? ours.revision : theirs.revision) + 1,
                ours.in_use | theirs.in_use, out);
}

/* ---- who knows what ---- */

/* The list's nodes, then what follows the store by itself. `visit` returns false to stop. */
typedef bool (*visit_fn)(void *context, const struct process_features *process);

static bool visit_nodes(const struct coordinator *self, visit_fn visit, void *context)
{
    const struct node_list *nodes = &self->documents.nodes;

    for (uint32_t i = 0; i < nodes->count; i++) {
        const struct heard *heard = coordinator_heard(self, nodes->nodes[i].id);
        const struct process_features process = {
            .kind = PROCESS_NODE,
            .name = nodes->nodes[i].name,
            .features = heard != NULL ? told_by(heard->features) : 0,
            .heard = heard != NULL && coordinator_lately(self, self->now_us, heard->last_us),
        };

        if (!visit(context, &process)) {
            return false;
        }
    }
    return true;
}

static void visit_all(const struct coordinator *self, visit_fn visit, void *context)
{
    const struct process_features own = {.kind = PROCESS_COORDINATOR,
                                         .name = self->config.name,
                                         .features = told_by(known(self)),
                                         .heard = true};

    if (!visit(context, &own) || !visit_nodes(self, visit, context)) {
        return;
    }
    for (size_t i = 0; i < COORDINATOR_MAX_PEERS; i++) {
        const struct follower *one = &self->followers[i];
        const struct process_features process = {.kind = PROCESS_ROUTER,
                                                 .name = one->name,
                                                 .features = told_by(one->features),
                                                 .heard = true};

        if (coordinator_follows_router(self, one, self->now_us) && !visit(context, &process)) {
            return;
        }
    }
}

/* The first process that keeps features from being used. */
struct obstacle {
    uint64_t wanted;
    char *message;
    bool found;
};

static bool look_for_obstacle(void *context, const struct process_features *process)
{
    struct obstacle *self = context;
    uint64_t lacks = self->wanted & ~process->features;
    char names[FEATURES_TEXT_BYTES];

    if (process->kind == PROCESS_NODE && !process->heard) {
        (void)snprintf(self->message, COORDINATOR_MESSAGE_BYTES,
                       "node %.128s is not heard of, so nobody can tell what it knows; start it, "
                       "or remove it: `orbloom node remove %.128s`",
                       process->name, process->name);
    } else if (lacks != 0) {
        (void)snprintf(self->message, COORDINATOR_MESSAGE_BYTES,
                       "%.128s does not know %s; upgrade it, then say `orbloom upgrade finalize`",
                       process->name, features_show(lacks, names));
    } else {
        return true;
    }
    self->found = true;
    return false;
}

/* ---- the gate ---- */

enum status features_allow(const struct coordinator *self, uint64_t features, char *message)
{
    struct obstacle obstacle = {.wanted = features & ~in_use(self), .message = message};
    char names[FEATURES_TEXT_BYTES];

    if (obstacle.wanted == 0) {
        return STATUS_OK;
    }
    visit_all(self, look_for_obstacle, &obstacle);
    if (!obstacle.found) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "this cluster does not use %s yet, though every process knows it: say "
                       "`orbloom upgrade finalize`",
                       features_show(obstacle.wanted, names));
    }
    return STATUS_VERSION;
}

bool features_are_known(const struct coordinator *self, uint64_t features)
{
    return (features & ~told_by(known(self))) == 0;
}

enum status features_check(const struct coordinator *self, const struct sync_request *request,
                           char *message)
{
    uint64_t lacks = in_use(self) & ~told_by(request->features);
    char names[FEATURES_TEXT_BYTES];

    if (lacks == 0) {
        return STATUS_OK;
    }
    (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                   "%s %.128s does not know %s, which this cluster uses; run a version of orbloom "
                   "there that does (see `orbloom upgrade status`)",
                   request->role == SYNC_NODE         ? "node"
                   : link_report_said(&request->link) ? "link"
                                                      : "router",
                   request->name, features_show(lacks, names));
    return STATUS_VERSION;
}

const char *features_lacking(struct coordinator *self)
{
    uint64_t lacks = in_use(self) & ~told_by(known(self));
    char names[FEATURES_TEXT_BYTES];

    if (lacks == 0) {
        return NULL;
    }
    (void)snprintf(self->age_text, sizeof self->age_text,
                   "coordinator %.128s does not know %s, which this cluster uses, and changes "
                   "nothing; run a version of orbloom there that does",
                   self->config.name, features_show(lacks, names));
    return self->age_text;
}

/* ---- the operator ---- */

static enum status write_all_known(struct coordinator *self, char *message)
{
    struct store_swap swap = {.key = FEATURES_KEY, .expected = self->features.version};
    struct buffer value;
    enum status status;

    buffer_init(&value, CODEC_MAX_FRAME_BYTES);
    status = sign(self, self->features.record.revision + 1, in_use(self) | known(self), &value);
    if (status == STATUS_OK) {
        swap.value = buffer_span(&value);
        status = records_swap(self, &swap, 1);
    }
    if (status != STATUS_OK) {
        records_tell(self, status, "written", message, COORDINATOR_MESSAGE_BYTES);
    }
    buffer_fini(&value);
    return status;
}

/* Who is not there now can't be asked; it is refused, in words, should it come back older. */
static enum status finalize(struct coordinator *self, uint64_t now_us, char *message)
{
    struct obstacle obstacle = {.wanted = known(self) & ~in_use(self), .message = message};
    char names[FEATURES_TEXT_BYTES];
    enum status status;

    if (age_reason(self) != NULL) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES, "%s", age_reason(self));
        return STATUS_CONFLICT;
    }
    if (obstacle.wanted == 0) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES, "all that is known is in use already");
        return STATUS_OK;
    }
    if (!age_settled(self, now_us)) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "this coordinator has just started and has not heard of all nodes; retry");
        return STATUS_UNAVAILABLE;
    }
    visit_all(self, look_for_obstacle, &obstacle);
    if (obstacle.found) {
        return STATUS_VERSION;
    }
    status = write_all_known(self, message);
    if (status == STATUS_OK) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES, "in use from now on: %s",
                       features_show(obstacle.wanted, names));
        log_line(LOG_INFO, "upgrade: %s", message);
    }
    return status;
}

struct listing {
    struct process_features items[DOCUMENT_MAX_NODES + COORDINATOR_MAX_PEERS + 1];
    size_t count;
};

static bool list_process(void *context, const struct process_features *process)
{
    struct listing *self = context;

    self->items[self->count++] = *process;
    return self->count < sizeof self->items / sizeof self->items[0];
}

/* What stands in the way, or "". */
static void tell_way(const struct coordinator *self, char *message)
{
    struct obstacle obstacle = {.wanted = known(self) & ~in_use(self), .message = message};

    if (obstacle.wanted != 0) {
        visit_all(self, look_for_obstacle, &obstacle);
    }
    if (obstacle.wanted != 0 && !obstacle.found) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "nothing stands in the way: say `orbloom upgrade finalize`");
    }
}

void coordinator_on_upgrade(struct coordinator *self, uint64_t now_us, const struct peer *from,
                            const struct frame *frame)
{
    bool finalizes = frame->body.admin_request.action == ADMIN_UPGRADE_FINALIZE;
    struct listing *listing = heap_zalloc(1, sizeof *listing);
    char message[COORDINATOR_MESSAGE_BYTES] = "";
    struct frame answer = {.correlation = frame->correlation, .kind = FRAME_ADMIN_REPLY};
    enum status status = STATUS_NOMEM;

    if (listing != NULL) {
        status = finalizes ? finalize(self, now_us, message) : STATUS_OK;
        visit_all(self, list_process, listing);
    }
    if (status == STATUS_OK && !finalizes) {
        tell_way(self, message);
    }
    answer.body.admin_reply = (struct admin_reply){
        .status = status,
        .message = message,
        .moved = status == STATUS_CONFLICT && self->order.moved,
    };
    if (listing != NULL) {
        answer.body.admin_reply.upgrade = (struct upgrade_page){.known = told_by(known(self)),
                                                                .in_use = in_use(self),
                                                                .processes = listing->items,
                                                                .nprocesses = listing->count};
    }
    coordinator_reply(self, from, &answer);
    heap_free(listing);
}
