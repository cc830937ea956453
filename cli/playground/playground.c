/* Starts the daemons one after the other, waits until they answer, runs a command if there is
 * one, and stops all of them, whatever ends first. */
#include "cli/playground/playground.h"

#include "base/heap.h"
#include "cli/cmd.h"
#include "cli/playground/private.h"
#include "runtime/hub.h"

#include <inttypes.h>
#include <signal.h>

enum {
    START_LIMIT_US = 60000000,
    CHECK_INTERVAL_MS = 20,
    STOP_LIMIT_MS = 8000, /* longer than a router drains */
    SIGNAL_EXIT = 128,    /* as shells say it */
    LIST_BYTES = PLAYGROUND_MAX_ROUTERS * DOCUMENT_TEXT_BYTES,
};

static bool all_ready(const struct playground *self)
{
    for (uint32_t i = 0; i < self->nprocesses; i++) {
        if (!self->processes[i].ready) {
            return false;
        }
    }
    return true;
}

static bool any_running(const struct playground *self)
{
    bool running = self->command_running;

    for (uint32_t i = 0; i < self->nprocesses; i++) {
        running |= self->processes[i].running;
    }
    return running;
}

static void kill_all(struct playground *self, int signal)
{
    for (uint32_t i = 0; i < self->nprocesses; i++) {
        playground_process_kill(&self->processes[i], signal);
    }
}

/* Closing what is left makes uv_run() return. */
static void close_watchers(struct playground *self)
{
    if (uv_is_closing((uv_handle_t *)&self->timer)) {
        return;
    }
    uv_close((uv_handle_t *)&self->timer, NULL);
    for (size_t i = 0; i < PLAYGROUND_NSIGNALS; i++) {
        uv_close((uv_handle_t *)&self->signals[i], NULL);
    }
}

static void on_stop_limit(uv_timer_t *timer)
{
    struct playground *self = timer->data;

    if (self->command_running) {
        (void)uv_process_kill(&self->command, SIGKILL);
    }
    kill_all(self, SIGKILL);
}

static void remove_env(const struct playground *self)
{
    playground_remove(&self->folder, NULL, "env");
    for (uint32_t i = 0; i < self->options->sites && self->options->sites > 1; i++) {
        playground_remove(&self->folder, self->sites[i].name, "env");
    }
}

/* The command first: it may want to say goodbye to a cluster that still answers. */
static void stop(struct playground *self)
{
    if (self->stage != STAGE_STOPPING) {
        self->stage = STAGE_STOPPING;
        remove_env(self);
        (void)uv_timer_start(&self->timer, on_stop_limit, STOP_LIMIT_MS, STOP_LIMIT_MS);
    }
    if (self->command_running) {
        (void)uv_process_kill(&self->command, SIGTERM);
        return;
    }
    kill_all(self, SIGTERM);
    kill_all(self, SIGCONT); /* One that somebody stopped can't end before it goes on. */
    if (!any_running(self)) {
        close_watchers(self);
    }
}

static void give_up(struct playground *self)
{
    self->code = CMD_PARTIAL;
    stop(self);
}

static void on_signal(uv_signal_t *signal, int number)
{
    struct playground *self = signal->data;

    (void)number;
    if (self->options->command != NULL && self->stage < STAGE_SERVING) {
        self->code = CMD_PARTIAL; /* It was never run. */
    }
    stop(self);
}

static void on_command_exit(uv_process_t *handle, int64_t status, int signal)
{
    struct playground *self = handle->data;

    self->command_running = false;
    self->code = signal != 0 ? SIGNAL_EXIT + signal : (int)status;
    uv_close((uv_handle_t *)handle, NULL);
    stop(self);
}

