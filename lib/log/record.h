/* record.h - the records of a node's log, byte by byte.
 *
 * All numbers little-endian. A record is a header of 40 bytes and a body, padded with zeros to a
 * multiple of 8:
 *
 *    0  u64  checksum   XXH3-64, seed 0, of bytes 8 to size
 *    8  u32  size       header, body and padding; 40 to RECORD_MAX_BYTES
 *   12  u16  type       enum record_type
 *   14  u16  flags      of an identity: RECORD_CHECKPOINT: the whole state follows;
 *                       RECORD_CHECKPOINTED: that was all of it
 *   16  u64  boot       of the process that wrote it
 *   24  u64  offset     where it begins in the log, counted over all segments
 *   32  u64  durable    everything below was synced when this was written
 *
 * `durable` tells a torn tail from corruption: a record that can't be read below a readable one's
 * `durable` was on disk once. Records are appended unsealed; whoever writes them stamps boot,
 * durable and checksum (record_seal), so that hashing is the storage thread's work.
 *
 * A batch (RECORD_BATCH), at 40:
 *   u64 filter id, u64 epoch, u64 batch boot, u64 batch number, u32 slot group, u16 0,
 *   u16 number of targets, u32 count, u32 flags (enum record_batch_flag), targets of 16 bytes
 *   (u64 slice, u32 keyset, u32 0), count fingerprints of u64
 *
 * The others, at 40, in the order of the fields of their structs; numbers that would not be
 * aligned to their size are preceded by zeros:
 *   RECORD_IDENTITY   u64 incarnation, u64 boot, u64 kernel boot, u32 node, u32 flags (1: unsynced,
 *                     2: confirmed), u32 boots before, u32 those before these, RECORD_MAX_BOOTS of
 *                     u64, RECORD_MAX_BOOTS of u64: where each ended
 *   RECORD_FENCE      u64 filter id, u64 epoch, u64 hash of the epoch
 *   RECORD_DOCUMENT   u32 size, that many bytes
 *   RECORD_MANIFEST   u64 merged, u32 number removed, u32 number added, removed of u64,
 *                     added of 40 bytes: u64 number, u64 filter id, u64 slice, u32 keyset, u32 0,
 *                     u64 count
 *   RECORD_CURSOR     u64 filter id, u32 slot group, u32 keyset, u64 slice, u32 source, u32 0,
 *                     u64 source incarnation, u64 offset, u64 epoch
 *   RECORD_CLEAN      nothing
 *   RECORD_SNAPSHOT   u64 number, u64 filter id, u64 slice, u32 keyset, u32 generation, u64 from,
 *                     u64 end
 *   RECORD_LINES      u64 filter id, u64 slice, u32 keyset, u32 generation, u32 shard, u32 0,
 *                     u64 page, 4,096 bytes, inverted: few bits in words of zeros could look
 *                     like headers to who searches a torn segment
 *   RECORD_PEER       u64 incarnation, u64 boot, u64 base, u32 node, u32 0
 *   RECORD_SITE_CURSOR
 *                     u64 filter id, u32 slot group, u32 keyset, 2 of u64: the other site,
 *                     u64 and u64: its life, u64 and u64: the life here, u64 loss, u32 its slot
 *                     group, u32 number of sources, sources of 40 bytes: u64 incarnation,
 *                     u64 boot, u64 offset, u64 epoch, u32 node, u32 0
 *
 * Which types and flags there are is part of the segments' version: others mean a newer orbloom.
 *
 * Errors:  decoding: STATUS_MALFORMED; STATUS_VERSION: flags that only a newer orbloom knows.
 *          Nothing here trusts a length.
 * Owner:   views borrow the bytes.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_LOG_RECORD_H
#define ORBLOOM_LOG_RECORD_H

#include "base/site_cursor.h"
#include "base/span.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RECORD_HEADER_BYTES = 40,
    RECORD_MAX_BYTES = 4 << 20,
    RECORD_MAX_TARGETS = 8,
    RECORD_MAX_BOOTS = 64,
};

enum record_type {
    RECORD_IDENTITY = 1, /* who writes: see struct record_identity */
    RECORD_BATCH = 2,    /* fingerprints of one add */
    RECORD_FENCE = 3,
    RECORD_DOCUMENT = 4,     /* body: a SignedDocument as received, after a u32 size */
    RECORD_MANIFEST = 5,     /* runs that came and went */
    RECORD_CURSOR = 6,       /* how far a peer's log has been taken over */
    RECORD_CLEAN = 7,        /* the process ended in order; nothing follows in this boot */
    RECORD_SNAPSHOT = 8,     /* which copy of an array counts */
    RECORD_LINES = 9,        /* bits of a page of an array, taken over from a peer */
    RECORD_PEER = 10,        /* another node's boot, confirmed in the store's place */
    RECORD_SITE_CURSOR = 11, /* how far another site's logs have been applied */
    RECORD_LAST = RECORD_SITE_CURSOR
};

