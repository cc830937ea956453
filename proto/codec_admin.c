/* The operator's conversation with a coordinator. */
#include "proto/codec_body.h"

#include <math.h>

static void put_create(const struct create_parameters *create, Orbloom__V1__CreateParameters *wire)
{
    *wire = (Orbloom__V1__CreateParameters)ORBLOOM__V1__CREATE_PARAMETERS__INIT;
    wire->capacity = create->capacity;
    wire->rate = create->rate;
    wire->max_capacity = create->max_capacity;
    wire->replicas = create->rule.replicas;
    wire->write_quorum = create->rule.write;
    wire->read_quorum = create->rule.read;
    wire->hash = (Orbloom__V1__HashKind)create->hash;
    wire->when_unavailable = (Orbloom__V1__WhenUnavailable)create->when_unavailable;
    wire->when_full = (Orbloom__V1__WhenFull)create->when_full;
    wire->keylog = (Orbloom__V1__Keylog)create->keylog;
    wire->durability = (Orbloom__V1__Durability)create->durability;
    wire->window_us = create->window_us;
    wire->nslices = create->nslices;
}

static enum status put_expand(const struct expand_parameters *expand, struct codec_scratch *scratch,
                              Orbloom__V1__ExpandParameters **out)
{
    Orbloom__V1__ExpandParameters *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__ExpandParameters)ORBLOOM__V1__EXPAND_PARAMETERS__INIT;
    wire->capacity = expand->capacity;
    wire->rate = expand->rate;
    wire->abort = expand->abort;
    *out = wire;
    return STATUS_OK;
}

static bool begins_load(const struct admin_request *request)
{
    return request->action == ADMIN_LOAD && request->load.step == LOAD_BEGIN;
}

static bool looks_at_target(const struct admin_request *request)
{
    return request->action == ADMIN_LOOK && request->rename.name != NULL;
}

static bool is_map(const struct admin_request *request)
{
    return request->action >= ADMIN_MAP_BACKUP && request->action <= ADMIN_MAP_FINISH;
}

/* What belongs to the action alone. */
static enum status put_parameters(const struct admin_request *request,
                                  struct codec_scratch *scratch, Orbloom__V1__AdminRequest *wire)
{
    if (request->action == ADMIN_CREATE || begins_load(request)) {
        wire->create = codec_scratch_take(scratch, 1, sizeof *wire->create);
        if (wire->create == NULL) {
            return STATUS_NOMEM;
        }
        put_create(&request->create, wire->create);
    }
    if (is_map(request)) {
        return codec_put_map(&request->map, scratch, &wire->map);
    }
    if (request->action == ADMIN_EXPAND) {
        return put_expand(&request->expand, scratch, &wire->expand);
    }
    if (request->action == ADMIN_REBUILD) {
        return codec_put_rebuild(scratch, &request->rebuild, &wire->rebuild);
    }
    if (request->action == ADMIN_EXPIRE) {
        return codec_put_expiry(scratch, &request->expire, &wire->expire);
    }
    if (request->action == ADMIN_RENAME || looks_at_target(request)) {
        return codec_put_rename(scratch, &request->rename, &wire->rename);
    }
    if (request->action == ADMIN_ACCEPT_LOSS) {
        return codec_put_loss(scratch, &request->loss, &wire->loss);
    }
    return request->action == ADMIN_LOAD ? codec_put_load(scratch, &request->load, &wire->load)
                                         : STATUS_OK;
}

enum status codec_put_admin_request(const struct frame *frame, struct codec_scratch *scratch,
                                    ProtobufCMessage **out)
{
    const struct admin_request *request = &frame->body.admin_request;
    Orbloom__V1__AdminRequest *wire = codec_scratch_take(scratch, 1, sizeof *wire);
    enum status status;

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__AdminRequest)ORBLOOM__V1__ADMIN_REQUEST__INIT;
    wire->action = (Orbloom__V1__AdminAction)request->action;
    wire->timeout_ms = request->timeout_ms;
    status = put_parameters(request, scratch, wire);
    if (status != STATUS_OK) {
        return status;
    }
    status = codec_put_seen(scratch, &request->seen, &wire->seen);
    if (status != STATUS_OK) {
        return status;
    }
    wire->n_confirmed_off = request->nconfirmed_off;
    wire->filter_id = request->filter_id;
    wire->undo = request->undo;
    wire->dry_run = request->dry_run;
    *out = &wire->base;
    status = codec_put_lives(scratch, request->confirmed_off, request->nconfirmed_off,
                             &wire->confirmed_off);
    status = status != STATUS_OK ? status : codec_put_text(request->name, &wire->name);
    return status != STATUS_OK ? status : codec_put_text(request->successor, &wire->successor);
}

