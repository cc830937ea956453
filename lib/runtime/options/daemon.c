/* A daemon's side: its configuration file, which libconfig reads, and where what libconfig would
 * let pass is refused: unknown names, other types; its command line, which is read twice,
 * first for the file's name, then over what the file said; how it words what is wrong; and its
 * help. */
#include "base/heap.h"
#include "runtime/options/private.h"
#include "runtime/version.h"

#include <assert.h>
#include <libconfig.h>
#include <stdarg.h>
#include <string.h>

enum {
    CONFIG_MAX_BYTES = 65536,
    FLAG_NAME_BYTES = 64,
    REASON_BYTES = OPTION_REASON_BYTES,
    SUGGEST_LIMIT = 2, /* letters that an option may be away from what was written */
};

/* "orbloom-node: " and the message on stderr. Always STATUS_USAGE. */
PRINTF_LIKE(2, 3)
static enum status refuse(const struct option_table *table, const char *format, ...)
{
    va_list args;

    (void)fprintf(stderr, "%s: ", table->program);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    return STATUS_USAGE;
}

/* ---- what is wrong with a value ---- */

/* What a text of another form is not, and what it must be or, where that says more, an example. */
static const struct {
    const char *is_not;
    const char *must_be;
    const char *example;
} forms[] = {
    [OPTION_SWITCH] = {"a switch", NULL, NULL},
    [OPTION_TEXT] = {"a text", NULL, NULL},
    [OPTION_TEXTS] = {"a text", NULL, NULL},
    [OPTION_NAME] = {"not a name", "1 to 128 letters, digits, '.', '_', ':' or '-'", NULL},
    [OPTION_SITE] = {"not the name of a site", "1 to 32 of a-z, 0-9 and '-'", NULL},
    [OPTION_ENDPOINT] = {"not an endpoint", "tcp://HOST:PORT", "tcp://127.0.0.1:7400"},
    [OPTION_LIST] = {"not an endpoint", "tcp://HOST:PORT, with a real host and port",
                     "tcp://127.0.0.1:7400"},
    [OPTION_URLS] = {"not an endpoint", "http://HOST:PORT or https://HOST:PORT",
                     "http://127.0.0.1:2379"},
    [OPTION_COUNT] = {"not a number", NULL, "10M"},
    [OPTION_BYTES] = {"not a number", NULL, "8GiB"},
    [OPTION_DURATION] = {"not a duration", NULL, "20ms"},
    [OPTION_FACTOR] = {"not a factor", NULL, "1.5"},
    [OPTION_RATE] = {"not a rate", NULL, "1%"},
    [OPTION_COUNTS] = {"not a number", NULL, "10M"},
    [OPTION_RATES] = {"not a rate", NULL, "1%"},
    [OPTION_CHOICE] = {"none of the choices", NULL, NULL},
};

/* A value of its kind, as a file has it without the quotes. */
static const char *example_of(const struct option *option)
{
    if (forms[option->kind].example != NULL) {
        return forms[option->kind].example;
    }
    return option->value != NULL ? option->value : "a-text";
}

static void reason_of_form(const struct option *option, const char *text, char *reason)
{
    const char *is_not = forms[option->kind].is_not;
    const char *must_be = forms[option->kind].must_be;

    if (option->kind == OPTION_CHOICE) {
        (void)snprintf(reason, REASON_BYTES, "'%s' is %s; %s must be one of: %s", text, is_not,
                       option->name, option->range);
    } else if (must_be != NULL) {
        (void)snprintf(reason, REASON_BYTES, "'%s' is %s; %s must be %s", text, is_not,
                       option->name, must_be);
    } else {
        (void)snprintf(reason, REASON_BYTES, "'%s' is %s; write %s such as \"%s\"", text, is_not,
                       option->name, example_of(option));
    }
}

/* Why the value is refused; where it was found is put before it by the caller. */
static void tell_reason(const struct option *option, const struct option_wrong *wrong,
                        char reason[REASON_BYTES])
{
    const size_t size = REASON_BYTES;

    switch (wrong->fault) {
    case OPTION_CONTROL:
        (void)snprintf(reason, size, "%s holds a control character", option->name);
        break;
    case OPTION_LONG:
        (void)snprintf(reason, size, "%s is longer than %zu bytes", option->name, wrong->limit);
        break;
    case OPTION_MANY:
        (void)snprintf(reason, size, "%s has more than %u elements", option->name,
                       option->max_count);
        break;
    case OPTION_MALFORMED:
        reason_of_form(option, wrong->text, reason);
        break;
    case OPTION_OUTSIDE:
        (void)snprintf(reason, size, "'%s' is out of range; %s must be %s", wrong->text,
                       option->name, option->range);
        break;
    }
}

/* ---- what breaks a rule ---- */

/* By where the option was given. */
static enum status refuse_given(const struct option_table *table,
                                const struct option_origins *origins, const struct option *option,
                                const char *reason)
{
    size_t at = (size_t)(option - table->options);

    if (origins->flags[at]) {
        return refuse(table, "--%s", reason);
    }
    return refuse(table, "%s:%u: %s", origins->path, origins->lines[at], reason);
}

