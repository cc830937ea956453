/* log_writer_private.h - the parts of a log_writer; for log_writer.c, and who looks into it in
 * tests.
 *
 * The actor owns everything but a group under way, which belongs to the commit lane, and a
 * segment being made, which belongs to the background lane. What lanes find out they put into
 * their job; done() takes it over.
 *
 *   gathering: [records of the present segment][header of the next][its records]
 *               piece 0                         piece 1
 *
 * A gathering has one piece, or two when a segment begins in it; so the next segment can't be used
 * up before its own next has been made.
 */
#ifndef ORBLOOM_LOG_LOG_WRITER_PRIVATE_H
#define ORBLOOM_LOG_LOG_WRITER_PRIVATE_H

#include "base/buffer.h"
#include "log/log_writer.h"
#include "log/segment.h"

enum {
    LOG_GATHER_BYTES = 16 << 20,     /* beyond: OVERLOADED */
    LOG_GATHER_MAX_BYTES = 64 << 20, /* with what is urgent and one record more */
    LOG_RESERVE_MAX_BYTES = 1 << 20,
    LOG_RESERVE_PART = 8, /* at most this part of a segment is reserved */
    LOG_MAX_PATIENCE = 1024,
    LOG_PIECES = 2,
};

/* A file that records go to. Those in use at once: the one of a group under way that it ends,
 * the one that it begins, the one that a gathering begins, and those that are made ahead. */
struct log_file {
    uint64_t number;
    uint32_t file;
    bool made;
};

enum { LOG_FILES = 4 + LOG_MAX_KEPT };

struct log_piece {
    struct log_file *into;
    uint64_t place;  /* in the file */
    size_t start;    /* in the bytes gathered */
    size_t size;     /* with the header, if it begins the segment */
    uint64_t offset; /* in the log, of its first record */
    uint64_t end;
    bool begins;
};

struct log_gathering {
    struct buffer bytes;
    struct log_piece pieces[LOG_PIECES];
    size_t npieces;
};

/* A group commit: job first. */
struct log_group {
    struct job job;
    struct log_writer *writer;
    struct log_gathering what;
    uint64_t durable; /* synced when it was handed over; then, what is synced now */
    bool sync;        /* up to its end; else only what a segment's end demands */
    bool busy;
    bool ran;
    enum status status;
    const char *failed; /* what */
};

/* A later segment's file, made ahead: job first. */
struct log_making {
    struct job job;
    struct log_writer *writer;
    struct log_file *into;
    bool spare; /* of the spare, if that is still there */
    bool busy;
    bool ran;
    enum status status;
};

struct log_writer {
    struct log_writer_config config;
    struct log_gathering gathering;
    struct log_group group;
    struct log_making making;
    struct log_file files[LOG_FILES];

    struct log_file *present; /* NULL: this boot has no segment yet */
    uint64_t place;           /* in it, where the next record goes */
    uint64_t fresh;           /* where the first record after its checkpoint went */
    uint32_t ahead;           /* files made, for the segments that follow the present one */
    bool no_room;             /* for another one, when last tried */
    bool spare;               /* there is one, for the file after those */
    uint64_t patience;        /* turns to wait before there may be room */
    uint64_t waited;
    uint64_t adds_end; /* of the last record that is no state; or where no more is known */

    uint64_t end;
    uint64_t written;
    uint64_t synced;
    uint64_t wanted; /* to be synced up to here */
    bool sync;
    bool checkpointing;
    bool broken;
};

#endif
