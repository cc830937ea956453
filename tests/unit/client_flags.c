/* Flags: what is given lands in the settings, what is wrong is refused in one line. */
#include "cli/flags.h"
#include "map/acks.h"
#include "map/staleness.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

enum { LIST_MAX = 64 };

struct settings {
    struct flags_common common;
    bool loud;
    const char *color;
    uint64_t keys;
    double rate;
    uint64_t sizes[LIST_MAX];
    uint32_t nsizes;
    double rates[LIST_MAX];
    uint32_t nrates;
    bool nothing;
    const char *user;
    const char *max_staleness;
    const char *acks;
};

#define FIELD(name) offsetof(struct settings, name)

static const struct option options[] = {
    {.name = "loud", .letter = 'l', .kind = OPTION_SWITCH, .offset = FIELD(loud), .help = "louder"},
    {.name = "color",
     .kind = OPTION_CHOICE,
     .offset = FIELD(color),
     .sample = "COLOR",
     .range = "red | green",
     .value = "red",
     .help = "of the shed"},
    {.name = "keys",
     .kind = OPTION_COUNT,
     .required = true,
     .excludes = "nothing",
     .offset = FIELD(keys),
     .min = 1,
     .max = 1000000,
     .sample = "KEYS",
     .range = "1 to 1M",
     .help = "how many"},
    {.name = "fpr", .kind = OPTION_RATE, .offset = FIELD(rate), FLAG_RATE_BOUNDS, .help = "r"},
    {.name = "sizes",
     .kind = OPTION_COUNTS,
     .excludes = "nothing",
     .offset = FIELD(sizes),
     .count_offset = FIELD(nsizes),
     .max_count = LIST_MAX,
     .min = 1,
     .max = 1000,
     .sample = "N[,N...]",
     .range = "1 to 1k",
     .help = "several"},
    {.name = "rates",
     .kind = OPTION_RATES,
     .offset = FIELD(rates),
     .count_offset = FIELD(nrates),
     .max_count = LIST_MAX,
     .sample = "RATE[,RATE...]",
     FLAG_RATE_BOUNDS,
     .help = "several"},
    {.name = "nothing", .kind = OPTION_SWITCH, .offset = FIELD(nothing), .help = "no keys"},
    {.name = "user", .kind = OPTION_TEXT, .needs = "loud", .offset = FIELD(user), .help = "who"},
    FLAG_MAX_STALENESS(FIELD(max_staleness), "how late"),
    FLAG_ACKS(FIELD(acks), "how many"),
    FLAGS_COMMON,
};

static const struct option_table table = {.program = "orbloom",
                                          .command = "try",
                                          .words = "NAME [FILE...]",
                                          .summary = "Try flags.",
                                          .options = options,
                                          .count = sizeof options / sizeof options[0],

                                          .min_words = 1,
                                          .max_words = 3};

/* The words of `line`, split at blanks. */
static enum status parse(const char *line, struct settings *settings, struct option_words *words)
{
    static char text[512];
    static char *argv[32];
    int argc = 0;

    (void)snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    *settings = (struct settings){0};
    return options_parse_command(&table, argc, argv, settings, words);
}

Test(flags, values_land_in_the_settings)
{
    struct settings settings;
    struct option_words words;

    cr_assert_eq(parse("name --keys 10k -l file --fpr=1% --router tcp://a:1,tcp://b:2 - ",
                       &settings, &words),
                 STATUS_OK);
    cr_assert_eq(settings.keys, 10000);
    cr_assert(settings.loud);
    cr_assert_float_eq(settings.rate, 0.01, 1e-12);
    cr_assert_str_eq(settings.color, "red");
    cr_assert_str_eq(settings.common.routers, "tcp://a:1,tcp://b:2");
    cr_assert_eq(settings.common.timeout_us, 5000000);
    cr_assert_eq(words.count, 3);
    cr_assert_str_eq(words.items[0], "name");
    cr_assert_str_eq(words.items[1], "file");
    cr_assert_str_eq(words.items[2], "-");
}

