/* stream.h - a backup as it is written, and read: which record may come when, with its digests.
 *
 *   writer: records in the order of record.h, each appended to `out`, which whoever writes it out
 *           clears; counts, digests and checksums are its own affair.
 *   reader: takes bytes as they come, from a file or a pipe, and tells record by record. Nothing is
 *           told that its checksum does not vouch for; that of an end, that the digest does not.
 *
 * Errors:  of the reader: STATUS_NOT_FOUND: more bytes are needed, or, past the end, that was all.
 *          STATUS_MALFORMED, STATUS_VERSION: `reason` says why; it stays so. STATUS_UNAUTHENTIC: a
 *          digest is not the one of this passphrase. STATUS_NOMEM.
 *          of the writer: as backup_record_write().
 * Owner:   backup_writer_fini(), backup_reader_fini(). Fingerprints of a chunk are the reader's
 *          until the next record.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_BACKUP_STREAM_H
#define ORBLOOM_BACKUP_STREAM_H

#include "backup/digest.h"

/* Where a backup is between two records. */
struct backup_place {
    uint64_t records;
    uint64_t bytes;
    uint64_t filters;  /* that are whole */
    uint64_t keys;     /* of those */
    bool in_filter;    /* one is open */
    uint64_t iterator; /* ... of which all before is there; DUMP_FIRST: nothing */
    uint64_t chunks;
    uint64_t filter_keys;
    bool ended;
};

/* A place that can be gone on behind, with the digest of all before it. */
struct backup_mark {
    struct backup_place place;
    struct backup_digest digest;
};

struct backup_writer {
    struct backup_place place;
    struct backup_digest digest;
    struct buffer out;
};

/* With the head. `key`: NULL: no passphrase. */
MUST_USE enum status backup_writer_begin(struct backup_writer *self, const struct backup_head *head,
                                         const struct backup_key *key);
void backup_writer_fini(struct backup_writer *self);

MUST_USE enum status backup_put_filter(struct backup_writer *self,
                                       const struct backup_filter *filter);

/* From where the last one has ended; once that was at DUMP_END, the filter's end. */
MUST_USE enum status backup_put_chunk(struct backup_writer *self, const struct backup_chunk *chunk);
MUST_USE enum status backup_put_filter_end(struct backup_writer *self);
MUST_USE enum status backup_put_end(struct backup_writer *self);

struct backup_reader {
    struct backup_place place;
    struct backup_digest digest;
    struct buffer bytes; /* that have come and are not told yet */
    size_t used;         /* of these, records that are told */
    uint64_t *room;
    const char *reason;
    enum status broken; /* unless OK it stays so */
    bool passphrase;    /* by the head */
    bool keyed;         /* a key was given, or none is needed: digests are judged */
};

MUST_USE enum status backup_reader_init(struct backup_reader *self);
void backup_reader_fini(struct backup_reader *self);

/* Where more bytes are to be put, so many of them; then how many were. */
MUST_USE enum status backup_reader_room(struct backup_reader *self, size_t size, uint8_t **out);
void backup_reader_put(struct backup_reader *self, size_t size);

MUST_USE enum status backup_reader_next(struct backup_reader *self, struct backup_record *out);

/* Once the head was told, before anything else: the key of its passphrase. Without it digests are
 * not judged. */
void backup_reader_use(struct backup_reader *self, const struct backup_key *key);

/* No more bytes come. OK: that was all, and whole; else `reason`. */
MUST_USE enum status backup_reader_close(struct backup_reader *self);

/* Begin writing behind a place of what was read, which has no end yet. With a passphrase only what
 * is before a filter's end is known to be of who has that, as the digest there was judged: what
 * comes later may be anybody's, and would be vouched for. */
void backup_writer_go_on(struct backup_writer *self, const struct backup_mark *mark);

/* What was written behind that place is to be written anew. */
void backup_writer_back(struct backup_writer *self, const struct backup_mark *mark);

#endif
