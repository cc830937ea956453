/* Rotations: fences of the newest slice, then counts of the nodes, then the next slice by
 * compare-and-swap. */

#include "base/mutant.h"
#include "base/number.h"
#include "coordinator/ask/fences.h"
#include "coordinator/duty.h"
#include "coordinator/records.h"
#include "coordinator/rounds.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    SECOND_US = 1000000,
};

/* ---- what is remembered ---- */

static struct rotating *find(const struct coordinator *self, uint64_t filter_id)
{
    return notes_find(&self->notes, NOTE_ROTATING, filter_id);
}

/* About the document's newest slice: what was said of another one is forgotten. NULL: out of
 * memory. */
static struct rotating *open(struct coordinator *self, const struct filter_document *document)
{
    struct rotating *found = notes_open(&self->notes, NOTE_ROTATING, document->id);

    if (found != NULL && found->slice != document->content.newest_slice) {
        counts_forget(&found->counts);
        *found = (struct rotating){.slice = document->content.newest_slice};
    }
    return found;
}

static void hear(struct coordinator *self, const struct fence_reply *reply)
{
    struct rotating *rotating = find(self, reply->filter_id);

    if (rotating != NULL && reply->slice != 0 && reply->slice == rotating->slice &&
        reply->status == STATUS_OK) {
        counts_note(&rotating->counts, reply->node_id, reply->counted_us);
    }
}

/* ---- fences ---- */

static uint8_t fences_wanted(const struct coordinator *self, const struct filter_document *document,
                             const struct evidence *evidence, uint32_t group)
{
    (void)self;
    return (uint8_t)~evidence_silenced(evidence, document, group);
}

static void gather_fences(struct coordinator *self, uint64_t now_us,
                          const struct document_entry *entry, struct rotating *rotating)
{
    struct fencing *fencing = fences_open(self, &entry->document);

    if (fencing == NULL) {
        return; /* Out of memory: tried again at the next event. */
    }
    rotating->fenced = MUTANT(ROTATE_UNFENCED) ||
                       rebuild_fenced(&entry->document, &fencing->evidence);
    if (!rotating->fenced) {
        fences_ask(self, now_us, fencing, entry, fences_wanted);
    }
}

/* ---- counts ---- */

static uint64_t remaining_us(const struct filter_document *document,
                             const struct rotating *rotating)
{
    return window_remaining_us(document, rotating->counts.items, rotating->counts.count);
}

static void ask_counts(struct coordinator *self, uint64_t now_us,
                       const struct document_entry *entry, struct rotating *rotating)
{
    fences_ask_members(self, entry, rotating->slice);
    rotating->asked_us = now_us;
}

/* ---- moving on ---- */

static void edit(struct filter_document *document, const void *context)
{
    (void)context;
    window_rotate(document);
}

static void rotate(struct coordinator *self, uint64_t now_us, const struct document_entry *entry,
                   struct rotating *rotating)
{
    enum status status;

    assert(rotating->fenced); /* Else nodes may not have begun to count for the present slice. */
    status = records_edit_filter(self, now_us, entry, edit, NULL);
    if (status == STATUS_OK) {
        coordinator_count(self, COORDINATOR_rotations_written_total);
        log_line(LOG_INFO, "filter %s: slice %" PRIu64 " begins (epoch %" PRIu64 ")",
                 entry->document.content.name, entry->document.content.newest_slice,
                 entry->document.epoch);
    }
    rotating->tried_us = now_us;
}

static bool concerns(const struct document_entry *entry)
{
    return entry->document.nslices > 0 && entry->document.content.state == FILTER_ACTIVE &&
           !entry->conflict;
}

static void look(struct coordinator *self, uint64_t now_us, struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;
    struct rotating *rotating = open(self, document);
    uint64_t left_us;

    assert(concerns(entry));
    if (rotating == NULL || rounds_is_moving(document)) {
        return; /* Evidence for replacing replicas is of the present epoch. */
    }
    if (!rotating->fenced) {
        gather_fences(self, now_us, entry, rotating);
    }
    if (!rotating->fenced) {
        return;
    }
    left_us = remaining_us(document, rotating);
    if (left_us == 0) {
        if (rotating->tried_us == 0 || now_us >= rotating->tried_us + self->config.fence_retry_us) {
            rotate(self, now_us, entry, rotating);
        }
        rotating->next_us = rotating->tried_us + self->config.fence_retry_us;
        return;
    }
    if (rotating->asked_us == 0 ||
        now_us >= rotating->asked_us + counts_wait_us(left_us, self->config.fence_retry_us)) {
        ask_counts(self, now_us, entry, rotating);
    }
    rotating->next_us = rotating->asked_us + counts_wait_us(left_us, self->config.fence_retry_us);
}

static uint64_t due_us(const struct coordinator *self)
{
    return notes_next_us(&self->notes, NOTE_ROTATING);
}

/* ---- in words ---- */

static void describe(struct coordinator *self, uint64_t now_us, const struct document_entry *entry,
                     struct telling *out)
{
    const struct filter_document *document = &entry->document;
    const struct rotating *rotating = find(self, document->id);
    uint64_t left_us = WINDOW_UNKNOWN;
    char time[NUMBER_TEXT_BYTES];
    char *text;

    if (document->nslices == 0 || document->content.state != FILTER_ACTIVE) {
        return;
    }
    text = telling_text(out);
    if (rotating != NULL && rotating->fenced && rotating->slice == document->content.newest_slice) {
        left_us = remaining_us(document, rotating);
    }
    if (rounds_is_moving(document)) {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                       "another slice begins when its replicas have been replaced");
    } else if (left_us == WINDOW_UNKNOWN) {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                       "another slice begins once enough nodes have confirmed slice %" PRIu64,
                       document->content.newest_slice);
    } else {
        uint64_t gone_us = now_us - rotating->asked_us;

        left_us = left_us > gone_us ? left_us - gone_us : 1;
        left_us += SECOND_US - 1; /* Rounded up: in "0s" it would not have begun yet. */
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES, "another slice begins in about %s",
                       number_show_duration(left_us - left_us % SECOND_US, time));
    }
    out->summary->window_awaited = text;
}

const struct duty duty_window = {
    .concerns = concerns,
    .look = look,
    .due_us = due_us,
    .hear = hear,
    .describe = describe,
};