static void run_command(struct playground *self)
{
    uv_stdio_container_t stdio[] = {
        {.flags = UV_INHERIT_FD, .data.fd = 0},
        {.flags = UV_INHERIT_FD, .data.fd = 1},
        {.flags = UV_INHERIT_FD, .data.fd = 2},
    };
    uv_process_options_t options = {.exit_cb = on_command_exit,
                                    .file = self->options->command[0],
                                    .args = self->options->command,
                                    .stdio_count = 3,
                                    .stdio = stdio};
    int error;

    self->command.data = self;
    error = uv_spawn(&self->loop, &self->command, &options);
    if (error != 0) {
        uv_close((uv_handle_t *)&self->command, NULL);
        (void)cmd_fail(STATUS_IO, "cannot run %s: %s", options.file, uv_strerror(error));
        give_up(self);
        return;
    }
    self->command_running = true;
}

static void print_site(const struct playground *self, uint32_t site)
{
    char routers[LIST_BYTES];

    if (self->options->sites > 1) {
        (void)printf("%s: . %s/%s/env\n", self->sites[site].name, self->folder.path,
                     self->sites[site].name);
    }
    (void)printf("  router       %s\n", playground_routers(self, site, routers, sizeof routers));
    (void)printf("  coordinator  %s\n", self->sites[site].coordinator->endpoint);
    if (self->options->base_port != 0) {
        (void)printf("  page         http://127.0.0.1:%u/ and /metrics of it, of others likewise "
                     "%d higher\n",
                     self->options->base_port + site * PLAYGROUND_SITE_PORTS +
                         PLAYGROUND_HTTP_PORTS,
                     PLAYGROUND_HTTP_PORTS);
    }
}

static void print_welcome(const struct playground *self)
{
    if (self->options->sites > 1) {
        (void)printf("playground of %u sites, each of 1 link, ", self->options->sites);
    } else {
        (void)printf("playground of ");
    }
    (void)printf("1 coordinator, %u node%s, %u router%s in %s%s\n", self->options->nodes,
                 self->options->nodes == 1 ? "" : "s", self->options->routers,
                 self->options->routers == 1 ? "" : "s", self->folder.path,
                 self->folder.temporary ? " (removed at the end)" : "");
    for (uint32_t i = 0; i < self->options->sites; i++) {
        print_site(self, i);
    }
    (void)printf("use it from another terminal:\n");
    (void)printf("  . %s/env\n", self->folder.path);
    (void)printf("  orbloom create seen --capacity 10M --fpr 1%%\n");
    (void)printf("  printf 'a\\nb\\na\\n' | orbloom dedup seen\n");
    (void)printf("stop it with Ctrl-C\n");
    (void)fflush(stdout);
}

static void begin_serving(struct playground *self)
{
    (void)uv_timer_stop(&self->timer);
    if (playground_export(self) != STATUS_OK) {
        give_up(self);
        return;
    }
    self->stage = STAGE_SERVING;
    if (self->options->command != NULL) {
        run_command(self);
    } else {
        print_welcome(self);
    }
}

static void report_slow_start(struct playground *self)
{
    (void)cmd_fail(STATUS_DEADLINE, "the playground does not answer after %d s; see its logs",
                   START_LIMIT_US / 1000000);
    for (uint32_t i = 0; i < self->nprocesses; i++) {
        if (!self->processes[i].ready || self->stage == STAGE_CHECKING) {
            playground_show_log(&self->folder, self->processes[i].name);
        }
    }
    give_up(self);
}

static void on_check(uv_timer_t *timer)
{
    struct playground *self = timer->data;

    if (self->stage == STAGE_CHECKING && playground_answers(self)) {
        begin_serving(self);
    } else if (hub_now_us() - self->start_us > START_LIMIT_US) {
        report_slow_start(self);
    }
}

static void start_one(struct playground *self, struct playground_process *process)
{
    if (self->stage != STAGE_STOPPING &&
        (playground_write_conf(self, process) != STATUS_OK ||
         playground_process_start(process, &self->loop) != STATUS_OK)) {
        give_up(self);
    }
}

