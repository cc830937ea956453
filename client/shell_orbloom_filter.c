/* orbloom.h for filters: create, drop, rebuild, info; each a question that the caller waits for. */
#include "client/shell_orbloom_handle.h"
#include "proto/replica_report.h"

#include <stdio.h>

enum { DEFAULT_REPLICAS = 3 };

_Static_assert((int)ORBLOOM_SIPHASH == (int)HASH_SIPHASH24 && (int)ORBLOOM_XXH3 == (int)HASH_XXH3,
               "the public numbers are those of documents");

/* The outcome of one question, taken while the answer is still borrowed. */
struct outcome {
    struct orbloom *handle;
    enum status status;
    uint32_t attempts;
    bool created;
    uint64_t filter_id;
    uint32_t keyset;  /* of the rebuild that is open; 0: none is */
    uint32_t serving; /* of the keys that checks read */
    struct orbloom_info info;
};

static void take_info(const struct info_reply *reply, struct orbloom_info *out)
{
    const struct filter_summary *filter = &reply->filter;
    struct report_sum sum = report_summarize(reply->replicas, reply->nreplicas, 0);

    *out = (struct orbloom_info){.id = filter->id,
                                 .epoch = filter->epoch,
                                 .capacity = filter->capacity,
                                 .max_capacity = filter->max_capacity,
                                 .rate = filter->rate,
                                 .replicas = filter->rule.replicas,
                                 .write_quorum = filter->rule.write,
                                 .read_quorum = filter->rule.read,
                                 .shards = filter->nshards,
                                 .bytes = filter->shard_bytes * filter->nshards,
                                 .keys = sum.keys,
                                 .replicas_full = sum.full,
                                 .replicas_waiting = sum.joining + sum.building,
                                 .hash = (enum orbloom_hash)filter->hash};
}

static void on_done(void *context, const struct session_result *result)
{
    struct outcome *outcome = context;

    outcome->status = result->status;
    outcome->attempts = result->attempts;
    if (result->status != STATUS_OK) {
        (void)orbloom_fail(outcome->handle, result->status, "%s", result->message);
    } else if (result->frame->kind == FRAME_ADMIN_REPLY) {
        const struct admin_reply *reply = &result->frame->body.admin_reply;

        outcome->created = reply->created;
        outcome->filter_id = reply->nfilters == 1 ? reply->filters[0].id : 0;
        outcome->keyset = reply->nfilters == 1 ? reply->filters[0].rebuild_keyset : 0;
        outcome->serving = reply->nfilters == 1 ? reply->filters[0].keyset : 0;
    } else if (result->frame->kind == FRAME_INFO_REPLY) {
        take_info(&result->frame->body.info_reply, &outcome->info);
    }
}

static enum status ask(struct orbloom *handle, const struct frame *frame, struct outcome *outcome)
{
    *outcome = (struct outcome){.handle = handle, .status = STATUS_INVALID};
    if (handle->channel != NULL) {
        channel_ask(handle->channel, handle->timeout_us, frame, on_done, outcome);
    }
    return outcome->status;
}

static void fill_create(const struct orbloom_filter *filter, struct create_parameters *create)
{
    create->capacity = filter->capacity;
    create->rate = filter->rate;
    create->max_capacity = filter->max_capacity;
    create->rule.replicas = filter->replicas > 0 ? filter->replicas : DEFAULT_REPLICAS;
    create->rule.write = filter->write_quorum > 0 ? filter->write_quorum
                                                  : create->rule.replicas / 2 + 1;
    create->rule.read = filter->read_quorum > 0 ? filter->read_quorum
                                                : create->rule.replicas - create->rule.write + 1;
    create->hash = filter->hash != 0 ? (enum hash_kind)filter->hash : HASH_SIPHASH24;
    create->when_unavailable = filter->maybe_when_unavailable != 0 ? WHEN_UNAVAILABLE_MAYBE
                                                                   : WHEN_UNAVAILABLE_ERROR;
    create->when_full = filter->refuse_when_full != 0 ? WHEN_FULL_REFUSE : (enum when_full)0;
    create->keylog = filter->keylog_off != 0 ? KEYLOG_OFF : KEYLOG_ON;
}