static enum status refuse_lack(const struct option_table *table,
                               const struct option_origins *origins, const struct option *option,
                               const struct option *needed)
{
    char reason[REASON_BYTES];

    (void)snprintf(reason, sizeof reason, "%s is given without %s; give both or neither",
                   option->name, needed->name);
    return refuse_given(table, origins, option, reason);
}

static enum status refuse_pair(const struct option_table *table,
                               const struct option_origins *origins, const struct option *option,
                               const struct option *rival)
{
    char reason[REASON_BYTES];

    (void)snprintf(reason, sizeof reason, "%s and %s are both given; give one of them",
                   option->name, rival->name);
    return refuse_given(table, origins, option, reason);
}

static enum status refuse_missing(const struct option_table *table,
                                  const struct option_origins *origins, const struct option *option)
{
    const char *file = origins->path != NULL ? origins->path : "";
    const char *colon = origins->path != NULL ? ": " : "";

    return refuse(table,
                  "%s%s%s is missing (%s); give --%s=VALUE or write %s = \"VALUE\"; in "
                  "the configuration file%s%s",
                  file, colon, option->name, option->help, option->name, option->name,
                  option->excludes != NULL ? ", or give " : "",
                  option->excludes != NULL ? option->excludes : "");
}

static const struct option_voice voice = {
    .lacks = refuse_lack, .pair = refuse_pair, .missing = refuse_missing};

/* The option of `names` that is to blame: the first one that was given, else the first. */
static const struct option *to_blame(const struct option_table *table,
                                     const struct option_origins *origins, const char *names)
{
    const struct option *first = NULL;
    char name[FLAG_NAME_BYTES];

    while (*names != '\0') {
        size_t size = strcspn(names, " ");
        const struct option *option;

        assert(size < sizeof name);
        memcpy(name, names, size);
        name[size] = '\0';
        option = option_find(table, name);
        assert(option != NULL); /* Rules about options that are not there are our mistake. */
        if (option_is_given(table, origins, option)) {
            return option;
        }
        first = first != NULL ? first : option;
        names += size + (names[size] == ' ');
    }
    return first;
}

enum status options_refuse(const struct option_table *table, const struct option_origins *origins,
                           const char *names, const char *format, ...)
{
    const struct option *option = to_blame(table, origins, names);
    size_t at = (size_t)(option - table->options);
    va_list args;

    (void)fprintf(stderr, "%s: ", table->program);
    if (origins->flags[at]) {
        (void)fprintf(stderr, "--%s: ", option->name);
    } else if (origins->lines[at] > 0) {
        (void)fprintf(stderr, "%s:%u: ", origins->path, origins->lines[at]);
    } else {
        (void)fprintf(stderr, "default of %s: ", option->name);
    }
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    return STATUS_USAGE;
}

/* ---- the file ---- */

struct reading {
    const struct option_table *table;
    const char *path;
    void *settings;
    struct option_origins *origins;
};

static enum status refuse_at(const struct reading *self, unsigned line, const char *reason)
{
    return refuse(self->table, "%s:%u: %s", self->path, line, reason);
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
    char reason[REASON_BYTES];

    (void)snprintf(reason, sizeof reason, "%s is %s; it must be a text such as \"%s\"",
                   option->name, wrong_type(setting), example_of(option));
    return refuse_at(self, line_of(setting), reason);
}

static enum status refuse_value(const struct reading *self, const struct option *option,
                                const config_setting_t *setting, const struct option_wrong *wrong)
{
    char reason[REASON_BYTES];

    tell_reason(option, wrong, reason);
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
    const char *near = option_suggest(self->table, name, SUGGEST_LIMIT);
    char reason[REASON_BYTES];

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

static enum status read_settings(const struct reading *self, const char *text)
{
    enum status status = STATUS_OK;
    const config_setting_t *root;
    config_t config;

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

/* Prints what is wrong. */
static enum status read_file(const struct option_table *table, const char *path, void *settings,
                             struct option_origins *origins)
{
    struct reading self = {.table = table, .path = path, .settings = settings, .origins = origins};
    char reason[REASON_BYTES];
    enum status status;
    struct buffer text;

    buffer_init(&text, CONFIG_MAX_BYTES);
    status = config_text_read(path, &text, reason);
    if (status == STATUS_OK) {
        status = read_settings(&self, (const char *)text.data);
    } else {
        status = refuse(table, "%s%s", reason,
                        status == STATUS_IO ? "; --config names a file that can be read" : "");
    }
    buffer_fini(&text);
    return status;
}

/* ---- help ---- */

static const char *or_dash(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : "-";
}

static const char *shown_default(const struct option *option)
{
    return option->value == NULL && option->required ? "required" : or_dash(option->value);
}

static void serve_help(const struct option_table *table)
{
    (void)printf("%s - %s\n\n"
                 "usage: %s [--config FILE] [--OPTION=VALUE]... [--check-config]\n"
                 "       %s --help | --version | --print-options\n\n"
                 "Options stand in the file as  name = \"value\";  and here as --name=value, "
                 "which wins.\n\n",
                 table->program, table->summary, table->program, table->program);
    for (size_t i = 0; i < table->count; i++) {
        const struct option *option = &table->options[i];

        bool unit = option->unit != NULL && option->unit[0] != '\0';

        (void)printf("  --%-18s %s\n  %-20s %s%s%s; default: %s%s\n", option->name, option->help,
                     "", unit ? option->unit : "", unit ? ": " : "", option->range,
                     shown_default(option), option->live ? "; SIGHUP reads it again" : "");
    }
}

static void serve_print(const struct option_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct option *option = &table->options[i];

        (void)printf("%s\t%s\t%s\t%s\t%s\n", option->name, or_dash(option->unit),
                     or_dash(option->range), shown_default(option), option->help);
    }
}

static void serve_version(const struct option_table *table)
{
    (void)printf("%s %s\n", table->program, ORBLOOM_VERSION);
}

static const struct {
    const char *flag;
    void (*serve)(const struct option_table *table);
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
                requests[r].serve(table);
                return true;
            }
        }
    }
    return false;
}

