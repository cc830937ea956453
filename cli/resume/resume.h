/* resume.h - a stream of adds from files that goes on where it was: after Ctrl-C, after kill -9.
 *
 * A small file says up to where all keys are acknowledged, see resume_state.h. It is written before
 * the first key is sent, then every few seconds behind what it says, atomically and synced, and it
 * is removed once all keys are acknowledged: so keys may be added twice, which is harmless, and
 * none is left out. Another filter of the name, one that was rebuilt from a list since, and files
 * that have changed, are refused.
 *
 * Errors:  printed; exit codes as of cmd.h.
 * Owner:   after CMD_OK resume_begin()'s caller calls resume_end().
 * Threads: one.
 */
#ifndef ORBLOOM_CLI_RESUME_RESUME_H
#define ORBLOOM_CLI_RESUME_RESUME_H

#include "cli/progress.h"
#include "cli/resume/state.h"
#include "cli/stream.h"

struct resume {
    /* Set by the caller, borrowed. */
    const char *path;
    const struct stream *stream;
    char *const *names;
    size_t nnames;

    /* Private. */
    struct resume_file *files;
    struct resume_state state;
    uint64_t lines_before; /* of the stream that now is */
    uint64_t bytes;        /* of all files */
    uint64_t bytes_before;
    uint64_t begun_us;
    uint64_t save_us; /* when the next one is due */
    uint64_t show_us;
    struct progress progress;
    bool behind; /* the file could not be written: said once */
    struct stream_notes notes;
};

/* Look at files and filter, read the state or write a first one. CMD_OK: the notes are for the
 * stream. */
int resume_begin(struct resume *self);

/* The stream is over, with `code`: remove the state, or write where to go on and say how. Returns
 * the code of the command. */
int resume_end(struct resume *self, const struct stream_totals *totals, int code);

#endif
