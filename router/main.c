/* orbloom-router: the shell around the router's core and its RESP front. */
#include "base/log.h"
#include "proto/gate.h"
#include "router/shell_options.h"
#include "router/shell_resp.h"
#include "runtime/audit_file.h"
#include "runtime/file.h"

#include <errno.h>
#include <string.h>

static struct router *router;
static struct front *front;
static struct hub_streams *streams;
static struct tls_source tls;
static struct audit_file *audit;

/* Whether there is one, router_options_finish() has seen. */
static enum status read_password(struct router_settings *settings)
{
    if (!settings->resp.guarded) {
        return STATUS_OK;
    }
    return file_read_password("the resp_password_file", settings->resp_password_file,
                              &settings->resp.password);
}

/* At the start, and once more on each SIGHUP: it may have been moved. */
static enum status open_audit(const struct router_settings *settings)
{
    if (settings->audit_log[0] == '\0') {
        return STATUS_OK;
    }
    return audit != NULL ? audit_file_reopen(audit) : audit_file_open(settings->audit_log, &audit);
}

static enum status read_files(void *context)
{
    struct router_settings *settings = context;
    struct password former = settings->resp.password;
    enum status status = read_password(settings);

    if (status == STATUS_OK && settings->resp_tls_listen[0] != '\0') {
        status = tls_source_read(&tls, &settings->tls);
    }
    status = status == STATUS_OK ? open_audit(settings) : status;
    if (status != STATUS_OK) {
        settings->resp.password = former;
        return status;
    }
    if (front != NULL && memcmp(&former, &settings->resp.password, sizeof former) != 0) {
        log_line(LOG_INFO, "SIGHUP: RESP clients must give another password from now on");
    }
    return STATUS_OK;
}

static enum status check_socket(const char *path)
{
    if (file_check_replaceable(path) == STATUS_OK) {
        return STATUS_OK;
    }
    log_line(LOG_ERROR,
             "cannot serve at resp_socket %s: %s; name a path in a folder that is there and that "
             "this program's user may write to",
             path, strerror(errno));
    return STATUS_IO;
}

/* --check-config */
static enum status check_kept(const char *path)
{
    enum status status = file_check_replaceable(path);

    if (status != STATUS_OK) {
        log_line(LOG_ERROR,
                 "cannot keep what this router knows in %s: %s; check that kept_file names a file "
                 "in a folder which exists and where this process may write",
                 path, strerror(errno));
    }
    return status;
}

static enum status check_files(void *context)
{
    struct router_settings *settings = context;
    struct tls_source source = {0};
    enum status status = read_password(settings);

    if (status == STATUS_OK && settings->resp_tls_listen[0] != '\0') {
        status = tls_source_read(&source, &settings->tls);
        tls_source_fini(&source);
    }
    if (status == STATUS_OK && settings->resp_socket[0] != '\0') {
        status = check_socket(settings->resp_socket);
    }
    if (status == STATUS_OK && settings->kept_file[0] != '\0') {
        status = check_kept(settings->kept_file);
    }
    return status == STATUS_OK && settings->audit_log[0] != '\0'
               ? audit_file_check(settings->audit_log)
               : status;
}

static const struct user_list *users_of(void *context)
{
    return router_users(context);
}

static bool has_heard(void *context)
{
    return router_heard_of_users(context);
}

static void note_use(void *context, const struct user_use *use)
{
    router_note_use(context, use);
}

/* router_config.keep; on a lane's thread. */
static enum status keep(void *context, struct span bytes)
{
    const char *path = context;
    enum status status = file_write(path, 0600, bytes);

    if (status != STATUS_OK) {
        log_line(LOG_WARN,
                 "cannot write the kept_file %s: %s; see that its folder exists, that this process "
                 "may write there, and that there is room; it is tried again",
                 path, strerror(errno));
    }
    return status;
}

/* Of what an earlier router has kept nothing is lost that coordinators do not tell anew. */
static void read_kept(const char *path)
{
    struct buffer bytes;
    enum status status;

    buffer_init(&bytes, ROUTER_KEPT_MAX_BYTES);
    status = file_read(path, &bytes);
    if (status == STATUS_OK) {
        router_set_kept(router, &bytes);
    } else if (status != STATUS_IO || errno != ENOENT) {
        log_line(LOG_WARN, "cannot read the kept_file %s: %s; it is done without", path,
                 status == STATUS_IO ? strerror(errno) : status_meaning(status));
    }
    buffer_fini(&bytes);
}

static enum status make(const struct router_settings *settings, struct hub *hub,
                        struct actor *actor)
{
    const struct stream_effects effects = shell_resp_effects();
    struct front_users_source users = {.users = users_of, .heard = has_heard, .note = note_use};
    struct actor core;

