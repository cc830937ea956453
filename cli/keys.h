/* keys.h - keys read from files, one a line (or NUL-separated), in constant memory.
 *
 * A key is every byte before its delimiter, CR included; a last line without a delimiter
 * counts. Empty lines and keys over 64 KiB are told and skipped.
 *
 * Owner:   whoever called key_source_create() calls key_source_destroy(); an item is valid
 *          until the next call.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_KEYS_H
#define ORBLOOM_CLI_KEYS_H

#include "base/span.h"
#include "base/status.h"

struct key_source;

enum key_event {
    KEY_READY,      /* item->key */
    KEY_BAD,        /* a line that is no key: item->reason */
    KEY_UNREADABLE, /* a file: item->reason; the next file follows */
    KEY_WAIT,       /* nothing has arrived yet: key_source_wait(), then again */
    KEY_END,
};

struct key_item {
    struct span key;
    const char *file;
    uint64_t line;
    const char *reason;
};

/* Behind a whole line: where reading may begin again. */
struct key_place {
    size_t file;     /* which of the list */
    uint64_t offset; /* bytes of it before the place */
    uint64_t line;   /* lines of it before the place */
};

/* No files, or the file "-": standard input. The list is borrowed. */
MUST_USE enum status key_source_create(char *const *files, size_t nfiles, char delimiter,
                                       struct key_source **out);
void key_source_destroy(struct key_source **source);

/* Begin there, in a file that can be read from anywhere; before the first key_source_next(). */
void key_source_begin_at(struct key_source *source, const struct key_place *place);

/* Behind the last line that was handed out as a whole: a line that is too long is told when it
 * begins, and is behind the place only once its end was read. */
struct key_place key_source_place(const struct key_source *source);

enum key_event key_source_next(struct key_source *source, struct key_item *item);

/* Wait until more has arrived; -1: for as long as it takes. */
void key_source_wait(const struct key_source *source, int timeout_ms);

#endif
