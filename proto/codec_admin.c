/* The operator's conversation with a coordinator. */
#include "map/access/seal.h"
#include "proto/codec_body.h"

/* ---- the request: what belongs to one action alone ---- */

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
    ROW(create_parameters, max_staleness, UINT64),
    ROW(create_parameters, acks, UINT32),
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

#define WIRE_site_parameters Orbloom__V1__SiteParameters
static const struct binding site_parameters_rows[] = {
    ENUM(site_parameters, step, SITE_STEP_LIST, SITE_STEP_RESYNC),
    ROW(site_parameters, site, TEXT),
};
static BINDING_TABLE(site_parameters, site_parameters, NULL);

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

/* A secret, sealed or in the clear, belongs to the first step, and to no other one. */
static enum status check_load(const void *ours)
{
    const struct load_parameters *load = ours;
    size_t size = load->secret.size;

    return (load->step == LOAD_BEGIN ? size == SEAL_SECRET_BYTES || size == HASH_SECRET_BYTES
                                     : size == 0)
               ? STATUS_OK
               : STATUS_MALFORMED;
}

static BINDING_TABLE(load_parameters, load_parameters, check_load);

/* ---- records of the store on their way to a backup, and back ---- */

#define WIRE_map_record Orbloom__V1__MapRecord
static const struct binding map_record_rows[] = {
    ROW(map_record, value, SPAN),
    ROW(map_record, key, TEXT),
};
static BINDING_TABLE(map_record, map_record, NULL);

static enum status put_names(struct codec_scratch *scratch, const void *ours, void *wire)
{
    const struct map_parameters *map = ours;
    Orbloom__V1__MapParameters *message = wire;
    ProtobufCBinaryData *names = codec_scratch_take(scratch, map->nconfirmed_off, sizeof *names);
    enum status status = STATUS_OK;

    if (names == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < map->nconfirmed_off && status == STATUS_OK; i++) {
        status = codec_put_text(map->confirmed_off[i], &names[i]);
    }
    message->n_confirmed_off = map->nconfirmed_off;
    message->confirmed_off = names;
    return status;
}

static enum status get_names(struct codec_arena *arena, const void *wire, void *ours)
{
    const Orbloom__V1__MapParameters *message = wire;
    struct map_parameters *map = ours;
    const char **names;
    enum status status = STATUS_OK;