static enum status get_create(const Orbloom__V1__CreateParameters *wire,
                              struct create_parameters *create)
{
    if (wire == NULL || !isfinite(wire->rate) || !codec_enum_known((int)wire->hash, HASH_XXH3) ||
        !codec_enum_known((int)wire->when_unavailable, WHEN_UNAVAILABLE_MAYBE) ||
        (unsigned)wire->when_full > WHEN_FULL_EXPAND ||
        !codec_enum_known((int)wire->keylog, KEYLOG_OFF) ||
        (unsigned)wire->durability > DURABILITY_SYNC) {
        return STATUS_MALFORMED;
    }
    *create = (struct create_parameters){
        .capacity = wire->capacity,
        .rate = wire->rate,
        .max_capacity = wire->max_capacity,
        .rule = {wire->replicas, wire->write_quorum, wire->read_quorum},
        .hash = (enum hash_kind)wire->hash,
        .when_unavailable = (enum when_unavailable)wire->when_unavailable,
        .when_full = (enum when_full)wire->when_full,
        .keylog = (enum keylog)wire->keylog,
        .durability = (enum durability)wire->durability,
        .window_us = wire->window_us,
        .nslices = wire->nslices,
    };
    return STATUS_OK;
}

static bool is_action(int value)
{
    return codec_enum_known(value, ADMIN_RENAME) || value == ADMIN_LOAD ||
           (value >= ADMIN_NODE_DRAIN && value <= ADMIN_LOOK) || value == ADMIN_LOAD ||
           (value >= ADMIN_MAP_BACKUP && value <= ADMIN_UPGRADE_FINALIZE);
}

/* Ranges are the coordinator's to judge, but it must be a number. */
static enum status get_expand(const Orbloom__V1__ExpandParameters *wire,
                              struct expand_parameters *expand)
{
    if (wire == NULL || !isfinite(wire->rate)) {
        return STATUS_MALFORMED;
    }
    *expand = (struct expand_parameters){
        .capacity = wire->capacity,
        .rate = wire->rate,
        .abort = wire->abort != 0,
    };
    return STATUS_OK;
}

enum status codec_get_admin_request(const ProtobufCMessage *message, struct codec_arena *arena,
                                    struct frame *frame)
{
    const Orbloom__V1__AdminRequest *wire = (const Orbloom__V1__AdminRequest *)message;
    struct admin_request *request = &frame->body.admin_request;
    enum status status = STATUS_OK;

    if (!is_action((int)wire->action)) {
        return STATUS_MALFORMED;
    }
    *request = (struct admin_request){
        .action = (enum admin_action)wire->action,
        .timeout_ms = wire->timeout_ms,
        .nconfirmed_off = wire->n_confirmed_off,
        .filter_id = wire->filter_id,
        .undo = wire->undo != 0,
        .dry_run = wire->dry_run != 0,
    };
    codec_get_seen(wire->seen, &request->seen);
    if (request->action == ADMIN_CREATE) {
        status = get_create(wire->create, &request->create);
    } else if (is_map(request)) {
        status = codec_get_map(arena, wire->map, &request->map);
    } else if (request->action == ADMIN_EXPAND) {
        status = get_expand(wire->expand, &request->expand);
    } else if (request->action == ADMIN_REBUILD) {
        status = codec_get_rebuild(wire->rebuild, &request->rebuild);
    } else if (request->action == ADMIN_EXPIRE) {
        status = codec_get_expiry(wire->expire, &request->expire);
    } else if (request->action == ADMIN_RENAME ||
               (request->action == ADMIN_LOOK && wire->rename != NULL)) {
        status = codec_get_rename(arena, wire->rename, &request->rename);
    } else if (request->action == ADMIN_ACCEPT_LOSS) {
        status = codec_get_loss(wire->loss, &request->loss);
    } else if (request->action == ADMIN_LOAD) {
        status = codec_get_load(wire->load, &request->load);
        status = status == STATUS_OK && begins_load(request)
                     ? get_create(wire->create, &request->create)
                     : status;
    }
    if (status == STATUS_OK) {
        status = codec_get_lives(arena, wire->confirmed_off, wire->n_confirmed_off,
                                 &request->confirmed_off);
    }
    if (status == STATUS_OK) {
        status = codec_get_text(arena, wire->successor, &request->successor);
    }
    return status != STATUS_OK ? status : codec_get_text(arena, wire->name, &request->name);
}

