/* dump.h - a filter as bytes: a header, then chunks of sorted fingerprints. The format alone.
 *
 * A header says how to make the copy: what the filter is, and its hash secret, without which the
 * fingerprints mean nothing. Chunks follow in ascending order, each with all fingerprints of its
 * range. A place in the space of fingerprints is told as an iterator: 1 at its beginning, one more
 * every 2^16 fingerprints, DUMP_END at its end; so it fits into the 53 bits of a double.
 *
 *   header  magic 8 · version 4 · kind 4 = 1 · source 8 · capacity 8 · rate 8 · max capacity 8 ·
 *           N, W, R, hash, when unavailable, when full 1 each · zeros 2 · secret 16 · sum 8
 *   chunk   magic 8 · version 4 · kind 4 = 2 · source 8 · from 8 · to 8 · count 8 ·
 *           fingerprints 8 each · sum 8
 *
 * Numbers are little-endian, the rate an IEEE double, `from` and `to` iterators. `source` names the
 * filter with its secret: chunks and header of one dump have the same. The sum is the XXH3-64 (seed
 * 0) of all before.
 *
 * Errors:  STATUS_MALFORMED: not as above, or not as a dump can be. STATUS_VERSION: of a format
 *          that this version does not know. Anything may be given to the readers.
 * Owner:   dump_chunk_read() borrows the bytes.
 * Threads: none.
 */
#ifndef ORBLOOM_MAP_DUMP_H
#define ORBLOOM_MAP_DUMP_H

#include "base/buffer.h"
#include "map/document.h"

enum {
    DUMP_MAX_KEYS = 65536, /* in a chunk; as many as an iterator's step holds at most */
    DUMP_STEP_BITS = 16,
    DUMP_HEADER_BYTES = 80,
    DUMP_MAX_BYTES = 56 + DUMP_MAX_KEYS * 8, /* of a chunk */
};

#define DUMP_FIRST DOCUMENT_LOAD_FIRST
#define DUMP_END   DOCUMENT_LOAD_END

struct dump_header {
    uint64_t source; /* not 0 */
    uint64_t capacity;
    double rate;
    uint64_t max_capacity;
    struct quorum_rule rule;
    enum hash_kind hash;
    enum when_unavailable when_unavailable;
    enum when_full when_full;
    struct hash_secret secret;
};

struct dump_chunk {
    uint64_t source;
    uint64_t from;      /* iterator */
    uint64_t to;        /* ... above it: of the next chunk, or DUMP_END */
    struct span packed; /* fingerprints; see dump_chunk_unpack() */
    size_t count;
};

/* What names a filter with its secret, wherever its dump goes. A rebuild from a list makes another
 * one of it: of the keys before and after it no copy can be put together. */
uint64_t dump_source(const struct filter_document *document, const struct hash_secret *secret);

/* The first fingerprint at an iterator below DUMP_END; and the iterator at a fingerprint. */
uint64_t dump_fingerprint(uint64_t iterator);
uint64_t dump_iterator(uint64_t fingerprint);

/* Append one; STATUS_NOMEM, STATUS_TOO_LARGE as buffer_append(). */
MUST_USE enum status dump_header_write(const struct dump_header *header, struct buffer *out);
MUST_USE enum status dump_header_read(struct span bytes, struct dump_header *out);

/* `fingerprints` ascend, each once, from `from` on and below `to`; DUMP_MAX_KEYS at most. */
MUST_USE enum status dump_chunk_write(uint64_t source, uint64_t from, uint64_t to,
                                      const uint64_t *fingerprints, size_t count,
                                      struct buffer *out);
MUST_USE enum status dump_chunk_read(struct span bytes, struct dump_chunk *out);

/* All of them, into room for `count`. */
void dump_chunk_unpack(const struct dump_chunk *chunk, uint64_t *fingerprints);

#endif
