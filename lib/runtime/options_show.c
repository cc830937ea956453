/* What --help and --print-options print, and the nearest name to a mistyped one. */
#include "runtime/options_internal.h"

#include <string.h>

enum { SUGGEST_MAX_BYTES = 64, SUGGEST_MAX_DISTANCE = 2 };

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* How many letters must be put in, taken out or changed (Levenshtein), row by row. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[SUGGEST_MAX_BYTES + 1];
    size_t length = strlen(b);

    for (unsigned j = 0; j <= length; j++) {
        row[j] = j;
    }
    for (unsigned i = 1; a[i - 1] != '\0'; i++) {
        unsigned diagonal = row[0];

        row[0] = i;
        for (unsigned j = 1; j <= length; j++) {
            unsigned above = row[j];

            row[j] = least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[length];
}

const char *option_suggest(const struct option_table *table, const char *name)
{
    unsigned best = SUGGEST_MAX_DISTANCE + 1;
    const char *found = NULL;

    if (strlen(name) > SUGGEST_MAX_BYTES) {
        return NULL;
    }
    for (size_t i = 0; i < table->count; i++) {
        unsigned far = distance(name, table->options[i].name);

        if (far < best) {
            best = far;
            found = table->options[i].name;
        }
    }
    return found;
}

static const char *or_dash(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : "-";
}

static const char *shown_default(const struct option *option)
{
    return option->value == NULL && option->min > 0 ? "required" : or_dash(option->value);
}

void options_help(const struct option_table *table, FILE *out)
{
    (void)fprintf(out,
                  "%s - %s\n\n"
                  "usage: %s [--config FILE] [--OPTION=VALUE]... [--check-config]\n"
                  "       %s --help | --version | --print-options\n\n"
                  "Options stand in the file as  name = \"value\";  and here as --name=value, "
                  "which wins.\n\n",
                  table->program, table->summary, table->program, table->program);
    for (size_t i = 0; i < table->count; i++) {
        const struct option *option = &table->options[i];

        bool unit = option->unit != NULL && option->unit[0] != '\0';

        (void)fprintf(out, "  --%-18s %s\n  %-20s %s%s%s; default: %s%s\n", option->name,
                      option->help, "", unit ? option->unit : "", unit ? ": " : "", option->range,
                      shown_default(option), option->live ? "; SIGHUP reads it again" : "");
    }
}

void options_print(const struct option_table *table, FILE *out)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct option *option = &table->options[i];

        (void)fprintf(out, "%s\t%s\t%s\t%s\t%s\n", option->name, or_dash(option->unit),
                      or_dash(option->range), shown_default(option), option->help);
    }
}
