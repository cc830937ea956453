/* Matches words with the table, and prints the help out of the same table; a mistyped flag is
 * answered with the nearest one. */
#include "cli/flags.h"

#include "cli/cmd.h"
#include "cli/flags_value.h"
#include "client/endpoint_list.h"

#include <string.h>

static const struct flag common_flags[] = {
    {
        .name = "router",
        .kind = FLAG_ENDPOINTS,
        .offset = offsetof(struct flags_common, routers),
        .sample = "ENDPOINTS",
        .range = "tcp://HOST:PORT, several by commas",
        .help = "routers to ask; else $ORBLOOM_ROUTER, else " ENDPOINT_DEFAULT_ROUTER,
    },
    {
        .name = "coordinator",
        .kind = FLAG_ENDPOINTS,
        .offset = offsetof(struct flags_common, coordinators),
        .sample = "ENDPOINTS",
        .range = "tcp://HOST:PORT, several by commas",
        .help =
            "coordinators to ask; else $ORBLOOM_COORDINATOR, else " ENDPOINT_DEFAULT_COORDINATOR,
    },
    {
        .name = "timeout",
        .kind = FLAG_DURATION,
        .offset = offsetof(struct flags_common, timeout_us),
        .min = 1000,
        .max = UINT64_C(3600000000),
        .sample = "TIME",
        .range = "1ms to 1h",
        .value = "5s",
        .help = "no answer after this is an error",
    },
};

enum { NCOMMON = sizeof common_flags / sizeof common_flags[0] };

static size_t flag_count(const struct flag_table *table)
{
    return table->count + (table->common ? NCOMMON : 0);
}

static const struct flag *flag_at(const struct flag_table *table, size_t index)
{
    return index < table->count ? &table->flags[index] : &common_flags[index - table->count];
}

size_t flags_distance(const char *a, const char *b)
{
    enum { LONGEST = 48 };
    size_t row[LONGEST + 1];
    size_t nb = strlen(b);

    if (strlen(a) > LONGEST || nb > LONGEST) {
        return LONGEST;
    }
    for (size_t j = 0; j <= nb; j++) {
        row[j] = j;
    }
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[nb];
}

const char *flags_nearest(const char *word, const char *best, const char *candidate)
{
    size_t limit = strlen(word) / 2 < 3 ? strlen(word) / 2 : 3;
    size_t distance = flags_distance(word, candidate);

    if (distance > limit || (best != NULL && flags_distance(word, best) <= distance)) {
        return best;
    }
    return candidate;
}

static enum status refuse_unknown(const struct flag_table *table, const char *word, size_t size)
{
    const char *nearest = NULL;
    char name[64];

    (void)snprintf(name, sizeof name, "%.*s", (int)size, word);
    for (size_t i = 0; name[0] == '-' && name[1] == '-' && i < flag_count(table); i++) {
        nearest = flags_nearest(name + 2, nearest, flag_at(table, i)->name);
    }
    if (nearest != NULL) {
        (void)cmd_fail(STATUS_USAGE,
                       "unknown flag %s; did you mean --%s? (\"orbloom help %s\" lists all)", name,
                       nearest, table->command);
    } else {
        (void)cmd_fail(STATUS_USAGE, "unknown flag %s; \"orbloom help %s\" lists all", name,
                       table->command);
    }
    return STATUS_USAGE;
}

static const struct flag *find_flag(const struct flag_table *table, const char *word, size_t size)
{
    for (size_t i = 0; i < flag_count(table); i++) {
        const struct flag *flag = flag_at(table, i);

        if (word[1] != '-' && size == 2 && flag->letter == word[1]) {
            return flag;
        }
        if (word[1] == '-' && strlen(flag->name) == size - 2 &&
            memcmp(flag->name, word + 2, size - 2) == 0) {
            return flag;
        }
    }
    return NULL;
}

/* One flag at argv[*at], perhaps with its value in the next word. */
static enum status parse_flag(const struct flag_table *table, int argc, char **argv, int *at,
                              void *settings, uint64_t *given)
{
    const char *word = argv[*at];
    size_t size = strcspn(word, "=");
    const char *value = word[size] == '=' ? word + size + 1 : NULL;
    const struct flag *flag = find_flag(table, word, size);

    if (flag == NULL) {
        return refuse_unknown(table, word, size);
    }
    if (flag->kind == FLAG_SWITCH && value != NULL) {
        (void)cmd_fail(STATUS_USAGE, "--%s takes no value; leave out \"=%s\"", flag->name, value);
        return STATUS_USAGE;
    }
    if (flag->kind != FLAG_SWITCH && value == NULL) {
        if (*at + 1 >= argc) {
            (void)cmd_fail(STATUS_USAGE, "--%s needs a value; give %s", flag->name,
                           flag->range != NULL ? flag->range : flag->sample);
            return STATUS_USAGE;
        }
        value = argv[++*at];
    }
    for (size_t i = 0; i < flag_count(table); i++) {
        *given |= flag_at(table, i) == flag ? UINT64_C(1) << i : 0;
    }
    return flag_value_set(flag, value, settings);
}

