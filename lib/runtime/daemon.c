/* The order of a daemon's life; what is special to a daemon comes as a table of functions. SIGTERM
 * and SIGINT end it in order; SIGHUP reads its options again, and takes over those that may change
 * while it runs. */
#include "runtime/daemon.h"

#include "base/heap.h"
#include "base/log.h"
#include "runtime/movement.h"
#include "runtime/process.h"
#include "runtime/supervisor/notify.h"
#include "runtime/supervisor/supervision.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct life {
    const struct daemon *daemon;
    int argc;
    char **argv;
    struct hub *hub;
    void *loaded; /* settings as file and flags gave them, without what finish() makes of them */
    bool draining;
    struct transport transport;
    struct password token;               /* of http_token_file */
    struct http_certificate certificate; /* of http_cert_file */
    bool renewed;                        /* ... by the last SIGHUP */
    struct pages *pages;                 /* NULL: nothing is told by HTTP */
    bool announced;
    struct notify notify; /* to whoever supervises it */
    struct supervision supervision;
};

static enum log_level wanted_level(const struct daemon *self)
{
    const struct daemon_settings *settings = self->settings;
    enum log_level level = LOG_INFO;

    (void)log_level_parse(settings->log_level, &level); /* One of the option's choices. */
    return level;
}

static enum log_format wanted_format(const struct daemon *self)
{
    const struct daemon_settings *settings = self->settings;

    return strcmp(settings->log_format, "json") == 0 ? LOG_JSON : LOG_TEXT;
}

bool daemon_listens_curve(const struct daemon_settings *settings)
{
    return transport_is_curve(settings->transport, settings->listen);
}

/* Plain text where others can read it, and a door that is open to them, must be meant. */
static bool check_transport(const struct daemon *daemon, const struct daemon_settings *settings,
                            const struct option_origins *origins)
{
    if (strcmp(settings->transport, "plain") != 0 || strcmp(settings->allow_plain, "on") == 0 ||
        options_endpoint_is_loopback(settings->listen)) {
        return true;
    }
    (void)options_refuse(
        daemon->options, origins, "transport",
        "transport is plain, and listen, %s, is not loopback: whoever reaches it may "
        "do anything, and read all that is said; say transport = \"curve\", listen on "
        "loopback, or say allow_plain = \"on\" if that is meant",
        settings->listen);
    return false;
}

/* What is told there helps whoever plans an attack. */
static bool check_http(const struct daemon *daemon, const struct daemon_settings *settings,
                       const struct option_origins *origins)
{
    const char *endpoint = settings->http_listen;

    if (endpoint[0] == '\0') {
        return true;
    }
    if (options_endpoints_clash(endpoint, settings->listen)) {
        (void)options_refuse(daemon->options, origins, "http_listen listen",
                             "http_listen, %s, and listen, %s, are one address; each needs a port "
                             "of its own",
                             endpoint, settings->listen);
        return false;
    }
    if (!options_endpoint_is_loopback(endpoint) && settings->http_token_file[0] == '\0' &&
        strcmp(settings->http_open, "on") != 0) {
        (void)options_refuse(
            daemon->options, origins, "http_listen",
            "http_listen, %s, is not loopback, and without a token whoever reaches it is told all "
            "that this process counts: name a file with one as http_token_file, listen on "
            "loopback, or say http_open = \"on\" if that is meant",
            endpoint);
        return false;
    }
    return true;
}

static bool finish(const struct daemon *daemon, void *settings,
                   const struct option_origins *origins)
{
    return check_transport(daemon, settings, origins) && check_http(daemon, settings, origins) &&
           (daemon->finish == NULL || daemon->finish(settings, origins) == STATUS_OK);
}

static bool read_token(const struct daemon *daemon, struct password *token)
{
    const struct daemon_settings *settings = daemon->settings;

    return settings->http_token_file[0] == '\0' ||
           file_read_password("the http_token_file", settings->http_token_file, token) == STATUS_OK;
}

static bool read_certificate(const struct daemon *daemon, struct http_certificate *certificate)
{
    const struct daemon_settings *settings = daemon->settings;

    return settings->http_cert_file[0] == '\0' ||
           http_certificate_read(settings->http_cert_file, settings->http_key_file, certificate) ==
               STATUS_OK;
}

