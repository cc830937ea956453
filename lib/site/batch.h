/* batch.h - what travels from one site to another of one filter: new fingerprints, and how far the
 * logs that they come from are covered by them. The format alone.
 *
 *     0  u64  magic     "ORBSITE", then the version of the format: 1
 *     8  u64  front     XXH3-64, seed 0, of bytes 16 to 112
 *    16  u64  body      ... of all bytes behind the front, from 112 on
 *    24  u64  u64       uid of the filter: high, low
 *    40  u64  u64       life of the site that sends: number, tag
 *    56  u64  u64       life of the site that is to receive: number, tag
 *    72  u64  first     the first fingerprint; 0 where there is none
 *    80  u32  keys      how many, SITE_BATCH_MAX_KEYS at most
 *    84  u32  bytes     of their code, 8 a key at most
 *    88  u32  cursors   how many, SITE_BATCH_MAX_SOURCES at most
 *    92  u16  flags     enum site_batch_flag
 *    94  u8   keysets   how many, 1 to SITE_BATCH_MAX_KEYSETS
 *    95  u8   parameter of the code, 0 to 63
 *    96  u32  x 4       keysets, rising; zeros behind the last one
 *   112       code      of all fingerprints but the first, as rice.h has it
 *   ...       sources   see below; the batch ends where they do
 *
 * Cursors are told by source: u64 incarnation, u64 boot, u64 offset, u64 epoch, u32 node, u32
 * number of slot groups (1 or more), then so many u32: the groups, rising. A node's groups that are
 * the same in all of these and follow each other are one source, so a link that reads each log once
 * tells 40 bytes a node, and 4 a group. Sources are by rising nodes, those of one node by their
 * groups. So of each batch there is one encoding, given the parameter.
 *
 * All numbers are little-endian. Only the front names who is to receive it: what goes to several
 * sites is encoded once and readdressed.
 *
 * Errors:  reading: STATUS_TOO_LARGE: longer than any batch. STATUS_MALFORMED: a bit is wrong, or
 *          it was cut, or it is no batch. STATUS_VERSION: of another format, or whole and with
 *          flags that only a newer version knows. Nothing here trusts a length.
 * Owner:   everything is borrowed for the call.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_SITE_BATCH_H
#define ORBLOOM_SITE_BATCH_H

#include "base/site_cursor.h"
#include "base/span.h"
#include "map/document.h"
#include "map/sites.h"

enum {
    SITE_BATCH_MAX_KEYS = 65536,
    SITE_BATCH_MAX_KEYSETS = DOCUMENT_MAX_KEYSETS,
    SITE_BATCH_GROUP_SOURCES = RECORD_MAX_SOURCES,
    SITE_BATCH_MAX_SOURCES = SITE_BATCH_GROUP_SOURCES * DOCUMENT_MAX_SHARDS,
    SITE_BATCH_FRONT_BYTES = 112,
    SITE_BATCH_SOURCE_BYTES = 40, /* and 4 for each of its groups */
    SITE_BATCH_MAX_BYTES = SITE_BATCH_FRONT_BYTES + 8 * SITE_BATCH_MAX_KEYS +
                           (SITE_BATCH_SOURCE_BYTES + 4) * SITE_BATCH_MAX_SOURCES,
};

enum site_batch_flag {
    SITE_BATCH_FED = 1,      /* part of the list of a rebuild, not an add */
    SITE_BATCH_COMPARED = 2, /* lacked when both sites were compared: no part of a log's stream */
};

/* How far the log of a node is covered, for one slot group of the site that sends. */
struct site_batch_cursor {
    uint32_t node;
    uint32_t group;
    uint64_t incarnation;
    uint64_t boot;   /* the offset is of this one, or of what it continues */
    uint64_t offset; /* what is below and concerns the group is in this batch or an earlier one */
    uint64_t epoch;  /* of the sender, under which the log began to be followed */
};

struct site_batch {
    struct filter_uid uid;
    struct site_life sender;
    struct site_life receiver;
    uint32_t flags;
    uint32_t nkeysets;
    uint32_t keysets[SITE_BATCH_MAX_KEYSETS]; /* what the keys were added to: rising, none 0 */
    uint32_t nkeys;                           /* 0: it tells cursors alone */
    uint32_t ncursors;
};

/* Room that site_batch_encode() needs. */
size_t site_batch_room(const struct site_batch *batch);

/* Into `out`; the bytes used. Keys rise, each once; cursors by node, then by group, each once; as
 * many of each as `batch` says, and none of them is as it could not be read. */
size_t site_batch_encode(const struct site_batch *batch, const uint64_t *keys,
                         const struct site_batch_cursor *cursors, uint8_t *out);

/* Name another receiver in a batch that is encoded. */
void site_batch_readdress(uint8_t *bytes, const struct site_life *receiver);

/* Lengths first, then both checksums and the front: what tells the room that keys and cursors need.
 * *out is untouched on error. */
MUST_USE enum status site_batch_open(struct span bytes, struct site_batch *out);

/* Of bytes that site_batch_open() has accepted, into room for all. They rise as encode's do. After
 * an error, STATUS_MALFORMED, what is in them means nothing: all of the batch is to be refused. */
MUST_USE enum status site_batch_keys(struct span bytes, uint64_t *keys);
MUST_USE enum status site_batch_cursors(struct span bytes, struct site_batch_cursor *cursors);

#endif