    if (front_create(&settings->resp, &settings->config, hub_effects(hub), &front) != STATUS_OK ||
        router_create(&settings->config, front_effects(front), &router) != STATUS_OK) {
        log_line(LOG_ERROR, "out of memory");
        return STATUS_NOMEM;
    }
    if (settings->kept_file[0] != '\0') {
        read_kept(settings->kept_file);
    }
    core = router_actor(router);
    users.context = router;
    front_attach(front, &core, &effects);
    front_attach_core(front, router);
    front_attach_users(front, &users);
    if (audit != NULL) {
        front_attach_audit(front, audit_file_sink(audit));
    }
    *actor = front_actor(front);
    return STATUS_OK;
}

/* What clients have under way is answered; what the library's clients ask after that they ask
 * another router, or this one when it is back. */
static void drain(void *context, uint64_t now_us)
{
    const struct router_settings *settings = context;

    log_line(
        LOG_INFO,
        "takes no more RESP clients, answers %u connections, then stops; a second signal stops "
        "it at once",
        front_connections(front));
    if (streams != NULL) {
        hub_streams_stop_listening(streams);
    }
    front_drain(front, now_us, settings->drain_timeout_us);
}

static void reload(void *context)
{
    const struct router_settings *settings = context;

    front_configure(front, &settings->resp);
    if (streams != NULL) {
        hub_streams_set_max(streams, (uint32_t)settings->resp_max_clients);
    }
}

static void rekey(void *context)
{
    const struct router_settings *settings = context;

    router_rekey(router, &settings->config.key);
    front_rekey(front, &settings->config.key);
}

static enum status stop(void)
{
    if (front != NULL && front_connections(front) > 0) {
        log_line(LOG_WARN, "cuts %u RESP connections", front_connections(front));
    }
    hub_streams_close(&streams);
    tls_source_fini(&tls);
    router_destroy(&router);
    front_destroy(&front);
    audit_file_close(&audit);
    return STATUS_OK;
}

static enum status start(void *context, struct hub *hub, struct actor *actor)
{
    struct router_settings *settings = context;
    const struct hub_streams_options options = {
        .endpoint = settings->resp_listen,
        .path = settings->resp_socket,
        .max_streams = (uint32_t)settings->resp_max_clients,
        .tls_endpoint = settings->resp_tls_listen,
        .tls = settings->resp_tls_listen[0] != '\0' ? &tls : NULL,
    };
    enum status status;

    if (settings->kept_file[0] != '\0') {
        settings->config.keep = keep;
        settings->config.keep_context = settings->kept_file;
    }
    status = make(settings, hub, actor);
    status = status == STATUS_OK ? shell_resp_open(hub, &options, front, &streams) : status;
    if (status != STATUS_OK) {
        (void)stop();
        return status;
    }
    hub_set_spin(hub, settings->spin_us);
    return STATUS_OK;
}

/* daemon.judge */
static void judge(struct health *health)
{
    router_tell_health(router, health);
    if (streams != NULL) {
        front_tell_health(front, health);
    }
}

/* daemon.count */
static size_t count(struct counter_set sets[PAGES_MAX_SETS])
{
    sets[0] = (struct counter_set){"orbloom_router_", router_counters(), router_counts(router)};
    sets[1] = (struct counter_set){"orbloom_router_", front_counters(), front_counts(front)};
    return 2;
}

/* daemon.tell */
static void tell(struct metrics *metrics)
{
    router_tell_metrics(router, metrics);
}

/* daemon.certificates: what Redis clients are shown. */
static size_t certificates(struct pages_certificate out[PAGES_MAX_CERTIFICATES])
{
    if (tls.identity == NULL) {
        return 0;
    }
    out[0] = (struct pages_certificate){"tls_cert_file", tls_identity_ends_s(tls.identity)};
    return 1;
}

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
    static struct router_settings settings;
    const struct daemon daemon = {
        .options = router_option_table(),
        .settings = &settings,
        .settings_bytes = sizeof settings,
        .read_key = cluster_key_read,
        .key = &settings.config.key,
        .key_bytes = sizeof settings.config.key,
        .kind = CURVE_ROUTER,
        .pairs = cluster_key_curve_pairs,
        .coordinators = settings.config.coordinators[0],
        .coordinator_bytes = sizeof settings.config.coordinators[0],
        .ncoordinators = &settings.config.ncoordinators,
        .who = who,
        .admits = admits,
        .max_frame_bytes = CODEC_MAX_FRAME_BYTES,
        .finish = router_options_finish,
        .read_files = read_files,
        .check_files = check_files,
        .start = start,
        .drain = drain,
        .name = settings.config.name,
        .judge = judge,
        .count = count,
        .tell = tell,
        .certificates = certificates,
        .reload = reload,
        .rekey = rekey,
        .stop = stop,
    };

    return daemon_main(&daemon, argc, argv);
}
