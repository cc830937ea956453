/* Reads the password from its file, and compares hashes in constant time. */
#include "base/password.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

static void hash_of(struct span text, uint8_t hash[PASSWORD_HASH_BYTES])
{
    int failed = crypto_generichash(hash, PASSWORD_HASH_BYTES, text.data, text.size, NULL, 0);

    assert(failed == 0); /* It fails for lengths out of range only. */
}

/* Without the line end. */
static struct span line_of(struct span text)
{
    text.size -= text.size > 0 && text.data[text.size - 1] == '\n';
    text.size -= text.size > 0 && text.data[text.size - 1] == '\r';
    return text;
}

static bool is_line(struct span text)
{
    return memchr(text.data, '\n', text.size) == NULL &&
           memchr(text.data, '\r', text.size) == NULL && memchr(text.data, '\0', text.size) == NULL;
}

enum status password_read(void *password, struct span text)
{
    struct password *self = password;
    struct span line = line_of(text);

    if (line.size == 0 || line.size > PASSWORD_MAX_BYTES || !is_line(line)) {
        return STATUS_MALFORMED;
    }
    hash_of(line, self->hash);
    return STATUS_OK;
}

bool password_matches(const struct password *self, struct span attempt)
{
    uint8_t hash[PASSWORD_HASH_BYTES];

    hash_of(attempt, hash);
    return sodium_memcmp(hash, self->hash, sizeof hash) == 0;
}
