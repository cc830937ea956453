/* The node list: who a node is, and which life of its data has its place. */
#include "proto/registration.h"

#include "base/heap.h"
#include "base/mutant.h"
#include "coordinator/cluster.h"
#include "coordinator/features.h"
#include "coordinator/plan/boot.h"
#include "coordinator/records.h"
#include "coordinator/sites.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool same_record(const struct node_record *record, const struct sync_request *request)
{
    return record->memory_limit_bytes == request->memory_limit_bytes &&
           record->durable == request->durable && record->curve == request->curve &&
           strcmp(record->endpoint, request->endpoint) == 0 &&
           strcmp(record->host, request->host) == 0 && strcmp(record->zone, request->zone) == 0;
}

/* Two living processes under one name would take turns, and one that starts on a copy of a folder
 * would take the place of the one that serves: the one heard first keeps it. A node that has moved
 * waits until its former place has not been heard of for the time-out. One that has lost its place
 * is not to wait, but to be told. */
static bool name_in_use(const struct coordinator *self, uint64_t now_us,
                        const struct node_record *record, const struct sync_request *request,
                        enum boot_verdict verdict)
{
    const struct heard *heard = coordinator_heard(self, record->id);

    return (record->incarnation != request->incarnation || verdict == BOOT_NEXT) &&
           strcmp(record->endpoint, request->endpoint) != 0 && heard != NULL &&
           heard->incarnation == record->incarnation &&
           coordinator_lately(self, now_us + 1, heard->last_us);
}

/* Write the node list with this node's record added or brought up to date. */
static enum status write_record(struct coordinator *self, const struct sync_request *request)
{
    const struct node_list *held = &self->documents.nodes;
    struct node_list nodes = *held;
    struct node_record *record = NULL;
    enum status status;

    nodes.revision++;
    nodes.nodes = heap_zalloc((size_t)held->count + 1, sizeof *nodes.nodes);
    if (nodes.nodes == NULL) {
        return STATUS_NOMEM;
    }
    for (uint32_t i = 0; i < held->count; i++) {
        nodes.nodes[i] = held->nodes[i];
        record = strcmp(held->nodes[i].name, request->name) == 0 ? &nodes.nodes[i] : record;
        nodes.last_id = held->nodes[i].id > nodes.last_id ? held->nodes[i].id : nodes.last_id;
    }
    if (record == NULL) {
        record = &nodes.nodes[nodes.count++];
        record->id = ++nodes.last_id;
    }
    age_fill_record(record, request);
    status = nodes.count <= DOCUMENT_MAX_NODES ? records_write_nodes(self, &nodes)
                                               : STATUS_TOO_LARGE;
    if (status == STATUS_OK) {
        coordinator_count(self, COORDINATOR_registrations_total);
        log_line(LOG_INFO, "node %u is %s at %s, incarnation %016" PRIx64 ", boot %016" PRIx64,
                 record->id, record->name, record->endpoint, record->incarnation, record->boot);
    }
    node_list_fini(&nodes);
    return status;
}

static bool endpoint_valid(const char *endpoint)
{
    const char *port = strrchr(endpoint, ':');

    return strlen(endpoint) < DOCUMENT_TEXT_BYTES && strncmp(endpoint, "tcp://", 6) == 0 &&
           port > endpoint + 6 && port[1] != '\0' &&
           strspn(port + 1, "0123456789") == strlen(port + 1);
}

/* Does the node hold the cluster's key? STATUS_UNAUTHENTIC, with a message: no, or its proof is
 * that of a version which told no features. */
static enum status check_key(const struct coordinator *self, const struct sync_request *request,
                             char *message)
{
    if (registration_verify(&self->config.key, request) == STATUS_OK) {
        return STATUS_OK;
    }
    (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                   "the node does not hold this cluster's key%s; give all processes the same "
                   "cluster_key_file%s",
                   request->features == 0 ? ", or is of an earlier version" : "",
                   request->features == 0 ? " and version" : "");
    return STATUS_UNAUTHENTIC;
}

static enum status check_claim(const struct coordinator *self, const struct sync_request *request,
                               char *message)
{
    if (check_key(self, request, message) != STATUS_OK) {
        return STATUS_UNAUTHENTIC;
    }
    if (sites_check(self, request, message) != STATUS_OK) {
        return STATUS_INVALID;
    }
    if (!document_name_valid(span_text(request->name)) ||
        !document_name_valid(span_text(request->host)) ||
        !document_name_valid(span_text(request->zone)) || request->incarnation == 0 ||
        !endpoint_valid(request->endpoint)) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "name, host and zone take [A-Za-z0-9._:-]{1,128}, the endpoint "
                       "tcp://HOST:PORT");
        return STATUS_INVALID;
    }
    if (request->boot == 0 && (request->boot_before != 0 || request->durable)) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "a node that keeps a log must name its boot; run the same version of "
                       "orbloom everywhere");
        return STATUS_INVALID;
    }
    return STATUS_OK;
}

