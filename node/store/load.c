/* Reading a snapshot or an imprint back, slice by slice on the background lane: the next one is
 * read while whoever asked looks at the one before. */
#include "base/heap.h"
#include "base/log.h"
#include "node/store/private.h"

struct load_job {
    struct job job; /* first */
    struct storage *storage;
    struct storage_load *load; /* NULL: nobody waits any more */
    struct record_snapshot snapshot;
    bool imprint;
    struct snapshot_reader *reader;
    bool busy;  /* the lane has it */
    bool asked; /* whoever asked waits for the slice that is read, or has been */
    bool ready; /* it has been */
    enum status status;
    uint64_t first;
    size_t npages;
    unsigned slot; /* that is read into; the other one is being looked at */
    uint8_t pages[2][STEPS_LOAD_PAGES * SNAPSHOT_PAGE_BYTES];
};

void storage_load_destroy(struct storage *self)
{
    if (self->load != NULL) {
        snapshot_reader_destroy(&self->load->reader);
        heap_free(self->load);
        self->load = NULL;
    }
}

static enum status open_file(struct load_job *self)
{
    const struct storage_config *config = &self->storage->config;
    struct record_snapshot id;

    return self->imprint ? imprint_reader_create(config->disk, cluster_id_tag(&config->cluster),
                                                 self->snapshot.number, &id, &self->reader)
                         : snapshot_reader_create(config->disk, cluster_id_tag(&config->cluster),
                                                  &self->snapshot, &self->reader);
}

static enum status read_slice(struct load_job *self)
{
    const struct storage_config *config = &self->storage->config;
    enum status status = self->reader == NULL ? open_file(self) : STATUS_OK;

    if (status == STATUS_OK) {
        status = snapshot_reader_next(self->reader, self->pages[self->slot],
                                      config->steps->most[STEP_LOAD_PAGES], &self->npages);
    }
    return status;
}

/* Somebody may want to look at it. */
static enum status set_aside(const struct load_job *self, enum status why)
{
    const struct disk *disk = self->storage->config.disk;
    char name[DISK_NAME_BYTES];
    enum status status = STATUS_OK;

    snapshot_name(self->snapshot.number, name);
    log_line(LOG_ERROR, "%s, which the log names, can't be read: %s", name, status_meaning(why));
    if (why == STATUS_MALFORMED) {
        status = storage_set_aside(self->storage, name);
        status = status == STATUS_OK ? disk->sync_folder(disk->context) : status;
    }
    return status == STATUS_OK ? STATUS_STALE : status;
}

static void run(struct job *job)
{
    struct load_job *self = (struct load_job *)job;

    if (self->ready) {
        return;
    }
    self->status = read_slice(self);
    if (self->imprint) {
        /* Whatever it is: runs have all. */
        self->status = self->status == STATUS_OK || self->status == STATUS_NOMEM ? self->status
                                                                                 : STATUS_STALE;
    } else if (self->status == STATUS_MALFORMED || self->status == STATUS_NOT_FOUND) {
        self->status = set_aside(self, self->status);
    }
}

/* What is left is the data of another incarnation; see damage.c. */
static void take_damage(struct storage *storage, uint64_t now_us,
                        const struct record_snapshot *snapshot)
{
    const struct storage_set set = {
        .filter_id = snapshot->filter_id, .slice = snapshot->slice, .keyset = snapshot->keyset};
    struct storage_array *array = storage_arrays_find(&storage->arrays, &set);
    struct record_snapshot without;
    enum status status;

    if (storage->failed || array == NULL || array->counts.number != snapshot->number) {
        return;
    }
    storage->config.damaged(storage->config.context, now_us, &set);
    if (storage->failed) {
        return;
    }
    without = array->counts;
    without.number = 0;
    without.end = 0;
    status = storage_edit_array(storage, &without);
    if (status != STATUS_OK) { /* The next start finds it missing. */
        storage_fail(storage, status, "the loss of a snapshot can't be logged");
    }
}

