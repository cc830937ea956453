/* The figures of `orbloom plan`: those of the textbook, those of the library's own sizing, and
 * each in its row and column. */
#include "cli/show/plan.h"
#include "cli/show/plan_answer.h"
#include "cli/show/plan_table.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 64 * 1024, WORDS_MAX = 32 };

static char text[TEXT_BYTES];

/* What `show` prints, in `text`. */
#define CAPTURE(...)                                      \
    do {                                                  \
        FILE *out = fmemopen(text, sizeof text - 1, "w"); \
        cr_assert_not_null(out);                          \
        __VA_ARGS__;                                      \
        cr_assert_eq(fclose(out), 0);                     \
    } while (0)

/* The words of the line that begins with `first`. */
static size_t split_row(const char *first, char row[512], const char *words[WORDS_MAX])
{
    size_t count = 0;

    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += line[0] == '\n';
        (void)snprintf(row, 512, "%.*s", (int)strcspn(line, "\n"), line);
        count = 0;
        for (char *word = strtok(row, " "); word != NULL; word = strtok(NULL, " ")) {
            cr_assert_lt(count, WORDS_MAX);
            words[count++] = word;
        }
        if (count > 0 && strcmp(words[0], first) == 0) {
            return count;
        }
    }
    cr_assert_fail("no row %s in:\n%s", first, text);
    return 0;
}

/* ---- the classic table ---- */

static void expect_rate(const char *bits_per_key, size_t hashes, const char *rate)
{
    char row[512];
    const char *words[WORDS_MAX];

    cr_assert_eq(split_row(bits_per_key, row, words), 2 + PLAN_TABLE_HASHES_MAX);
    cr_assert_str_eq(words[1 + hashes], rate, "m/n = %s, k = %zu: %s", bits_per_key, hashes,
                     words[1 + hashes]);
}

Test(plan_table, has_the_textbook_values)
{
    CAPTURE(plan_table_show(out));
    expect_rate("2", 1, "0.393");
    expect_rate("2", 2, "0.400");
    expect_rate("8", 6, "0.0216");
    expect_rate("10", 3, "0.0174");
    expect_rate("10", 7, "0.00819");
    expect_rate("16", 8, "0.000574");
    expect_rate("32", 8, "5.73e-06");
}

Test(plan_table, has_the_best_k_beside_m_over_n)
{
    char row[512];
    const char *words[WORDS_MAX];

    CAPTURE(plan_table_show(out));
    (void)split_row("2", row, words);
    cr_assert_str_eq(words[1], "1.39");
    (void)split_row("10", row, words);
    cr_assert_str_eq(words[1], "6.93");
    (void)split_row("32", row, words);
    cr_assert_str_eq(words[1], "22.18");
}

Test(plan_table, has_a_row_for_2_to_32_bits_a_key_all_equally_long)
{
    size_t rows = 0;
    size_t length;
    const char *header;

    CAPTURE(plan_table_show(out));
    header = strstr(text, "\n m/n ");
    cr_assert_not_null(header);
    header++;
    length = strcspn(header, "\n");
    for (const char *line = header + length + 1; *line != '\0'; line += length + 1) {
        cr_assert_eq(strcspn(line, "\n"), length, "%s", line);
        cr_assert_eq(strtoul(line, NULL, 10), 2 + rows);
        rows++;
    }
    cr_assert_eq(rows, 31);
}

Test(plan_table, is_an_array_for_programs)
{
    CAPTURE(plan_table_show_json(out));
    cr_assert_eq(strncmp(text,
                         "[\n  {\n    \"bits_per_key\": 2,\n    \"best_hashes\": 1.38629436,\n"
                         "    \"rates\": [\n      0.39346934,\n      0.399576",
                         100),
                 0, "%s", text);
    cr_assert_not_null(strstr(text, "\"bits_per_key\": 32,"));
    cr_assert_not_null(strstr(text, "5.73"));
    cr_assert_str_eq(text + strlen(text) - 4, "}\n]\n");
}

/* ---- plans ---- */

