/* Walks what libconfig has read. It reads large numbers without quotes wrong, in hexadecimal too,
 * and silently, so a file that has one is refused before. */
#include "runtime/options/group_file.h"

#include "runtime/options/private.h"

#include <ctype.h>
#include <libconfig.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64, TEXT_BYTES = 32, SAFE_DIGITS = 9 };

_Static_assert((int)GROUP_REASON_BYTES == (int)OPTION_REASON_BYTES, "one is the other's");

static const char not_a_value[] =
    "a value is neither a text such as \"8GiB\" nor a number of up to "
    "nine digits; put it in quotes";

/* What names, numbers and bare words are made of. */
static const char word_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_*";

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

/* ---- numbers that libconfig may read wrong ---- */

/* Behind the text that begins here with a quote; a backslash takes what follows with it. */
static const char *behind_quoted(const char *at)
{
    for (at++; *at != '\0' && *at != '"'; at++) {
        at += at[0] == '\\' && at[1] != '\0';
    }
    return *at == '"' ? at + 1 : at;
}

/* Behind the comment that begins here; NULL: none does. */
static const char *behind_comment(const char *at)
{
    const char *end = NULL;

    if (strncmp(at, "/*", 2) == 0) {
        end = strstr(at + 2, "*/");
        return end != NULL ? end + 2 : at + strlen(at);
    }
    return *at == '#' || strncmp(at, "//", 2) == 0 ? at + strcspn(at, "\n") : NULL;
}

/* A word of `size` bytes that begins with a digit: of few decimal digits? With a 0 in front it may
 * be meant as octal, or hexadecimal. */
static bool is_safe(const char *word, size_t size)
{
    return strspn(word, "0123456789") >= size && size <= SAFE_DIGITS &&
           (size == 1 || word[0] != '0');
}

/* The first number outside of texts and comments that may be read wrong; NULL: there is none. */
static const char *find_unsafe(const char *at)
{
    while (*at != '\0') {
        const char *behind = *at == '"' ? behind_quoted(at) : behind_comment(at);
        size_t size = strspn(at, word_bytes);

        if (behind != NULL) {
            at = behind;
        } else if (isdigit((unsigned char)*at) && !is_safe(at, size)) {
            return at;
        } else {
            at += size > 0 ? size : 1;
        }
    }
    return NULL;
}

static enum status check_numbers(const struct walk *self)
{
    const char *unsafe = find_unsafe(self->text);
    unsigned line = 1;

    for (const char *at = self->text; unsafe != NULL && at < unsafe; at++) {
        line += *at == '\n';
    }
    return unsafe == NULL ? STATUS_OK : refuse(self, line, not_a_value);
}

/* ---- values ---- */

static enum status hand_over(struct walk *self, const char *name, const struct group_value *value)
{
    char why[GROUP_REASON_BYTES] = "";

    return pass_on(self, self->reader->field(self->reader->context, name, value, why), why);
}

static enum status walk_scalar(struct walk *self, const char *name, const config_setting_t *setting)
{
    char text[TEXT_BYTES];
    struct group_value value = {.text = text};

    self->line = config_setting_source_line(setting);
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_STRING:
        value = (struct group_value){config_setting_get_string(setting), true};
        break;
    case CONFIG_TYPE_BOOL:
        value.text = config_setting_get_bool(setting) != 0 ? "on" : "off";
        break;
    case CONFIG_TYPE_INT:
        (void)snprintf(text, sizeof text, "%d", config_setting_get_int(setting));
        break;
    default:
        return refuse(self, self->line, not_a_value);
    }
    return hand_over(self, name, &value);
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

    /* Of a file that was cut off nobody is to conclude that there is nothing. */
    if (config_setting_length(root) == 0) {
        (void)snprintf(why, sizeof why, "the file is empty: it must have %s = ( { ... }, ... );",
                       list);
        return refuse(self, 1, why);
    }
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
    enum status status = check_numbers(self);
    config_t config;

    if (status != STATUS_OK) {
        return status;
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
    status = config_text_read(path, &text, reason);
    if (status == STATUS_OK) {
        walk.text = (const char *)text.data;
        status = walk_text(&walk, list);
    }
    buffer_fini(&text);
    return status;
}
