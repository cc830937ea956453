/* What daemons and commands have in common: rows by name, the one that was meant, defaults, and
 * rules between options, looked at once all are set, as files and flags may come in any order. */
#include "runtime/options/options.h"
#include "runtime/options/private.h"

#include <assert.h>
#include <string.h>

enum { NEAREST_MAX_BYTES = 64, TYPING_MOST = 3, NEEDED_NAME_BYTES = 64 };

const struct option *option_find(const struct option_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->options[i].name, name) == 0) {
            return &table->options[i];
        }
    }
    return NULL;
}

static size_t least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* How many letters must be put in, taken out or changed (Levenshtein), row by row. */
static size_t distance(const char *a, const char *b)
{
    size_t row[NEAREST_MAX_BYTES + 1];
    size_t length = strlen(b);

    assert(strlen(a) <= NEAREST_MAX_BYTES && length <= NEAREST_MAX_BYTES);
    for (size_t j = 0; j <= length; j++) {
        row[j] = j;
    }
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t above = row[j];

            row[j] = least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[length];
}

const char *options_nearest(const char *word, size_t limit, const char *best, const char *candidate)
{
    size_t far;

    if (strlen(word) > NEAREST_MAX_BYTES) { /* No name is so long: none was meant. */
        return best;
    }
    far = distance(word, candidate);
    return far > limit || (best != NULL && distance(word, best) <= far) ? best : candidate;
}

size_t options_typing_limit(const char *word)
{
    size_t half = strlen(word) / 2;

    return half < TYPING_MOST ? half : TYPING_MOST;
}

const char *option_suggest(const struct option_table *table, const char *name, size_t limit)
{
    const char *best = NULL;

    for (size_t i = 0; i < table->count; i++) {
        best = options_nearest(name, limit, best, table->options[i].name);
    }
    return best;
}

void options_set_defaults(const struct option_table *table, void *settings)
{
    struct option_wrong wrong;
    enum status status;

    assert(table->count <= OPTION_MAX);
    for (size_t i = 0; i < table->count; i++) {
        const struct option *option = &table->options[i];

        if (option->value != NULL) {
            status = option_set(option, option->value, settings, &wrong);
            assert(status == STATUS_OK); /* A default outside its own range is our mistake. */
            (void)status;
        }
    }
}

const char *option_args_value(struct option_args *self, const char *flag)
{
    const char *equals = strchr(flag, '=');

    if (equals != NULL) {
        return equals + 1;
    }
    return self->next < self->count ? self->words[self->next++] : NULL;
}

/* ---- rules ---- */

bool option_is_given(const struct option_table *table, const struct option_origins *origins,
                     const struct option *option)
{
    size_t at = (size_t)(option - table->options);

    return origins->lines[at] > 0 || origins->flags[at];
}

static const struct option *named(const struct option_table *table, const char *name)
{
    const struct option *option = option_find(table, name);

    assert(option != NULL); /* A table that names what it has not is our mistake. */
    return option;
}

/* The first that the option needs and that was not given; NULL: they all were. */
static const struct option *lacking(const struct option_table *table,
                                    const struct option_origins *origins,
                                    const struct option *option)
{
    const char *needs = option->needs;
    char name[NEEDED_NAME_BYTES];

    while (needs != NULL && *needs != '\0') {
        size_t size = strcspn(needs, " ");

        assert(size < sizeof name);
        memcpy(name, needs, size);
        name[size] = '\0';
        if (!option_is_given(table, origins, named(table, name))) {
            return named(table, name);
        }
        needs += size + (needs[size] == ' ');
    }
    return NULL;
}

/* The one that it excludes, if that was given. */
static const struct option *rival_of(const struct option_table *table,
                                     const struct option_origins *origins,
                                     const struct option *option)
{
    const struct option *rival = option->excludes != NULL ? named(table, option->excludes) : NULL;

    return rival != NULL && option_is_given(table, origins, rival) ? rival : NULL;
}

static enum status check_rules(const struct option_table *table, const struct option_voice *voice,
                               const void *settings, const struct option_origins *origins,
                               const struct option *option)
{
    const struct option *lacks = lacking(table, origins, option);
    const struct option *rival = rival_of(table, origins, option);
    bool given = option_is_given(table, origins, option);

    if (given && lacks != NULL) {
        return voice->lacks(table, origins, option, lacks);
    }
    if (given && rival != NULL) {
        return voice->pair(table, origins, option, rival);
    }
    if (option->required && rival == NULL &&
        (option_empty(option, settings) || (!given && option->value == NULL))) {
        return voice->missing(table, origins, option);
    }
    return STATUS_OK;
}

enum status options_check_rules(const struct option_table *table, const struct option_voice *voice,
                                const void *settings, const struct option_origins *origins)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < table->count; i++) {
        status = check_rules(table, voice, settings, origins, &table->options[i]);
    }
    return status;
}