static void explain_old(const struct node_record *record, const struct sync_request *request,
                        char *message)
{
    if (record->incarnation == request->incarnation) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "this folder is an older copy of node %s's data: it continues boot "
                       "%016" PRIx64 ", the last one known is %016" PRIx64 "; it starts as a new "
                       "incarnation",
                       record->name, request->boot_before, record->boot);
    } else {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "this folder is an older copy of node %s's data: its incarnation "
                       "%016" PRIx64 " has been replaced by %016" PRIx64 "; it starts as a new "
                       "incarnation",
                       record->name, request->incarnation, record->incarnation);
    }
}

/* Told what it replaces it asks again; one that is late, and dead by now, does not. */
static void explain_blind(const struct node_record *record, char *message)
{
    (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                   "node %s is there as incarnation %016" PRIx64
                   "; a new incarnation has to name the one that it replaces",
                   record->name, record->incarnation);
}

/* Does the log that this boot has found end below what an earlier one said was synced? Then the
 * folder was put back in the midst of a boot, which its number does not show. Only what this
 * process has heard counts: a report that came too late, or to another coordinator, does not. */
static bool fell_back(const struct coordinator *self, const struct node_record *record,
                      const struct sync_request *request, char *message)
{
    const struct heard *heard = record != NULL ? coordinator_heard(self, record->id) : NULL;

    if (heard == NULL || heard->incarnation != request->incarnation ||
        heard->position <= request->position) {
        return false;
    }
    (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                   "this folder is an older copy of node %s's data: its log ends at %" PRIu64
                   ", and had reached %" PRIu64 "; it starts as a new incarnation",
                   record->name, request->position, heard->position);
    return true;
}

static void explain_in_use(const struct coordinator *self, const struct node_record *record,
                           const struct sync_request *request, char *message)
{
    uint64_t timeout_ms = self->config.node_timeout_us / 1000;

    if (record->incarnation != request->incarnation) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "another process serves as %s at %s; give each node a name of its own",
                       record->name, record->endpoint);
    } else {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "node %s serves at %.128s with this very data, of which this is a copy, or "
                       "which was moved here; end one of the two. If it was moved, it starts when "
                       "nothing was heard from there for %" PRIu64 " ms",
                       record->name, record->endpoint, timeout_ms);
    }
}

/* Is the process whose name this one wants there yet, after that was asked for first? A node that
 * has moved is refused too, and for a while only. */
static bool has_rival(struct coordinator *self, uint64_t now_us, const struct node_record *record)
{
    struct heard *heard = coordinator_heard(self, record->id);

    if (heard->rival_us == 0) {
        heard->rival_us = now_us;
    }
    return heard->last_us > heard->rival_us;
}

/* STATUS_OK: nothing speaks against taking the claim into the record. */
static enum status check_place(struct coordinator *self, uint64_t now_us,
                               const struct node_record *record, const struct sync_request *request,
                               enum boot_verdict verdict, struct registered *out)
{
    char *message = out->message;

    if (record != NULL && name_in_use(self, now_us, record, request, verdict)) {
        out->unfit = has_rival(self, now_us, record);
        explain_in_use(self, record, request, message);
        return STATUS_EXISTS;
    }
    if (verdict == BOOT_OLD) {
        explain_old(record, request, message);
        return STATUS_STALE;
    }
    if (verdict == BOOT_BLIND) {
        explain_blind(record, message);
        return STATUS_STALE;
    }
    if (!MUTANT(ANY_POSITION) && verdict == BOOT_NEXT &&
        fell_back(self, record, request, message)) {
        return STATUS_STALE;
    }
    return STATUS_OK;
}

static struct boot_life life_of(const struct node_record *record)
{
    return (struct boot_life){.incarnation = record != NULL ? record->incarnation : 0,
                              .boot = record != NULL ? record->boot : 0};
}

/* A store that is older than the nodes must not judge them: it would take the newest data for old.
 * Who is there as the store says is heard all the same. */
static enum status refuse_while_old(struct coordinator *self, const struct boot_claim *claim,
                                    const struct sync_request *request, struct registered *out)
{
    const struct node_record *record = node_list_find_name(&self->documents.nodes, request->name);
    const char *reason = age_reason(self);

    if (reason == NULL) {
        return STATUS_OK;
    }
    (void)snprintf(out->message, sizeof out->message, "%s", reason);
    out->node = record != NULL && boot_judge(record, claim) == BOOT_KNOWN ? record->id : 0;
    return STATUS_UNAVAILABLE;
}

