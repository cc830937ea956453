/* A row for each m/n and a column for each k: nothing here is about our own lines. */
#include "cli/show/plan_table.h"

#include "cli/output.h"
#include "filter/sizing.h"

static const double ln2 = 0.69314718055994530942;

/* The k of the lowest rate, were k no whole number. */
static double best_hashes(uint32_t bits_per_key)
{
    return ln2 * bits_per_key;
}

static void show_row(uint32_t bits_per_key, FILE *out)
{
    (void)fprintf(out, "%4u %7.2f", bits_per_key, best_hashes(bits_per_key));
    for (uint32_t k = 1; k <= PLAN_TABLE_HASHES_MAX; k++) {
        (void)fprintf(out, " %#9.3g", sizing_classic_rate(bits_per_key, k));
    }
    (void)fputc('\n', out);
}

void plan_table_show(FILE *out)
{
    (void)fprintf(out, "false positive rate of the classic Bloom filter, (1 - e^(-kn/m))^k;"
                       " best k = m/n ln 2\n\n");
    (void)fprintf(out, "%4s %7s", "m/n", "best k");
    for (int k = 1; k <= PLAN_TABLE_HASHES_MAX; k++) {
        (void)fprintf(out, " %8s%d", "k = ", k);
    }
    (void)fputc('\n', out);
    for (uint32_t bits = PLAN_TABLE_BITS_MIN; bits <= PLAN_TABLE_BITS_MAX; bits++) {
        show_row(bits, out);
    }
}

static void show_object(struct json *json, uint32_t bits_per_key)
{
    json_begin(json, NULL, '{');
    json_count(json, "bits_per_key", bits_per_key);
    json_number(json, "best_hashes", best_hashes(bits_per_key));
    json_begin(json, "rates", '[');
    for (uint32_t k = 1; k <= PLAN_TABLE_HASHES_MAX; k++) {
        json_number(json, NULL, sizing_classic_rate(bits_per_key, k));
    }
    json_end(json, ']');
    json_end(json, '}');
}

void plan_table_show_json(FILE *out)
{
    struct json json;

    json_open(&json, out);
    json_begin(&json, NULL, '[');
    for (uint32_t bits = PLAN_TABLE_BITS_MIN; bits <= PLAN_TABLE_BITS_MAX; bits++) {
        show_object(&json, bits);
    }
    json_end(&json, ']');
}
