/* Sorted runs that can't be read any more: named, set aside, and no longer counted; what is left
 * is the data of another incarnation.
 *
 *   a job can't read a run -> the file is renamed -> a new incarnation is logged -> the edit
 *
 * A crash in between finds a run missing that the log names, which is a loss as well. */
#include "base/heap.h"
#include "base/log.h"
#include "node/store/private.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

enum status storage_set_aside(const struct storage *self, const char *name)
{
    const struct disk *disk = self->config.disk;
    char aside[DISK_NAME_BYTES];

    (void)snprintf(aside, sizeof aside, "aside-%08" PRIx32 "-%s", self->tag, name);
    log_line(LOG_WARN, "%s can't be used; it is kept as %s", name, aside);
    return disk->rename(disk->context, name, aside);
}

/* Through all its blocks. */
static enum status read_whole(const struct storage *self, const struct record_run *run)
{
    struct run_reader *reader = NULL;
    const uint64_t *fingerprints;
    size_t count = 1;
    enum status status = run_reader_create(self->config.disk, cluster_id_tag(&self->config.cluster),
                                           run, &reader);

    while (status == STATUS_OK && count > 0) {
        status = run_reader_next(reader, &fingerprints, &count);
    }
    run_reader_destroy(&reader);
    return status;
}

static enum status try_run(const struct storage *self, const struct record_run *run, bool *bad)
{
    char name[DISK_NAME_BYTES];
    enum status status = read_whole(self, run);

    /* What fails in another way may be read the next time. */
    *bad = status == STATUS_MALFORMED || status == STATUS_NOT_FOUND;
    if (!*bad) {
        return status;
    }
    run_name(run->number, name);
    log_line(LOG_ERROR, "%s, which the log names, can't be read: %s", name, status_meaning(status));
    return status == STATUS_NOT_FOUND ? STATUS_OK : storage_set_aside(self, name);
}

enum status storage_damage_find(const struct storage *self, const struct record_run *runs,
                                size_t nruns, uint64_t *bad, size_t *nbad)
{
    const struct disk *disk = self->config.disk;
    enum status status = STATUS_OK;

    *nbad = 0;
    for (size_t i = 0; i < nruns && status == STATUS_OK; i++) {
        bool is_bad;

        status = try_run(self, &runs[i], &is_bad);
        if (is_bad) {
            bad[(*nbad)++] = runs[i].number;
        }
    }
    /* The new names first: were the loss logged and they not kept, the next start would find the
     * old ones. */
    return status == STATUS_OK && *nbad > 0 ? disk->sync_folder(disk->context) : status;
}

/* All are of one set, as what reads runs reads those of a set. False: none counts. */
static bool find_set(const struct storage *self, const uint64_t *numbers, size_t count,
                     struct storage_set *set)
{
    for (size_t i = 0; i < self->nruns; i++) {
        const struct record_run *run = &self->runs[i];

        for (size_t k = 0; k < count; k++) {
            if (run->number == numbers[k]) {
                *set = (struct storage_set){
                    .filter_id = run->filter_id, .slice = run->slice, .keyset = run->keyset};
                return true;
            }
        }
    }
    return false;
}

void storage_damage_take(struct storage *self, uint64_t now_us, const uint64_t *bad, size_t nbad)
{
    struct storage_edit edit = {.merged = self->merged, .removed = bad, .nremoved = nbad};
    struct storage_set set;
    enum status status;

    if (self->failed || !find_set(self, bad, nbad, &set)) {
        return; /* Merged or dropped meanwhile, or told already. */
    }
    self->config.damaged(self->config.context, now_us, &set);
    status = self->failed ? STATUS_OK : storage_edit_runs(self, &edit);
    if (status != STATUS_OK) { /* The next start finds them missing. */
        storage_fail(self, status, "the loss of sorted runs can't be logged");
    }
}

/* ---- damaged segments, and other evidence ---- */

static struct storage *of_job(struct job *job)
{
    return (struct storage *)(void *)((char *)job - offsetof(struct storage, evidence_job));
}

/* An imprint has shown what it could. */
static enum status put_one_away(const struct storage *self, const char *name)
{
    uint64_t number;

    if (!imprint_name_parse(name, &number)) {
        return storage_set_aside(self, name);
    }
    storage_imprint_remove(self, name);
    return STATUS_OK;
}

static void put_away(struct job *job)
{
    struct storage *self = of_job(job);
    const struct disk *disk = self->config.disk;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < self->nevidence && status == STATUS_OK; i++) {
        status = put_one_away(self, self->evidence[i]);
    }
    self->evidence_status = status == STATUS_OK ? disk->sync_folder(disk->context) : status;
}

static void on_put_away(struct job *job, uint64_t now_us)
{
    struct storage *self = of_job(job);

    (void)now_us;
    self->nevidence = 0;
    self->setting_aside = false;
    if (self->evidence_status != STATUS_OK) {
        storage_fail(self, self->evidence_status, "a damaged segment can't be set aside");
    }
}

void storage_damage_put_away(struct storage *self)
{
    if (self->nevidence > 0 && !self->setting_aside && !self->failed) {
        self->setting_aside = true;
        self->evidence_job = (struct job){.run = put_away, .done = on_put_away};
        self->config.effects->submit(self->config.effects->context, JOB_BACKGROUND,
                                     &self->evidence_job);
    }
}
