/* What was readable but perhaps never synced is written again over itself and synced: readable
 * is not durable. */
#include "log/log_rewrite.h"

#include "base/mutant.h"

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

enum status log_rewrite(struct log_segment *segment)
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