static bool read_files(struct life *self)
{
    const struct daemon *daemon = self->daemon;
    struct password token = self->token;
    struct http_certificate certificate = {0};

    if (!read_token(daemon, &token) || !read_certificate(daemon, &certificate) ||
        (daemon->read_files != NULL && daemon->read_files(daemon->settings) != STATUS_OK)) {
        http_certificate_fini(&certificate);
        return false;
    }
    self->token = token;
    self->renewed = !http_certificate_equal(&self->certificate, &certificate);
    http_certificate_fini(&self->certificate);
    self->certificate = certificate;
    return true;
}

/* The daemon's settings have just been loaded: a SIGHUP is compared with them. */
static enum status keep_loaded(struct life *self)
{
    size_t size = self->daemon->settings_bytes;

    self->loaded = heap_zalloc(1, size);
    if (self->loaded == NULL) {
        log_line(LOG_ERROR, "out of memory");
        return STATUS_NOMEM;
    }
    memcpy(self->loaded, self->daemon->settings, size);
    return STATUS_OK;
}

/* ---- what its supervisor is told ---- */

static void open_supervision(struct life *self)
{
    notify_open(&self->notify, getenv("NOTIFY_SOCKET"));
    supervision_init(&self->supervision,
                     notify_watchdog_us(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID")));
}

static void speak(struct life *self, uint64_t now_us)
{
    const struct daemon *daemon = self->daemon;
    struct health moves = {0};
    struct health fitness = {0};
    char text[SUPERVISION_TEXT_BYTES];

    movement_look(self->hub, daemon->logs, &moves);
    daemon->judge(&fitness);
    notify_send(&self->notify,
                supervision_beat(&self->supervision, now_us, &moves, &fitness, text));
}

/* In each turn of the loop, while there is an actor to ask: what takes long is done when due. */
static void report(struct life *self)
{
    uint64_t now_us = hub_now_us();

    if (notify_is_open(&self->notify) && supervision_due(&self->supervision, now_us)) {
        speak(self, now_us);
    }
}

/* As the protocol has it, by the clock that stands still while the machine sleeps. */
static void report_reload(struct life *self)
{
    char text[SUPERVISION_TEXT_BYTES];
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    notify_send(&self->notify,
                supervision_reload(&self->supervision,
                                   (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000,
                                   text));
}

/* ---- signals ---- */

static void end(struct life *self)
{
    notify_send(&self->notify, supervision_stop(&self->supervision));
    if (self->daemon->drain == NULL || self->draining) {
        hub_stop(self->hub);
    } else {
        self->draining = true;
        self->daemon->drain(self->daemon->settings, hub_now_us());
    }
}

/* ---- reading the file again ---- */

static void copy_live(const struct option_table *table, const void *from, void *to)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->options[i].live) {
            options_copy(&table->options[i], from, to);
        }
    }
}

static void tell_changes(const struct option_table *table, const void *before, const void *after)
{
    bool any = false;

    for (size_t i = 0; i < table->count; i++) {
        const struct option *option = &table->options[i];

        if (!options_differ(option, before, after)) {
            continue;
        }
        any = true;
        log_line(option->live ? LOG_INFO : LOG_WARN, "SIGHUP: %s has changed%s", option->name,
                 option->live ? "" : ", which takes effect with a restart");
    }
    if (!any) {
        log_line(LOG_INFO, "SIGHUP: no option has changed");
    }
}

/* What is wrong with it, if anything, is said there; the one before stays. */
static void show_certificate(struct life *self)
{
    if (self->pages != NULL && self->renewed &&
        pages_certify(self->pages, &self->certificate) == STATUS_OK) {
        log_line(LOG_INFO, "SIGHUP: http_cert_file holds another certificate, which is shown now");
    }
    self->renewed = false;
}

static void use(struct life *self)
{
    const struct daemon *daemon = self->daemon;

    log_set_level(wanted_level(daemon));
    log_set_format(wanted_format(daemon));
    show_certificate(self);
    if (daemon->reload != NULL) {
        daemon->reload(daemon->settings);
    }
}

/* What is well by itself may not go with what stays as it is. */
static bool take(struct life *self, const void *fresh, const struct option_origins *origins)
{
    const struct daemon *daemon = self->daemon;

    copy_live(daemon->options, fresh, daemon->settings);
    if (!finish(daemon, daemon->settings, origins) || !read_files(self)) {
        copy_live(daemon->options, self->loaded, daemon->settings);
        (void)finish(daemon, daemon->settings, origins); /* As at the start. */
        return false;
    }
    tell_changes(daemon->options, self->loaded, fresh);
    copy_live(daemon->options, fresh, self->loaded);
    use(self);
    return true;
}