enum { RECORD_CHECKPOINT = 1, RECORD_CHECKPOINTED = 2 };

enum record_batch_flag {
    RECORD_BATCH_REPAIRED = 1, /* not by a router: taken over from another node */
    RECORD_BATCH_BITS = 2,     /* of a filter without key log: never in runs */
    RECORD_BATCH_RELAYED = 4,  /* came from another site, and goes no further */
    RECORD_BATCH_FED = 8,      /* part of the list of a rebuild */
    RECORD_BATCH_PARTIAL = 16, /* some fingerprints of the batch only: the replica was full */
};

struct record_header {
    uint32_t size;
    uint16_t type;
    uint16_t flags;
    uint64_t boot;
    uint64_t offset;
    uint64_t durable;
};

/* One continuous life of a node's data, and the boot under way. */
struct record_identity {
    uint64_t incarnation;
    uint64_t boot;
    uint64_t kernel_boot; /* XXH3-64 of the kernel's boot id */
    uint32_t node;        /* 0: not registered yet */
    bool unsynced;        /* acknowledges without sync: only this kernel remembers it all */
    bool confirmed;       /* the store names this boot */
    uint32_t nbefore;     /* else it names one of these */
    uint32_t nformer;     /* behind them: boots before those, the last one first, as many as fit */
    uint64_t before[RECORD_MAX_BOOTS];
    uint64_t ends[RECORD_MAX_BOOTS]; /* where in the log each of them ended */
};

struct record_target {
    uint64_t slice;
    uint32_t keyset;
};

struct record_batch {
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t batch_producer;
    uint64_t batch_number;
    uint32_t group;
    bool repaired;
    bool bits;    /* of a filter without key log: only its array is kept */
    bool relayed; /* these three as enum record_batch_flag says */
    bool fed;
    bool partial; /* the batch id names more than this record has */
    uint32_t ntargets;
    struct record_target targets[RECORD_MAX_TARGETS];
    uint32_t count;
    const uint64_t *fingerprints; /* little-endian machines read them in place; 8-aligned */
};

struct record_fence {
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t epoch_hash;
};

/* How far the log of `source` has been taken over, for one slot group of one filter. */
struct record_cursor {
    uint64_t filter_id;
    uint32_t group;
    uint32_t keyset;
    uint64_t slice;
    uint32_t source; /* node */
    uint64_t source_incarnation;
    uint64_t offset; /* everything below is here */
    uint64_t epoch;  /* SYNC: complete for the document of this epoch; 0: a delta's cursor */
};

/* This node has said yes to a boot of another one. */
struct record_peer {
    uint64_t incarnation;
    uint64_t boot;
    uint64_t base; /* the boot that the node list named then */
    uint32_t node;
};

/* A sorted run; see run.h. */
struct record_run {
    uint64_t number; /* never reused */
    uint64_t filter_id;
    uint64_t slice;
    uint32_t keyset;
    uint64_t count;   /* fingerprints */
    uint64_t through; /* all its batches are below this offset of the log; 0: not known. Its file
                         says so, no record does */
};

/* An edit of the set of runs; applying it twice is the same as once. */
struct record_manifest {
    uint64_t merged; /* batches below this offset are in runs */
    uint32_t nremoved;
    uint32_t nadded;
    struct span body; /* to be read by record_manifest_removed/_added */
};

/* What a filter without key log has on disk beside the log: the last one of a (filter, keyset,
 * slice) counts. See snapshot.h. */
struct record_snapshot {
    uint64_t number; /* of the file, never reused; 0: there is none */
    uint64_t filter_id;
    uint64_t slice;
    uint32_t keyset;
    uint32_t generation;
    uint64_t from; /* what the log has below this offset is in the snapshot; UINT64_MAX: nothing is
                      needed any more, the filter being dropped */
    uint64_t end;  /* what it has from there on is in no page and not counted */
};

/* Bits that a peer had in a page of an array. */
struct record_lines {
    uint64_t filter_id;
    uint64_t slice;
    uint32_t keyset;
    uint32_t generation; /* of this geometry; of another one they mean nothing */
    uint32_t shard;
    uint64_t page;        /* of the shard */
    const uint8_t *bytes; /* RECORD_PAGE_BYTES, with zeros behind a page of fewer lines; as
                             _get gives them: see record_lines_page() */
};

