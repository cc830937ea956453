/* The text is written line by line; to read one the text of now is written too, and the first line
 * that differs tells what is another. */
#include "cli/resume/state.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { TEXT_LINE_BYTES = 128 };

static enum status put(struct buffer *out, const char *format, ...) PRINTF_LIKE(2, 3);

static enum status put(struct buffer *out, const char *format, ...)
{
    char line[TEXT_LINE_BYTES];
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    assert(size > 0 && size < TEXT_LINE_BYTES);
    return buffer_append(out, span_of(line, (size_t)size));
}

/* All lines before `keyset`. */
static enum status write_head(const struct resume_state *self, struct buffer *out)
{
    char uid[FILTER_UID_TEXT_BYTES];
    enum status status = put(out, "orbloom-resume 1\nfilter %s\nkeys %s\nacks %" PRIu32 "\n",
                             filter_uid_show(&self->filter, uid), self->nul ? "NULs" : "lines",
                             self->acks);

    if (status == STATUS_OK) {
        status = put(out, "files %zu\n", self->nfiles);
    }
    for (size_t i = 0; i < self->nfiles && status == STATUS_OK; i++) {
        status = put(out, "file %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", self->files[i].size,
                     self->files[i].changed_ns, self->files[i].inode);
    }
    return status;
}

static enum status write_place(const struct resume_state *self, struct buffer *out)
{
    return put(out, "keyset %" PRIu32 "\nat %zu %" PRIu64 " %" PRIu64 " %" PRIu64 "\nend\n",
               self->keyset, self->at.file, self->at.offset, self->at.line, self->lines);
}

enum status resume_state_write(const struct resume_state *self, struct buffer *out)
{
    enum status status = write_head(self, out);

    return status == STATUS_OK ? write_place(self, out) : status;
}

/* The next line, without its end; false: there is none that is whole. */
static bool take_line(struct span *text, struct span *line)
{
    const uint8_t *end = text->size > 0 ? memchr(text->data, '\n', text->size) : NULL;

    if (end == NULL) {
        return false;
    }
    *line = span_of(text->data, (size_t)(end - text->data));
    *text = span_of(end + 1, text->size - line->size - 1);
    return true;
}

static bool begins_with(struct span line, const char *word)
{
    return line.size >= strlen(word) && memcmp(line.data, word, strlen(word)) == 0;
}

/* What differs, by the line of now and the one that was found in its place. */
static enum resume_verdict name_difference(struct span now, struct span found)
{
    static const struct {
        const char *word;
        enum resume_verdict verdict;
    } lines[] = {
        {"filter ", RESUME_OTHER_FILTER}, {"keys ", RESUME_OTHER_KEYS},
        {"acks ", RESUME_OTHER_ACKS},     {"files ", RESUME_OTHER_LIST},
        {"file ", RESUME_OTHER_FILE},
    };

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (begins_with(now, lines[i].word) && begins_with(found, lines[i].word)) {
            return lines[i].verdict;
        }
    }
    return RESUME_NO_STATE;
}

/* Take `head` from the beginning of `text`. */
static enum resume_verdict take_head(struct span head, struct span *text, size_t *file)
{
    struct span now;
    struct span found;
    size_t files = 0;

    while (take_line(&head, &now)) {
        if (!take_line(text, &found)) {
            return RESUME_NO_STATE;
        }
        if (!span_equal(now, found)) {
            *file = files;
            return name_difference(now, found);
        }
        files += begins_with(now, "file ");
    }
    return RESUME_SAME;
}

/* " 4096": a decimal number behind a blank. */
static bool take_number(struct span *line, uint64_t *value)
{
    size_t i = 1;

    *value = 0;
    if (line->size < 2 || line->data[0] != ' ') {
        return false;
    }
    for (; i < line->size && line->data[i] >= '0' && line->data[i] <= '9'; i++) {
        uint64_t digit = (uint64_t)(line->data[i] - '0');

        if (*value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        *value = 10 * *value + digit;
    }
    *line = span_of(line->data + i, line->size - i);
    return i > 1;
}

/* "keyset 2" */
static bool take_keyset(struct span *text, uint64_t *keyset)
{
    static const char word[] = "keyset";
    struct span line;

    if (!take_line(text, &line) || !begins_with(line, word)) {
        return false;
    }
    line = span_of(line.data + sizeof word - 1, line.size - (sizeof word - 1));
    return take_number(&line, keyset) && line.size == 0 && *keyset <= UINT32_MAX;
}

static enum resume_verdict take_place(struct resume_state *self, struct span text)
{
    struct span line;
    struct span end;
    uint64_t keyset;
    uint64_t values[4];

    if (!take_keyset(&text, &keyset) || !take_line(&text, &line) || !begins_with(line, "at") ||
        !take_line(&text, &end) || !span_equal(end, span_text("end")) || text.size > 0) {
        return RESUME_NO_STATE;
    }
    line = span_of(line.data + 2, line.size - 2);
    for (size_t i = 0; i < 4; i++) {
        if (!take_number(&line, &values[i])) {
            return RESUME_NO_STATE;
        }
    }
    if (line.size > 0 || values[0] >= self->nfiles || values[1] > self->files[values[0]].size) {
        return RESUME_NO_STATE;
    }
    self->keyset = (uint32_t)keyset;
    self->at = (struct key_place){
        .file = (size_t)values[0], .offset = values[1], .line = values[2]};
    self->lines = values[3];
    return RESUME_SAME;
}

enum resume_verdict resume_state_read(struct resume_state *self, struct span text, size_t *file)
{
    enum resume_verdict verdict = RESUME_NOMEM;
    struct buffer head;

    buffer_init(&head, RESUME_STATE_MAX_BYTES);
    if (write_head(self, &head) == STATUS_OK) {
        verdict = take_head(buffer_span(&head), &text, file);
    }
    buffer_fini(&head);
    return verdict == RESUME_SAME ? take_place(self, text) : verdict;
}