/* ---- the command line ---- */

struct parsing {
    const struct option_table *table;
    void *settings;
    struct option_result *result;
    struct option_args args;
};

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

static enum status refuse_flag(const struct parsing *self, const char *flag, const char *name)
{
    const char *near = option_suggest(self->table, name, SUGGEST_LIMIT);

    if (near != NULL) {
        return refuse(self->table, "unknown option '%s'; did you mean '--%s'?", flag, near);
    }
    return refuse(self->table, "unknown option '%s'; --help lists those that there are", flag);
}

static enum status set_option(struct parsing *self, const struct option *option, const char *value)
{
    struct option_wrong wrong;
    char reason[REASON_BYTES];

    if (option_set(option, value, self->settings, &wrong) != STATUS_OK) {
        tell_reason(option, &wrong, reason);
        return refuse(self->table, "--%s: %s", option->name, reason);
    }
    self->result->origins.flags[option - self->table->options] = true;
    return STATUS_OK;
}

static enum status parse_option(struct parsing *self, const char *flag, const char *name,
                                bool config_only)
{
    const struct option *option = option_find(self->table, name);
    bool is_config = strcmp(name, "config") == 0;
    const char *value;

    if (option == NULL && !is_config) {
        return refuse_flag(self, flag, name);
    }
    value = option_args_value(&self->args, flag);
    if (value == NULL) {
        return refuse(self->table, "%s has no value; give %s=VALUE", flag, flag);
    }
    if (is_config) {
        self->result->config = value;
        return STATUS_OK;
    }
    return config_only ? STATUS_OK : set_option(self, option, value);
}

static enum status parse_flag(struct parsing *self, bool config_only)
{
    const char *flag = self->args.words[self->args.next++];
    char name[FLAG_NAME_BYTES];

    if (strcmp(flag, "--check-config") == 0) {
        self->result->check_config = true;
        return STATUS_OK;
    }
    if (!flag_name(flag, name)) {
        return refuse(self->table, "'%s' is not an option; --help lists those that there are",
                      flag);
    }
    return parse_option(self, flag, name, config_only);
}

/* Twice: first only to find the file, then, over what the file said, the options. */
static enum status parse_flags(struct parsing *self, bool config_only)
{
    enum status status = STATUS_OK;

    self->args.next = 1;
    while (status == STATUS_OK && self->args.next < self->args.count) {
        status = parse_flag(self, config_only);
    }
    return status;
}

/* A file's texts don't last, so a daemon's are all copied; and what has no value is no option. */
static void check_table(const struct option_table *table)
{
    assert(table->command == NULL);
    for (size_t i = 0; i < table->count; i++) {
        const struct option *option = &table->options[i];

        assert(option->kind != OPTION_SWITCH && option->letter == 0);
        assert(!option_is_text(option) || option->size > 0);
    }
}

enum status options_load(const struct option_table *table, int argc, char **argv, void *settings,
                         struct option_result *result)
{
    struct parsing self = {.table = table,
                           .settings = settings,
                           .result = result,
                           .args = {.words = argv, .count = argc}};
    enum status status;

    check_table(table);
    *result = (struct option_result){.done = serve_request(table, argc, argv)};
    if (result->done) {
        return STATUS_OK;
    }
    options_set_defaults(table, settings);
    status = parse_flags(&self, true);
    if (status == STATUS_OK && result->config != NULL) {
        result->origins.path = result->config;
        status = read_file(table, result->config, settings, &result->origins);
    }
    if (status == STATUS_OK && result->check_config && result->config == NULL) {
        status = refuse(table, "--check-config needs a file; give --config FILE as well");
    }
    if (status == STATUS_OK) {
        status = parse_flags(&self, false);
    }
    if (status == STATUS_OK) {
        status = options_check_rules(table, &voice, settings, &result->origins);
    }
    return status;
}