    if (message->n_confirmed_off > DOCUMENT_MAX_NODES) {
        return STATUS_MALFORMED;
    }
    names = arena_take(arena, message->n_confirmed_off, sizeof *names);
    if (names == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (size_t i = 0; i < message->n_confirmed_off && status == STATUS_OK; i++) {
        status = codec_get_text(arena, message->confirmed_off[i], &names[i]);
    }
    map->confirmed_off = names;
    map->nconfirmed_off = message->n_confirmed_off;
    return status;
}

#define WIRE_map_parameters Orbloom__V1__MapParameters
static const struct binding map_parameters_rows[] = {
    ROW(map_parameters, since, UINT64),
    ROW(map_parameters, key, UINT64),
    ROW(map_parameters, accept_losses, BOOL),
    BY_HAND(map_parameters, confirmed_off, put_names, get_names),
    LIST(map_parameters, records, nrecords, map_record, CODEC_MAX_RECORDS, STATUS_MALFORMED),
};
static BINDING_TABLE(map_parameters, map_parameters, NULL);

#define WIRE_map_page Orbloom__V1__MapPage
static const struct binding map_page_rows[] = {
    ROW(map_page, key, UINT64),
    ROW(map_page, cluster, CLUSTER),
    ROW(map_page, store, UINT64),
    ROW(map_page, change, UINT64),
    ROW(map_page, more, BOOL),
    LIST(map_page, records, nrecords, map_record, CODEC_MAX_RECORDS, STATUS_MALFORMED),
};
static BINDING_TABLE(map_page, map_page, NULL);

/* ---- what a look has found, and a change repeats ---- */

#define WIRE_admin_seen Orbloom__V1__Seen
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
static BINDING_TABLE(admin_seen, seen, NULL);

/* Has a look found anything, or a change seen it? */
static bool seen_said(const struct admin_seen *seen)
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

/* ---- the request, all of it ---- */

static enum admin_action action_of(const void *ours)
{
    return ((const struct admin_request *)ours)->action;
}

static bool change_saw(const void *ours)
{
    return seen_said(&((const struct admin_request *)ours)->seen);
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

static bool is_user_change(const void *ours)
{
    return action_of(ours) == ADMIN_USER_CHANGE;
}

static bool is_loss(const void *ours)
{
    return action_of(ours) == ADMIN_ACCEPT_LOSS;
}

static bool is_site(const void *ours)
{
    return action_of(ours) == ADMIN_SITE || action_of(ours) == ADMIN_SITE_CHANGE;
}

/* The range has gaps. */
static enum status get_action(struct codec_arena *arena, const void *wire, void *ours)
{
    enum admin_action action = action_of(ours);

    (void)arena;
    (void)wire;
    return action <= ADMIN_RENAME || action == ADMIN_SITE || action == ADMIN_LOAD ||
                   (action >= ADMIN_NODE_DRAIN && action <= ADMIN_SITE_CHANGE) ||
                   action >= ADMIN_MAP_BACKUP
               ? STATUS_OK
               : STATUS_MALFORMED;
}

/* A part that another action has is not looked at. */
#define WIRE_admin_request Orbloom__V1__AdminRequest
static const struct binding admin_request_rows[] = {
    ENUM(admin_request, action, ADMIN_CREATE, ADMIN_PROCESS_KEYS),
    BY_HAND(admin_request, action, NULL, get_action),
    ROW(admin_request, timeout_ms, UINT32),
    ROW(admin_request, filter_id, UINT64),
    ENUM(admin_request, scope, 0, DROP_EVERYWHERE),
    ROW(admin_request, undo, BOOL),
    ROW(admin_request, dry_run, BOOL),
    OPTIONAL(admin_request, seen, admin_seen, change_saw, NULL),
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
    PART(admin_request, users, user_change, is_user_change),
    PART(admin_request, site, site_parameters, is_site),
    ROW(admin_request, user, TEXT),
    ROW(admin_request, successor, TEXT),
    ROW(admin_request, name, TEXT),
};
BINDING_TABLE(admin_request, admin_request, NULL);

/* ---- the answer: nodes, and what is under way ---- */

#define WIRE_node_summary Orbloom__V1__NodeSummary
static const struct binding node_summary_rows[] = {
    ROW(node_summary, id, UINT32),
    ROW(node_summary, incarnation, UINT64),
    ROW(node_summary, alive, BOOL),
    ROW(node_summary, seen_ago_ms, UINT64),
    ROW(node_summary, memory_limit_bytes, UINT64),
    ROW(node_summary, memory_used_bytes, UINT64),
    ROW(node_summary, replicas_full, UINT32),
    ROW(node_summary, replicas_joining, UINT32),
    ROW(node_summary, replicas_building, UINT32),
    ROW(node_summary, disk_used_bytes, UINT64),
    ROW(node_summary, durable, BOOL),
    ROW(node_summary, draining, BOOL),
    ROW(node_summary, slots, UINT32),
    ROW(node_summary, awaited, MESSAGE),
    ROW(node_summary, replaced_by, TEXT),
    ROW(node_summary, name, TEXT),
    ROW(node_summary, host, TEXT),
    ROW(node_summary, zone, TEXT),
    ROW(node_summary, endpoint, TEXT),
};
static BINDING_TABLE(node_summary, node_summary, NULL);

#define WIRE_change_summary Orbloom__V1__ChangeSummary
static const struct binding change_summary_rows[] = {
    ROW(change_summary, filter_id, UINT64),
    ENUM(change_summary, step, CHANGE_TO_BEGIN, CHANGE_HANDING_OVER),
    ROW(change_summary, slots, UINT32),
    ROW(change_summary, awaited, MESSAGE),
};
static BINDING_TABLE(change_summary, change_summary, NULL);

/* ---- the answer: which processes know which features ---- */

#define WIRE_process_features Orbloom__V1__ProcessFeatures
static const struct binding process_features_rows[] = {
    ENUM(process_features, kind, PROCESS_COORDINATOR, PROCESS_ROUTER),
    ROW(process_features, heard, BOOL),
    ROW(process_features, features, UINT64),
    ROW(process_features, name, TEXT),
};
static BINDING_TABLE(process_features, process_features, NULL);

#define WIRE_upgrade_page Orbloom__V1__UpgradePage
static const struct binding upgrade_page_rows[] = {
    ROW(upgrade_page, known, UINT64),
    ROW(upgrade_page, in_use, UINT64),
    LIST(upgrade_page, processes, nprocesses, process_features, UNBOUNDED, STATUS_OK),
};
static BINDING_TABLE(upgrade_page, upgrade_page, NULL);

/* ---- the answer: the cluster key ---- */

#define WIRE_key_use Orbloom__V1__KeyUse
static const struct binding key_use_rows[] = {
    ENUM(key_use, kind, PROCESS_COORDINATOR, PROCESS_ROUTER),
    ROW(key_use, name, TEXT),
    ROW(key_use, key, UINT64),
};
static BINDING_TABLE(key_use, key_use, NULL);

#define WIRE_key_page Orbloom__V1__KeyPage
static const struct binding key_page_rows[] = {
    ROW(key_page, signing, UINT64),
    ROW(key_page, records_left, UINT64),
    LIST(key_page, behind, nbehind, key_use, UNBOUNDED, STATUS_OK),
};
static BINDING_TABLE(key_page, key_page, NULL);

/* ---- the answer: public keys of processes ---- */

/* Of another size it has been read as zeros. */
static enum status check_process_key(const void *ours)
{
    static const uint8_t none[CURVE_KEY_BYTES];
    const struct process_key *self = ours;

    return memcmp(self->key, none, sizeof none) != 0 ? STATUS_OK : STATUS_MALFORMED;
}

#define WIRE_process_key Orbloom__V1__ProcessKey
static const struct binding process_key_rows[] = {
    ENUM(process_key, kind, PROCESS_COORDINATOR, PROCESS_ROUTER),
    ROW(process_key, key, BYTES),
};
static BINDING_TABLE(process_key, process_key, check_process_key);

/* ---- sites ---- */

#define WIRE_site_summary Orbloom__V1__SiteSummary
static const struct binding site_summary_rows[] = {
    ROW(site_summary, name, TEXT),
    ROW_AS(site_summary, id.high, id_high, UINT64),
    ROW_AS(site_summary, id.low, id_low, UINT64),
    ROW(site_summary, own, BOOL),
    ROW(site_summary, links, UINT32),
    ROW(site_summary, round_trip_us, UINT64),
    ROW(site_summary, paused, BOOL),
};
static BINDING_TABLE(site_summary, site_summary, NULL);

static bool has_sites(const void *ours)
{
    return ((const struct filter_sites *)ours)->sites.count > 0;
}

#define WIRE_site_standing Orbloom__V1__SiteStanding
static const struct binding site_standing_rows[] = {
    ROW_AS(site_standing, id.high, id_high, UINT64),
    ROW_AS(site_standing, id.low, id_low, UINT64),
    ROW(site_standing, told, BOOL),
    ROW(site_standing, takes_adds, BOOL),
    ROW(site_standing, says_absent, BOOL),
    ROW(site_standing, settled, BOOL),
    ROW(site_standing, keys, UINT64),
};
static BINDING_TABLE(site_standing, site_standing, NULL);

#define WIRE_site_refusal Orbloom__V1__SiteRefusal
static const struct binding site_refusal_rows[] = {
    ROW(site_refusal, name, TEXT),
    ROW(site_refusal, site, TEXT),
    ROW(site_refusal, reason, TEXT),
};
static BINDING_TABLE(site_refusal, site_refusal, NULL);

#define WIRE_filter_sites Orbloom__V1__FilterSites
static const struct binding filter_sites_rows[] = {
    ROW(filter_sites, filter_id, UINT64),
    ROW(filter_sites, name, TEXT),
    OPTIONAL(filter_sites, sites, site_set, has_sites, NULL),
    ROW(filter_sites, awaited, TEXT),
    LIST(filter_sites, others, nothers, site_standing, SITE_SET_MAX, STATUS_MALFORMED),
};
static BINDING_TABLE(filter_sites, filter_sites, NULL);

#define WIRE_site_page Orbloom__V1__SitePage
static const struct binding site_page_rows[] = {
    ROW(site_page, site, TEXT),
    LIST(site_page, sites, nsites, site_summary, UNBOUNDED, STATUS_OK),
    LIST(site_page, filters, nfilters, filter_sites, UNBOUNDED, STATUS_OK),
    ROW(site_page, filters_left, UINT64),
    LIST(site_page, refusals, nrefusals, site_refusal, UNBOUNDED, STATUS_OK),
    LIST(site_page, links, nlinks, link_place, SITE_PAGE_MAX_LINKS, STATUS_MALFORMED),
};
static BINDING_TABLE(site_page, site_page, NULL);

/* ---- the answer, all of it ---- */

static bool says_sites(const void *ours)
{
    return ((const struct admin_reply *)ours)->sites.site != NULL;
}

static bool look_found(const void *ours)
{
    return seen_said(&((const struct admin_reply *)ours)->seen);
}

/* Else it is another command's answer, here and below. */
static bool says_upgrade(const void *ours)
{
    return ((const struct admin_reply *)ours)->upgrade.known != 0;
}

static bool says_keys(const void *ours)
{
    return ((const struct admin_reply *)ours)->keys.signing != 0;
}

static bool says_users(const void *ours)
{
    const struct user_page *page = &((const struct admin_reply *)ours)->users;

    return (page->revision | page->now_ms | page->nusers) != 0;
}

static bool says_map(const void *ours)
{
    const struct admin_reply *reply = ours;

    return reply->map.records != NULL || reply->map.key != 0;
}

#define WIRE_admin_reply Orbloom__V1__AdminReply
static const struct binding admin_reply_rows[] = {
    ROW(admin_reply, status, STATUS),
    ROW(admin_reply, created, BOOL),
    ROW(admin_reply, moved, BOOL),
    OPTIONAL(admin_reply, seen, admin_seen, look_found, NULL),
    ROW(admin_reply, message, MESSAGE),
    LIST(admin_reply, filters, nfilters, filter_summary, UNBOUNDED, STATUS_OK),
    LIST(admin_reply, nodes, nnodes, node_summary, UNBOUNDED, STATUS_OK),
    LIST(admin_reply, changes, nchanges, change_summary, UNBOUNDED, STATUS_OK),
    OPTIONAL(admin_reply, map, map_page, says_map, NULL),
    OPTIONAL(admin_reply, upgrade, upgrade_page, says_upgrade, NULL),
    OPTIONAL(admin_reply, keys, key_page, says_keys, NULL),
    OPTIONAL(admin_reply, users, user_page, says_users, NULL),
    LIST(admin_reply, process_keys, nprocess_keys, process_key, ADMIN_MAX_PROCESS_KEYS,
         STATUS_MALFORMED),
    LIST(admin_reply, replicas, nreplicas, replica_report, UNBOUNDED, STATUS_OK),
    OPTIONAL(admin_reply, sites, site_page, says_sites, NULL),
};
BINDING_TABLE(admin_reply, admin_reply, NULL);
