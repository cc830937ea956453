/* resume_state.h - how far `orbloom add --resume` is, as the text of a small file. Pure.
 *
 *   orbloom-resume 1
 *   filter 6f0c...          its uid, 32 hexadecimal digits
 *   keys lines              or: NULs
 *   acks 0                  as asked for, see map/acks.h
 *   files 2                 and of each a line: size in bytes, time of its last change in ns since
 *   file 1048576 17... 42   1970, number of its inode
 *   keyset 2                the keyset that served when it began
 *   at 1 4096 100 65636     all before is acknowledged: file (from 0), bytes and lines of it, and
 *   end                     lines in all
 *
 * Who goes on makes the same text of what is there now: every line but the last three must be
 * equal. Keys count while the keyset that serves is not newer than the one that the state names:
 * the commit of a rebuild forgets those that came before it began.
 *
 * Owner:   `files` is the caller's.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_RESUME_STATE_H
#define ORBLOOM_CLI_RESUME_STATE_H

#include "base/buffer.h"
#include "cli/keys.h"
#include "map/document.h"

enum { RESUME_STATE_MAX_BYTES = 128 << 20 };

/* What tells that a file is the same, with the same content. */
struct resume_file {
    uint64_t size;
    uint64_t changed_ns;
    uint64_t inode;
};

struct resume_state {
    struct filter_uid filter;
    bool nul;
    uint32_t acks;
    const struct resume_file *files;
    size_t nfiles;
    uint32_t keyset;
    struct key_place at;
    uint64_t lines; /* before `at`, of all files */
};

enum resume_verdict {
    RESUME_SAME,
    RESUME_NO_STATE, /* the text is something else, or bent */
    RESUME_OTHER_FILTER,
    RESUME_OTHER_KEYS, /* lines, not NULs, or the other way round */
    RESUME_OTHER_ACKS,
    RESUME_OTHER_LIST, /* of more or fewer files */
    RESUME_OTHER_FILE,
    RESUME_NOMEM,
};

/* Append the text. */
MUST_USE enum status resume_state_write(const struct resume_state *self, struct buffer *out);

/* Is the text one of the same keys for the same filter? RESUME_SAME: `keyset`, `at` and `lines` are
 * taken from it, and the place is within its file. RESUME_OTHER_FILE: *file is the first such one.
 */
enum resume_verdict resume_state_read(struct resume_state *self, struct span text, size_t *file);

#endif