Test(flags, lists_keep_order_and_duplicates_and_the_last_one_counts)
{
    struct settings settings;
    struct option_words words;

    cr_assert_eq(
        parse("n --keys 1 --sizes 1,2,3 --sizes 1k,5,5 --rates 1%,0.001", &settings, &words),
        STATUS_OK);
    cr_assert_eq(settings.nsizes, 3);
    cr_assert_eq(settings.sizes[0], 1000);
    cr_assert_eq(settings.sizes[1], 5);
    cr_assert_eq(settings.sizes[2], 5);
    cr_assert_eq(settings.nrates, 2);
    cr_assert_float_eq(settings.rates[0], 0.01, 1e-12);
    cr_assert_float_eq(settings.rates[1], 0.001, 1e-12);
    cr_assert_eq(parse("n --keys 1 --sizes 7", &settings, &words), STATUS_OK);
    cr_assert_eq(settings.nsizes, 1);
    cr_assert_eq(settings.sizes[0], 7);
    cr_assert_eq(settings.nrates, 0);
}

/* "--sizes 9,9,...,9" */
static enum status parse_nines(size_t count, struct settings *settings)
{
    char line[512] = "n --keys 1 --sizes 9";
    struct option_words words;

    for (size_t i = 1; i < count; i++) {
        (void)strcat(line, ",9");
    }
    return parse(line, settings, &words);
}

Test(flags, lists_are_bounded)
{
    struct settings settings;

    cr_assert_eq(parse_nines(LIST_MAX, &settings), STATUS_OK);
    cr_assert_eq(settings.nsizes, LIST_MAX);
    cr_assert_eq(settings.sizes[LIST_MAX - 1], 9);
    cr_assert_eq(parse_nines(LIST_MAX + 1, &settings), STATUS_INVALID);
}

Test(flags, one_flag_may_lift_what_another_requires)
{
    struct settings settings;
    struct option_words words;

    cr_assert_eq(parse("n --nothing", &settings, &words), STATUS_OK);
    cr_assert(settings.nothing);
}

Test(flags, after_two_dashes_all_is_words)
{
    struct settings settings;
    struct option_words words;

    cr_assert_eq(parse("--keys 1 -- --loud -l", &settings, &words), STATUS_OK);
    cr_assert_not(settings.loud);
    cr_assert_eq(words.count, 2);
    cr_assert_str_eq(words.items[0], "--loud");
}

