/* The operator's conversation with a coordinator: what is asked for. */
#include "map/seal.h"
#include "proto/codec_body.h"

/* ---- what belongs to one action alone ---- */

/* Ranges are the coordinator's to judge, but a rate must be a number; so in the next one. */
#define WIRE_create_parameters Orbloom__V1__CreateParameters
static const struct binding create_parameters_rows[] = {
    ROW(create_parameters, capacity, UINT64),
    ROW(create_parameters, rate, DOUBLE),
    ROW(create_parameters, max_capacity, UINT64),
    ROW_AS(create_parameters, rule.replicas, replicas, UINT32),
    ROW_AS(create_parameters, rule.write, write_quorum, UINT32),
    ROW_AS(create_parameters, rule.read, read_quorum, UINT32),
    ENUM(create_parameters, hash, HASH_SIPHASH24, HASH_XXH3),
    ENUM(create_parameters, when_unavailable, WHEN_UNAVAILABLE_ERROR, WHEN_UNAVAILABLE_MAYBE),
    ENUM(create_parameters, when_full, 0, WHEN_FULL_EXPAND),
    ENUM(create_parameters, keylog, KEYLOG_ON, KEYLOG_OFF),
    ENUM(create_parameters, durability, 0, DURABILITY_SYNC),
    ROW(create_parameters, window_us, UINT64),
    ROW(create_parameters, nslices, UINT32),
};
static BINDING_TABLE(create_parameters, create_parameters, NULL);

#define WIRE_expand_parameters Orbloom__V1__ExpandParameters
static const struct binding expand_parameters_rows[] = {
    ROW(expand_parameters, capacity, UINT64),
    ROW(expand_parameters, rate, DOUBLE),
    ROW(expand_parameters, abort, BOOL),
};
static BINDING_TABLE(expand_parameters, expand_parameters, NULL);

#define WIRE_rebuild_parameters Orbloom__V1__RebuildParameters
static const struct binding rebuild_parameters_rows[] = {
    ENUM(rebuild_parameters, step, REBUILD_BEGIN, REBUILD_ABORT),
    ROW(rebuild_parameters, keyset, UINT32),
    ROW(rebuild_parameters, fed_keys, UINT64),
    ROW(rebuild_parameters, empty, BOOL),
};
static BINDING_TABLE(rebuild_parameters, rebuild_parameters, NULL);

#define WIRE_expiry_wish Orbloom__V1__ExpireParameters
static const struct binding expiry_wish_rows[] = {
    ROW(expiry_wish, never, BOOL),    ROW(expiry_wish, after_us, UINT64),
    ROW(expiry_wish, dated, BOOL),    ROW(expiry_wish, at_ms, UINT64),
    ROW(expiry_wish, if_none, BOOL),  ROW(expiry_wish, if_some, BOOL),
    ROW(expiry_wish, if_later, BOOL), ROW(expiry_wish, if_sooner, BOOL),
};
static BINDING_TABLE(expiry_wish, expire_parameters, NULL);

#define WIRE_rename_parameters Orbloom__V1__RenameParameters
static const struct binding rename_parameters_rows[] = {
    ROW(rename_parameters, replace, BOOL),
    ROW(rename_parameters, name, TEXT),
};
static BINDING_TABLE(rename_parameters, rename_parameters, NULL);

#define WIRE_loss_parameters Orbloom__V1__LossParameters
static const struct binding loss_parameters_rows[] = {
    ROW(loss_parameters, all, BOOL),
    ROW(loss_parameters, shard, UINT32),
};
static BINDING_TABLE(loss_parameters, loss_parameters, NULL);

#define WIRE_load_parameters Orbloom__V1__LoadParameters
static const struct binding load_parameters_rows[] = {
    ENUM(load_parameters, step, LOAD_BEGIN, LOAD_MOVE),
    ROW(load_parameters, source, UINT64),
    ROW(load_parameters, from, UINT64),
    ROW(load_parameters, to, UINT64),
    ROW(load_parameters, secret, SPAN),
};

/* A secret belongs to the first step, and to no other one. */
static enum status check_load(const void *ours)
{
    const struct load_parameters *load = ours;
    size_t size = load->step == LOAD_BEGIN ? SEAL_SECRET_BYTES : 0;

    return load->secret.size == size ? STATUS_OK : STATUS_MALFORMED;
}

static BINDING_TABLE(load_parameters, load_parameters, check_load);

/* ---- what a look has found, and a change repeats ---- */

static const struct binding admin_seen_rows[] = {
    ROW(admin_seen, filter_id, UINT64),
    ROW(admin_seen, revision, UINT64),
    ROW(admin_seen, binding, UINT64),
    ROW(admin_seen, target_id, UINT64),
    ROW(admin_seen, target_revision, UINT64),
    ROW(admin_seen, target_binding, UINT64),
    ROW(admin_seen, nodes_revision, UINT64),
    ROW(admin_seen, store_version, UINT64),
    ROW(admin_seen, node, UINT32),
    ROW(admin_seen, successor, UINT32),
};
BINDING_TABLE(admin_seen, seen, NULL);

