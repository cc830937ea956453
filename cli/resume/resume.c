/* Whatever the stream has reached is kept in memory, and in the file every few seconds, once the
 * filter was asked whether it is still the one that it was. */
#include "cli/resume/resume.h"

#include "base/heap.h"
#include "base/number.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/interrupt.h"
#include "runtime/file.h"
#include "runtime/hub.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SAVE_EVERY_US = 2000000,
    SHOW_EVERY_US = 500000,
    STATE_MODE = 0600,
    SHOWN_BYTES = 256,
    NS_PER_S = 1000000000,
};

/* ---- the filter ---- */

/* Which filter has the name, and whose keys count in it. */
struct found {
    struct filter_uid uid;
    uint32_t keyset; /* the one that serves */
};

static int take_found(void *context, const struct frame *frame)
{
    const struct filter_summary *filter = &frame->body.info_reply.filter;

    *(struct found *)context = (struct found){
        .uid = filter->uid,
        .keyset = filter->keyset,
    };
    return CMD_OK;
}

static int ask_filter(const struct resume *self, struct found *found)
{
    struct frame frame = {.kind = FRAME_INFO_REQUEST};
    struct cmd_outcome outcome;
    int code;

    frame.body.info_request.filter = self->stream->filter;
    code = cmd_ask_quietly(&self->stream->settings->common, &frame, take_found, found, &outcome);
    if (outcome.status != STATUS_OK) {
        (void)cmd_fail(outcome.status, "%s", outcome.message);
    }
    return code;
}

/* Keys that came before a rebuild began are forgotten once it is committed. Of one that was open
 * already when this began a router that knows it can't tell whether all others do, by which keys
 * may have gone: until its beginning is fenced some are acknowledged that it forgets. So it counts
 * as a later one. */
static bool has_forgotten(const struct resume *self, const struct found *found)
{
    return found->keyset > self->state.keyset;
}

static int refuse_rebuilt(const struct resume *self)
{
    return cmd_fail(STATUS_CONFLICT,
                    "%s was rebuilt from a list since this began, and keys that were added before "
                    "may be forgotten; remove %s to add all of them again",
                    self->stream->filter, self->path);
}

enum binding { BINDING_SAME, BINDING_OTHER, BINDING_UNASKED };

/* Do the keys that were acknowledged count for the filter that the state names? */
static enum binding check_binding(const struct resume *self)
{
    const struct filter_uid *meant = &self->state.filter;
    struct found found;

    if (ask_filter(self, &found) != CMD_OK) {
        return BINDING_UNASKED;
    }
    if (filter_uid_equal(&found.uid, meant)) {
        if (!has_forgotten(self, &found)) {
            return BINDING_SAME;
        }
        (void)refuse_rebuilt(self);
        return BINDING_OTHER;
    }
    (void)cmd_fail(STATUS_CONFLICT,
                   "%s is another filter than when this began, and keys went to both; remove %s to "
                   "add all of them to this one",
                   self->stream->filter, self->path);
    return BINDING_OTHER;
}

/* ---- the files ---- */

static enum status look(const char *name, struct resume_file *file)
{
    struct stat about;

    if (stat(name, &about) != 0) {
        (void)cmd_fail(STATUS_IO, "%s: %s", name, strerror(errno));
        return STATUS_IO;
    }
    if (!S_ISREG(about.st_mode)) {
        (void)cmd_fail(STATUS_USAGE,
                       "%s is no regular file: --resume can't go on in the middle of it; add it "
                       "without",
                       name);
        return STATUS_USAGE;
    }
    *file = (struct resume_file){
        .size = (uint64_t)about.st_size,
        .changed_ns = (uint64_t)about.st_mtim.tv_sec * NS_PER_S + (uint64_t)about.st_mtim.tv_nsec,
        .inode = about.st_ino,
    };
    return STATUS_OK;
}

static int look_at_files(struct resume *self)
{
    enum status status = STATUS_OK;

    if (self->nnames == 0) {
        return cmd_fail(STATUS_USAGE, "--resume takes files: standard input can't be read again "
                                      "from where it was");
    }
    self->files = heap_zalloc(self->nnames, sizeof *self->files);
    if (self->files == NULL) {
        return cmd_fail(STATUS_NOMEM, "no memory for so many files");
    }
    for (size_t i = 0; i < self->nnames && status == STATUS_OK; i++) {
        if (strcmp(self->names[i], "-") == 0) {
            return cmd_fail(STATUS_USAGE, "--resume takes files: standard input (\"-\") can't be "
                                          "read again from where it was");
        }
        status = look(self->names[i], &self->files[i]);
        self->bytes += self->files[i].size;
    }
    return status == STATUS_OK ? CMD_OK : status == STATUS_USAGE ? CMD_USAGE : CMD_PARTIAL;
}

