/* One report of a filter's slot group, of all its sets. */
#include "cluster/rebuild.h"
#include "node/hosted.h"

/* A key counts in each slice that has it. */
static uint64_t lineage_keys(const struct hosted_filter *self, uint32_t lineage, uint32_t group)
{
    uint64_t sum = 0;

    for (const struct replica_set *set = self->set; set != NULL; set = set->next) {
        sum += set->lineage == lineage ? set->groups[group].keys : 0;
    }
    return sum;
}

/* A set that is not there yet, or still being filled, tells more than one that serves. */
static void show_behind(const struct replica_report *one, struct replica_report *report)
{
    bool behind = one->state < report->state ||
                  (one->state == report->state && one->phase != PHASE_NONE &&
                   (report->phase == PHASE_NONE || one->progress < report->progress));

    if (behind) {
        report->state = one->state;
        report->phase = one->phase;
        report->progress = one->progress;
    }
    if (one->shards_grown < report->shards_grown) {
        report->shards_grown = one->shards_grown;
        report->generation = one->generation;
    }
}

void hosted_report(const struct hosted_filter *self, const struct filter_document *document,
                   uint32_t group, uint64_t sample_lines, struct replica_report *report)
{
    replica_set_report(self->set, document, group, sample_lines, report);
    report->keys_kept = lineage_keys(self, rebuild_serving(document), group);
    report->keys_next = lineage_keys(self, rebuild_lineage(document), group);
    for (const struct replica_set *set = self->set->next; set != NULL; set = set->next) {
        struct replica_report one = {0};

        replica_set_report(set, document, group, 0, &one);
        report->bytes += one.bytes;
        report->overflow_keys += one.overflow_keys;
        if (hosted_is_live(set)) {
            show_behind(&one, report);
        }
        report->keys = one.keys > report->keys ? one.keys : report->keys;
    }
    if ((self->lacks_read || self->lacks_written) && report->state > REPLICA_BUILDING) {
        report->state = REPLICA_BUILDING;
        report->complete = 0;
    }
}
