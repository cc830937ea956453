/* Lines of the benchmark: what proves nothing is no figure, and cells gather all rounds. */
#include "base/heap.h"
#include "bench/report/cells.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <string.h>

#define WHOLE                                                                                 \
    "{\"round\": 2, \"target\": \"orbloom\", \"method\": \"\", \"op\": \"check\", "           \
    "\"batch\": 1000, \"in_flight\": 64, \"size\": 5000000, \"keys\": 1000, "                 \
    "\"seconds\": 0.5, \"keys_per_s\": 2000.5, \"requests_per_s\": 2, \"p50_us\": 391, "      \
    "\"p99_us\": 700.5, \"lost\": 0, \"unanswered\": 0, \"absent_checked\": 500, "            \
    "\"false_positives\": 4, \"cpu_ns_per_key\": {\"coordinator\": 1000, \"router\": 80, "    \
    "\"node-1\": 10, \"node-2\": 12, \"client\": 60}, \"resident_bytes\": {\"router\": 900, " \
    "\"node-1\": 300, \"node-2\": 500}, \"arrays_bytes\": {\"node-1\": 100, \"node-2\": 450}}"

Test(bench_rows, a_whole_line_is_read)
{
    struct row row;
    const char *why = "";

    cr_assert_eq(rows_parse(WHOLE, &row, &why), STATUS_OK, "%s", why);
    cr_assert_str_eq(row.target, "orbloom");
    cr_assert_str_eq(row.op, "check");
    cr_assert_eq(row.round, 2);
    cr_assert_eq(row.batch, 1000);
    cr_assert_eq(row.in_flight, 64);
    cr_assert_eq(row.size, 5000000);
    cr_assert_eq(row.keys_per_s, 2000.5);
    cr_assert_eq(row.p99_us, 700.5);
    cr_assert_eq(row.absent_checked, 500);
    cr_assert_eq(row.false_positives, 4);
    cr_assert(row_measured(&row));
    cr_assert_not(row_bad(&row));
}

/* The coordinator takes no part in a key, the client is not the service. */
Test(bench_rows, processes_are_summed_by_what_they_are)
{
    struct row row;
    const char *why = "";

    cr_assert_eq(rows_parse(WHOLE, &row, &why), STATUS_OK);
    cr_assert_eq(row.cpu_service_ns, 102);
    cr_assert_eq(row.cpu_client_ns, 60);
    cr_assert_eq(row.beyond_bytes, 200);
}

Test(bench_rows, fields_that_may_be_absent_are_no_numbers)
{
    struct row row;
    const char *why = "";

    cr_assert_eq(rows_parse("{\"target\":\"redis\",\"op\":\"add\",\"keys_per_s\":5,\"lost\":0,"
                            "\"unanswered\":0,\"resident_bytes\":{\"node-1\":7}}",
                            &row, &why),
                 STATUS_OK, "%s", why);
    cr_assert(isnan(row.p50_us));
    cr_assert(isnan(row.cpu_service_ns));
    cr_assert(isnan(row.beyond_bytes));
    cr_assert_str_eq(row.method, "");
}

Test(bench_rows, unknown_fields_are_passed_over)
{
    struct row row;
    const char *why = "";

    cr_assert_eq(rows_parse("{\"target\":\"kernel\",\"op\":\"check\",\"keys_per_s\":5,"
                            "\"weather\":{\"rain\":[1,2]}}",
                            &row, &why),
                 STATUS_OK, "%s", why);
    cr_assert_eq(row.keys_per_s, 5);
}

/* One value, without a load: nothing else is asked of it. */
Test(bench_rows, a_value_has_a_unit_and_says_what_it_is_of)
{
    struct row row;
    const char *why = "";

    cr_assert_eq(rows_parse("{\"round\":1,\"target\":\"figure\",\"op\":\"restart until FULL\","
                            "\"value\":4.25,\"unit\":\"s\",\"note\":\"5 keys\"}",
                            &row, &why),
                 STATUS_OK, "%s", why);
    cr_assert_eq(row.value, 4.25);
    cr_assert_str_eq(row.unit, "s");
    cr_assert_str_eq(row.note, "5 keys");
    cr_assert(row_measured(&row));
    cr_assert_eq(rows_parse("{\"target\":\"disk\",\"op\":\"write\",\"keys_per_s\":5}", &row, &why),
                 STATUS_OK, "%s", why);
    cr_assert(isnan(row.value));
}

