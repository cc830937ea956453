/* SIGTERM and SIGINT end the daemon in order; SIGHUP reads its options again, and takes over
 * those that may change while it runs. */
#include "runtime/daemon_signals.h"

#include "base/heap.h"
#include "base/log.h"

#include <signal.h>
#include <string.h>

enum status daemon_signals_init(struct daemon_signals *self)
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

void daemon_signals_fini(struct daemon_signals *self)
{
    heap_free(self->loaded);
    self->loaded = NULL;
}

static void end(struct daemon_signals *self)
{
    if (self->daemon->drain == NULL || self->draining) {
        hub_stop(self->hub);
    } else {
        self->draining = true;
        self->daemon->drain(self->daemon->settings, hub_now_us());
    }
}

/* ---- reading the file again ---- */

static bool finish(const struct daemon *daemon, void *settings)
{
    return daemon->finish == NULL || daemon->finish(settings) == STATUS_OK;
}

static bool read_files(const struct daemon *daemon)
{
    return daemon->read_files == NULL || daemon->read_files(daemon->settings) == STATUS_OK;
}

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

static void use(const struct daemon_signals *self)
{
    const struct daemon *daemon = self->daemon;
    const struct daemon_settings *settings = daemon->settings;
    enum log_level level = LOG_INFO;

    (void)log_level_parse(settings->log_level, &level); /* One of the option's choices. */
    log_set_level(level);
    if (daemon->reload != NULL) {
        daemon->reload(daemon->settings);
    }
}

/* What is well by itself may not go with what stays as it is. */
static bool take(struct daemon_signals *self, const void *fresh)
{
    const struct daemon *daemon = self->daemon;

    copy_live(daemon->options, fresh, daemon->settings);
    if (!finish(daemon, daemon->settings) || !read_files(daemon)) {
        copy_live(daemon->options, self->loaded, daemon->settings);
        (void)finish(daemon, daemon->settings); /* As at the start. */
        return false;
    }
    tell_changes(daemon->options, self->loaded, fresh);
    copy_live(daemon->options, fresh, self->loaded);
    use(self);
    return true;
}

static void reload(struct daemon_signals *self)
{
    const struct daemon *daemon = self->daemon;
    void *fresh = heap_zalloc(1, daemon->settings_bytes);
    struct option_result result;

    if (fresh == NULL ||
        options_load(daemon->options, self->argc, self->argv, fresh, &result) != STATUS_OK ||
        !finish(daemon, fresh) || !take(self, fresh)) {
        log_line(LOG_ERROR, "SIGHUP: all options stay as they were: %s",
                 fresh == NULL ? "out of memory" : "see the line above");
    }
    heap_free(fresh);
}

void daemon_on_signal(void *context, int number)
{
    if (number == SIGHUP) {
        reload(context);
    } else {
        end(context);
    }
}