static struct plan_answer answer_for(uint64_t capacity, double rate, uint64_t nodes)
{
    struct plan_question question = {
        .filter = {.capacity = capacity, .rate = rate}, .replicas = 3, .nodes = nodes};
    struct plan_answer answer;

    cr_assert_eq(plan_answer_make(&question, &answer), STATUS_OK);
    return answer;
}

Test(plan, is_the_sizing_of_a_filter_beside_the_classic_one)
{
    struct sizing_request request = {.capacity = 5000000, .rate = 0.001};
    struct sizing_plan sizing;
    struct plan_answer answer = answer_for(5000000, 0.001, 3);

    cr_assert_eq(sizing_plan_make(&request, &sizing), STATUS_OK);
    cr_assert_eq(answer.ours.total_bytes, sizing.total_bytes);
    cr_assert_eq(answer.bits, 8 * sizing.total_bytes);
    cr_assert_eq(answer.lines * 512, answer.bits);
    cr_assert_eq(answer.hashes, 8 * sizing.z);
    cr_assert_eq(answer.shards * sizing.shard_bytes, sizing.total_bytes);
    cr_assert_leq(answer.ours.expected_rate, 0.001);
    cr_assert_eq(answer.classic.hashes, 10);
    cr_assert_eq(answer.classic.bits, 71887938);
}

/* 16 shards, 3 copies: 48 over 5 nodes are 10 on the fullest. */
Test(plan, whole_shards_lie_on_a_node)
{
    struct plan_answer answer = answer_for(1000000, 0.01, 5);

    cr_assert_eq(answer.shards, 16);
    cr_assert_eq(answer.cluster_bytes, 3 * answer.ours.total_bytes);
    cr_assert_eq(answer.node_bytes, 10 * answer.ours.shard_bytes);
}

Test(plan, what_has_no_size_is_refused)
{
    struct plan_question question = {
        .filter = {.capacity = 0, .rate = 0.01}, .replicas = 3, .nodes = 3};
    struct plan_answer answer;

    cr_assert_eq(plan_answer_make(&question, &answer), STATUS_INVALID);
    question.filter = (struct sizing_request){.capacity = 10, .rate = 0.01, .max_capacity = 9};
    cr_assert_eq(plan_answer_make(&question, &answer), STATUS_INVALID);
}

/* Capacity, rate, ours (bits a key, one copy, a node, lines, z, shards, expected), theirs. */
Test(plan, a_list_has_a_row_a_plan_with_ours_and_the_classic_answer)
{
    static const char expected[] =
        "1,000,000 1 % 10.486 1.2 MiB 1.2 MiB 20,480 1 16 0.8325 % 9.585 1.1 MiB 7 1.004 %";
    struct plan_answer answers[2] = {answer_for(1000000, 0.01, 3), answer_for(5000000, 0.001, 3)};
    char row[512] = "";
    char *line;

    CAPTURE(plan_show_list(answers, 2, out));
    line = strstr(text, "1,000,000");
    cr_assert_not_null(line, "%s", text);
    line[strcspn(line, "\n")] = '\0';
    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " ")) {
        (void)strcat(strcat(row, row[0] != '\0' ? " " : ""), word);
    }
    cr_assert_str_eq(row, expected);
}

static size_t count_of(const char *what)
{
    size_t count = 0;

    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what)) {
        count++;
    }
    return count;
}

/* The same members, in an array or alone. */
Test(plan, a_list_is_an_array_of_what_one_plan_is_alone)
{
    struct plan_answer answers[2] = {answer_for(1000000, 0.01, 3), answer_for(1000000, 0.01, 3)};

    CAPTURE(plan_show_list_json(answers, 2, out));
    cr_assert_eq(text[0], '[');
    cr_assert_eq(count_of("\"capacity\": 1000000,"), 2, "duplicates stay");
    cr_assert_eq(count_of("\"cluster_bytes\": "), 2);
    cr_assert_eq(count_of("\"classic\": {"), 2);
    CAPTURE(plan_show_one_json(answers, out));
    cr_assert_eq(text[0], '{');
    cr_assert_eq(count_of("\"capacity\": 1000000,"), 1);
    cr_assert_eq(count_of("\"classic\": {"), 1);
}
