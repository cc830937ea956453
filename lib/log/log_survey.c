/* Judging a log: which segments belong to it, how far it can be read, and whether what can't be is
 * the end of a crash or a loss. What was readable but perhaps never synced is written again over
 * itself and synced: readable is not durable. */
#include "base/heap.h"
#include "base/mutant.h"
#include "log/file_name.h"
#include "log/log_reader.h"
#include "log/log_segment.h"

#include <stdio.h>
#include <stdlib.h>

/* Places in the file: what is durable for certain ends at `from`, what is readable at `to`. */
struct stretch {
    uint64_t from;
    uint64_t to;
};

/* The header itself is durable once a record of its segment is. */
static enum status find(struct log_segment *segment, struct stretch *stretch)
{
    uint64_t first = segment->header.first;
    uint64_t end = first;
    uint64_t durable = first;
    enum status status = STATUS_OK;

    while (status == STATUS_OK) {
        struct record_header header;
        struct span record;

        status = log_segment_read(segment, end, UINT64_MAX, &header, &record);
        if (status == STATUS_OK) {
            end += header.size;
            durable = header.durable > durable ? header.durable : durable;
        }
    }
    stretch->from = durable > first ? SEGMENT_HEADER_BYTES + (durable - first) : 0;
    stretch->to = SEGMENT_HEADER_BYTES + (end - first);
    return status == STATUS_MALFORMED ? STATUS_OK : status;
}

/* Of the segment that is open, which has a header: its readable records. */
static enum status log_rewrite(struct log_segment *segment)
{
    struct log_window *window = &segment->window;
    struct stretch stretch = {0};
    enum status status = find(segment, &stretch);

    if (MUTANT(SYNC_TRUSTED)) {
        stretch.from = stretch.to;
    }
    while (status == STATUS_OK && stretch.from < stretch.to) {
        uint64_t left = stretch.to - stretch.from;
        struct span bytes;

        status = log_window_at(window, stretch.from, 1, &bytes);
        if (status == STATUS_OK) {
            bytes.size = bytes.size < left ? bytes.size : (size_t)left;
            status = window->disk->write(window->disk->context, window->file, stretch.from, bytes);
            stretch.from += bytes.size;
        }
    }
    return status == STATUS_OK ? window->disk->sync(window->disk->context, window->file) : status;
}

/* Judging a log: which segments belong to it, how far it can be read, and whether what can't be
 * was ever on disk. docs/storage.md has the table of cases. */

struct found {
    uint64_t number;
    uint64_t first;
    uint64_t bare;
    uint64_t incarnation;
    bool readable; /* its header */
};

struct surveyor {
    struct disk *disk;
    uint64_t cluster;
    uint64_t begin; /* segments of lower numbers are passed by */
    enum status (*visit)(void *context, const struct record_header *header, struct span record);
    void *context;
    struct log_survey *out;
    uint64_t adds_end; /* of the last record seen that is no state */
    struct log_segment segment;
    struct found *found; /* every segment of the folder, by number */
    size_t nfound;
    size_t capacity;
    enum status listing;
};

static void judge(struct surveyor *self, enum log_state state, uint64_t number, uint64_t place,
                  const char *reason)
{
    self->out->state = state;
    segment_name(number, self->out->bad_name);
    self->out->bad_at = place;
    self->out->reason = reason;
}

/* ---- what the folder holds ---- */

static void note_name(void *argument, const char *name)
{
    struct surveyor *self = argument;
    uint64_t number;

    if (self->listing != STATUS_OK || !segment_name_parse(name, &number) || number < self->begin) {
        return;
    }
    if (!heap_grow(&self->found, &self->capacity, self->nfound + 1, sizeof *self->found)) {
        self->listing = STATUS_NOMEM;
        return;
    }
    self->found[self->nfound++] = (struct found){.number = number};
}

static int by_number(const void *a, const void *b)
{
    const struct found *one = a;
    const struct found *other = b;

    return (one->number > other->number) - (one->number < other->number);
}

static enum status list_segments(struct surveyor *self)
{
    enum status status = self->disk->list(self->disk->context, note_name, self);

    status = status == STATUS_OK ? self->listing : status;
    if (status == STATUS_OK && self->nfound > 0) {
        qsort(self->found, self->nfound, sizeof *self->found, by_number);
        self->out->next_number = self->found[self->nfound - 1].number + 1;
    }
    return status;
}

