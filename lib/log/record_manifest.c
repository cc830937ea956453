/* What records say of runs. */
#include "log/record_private.h"

#include <assert.h>
#include <string.h>

enum { RUN_BYTES = 40, MANIFEST_FIXED_BYTES = 16 };

/* None of these has padding of the compiler's: copied as they are. */
struct manifest_layout {
    uint64_t merged;
    uint32_t nremoved;
    uint32_t nadded;
};

struct run_layout {
    uint64_t number;
    uint64_t filter_id;
    uint64_t slice;
    uint32_t lineage;
    uint32_t zero;
    uint64_t count;
};

_Static_assert(sizeof(struct manifest_layout) == MANIFEST_FIXED_BYTES, "as record.h says");
_Static_assert(sizeof(struct run_layout) == RUN_BYTES, "as record.h says");

size_t record_manifest_size(uint32_t nremoved, uint32_t nadded)
{
    return MANIFEST_FIXED_BYTES + (size_t)nremoved * sizeof(uint64_t) + (size_t)nadded * RUN_BYTES;
}

void record_manifest_put(uint8_t *record, uint64_t merged, const uint64_t *removed,
                         uint32_t nremoved, const struct record_run *added, uint32_t nadded)
{
    uint8_t *at = record + RECORD_HEADER_BYTES;
    const struct manifest_layout fixed = {.merged = merged, .nremoved = nremoved, .nadded = nadded};

    memcpy(at, &fixed, sizeof fixed);
    at += sizeof fixed;
    if (nremoved > 0) {
        memcpy(at, removed, nremoved * sizeof *removed);
        at += nremoved * sizeof *removed;
    }
    for (uint32_t i = 0; i < nadded; i++) {
        const struct run_layout run = {.number = added[i].number,
                                       .filter_id = added[i].filter_id,
                                       .slice = added[i].slice,
                                       .lineage = added[i].lineage,
                                       .count = added[i].count};

        memcpy(at, &run, sizeof run);
        at += sizeof run;
    }
}

enum status record_manifest_get(struct span record, struct record_manifest *manifest)
{
    struct manifest_layout fixed;
    struct span body;
    enum status status = record_body_of(record, RECORD_MANIFEST, &fixed, sizeof fixed, &body);

    if (status != STATUS_OK || body.size != record_manifest_size(fixed.nremoved, fixed.nadded)) {
        return STATUS_MALFORMED;
    }
    *manifest = (struct record_manifest){
        .merged = fixed.merged, .nremoved = fixed.nremoved, .nadded = fixed.nadded, .body = body};
    return STATUS_OK;
}

uint64_t record_manifest_removed(const struct record_manifest *manifest, uint32_t index)
{
    uint64_t number;

    assert(index < manifest->nremoved);
    memcpy(&number, manifest->body.data + MANIFEST_FIXED_BYTES + (size_t)index * sizeof number,
           sizeof number);
    return number;
}

struct record_run record_manifest_added(const struct record_manifest *manifest, uint32_t index)
{
    struct run_layout run;

    assert(index < manifest->nadded);
    memcpy(&run,
           manifest->body.data + record_manifest_size(manifest->nremoved, 0) +
               (size_t)index * RUN_BYTES,
           sizeof run);
    return (struct record_run){.number = run.number,
                               .filter_id = run.filter_id,
                               .slice = run.slice,
                               .lineage = run.lineage,
                               .count = run.count};
}
