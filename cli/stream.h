/* stream.h - keys from files through a filter: batches in flight, answers in input order.
 *
 * What add, check and dedup share. A batch leaves when it is full or when the input pauses,
 * so `tail -f log | orbloom dedup seen` answers at once. Memory is bounded by batches in
 * flight, whatever the size of the input.
 *
 * Order:   adds are sent in input order to one router, and replicas decide in that order;
 *          with no router failing, the first of equal keys is the one reported new.
 * Errors:  printed as they come, the first few one by one; counted in the totals.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_STREAM_H
#define ORBLOOM_CLI_STREAM_H

#include "cli/flags.h"
#include "cli/keys.h"
#include "client/orbloom.h"

/* The first member of such a command's settings. */
struct stream_settings {
    struct flags_common common;
    bool nul;
    bool quiet;
    uint64_t batch;
    uint64_t in_flight;
    bool fail_over;
};

#define STREAM_FLAG_NUL                                         \
    {                                                           \
        .name = "null", .letter = '0', .kind = OPTION_SWITCH,   \
        .offset = offsetof(struct stream_settings, nul),        \
        .help = "keys end with a NUL byte, not with a newline", \
    }
#define STREAM_FLAG_QUIET                                      \
    {                                                          \
        .name = "quiet", .letter = 'q', .kind = OPTION_SWITCH, \
        .offset = offsetof(struct stream_settings, quiet),     \
        .help = "no summary and no progress on stderr",        \
    }
#define STREAM_FLAG_BATCH                                                                         \
    {                                                                                             \
        .name = "batch", .kind = OPTION_COUNT, .offset = offsetof(struct stream_settings, batch), \
        .min = 1, .max = 65536, .sample = "KEYS", .range = "1 to 65536", .value = "1000",         \
        .help = "keys in one request",                                                            \
    }
#define STREAM_FLAG_IN_FLIGHT                                                         \
    {                                                                                 \
        .name = "in-flight", .kind = OPTION_COUNT,                                    \
        .offset = offsetof(struct stream_settings, in_flight), .min = 1, .max = 1024, \
        .sample = "N", .range = "1 to 1024", .value = "16",                           \
        .help = "requests sent before the first is answered",                         \
    }
#define STREAM_FLAG_FAIL_OVER                                                                  \
    {                                                                                          \
        .name = "fail-over", .kind = OPTION_SWITCH,                                            \
        .offset = offsetof(struct stream_settings, fail_over),                                 \
        .help = "once no router of a site answers, go on at those of another (several sites)", \
    }
#define STREAM_FLAGS                                                              \
    STREAM_FLAG_NUL, STREAM_FLAG_QUIET, STREAM_FLAG_BATCH, STREAM_FLAG_IN_FLIGHT, \
        STREAM_FLAG_FAIL_OVER

/* One line of the input with its answer, in input order. */
struct stream_line {
    struct span key;
    bool bad; /* no key: not asked */
    enum orbloom_answer answer;
};

typedef void (*stream_line_fn)(void *context, const struct stream_line *line);

/* For a stream that somebody may go on with later: who notes how far it is. It stops at the first
 * key without an answer and at the first file that can't be read, as nothing behind these counts.
 */
struct stream_notes {
    struct key_place from; /* where it begins */

    /* All lines before `place` were answered, `lines` of them since it began, or are no keys.
     * False: stop; why has been printed. */
    bool (*reached)(void *context, const struct key_place *place, uint64_t lines);

    /* Is it to read nothing more? */
    bool (*left)(void *context);
    void *context;
};

struct stream_totals {
    uint64_t lines;
    uint64_t bad;        /* lines that are no keys */
    uint64_t answers[4]; /* by enum orbloom_answer, bad lines not counted */
    uint64_t elapsed_us;
    bool stopped;    /* before the end of the input; why has been printed */
    bool unreadable; /* a file was */
    bool ended;      /* all of the input was read */
};

struct stream {
    const struct stream_settings *settings;
    const char *filter;
    enum orbloom_operation operation;
    uint32_t replicas; /* checks: bit set of slots; 0: all */
    uint32_t keyset;   /* feeds: which rebuild is meant; 0: whichever is open */
    uint64_t bound;    /* checks: see map/staleness.h; 0: the filter's own */
    uint32_t acks;     /* adds: see map/acks.h; 0: the filter's own */
    stream_line_fn line;
    void *context;
    const struct stream_notes *notes; /* NULL: none; then it shows its progress itself */
};

/* The request's bound. */
void stream_put_bound(const struct stream *stream, struct orbloom_request *request);

/* Everything from `files` to the end. Returns CMD_OK when every line was answered, else
 * CMD_PARTIAL, or CMD_USAGE when the handle could not be opened. */
int stream_run(const struct stream *stream, char *const *files, size_t nfiles,
               struct stream_totals *totals);

/* "0.12 s, 493,550 keys/s" for summaries. Returns `text`. */
const char *stream_show_pace(const struct stream_totals *totals, char text[64]);

#endif
