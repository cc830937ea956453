/* One look at each report of the filter; of a slot group's replicas the one with most keys speaks
 * for it, as in report_summarize(). */
#include "coordinator/view/tally.h"

#include "base/heap.h"

/* What is known of one slot group. */
struct group_tally {
    uint64_t keys;
    uint64_t keys_kept;
    uint32_t full; /* replicas that count */
};

struct tallying {
    const struct filter_document *document;
    struct group_tally *groups;
    struct tally *out;
    uint32_t behind; /* replicas that are not FULL */
};

static void take(struct tallying *self, const struct heard *heard,
                 const struct replica_report *report)
{
    const struct filter_document *document = self->document;
    struct group_tally *group = &self->groups[report->group];
    struct report_sum *sum = &self->out->sum;

    sum->full += report->state == REPLICA_FULL;
    sum->joining += report->state == REPLICA_JOINING;
    sum->building += report->state == REPLICA_BUILDING;
    if (report->state != REPLICA_FULL) {
        self->behind++;
        self->out->progress += report->progress;
    }
    if (report->keys > group->keys) {
        group->keys = report->keys;
        group->keys_kept = report->keys_kept;
    }
    self->out->grown += report_grown(report, document_generation(document)->id);
    group->full += report->state == REPLICA_FULL &&
                   member_role(document, report->group, heard->node, heard->incarnation) ==
                       MEMBER_FULL;
}

static void take_all(struct tallying *self, const struct heard *heard)
{
    size_t count;
    const struct replica_report *reports = heard_reports(heard, self->document->id, &count);

    for (size_t i = 0; i < count; i++) {
        if (reports[i].group < self->document->content.ngroups) {
            take(self, heard, &reports[i]);
        }
    }
}

static void add_groups(const struct tallying *self)
{
    for (uint32_t i = 0; i < self->document->content.ngroups; i++) {
        self->out->sum.keys += self->groups[i].keys;
        self->out->sum.keys_kept += self->groups[i].keys_kept;
    }
}

static void add_shards(const struct tallying *self)
{
    const struct epoch_content *content = &self->document->content;
    uint32_t replicas = content->rule.replicas;

    self->out->fewest = replicas;
    for (uint32_t shard = 0; shard < document_nshards(self->document); shard++) {
        uint32_t full = self->groups[content->group_of_shard[shard]].full;

        self->out->nlacking += full < replicas;
        self->out->fewest = full < self->out->fewest ? full : self->out->fewest;
    }
}

enum status tally_filter(const struct coordinator *self, uint64_t now_us,
                         const struct filter_document *document, struct tally *out)
{
    uint32_t ngroups = document->content.ngroups;
    struct tallying tallying = {
        .document = document,
        .groups = heap_zalloc(ngroups, sizeof *tallying.groups),
        .out = out,
    };
    double replicas = (double)document->content.rule.replicas * ngroups;

    if (tallying.groups == NULL) {
        return STATUS_NOMEM;
    }
    *out = (struct tally){0};
    for (size_t i = 0; i < self->nheard; i++) {
        if (coordinator_lately(self, now_us, self->heard[i].last_us)) {
            take_all(&tallying, &self->heard[i]);
        }
    }
    add_groups(&tallying);
    if (document->content.state == FILTER_ACTIVE) {
        add_shards(&tallying);
    }
    out->grown = replicas > 0 && out->grown < replicas ? out->grown / replicas : 1;
    out->progress = tallying.behind > 0 ? out->progress / tallying.behind : 0;
    heap_free(tallying.groups);
    return STATUS_OK;
}

uint32_t tally_needed(const struct quorum_rule *rule)
{
    return rule->write > rule->read ? rule->write : rule->read;
}