/* Keys of a file that changed while it was read may be anywhere in it by now. */
static bool files_stayed(const struct resume *self)
{
    struct resume_file now;

    for (size_t i = 0; i < self->nnames; i++) {
        if (look(self->names[i], &now) != STATUS_OK) {
            return false;
        }
        if (memcmp(&now, &self->files[i], sizeof now) != 0) {
            (void)cmd_fail(
                STATUS_CONFLICT,
                "%s has changed while it was read: keys may be anywhere in it; remove %s "
                "to add all of them",
                self->names[i], self->path);
            return false;
        }
    }
    return true;
}

/* A place is the beginning of a file, or behind a line of it. */
static bool is_behind_line(const struct resume *self)
{
    const struct key_place *at = &self->state.at;
    char delimiter = self->state.nul ? '\0' : '\n';
    char last = (char)~delimiter;
    int fd;

    if (at->offset == 0 || at->offset == self->files[at->file].size) {
        return true;
    }
    fd = open(self->names[at->file], O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && pread(fd, &last, 1, (off_t)at->offset - 1) != 1) {
        last = (char)~delimiter;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return last == delimiter;
}

/* ---- the state ---- */

static enum status write_state(struct resume *self)
{
    struct buffer text;
    enum status status;

    buffer_init(&text, RESUME_STATE_MAX_BYTES);
    status = resume_state_write(&self->state, &text);
    if (status == STATUS_OK) {
        status = file_write(self->path, STATE_MODE, buffer_span(&text));
    }
    buffer_fini(&text);
    return status;
}

/* What the file says stays true while it is not written, only more is added again. */
static enum binding save(struct resume *self)
{
    enum binding binding = check_binding(self);
    enum status status = STATUS_OK;

    if (binding == BINDING_SAME) {
        status = write_state(self);
    }
    if (status != STATUS_OK && !self->behind) {
        (void)cmd_fail(status, "%s can't be written (%s): it stays behind until it can", self->path,
                       strerror(errno));
    }
    self->behind = status != STATUS_OK;
    return binding;
}

static int refuse_state(const struct resume *self, enum resume_verdict verdict, size_t file)
{
    static const char *const reasons[] = {
        [RESUME_OTHER_FILTER] = "of another filter: the one of this name was dropped since, or "
                                "another cluster is asked",
        [RESUME_OTHER_KEYS] = "of an add that took keys apart the other way (-0)",
        [RESUME_OTHER_ACKS] = "of an add with other --acks",
        [RESUME_OTHER_LIST] = "of more, or fewer, files than these",
    };

    switch (verdict) {
    case RESUME_NOMEM:
        return cmd_fail(STATUS_NOMEM, "no memory for %s", self->path);
    case RESUME_OTHER_FILE:
        return cmd_fail(
            STATUS_CONFLICT,
            "%s is not the file that it was when %s was written, or not the one in this "
            "place: its size, time of change or inode differs; remove %s to add all keys "
            "anew",
            self->names[file], self->path, self->path);
    case RESUME_OTHER_FILTER:
    case RESUME_OTHER_KEYS:
    case RESUME_OTHER_ACKS:
    case RESUME_OTHER_LIST:
        return cmd_fail(STATUS_CONFLICT,
                        "%s is %s; repeat the command that wrote it, or name another state",
                        self->path, reasons[verdict]);
    case RESUME_SAME:
    case RESUME_NO_STATE:
        break;
    }
    return cmd_fail(
        STATUS_MALFORMED,
        "%s is no state of an add, and was left as it is; name a file for --resume that "
        "does not exist yet",
        self->path);
}

static int read_state(struct resume *self, struct buffer *text)
{
    size_t file = 0;
    enum status status = file_read(self->path, text);
    enum resume_verdict verdict;

    if (status == STATUS_IO && errno == ENOENT) {
        status = write_state(self);
        return status == STATUS_OK
                   ? CMD_OK
                   : cmd_fail(status, "%s can't be written: %s", self->path, strerror(errno));
    }
    if (status == STATUS_IO) {
        return cmd_fail(status, "%s: %s", self->path, strerror(errno));
    }
    if (status == STATUS_NOMEM) {
        return refuse_state(self, RESUME_NOMEM, 0);
    }
    verdict = status == STATUS_OK ? resume_state_read(&self->state, buffer_span(text), &file)
                                  : RESUME_NO_STATE;
    if (verdict == RESUME_SAME && !is_behind_line(self)) {
        verdict = RESUME_NO_STATE;
    }
    return verdict == RESUME_SAME ? CMD_OK : refuse_state(self, verdict, file);
}

/* ---- on the way ---- */

/* Of all files as they were at first: one that grows is refused in the end. */
static uint64_t bytes_reached(const struct resume *self)
{
    uint64_t bytes = self->state.at.offset;

    for (size_t i = 0; i < self->state.at.file; i++) {
        bytes += self->files[i].size;
    }
    return bytes < self->bytes ? bytes : self->bytes;
}

static void show(struct resume *self, uint64_t now_us)
{
    uint64_t bytes = bytes_reached(self);
    double seconds = (double)(now_us - self->begun_us) / 1e6;
    double pace = (double)(bytes - self->bytes_before) / (seconds > 0 ? seconds : 1);
    double share = self->bytes > 0 ? (double)bytes / (double)self->bytes : 1;
    uint64_t keys = self->state.lines - self->lines_before;
    char bar[PROGRESS_BAR_BYTES];
    char lines[NUMBER_TEXT_BYTES];
    char rate[NUMBER_TEXT_BYTES];
    char left[NUMBER_TEXT_BYTES];
    char line[SHOWN_BYTES];

    (void)snprintf(
        line, sizeof line, "%s %5.1f %%, %s keys, %s keys/s, %s left", progress_bar(share, bar),
        100 * share, number_show_count(self->state.lines, lines),
        number_show_count((uint64_t)((double)keys / (seconds > 0 ? seconds : 1)), rate),
        pace > 0
            ? number_show_duration(
                  (uint64_t)((double)(self->bytes - bytes) / pace + 1) * UINT64_C(1000000), left)
            : "?");
    progress_show(&self->progress, now_us, line);
}

static bool reached(void *context, const struct key_place *place, uint64_t lines)
{
    struct resume *self = context;
    uint64_t now_us = hub_now_us();

    self->state.at = *place;
    self->state.lines = self->lines_before + lines;
    if (now_us >= self->show_us && !self->stream->settings->quiet) {
        self->show_us = now_us + SHOW_EVERY_US;
        show(self, now_us);
    }
    if (now_us < self->save_us) {
        return true;
    }
    self->save_us = now_us + SAVE_EVERY_US;
    return save(self) != BINDING_OTHER;
}

static bool left(void *context)
{
    (void)context;
    return interrupt_came();
}

static void say_begin(const struct resume *self)
{
    char lines[NUMBER_TEXT_BYTES];

    if (self->state.lines > 0 && !self->stream->settings->quiet) {
        (void)fprintf(stderr, "add %s: goes on behind %s:%" PRIu64 ", %s lines are done\n",
                      self->stream->filter, self->names[self->state.at.file], self->state.at.line,
                      number_show_count(self->state.lines, lines));
    }
}

int resume_begin(struct resume *self)
{
    struct found found;
    struct buffer text;
    int code = look_at_files(self);

    self->state = (struct resume_state){.nul = self->stream->settings->nul,
                                        .acks = self->stream->acks,
                                        .files = self->files,
                                        .nfiles = self->nnames};
    if (code == CMD_OK) {
        code = ask_filter(self, &found);
    }
    if (code == CMD_OK) {
        self->state.filter = found.uid;
        self->state.keyset = found.keyset;
    }
    if (code == CMD_OK && self->state.filter.high == 0 && self->state.filter.low == 0) {
        code = cmd_fail(
            STATUS_VERSION,
            "%s is of a version that gave filters no uid: another one of its name could "
            "not be told from it; add without --resume",
            self->stream->filter);
    }
    if (code == CMD_OK) {
        buffer_init(&text, RESUME_STATE_MAX_BYTES);
        code = read_state(self, &text);
        buffer_fini(&text);
    }
    if (code == CMD_OK && has_forgotten(self, &found)) {
        code = refuse_rebuilt(self);
    }
    if (code != CMD_OK) {
        heap_free(self->files);
        return code;
    }
    say_begin(self);
    self->lines_before = self->state.lines;
    self->bytes_before = bytes_reached(self);
    self->begun_us = hub_now_us();
    self->save_us = self->begun_us + SAVE_EVERY_US;
    self->show_us = self->begun_us + 2 * SHOW_EVERY_US;
    progress_open(&self->progress);
    self->notes = (struct stream_notes){
        .from = self->state.at, .reached = reached, .left = left, .context = self};
    interrupt_catch();
    return CMD_OK;
}

/* ---- the end ---- */

/* All is acknowledged by a filter that still has the name. */
static int finish(const struct resume *self, int code)
{
    if (!files_stayed(self)) {
        return CMD_PARTIAL;
    }
    if (unlink(self->path) != 0 && errno != ENOENT) {
        return cmd_fail(STATUS_IO, "all is added, but %s can't be removed: %s", self->path,
                        strerror(errno));
    }
    return code;
}

static int say_how_to_go_on(const struct resume *self)
{
    char lines[NUMBER_TEXT_BYTES];

    (void)fprintf(stderr,
                  "orbloom: %s lines are done, up to %s:%" PRIu64
                  "; repeat the command to go on from there\n",
                  number_show_count(self->state.lines, lines), self->names[self->state.at.file],
                  self->state.at.line);
    return CMD_PARTIAL;
}

int resume_end(struct resume *self, const struct stream_totals *totals, int code)
{
    enum binding binding;

    if (!self->stream->settings->quiet) {
        progress_end(&self->progress);
    }
    binding = save(self);
    if (binding == BINDING_OTHER) {
        code = CMD_PARTIAL;
    } else if (binding == BINDING_SAME && totals->ended && !totals->stopped) {
        code = finish(self, code);
    } else {
        code = say_how_to_go_on(self);
    }
    heap_free(self->files);
    return code;
}
