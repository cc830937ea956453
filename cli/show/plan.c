/* Ours beside the textbook's, for one wish or as a table of many. */
#include "cli/show/plan.h"

#include "base/number.h"
#include "cli/output.h"

/* ---- text ---- */

static void show_comparison(const struct plan_answer *answer, FILE *out)
{
    const struct sizing_plan *ours = &answer->ours;
    const struct sizing_classic *classic = &answer->classic;
    char a[NUMBER_TEXT_BYTES];
    char b[NUMBER_TEXT_BYTES];

    (void)fprintf(out, "                 %20s %20s\n", "orbloom", "classic optimum");
    (void)fprintf(out, "bits             %20s %20s\n", number_show_count(answer->bits, a),
                  number_show_count(classic->bits, b));
    (void)fprintf(out, "hashes (k)       %20u %20u\n", answer->hashes, classic->hashes);
    (void)fprintf(out, "bits a key       %20.3f %20.3f\n", ours->bits_per_key,
                  classic->bits_per_key);
    (void)fprintf(out, "expected rate    %20s %20s\n", number_show_rate(ours->expected_rate, a),
                  number_show_rate(classic->rate, b));
    (void)fprintf(out, "one copy         %20s %20s\n", number_show_bytes(ours->total_bytes, a),
                  number_show_bytes(classic->bits / 8, b));
}

void plan_show_one(const struct plan_answer *answer, FILE *out)
{
    const struct plan_question *question = &answer->question;
    char a[NUMBER_TEXT_BYTES];
    char b[NUMBER_TEXT_BYTES];

    (void)fprintf(out, "%s keys, at most %s false positives\n\n",
                  number_show_count(question->filter.capacity, a),
                  number_show_rate(question->filter.rate, b));
    show_comparison(answer, out);
    (void)fprintf(out, "\none shard        %20s   (%u shards)\n",
                  number_show_bytes(answer->ours.shard_bytes, a), answer->shards);
    (void)fprintf(out, "a node           %20s   (%u nodes, the fullest)\n",
                  number_show_bytes(answer->node_bytes, a), (unsigned)question->nodes);
    (void)fprintf(out, "the cluster      %20s   (%u replicas)\n",
                  number_show_bytes(answer->cluster_bytes, a), (unsigned)question->replicas);
}

/* What is asked for, ours, the classic filter's. */
static void show_row(const struct plan_answer *answer, FILE *out)
{
    const struct sizing_request *filter = &answer->question.filter;
    char a[NUMBER_TEXT_BYTES];
    char b[NUMBER_TEXT_BYTES];

    (void)fprintf(out, "%17s %9s", number_show_count(filter->capacity, a),
                  number_show_rate(filter->rate, b));
    (void)fprintf(out, "  %8.3f %10s %10s", answer->ours.bits_per_key,
                  number_show_bytes(answer->ours.total_bytes, a),
                  number_show_bytes(answer->node_bytes, b));
    (void)fprintf(out, " %15s %u %6u %12s", number_show_count(answer->lines, a), answer->ours.z,
                  answer->shards, number_show_rate(answer->ours.expected_rate, b));
    (void)fprintf(out, "  %8.3f %10s %2u %12s\n", answer->classic.bits_per_key,
                  number_show_bytes(answer->classic.bits / 8, a), answer->classic.hashes,
                  number_show_rate(answer->classic.rate, b));
}

void plan_show_list(const struct plan_answer *answers, size_t count, FILE *out)
{
    (void)fprintf(out, "%17s %9s  %-68s  %s\n", "", "", "ORBLOOM", "CLASSIC OPTIMUM");
    (void)fprintf(out, "%17s %9s  %8s %10s %10s %15s %s %6s %12s  %8s %10s %2s %12s\n", "KEYS",
                  "RATE", "BITS/KEY", "ONE COPY", "A NODE", "LINES", "Z", "SHARDS", "EXPECTED",
                  "BITS/KEY", "ONE COPY", "K", "EXPECTED");
    for (size_t i = 0; i < count; i++) {
        show_row(&answers[i], out);
    }
}

/* ---- JSON ---- */

static void show_object(struct json *json, const struct plan_answer *answer)
{
    const struct plan_question *question = &answer->question;

    json_begin(json, NULL, '{');
    json_count(json, "capacity", question->filter.capacity);
    json_number(json, "rate", question->filter.rate);
    json_count(json, "bits", answer->bits);
    json_count(json, "hashes", answer->hashes);
    json_number(json, "bits_per_key", answer->ours.bits_per_key);
    json_number(json, "expected_rate", answer->ours.expected_rate);
    json_count(json, "shards", answer->shards);
    json_count(json, "shard_bytes", answer->ours.shard_bytes);
    json_count(json, "replicas", question->replicas);
    json_count(json, "nodes", question->nodes);
    json_count(json, "copy_bytes", answer->ours.total_bytes);
    json_count(json, "node_bytes", answer->node_bytes);
    json_count(json, "cluster_bytes", answer->cluster_bytes);
    json_begin(json, "classic", '{');
    json_count(json, "bits", answer->classic.bits);
    json_count(json, "hashes", answer->classic.hashes);
    json_number(json, "bits_per_key", answer->classic.bits_per_key);
    json_number(json, "expected_rate", answer->classic.rate);
    json_end(json, '}');
    json_end(json, '}');
}

void plan_show_one_json(const struct plan_answer *answer, FILE *out)
{
    struct json json;

    json_open(&json, out);
    show_object(&json, answer);
}

void plan_show_list_json(const struct plan_answer *answers, size_t count, FILE *out)
{
    struct json json;

    json_open(&json, out);
    json_begin(&json, NULL, '[');
    for (size_t i = 0; i < count; i++) {
        show_object(&json, &answers[i]);
    }
    json_end(&json, ']');
}