/* Tells what can't be read as well as what may not be. */
static enum status read_headers(struct surveyor *self)
{
    for (size_t i = 0; i < self->nfound && self->out->state == LOG_OK; i++) {
        struct found *found = &self->found[i];
        enum status status = log_segment_open(&self->segment, found->number);

        if (status == STATUS_VERSION) {
            judge(self, LOG_VERSION, found->number, 0,
                  "another version of orbloom wrote it; run that one, or begin with an empty "
                  "data_dir");
        } else if (status != STATUS_OK && status != STATUS_MALFORMED) {
            return status;
        } else if (status == STATUS_OK && self->segment.header.cluster != self->cluster) {
            judge(self, LOG_FOREIGN, found->number, 0, "a segment of another cluster");
        }
        if (status == STATUS_MALFORMED && found->number >= FILE_NUMBER_MAX) {
            judge(self, LOG_VERSION, found->number, 0,
                  "not a segment, and there is hardly a number above it; move it elsewhere");
        }
        found->readable = status == STATUS_OK;
        found->first = self->segment.header.first;
        found->bare = self->segment.header.bare;
        found->incarnation = self->segment.header.incarnation;
    }
    return STATUS_OK;
}

/* ---- which segments are the log ---- */

static const struct found *last_readable(const struct surveyor *self)
{
    const struct found *last = NULL;

    for (size_t i = 0; i < self->nfound; i++) {
        last = self->found[i].readable ? &self->found[i] : last;
    }
    return last;
}

/* Each ends where a later one begins; of what begins at or above that place, nothing counts.
 * The last one's end is yet to be found. */
static enum status choose_extents(struct surveyor *self)
{
    const struct found *last = last_readable(self);
    struct log_extent *extents;
    size_t count = 0;
    uint64_t cut = UINT64_MAX;

    if (last == NULL) {
        return STATUS_OK;
    }
    extents = heap_alloc(self->nfound, sizeof *extents);
    if (extents == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = self->nfound; i > 0; i--) {
        const struct found *found = &self->found[i - 1];

        if (found->readable && (found == last || found->first < cut)) {
            extents[count++] = (struct log_extent){
                .number = found->number, .first = found->first, .end = cut, .bare = found->bare};
            cut = found->first;
        }
    }
    for (size_t i = 0; i < count / 2; i++) {
        struct log_extent swapped = extents[i];

        extents[i] = extents[count - 1 - i];
        extents[count - 1 - i] = swapped;
    }
    self->out->extents = extents;
    self->out->count = count;
    self->out->incarnation = last->incarnation;
    return STATUS_OK;
}

static enum status make_durable(struct surveyor *self)
{
    const struct found *last = last_readable(self);
    enum status status = self->disk->sync_folder(self->disk->context);

    if (status == STATUS_OK && last != NULL) {
        status = log_segment_open(&self->segment, last->number);
        status = status == STATUS_OK ? log_rewrite(&self->segment) : STATUS_IO;
    }
    return status;
}

/* ---- reading ---- */

static enum status see(struct surveyor *self, bool visit, const struct record_header *header,
                       struct span record)
{
    if (record_is_newer(header, record)) {
        judge(self, LOG_VERSION, self->segment.header.number,
              SEGMENT_HEADER_BYTES + (header->offset - self->segment.header.first),
              "a newer orbloom wrote a record of it; upgrade to that version");
        return STATUS_OK;
    }
    if (!visit) {
        return STATUS_OK;
    }
    if (!record_is_state(header->type)) {
        self->adds_end = header->offset + header->size;
    }
    return self->visit != NULL ? self->visit(self->context, header, record) : STATUS_OK;
}

/* `visit`: what is read counts. *end: how far it is readable; *whole: the checkpoint that it begins
 * with is. */
static enum status read_extent(struct surveyor *self, const struct log_extent *extent, bool visit,
                               uint64_t *end, bool *whole)
{
    struct record_header header;
    struct span record;
    enum status status = log_segment_open(&self->segment, extent->number);

    *end = extent->first;
    *whole = false;
    if (status != STATUS_OK) {
        return status == STATUS_NOMEM ? status : STATUS_IO; /* It could be read a moment ago. */
    }
    while (*end < extent->end && self->out->state == LOG_OK) {
        status = log_segment_read(&self->segment, *end, extent->end, &header, &record);
        if (status != STATUS_OK) {
            return status == STATUS_MALFORMED ? STATUS_OK : status;
        }
        status = see(self, visit, &header, record);
        if (status != STATUS_OK) {
            return status;
        }
        *end += header.size;
        *whole = *whole ||
                 (header.type == RECORD_IDENTITY && (header.flags & RECORD_CHECKPOINTED) != 0);
    }
    return STATUS_OK;
}