/* Bytes of a record with such a body, a multiple of 8; more than RECORD_MAX_BYTES: can't be. */
size_t record_size(size_t body_size);

/* Is it repeated by every checkpoint, as long as it counts? All are but what adds brought. */
bool record_is_state(uint16_t type);

/* Is it, though whole, of a type or with flags that this version does not know? A newer orbloom
 * wrote it then, and what it means can't be guessed. `record` is what record_open() accepted. */
bool record_is_newer(const struct record_header *header, struct span record);

/* Write a header into `at`; boot, durable and checksum are left for record_seal(). The padding
 * after the body must be zero. */
void record_begin(uint8_t *at, const struct record_header *header);

/* Stamp boot and durable and make the checksum. `at` holds a whole record. */
void record_seal(uint8_t *at, uint64_t boot, uint64_t durable);

/* What the header at the beginning of `bytes` says, unchecked but for a size that may be.
 * STATUS_MALFORMED: none; STATUS_TOO_LARGE: fewer than 40 bytes. */
MUST_USE enum status record_peek(struct span bytes, struct record_header *header);

/* Header and checksum of the record at the beginning of `bytes`, which may be longer.
 * STATUS_MALFORMED: no readable record; STATUS_TOO_LARGE: its size, if it is one, is beyond
 * `bytes` (read more). */
MUST_USE enum status record_open(struct span bytes, struct record_header *header);

/* Bodies: `record` is a whole record as record_open() accepted it, or what is to be filled. The
 * _size functions say how long a body is, _put writes it at record + RECORD_HEADER_BYTES (and not
 * the padding), _get gives STATUS_MALFORMED for a record of another type too. */
size_t record_batch_size(const struct record_batch *batch);
void record_batch_put(uint8_t *record, const struct record_batch *batch);
MUST_USE enum status record_batch_get(struct span record, struct record_batch *batch);

enum {
    RECORD_IDENTITY_BYTES = 1064,
    RECORD_FENCE_BYTES = 24,
    RECORD_CURSOR_BYTES = 56,
    RECORD_PEER_BYTES = 32
};

void record_identity_put(uint8_t *record, const struct record_identity *identity);
MUST_USE enum status record_identity_get(struct span record, struct record_identity *identity);
void record_fence_put(uint8_t *record, const struct record_fence *fence);
MUST_USE enum status record_fence_get(struct span record, struct record_fence *fence);
void record_cursor_put(uint8_t *record, const struct record_cursor *cursor);
MUST_USE enum status record_cursor_get(struct span record, struct record_cursor *cursor);
size_t record_site_cursor_size(const struct record_site_cursor *cursor);
void record_site_cursor_put(uint8_t *record, const struct record_site_cursor *cursor);
MUST_USE enum status record_site_cursor_get(struct span record, struct record_site_cursor *cursor);
void record_peer_put(uint8_t *record, const struct record_peer *peer);
MUST_USE enum status record_peer_get(struct span record, struct record_peer *peer);

enum { RECORD_PAGE_BYTES = 4096, RECORD_SNAPSHOT_BYTES = 48, RECORD_LINES_BYTES = 40 + 4096 };

void record_snapshot_put(uint8_t *record, const struct record_snapshot *snapshot);
MUST_USE enum status record_snapshot_get(struct span record, struct record_snapshot *snapshot);
void record_lines_put(uint8_t *record, const struct record_lines *lines);
MUST_USE enum status record_lines_get(struct span record, struct record_lines *lines);

/* The bits of a record that record_lines_get() has read. */
void record_lines_page(const struct record_lines *read, uint8_t page[RECORD_PAGE_BYTES]);

size_t record_document_size(struct span document);
void record_document_put(uint8_t *record, struct span document);
MUST_USE enum status record_document_get(struct span record, struct span *document);

size_t record_manifest_size(uint32_t nremoved, uint32_t nadded);
void record_manifest_put(uint8_t *record, uint64_t merged, const uint64_t *removed,
                         uint32_t nremoved, const struct record_run *added, uint32_t nadded);
MUST_USE enum status record_manifest_get(struct span record, struct record_manifest *manifest);
uint64_t record_manifest_removed(const struct record_manifest *manifest, uint32_t index);
struct record_run record_manifest_added(const struct record_manifest *manifest, uint32_t index);

#endif
