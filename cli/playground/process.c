/* Starts a daemon with a pipe for its "ready" line, and a log file and pid file beside it. */
#include "cli/playground/process.h"

#include "cli/cmd.h"
#include "runtime/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

const char *playground_program(enum playground_role role)
{
    static const char *const names[] = {
        [PLAYGROUND_COORDINATOR] = "orbloom-coordinator",
        [PLAYGROUND_ROUTER] = "orbloom-router",
        [PLAYGROUND_NODE] = "orbloom-node",
        [PLAYGROUND_LINK] = "orbloom-link",
    };

    return names[role];
}

static enum status read_self(char path[PLAYGROUND_PATH_BYTES])
{
    ssize_t size = readlink("/proc/self/exe", path, PLAYGROUND_PATH_BYTES - 1);

    if (size <= 0) {
        (void)cmd_fail(STATUS_IO, "/proc/self/exe cannot be read; is /proc mounted?");
        return STATUS_IO;
    }
    path[size] = '\0';
    return STATUS_OK;
}

/* The folder of the running program. */
static enum status bin_folder(char path[PLAYGROUND_PATH_BYTES])
{
    enum status status = read_self(path);

    if (status == STATUS_OK) {
        *strrchr(path, '/') = '\0';
    }
    return status;
}

/* Whoever has started it again meanwhile may have put its own there. */
static void remove_pid(const struct playground_process *self)
{
    if (playground_pid(self->folder, self->name) == self->handle.pid) {
        playground_remove(self->folder, self->name, "pid");
    }
}

static void on_end(uv_process_t *handle, int64_t status, int signal)
{
    struct playground_process *self = handle->data;

    self->running = false;
    self->exit_status = status;
    self->exit_signal = signal;
    remove_pid(self);
    uv_close((uv_handle_t *)handle, NULL);
    self->watcher->gone(self->watcher->context, self);
}

static bool is_word(const char *line, const char *word, char endpoint[DOCUMENT_TEXT_BYTES])
{
    size_t size = strlen(word);

    if (strncmp(line, word, size) != 0) {
        return false;
    }
    (void)snprintf(endpoint, DOCUMENT_TEXT_BYTES, "%s", line + size);
    return true;
}

/* A line of the daemon's is whole. */
static void take_line(struct playground_process *self)
{
    if (self->ready || is_word(self->line, "sites ", self->site_endpoint)) {
        return;
    }
    if (is_word(self->line, "ready ", self->endpoint)) {
        self->ready = true;
        self->watcher->ready(self->watcher->context, self);
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct playground_process *self = handle->data;

    (void)suggested;
    if (self->line_size == sizeof self->line - 1) {
        self->line_size = 0; /* Not a line that we wait for. */
    }
    *buffer = uv_buf_init(self->line + self->line_size,
                          (unsigned)(sizeof self->line - 1 - self->line_size));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct playground_process *self = stream->data;
    char *stop;

    (void)buffer;
    if (size < 0) {
        uv_close((uv_handle_t *)stream, NULL);
        return;
    }
    self->line_size += (size_t)size;
    self->line[self->line_size] = '\0';
    while ((stop = strchr(self->line, '\n')) != NULL) {
        *stop = '\0';
        take_line(self);
        self->line_size -= (size_t)(stop + 1 - self->line);
        memmove(self->line, stop + 1, self->line_size + 1);
    }
}

static enum status spawn(struct playground_process *self, uv_loop_t *loop, char **words, int log)
{
    uv_stdio_container_t stdio[] = {
        {.flags = UV_IGNORE},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&self->output},
        {.flags = UV_INHERIT_FD, .data.fd = log},
        {.flags = UV_INHERIT_FD, .data.fd = self->folder->lock}, /* held until all have ended */
    };
    uv_process_options_t options = {.exit_cb = on_end,
                                    .file = words[0],
                                    .args = words,
                                    .flags = UV_PROCESS_DETACHED, /* Ctrl-C is for us alone. */
                                    .stdio_count = sizeof stdio / sizeof stdio[0],
                                    .stdio = stdio};
    int error = uv_spawn(loop, &self->handle, &options);

    if (error != 0) {
        (void)cmd_fail(STATUS_IO, "cannot start %s: %s", self->name, uv_strerror(error));
        uv_close((uv_handle_t *)&self->handle, NULL);
        return STATUS_IO;
    }
    self->running = true;
    return STATUS_OK;
}

