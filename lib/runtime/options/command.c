/* A command's side: flags and words in any order, how it words what is wrong, and its help; a
 * mistyped flag is answered with the nearest one. */
#include "runtime/options/private.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#define COUNT_HINT " (a whole number; k, M, G and T stand for powers of 1000: 10M)"
#define RATE_HINT  " (a rate such as 1% or 0.01)"

enum { UNKNOWN_SHOWN_BYTES = 64, HELP_COLUMN = 30 };

struct parsing {
    const struct option_table *table;
    void *settings;
    struct option_origins origins;
    struct option_args args;
};

/* "orbloom: CODE: " and the message on stderr. Returns `status`. */
PRINTF_LIKE(3, 4)
static enum status refuse(const struct option_table *table, enum status status, const char *format,
                          ...)
{
    va_list args;

    (void)fflush(stdout);
    (void)fprintf(stderr, "%s: %s: ", table->program, status_code(status));
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    return status;
}

/* ---- what is wrong ---- */

static const char *hint(enum option_kind kind)
{
    static const char *const hints[] = {
        [OPTION_COUNT] = COUNT_HINT,
        [OPTION_COUNTS] = COUNT_HINT,
        [OPTION_BYTES] = " (a size such as 512MiB or 8GiB)",
        [OPTION_DURATION] = " (a time with its unit: 250ms, 5s, 2m)",
        [OPTION_RATE] = RATE_HINT,
        [OPTION_RATES] = RATE_HINT,
    };
    const char *text = (size_t)kind < sizeof hints / sizeof hints[0] ? hints[kind] : NULL;

    return text != NULL ? text : "";
}

static enum status refuse_value(const struct option_table *table, const struct option *option,
                                const struct option_wrong *wrong)
{
    const char *range = option->range != NULL ? option->range : "a text";

    if (wrong->fault == OPTION_MANY) {
        return refuse(table, STATUS_INVALID, "--%s takes at most %u items; split the list",
                      option->name, option->max_count);
    }
    if (!wrong->alone) {
        return refuse(table, STATUS_INVALID, "--%s cannot have \"%.100s\" as item %u; give %s%s",
                      option->name, wrong->text, wrong->item + 1, range, hint(option->kind));
    }
    return refuse(table, STATUS_INVALID, "--%s cannot be \"%.100s\"; give %s%s", option->name,
                  wrong->text, range, hint(option->kind));
}

static enum status refuse_unknown(const struct option_table *table, const char *word, size_t size)
{
    const char *nearest = NULL;
    char name[UNKNOWN_SHOWN_BYTES];

    (void)snprintf(name, sizeof name, "%.*s", (int)size, word);
    if (name[0] == '-' && name[1] == '-') {
        nearest = option_suggest(table, name + 2, options_typing_limit(name + 2));
    }
    if (nearest != NULL) {
        return refuse(table, STATUS_USAGE,
                      "unknown flag %s; did you mean --%s? (\"%s help %s\" lists all)", name,
                      nearest, table->program, table->command);
    }
    return refuse(table, STATUS_USAGE, "unknown flag %s; \"%s help %s\" lists all", name,
                  table->program, table->command);
}

static enum status refuse_lack(const struct option_table *table,
                               const struct option_origins *origins, const struct option *option,
                               const struct option *needed)
{
    (void)origins;
    return refuse(table, STATUS_USAGE, "--%s needs --%s; give both or neither", option->name,
                  needed->name);
}

static enum status refuse_pair(const struct option_table *table,
                               const struct option_origins *origins, const struct option *option,
                               const struct option *rival)
{
    (void)origins;
    return refuse(table, STATUS_USAGE, "--%s and --%s do not go together; leave one out",
                  rival->name, option->name);
}

static enum status refuse_missing(const struct option_table *table,
                                  const struct option_origins *origins, const struct option *option)
{
    (void)origins;
    return refuse(table, STATUS_USAGE, "--%s is missing; give --%s %s (%s)", option->name,
                  option->name, option->sample, option->help);
}

static const struct option_voice voice = {
    .lacks = refuse_lack, .pair = refuse_pair, .missing = refuse_missing};

/* ---- the command line ---- */

/* "--name" or "-l", of `size` bytes. */
static const struct option *find_flag(const struct option_table *table, const char *word,
                                      size_t size)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct option *option = &table->options[i];

        if (word[1] != '-' && size == 2 && option->letter == word[1]) {
            return option;
        }
        if (word[1] == '-' && strlen(option->name) == size - 2 &&
            memcmp(option->name, word + 2, size - 2) == 0) {
            return option;
        }
    }
    return NULL;
}

static enum status set_switch(struct parsing *self, const struct option *option, const char *word)
{
    const char *equals = strchr(word, '=');

    if (equals != NULL) {
        return refuse(self->table, STATUS_USAGE, "--%s takes no value; leave out \"%s\"",
                      option->name, equals);
    }
    *(bool *)((char *)self->settings + option->offset) = true;
    return STATUS_OK;
}

