/* orbloom-link: the shell around the link's core and the router's that it hosts. Towards its own
 * site it is a router, by the sockets and keys of lib/runtime/daemon. For links of other sites it
 * has a hub of its own, with the site's key and theirs, which rides along in the same loop. */
#include "base/log.h"
#include "link/shell_options.h"
#include "proto/gate.h"
#include "runtime/file.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static struct link *core;
static struct router *router;
static struct hub *inner;
static struct hub *outer;
static struct hub_curve outer_curve;
static struct link_settings the_settings;

/* ---- the site's key ---- */

static enum status read_key(const struct link_settings *settings, struct curve_pair *keys)
{
    enum status status = file_read_secret(&file_site_key, settings->site_key_file, site_key_read,
                                          keys);

    return status == STATUS_OK ? link_options_check_key(settings, keys) : status;
}

/* At the start, and again on SIGHUP: then it only tells whether a restart would go well, as another
 * key is another site. */
static enum status read_files(void *context)
{
    struct link_settings *settings = context;
    struct curve_pair keys;
    enum status status = read_key(settings, &keys);

    if (status != STATUS_OK) {
        return status;
    }
    if (outer == NULL) {
        settings->keys = keys;
    } else if (memcmp(&settings->keys, &keys, sizeof keys) != 0) {
        log_line(LOG_WARN, "SIGHUP: site_key_file holds another key, which takes effect with a "
                           "restart; with it this is another site");
    }
    site_key_wipe(&keys);
    return STATUS_OK;
}

/* --check-config */
static enum status check_files(void *context)
{
    struct curve_pair keys;
    enum status status = read_key(context, &keys);

    site_key_wipe(&keys);
    return status;
}

/* ---- who is let in from other sites, and whom we dial ---- */

/* hub_curve.dial */
static size_t dial(void *context, const char *endpoint, bool *plain,
                   struct hub_dial dials[HUB_MAX_DIALS])
{
    const struct link_settings *settings = context;

    (void)plain;
    for (uint32_t i = 0; i < settings->config.npeers; i++) {
        if (strcmp(settings->config.peers[i].endpoint, endpoint) == 0) {
            dials[0].own = settings->keys;
            memcpy(dials[0].server, settings->peer_keys[i], CURVE_KEY_BYTES);
            return 1;
        }
    }
    return 0;
}

/* hub_curve.who: the place in the configuration plus 1 is the user, as link.h has it. */
static bool who_peer(void *context, const uint8_t key[CURVE_KEY_BYTES], struct peer *peer)
{
    const struct link_settings *settings = context;

    for (uint32_t i = 0; i < settings->config.npeers; i++) {
        if (memcmp(settings->peer_keys[i], key, CURVE_KEY_BYTES) == 0) {
            peer->role = PEER_ROUTER;
            peer->user = i + 1;
            return true;
        }
    }
    return false;
}

/* ---- life ---- */

static enum status open_outer(struct link_settings *settings)
{
    bool listens = settings->site_listen[0] != '\0';
    const struct hub_options options = {
        .listen = listens ? settings->site_listen : NULL,
        .max_frame_bytes = CODEC_MAX_FRAME_BYTES,
        .curve = &outer_curve,
        .io_threads = (unsigned)settings->daemon.io_threads,
    };

    outer_curve = (struct hub_curve){
        .context = settings,
        .listens = listens,
        .own = settings->keys,
        .dial = dial,
        .who = who_peer,
        .stranger_remedy =
            "if it is a link of another site, add a line with that key to site_peers",
    };
    return hub_create(&options, &outer);
}

static enum status make(const struct link_settings *settings)
{
    struct link_config config = settings->config;
    struct actor actor;

    config.id = site_key_id(settings->keys.public);
    config.curve = daemon_listens_curve(&settings->daemon);
    (void)snprintf(config.endpoint, sizeof config.endpoint, "%s",
                   settings->advertise[0] != '\0' ? settings->advertise : hub_endpoint(inner));
    if (link_create(&config, hub_effects(inner), hub_effects(outer), &core) != STATUS_OK ||
        router_create(&settings->router, link_router_effects(core), &router) != STATUS_OK) {
        return STATUS_NOMEM;
    }
    actor = router_actor(router);
    link_attach(core, router, &actor);
    actor = link_outer_actor(core);
    hub_attach(outer, &actor);
    return hub_ride(inner, outer);
}