struct wrong {
    char line[200];
};

#define PROVED "\"keys_per_s\":5,\"lost\":0,\"unanswered\":0"

ParameterizedTestParameters(bench_rows, what_proves_nothing_is_refused)
{
    static struct wrong wrongs[] = {
        {""},
        {"\n"},
        {"[]"},
        {"{\"target\":\"orbloom\",\"op\":\"check\",\"keys_per_s\":5,\"lost\":0,\"unansw"},
        {"{\"target\":\"orbloom\",\"op\":\"check\",\"lost\":0,\"unanswered\":0}"},
        {"{\"target\":\"orbloom\",\"op\":\"check\",\"keys_per_s\":5,\"unanswered\":0}"},
        {"{\"target\":\"orbloom\",\"op\":\"check\",\"keys_per_s\":5,\"lost\":0}"},
        {"{\"op\":\"check\"," PROVED "}"},
        {"{\"target\":\"orbloom\"," PROVED "}"},
        {"{\"target\":7,\"op\":\"check\"," PROVED "}"},
        {"{\"target\":\"orbloom\",\"op\":\"check\"," PROVED ",\"p50_us\":\"fast\"}"},
        {"{\"target\":\"orbloom\",\"op\":\"check\"," PROVED ",\"batch\":-1}"},
        {"{\"target\":\"orbloom\",\"op\":\"check\"," PROVED ",\"batch\":1.5}"},
        {"{\"target\":\"orbloom\",\"op\":\"check\"," PROVED ",\"p99_us\":-1}"},
        {"{\"target\":\"orbloom\",\"op\":\"check\"," PROVED ",\"cpu_ns_per_key\":3}"},
        {"{\"target\":\"orbloom\",\"op\":\"check\"," PROVED ",\"lost\":1}"},
        {"{\"target\":\"orbloom\",\"op\":\"check\"," PROVED "}{}"},
        {"{\"target\":\"durable\",\"op\":\"add\",\"keys_per_s\":5}"},
        {"{\"target\":\"disk\",\"op\":\"write\"}"},
        {"{\"target\":\"figure\",\"op\":\"restart\"," PROVED "}"},
        {"{\"target\":\"figure\",\"op\":\"restart\",\"value\":\"4 s\"}"},
    };

    return cr_make_param_array(struct wrong, wrongs, sizeof wrongs / sizeof wrongs[0]);
}

ParameterizedTest(struct wrong *wrong, bench_rows, what_proves_nothing_is_refused)
{
    struct row row = {.batch = 77};
    const char *why = "";

    cr_assert_eq(rows_parse(wrong->line, &row, &why), STATUS_MALFORMED, "%s", wrong->line);
    cr_assert_str_not_empty(why);
    cr_assert_eq(row.batch, 77);
}

Test(bench_rows, lost_or_unanswered_keys_and_failed_commands_are_bad)
{
    struct row row;
    const char *why = "";

    cr_assert_eq(rows_parse("{\"target\":\"orbloom\",\"op\":\"check\",\"keys_per_s\":5,\"lost\":1,"
                            "\"unanswered\":0}",
                            &row, &why),
                 STATUS_OK);
    cr_assert(row_bad(&row));
    cr_assert_eq(rows_parse("{\"target\":\"orbloom\",\"op\":\"check\",\"keys_per_s\":5,\"lost\":0,"
                            "\"unanswered\":3}",
                            &row, &why),
                 STATUS_OK);
    cr_assert(row_bad(&row));
    cr_assert_eq(
        rows_parse("{\"target\":\"redis\",\"op\":\"add\",\"failed\":\"exit 1\"}", &row, &why),
        STATUS_OK);
    cr_assert(row_bad(&row));
    cr_assert_not(row_measured(&row));
    cr_assert_eq(
        rows_parse("{\"target\":\"redis\",\"op\":\"add\",\"not_run\":\"10 GB\"}", &row, &why),
        STATUS_OK);
    cr_assert_not(row_bad(&row));
    cr_assert_not(row_measured(&row));
}

