/* Reads what was appended to a file, and hands out whole lines. */
#include "tests/torture/tail.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void tail_open(struct tail *self, const char *path)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);

    *self = (struct tail){.descriptor = descriptor + 1};
    if (descriptor >= 0) {
        (void)lseek(descriptor, 0, SEEK_END);
    }
}

void tail_close(struct tail *self)
{
    if (self->descriptor > 0) {
        (void)close(self->descriptor - 1);
    }
    self->descriptor = 0;
}

/* What was told last goes; `size` is what is left. */
static void drop_told(struct tail *self)
{
    const char *told = memchr(self->line, '\0', self->size);

    if (told != NULL) {
        size_t used = (size_t)(told - self->line) + 1;

        self->size -= used;
        memmove(self->line, self->line + used, self->size);
    }
}

const char *tail_next(struct tail *self)
{
    char *stop;
    ssize_t size;

    if (self->descriptor <= 0) {
        return NULL;
    }
    drop_told(self);
    stop = memchr(self->line, '\n', self->size);
    if (stop == NULL && self->size == sizeof self->line) {
        self->size = 0; /* Longer than any line of a daemon. */
    }
    if (stop == NULL) {
        size = read(self->descriptor - 1, self->line + self->size, sizeof self->line - self->size);
        self->size += size > 0 ? (size_t)size : 0;
        stop = memchr(self->line, '\n', self->size);
    }
    if (stop == NULL) {
        return NULL;
    }
    *stop = '\0';
    return self->line;
}