static enum status stop(void)
{
    enum status status = inner != NULL ? hub_ride(inner, NULL) : STATUS_OK;

    assert(status == STATUS_OK); /* Ending a ride can't fail. */
    (void)status;
    router_destroy(&router);
    link_destroy(&core);
    hub_destroy(&outer);
    explicit_bzero(&outer_curve, sizeof outer_curve);
    site_key_wipe(&the_settings.keys);
    return STATUS_OK;
}

/* People compare the key with what the other sites pin; whoever has started us may need the port
 * that the kernel chose. */
static void announce(const struct link_settings *settings)
{
    struct site_id id = site_key_id(settings->keys.public);
    char key[SITE_KEY_TEXT_BYTES];
    char text[SITE_ID_TEXT_BYTES];

    log_line(LOG_INFO, "links site %s, id %s, public key %s, to %u others%s%s",
             settings->config.site, site_id_show(&id, text),
             site_key_show(settings->keys.public, key), settings->config.npeers,
             settings->site_listen[0] != '\0' ? ", which get in at " : "", hub_endpoint(outer));
    if (settings->site_listen[0] != '\0') {
        (void)printf("sites %s\n", hub_endpoint(outer));
    }
}

static enum status start(void *context, struct hub *hub, struct actor *actor)
{
    struct link_settings *settings = context;
    enum status status;

    inner = hub;
    status = open_outer(settings); /* It says itself what is wrong. */
    if (status != STATUS_OK) {
        return status;
    }
    status = make(settings);
    if (status != STATUS_OK) {
        log_line(LOG_ERROR, "cannot start: %s", status_meaning(status));
        (void)stop();
        return status;
    }
    announce(settings);
    *actor = link_inner_actor(core);
    return STATUS_OK;
}

static void rekey(void *context)
{
    const struct link_settings *settings = context;

    router_rekey(router, &settings->router.key);
}

/* ---- how it is ---- */

/* daemon.judge */
static void judge(struct health *health)
{
    link_tell_health(core, health);
}

/* daemon.count: its router's are told by names of their own, as routers tell theirs. */
static size_t count(struct counter_set sets[PAGES_MAX_SETS])
{
    sets[0] = (struct counter_set){"orbloom_link_", link_counters(), link_counts(core)};
    sets[1] = (struct counter_set){"orbloom_link_router_", router_counters(),
                                   router_counts(router)};
    return 2;
}

/* daemon.tell */
static void tell(struct metrics *metrics)
{
    link_tell_metrics(core, metrics);
}

/* ---- who is let in from its own site ---- */

/* transport_who_fn */
static bool who(const uint8_t key[CURVE_KEY_BYTES], struct peer *peer)
{
    return router_identify(router, key, peer);
}

/* transport_admits_fn */
static bool admits(const struct peer *from, bool known, struct span frame, struct buffer *refusal)
{
    return gate_pass(GATE_ROUTER, from, known, frame, refusal);
}

int main(int argc, char **argv)
{
    const struct daemon daemon = {
        .options = link_option_table(),
        .settings = &the_settings,
        .settings_bytes = sizeof the_settings,
        .read_key = cluster_key_read,
        .key = &the_settings.router.key,
        .key_bytes = sizeof the_settings.router.key,
        .kind = CURVE_ROUTER,
        .pairs = cluster_key_curve_pairs,
        .coordinators = the_settings.router.coordinators[0],
        .coordinator_bytes = sizeof the_settings.router.coordinators[0],
        .ncoordinators = &the_settings.router.ncoordinators,
        .who = who,
        .admits = admits,
        .max_frame_bytes = CODEC_MAX_FRAME_BYTES,
        .finish = link_options_finish,
        .read_files = read_files,
        .check_files = check_files,
        .start = start,
        .name = the_settings.router.name,
        .judge = judge,
        .count = count,
        .tell = tell,
        .rekey = rekey,
        .stop = stop,
    };

    return daemon_main(&daemon, argc, argv);
}
