/* Which options are missing, or need each other: looked at once all are set, as files and flags
 * may come in any order. */
#include "runtime/options_internal.h"

#include <assert.h>
#include <string.h>

enum { OPTION_NAME_BYTES = 64 };

static size_t index_of(const struct option_table *table, const char *name)
{
    const struct option *option = option_find(table, name);

    assert(option != NULL); /* A table that names what it has not is our mistake. */
    return (size_t)(option - table->options);
}

static bool is_given(const struct option_origins *origins, size_t at)
{
    return origins->lines[at] > 0 || origins->flags[at];
}

static enum status refuse(const struct option_table *table, const struct option_origins *origins,
                          size_t at, const char *reason)
{
    if (origins->flags[at]) {
        return options_refuse(table, "--%s", reason);
    }
    return options_refuse(table, "%s:%u: %s", origins->path, origins->lines[at], reason);
}

static enum status check_missing(const struct option_table *table, size_t at, const void *settings,
                                 const struct option_origins *origins)
{
    const struct option *option = &table->options[at];
    const char *file = origins->path != NULL ? origins->path : "";
    const char *colon = origins->path != NULL ? ": " : "";

    if (option->excludes != NULL && is_given(origins, index_of(table, option->excludes))) {
        return STATUS_OK;
    }
    if (!option_missing(option, settings)) {
        return STATUS_OK;
    }
    return options_refuse(table,
                          "%s%s%s is missing (%s); give --%s=VALUE or write %s = \"VALUE\"; in "
                          "the configuration file%s%s",
                          file, colon, option->name, option->help, option->name, option->name,
                          option->excludes != NULL ? ", or give " : "",
                          option->excludes != NULL ? option->excludes : "");
}

/* The first of `needs` that was not given; NULL: they all were. */
static const struct option *needed(const struct option_table *table, const char *needs,
                                   const struct option_origins *origins)
{
    char name[OPTION_NAME_BYTES];

    while (needs != NULL && *needs != '\0') {
        size_t size = strcspn(needs, " ");

        assert(size < sizeof name);
        memcpy(name, needs, size);
        name[size] = '\0';
        if (!is_given(origins, index_of(table, name))) {
            return option_find(table, name);
        }
        needs += size + (needs[size] == ' ');
    }
    return NULL;
}

/* What was given, with what else was. */
static enum status check_given(const struct option_table *table, size_t at,
                               const struct option_origins *origins)
{
    const struct option *option = &table->options[at];
    const struct option *lacks = needed(table, option->needs, origins);
    char reason[OPTION_REASON_BYTES];

    if (lacks != NULL) {
        (void)snprintf(reason, sizeof reason, "%s is given without %s; give both or neither",
                       option->name, lacks->name);
        return refuse(table, origins, at, reason);
    }
    if (option->excludes != NULL && is_given(origins, index_of(table, option->excludes))) {
        (void)snprintf(reason, sizeof reason, "%s and %s are both given; give one of them",
                       option->name, option->excludes);
        return refuse(table, origins, at, reason);
    }
    return STATUS_OK;
}

enum status options_check_rules(const struct option_table *table, const void *settings,
                                const struct option_origins *origins)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < table->count; i++) {
        status = is_given(origins, i) ? check_given(table, i, origins) : STATUS_OK;
        if (status == STATUS_OK) {
            status = check_missing(table, i, settings, origins);
        }
    }
    return status;
}
