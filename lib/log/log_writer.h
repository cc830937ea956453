/* log_writer.h - appending to the log, and group commit.
 *
 * The actor appends records to memory; log_writer_turn() hands what has gathered to the commit
 * lane, one group at a time, which seals, writes and syncs it; `moved` is called when a group is
 * done. No timer: while one group is written the next one gathers.
 *
 *   append -> [gathering] -> turn() -> [commit lane: seal, write, sync] -> moved()
 *
 * A record never spans segments. Every segment begins with a checkpoint: before the first record of
 * all, and when one does not fit any more, `checkpoint` is called within log_writer_append() to
 * append the node's whole state (all but batches), so that older segments may go once their batches
 * are in runs. There log_writer_segment() is the new segment and log_writer_end() its `first`,
 * where the one before ends. A checkpoint that could not be appended whole is one to fail for.
 *
 * The next segment's file is made ahead, by the background lane; where there is no room for it,
 * appending is refused once the present segment is full, except for what is `urgent` (documents,
 * fences, checkpoints: an eighth of each segment, up to 1 MiB, is kept for them), and the room is
 * looked for again, ever more rarely, as turns go by. The first file is made by the first group;
 * without room for it the writer fails.
 *
 * So that what is urgent finds room without end, `kept` files more are made ahead, and nothing else
 * is appended unless they are there. With two of them the log goes on in one and then the other, of
 * bare segments (segment.h): the owner drops the former, as a spare, once the latter's checkpoint
 * is durable.
 *
 * Durable: `synced` never passes `written`. With `sync` unset groups are written only, until
 * log_writer_want_sync() asks for one (fences), or a segment ends: no segment is begun on disk
 * before the one before is synced.
 * Errors:  append returns NULL: STATUS_NO_SPACE in *status (no segment), STATUS_OVERLOADED (too
 *          much gathered, or a segment is being made that is needed), STATUS_NOMEM,
 *          STATUS_TOO_LARGE (over RECORD_MAX_BYTES, or does not fit a segment with its
 *          checkpoint), STATUS_IO (failed before). A write or sync that fails calls `failed`
 *          once; then nothing is ever written and `written` and `synced` never move again: the
 *          process must end.
 * Threads: the actor's; jobs run on their lanes.
 */
#ifndef ORBLOOM_LOG_LOG_WRITER_H
#define ORBLOOM_LOG_LOG_WRITER_H

#include "base/actor.h"
#include "base/disk.h"
#include "log/record.h"

#include <stdbool.h>

struct log_writer;

enum { LOG_MAX_KEPT = 2 };

struct log_writer_config {
    struct disk *disk;
    const struct effects *effects; /* submit() is used */
    uint64_t cluster;              /* tag, see segment.h */
    uint64_t incarnation;
    uint64_t boot;
    uint64_t segment_bytes; /* of a segment's file, 64 KiB or more */
    uint64_t first;  /* offset where this boot begins: the end that log_survey_make() found */
    uint64_t number; /* of its first segment: above any that is part of the log */
    uint64_t bare;   /* so many bytes below `first` hold nothing but state */
    uint32_t kept;   /* files made ahead for what is urgent; LOG_MAX_KEPT at most */
    bool sync;       /* every group; else only when wanted */

    void *context;
    void (*checkpoint)(void *context); /* append the state, urgently; may be NULL */
    void (*moved)(void *context, uint64_t now_us);
    void (*failed)(void *context, enum status status, const char *what); /* what: a constant */
};

/* Its first segment is made and synced by the first group. */
MUST_USE enum status log_writer_create(const struct log_writer_config *config,
                                       struct log_writer **out);

/* The lanes are stopped, or never ran. */
void log_writer_destroy(struct log_writer **writer);

/* Room for a record's body of `body_size` bytes, its header before it and the padding behind it
 * written already; fill it before anything else is called. 8-aligned. *end: the log must be durable
 * up to there for the record to be. On failure only *status is set. */
uint8_t *log_writer_append(struct log_writer *self, enum record_type type, uint16_t flags,
                           size_t body_size, bool urgent, uint64_t *end, enum status *status);

/* Would a batch of that many bytes be accepted now? (Unless memory fails, or a checkpoint that has
 * to come first leaves too little of a segment.) */
MUST_USE enum status log_writer_room(const struct log_writer *self, size_t body_size);

/* Commit what has gathered, unless a group is under way. Call in every turn. */
void log_writer_turn(struct log_writer *self);

/* Have everything appended so far synced soon, whatever `sync` says. */
void log_writer_want_sync(struct log_writer *self);

/* From now on sync every group, or not. */
void log_writer_set_sync(struct log_writer *self, bool sync);

/* There is a spare (segment_file.h), made by the background lane: the next segment is made of it.
 * Take: not any more, the caller removes it, on that lane; false: there was none. */
void log_writer_give_spare(struct log_writer *self);
bool log_writer_take_spare(struct log_writer *self);
bool log_writer_has_spare(const struct log_writer *self);

/* Another incarnation from the next segment on. */
void log_writer_set_incarnation(struct log_writer *self, uint64_t incarnation);

uint64_t log_writer_end(const struct log_writer *self);     /* appended */
uint64_t log_writer_written(const struct log_writer *self); /* survives kill -9 */
uint64_t log_writer_synced(const struct log_writer *self);  /* survives power loss */
uint64_t log_writer_segment(const struct log_writer *self); /* number of the present segment */
uint64_t log_writer_bare(const struct log_writer *self);    /* bytes before its end, only state */
uint32_t log_writer_ahead(const struct log_writer *self);   /* files that are to be segments */
bool log_writer_idle(const struct log_writer *self);        /* all is written and synced */

/* In order, on the caller's thread, the lanes being stopped: write and sync what is left. Calls
 * none of the callbacks; what was made ahead is removed. */
MUST_USE enum status log_writer_finish(struct log_writer *self);

#endif
