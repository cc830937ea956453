/* What keeps nodes and routers in step with the store: documents, changes, hints. */
#include "proto/codec_body.h"

enum status codec_put_document_list(const struct frame *frame, struct codec_scratch *scratch,
                                    ProtobufCMessage **out)
{
    const struct documents *documents = &frame->body.documents;
    Orbloom__V1__Documents *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__Documents)ORBLOOM__V1__DOCUMENTS__INIT;
    wire->n_items = documents->count;
    *out = &wire->base;
    return codec_put_documents(scratch, documents->items, documents->count, &wire->items);
}

enum status codec_get_document_list(const ProtobufCMessage *message, struct codec_arena *arena,
                                    struct frame *frame)
{
    const Orbloom__V1__Documents *wire = (const Orbloom__V1__Documents *)message;
    struct documents *documents = &frame->body.documents;

    documents->count = wire->n_items;
    return codec_get_documents(arena, wire->items, wire->n_items, &documents->items);
}

static enum status put_identity(const struct sync_request *request, Orbloom__V1__SyncRequest *wire)
{
    enum status status = codec_put_text(request->name, &wire->name);

    status = status != STATUS_OK ? status : codec_put_text(request->endpoint, &wire->endpoint);
    status = status != STATUS_OK ? status : codec_put_text(request->host, &wire->host);
    return status != STATUS_OK ? status : codec_put_text(request->zone, &wire->zone);
}

/* Of everything: left out. */
static enum status put_page(const struct report_page *page, struct codec_scratch *scratch,
                            Orbloom__V1__ReportPage **out)
{
    Orbloom__V1__ReportPage *wire;

    if (report_page_begins(page) && report_page_ends(page)) {
        return STATUS_OK;
    }
    wire = codec_scratch_take(scratch, 1, sizeof *wire);
    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__ReportPage)ORBLOOM__V1__REPORT_PAGE__INIT;
    wire->from_filter = page->from.filter_id;
    wire->from_group = page->from.group;
    wire->to_filter = page->to.filter_id;
    wire->to_group = page->to.group;
    *out = wire;
    return STATUS_OK;
}

enum status codec_put_sync_request(const struct frame *frame, struct codec_scratch *scratch,
                                   ProtobufCMessage **out)
{
    const struct sync_request *request = &frame->body.sync_request;
    Orbloom__V1__SyncRequest *wire = codec_scratch_take(scratch, 1, sizeof *wire);
    enum status status;

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__SyncRequest)ORBLOOM__V1__SYNC_REQUEST__INIT;
    wire->role = (Orbloom__V1__SyncRole)request->role;
    wire->incarnation = request->incarnation;
    wire->memory_limit_bytes = request->memory_limit_bytes;
    wire->memory_used_bytes = request->memory_used_bytes;
    wire->boot = request->boot;
    wire->boot_before = request->boot_before;
    wire->replaces_incarnation = request->replaces.incarnation;
    wire->replaces_boot = request->replaces.boot;
    wire->number = request->number;
    wire->durable = request->durable;
    wire->disk_used_bytes = request->disk_used_bytes;
    wire->position = request->position;
    wire->since = request->since;
    wire->n_replicas = request->nreplicas;
    wire->features = request->features;
    wire->cluster = codec_put_span(cluster_id_span(&request->cluster));
    if (request->role == SYNC_NODE) {
        wire->mac.data = (uint8_t *)request->mac;
        wire->mac.len = sizeof request->mac;
    }
    *out = &wire->base;
    status = put_identity(request, wire);
    status = status != STATUS_OK ? status : put_page(&request->page, scratch, &wire->page);
    status = status != STATUS_OK ? status : codec_put_held(request, scratch, wire);
    return status != STATUS_OK
               ? status
               : codec_put_reports(scratch, request->replicas, request->nreplicas, &wire->replicas);
}

static enum status get_identity(const Orbloom__V1__SyncRequest *wire, struct codec_arena *arena,
                                struct sync_request *request)
{
    enum status status = codec_get_text(arena, wire->name, &request->name);

    status = status != STATUS_OK ? status
                                 : codec_get_text(arena, wire->endpoint, &request->endpoint);
    status = status != STATUS_OK ? status : codec_get_text(arena, wire->host, &request->host);
    return status != STATUS_OK ? status : codec_get_text(arena, wire->zone, &request->zone);
}

static void get_page(const Orbloom__V1__ReportPage *wire, struct report_page *page)
{
    if (wire != NULL) {
        page->from = (struct report_place){wire->from_filter, wire->from_group};
        page->to = (struct report_place){wire->to_filter, wire->to_group};
    }
}

static enum status get_reports(const Orbloom__V1__SyncRequest *wire, struct codec_arena *arena,
                               struct sync_request *request)
{
    enum status status = codec_get_reports(arena, wire->replicas, wire->n_replicas,
                                           &request->replicas);

    get_page(wire->page, &request->page);
    if (status == STATUS_OK &&
        !report_page_fits(&request->page, request->replicas, request->nreplicas)) {
        status = STATUS_MALFORMED;
    }
    return status;
}

enum status codec_get_sync_request(const ProtobufCMessage *message, struct codec_arena *arena,
                                   struct frame *frame)
{
    const Orbloom__V1__SyncRequest *wire = (const Orbloom__V1__SyncRequest *)message;
    struct sync_request *request = &frame->body.sync_request;
    enum status status;