bool codec_seen_said(const struct admin_seen *seen)
{
    return (seen->filter_id | seen->revision | seen->binding | seen->target_id |
            seen->target_revision | seen->target_binding | seen->nodes_revision |
            seen->store_version | seen->node | seen->successor) != 0;
}

/* ---- lives that are vouched for ---- */

#define WIRE_vouched_life Orbloom__V1__VouchedLife
static const struct binding vouched_life_rows[] = {
    ROW_AS(vouched_life, life.node, node, UINT32),
    ROW_AS(vouched_life, life.incarnation, incarnation, UINT64),
    ROW(vouched_life, runs, BOOL),
};

static enum status check_life(const void *ours)
{
    const struct vouched_life *word = ours;

    return word->life.node != 0 && word->life.incarnation != 0 ? STATUS_OK : STATUS_MALFORMED;
}

static BINDING_TABLE(vouched_life, vouched_life, check_life);

/* ---- the request ---- */

static enum admin_action action_of(const void *ours)
{
    return ((const struct admin_request *)ours)->action;
}

static bool says_seen(const void *ours)
{
    return codec_seen_said(&((const struct admin_request *)ours)->seen);
}

static bool is_load(const void *ours)
{
    return action_of(ours) == ADMIN_LOAD;
}

static bool has_create(const void *ours)
{
    const struct admin_request *request = ours;

    return request->action == ADMIN_CREATE ||
           (request->action == ADMIN_LOAD && request->load.step == LOAD_BEGIN);
}

static bool is_map(const void *ours)
{
    return action_of(ours) >= ADMIN_MAP_BACKUP && action_of(ours) <= ADMIN_MAP_FINISH;
}

static bool is_expand(const void *ours)
{
    return action_of(ours) == ADMIN_EXPAND;
}

static bool is_rebuild(const void *ours)
{
    return action_of(ours) == ADMIN_REBUILD;
}

static bool is_expire(const void *ours)
{
    return action_of(ours) == ADMIN_EXPIRE;
}

static bool is_rename(const void *ours)
{
    return action_of(ours) == ADMIN_RENAME;
}

static bool is_look(const void *ours)
{
    return action_of(ours) == ADMIN_LOOK;
}

static bool looks_at_target(const void *ours)
{
    return is_look(ours) && ((const struct admin_request *)ours)->rename.name != NULL;
}

static bool is_loss(const void *ours)
{
    return action_of(ours) == ADMIN_ACCEPT_LOSS;
}

/* The range has gaps. */
static enum status get_action(struct codec_arena *arena, const void *wire, void *ours)
{
    enum admin_action action = action_of(ours);

    (void)arena;
    (void)wire;
    return action <= ADMIN_RENAME || action == ADMIN_LOAD ||
                   (action >= ADMIN_NODE_DRAIN && action <= ADMIN_LOOK) ||
                   action >= ADMIN_MAP_BACKUP
               ? STATUS_OK
               : STATUS_MALFORMED;
}

/* A part that another action has is not looked at. */
#define WIRE_admin_request Orbloom__V1__AdminRequest
static const struct binding admin_request_rows[] = {
    ENUM(admin_request, action, ADMIN_CREATE, ADMIN_UPGRADE_FINALIZE),
    BY_HAND(admin_request, action, NULL, get_action),
    ROW(admin_request, timeout_ms, UINT32),
    ROW(admin_request, filter_id, UINT64),
    ROW(admin_request, undo, BOOL),
    ROW(admin_request, dry_run, BOOL),
    OPTIONAL(admin_request, seen, admin_seen, says_seen, NULL),
    PART(admin_request, load, load_parameters, is_load),
    PART(admin_request, create, create_parameters, has_create),
    PART(admin_request, map, map_parameters, is_map),
    PART(admin_request, expand, expand_parameters, is_expand),
    PART(admin_request, rebuild, rebuild_parameters, is_rebuild),
    PART(admin_request, expire, expiry_wish, is_expire),
    PART(admin_request, rename, rename_parameters, is_rename),
    OPTIONAL(admin_request, rename, rename_parameters, looks_at_target, is_look),
    PART(admin_request, loss, loss_parameters, is_loss),
    LIST(admin_request, confirmed_off, nconfirmed_off, vouched_life, ADMIN_MAX_LIVES,
         STATUS_MALFORMED),
    ROW(admin_request, successor, TEXT),
    ROW(admin_request, name, TEXT),
};
BINDING_TABLE(admin_request, admin_request, NULL);