static enum status put_node(const struct node_summary *node, struct codec_scratch *scratch,
                            Orbloom__V1__NodeSummary *wire)
{
    enum status status;

    *wire = (Orbloom__V1__NodeSummary)ORBLOOM__V1__NODE_SUMMARY__INIT;
    wire->id = node->id;
    wire->incarnation = node->incarnation;
    wire->alive = node->alive;
    wire->seen_ago_ms = node->seen_ago_ms;
    wire->memory_limit_bytes = node->memory_limit_bytes;
    wire->memory_used_bytes = node->memory_used_bytes;
    wire->replicas_full = node->replicas_full;
    wire->replicas_joining = node->replicas_joining;
    wire->replicas_building = node->replicas_building;
    wire->disk_used_bytes = node->disk_used_bytes;
    wire->durable = node->durable;
    wire->draining = node->draining;
    wire->slots = node->slots;
    status = codec_put_message(scratch, node->awaited, &wire->awaited);
    status = status != STATUS_OK ? status : codec_put_text(node->replaced_by, &wire->replaced_by);
    status = status != STATUS_OK ? status : codec_put_text(node->name, &wire->name);
    status = status != STATUS_OK ? status : codec_put_text(node->host, &wire->host);
    status = status != STATUS_OK ? status : codec_put_text(node->zone, &wire->zone);
    return status != STATUS_OK ? status : codec_put_text(node->endpoint, &wire->endpoint);
}