static bool read_key(const struct daemon *daemon, void *key)
{
    const struct daemon_settings *settings = daemon->settings;

    return file_read_secret(&file_cluster_key, settings->cluster_key_file, daemon->read_key, key) ==
           STATUS_OK;
}

/* Another file by mistake, as a rule: with it this process would be cut off from all others. */
static bool check_key(const struct life *self, const void *key)
{
    const struct daemon_settings *settings = self->daemon->settings;

    if (transport_shares_key(&self->transport, key)) {
        return true;
    }
    log_line(LOG_ERROR,
             "%s: none of its keys is in use here, so this process could talk to none that has not "
             "read it, too; add a key to the ring that there was (orbloom key add), bring it to "
             "all processes, then promote and retire; or restart all processes with the new one",
             settings->cluster_key_file);
    return false;
}

static void take_key(struct life *self, const void *key)
{
    const struct daemon *daemon = self->daemon;

    if (memcmp(daemon->key, key, daemon->key_bytes) == 0) {
        return;
    }
    memcpy(daemon->key, key, daemon->key_bytes);
    daemon->rekey(daemon->settings);
    transport_rekey(&self->transport, daemon->key);
    hub_rekey(self->hub);
    log_line(LOG_INFO, "SIGHUP: cluster_key_file holds other keys, which are in use from now on");
}

/* False: all is as it was. */
static bool reload(struct life *self)
{
    const struct daemon *daemon = self->daemon;
    void *fresh = heap_zalloc(1, daemon->settings_bytes);
    void *key = heap_zalloc(1, daemon->key_bytes);
    struct option_result result;
    bool taken = fresh != NULL && key != NULL && read_key(daemon, key) && check_key(self, key) &&
                 options_load(daemon->options, self->argc, self->argv, fresh, &result) ==
                     STATUS_OK &&
                 finish(daemon, fresh, &result.origins) && take(self, fresh, &result.origins);

    if (taken) {
        take_key(self, key);
    } else {
        log_line(LOG_ERROR, "SIGHUP: all options stay as they were, and the cluster key: %s",
                 fresh == NULL || key == NULL ? "out of memory" : "see the line above");
    }
    if (key != NULL) {
        explicit_bzero(key, daemon->key_bytes);
    }
    heap_free(key);
    heap_free(fresh);
    return taken;
}

/* hub_options.on_signal */
static void on_signal(void *context, int number)
{
    struct life *self = context;

    if (number == SIGHUP) {
        report_reload(self);
        supervision_reloaded(&self->supervision, !reload(self));
    } else {
        end(self);
    }
}

/* ---- from start to end ---- */

/* At once: whoever started us waits for it. */
static void announce(struct life *self)
{
    if (self->announced || (self->daemon->serves != NULL && !self->daemon->serves())) {
        return;
    }
    self->announced = true;
    (void)printf("ready %s\n", hub_endpoint(self->hub));
    (void)fflush(stdout);
    supervision_ready(&self->supervision);
}

/* hub_turn_fn. True: there is nobody to tell anything more. */
static bool tell_starter(void *context)
{
    struct life *self = context;

    announce(self);
    report(self);
    return self->announced && !notify_is_open(&self->notify);
}

/* Until the loop runs nobody is answered. */
static bool open_pages(struct life *self)
{
    const struct daemon *daemon = self->daemon;
    const struct daemon_settings *settings = daemon->settings;
    bool guarded = settings->http_token_file[0] != '\0';
    bool encrypted = settings->http_cert_file[0] != '\0';
    const struct pages_source source = {
        .program = daemon->options->program,
        .name = daemon->name,
        .logs = daemon->logs,
        .judge = daemon->judge,
        .count = daemon->count,
        .pages = daemon->pages,
        .npages = daemon->npages,
        .tell = daemon->tell,
        .certificates = daemon->certificates,
        .token = guarded ? &self->token : NULL,
        .certificate = encrypted ? &self->certificate : NULL,
    };

    if (settings->http_listen[0] == '\0') {
        return true;
    }
    if (pages_open(self->hub, settings->http_listen, &source, &self->pages) != STATUS_OK) {
        return false;
    }
    log_line(LOG_INFO, "tells metrics and health at %s by %s%s", pages_endpoint(self->pages),
             encrypted ? "TLS" : "plain HTTP", guarded ? ", to who knows the token" : "");
    (void)printf("http %s\n", pages_endpoint(self->pages));
    (void)fflush(stdout);
    return true;
}