static struct boot_claim claim_of(const struct sync_request *request)
{
    return (struct boot_claim){
        .incarnation = request->incarnation,
        .boot = request->boot,
        .boot_before = request->boot_before,
        .replaces = request->replaces,
    };
}

uint32_t coordinator_recognize(const struct coordinator *self, const struct sync_request *request)
{
    const struct node_record *record = node_list_find_name(&self->documents.nodes, request->name);
    const struct boot_claim claim = claim_of(request);
    char message[COORDINATOR_MESSAGE_BYTES];

    return check_claim(self, request, message) == STATUS_OK && record != NULL &&
                   boot_judge(record, &claim) == BOOT_KNOWN && same_record(record, request)
               ? record->id
               : 0;
}

/* One node that wants its place in the list. */
struct taking {
    const struct sync_request *request;
    struct boot_claim claim;
    struct registered *out;
};

/* Is it there, as it says? */
static bool is_listed(const struct coordinator *self, const struct taking *taking)
{
    const struct node_record *record = node_list_find_name(&self->documents.nodes,
                                                           taking->request->name);
    bool listed = boot_judge(record, &taking->claim) == BOOT_KNOWN &&
                  same_record(record, taking->request);

    if (listed) {
        taking->out->node = record->id;
    }
    return listed;
}

static enum status take_place(struct coordinator *self, uint64_t now_us, void *context)
{
    const struct taking *taking = context;
    const struct sync_request *request = taking->request;
    const struct node_record *record = node_list_find_name(&self->documents.nodes, request->name);
    enum status status;

    if (is_listed(self, taking)) {
        return STATUS_OK;
    }
    taking->out->present = life_of(record);
    status = check_place(self, now_us, record, request, boot_judge(record, &taking->claim),
                         taking->out);
    status = status == STATUS_OK ? write_record(self, request) : status;
    if (status != STATUS_OK) {
        return status;
    }
    coordinator_hint(self, now_us);
    /* What is read back may be what another coordinator has written since. */
    return is_listed(self, taking) ? STATUS_OK : STATUS_CONFLICT;
}

enum status coordinator_register(struct coordinator *self, uint64_t now_us,
                                 const struct sync_request *request, struct registered *out)
{
    const struct boot_claim claim = claim_of(request);
    struct taking taking = {.request = request, .claim = claim, .out = out};
    enum status status = check_claim(self, request, out->message);

    if (status == STATUS_OK) {
        age_note(self, work_arrived_us(self), request);
        status = cluster_check(self, request, out->message);
    }
    out->unfit = status != STATUS_OK;
    if (status == STATUS_OK) {
        status = refuse_while_old(self, &claim, request, out);
    }
    status = status == STATUS_OK ? cluster_ensure(self, out->message) : status;
    if (status == STATUS_OK) {
        status = cluster_check(self, request, out->message);
        status = status == STATUS_OK ? features_check(self, request, out->message) : status;
        out->unfit = status != STATUS_OK;
    }
    return status == STATUS_OK ? records_change(self, now_us, take_place, &taking) : status;
}

/* ---- a node that has no folder yet ---- */

/* Not while the store may have been lost, so that no folder begins under an id that a backup will
 * take the place of; a restore that is under way has settled it. */
static enum status answer_question(struct coordinator *self, const struct sync_request *request,
                                   char *message)
{
    bool settled = self->mark.restoring && cluster_id_known(&self->cluster.id);
    const char *reason;

    if (check_key(self, request, message) != STATUS_OK) {
        return STATUS_UNAUTHENTIC;
    }
    if (sites_check(self, request, message) != STATUS_OK) {
        return STATUS_INVALID;
    }
    age_forget(self, self->now_us, request->name);
    reason = settled ? NULL : age_reason(self);
    if (reason != NULL) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES, "%s", reason);
        return STATUS_UNAVAILABLE;
    }
    return cluster_ensure(self, message);
}

void coordinator_on_cluster_question(struct coordinator *self, const struct peer *from,
                                     const struct frame *frame, enum status read)
{
    char message[COORDINATOR_MESSAGE_BYTES] = "";
    struct frame answer = {.correlation = frame->correlation, .kind = FRAME_SYNC_REPLY};
    enum status status = read;

    if (status == STATUS_OK) {
        status = answer_question(self, &frame->body.sync_request, message);
    } else {
        records_tell(self, status, "read", message, sizeof message);
    }
    answer.body.sync_reply = (struct sync_reply){
        .status = status,
        .message = message,
        .cluster = status == STATUS_OK ? cluster_record(self) : span_text(""),
    };
    coordinator_reply(self, from, &answer);
}
