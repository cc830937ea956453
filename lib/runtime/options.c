/* The command line's part: it is read twice, first for the file's name, then over what the file
 * said. */
#include "runtime/options.h"

#include "runtime/options_internal.h"
#include "runtime/version.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

enum { FLAG_NAME_BYTES = 64 };

struct parsing {
    const struct option_table *table;
    void *settings;
    struct option_result *result;
    struct option_origins origins;
    char **args;
    int count;
    int next;
};

enum status options_refuse(const struct option_table *table, const char *format, ...)
{
    va_list args;

    (void)fprintf(stderr, "%s: ", table->program);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    return STATUS_USAGE;
}

const struct option *option_find(const struct option_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->options[i].name, name) == 0) {
            return &table->options[i];
        }
    }
    return NULL;
}

static enum status serve_help(const struct option_table *table)
{
    options_help(table, stdout);
    return STATUS_OK;
}

static enum status serve_version(const struct option_table *table)
{
    (void)printf("%s %s\n", table->program, ORBLOOM_VERSION);
    return STATUS_OK;
}

static enum status serve_print(const struct option_table *table)
{
    options_print(table, stdout);
    return STATUS_OK;
}

static const struct {
    const char *flag;
    enum status (*serve)(const struct option_table *table);
} requests[] = {
    {"--help", serve_help},
    {"-h", serve_help},
    {"--version", serve_version},
    {"--print-options", serve_print},
};

/* Wherever they stand, and whatever else is wrong. */
static bool serve_request(const struct option_table *table, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        for (size_t r = 0; r < sizeof requests / sizeof requests[0]; r++) {
            if (strcmp(argv[i], requests[r].flag) == 0) {
                (void)requests[r].serve(table);
                return true;
            }
        }
    }
    return false;
}

/* "--memory-limit=8GiB" -> "memory_limit". False: not a flag, or longer than any option's. */
static bool flag_name(const char *flag, char name[FLAG_NAME_BYTES])
{
    size_t size = strcspn(flag, "=");

    if (strncmp(flag, "--", 2) != 0 || size <= 2 || size - 2 >= FLAG_NAME_BYTES) {
        return false;
    }
    for (size_t i = 2; i < size; i++) {
        name[i - 2] = flag[i] == '-' ? '_' : flag[i];
    }
    name[size - 2] = '\0';
    return true;
}

/* After '=', or the next word; NULL when neither is there. */
static const char *flag_value(struct parsing *self, const char *flag)
{
    const char *equals = strchr(flag, '=');

    if (equals != NULL) {
        return equals + 1;
    }
    return self->next < self->count ? self->args[self->next++] : NULL;
}

static enum status refuse_flag(const struct parsing *self, const char *flag, const char *name)
{
    const char *near = option_suggest(self->table, name);

    if (near != NULL) {
        return options_refuse(self->table, "unknown option '%s'; did you mean '--%s'?", flag, near);
    }
    return options_refuse(self->table, "unknown option '%s'; --help lists those that there are",
                          flag);
}

static enum status parse_option(struct parsing *self, const char *flag, const char *name,
                                bool config_only)
{
    const struct option *option = option_find(self->table, name);
    bool is_config = strcmp(name, "config") == 0;
    char reason[OPTION_REASON_BYTES];
    const char *value;

    if (option == NULL && !is_config) {
        return refuse_flag(self, flag, name);
    }
    value = flag_value(self, flag);
    if (value == NULL) {
        return options_refuse(self->table, "%s has no value; give %s=VALUE", flag, flag);
    }
    if (is_config) {
        self->result->config = value;
    } else if (!config_only && option_set(option, value, self->settings, reason) != STATUS_OK) {
        return options_refuse(self->table, "--%s: %s", option->name, reason);
    } else if (!config_only) {
        self->origins.flags[option - self->table->options] = true;
    }
    return STATUS_OK;
}

static enum status parse_flag(struct parsing *self, bool config_only)
{
    const char *flag = self->args[self->next++];
    char name[FLAG_NAME_BYTES];

    if (strcmp(flag, "--check-config") == 0) {
        self->result->check_config = true;
        return STATUS_OK;
    }
    if (!flag_name(flag, name)) {
        return options_refuse(self->table,
                              "'%s' is not an option; --help lists those that there are", flag);
    }
    return parse_option(self, flag, name, config_only);
}

/* Twice: first only to find the file, then, over what the file said, the options. */
static enum status parse_flags(struct parsing *self, bool config_only)
{
    enum status status = STATUS_OK;

    self->next = 1;
    while (status == STATUS_OK && self->next < self->count) {
        status = parse_flag(self, config_only);
    }
    return status;
}

static void set_defaults(const struct option_table *table, void *settings)
{
    char reason[OPTION_REASON_BYTES];
    enum status status;

    for (size_t i = 0; i < table->count; i++) {
        const struct option *option = &table->options[i];

        if (option->value != NULL) {
            status = option_set(option, option->value, settings, reason);
            assert(status == STATUS_OK); /* A default outside its own range is our mistake. */
            (void)status;
        }
    }
}

enum status options_load(const struct option_table *table, int argc, char **argv, void *settings,
                         struct option_result *result)
{
    struct parsing self = {
        .table = table, .settings = settings, .result = result, .args = argv, .count = argc};
    enum status status;

    assert(table->count <= OPTION_MAX);
    *result = (struct option_result){.done = serve_request(table, argc, argv)};
    if (result->done) {
        return STATUS_OK;
    }
    set_defaults(table, settings);
    status = parse_flags(&self, true);
    if (status == STATUS_OK && result->config != NULL) {
        self.origins.path = result->config;
        status = options_read_file(table, result->config, settings, &self.origins);
    }
    if (status == STATUS_OK && result->check_config && result->config == NULL) {
        status = options_refuse(table, "--check-config needs a file; give --config FILE as well");
    }
    if (status == STATUS_OK) {
        status = parse_flags(&self, false);
    }
    if (status == STATUS_OK) {
        status = options_check_rules(table, settings, &self.origins);
    }
    return status;
}
