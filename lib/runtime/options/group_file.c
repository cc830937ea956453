/* Walks what libconfig has read. It reads large numbers without quotes wrong, and silently, so
 * lines that have one are refused. */
#include "runtime/options/group_file.h"

#include "base/buffer.h"
#include "runtime/file.h"

#include <ctype.h>
#include <errno.h>
#include <libconfig.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64, TEXT_BYTES = 32, SAFE_DIGITS = 9 };

struct walk {
    const char *path;
    const char *text;
    const struct group_reader *reader;
    char *reason;
    unsigned line; /* of what is handed over */
};

static enum status refuse(const struct walk *self, unsigned line, const char *why)
{
    (void)snprintf(self->reason, GROUP_REASON_BYTES, "%.200s:%u: %.250s", self->path, line, why);
    return STATUS_INVALID;
}

/* What a reader has said goes behind the place. */
static enum status pass_on(const struct walk *self, enum status status, const char *why)
{
    if (status != STATUS_OK) {
        (void)refuse(self, self->line, why);
    }
    return status;
}

/* ---- numbers that libconfig may have read wrong ---- */

static const char *line_at(const char *text, unsigned line)
{
    for (unsigned i = 1; i < line && text != NULL; i++) {
        text = strchr(text, '\n');
        text = text != NULL ? text + 1 : NULL;
    }
    return text;
}

/* More digits than are safe, outside of quotes, on this line? */
static bool has_long_number(const char *text, unsigned line)
{
    const char *at = line_at(text, line);
    bool quoted = false;
    unsigned digits = 0;

    for (; at != NULL && *at != '\0' && *at != '\n'; at++) {
        quoted = quoted != (*at == '"');
        digits = !quoted && isdigit((unsigned char)*at) ? digits + 1 : 0;
        if (digits > SAFE_DIGITS) {
            return true;
        }
    }
    return false;
}

/* ---- values ---- */

static enum status hand_over(struct walk *self, const char *name, const char *text)
{
    char why[GROUP_REASON_BYTES] = "";

    return pass_on(self, self->reader->field(self->reader->context, name, text, why), why);
}

static enum status walk_scalar(struct walk *self, const char *name, const config_setting_t *setting)
{
    char text[TEXT_BYTES];
    int type = config_setting_type(setting);

    self->line = config_setting_source_line(setting);
    if (type == CONFIG_TYPE_STRING) {
        return hand_over(self, name, config_setting_get_string(setting));
    }
    if (type == CONFIG_TYPE_BOOL) {
        return hand_over(self, name, config_setting_get_bool(setting) != 0 ? "on" : "off");
    }
    if (type != CONFIG_TYPE_INT || has_long_number(self->text, self->line)) {
        return refuse(self, self->line,
                      "a value is neither a text such as \"8GiB\" nor a number of up to nine "
                      "digits; put it in quotes");
    }
    (void)snprintf(text, sizeof text, "%d", config_setting_get_int(setting));
    return hand_over(self, name, text);
}

static enum status walk_list(struct walk *self, const char *name, const config_setting_t *setting)
{
    enum status status = STATUS_OK;

    for (int i = 0; status == STATUS_OK && i < config_setting_length(setting); i++) {
        status = walk_scalar(self, name, config_setting_get_elem(setting, (unsigned)i));
    }
    return status;
}

static bool is_list(const config_setting_t *setting)
{
    int type = config_setting_type(setting);

    return type == CONFIG_TYPE_LIST || type == CONFIG_TYPE_ARRAY;
}

/* `within`: "limits." of a group in a group, which has none in it. */
static enum status walk_group(struct walk *self, const char *within, const config_setting_t *group)
{
    enum status status = STATUS_OK;

