/* Says what a look through the whole of it has found. */
#include "cli/commands/backup_verify.h"

#include "base/number.h"
#include "cli/backup/survey.h"
#include "cli/cmd.h"
#include "cli/output.h"
#include "cli/secret_file.h"
#include "runtime/date.h"

#include <string.h>

static const char *seal_name(const struct survey *survey)
{
    return survey->head.seal == BACKUP_SEAL_PASSPHRASE ? "passphrase" : "cluster key";
}

/* Since 1970; 0: never. */
static uint64_t expires_ms(const struct survey_filter *one)
{
    return (uint64_t)one->filter.expires_min * 60000;
}

static void show_filter(const struct survey_filter *one)
{
    char keys[NUMBER_TEXT_BYTES];
    char bytes[NUMBER_TEXT_BYTES];
    char capacity[NUMBER_TEXT_BYTES];
    char rate[NUMBER_TEXT_BYTES];
    char date[DATE_TEXT_BYTES];

    (void)printf("%s: %s keys, %s; capacity %s at %s; all acknowledged before %s\n",
                 one->filter.name, number_show_count(one->keys, keys),
                 number_show_bytes(one->bytes, bytes),
                 number_show_count(one->filter.capacity, capacity),
                 number_show_rate(one->filter.rate, rate), date_show(one->filter.begun_ms, date));
    if (one->filter.expires_min != 0) {
        (void)printf("%s: it was to be dropped at %s, or later\n", one->filter.name,
                     date_show(expires_ms(one), date));
    }
}

static void show_text(const char *path, const struct survey *survey)
{
    char filters[NUMBER_TEXT_BYTES];
    char keys[NUMBER_TEXT_BYTES];
    char bytes[NUMBER_TEXT_BYTES];
    char date[DATE_TEXT_BYTES];

    (void)printf("%s: whole; begun %s; %s filter%s, %s keys, %s\n", path,
                 date_show(survey->head.begun_ms, date),
                 number_show_count(survey->nfilters, filters), survey->nfilters == 1 ? "" : "s",
                 number_show_count(survey->keys, keys), number_show_bytes(survey->bytes, bytes));
    (void)printf("secrets: sealed with a %s, %s\n", seal_name(survey),
                 survey->opened                                ? "which opens all of them"
                 : survey->head.seal == BACKUP_SEAL_PASSPHRASE ? "not tried: --passphrase-file"
                                                               : "not tried: --cluster-key");
    for (size_t i = 0; i < survey->nfilters; i++) {
        show_filter(&survey->filters[i]);
    }
}

static void show_filter_json(struct json *json, const struct survey_filter *one)
{
    char uid[FILTER_UID_TEXT_BYTES];

    json_begin(json, NULL, '{');
    json_text(json, "name", one->filter.name);
    json_text(json, "uid", filter_uid_show(&one->filter.uid, uid));
    json_count(json, "keys", one->keys);
    json_count(json, "bytes", one->bytes);
    json_count(json, "begun_ms", one->filter.begun_ms);
    json_count(json, "capacity", one->filter.capacity);
    json_count(json, "max_capacity", one->filter.max_capacity);
    json_number(json, "rate", one->filter.rate);
    json_count(json, "expires_at_ms", expires_ms(one));
    json_end(json, '}');
}

static void show_json(const struct survey *survey)
{
    struct json json;

    json_open(&json, stdout);
    json_begin(&json, NULL, '{');
    json_count(&json, "begun_ms", survey->head.begun_ms);
    json_count(&json, "keys", survey->keys);
    json_count(&json, "bytes", survey->bytes);
    json_text(&json, "sealed_with", seal_name(survey));
    json_bool(&json, "opened", survey->opened);
    json_begin(&json, "filters", '[');
    for (size_t i = 0; i < survey->nfilters; i++) {
        show_filter_json(&json, &survey->filters[i]);
    }
    json_end(&json, ']');
    json_end(&json, '}');
}

static enum status read_keys(const char *passphrase_file, const char *cluster_key,
                             struct passphrase *passphrase, struct cluster_key *ring,
                             struct survey_keys *keys)
{
    enum status status = STATUS_OK;

    if (passphrase_file != NULL) {
        status = passphrase_read(passphrase_file, passphrase);
        keys->passphrase = passphrase;
    }
    if (status == STATUS_OK && cluster_key != NULL) {
        status = secret_file_read(&file_cluster_key, cluster_key, cluster_key_read, ring);
        keys->cluster = ring;
    }
    return status;
}

int backup_verify(const char *path, const char *passphrase_file, const char *cluster_key, bool json)
{
    struct passphrase passphrase = {.size = 0};
    struct cluster_key ring = {.count = 0};
    struct survey_keys keys = {0};
    struct survey survey = {0};
    enum status status = read_keys(passphrase_file, cluster_key, &passphrase, &ring, &keys);

    if (status == STATUS_OK) {
        status = survey_make(&survey, path, &keys);
    }
    if (status == STATUS_OK && json) {
        show_json(&survey);
    } else if (status == STATUS_OK) {
        show_text(path, &survey);
    }
    survey_fini(&survey);
    passphrase_wipe(&passphrase);
    explicit_bzero(&ring, sizeof ring);
    return cmd_close_output(status == STATUS_OK ? CMD_OK : CMD_PARTIAL);
}