/* All coordinators first: what follows is told of them. */
static void start_rest(struct playground *self)
{
    for (uint32_t i = 0; i < self->options->sites; i++) {
        if (!self->sites[i].coordinator->ready) {
            return;
        }
    }
    self->stage = STAGE_REST;
    for (uint32_t i = 0; i < self->nprocesses; i++) {
        struct playground_process *process = &self->processes[i];

        if (process->role != PLAYGROUND_COORDINATOR &&
            (process->role != PLAYGROUND_LINK || process->site == 0)) {
            start_one(self, process);
        }
    }
}

/* It dials those that were started before. */
static void start_next_link(struct playground *self, const struct playground_process *link)
{
    uint32_t next = link->site + 1;

    if (next < self->options->sites) {
        start_one(self, self->sites[next].link);
    }
}

/* A port that the kernel chose goes into the file: started again by hand it is the same. */
static void on_ready(void *context, struct playground_process *process)
{
    struct playground *self = context;

    if (self->stage == STAGE_STOPPING) {
        return;
    }
    if (playground_write_conf(self, process) != STATUS_OK) {
        give_up(self);
        return;
    }
    if (self->stage == STAGE_COORDINATOR) {
        start_rest(self);
        return;
    }
    if (self->stage == STAGE_REST && process->role == PLAYGROUND_LINK) {
        start_next_link(self, process);
    }
    if (self->stage == STAGE_REST && all_ready(self)) {
        self->stage = STAGE_CHECKING;
    }
}

static void on_gone(void *context, struct playground_process *process)
{
    struct playground *self = context;
    bool expected = self->stage == STAGE_STOPPING && process->exit_signal != SIGSEGV &&
                    process->exit_signal != SIGABRT;

    if (!expected) {
        playground_process_report(process);
    }
    if (self->stage == STAGE_STOPPING) {
        if (!any_running(self)) {
            close_watchers(self);
        }
    } else if (self->stage != STAGE_SERVING) {
        give_up(self);
    } else {
        char conf[PLAYGROUND_PATH_BYTES];

        playground_path(&self->folder, process->name, "conf", conf);
        (void)fprintf(stderr, "the others go on; start it again with: %s --config %s\n",
                      playground_program(process->role), conf);
    }
}

static enum status prepare(struct playground *self)
{
    static const int numbers[PLAYGROUND_NSIGNALS] = {SIGINT, SIGTERM, SIGHUP};

    if (uv_loop_init(&self->loop) != 0) {
        (void)cmd_fail(STATUS_IO, "cannot make an event loop; raise the limit of open files");
        return STATUS_IO;
    }
    (void)uv_timer_init(&self->loop, &self->timer);
    self->timer.data = self;
    for (size_t i = 0; i < PLAYGROUND_NSIGNALS; i++) {
        (void)uv_signal_init(&self->loop, &self->signals[i]);
        self->signals[i].data = self;
        (void)uv_signal_start(&self->signals[i], on_signal, numbers[i]);
    }
    (void)uv_timer_start(&self->timer, on_check, CHECK_INTERVAL_MS, CHECK_INTERVAL_MS);
    self->watcher = (struct playground_watcher){
        .context = self, .ready = on_ready, .gone = on_gone};
    return STATUS_OK;
}

static void drive(struct playground *self)
{
    enum status status = playground_plan(self);

    for (uint32_t i = 0; i < self->options->sites && status == STATUS_OK; i++) {
        start_one(self, self->sites[i].coordinator);
    }
    if (status != STATUS_OK) {
        give_up(self);
    }
    (void)uv_run(&self->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&self->loop);
}

int playground_run(const struct playground_options *options)
{
    struct playground *self = heap_zalloc(1, sizeof *self);
    int code = CMD_PARTIAL;

    if (self == NULL) {
        return cmd_fail(STATUS_NOMEM, "no memory for a playground");
    }
    self->options = options;
    self->start_us = hub_now_us();
    if (playground_folder_open(&self->folder, options->dir) == STATUS_OK) {
        if (prepare(self) == STATUS_OK) {
            drive(self);
            code = self->code;
        }
        playground_folder_close(&self->folder);
    }
    heap_free(self);
    return code;
}
