/* record.h - the records of a backup: what they say, and their bytes. The format alone.
 *
 * A backup is the 8 bytes "ORBBAKP" and its version, 1; then records:
 *
 *     head   (filter  chunk ... chunk  filter end) ...   end
 *
 * Of a filter, which keeps its secret sealed, chunks are all that it has, ascending, each with all
 * fingerprints of its range; ranges touch, and are told as iterators of dumps (map/dump.h).
 * docs/backup.md has the tables of all bytes.
 *
 * Numbers are little-endian. Each record has a checksum that knows how many came before: none can
 * be left out, come twice or change its place. The ends have a digest of all bytes before them:
 * digest.h.
 *
 * Errors:  STATUS_MALFORMED: not as above, or not as a backup can be. Anything may be given to the
 *          readers. STATUS_NOMEM, STATUS_TOO_LARGE: as buffer_append().
 * Threads: none; pure.
 */
#ifndef ORBLOOM_BACKUP_RECORD_H
#define ORBLOOM_BACKUP_RECORD_H

#include "base/buffer.h"
#include "map/access/seal.h"
#include "map/document.h"
#include "map/dump.h"

enum {
    BACKUP_MAGIC_BYTES = 8,
    BACKUP_FRONT_BYTES = 16, /* of a record, before its body */
    BACKUP_SALT_BYTES = 16,
    BACKUP_DIGEST_BYTES = 32,
    BACKUP_MAX_BODY_BYTES = 32 + 8 * DUMP_MAX_KEYS,
};

enum backup_kind {
    BACKUP_HEAD = 1,
    BACKUP_FILTER = 2,
    BACKUP_CHUNK = 3,
    BACKUP_FILTER_END = 4,
    BACKUP_END = 5,
};

/* By what the secrets in it are sealed. */
enum backup_seal { BACKUP_SEAL_CLUSTER = 1, BACKUP_SEAL_PASSPHRASE = 2 };

struct backup_head {
    uint64_t id;       /* random; not 0 */
    uint64_t begun_ms; /* since 1970 */
    enum backup_seal seal;
    uint32_t passes; /* of a passphrase: what making a key of it costs; else 0 */
    uint32_t memory_kib;
    uint8_t salt[BACKUP_SALT_BYTES]; /* ... */
};

/* A filter as it is to be made, and which one it was. */
struct backup_filter {
    struct filter_uid uid;
    uint64_t source;   /* random, not 0: names what is made of it, and its sealed secret */
    uint64_t dump;     /* dump_source(), not 0: what chunks were asked for as */
    uint64_t begun_ms; /* since 1970: what was acknowledged before is in it */
    uint64_t capacity;
    double rate;
    uint64_t max_capacity;
    uint64_t max_staleness; /* map/staleness.h */
    uint32_t acks;          /* map/acks.h */
    struct quorum_rule rule;
    enum hash_kind hash;
    enum when_unavailable when_unavailable;
    enum when_full when_full;
    enum durability durability; /* sync or os */
    uint32_t expires_min;       /* since 1970: it was to be dropped then, or later; 0: never */
    uint8_t sealed[SEAL_SECRET_BYTES];
    char name[DOCUMENT_NAME_BYTES];
};

struct backup_chunk {
    uint64_t from; /* iterators: the range */
    uint64_t to;
    const uint64_t *fingerprints; /* ascending, each once, all in the range */
    uint32_t count;               /* DUMP_MAX_KEYS at most */
};

struct backup_filter_end {
    uint64_t keys;
    uint64_t chunks;
    uint8_t digest[BACKUP_DIGEST_BYTES]; /* of all bytes of the backup before this record */
};

struct backup_end {
    uint64_t filters;
    uint64_t keys; /* of all of them */
    uint8_t digest[BACKUP_DIGEST_BYTES];
};

struct backup_record {
    enum backup_kind kind;
    union {
        struct backup_head head;
        struct backup_filter filter;
        struct backup_chunk chunk;
        struct backup_filter_end filter_end;
        struct backup_end end;
    };
};

extern const uint8_t backup_magic[BACKUP_MAGIC_BYTES];

/* Append a record's bytes, that come after so many records. */
MUST_USE enum status backup_record_write(const struct backup_record *record, uint64_t before,
                                         struct buffer *out);

/* How long the record is that begins so, its front included, by its BACKUP_FRONT_BYTES. */
MUST_USE enum status backup_record_size(const uint8_t *front, size_t *size);

/* A whole record. A chunk's fingerprints are put into `room`, for DUMP_MAX_KEYS. */
MUST_USE enum status backup_record_read(struct span bytes, uint64_t before, uint64_t *room,
                                        struct backup_record *out);

#endif
