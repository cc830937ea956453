/* Composed in memory, so that the file is there as a whole or not at all. */
#include "cli/doctor/bundle.h"

#include "cli/cmd.h"
#include "cli/doctor/show.h"
#include "cli/show/counters.h"
#include "cli/show/sites.h"
#include "cli/show/status_json.h"
#include "client/orbloom.h"
#include "map/feature.h"
#include "runtime/date.h"
#include "runtime/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MODE = 0600 };

static enum status refuse_existing(const char *path)
{
    (void)cmd_fail(STATUS_EXISTS, "%s is there already, and is not overwritten; name another file",
                   path);
    return STATUS_EXISTS;
}

enum status bundle_check(const char *path)
{
    return access(path, F_OK) == 0 ? refuse_existing(path) : STATUS_OK;
}

static void put_machine(struct json *json, const struct machine *machine)
{
    json_begin(json, "machine", '{');
    json_text(json, "host", machine->host);
    json_count(json, "descriptors", machine->descriptors);
    json_text(json, "huge_pages", machine->huge_pages);
    json_count(json, "swap_bytes", machine->swap_bytes);
    json_count(json, "swap_used_bytes", machine->swap_used_bytes);
    json_number(json, "overcommit", machine->overcommit);
    json_end(json, '}');
}

static void put_features(struct json *json, const struct upgrade_page *page)
{
    static const char *const kinds[] = {[PROCESS_COORDINATOR] = "coordinator",
                                        [PROCESS_NODE] = "node",
                                        [PROCESS_ROUTER] = "router"};
    char text[FEATURES_TEXT_BYTES];

    json_text(json, "features_known", features_show(page->known, text));
    json_text(json, "features_in_use", features_show(page->in_use, text));
    json_begin(json, "features", '[');
    for (size_t i = 0; i < page->nprocesses; i++) {
        json_begin(json, NULL, '{');
        json_text(json, "kind", kinds[page->processes[i].kind]);
        json_text(json, "name", page->processes[i].name);
        json_bool(json, "heard", page->processes[i].heard);
        json_text(json, "knows", features_show(page->processes[i].features, text));
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void put_process(struct json *json, const struct doctor_process *process)
{
    json_begin(json, NULL, '{');
    json_text(json, "kind", doctor_kind_name(process->kind));
    json_text(json, "name", process->name);
    json_text(json, "endpoint", process->endpoint);
    if (process->stats.frame != NULL) {
        counters_json(json, &process->stats.frame->body.stats_reply);
    }
    if (process->status.frame != NULL) {
        status_json(json, "status", &process->status.frame->body.admin_reply);
    }
    if (process->upgrade.frame != NULL) {
        put_features(json, &process->upgrade.frame->body.admin_reply.upgrade);
    }
    json_end(json, '}');
}

static void put_all(FILE *out, const struct gathered *gathered, const struct findings *findings)
{
    struct json json;

    json_open(&json, out);
    json_begin(&json, NULL, '{');
    json_text(&json, "orbloom", ORBLOOM_VERSION);
    json_count(&json, "made_ms", date_now_ms());
    doctor_show_json(&json, "doctor", gathered, findings);
    put_machine(&json, &gathered->machine);
    json_begin(&json, "processes", '[');
    for (size_t i = 0; i < gathered->nprocesses; i++) {
        put_process(&json, &gathered->processes[i]);
    }
    json_end(&json, ']');
    if (gathered->earlier != NULL) { /* Else it is the coordinator's. */
        status_json(&json, "later", gathered->cluster);
    }
    if (gathered->sites.frame != NULL &&
        gathered->sites.frame->body.admin_reply.sites.site != NULL) {
        sites_json(&json, "sites", &gathered->sites.frame->body.admin_reply.sites, &gathered->lags);
    }
    json_end(&json, '}');
}

enum status bundle_write(const char *path, const struct gathered *gathered,
                         const struct findings *findings)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    enum status status = STATUS_NOMEM;

    if (out != NULL) {
        put_all(out, gathered, findings);
        status = fclose(out) == 0 ? file_make(path, MODE, span_of(text, size)) : STATUS_NOMEM;
    }
    if (status == STATUS_IO && errno == EEXIST) {
        status = refuse_existing(path);
    } else if (status != STATUS_OK) {
        (void)cmd_fail(status, "cannot write %s: %s", path,
                       status == STATUS_IO ? strerror(errno) : status_meaning(status));
    }
    free(text);
    return status;
}