static uint64_t place_of(const struct log_extent *extent, uint64_t offset)
{
    return SEGMENT_HEADER_BYTES + (offset - extent->first);
}

/* It is the last one, of those with a header, and ends at `end`: what follows? */
static enum status search_last(struct surveyor *self, const struct log_extent *extent, uint64_t end)
{
    uint64_t place = place_of(extent, end);
    struct log_traces traces;
    enum status status = log_segment_search(&self->segment, place, &(struct log_former){0},
                                            &traces);

    if (status == STATUS_MALFORMED) {
        judge(self, LOG_CORRUPT, extent->number, place, "the disk can't read what is there");
        return STATUS_OK;
    }
    if (status != STATUS_OK) {
        return status;
    }
    self->out->torn_bytes += traces.written - place;
    if (traces.doubtful) {
        judge(self, LOG_CORRUPT, extent->number, place, "too much that looks like records");
    } else if (traces.durable > end) {
        judge(self, LOG_CORRUPT, extent->number, place,
              "no readable record, but a later one says that this place was durable");
    }
    return STATUS_OK;
}

/* Extent i, which ends where it could be read no further, has lost something. */
static void judge_end(struct surveyor *self, size_t i)
{
    const struct log_extent *extent = &self->out->extents[i];

    judge(self, LOG_CORRUPT, extent->number, place_of(extent, extent->end),
          "no readable record, but the log goes on in a later segment");
    self->out->behind = self->out->extents[i + 1].number;
    self->out->count = i + 1; /* The readable part is what is told. */
}

/* Extent i, which should reach to `limit`, was read to its end. Where it falls short, the next one
 * must not need more of it than a checkpoint of its own. */
static enum status look_behind(struct surveyor *self, size_t i, uint64_t limit, bool *hole)
{
    const struct log_extent *extent = &self->out->extents[i];
    const struct log_extent *next = extent + 1;

    *hole = false;
    if (extent->end == limit) {
        return STATUS_OK;
    }
    if (i + 1 == self->out->count) {
        return search_last(self, extent, extent->end);
    }
    *hole = extent->end + next->bare >= next->first;
    if (!*hole) {
        judge_end(self, i);
    }
    return STATUS_OK;
}

static enum status read_log(struct surveyor *self)
{
    bool hole = false; /* in front of the extent */
    enum status status = STATUS_OK;

    for (size_t i = 0; i < self->out->count && status == STATUS_OK; i++) {
        struct log_extent *extent = &self->out->extents[i];
        uint64_t limit = extent->end;
        uint64_t end;
        bool whole = true;

        if (hole) { /* What is behind a loss must not have been visited. */
            status = read_extent(self, extent, false, &end, &whole);
        }
        if (status == STATUS_OK && self->out->state == LOG_OK && !whole) {
            judge_end(self, i - 1);
        }
        if (status == STATUS_OK && self->out->state == LOG_OK) {
            status = read_extent(self, extent, true, &end, &whole);
        }
        if (status != STATUS_OK || self->out->state != LOG_OK) {
            return status;
        }
        extent->end = end;
        status = look_behind(self, i, limit, &hole);
        if (self->out->state != LOG_OK) {
            return status;
        }
    }
    return status;
}

/* ---- segments without a header ---- */

/* The log as it has been read reaches from `first` to `end`: does what is found here contradict
 * that? What began in a crash has records that are torn off at its end, and tells no more of what
 * was durable than that end. */
static bool contradicts(const struct log_traces *traces, uint64_t first, uint64_t end)
{
    return traces->begun || traces->durable > end || traces->lowest < first;
}

/* It is no part of the log any more: it was dropped from the front, or, being bare, from between
 * two others. */
static bool was_dropped(const void *context, uint64_t first)
{
    const struct log_survey *survey = context;
    uint64_t from = 0;

    for (size_t i = 0; i < survey->count; i++) {
        if (first >= from && first < survey->extents[i].first) {
            return true;
        }
        from = survey->extents[i].end;
    }
    return false;
}

