/* Reads a configuration file by libconfig for options.h, and refuses what libconfig would let
 * pass: unknown names, other types, includes. */
#include "base/heap.h"
#include "runtime/file.h"
#include "runtime/options_internal.h"

#include <errno.h>
#include <libconfig.h>
#include <string.h>

enum { CONFIG_MAX_BYTES = 65536 };

struct reading {
    const struct option_table *table;
    const char *path;
    void *settings;
    struct option_origins *origins;
};

static enum status refuse_at(const struct reading *self, unsigned line, const char *reason)
{
    return options_refuse(self->table, "%s:%u: %s", self->path, line, reason);
}

static unsigned line_of(const config_setting_t *setting)
{
    return config_setting_source_line(setting);
}

/* Why a value that is no text is refused; NULL for a text. */
static const char *wrong_type(const config_setting_t *setting)
{
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_STRING:
        return NULL;
    case CONFIG_TYPE_GROUP:
        return "a group; options are not nested";
    case CONFIG_TYPE_ARRAY:
    case CONFIG_TYPE_LIST:
        return "a list";
    case CONFIG_TYPE_BOOL:
        return "a bare word";
    default:
        return "a bare number";
    }
}

static enum status refuse_type(const struct reading *self, const struct option *option,
                               const config_setting_t *setting)
{
    char reason[OPTION_REASON_BYTES];

    (void)snprintf(reason, sizeof reason, "%s is %s; it must be a text such as \"%s\"",
                   option->name, wrong_type(setting), option_example(option));
    return refuse_at(self, line_of(setting), reason);
}

static enum status refuse_value(const struct reading *self, const struct option *option,
                                const config_setting_t *setting, const struct option_wrong *wrong)
{
    char reason[OPTION_REASON_BYTES];

    option_reason(option, wrong, reason);
    return refuse_at(self, line_of(setting), reason);
}

static enum status read_list(const struct reading *self, const struct option *option,
                             const config_setting_t *setting)
{
    struct option_wrong wrong;

    option_list_clear(option, self->settings);
    for (int i = 0; i < config_setting_length(setting); i++) {
        const config_setting_t *element = config_setting_get_elem(setting, (unsigned)i);

        if (wrong_type(element) != NULL) {
            return refuse_type(self, option, element);
        }
        if (option_list_append(option, config_setting_get_string(element), self->settings,
                               &wrong) != STATUS_OK) {
            return refuse_value(self, option, setting, &wrong);
        }
    }
    return STATUS_OK;
}

static enum status refuse_unknown(const struct reading *self, const config_setting_t *setting)
{
    const char *name = config_setting_name(setting);
    const char *near = option_suggest(self->table, name, OPTION_SUGGEST_LIMIT);
    char reason[OPTION_REASON_BYTES];

    if (near != NULL) {
        (void)snprintf(reason, sizeof reason, "unknown option '%.100s'; did you mean '%s'?", name,
                       near);
    } else {
        (void)snprintf(reason, sizeof reason,
                       "unknown option '%.100s'; --help lists those that there are", name);
    }
    return refuse_at(self, line_of(setting), reason);
}

static enum status read_setting(const struct reading *self, const config_setting_t *setting)
{
    const struct option *option = option_find(self->table, config_setting_name(setting));
    int type = config_setting_type(setting);
    struct option_wrong wrong;

    if (option == NULL) {
        return refuse_unknown(self, setting);
    }
    self->origins->lines[option - self->table->options] = line_of(setting);
    if (option_is_list(option) && (type == CONFIG_TYPE_ARRAY || type == CONFIG_TYPE_LIST)) {
        return read_list(self, option, setting);
    }
    /* Numbers too: libconfig reads 4294967296 as 0 without a word. */
    if (wrong_type(setting) != NULL) {
        return refuse_type(self, option, setting);
    }
    if (option_set(option, config_setting_get_string(setting), self->settings, &wrong) !=
        STATUS_OK) {
        return refuse_value(self, option, setting, &wrong);
    }
    return STATUS_OK;
}

/* libconfig would read other files while it scans; one file must show all that is set. */
static enum status refuse_includes(const struct reading *self, const char *text)
{
    static const char word[] = "@include";
    unsigned line = 1;

    while (text != NULL && *text != '\0') {
        const char *start = text + strspn(text, " \t");

        if (strncmp(start, word, sizeof word - 1) == 0) {
            return refuse_at(self, line, "@include is not supported; write all options here");
        }
        text = strchr(text, '\n');
        text = text != NULL ? text + 1 : NULL;
        line++;
    }
    return STATUS_OK;
}

static enum status read_settings(const struct reading *self, const char *text)
{
    enum status status = refuse_includes(self, text);
    const config_setting_t *root;
    config_t config;

    if (status != STATUS_OK) {
        return status;
    }
    config_init(&config);
    if (config_read_string(&config, text) != CONFIG_TRUE) {
        status = refuse_at(self, (unsigned)config_error_line(&config), config_error_text(&config));
        goto done;
    }
    root = config_root_setting(&config);
    for (int i = 0; status == STATUS_OK && i < config_setting_length(root); i++) {
        status = read_setting(self, config_setting_get_elem(root, (unsigned)i));
    }

done:
    config_destroy(&config);
    return status;
}

static enum status load_text(const struct reading *self, struct buffer *text)
{
    enum status status = file_read(self->path, text);

    if (status == STATUS_OK) {
        status = buffer_append(text, span_of("", 1));
    }
    if (status == STATUS_IO) {
        return options_refuse(self->table, "%s: %s; --config names a file that can be read",
                              self->path, strerror(errno));
    }
    if (status == STATUS_TOO_LARGE) {
        return options_refuse(self->table, "%s: longer than %d bytes; is it a configuration file?",
                              self->path, CONFIG_MAX_BYTES - 1);
    }
    if (status != STATUS_OK) {
        return options_refuse(self->table, "%s: %s", self->path, status_meaning(status));
    }
    if (memchr(text->data, '\0', text->size - 1) != NULL) {
        return options_refuse(self->table, "%s: holds a NUL byte; is it a configuration file?",
                              self->path);
    }
    return STATUS_OK;
}

enum status options_read_file(const struct option_table *table, const char *path, void *settings,
                              struct option_origins *origins)
{
    struct reading self = {.table = table, .path = path, .settings = settings, .origins = origins};
    enum status status;
    struct buffer text;

    buffer_init(&text, CONFIG_MAX_BYTES);
    status = load_text(&self, &text);
    if (status == STATUS_OK) {
        status = read_settings(&self, (const char *)text.data);
    }
    buffer_fini(&text);
    return status;
}