static void submit(struct load_job *self)
{
    const struct effects *effects = self->storage->config.effects;

    self->busy = true;
    effects->submit(effects->context, JOB_BACKGROUND, &self->job);
}

static void tell(struct load_job *self, uint64_t now_us)
{
    struct storage *storage = self->storage;
    struct storage_load *load = self->load;
    uint64_t refused;
    bool all = false;

    if (self->status == STATUS_OK) {
        load->shape = snapshot_reader_shape(self->reader);
        load->snapshot = self->snapshot;
        load->pages = self->pages[self->slot];
        load->npages = self->npages;
        load->first = self->first;
        self->first += self->npages;
        all = self->first == snapshot_npages(load->shape);
        load->end = all;
    }
    if (self->status == STATUS_OK && !all) {
        steps_again(storage->config.steps, STEP_LOAD_PAGES);
        self->slot ^= 1;
        submit(self);
        load->done(load, now_us, STATUS_OK);
        return;
    }
    /* The job is over before whoever asked hears of it, as he may begin another one. */
    storage->load = NULL;
    if (self->status == STATUS_STALE && self->imprint) {
        storage_imprint_refuse(storage, &self->snapshot, "it can't be read, or was changed");
    } else if (self->status == STATUS_STALE) {
        take_damage(storage, now_us, &self->snapshot);
    }
    refused = storage->imprints.refused;
    load->done(load, now_us, self->status);
    storage->imprints.read += self->imprint && all && refused == storage->imprints.refused;
    snapshot_reader_destroy(&self->reader);
    heap_free(self);
}

static void done(struct job *job, uint64_t now_us)
{
    struct load_job *self = (struct load_job *)job;

    self->busy = false;
    self->ready = true;
    if (self->load == NULL) {
        storage_load_destroy(self->storage);
    } else if (self->asked) {
        self->asked = self->ready = false;
        tell(self, now_us);
    }
}

static enum status begin(struct storage *self, struct storage_load *load)
{
    struct record_snapshot snapshot = {0};
    bool found = load->imprint ? storage_imprint(self, &load->set, &snapshot)
                               : storage_array(self, &load->set, &snapshot);

    if (!found || snapshot.number == 0) {
        return STATUS_NOT_FOUND;
    }
    self->load = heap_zalloc(1, sizeof *self->load);
    if (self->load == NULL) {
        return STATUS_NOMEM;
    }
    self->load->storage = self;
    self->load->load = load;
    self->load->snapshot = snapshot;
    self->load->imprint = load->imprint;
    self->load->job = (struct job){.run = run, .done = done};
    return STATUS_OK;
}

enum status storage_load(struct storage *self, struct storage_load *load)
{
    enum status status = STATUS_OK;

    if (self->load == NULL) {
        status = begin(self, load);
    } else if (self->load->load != load || self->load->asked) {
        status = STATUS_OVERLOADED;
    }
    if (status == STATUS_OK) {
        self->load->asked = true;
        if (!self->load->busy) {
            submit(self->load); /* To be read, or told: never from within this call. */
        }
    }
    return status;
}

void storage_load_refuse(struct storage *self, const struct storage_load *load, uint64_t now_us)
{
    char name[DISK_NAME_BYTES];

    if (load->imprint) {
        storage_imprint_refuse(self, &load->snapshot, "it is of another array than this one");
        return;
    }
    snapshot_name(load->snapshot.number, name);
    log_line(LOG_ERROR, "%s, which the log names, is of another array: it counts no longer", name);
    take_damage(self, now_us, &load->snapshot);
}

void storage_load_stop(struct storage *self, struct storage_load *load)
{
    if (self->load == NULL || self->load->load != load) {
        return;
    }
    self->load->load = NULL;
    if (!self->load->busy) {
        storage_load_destroy(self);
    }
}