static enum status set_value(struct parsing *self, const struct option *option, const char *word)
{
    const char *value = option_args_value(&self->args, word);
    struct option_wrong wrong;

    if (value == NULL) {
        return refuse(self->table, STATUS_USAGE, "--%s needs a value; give %s", option->name,
                      option->range != NULL ? option->range : option->sample);
    }
    if (option_set(option, value, self->settings, &wrong) != STATUS_OK) {
        return refuse_value(self->table, option, &wrong);
    }
    return STATUS_OK;
}

/* The flag `word`, perhaps with its value in the next one. */
static enum status parse_flag(struct parsing *self, const char *word)
{
    size_t size = strcspn(word, "=");
    const struct option *option = find_flag(self->table, word, size);

    if (option == NULL) {
        return refuse_unknown(self->table, word, size);
    }
    self->origins.flags[option - self->table->options] = true;
    return option->kind == OPTION_SWITCH ? set_switch(self, option, word)
                                         : set_value(self, option, word);
}

static enum status parse_all(struct parsing *self, struct option_words *words)
{
    struct option_args *args = &self->args;
    enum status status = STATUS_OK;
    bool all_words = false;

    while (status == STATUS_OK && args->next < args->count) {
        char *word = args->words[args->next++];

        if (!all_words && strcmp(word, "--") == 0) {
            all_words = true;
        } else if (!all_words && word[0] == '-' && word[1] != '\0') {
            status = parse_flag(self, word);
        } else {
            words->items[words->count++] = word; /* never ahead of what is read */
        }
    }
    return status;
}

static const char *flags_hint(const struct option_table *table)
{
    return table->count > 0 ? " [FLAGS]" : "";
}

static enum status check_words(const struct option_table *table, size_t count)
{
    if (count >= table->min_words && count <= table->max_words) {
        return STATUS_OK;
    }
    return refuse(table, STATUS_USAGE, "too %s words; usage: %s %s %s%s",
                  count < table->min_words ? "few" : "many", table->program, table->command,
                  table->words, flags_hint(table));
}

enum status options_parse_command(const struct option_table *table, int argc, char **argv,
                                  void *settings, struct option_words *words)
{
    struct parsing self = {
        .table = table, .settings = settings, .args = {.words = argv, .count = argc}};
    enum status status;

    assert(table->command != NULL && table->words != NULL);
    assert(table->min_words <= table->max_words);
    *words = (struct option_words){.items = argv};
    options_set_defaults(table, settings);
    status = parse_all(&self, words);
    if (status == STATUS_OK) {
        status = options_check_rules(table, &voice, settings, &self.origins);
    }
    return status == STATUS_OK ? check_words(table, words->count) : status;
}

/* ---- help ---- */

static void print_flag(const struct option *option, FILE *out)
{
    char left[64];
    char letter[8] = "    ";

    if (option->letter != 0) {
        (void)snprintf(letter, sizeof letter, "-%c, ", option->letter);
    }
    (void)snprintf(left, sizeof left, "%s--%s %s", letter, option->name,
                   option->sample != NULL ? option->sample : "");
    (void)fprintf(out, "  %-*s %s", HELP_COLUMN, left, option->help);
    if (option->range != NULL) {
        (void)fprintf(out, " [%s]", option->range);
    }
    if (option->required) {
        (void)fprintf(out, " (required)");
    } else if (option->value != NULL) {
        (void)fprintf(out, " (default %s)", option->value);
    }
    if (option->excludes != NULL) {
        (void)fprintf(out, " (not with --%s)", option->excludes);
    }
    (void)fputc('\n', out);
}

void options_help_command(const struct option_table *table, FILE *out)
{
    (void)fprintf(out, "%s %s%s%s%s\n\n%s\n", table->program, table->command,
                  table->words[0] != '\0' ? " " : "", table->words, flags_hint(table),
                  table->summary);
    for (size_t i = 0; i < table->count; i++) {
        (void)fprintf(out, "%s", i == 0 ? "\nFlags:\n" : "");
        print_flag(&table->options[i], out);
    }
    if (table->notes != NULL) {
        (void)fprintf(out, "\n%s\n", table->notes);
    }
}

static const char *or_dash(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : "-";
}

static void print_record(const struct option *option, FILE *out)
{
    const char letter[] = {option->letter != 0 ? option->letter : '-', '\0'};

    (void)fprintf(out, "flag\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", option->name, letter,
                  or_dash(option->sample), or_dash(option->range),
                  option->required ? "required" : or_dash(option->value), or_dash(option->excludes),
                  option->help);
}

void options_print_command(const struct option_table *table, FILE *out)
{
    const char *line = table->notes;

    (void)fprintf(out, "words\t%s\nsummary\t%s\n", or_dash(table->words), table->summary);
    for (size_t i = 0; i < table->count; i++) {
        print_record(&table->options[i], out);
    }
    while (line != NULL) {
        size_t size = strcspn(line, "\n");

        (void)fprintf(out, "note\t%.*s\n", (int)size, line);
        line = line[size] != '\0' ? line + size + 1 : NULL;
    }
}