static int check_create(struct orbloom *handle, const struct orbloom_filter *filter,
                        const struct create_parameters *create)
{
    if (!document_name_valid(span_text(filter->name != NULL ? filter->name : ""))) {
        return orbloom_fail(handle, STATUS_INVALID, "a filter's name is [A-Za-z0-9._:-]{1,128}");
    }
    if (create->hash != HASH_SIPHASH24 && create->hash != HASH_XXH3) {
        return orbloom_fail(handle, STATUS_INVALID,
                            "there is no hash number %d; use ORBLOOM_SIPHASH or ORBLOOM_XXH3",
                            (int)filter->hash);
    }
    if (quorum_rule_check(&create->rule) != STATUS_OK) {
        return orbloom_fail(handle, STATUS_INVALID,
                            "quorums need W + R > N and 2 W > N, with 1 <= W, R <= N <= %d",
                            QUORUM_MAX_REPLICAS);
    }
    return ORBLOOM_OK;
}

int orbloom_create(struct orbloom *handle, const struct orbloom_filter *filter, int *created)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct create_parameters *create = &frame.body.admin_request.create;
    struct outcome outcome;
    enum status status;
    int code;

    frame.body.admin_request.action = ADMIN_CREATE;
    frame.body.admin_request.name = filter->name;
    fill_create(filter, create);
    code = check_create(handle, filter, create);
    if (code != ORBLOOM_OK) {
        return code;
    }
    status = ask(handle, &frame, &outcome);
    if (created != NULL) {
        *created = outcome.created;
    }
    return (int)status;
}

int orbloom_drop(struct orbloom *handle, const char *filter)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST,
                          .body.admin_request = {.action = ADMIN_DROP, .name = filter}};
    struct outcome outcome;

    return (int)ask(handle, &frame, &outcome);
}

/* By the ids of the filter and the rebuild, so that a command which comes late, or again, means
 * these and no later ones. */
static int rebuild(struct orbloom *handle, const char *filter,
                   const struct rebuild_parameters *wanted, uint32_t *keyset)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct admin_request *request = &frame.body.admin_request;
    struct outcome outcome;
    enum status status;

    request->action = ADMIN_STATUS;
    request->name = filter;
    status = ask(handle, &frame, &outcome);
    if (status == STATUS_OK) {
        request->action = ADMIN_REBUILD;
        request->filter_id = outcome.filter_id;
        request->rebuild = *wanted;
        if (wanted->keyset == 0 && wanted->step != REBUILD_BEGIN) {
            request->rebuild.keyset = outcome.keyset != 0 ? outcome.keyset : outcome.serving;
        }
        status = ask(handle, &frame, &outcome);
    }
    if (keyset != NULL) {
        *keyset = status == STATUS_OK ? outcome.keyset : 0;
    }
    return (int)status;
}

int orbloom_rebuild_begin(struct orbloom *handle, const char *filter, uint32_t *keyset)
{
    return rebuild(handle, filter, &(struct rebuild_parameters){.step = REBUILD_BEGIN}, keyset);
}

int orbloom_rebuild_fed(struct orbloom *handle, const char *filter, uint32_t keyset, uint64_t keys)
{
    const struct rebuild_parameters wanted = {
        .step = REBUILD_FED, .keyset = keyset, .fed_keys = keys};

    return rebuild(handle, filter, &wanted, NULL);
}

int orbloom_rebuild_commit(struct orbloom *handle, const char *filter, uint32_t keyset, int empty)
{
    const struct rebuild_parameters wanted = {
        .step = REBUILD_COMMIT, .keyset = keyset, .empty = empty != 0};

    return rebuild(handle, filter, &wanted, NULL);
}

int orbloom_rebuild_abort(struct orbloom *handle, const char *filter, uint32_t keyset)
{
    const struct rebuild_parameters wanted = {.step = REBUILD_ABORT, .keyset = keyset};

    return rebuild(handle, filter, &wanted, NULL);
}

int orbloom_info(struct orbloom *handle, const char *filter, struct orbloom_info *out)
{
    struct frame frame = {.kind = FRAME_INFO_REQUEST};
    struct outcome outcome;
    enum status status;

    frame.body.info_request.filter = filter;
    status = ask(handle, &frame, &outcome);
    if (status == STATUS_OK) {
        *out = outcome.info;
    }
    return (int)status;
}