    if (!codec_enum_known((int)wire->role, SYNC_NODE)) {
        return STATUS_MALFORMED;
    }
    *request = (struct sync_request){
        .role = (enum sync_role)wire->role,
        .incarnation = wire->incarnation,
        .memory_limit_bytes = wire->memory_limit_bytes,
        .memory_used_bytes = wire->memory_used_bytes,
        .boot = wire->boot,
        .boot_before = wire->boot_before,
        .replaces = {.incarnation = wire->replaces_incarnation, .boot = wire->replaces_boot},
        .number = wire->number,
        .durable = wire->durable != 0,
        .disk_used_bytes = wire->disk_used_bytes,
        .position = wire->position,
        .since = wire->since,
        .nreplicas = wire->n_replicas,
        .features = wire->features,
    };
    if (wire->cluster.len > 0 &&
        !cluster_id_get(codec_get_span(wire->cluster), &request->cluster)) {
        return STATUS_MALFORMED;
    }
    if (wire->mac.len == sizeof request->mac) {
        memcpy(request->mac, wire->mac.data, sizeof request->mac);
    }
    status = get_identity(wire, arena, request);
    status = status != STATUS_OK ? status : codec_get_held(wire, arena, request);
    return status != STATUS_OK ? status : get_reports(wire, arena, request);
}

static enum status put_secrets(const struct sync_reply *reply, struct codec_scratch *scratch,
                               Orbloom__V1__SealedSecret ***out)
{
    size_t n = reply->nsecrets;
    Orbloom__V1__SealedSecret *items = codec_scratch_take(scratch, n, sizeof *items);
    Orbloom__V1__SealedSecret **list = codec_scratch_take(scratch, n, sizeof *list);
    size_t i;

    if (items == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    for (i = 0; i < n; i++) {
        items[i] = (Orbloom__V1__SealedSecret)ORBLOOM__V1__SEALED_SECRET__INIT;
        items[i].filter_id = reply->secrets[i].filter_id;
        items[i].sealed = codec_put_span(reply->secrets[i].sealed);
        list[i] = &items[i];
    }
    *out = list;
    return STATUS_OK;
}

enum status codec_put_sync_reply(const struct frame *frame, struct codec_scratch *scratch,
                                 ProtobufCMessage **out)
{
    const struct sync_reply *reply = &frame->body.sync_reply;
    Orbloom__V1__SyncReply *wire = codec_scratch_take(scratch, 1, sizeof *wire);
    enum status status;

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__SyncReply)ORBLOOM__V1__SYNC_REPLY__INIT;
    wire->status = (Orbloom__V1__Status)reply->status;
    wire->change = reply->change;
    wire->more = reply->more;
    wire->node_id = reply->node_id;
    wire->present_incarnation = reply->present.incarnation;
    wire->present_boot = reply->present.boot;
    wire->n_documents = reply->ndocuments;
    wire->n_secrets = reply->nsecrets;
    wire->store = reply->store;
    wire->n_wanted = reply->nwanted;
    wire->wanted = (uint64_t *)reply->wanted;
    wire->held_lacks = reply->held_lacks;
    wire->held_after = reply->held_after;
    wire->cluster = codec_put_span(reply->cluster);
    *out = &wire->base;
    status = codec_put_message(scratch, reply->message, &wire->message);
    if (status == STATUS_OK) {
        status = codec_put_documents(scratch, reply->documents, reply->ndocuments,
                                     &wire->documents);
    }
    return status != STATUS_OK ? status : put_secrets(reply, scratch, &wire->secrets);
}

static enum status get_secrets(const Orbloom__V1__SyncReply *wire, struct codec_arena *arena,
                               const struct sealed_secret **out)
{
    struct sealed_secret *secrets = arena_take(arena, wire->n_secrets, sizeof *secrets);
    size_t i;

    if (secrets == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (i = 0; i < wire->n_secrets; i++) {
        if (wire->secrets[i]->sealed.len != SEAL_SECRET_BYTES) {
            return STATUS_MALFORMED;
        }
        secrets[i].filter_id = wire->secrets[i]->filter_id;
        secrets[i].sealed = codec_get_span(wire->secrets[i]->sealed);
    }
    *out = secrets;
    return STATUS_OK;
}

enum status codec_get_sync_reply(const ProtobufCMessage *message, struct codec_arena *arena,
                                 struct frame *frame)
{
    const Orbloom__V1__SyncReply *wire = (const Orbloom__V1__SyncReply *)message;
    struct sync_reply *reply = &frame->body.sync_reply;
    enum status status;

    *reply = (struct sync_reply){
        .status = status_from_wire((unsigned)wire->status),
        .change = wire->change,
        .more = wire->more,
        .node_id = wire->node_id,
        .present = {.incarnation = wire->present_incarnation, .boot = wire->present_boot},
        .ndocuments = wire->n_documents,
        .nsecrets = wire->n_secrets,
        .store = wire->store,
        .nwanted = wire->n_wanted,
        .held_lacks = wire->held_lacks != 0,
        .held_after = wire->held_after,
        .cluster = codec_get_span(wire->cluster),
    };
    status = codec_get_wanted(wire, arena, &reply->wanted);
    status = status != STATUS_OK ? status : codec_get_text(arena, wire->message, &reply->message);
    if (status == STATUS_OK) {
        status = codec_get_documents(arena, wire->documents, wire->n_documents, &reply->documents);
    }
    return status != STATUS_OK ? status : get_secrets(wire, arena, &reply->secrets);
}

enum status codec_put_hint(const struct frame *frame, struct codec_scratch *scratch,
                           ProtobufCMessage **out)
{
    Orbloom__V1__Hint *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__Hint)ORBLOOM__V1__HINT__INIT;
    wire->change = frame->body.hint.change;
    *out = &wire->base;
    return STATUS_OK;
}

enum status codec_get_hint(const ProtobufCMessage *message, struct codec_arena *arena,
                           struct frame *frame)
{
    (void)arena;
    frame->body.hint.change = ((const Orbloom__V1__Hint *)message)->change;
    return STATUS_OK;
}