/* line, status, what the message must say */
static const struct {
    const char *line;
    enum status status;
    const char *says;
} refused[] = {
    {"n", STATUS_USAGE, "--keys is missing"},
    {"--keys 1", STATUS_USAGE, "too few words"},
    {"a b c d --keys 1", STATUS_USAGE, "too many words"},
    {"n --key 1", STATUS_USAGE, "unknown flag --key; did you mean --keys?"},
    {"n --zebra", STATUS_USAGE, "unknown flag --zebra; \"orbloom help try\" lists all"},
    {"n -x --keys 1", STATUS_USAGE, "unknown flag -x;"},
    {"n --keys", STATUS_USAGE, "--keys needs a value"},
    {"n --keys 1 --loud=yes", STATUS_USAGE, "--loud takes no value"},
    {"n --keys 0", STATUS_INVALID, "--keys cannot be \"0\"; give 1 to 1M"},
    {"n --keys -5", STATUS_INVALID, "--keys cannot be \"-5\""},
    {"n --keys 2M", STATUS_INVALID, "give 1 to 1M"},
    {"n --keys 10Q", STATUS_INVALID, "10M"},
    {"n --keys= ", STATUS_INVALID, "--keys cannot be \"\""},
    {"n --keys 1 --fpr 0", STATUS_INVALID, "--fpr cannot be \"0\""},
    {"n --keys 1 --fpr 101%", STATUS_INVALID, "1e-9 to 50%"},
    {"n --keys 1 --fpr abc", STATUS_INVALID, "such as 1% or 0.01"},
    {"n --keys 1 --color blue", STATUS_INVALID, "red | green"},
    {"n --keys 1 --color re", STATUS_INVALID, "red | green"},
    {"n --keys 1 --color |", STATUS_INVALID, "red | green"},
    {"n --keys 1 --timeout 5", STATUS_INVALID, "5s"},
    {"n --keys 1 --sizes 5,2k,6", STATUS_INVALID,
     "--sizes cannot have \"2k\" as item 2; give 1 to"},
    {"n --keys 1 --sizes 5,6,", STATUS_INVALID, "--sizes cannot have \"\" as item 3"},
    {"n --keys 1 --sizes ,5", STATUS_INVALID, "--sizes cannot have \"\" as item 1"},
    {"n --keys 1 --sizes 5,,6", STATUS_INVALID, "--sizes cannot have \"\" as item 2"},
    {"n --keys 1 --sizes 2k", STATUS_INVALID, "--sizes cannot be \"2k\"; give 1 to 1k (a whole"},
    {"n --keys 1 --sizes= ", STATUS_INVALID, "--sizes cannot be \"\""},
    {"n --keys 1 --rates 1%,60%", STATUS_INVALID,
     "--rates cannot have \"60%\" as item 2; give 1e-9"},
    {"n --keys 1 --nothing", STATUS_USAGE,
     "--nothing and --keys do not go together; leave one out"},
    {"n --nothing --sizes 1,2", STATUS_USAGE, "--nothing and --sizes do not go together"},
    {"n --keys 1 --user me", STATUS_USAGE, "--user needs --loud; give both or neither"},
    {"n --keys 1 --user= --loud", STATUS_INVALID, "--user cannot be \"\"; give a text"},
    {"n --keys 1 --max-staleness abc", STATUS_INVALID,
     "--max-staleness cannot be \"abc\"; give 0, or a time such as 5s, up to 30d"},
    {"n --keys 1 --max-staleness -1", STATUS_INVALID, "--max-staleness cannot be \"-1\""},
    {"n --keys 1 --max-staleness -1s", STATUS_INVALID, "--max-staleness cannot be \"-1s\""},
    {"n --keys 1 --max-staleness 5", STATUS_INVALID, "--max-staleness cannot be \"5\""},
    {"n --keys 1 --max-staleness 00", STATUS_INVALID, "--max-staleness cannot be \"00\""},
    {"n --keys 1 --max-staleness 9999d", STATUS_INVALID, "--max-staleness cannot be \"9999d\""},
    {"n --keys 1 --max-staleness 721h", STATUS_INVALID, "--max-staleness cannot be \"721h\""},
    {"n --keys 1 --max-staleness= ", STATUS_INVALID, "--max-staleness cannot be \"\""},
    {"n --keys 1 --max-staleness", STATUS_USAGE, "--max-staleness needs a value"},
    {"n --keys 1 --acks 9", STATUS_INVALID,
     "--acks cannot be \"9\"; give local, 2 to 8 sites, or each"},
    {"n --keys 1 --acks 0", STATUS_INVALID, "--acks cannot be \"0\""},
    {"n --keys 1 --acks foo", STATUS_INVALID, "--acks cannot be \"foo\""},
    {"n --keys 1 --acks 255", STATUS_INVALID, "--acks cannot be \"255\""},
    {"n --keys 1 --acks -1", STATUS_INVALID, "--acks cannot be \"-1\""},
    {"n --keys 1 --acks= ", STATUS_INVALID, "--acks cannot be \"\""},
    {"n --keys 1 --acks", STATUS_USAGE, "--acks needs a value"},
    {"n --keys 1 --router localhost", STATUS_INVALID, "tcp://HOST:PORT"},
};

static uint64_t parse_bound(const char *line)
{
    struct settings settings;
    struct option_words words;

    cr_assert_eq(parse(line, &settings, &words), STATUS_OK, "%s", line);
    return flags_bound(settings.max_staleness);
}

Test(flags, a_bound_of_none_is_not_one_of_zero)
{
    cr_assert_eq(parse_bound("n --keys 1"), 0);
    cr_assert_eq(parse_bound("n --keys 1 --max-staleness 0"), staleness_of(0));
    cr_assert_eq(parse_bound("n --keys 1 --max-staleness 0s"), staleness_of(0));
    cr_assert_eq(parse_bound("n --keys 1 --max-staleness=250ms"), staleness_of(250000));
    cr_assert_eq(parse_bound("n --keys 1 --max-staleness 30d"), staleness_of(STALENESS_MAX_US));
}

static uint32_t parse_acks(const char *line)
{
    struct settings settings;
    struct option_words words;

    cr_assert_eq(parse(line, &settings, &words), STATUS_OK, "%s", line);
    return flags_acks(settings.acks);
}

