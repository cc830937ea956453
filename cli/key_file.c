/* Works on the lines of the file, once all of it was found right: what a key is decides
 * lib/map/seal.
 */
#include "cli/key_file.h"

#include "cli/cmd.h"
#include "cli/keygen.h"
#include "cli/secret_file.h"
#include "runtime/file.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_FILE_BYTES = 8192 };

static void find_lines(struct key_file *self)
{
    const uint8_t *text = self->text.data;
    struct span rest = buffer_span(&self->text);
    struct span line;
    size_t count = 0;

    while (count < CLUSTER_KEY_MAX && span_take_line(&rest, &line)) {
        struct span key = span_trim(line);

        if (key.size > 0 && key.data[0] != '#') {
            self->begin[count] = (size_t)(line.data - text);
            self->end[count++] = (size_t)(rest.data - text);
        }
    }
    assert(count == self->key.count);
}

/* file_parse_fn. A last line without its end gets one, so that lines can change places. */
static enum status take(void *context, struct span content, char *reason, size_t size)
{
    struct key_file *self = context;
    enum status status = cluster_key_parse(content, &self->key, reason, size);

    status = status == STATUS_OK ? buffer_append(&self->text, content) : status;
    if (status == STATUS_OK && content.data[content.size - 1] != '\n') {
        status = buffer_append(&self->text, span_text("\n"));
    }
    return status;
}

enum status key_file_open(struct key_file *self, const char *path)
{
    struct stat about;
    enum status status;

    *self = (struct key_file){.path = path};
    buffer_init(&self->text, KEY_FILE_BYTES);
    status = secret_file_read(&file_cluster_key, path, take, self);
    if (status == STATUS_OK && stat(path, &about) == 0 && about.st_uid != geteuid()) {
        status = STATUS_INVALID;
        (void)cmd_fail(status,
                       "%s belongs to another user, who could not read it any more; run "
                       "this as its owner",
                       path);
    }
    if (status == STATUS_OK) {
        find_lines(self);
    }
    return status;
}

void key_file_close(struct key_file *self)
{
    if (self->text.data != NULL) {
        explicit_bzero(self->text.data, self->text.capacity);
    }
    buffer_fini(&self->text);
    explicit_bzero(&self->key, sizeof self->key);
}

static enum status write_text(const struct key_file *self, struct span text)
{
    enum status status = file_write(self->path, 0600, text);

    if (status != STATUS_OK) {
        (void)cmd_fail(status, "%s: %s; it is as it was", self->path, strerror(errno));
    }
    return status;
}

enum status key_file_add(struct key_file *self)
{
    char line[KEYGEN_TEXT_BYTES + 1];
    enum status status = STATUS_OK;

    if (self->key.count == CLUSTER_KEY_MAX) {
        (void)cmd_fail(STATUS_TOO_LARGE, "%s holds %d keys, which is all it may; retire one first",
                       self->path, CLUSTER_KEY_MAX);
        return STATUS_TOO_LARGE;
    }
    if (!keygen_draw(line)) {
        (void)cmd_fail(STATUS_IO, "no random bytes: %s", strerror(errno));
        return STATUS_IO;
    }
    status = buffer_append(&self->text, span_of(line, KEYGEN_TEXT_BYTES));
    explicit_bzero(line, sizeof line);
    return status == STATUS_OK ? write_text(self, buffer_span(&self->text)) : status;
}

/* The text with the line [begin, end) at `to`, before it. */
static void move_line(uint8_t *text, size_t to, size_t begin, size_t end)
{
    uint8_t line[KEY_FILE_BYTES];
    size_t size = end - begin;

    assert(to <= begin && size <= sizeof line);
    memcpy(line, text + begin, size);
    memmove(text + to + size, text + to, begin - to);
    memcpy(text + to, line, size);
    explicit_bzero(line, sizeof line);
}

enum status key_file_promote(struct key_file *self)
{
    size_t last = self->key.count - 1;

    move_line(self->text.data, self->begin[0], self->begin[last], self->end[last]);
    return write_text(self, buffer_span(&self->text));
}

enum status key_file_retire(struct key_file *self)
{
    size_t last = self->key.count - 1;
    size_t begin = self->begin[last];
    size_t end = self->end[last];

    assert(self->key.count > 1);
    memmove(self->text.data + begin, self->text.data + end, self->text.size - end);
    self->text.size -= end - begin;
    return write_text(self, buffer_span(&self->text));
}