    for (int i = 0; status == STATUS_OK && i < config_setting_length(group); i++) {
        const config_setting_t *setting = config_setting_get_elem(group, (unsigned)i);
        char name[2 * NAME_BYTES];

        (void)snprintf(name, sizeof name, "%s%.60s", within, config_setting_name(setting));
        if (is_list(setting)) {
            status = walk_list(self, name, setting);
        } else if (config_setting_type(setting) != CONFIG_TYPE_GROUP) {
            status = walk_scalar(self, name, setting);
        } else if (within[0] != '\0') {
            status = refuse(self, config_setting_source_line(setting), "a group too deep within");
        } else {
            (void)snprintf(name, sizeof name, "%.60s.", config_setting_name(setting));
            status = walk_group(self, name, setting);
        }
    }
    return status;
}

/* ---- the file ---- */

static enum status walk_item(struct walk *self, const config_setting_t *group)
{
    const struct group_reader *reader = self->reader;
    char why[GROUP_REASON_BYTES] = "";
    enum status status;

    self->line = config_setting_source_line(group);
    if (config_setting_type(group) != CONFIG_TYPE_GROUP) {
        return refuse(self, self->line, "it is no group: { name = \"...\"; ... }");
    }
    status = pass_on(self, reader->begin(reader->context, why), why);
    status = status == STATUS_OK ? walk_group(self, "", group) : status;
    self->line = config_setting_source_line(group);
    return status == STATUS_OK ? pass_on(self, reader->end(reader->context, why), why) : status;
}

static enum status walk_root(struct walk *self, const char *list, const config_setting_t *root)
{
    enum status status = STATUS_OK;
    char why[GROUP_REASON_BYTES];

    for (int i = 0; status == STATUS_OK && i < config_setting_length(root); i++) {
        const config_setting_t *setting = config_setting_get_elem(root, (unsigned)i);

        if (strcmp(config_setting_name(setting), list) != 0 || !is_list(setting)) {
            (void)snprintf(why, sizeof why, "the file must have %s = ( { ... }, ... ); alone",
                           list);
            return refuse(self, config_setting_source_line(setting), why);
        }
        for (int k = 0; status == STATUS_OK && k < config_setting_length(setting); k++) {
            status = walk_item(self, config_setting_get_elem(setting, (unsigned)k));
        }
    }
    return status;
}

static enum status walk_text(struct walk *self, const char *list)
{
    config_t config;
    enum status status;

    if (strstr(self->text, "@include") != NULL) {
        return refuse(self, 1, "@include is not supported; write all of it here");
    }
    config_init(&config);
    if (config_read_string(&config, self->text) == CONFIG_TRUE) {
        status = walk_root(self, list, config_root_setting(&config));
    } else {
        status = refuse(self, (unsigned)config_error_line(&config), config_error_text(&config));
    }
    config_destroy(&config);
    return status;
}

enum status group_file_read(const char *path, const char *list, const struct group_reader *reader,
                            char reason[GROUP_REASON_BYTES])
{
    struct walk walk = {.path = path, .reader = reader, .reason = reason};
    struct buffer text;
    enum status status;

    buffer_init(&text, GROUP_FILE_MAX_BYTES);
    status = file_read(path, &text);
    if (status == STATUS_IO) {
        (void)snprintf(reason, GROUP_REASON_BYTES, "%.300s: %s", path, strerror(errno));
    } else if (status == STATUS_OK) {
        status = buffer_append(&text, span_of("", 1)); /* A NUL in the file ends it. */
    }
    if (status == STATUS_OK && strlen((const char *)text.data) + 1 != text.size) {
        (void)snprintf(reason, GROUP_REASON_BYTES, "%.300s: it has a NUL byte", path);
        status = STATUS_INVALID;
    } else if (status == STATUS_OK) {
        walk.text = (const char *)text.data;
        status = walk_text(&walk, list);
    } else if (status != STATUS_IO) {
        (void)snprintf(reason, GROUP_REASON_BYTES, "%.300s: %s", path, status_meaning(status));
    }
    buffer_fini(&text);
    return status;
}
