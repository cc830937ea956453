/* orbloom-coordinator: the shell around the coordinator's core, on a store in SQLite or etcd. */
#include "base/log.h"
#include "coordinator/shell_options.h"
#include "coordinator/shell_pages.h"
#include "coordinator/store/sqlite/file.h"
#include "coordinator/store/sqlite/sqlite.h"
#include "proto/gate.h"
#include "runtime/audit_file.h"
#include "runtime/tls/tls.h"

static struct coordinator *coordinator;
static struct hub *loop;
static struct store *store;
static struct audit_file *audit;
static void (*close_store)(struct store **store);

static enum status stop(void)
{
    coordinator_destroy(&coordinator);
    close_store(&store);
    audit_file_close(&audit);
    return STATUS_OK;
}

/* At the start, and once more on each SIGHUP: it may have been moved. */
static enum status open_audit(void *context)
{
    struct coordinator_settings *settings = context;
    enum status status;

    if (settings->audit_log[0] == '\0') {
        return STATUS_OK;
    }
    if (audit != NULL) {
        return audit_file_reopen(audit);
    }
    status = audit_file_open(settings->audit_log, &audit);
    if (status == STATUS_OK) {
        settings->config.audit = audit_file_sink(audit);
    }
    return status;
}

static void interrupt(void)
{
    if (store->interrupt != NULL) {
        store->interrupt(store->self);
    }
}

static void wake(void *hub)
{
    hub_wake(hub);
}

static enum status open_etcd(struct coordinator_settings *settings, struct hub *hub)
{
    enum status status = coordinator_settings_read_password(settings);

    close_store = store_etcd_close;
    if (status == STATUS_OK) {
        status = store_etcd_open(&settings->etcd, &store);
    }
    if (status == STATUS_OK && store_etcd_watch_start(store, wake, hub) != STATUS_OK) {
        log_line(LOG_WARN, "cannot watch the store; what other coordinators write is noticed "
                           "when somebody asks");
    }
    if (status == STATUS_OK && store_etcd_room_start(store) != STATUS_OK) {
        log_line(LOG_WARN, "cannot look how near etcd is to its quota");
    }
    return status;
}

static enum status open_store(struct coordinator_settings *settings, struct hub *hub)
{
    if (settings->store[0] == '\0') {
        return open_etcd(settings, hub);
    }
    close_store = store_sqlite_close;
    return store_sqlite_open(settings->store, &store);
}

static enum status start(void *context, struct hub *hub, struct actor *actor)
{
    struct coordinator_settings *settings = context;
    enum status status = open_store(settings, hub);

    if (status != STATUS_OK) {
        return status;
    }
    settings->config.survey = settings->daemon.http_listen[0] != '\0';
    status = coordinator_create(&settings->config, hub_effects(hub), store, &coordinator);
    if (status != STATUS_OK) {
        log_line(LOG_ERROR, "cannot start: %s", status_meaning(status));
        (void)stop();
        return status;
    }
    coordinator_pages_use(coordinator);
    *actor = coordinator_actor(coordinator);
    loop = hub;
    return STATUS_OK;
}

static enum status check_etcd(struct coordinator_settings *settings)
{
    const struct tls_files files = {
        .certificate = settings->etcd.cert_file,
        .key = settings->etcd.key_file,
        .authority = settings->etcd.ca_file,
    };
    enum status status = coordinator_settings_read_password(settings);

    return status == STATUS_OK ? tls_files_check(&files, "etcd_") : status;
}

/* --check-config; whether etcd is there, and lets us in, only a start shows. */
static enum status check_files(void *context)
{
    struct coordinator_settings *settings = context;
    enum status status = settings->store[0] != '\0' ? store_sqlite_file_check(settings->store)
                                                    : check_etcd(settings);

    return status == STATUS_OK && settings->audit_log[0] != '\0'
               ? audit_file_check(settings->audit_log)
               : status;
}

static void rekey(void *context)
{
    const struct coordinator_settings *settings = context;

    coordinator_rekey(coordinator, &settings->config.key);
}

/* daemon.judge */
static void judge(struct health *health)
{
    coordinator_tell_health(coordinator, hub_now_us(), health);
}

/* daemon.count */
static size_t count(struct counter_set sets[PAGES_MAX_SETS])
{
    sets[0] = (struct counter_set){"orbloom_coordinator_", coordinator_counters(),
                                   coordinator_counts(coordinator)};
    return 1;
}

/* daemon.tell */
static void tell(struct metrics *metrics)
{
    struct histogram store_times;

    hub_jobs(loop, JOB_COMMIT, &store_times);
    coordinator_tell_metrics(coordinator, hub_now_us(), &store_times, metrics);
}

/* transport_who_fn */
static bool who(const uint8_t key[CURVE_KEY_BYTES], struct peer *peer)
{
    return coordinator_identify(coordinator, key, peer);
}

/* transport_admits_fn */
static bool admits(const struct peer *from, bool known, struct span frame, struct buffer *refusal)
{
    return gate_pass(GATE_COORDINATOR, from, known, frame, refusal);
}

int main(int argc, char **argv)
{
    static struct coordinator_settings settings;
    const struct daemon daemon = {
        .options = coordinator_option_table(),
        .settings = &settings,
        .settings_bytes = sizeof settings,
        .read_key = cluster_key_read,
        .key = &settings.config.key,
        .key_bytes = sizeof settings.config.key,
        .kind = CURVE_COORDINATOR,
        .pairs = cluster_key_curve_pairs,
        .who = who,
        .admits = admits,
        .max_frame_bytes = CODEC_MAX_FRAME_BYTES,
        .finish = coordinator_settings_finish,
        .read_files = open_audit,
        .check_files = check_files,
        .start = start,
        .name = settings.config.name,
        .judge = judge,
        .count = count,
        .pages = coordinator_pages,
        .npages = COORDINATOR_NPAGES,
        .tell = tell,
        .rekey = rekey,
        .interrupt = interrupt,
        .stop = stop,
    };

    return daemon_main(&daemon, argc, argv);
}
