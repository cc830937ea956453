/* A buffer that slides over files and pipes: lines are handed out in place, and too long or
 * empty ones with their place. */
#include "cli/keys.h"

#include "base/heap.h"
#include "proto/codec.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20 };

struct key_source {
    char *const *files;
    size_t nfiles;
    size_t next_file;
    char delimiter;
    int fd; /* -1: none open */
    const char *name;
    uint64_t line;
    bool ended;    /* the open file has been read to its end */
    bool skipping; /* inside a line that was too long */
    size_t start;  /* of what has not been handed out */
    size_t end;
    uint64_t before;        /* bytes of the file before the buffer */
    struct key_place place; /* the next file to be opened is read from there on */
    uint8_t buffer[BUFFER_BYTES];
};

static char *const standard_input[] = {(char[]){"-"}};

enum status key_source_create(char *const *files, size_t nfiles, char delimiter,
                              struct key_source **out)
{
    struct key_source *self = heap_zalloc(1, sizeof *self);

    assert(out != NULL && *out == NULL);

    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->files = nfiles > 0 ? files : standard_input;
    self->nfiles = nfiles > 0 ? nfiles : 1;
    self->delimiter = delimiter;
    self->fd = -1;
    *out = self;
    return STATUS_OK;
}

static void close_file(struct key_source *self)
{
    if (self->fd > STDIN_FILENO) {
        (void)close(self->fd);
    }
    self->fd = -1;
}

void key_source_begin_at(struct key_source *source, const struct key_place *place)
{
    assert(source->fd < 0 && source->next_file == 0 && place->file <= source->nfiles);

    source->next_file = place->file;
    source->place = *place;
}

struct key_place key_source_place(const struct key_source *source)
{
    return source->place;
}

void key_source_destroy(struct key_source **source)
{
    if (*source != NULL) {
        close_file(*source);
        heap_free(*source);
        *source = NULL;
    }
}

static enum key_event unreadable(struct key_source *self, struct key_item *item)
{
    *item = (struct key_item){.file = self->name, .reason = strerror(errno)};
    close_file(self);
    return KEY_UNREADABLE;
}

/* A file is read from its beginning, but for the one that reading begins in. */
static void place_at_next_file(struct key_source *self)
{
    if (self->next_file != self->place.file) {
        self->place = (struct key_place){.file = self->next_file};
    }
    self->line = self->place.line;
    self->before = self->place.offset;
    self->start = 0;
    self->end = 0;
    self->ended = false;
    self->skipping = false;
}

/* KEY_READY: open; there may be nothing in it. */
static enum key_event open_next(struct key_source *self, struct key_item *item)
{
    const char *path;

    if (self->next_file == self->nfiles) {
        return KEY_END;
    }
    place_at_next_file(self);
    path = self->files[self->next_file++];
    if (strcmp(path, "-") == 0) {
        self->name = "stdin";
        self->fd = STDIN_FILENO;
        return KEY_READY;
    }
    self->name = path;
    self->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (self->fd < 0 || (self->before > 0 && lseek(self->fd, (off_t)self->before, SEEK_SET) < 0)) {
        return unreadable(self, item);
    }
    return KEY_READY;
}

/* Read more behind what is left, which moves to the front. */
static enum key_event fill(struct key_source *self, struct key_item *item)
{
    struct pollfd ready = {.fd = self->fd, .events = POLLIN};
    ssize_t size;

    if (poll(&ready, 1, 0) == 0) {
        return KEY_WAIT;
    }
    memmove(self->buffer, self->buffer + self->start, self->end - self->start);
    self->end -= self->start;
    self->before += self->start;
    self->start = 0;
    do {
        size = read(self->fd, self->buffer + self->end, sizeof self->buffer - self->end);
    } while (size < 0 && errno == EINTR);
    if (size < 0) {
        return unreadable(self, item);
    }
    self->end += (size_t)size;
    self->ended = size == 0;
    return KEY_READY;
}

static enum key_event judge(struct key_source *self, struct key_item *item, const uint8_t *data,
                            size_t size)
{
    *item = (struct key_item){.key = span_of(data, size), .file = self->name, .line = ++self->line};
    if (size == 0) {
        item->reason = "empty key; a key has 1 to 65,536 bytes";
        return KEY_BAD;
    }
    if (size > CODEC_MAX_KEY_BYTES) {
        item->reason = "key too long; a key has 1 to 65,536 bytes";
        return KEY_BAD;
    }
    return KEY_READY;
}

/* All lines up to here are whole. */
static void note_place(struct key_source *self)
{
    self->place.offset = self->before + self->start;
    self->place.line = self->line;
}

/* The next line of the buffer. KEY_WAIT: more must be read first; KEY_END: the file is done. */
static enum key_event take_line(struct key_source *self, struct key_item *item)
{
    const uint8_t *data = self->buffer + self->start;
    size_t size = self->end - self->start;
    const uint8_t *stop = memchr(data, self->delimiter, size);

    if (stop != NULL || (self->ended && size > 0)) {
        size_t length = stop != NULL ? (size_t)(stop - data) : size;
        bool told = self->skipping; /* When it began. */
        enum key_event event = told ? KEY_BAD : judge(self, item, data, length);

        self->start += length + (stop != NULL);
        self->skipping = false;
        note_place(self);
        return told ? take_line(self, item) : event;
    }
    if (self->skipping || size > CODEC_MAX_KEY_BYTES) {
        self->start = self->end;
        if (!self->skipping) {
            self->skipping = true;
            return judge(self, item, data, size);
        }
    }
    return self->ended ? KEY_END : KEY_WAIT;
}

enum key_event key_source_next(struct key_source *source, struct key_item *item)
{
    enum key_event event;

    for (;;) {
        event = source->fd < 0 ? open_next(source, item) : KEY_READY;
        if (event != KEY_READY) {
            return event;
        }
        event = take_line(source, item);
        if (event == KEY_END) {
            close_file(source);
        } else if (event != KEY_WAIT) {
            return event;
        } else {
            event = fill(source, item);
            if (event != KEY_READY) {
                return event;
            }
        }
    }
}

void key_source_wait(const struct key_source *source, int timeout_ms)
{
    struct pollfd ready = {.fd = source->fd, .events = POLLIN};

    (void)poll(&ready, 1, timeout_ms);
}