static enum status write_pid(const struct playground_process *self)
{
    char text[PLAYGROUND_NAME_BYTES];

    (void)snprintf(text, sizeof text, "%d\n", self->handle.pid);
    return playground_write(self->folder, self->name, "pid", text);
}

enum status playground_process_start(struct playground_process *self, uv_loop_t *loop)
{
    char self_path[PLAYGROUND_PATH_BYTES];
    char conf[PLAYGROUND_PATH_BYTES];
    char path[PLAYGROUND_PATH_BYTES];
    char parent[PLAYGROUND_NAME_BYTES];
    char program[PLAYGROUND_NAME_BYTES];
    char child[] = "playground-child";
    char *words[] = {self_path, child, parent, program, conf, NULL};
    enum status status;
    int log;

    if (read_self(self_path) != STATUS_OK) {
        return STATUS_IO;
    }
    (void)snprintf(parent, sizeof parent, "%d", (int)getpid());
    (void)snprintf(program, sizeof program, "%s", playground_program(self->role));
    playground_path(self->folder, self->name, "conf", conf);
    playground_path(self->folder, self->name, "log", path);
    log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0) {
        (void)cmd_fail(STATUS_IO, "%s: %s", path, strerror(errno));
        return STATUS_IO;
    }
    self->handle.data = self;
    self->output.data = self;
    (void)uv_pipe_init(loop, &self->output, 0); /* Fails never without a shared handle. */
    status = spawn(self, loop, words, log);
    (void)close(log);
    if (status != STATUS_OK) {
        uv_close((uv_handle_t *)&self->output, NULL);
        return status;
    }
    (void)uv_read_start((uv_stream_t *)&self->output, on_alloc, on_read);
    return write_pid(self);
}

void playground_process_kill(struct playground_process *self, int signal)
{
    if (self->running) {
        (void)uv_process_kill(&self->handle, signal);
    }
}

void playground_process_report(const struct playground_process *self)
{
    if (self->exit_signal != 0) {
        (void)fprintf(stderr, "orbloom: %s was killed by signal %d (%s)\n", self->name,
                      self->exit_signal, strsignal(self->exit_signal));
    } else {
        (void)fprintf(stderr, "orbloom: %s ended with exit status %" PRId64 "\n", self->name,
                      self->exit_status);
    }
    playground_show_log(self->folder, self->name);
}

/* ---- a hidden command between the playground and a daemon, which sees to it that the daemon dies
 * with the playground ---- */

/* `orbloom playground-child PARENT PROGRAM CONF`: becomes a daemon that dies with the
 * playground. uv_spawn() can't ask the kernel for that; what is asked here survives exec. */

static const struct option_table table = {
    .program = "orbloom",
    .command = "playground-child",
    .words = "PARENT PROGRAM CONF",
    .summary = "Used by playground to start a daemon.",
    .min_words = 3,
    .max_words = 3,
};

static int run(int argc, char **argv)
{
    char config[] = "--config";
    char path[PLAYGROUND_PATH_BYTES];
    struct option_words words;
    char nothing;
    size_t used;

    if (options_parse_command(&table, argc, argv, &nothing, &words) != STATUS_OK ||
        bin_folder(path) != STATUS_OK) {
        return CMD_USAGE;
    }
    used = strlen(path);
    (void)snprintf(path + used, sizeof path - used, "/%s", words.items[1]);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != (pid_t)atol(words.items[0])) {
        return CMD_PARTIAL; /* The playground has gone already. */
    }
    (void)execv(path, (char *[]){path, config, words.items[2], NULL});
    return cmd_fail(STATUS_IO, "cannot start %s: %s; all programs belong into one folder", path,
                    strerror(errno));
}

static const struct command command = {.flags = &table, .run = run, .hidden = true};

const struct command *cmd_playground_child(void)
{
    return &command;
}