Test(flags, acks_that_are_not_given_are_not_local)
{
    cr_assert_eq(parse_acks("n --keys 1"), 0, "a request's are the filter's own");
    cr_assert_eq(parse_acks("n --keys 1 --acks local"), ACKS_LOCAL);
    cr_assert_eq(parse_acks("n --keys 1 --acks 2"), 2);
    cr_assert_eq(parse_acks("n --keys 1 --acks=8"), ACKS_MAX);
    cr_assert_eq(parse_acks("n --keys 1 --acks each"), ACKS_EACH);
}

Test(flags, what_is_wrong_is_refused_in_one_line)
{
    int saved = dup(2);

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct settings settings;
        struct option_words words;
        char text[512] = "";
        FILE *caught = tmpfile();

        cr_assert_neq(caught, NULL);
        cr_assert_geq(dup2(fileno(caught), 2), 0);
        cr_expect_eq(parse(refused[i].line, &settings, &words), refused[i].status, "%s",
                     refused[i].line);
        (void)fflush(stderr);
        cr_assert_geq(dup2(saved, 2), 0);
        rewind(caught);
        text[fread(text, 1, sizeof text - 1, caught)] = '\0';
        (void)fclose(caught);
        cr_expect_eq(strncmp(text, "orbloom: ", 9), 0, "%s", text);
        cr_expect(strstr(text, refused[i].says) != NULL, "%s gave: %s", refused[i].line, text);
        cr_expect_eq(strchr(text, '\n'), text + strlen(text) - 1, "one line: %s", text);
    }
    (void)close(saved);
}

Test(flags, help_names_every_flag_with_range_and_default)
{
    char text[4096] = "";
    FILE *out = fmemopen(text, sizeof text, "w");

    cr_assert_neq(out, NULL);
    options_help_command(&table, out);
    (void)fclose(out);
    cr_assert(strstr(text, "orbloom try NAME [FILE...] [FLAGS]") != NULL);
    cr_assert(strstr(text, "-l, --loud") != NULL);
    cr_assert(strstr(text, "[red | green] (default red)") != NULL);
    cr_assert(strstr(text, "[1 to 1M] (required) (not with --nothing)") != NULL);
    cr_assert(strstr(text, "--timeout TIME") != NULL);
}

Test(flags, programs_are_told_a_line_for_each_flag_and_for_each_line_of_the_notes)
{
    struct option_table noted = table;
    char text[4096] = "";
    FILE *out = fmemopen(text, sizeof text, "w");

    cr_assert_neq(out, NULL);
    noted.notes = "One.\n\nExit: 0.";
    options_print_command(&noted, out);
    (void)fclose(out);
    cr_assert_eq(strncmp(text, "words\tNAME [FILE...]\nsummary\t", 29), 0, "%s", text);
    cr_assert(strstr(text, "\nflag\tloud\tl\t-\t-\t-\t-\t") != NULL, "%s", text);
    cr_assert(strstr(text, "\tred | green\tred\t-\t") != NULL, "%s", text);
    cr_assert(strstr(text, "\t1 to 1M\trequired\tnothing\t") != NULL, "%s", text);
    cr_assert(strstr(text, "\nnote\tOne.\nnote\t\nnote\tExit: 0.\n") != NULL, "%s", text);
}

Test(flags, the_nearest_word_is_near)
{
    cr_assert_str_eq(options_nearest("", 0, NULL, ""), "");
    cr_assert_eq(options_nearest("add", 2, NULL, ""), NULL);
    cr_assert_str_eq(options_nearest("add", 3, NULL, ""), "");
    cr_assert_eq(options_nearest("check", 1, NULL, "chekc"), NULL);
    cr_assert_str_eq(options_nearest("check", 2, NULL, "chekc"), "chekc");
    cr_assert_eq(options_nearest("kitten", 2, NULL, "sitting"), NULL);
    cr_assert_str_eq(options_nearest("kitten", 3, NULL, "sitting"), "sitting");
    cr_assert_str_eq(options_nearest("dedub", 2, "drop", "dedup"), "dedup");
    cr_assert_str_eq(options_nearest("aa", 2, "ab", "ac"), "ab");
}

Test(flags, short_words_are_matched_strictly)
{
    cr_assert_eq(options_typing_limit("x"), 0);
    cr_assert_eq(options_typing_limit("chek"), 2);
    cr_assert_eq(options_typing_limit("a-long-word"), 3);
}