static enum status set_defaults(const struct flag_table *table, void *settings)
{
    for (size_t i = 0; i < flag_count(table); i++) {
        const struct flag *flag = flag_at(table, i);

        if (flag->value != NULL && flag_value_set(flag, flag->value, settings) != STATUS_OK) {
            (void)cmd_fail(STATUS_INTERNAL, "the default of --%s is wrong; please report it",
                           flag->name);
            return STATUS_INTERNAL;
        }
    }
    return STATUS_OK;
}

static bool is_given(const struct flag_table *table, uint64_t given, const char *name)
{
    for (size_t i = 0; i < flag_count(table); i++) {
        if ((given >> i & 1) != 0 && strcmp(flag_at(table, i)->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static enum status check_flag(const struct flag_table *table, uint64_t given,
                              const struct flag *flag)
{
    bool here = is_given(table, given, flag->name);
    bool excluded = flag->unless != NULL && is_given(table, given, flag->unless);

    if (here && excluded) {
        (void)cmd_fail(STATUS_USAGE, "--%s and --%s do not go together; leave one out",
                       flag->unless, flag->name);
        return STATUS_USAGE;
    }
    if (flag->required && !here && !excluded) {
        (void)cmd_fail(STATUS_USAGE, "--%s is missing; give --%s %s (%s)", flag->name, flag->name,
                       flag->sample, flag->help);
        return STATUS_USAGE;
    }
    return STATUS_OK;
}

static enum status check_complete(const struct flag_table *table, uint64_t given, size_t nwords)
{
    for (size_t i = 0; i < flag_count(table); i++) {
        if (check_flag(table, given, flag_at(table, i)) != STATUS_OK) {
            return STATUS_USAGE;
        }
    }
    if (nwords < table->min_words || nwords > table->max_words) {
        (void)cmd_fail(STATUS_USAGE, "too %s words; usage: orbloom %s %s%s",
                       nwords < table->min_words ? "few" : "many", table->command, table->words,
                       flag_count(table) > 0 ? " [FLAGS]" : "");
        return STATUS_USAGE;
    }
    return STATUS_OK;
}

enum status flags_parse(const struct flag_table *table, int argc, char **argv, void *settings,
                        struct words *words)
{
    uint64_t given = 0;
    int nwords = 0;
    bool all_words = false;
    enum status status = set_defaults(table, settings);

    for (int i = 0; status == STATUS_OK && i < argc; i++) {
        if (!all_words && strcmp(argv[i], "--") == 0) {
            all_words = true;
        } else if (!all_words && argv[i][0] == '-' && argv[i][1] != '\0') {
            status = parse_flag(table, argc, argv, &i, settings, &given);
        } else {
            argv[nwords++] = argv[i];
        }
    }
    words->items = argv;
    words->count = (size_t)nwords;
    return status == STATUS_OK ? check_complete(table, given, words->count) : status;
}

static void print_flag(const struct flag *flag, FILE *out)
{
    enum { HELP_COLUMN = 30 };
    char left[64];
    char letter[8] = "    ";

    if (flag->letter != 0) {
        (void)snprintf(letter, sizeof letter, "-%c, ", flag->letter);
    }
    (void)snprintf(left, sizeof left, "%s--%s %s", letter, flag->name,
                   flag->sample != NULL ? flag->sample : "");
    (void)fprintf(out, "  %-*s %s", HELP_COLUMN, left, flag->help);
    if (flag->range != NULL) {
        (void)fprintf(out, " [%s]", flag->range);
    }
    if (flag->required) {
        (void)fprintf(out, " (required)");
    } else if (flag->value != NULL) {
        (void)fprintf(out, " (default %s)", flag->value);
    }
    if (flag->unless != NULL) {
        (void)fprintf(out, " (not with --%s)", flag->unless);
    }
    (void)fputc('\n', out);
}

static const char *blank_before(const char *text)
{
    return text[0] != '\0' ? " " : "";
}

void flags_help(const struct flag_table *table, FILE *out)
{
    (void)fprintf(out, "orbloom %s%s%s%s\n\n%s\n", table->command, blank_before(table->words),
                  table->words, flag_count(table) > 0 ? " [FLAGS]" : "", table->summary);
    for (size_t i = 0; i < flag_count(table); i++) {
        (void)fprintf(out, "%s", i == 0 ? "\nFlags:\n" : "");
        print_flag(flag_at(table, i), out);
    }
    if (table->notes != NULL) {
        (void)fprintf(out, "\n%s\n", table->notes);
    }
}