static enum status search_headless(struct surveyor *self, const struct found *found)
{
    struct log_survey *out = self->out;
    uint64_t first = out->count > 0 ? out->extents[0].first : 0;
    uint64_t end = out->count > 0 ? out->extents[out->count - 1].end : 0;
    bool behind = out->count > 0 && found->number > out->extents[out->count - 1].number;
    const struct log_former former = {.was = behind ? was_dropped : NULL, .context = out};
    struct log_traces traces;
    enum status status = log_segment_open(&self->segment, found->number);

    if (status != STATUS_OK && status != STATUS_MALFORMED) {
        return status;
    }
    /* A file made ahead may have been an older segment. */
    status = log_segment_search(&self->segment, SEGMENT_HEADER_BYTES, &former, &traces);
    if (status == STATUS_MALFORMED) {
        judge(self, LOG_CORRUPT, found->number, 0, "the disk can't read what is there");
        out->behind = out->count > 0 && !behind ? out->extents[0].number : 0;
        return STATUS_OK;
    }
    if (status != STATUS_OK) {
        return status;
    }
    out->torn_bytes += traces.written - SEGMENT_HEADER_BYTES;
    if (traces.doubtful) {
        judge(self, LOG_CORRUPT, found->number, 0, "too much that looks like records");
    } else if (contradicts(&traces, first, end)) {
        judge(self, LOG_CORRUPT, found->number, 0,
              "no readable header, but records in it say that there was one");
        out->behind = out->count > 0 && !behind ? out->extents[0].number : 0;
    }
    return STATUS_OK;
}

/* Those in the middle have been judged: no record is missing there. */
static bool is_inside(const struct log_survey *survey, uint64_t number)
{
    return survey->count > 0 && number > survey->extents[0].number &&
           number < survey->extents[survey->count - 1].number;
}

static enum status read_headless(struct surveyor *self)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < self->nfound && status == STATUS_OK && self->out->state == LOG_OK; i++) {
        const struct found *found = &self->found[i];

        if (!found->readable && !is_inside(self->out, found->number)) {
            status = search_headless(self, found);
        }
    }
    return status;
}

static void note_bare(const struct surveyor *self, struct log_survey *out)
{
    uint64_t first = out->extents[0].first;

    out->bare = out->extents[out->count - 1].end -
                (self->adds_end > first ? self->adds_end : first);
}

static enum status survey(struct surveyor *self)
{
    enum status status = list_segments(self);

    if (status == STATUS_OK) {
        status = read_headers(self);
    }
    if (status != STATUS_OK || self->out->state != LOG_OK) {
        return status;
    }
    status = make_durable(self);
    if (status == STATUS_OK) {
        status = choose_extents(self);
    }
    if (status == STATUS_OK) {
        status = read_log(self);
    }
    if (status == STATUS_OK) {
        status = read_headless(self);
    }
    if (status == STATUS_OK && self->out->state == LOG_OK) {
        if (self->out->count == 0) {
            self->out->state = LOG_EMPTY;
        } else {
            note_bare(self, self->out);
        }
    }
    return status;
}

enum status log_survey_make(struct disk *disk, uint64_t cluster,
                            enum status (*visit)(void *context, const struct record_header *header,
                                                 struct span record),
                            void *context, struct log_survey *out)
{
    return log_survey_make_behind(disk, cluster, 0, visit, context, out);
}

enum status log_survey_make_behind(struct disk *disk, uint64_t cluster, uint64_t begin,
                                   enum status (*visit)(void *context,
                                                        const struct record_header *header,
                                                        struct span record),
                                   void *context, struct log_survey *out)
{
    struct log_survey made = {.state = LOG_OK, .next_number = 1, .reason = ""};
    struct surveyor self = {.disk = disk,
                            .cluster = cluster,
                            .begin = begin,
                            .visit = visit,
                            .context = context,
                            .out = &made};
    enum status status;

    log_segment_init(&self.segment, disk);
    status = survey(&self);
    log_segment_fini(&self.segment);
    heap_free(self.found);
    if (status != STATUS_OK) {
        log_survey_fini(&made);
        return status;
    }
    *out = made;
    return STATUS_OK;
}

void log_survey_fini(struct log_survey *self)
{
    heap_free(self->extents);
    *self = (struct log_survey){.reason = ""};
}
