/* One report of a filter's slot group, of all its sets. */
#include "map/rebuild.h"
#include "node/array/hosted.h"

/* A key counts in each slice that has it. */
static uint64_t keyset_keys(const struct hosted_filter *self, uint32_t keyset, uint32_t group)
{
    uint64_t sum = 0;

    for (const struct arrays *set = self->set; set != NULL; set = set->next) {
        sum += set->keyset == keyset ? set->groups[group].keys : 0;
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

static void show_lacking(const struct hosted_filter *self, struct replica_report *report)
{
    if ((self->lacks_read || self->lacks_written) && report->state > REPLICA_BUILDING) {
        report->state = REPLICA_BUILDING;
        report->complete = 0;
    }
}

/* Of a chain all are served together, each in its place: a group is grown when the wanted
 * generation's arrays stand. */
static void report_chain(const struct hosted_filter *self, const struct filter_document *document,
                         uint32_t group, uint64_t sample_lines, struct replica_report *report)
{
    uint32_t wanted = document_generation(document)->id;

    report->keys_next = report->keys;
    for (const struct arrays *set = self->set; set != NULL; set = set->next) {
        struct replica_report one = {0};

        if (set != self->set) {
            arrays_report(set, document, group, hosted_is_live(set) ? sample_lines : 0, &one);
            report->bytes += one.bytes;
            report->bits_set += one.bits_set;
            report->bits_seen += one.bits_seen;
            report->keys += one.keys;
        }
        if (set != self->set && hosted_is_live(set)) {
            show_behind(&one, report);
        }
    }
    report->keys_kept = report->keys;
    report->generation = arrays_base(self->set)->generation.id;
    report->shards_grown = 0;
    for (const struct arrays *set = self->set; set != NULL; set = set->next) {
        if (arrays_base(set)->generation.id == wanted && arrays_built(set)) {
            report->generation = wanted;
            report->shards_grown = set->groups[group].nshards;
        }
    }
}

void hosted_report(const struct hosted_filter *self, const struct filter_document *document,
                   uint32_t group, uint64_t sample_lines, struct replica_report *report)
{
    arrays_report(self->set, document, group, sample_lines, report);
    if (document_is_chain(document)) {
        report_chain(self, document, group, sample_lines, report);
        show_lacking(self, report);
        return;
    }
    report->keys_kept = keyset_keys(self, rebuild_serving(document), group);
    report->keys_next = keyset_keys(self, rebuild_keyset(document), group);
    for (const struct arrays *set = self->set->next; set != NULL; set = set->next) {
        struct replica_report one = {0};

        arrays_report(set, document, group, 0, &one);
        report->bytes += one.bytes;
        report->overflow_keys += one.overflow_keys;
        if (hosted_is_live(set)) {
            show_behind(&one, report);
        }
        report->keys = one.keys > report->keys ? one.keys : report->keys;
    }
    show_lacking(self, report);
}