static int serve(struct life *self)
{
    const struct daemon *daemon = self->daemon;
    struct actor actor = {0};

    if (!open_pages(self) || daemon->start(daemon->settings, self->hub, &actor) != STATUS_OK) {
        pages_close(&self->pages);
        return PROCESS_EXIT_FAILURE;
    }
    hub_attach(self->hub, &actor);
    if (!tell_starter(self)) {
        hub_each_turn(self->hub, tell_starter, self);
    }
    hub_run(self->hub);
    notify_send(&self->notify, supervision_stop(&self->supervision));
    pages_close(&self->pages);
    if (daemon->interrupt != NULL) {
        daemon->interrupt();
    }
    hub_stop_lanes(self->hub); /* Before stop(): a job may still use what that takes down. */
    if (daemon->stop() != STATUS_OK) {
        return PROCESS_EXIT_FAILURE;
    }
    log_line(LOG_INFO, "stopped");
    return PROCESS_EXIT_OK;
}

static void open_transport(struct life *self)
{
    const struct daemon *daemon = self->daemon;
    const struct daemon_settings *settings = daemon->settings;

    self->transport = (struct transport){
        .curve = {.listens = daemon_listens_curve(settings)},
        .kind = daemon->kind,
        .mode = settings->transport,
        .coordinators = daemon->coordinators,
        .coordinator_bytes = daemon->coordinator_bytes,
        .ncoordinators = daemon->ncoordinators,
        .make_pairs = daemon->pairs,
        .who = daemon->who,
        .admits = daemon->admits,
    };
    transport_init(&self->transport, daemon->key);
    log_line(LOG_INFO, "serves at %s by %s", settings->listen,
             self->transport.curve.listens ? "CURVE" : "plain ZMTP");
}

static int run(struct life *self)
{
    const struct daemon *daemon = self->daemon;
    const struct daemon_settings *settings = daemon->settings;
    const struct hub_options options = {
        .listen = settings->listen,
        .max_frame_bytes = daemon->max_frame_bytes,
        .on_signal = on_signal,
        .signal_context = self,
        .curve = &self->transport.curve,
        .io_threads = (unsigned)settings->io_threads,
    };
    int code;

    if (!read_key(daemon, daemon->key) || !read_files(self)) {
        return PROCESS_EXIT_FAILURE;
    }
    open_transport(self);
    if (hub_create(&options, &self->hub) != STATUS_OK) {
        transport_fini(&self->transport);
        return PROCESS_EXIT_FAILURE;
    }
    open_supervision(self);
    code = serve(self);
    notify_close(&self->notify);
    hub_destroy(&self->hub);
    transport_fini(&self->transport);
    http_certificate_fini(&self->certificate);
    return code;
}

/* What a start would read is read, so that what is wrong shows before a process is stopped for it.
 */
static int check(const struct daemon *self, const struct option_result *result)
{
    struct password token;
    struct http_certificate certificate = {0};
    bool read = read_key(self, self->key) && read_token(self, &token) &&
                read_certificate(self, &certificate);

    http_certificate_fini(&certificate);
    if (!read || (self->check_files != NULL && self->check_files(self->settings) != STATUS_OK)) {
        return PROCESS_EXIT_FAILURE;
    }
    (void)printf("%s: ok\n", result->config);
    return PROCESS_EXIT_OK;
}

int daemon_main(const struct daemon *self, int argc, char **argv)
{
    struct life life = {.daemon = self, .argc = argc, .argv = argv};
    struct option_result result;
    int code;

    assert(self->settings_bytes >= sizeof(struct daemon_settings));
    assert(self->read_key != NULL && self->rekey != NULL && self->key_bytes > 0);
    assert(self->pairs != NULL);
    assert(self->start != NULL && self->stop != NULL);
    assert(self->name != NULL && self->judge != NULL && self->count != NULL);
    process_prepare();
    if (options_load(self->options, argc, argv, self->settings, &result) != STATUS_OK) {
        return PROCESS_EXIT_USAGE;
    }
    if (result.done) {
        return PROCESS_EXIT_OK;
    }
    if (keep_loaded(&life) != STATUS_OK) {
        return PROCESS_EXIT_FAILURE;
    }
    if (!finish(self, self->settings, &result.origins)) {
        code = PROCESS_EXIT_USAGE;
    } else if (result.check_config) {
        log_setup(self->options->program, LOG_WARN);
        code = check(self, &result);
    } else {
        log_setup(self->options->program, wanted_level(self));
        log_set_format(wanted_format(self));
        code = run(&life);
    }
    heap_free(life.loaded);
    return code;
}