/* One measurement of the given rate; the rest is the same in all. */
#define LINE(rate)                                                              \
    "{\"target\":\"orbloom\",\"op\":\"check\",\"batch\":1,\"keys_per_s\":" rate \
    ",\"lost\":0,\"unanswered\":0,\"absent_checked\":10,\"false_positives\":1}\n"

static const char file[] = LINE("30") LINE(
    "10") "{\"target\":\"orbloom\",\"op\":\"check\",\"batch\":2,\"keys_per_s\":7,\"lost\":0,"
          "\"unanswered\":0}\n"
          "{\"target\":\"orb\n" LINE(
              "20") "{\"target\":\"orbloom\",\"op\":\"check\",\"batch\":1,\"keys_per_s\":900,"
                    "\"lost\":0,"
                    "\"unanswered\":0,\"failed\":\"exit 1\"}\n"
                    "{\"target\":\"redis\",\"op\":\"check\",\"batch\":1,\"not_run\":\"too large\"}";

static enum status read_all(struct rows *rows)
{
    char text[sizeof file];
    char complaints[200] = "";
    FILE *in;
    FILE *out = fmemopen(complaints, sizeof complaints, "w");
    enum status status;

    memcpy(text, file, sizeof file);
    in = fmemopen(text, sizeof file - 1, "r");
    cr_assert(in != NULL && out != NULL);
    status = rows_read(rows, in, out);
    (void)fclose(in);
    (void)fclose(out);
    if (status == STATUS_OK) {
        cr_assert_str_eq(complaints, "line 4 is no row: no JSON object\n");
    }
    return status;
}

Test(bench_rows, cells_gather_the_rounds_of_one_measurement)
{
    struct cell_key key = {"orbloom", "", "check", 1, 0, 0, 0};
    struct rows rows;
    struct cells cells;
    const struct cell *cell;

    cr_assert_eq(read_all(&rows), STATUS_OK);
    cr_assert_eq(rows.count, 6);
    cr_assert_eq(rows.torn, 1);
    cr_assert_eq(cells_make(&cells, &rows), STATUS_OK);
    cr_assert_eq(cells.count, 3);
    cell = cells_find(&cells, &key);
    cr_assert_eq(cell->keys_per_s.median, 20); /* Not of the failed one. */
    cr_assert_eq(cell->keys_per_s.min, 10);
    cr_assert_eq(cell->keys_per_s.max, 30);
    cr_assert_eq(cell->absent_checked, 30);
    cr_assert_eq(cell->false_positives, 3);
    cr_assert(isnan(cell->p50_us.median));
    key.batch = 3;
    cr_assert_null(cells_find(&cells, &key));
    cr_assert(isnan(cell_rate(NULL)));
    key = (struct cell_key){"redis", "", "check", 1, 0, 0, 0};
    cr_assert_str_eq(cells_find(&cells, &key)->not_run, "too large");
    cells_fini(&cells);
    rows_fini(&rows);
}

Test(bench_rows, every_allocation_may_fail)
{
    enum status status = STATUS_NOMEM;
    size_t live = heap_live();

    for (unsigned n = 0; status == STATUS_NOMEM; n++) {
        struct rows rows = {0};
        struct cells cells = {0};

        cr_assert_lt(n, 100);
        heap_fault_after(n);
        status = read_all(&rows);
        if (status == STATUS_OK) {
            status = cells_make(&cells, &rows);
        }
        heap_fault_clear();
        cells_fini(&cells);
        rows_fini(&rows);
        cr_assert_eq(heap_live(), live);
    }
    cr_assert_eq(status, STATUS_OK);
}