static enum status put_nodes(const struct admin_reply *reply, struct codec_scratch *scratch,
                             Orbloom__V1__NodeSummary ***out)
{
    size_t n = reply->nnodes;
    Orbloom__V1__NodeSummary *items = codec_scratch_take(scratch, n, sizeof *items);
    Orbloom__V1__NodeSummary **list = codec_scratch_take(scratch, n, sizeof *list);
    enum status status = STATUS_OK;
    size_t i;

    if (items == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    for (i = 0; i < n && status == STATUS_OK; i++) {
        status = put_node(&reply->nodes[i], scratch, &items[i]);
        list[i] = &items[i];
    }
    *out = list;
    return status;
}

static enum status put_filters(const struct admin_reply *reply, struct codec_scratch *scratch,
                               Orbloom__V1__FilterSummary ***out)
{
    size_t n = reply->nfilters;
    Orbloom__V1__FilterSummary *items = codec_scratch_take(scratch, n, sizeof *items);
    Orbloom__V1__FilterSummary **list = codec_scratch_take(scratch, n, sizeof *list);
    enum status status = STATUS_OK;
    size_t i;

    if (items == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    for (i = 0; i < n && status == STATUS_OK; i++) {
        status = codec_put_filter_summary(scratch, &reply->filters[i], &items[i]);
        list[i] = &items[i];
    }
    *out = list;
    return status;
}

static enum status put_changes(const struct admin_reply *reply, struct codec_scratch *scratch,
                               Orbloom__V1__ChangeSummary ***out)
{
    size_t n = reply->nchanges;
    Orbloom__V1__ChangeSummary *items = codec_scratch_take(scratch, n, sizeof *items);
    Orbloom__V1__ChangeSummary **list = codec_scratch_take(scratch, n, sizeof *list);
    enum status status = STATUS_OK;
    size_t i;

    if (items == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    for (i = 0; i < n && status == STATUS_OK; i++) {
        items[i] = (Orbloom__V1__ChangeSummary)ORBLOOM__V1__CHANGE_SUMMARY__INIT;
        items[i].filter_id = reply->changes[i].filter_id;
        items[i].step = (Orbloom__V1__ChangeStep)reply->changes[i].step;
        items[i].slots = reply->changes[i].slots;
        list[i] = &items[i];
        status = codec_put_message(scratch, reply->changes[i].awaited, &items[i].awaited);
    }
    *out = list;
    return status;
}

enum status codec_put_admin_reply(const struct frame *frame, struct codec_scratch *scratch,
                                  ProtobufCMessage **out)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    Orbloom__V1__AdminReply *wire = codec_scratch_take(scratch, 1, sizeof *wire);
    enum status status;

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__AdminReply)ORBLOOM__V1__ADMIN_REPLY__INIT;
    wire->status = (Orbloom__V1__Status)reply->status;
    wire->created = reply->created;
    wire->moved = reply->moved;
    wire->n_filters = reply->nfilters;
    wire->n_nodes = reply->nnodes;
    wire->n_replicas = reply->nreplicas;
    wire->n_changes = reply->nchanges;
    *out = &wire->base;
    status = codec_put_message(scratch, reply->message, &wire->message);
    status = status != STATUS_OK ? status : codec_put_seen(scratch, &reply->seen, &wire->seen);
    status = status != STATUS_OK ? status : put_filters(reply, scratch, &wire->filters);
    status = status != STATUS_OK ? status : put_nodes(reply, scratch, &wire->nodes);
    status = status != STATUS_OK ? status : put_changes(reply, scratch, &wire->changes);
    status = status != STATUS_OK ? status : codec_put_map_page(&reply->map, scratch, &wire->map);
    status = status != STATUS_OK ? status
                                 : codec_put_upgrade(&reply->upgrade, scratch, &wire->upgrade);
    return status != STATUS_OK
               ? status
               : codec_put_reports(scratch, reply->replicas, reply->nreplicas, &wire->replicas);
}

static enum status get_node(struct codec_arena *arena, const Orbloom__V1__NodeSummary *wire,
                            struct node_summary *node)
{
    enum status status;

    *node = (struct node_summary){
        .id = wire->id,
        .incarnation = wire->incarnation,
        .alive = wire->alive,
        .seen_ago_ms = wire->seen_ago_ms,
        .memory_limit_bytes = wire->memory_limit_bytes,
        .memory_used_bytes = wire->memory_used_bytes,
        .replicas_full = wire->replicas_full,
        .replicas_joining = wire->replicas_joining,
        .replicas_building = wire->replicas_building,
        .disk_used_bytes = wire->disk_used_bytes,
        .durable = wire->durable != 0,
        .draining = wire->draining != 0,
        .slots = wire->slots,
    };
    status = codec_get_text(arena, wire->awaited, &node->awaited);
    status = status != STATUS_OK ? status
                                 : codec_get_text(arena, wire->replaced_by, &node->replaced_by);
    status = status != STATUS_OK ? status : codec_get_text(arena, wire->name, &node->name);
    status = status != STATUS_OK ? status : codec_get_text(arena, wire->host, &node->host);
    status = status != STATUS_OK ? status : codec_get_text(arena, wire->zone, &node->zone);
    return status != STATUS_OK ? status : codec_get_text(arena, wire->endpoint, &node->endpoint);
}

static enum status get_nodes(struct codec_arena *arena, const Orbloom__V1__AdminReply *wire,
                             const struct node_summary **out)
{
    struct node_summary *items = arena_take(arena, wire->n_nodes, sizeof *items);
    enum status status = STATUS_OK;
    size_t i;

    if (items == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (i = 0; i < wire->n_nodes && status == STATUS_OK; i++) {
        status = get_node(arena, wire->nodes[i], &items[i]);
    }
    *out = items;
    return status;
}

static enum status get_filters(struct codec_arena *arena, const Orbloom__V1__AdminReply *wire,
                               const struct filter_summary **out)
{
    struct filter_summary *items = arena_take(arena, wire->n_filters, sizeof *items);
    enum status status = STATUS_OK;
    size_t i;

    if (items == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (i = 0; i < wire->n_filters && status == STATUS_OK; i++) {
        status = codec_get_filter_summary(arena, wire->filters[i], &items[i]);
    }
    *out = items;
    return status;
}

static enum status get_changes(struct codec_arena *arena, const Orbloom__V1__AdminReply *wire,
                               const struct change_summary **out)
{
    struct change_summary *items = arena_take(arena, wire->n_changes, sizeof *items);
    enum status status = STATUS_OK;
    size_t i;

    if (items == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (i = 0; i < wire->n_changes && status == STATUS_OK; i++) {
        const Orbloom__V1__ChangeSummary *change = wire->changes[i];

        if (!codec_enum_known((int)change->step, CHANGE_HANDING_OVER)) {
            return STATUS_MALFORMED;
        }
        items[i] = (struct change_summary){
            .filter_id = change->filter_id,
            .step = (enum change_step)change->step,
            .slots = change->slots,
        };
        status = codec_get_text(arena, change->awaited, &items[i].awaited);
    }
    *out = items;
    return status;
}

enum status codec_get_admin_reply(const ProtobufCMessage *message, struct codec_arena *arena,
                                  struct frame *frame)
{
    const Orbloom__V1__AdminReply *wire = (const Orbloom__V1__AdminReply *)message;
    struct admin_reply *reply = &frame->body.admin_reply;
    enum status status;

    *reply = (struct admin_reply){
        .status = status_from_wire((unsigned)wire->status),
        .created = wire->created,
        .moved = wire->moved != 0,
        .nfilters = wire->n_filters,
        .nnodes = wire->n_nodes,
        .nreplicas = wire->n_replicas,
        .nchanges = wire->n_changes,
    };
    codec_get_seen(wire->seen, &reply->seen);
    status = codec_get_text(arena, wire->message, &reply->message);
    status = status != STATUS_OK ? status : get_filters(arena, wire, &reply->filters);
    status = status != STATUS_OK ? status : get_nodes(arena, wire, &reply->nodes);
    status = status != STATUS_OK ? status : get_changes(arena, wire, &reply->changes);
    status = status != STATUS_OK ? status : codec_get_map_page(arena, wire->map, &reply->map);
    status = status != STATUS_OK ? status
                                 : codec_get_upgrade(arena, wire->upgrade, &reply->upgrade);
    return status != STATUS_OK
               ? status
               : codec_get_reports(arena, wire->replicas, wire->n_replicas, &reply->replicas);
}
