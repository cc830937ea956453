/* The secret key alone is in the file: two lines that do not belong together can't be. */
#include "map/site_key.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

_Static_assert(CURVE_KEY_BYTES == crypto_scalarmult_BYTES, "public key of a pair");
_Static_assert(CURVE_KEY_BYTES == crypto_scalarmult_SCALARBYTES, "secret key of a pair");

static bool parse_digits(struct span text, uint8_t key[CURVE_KEY_BYTES])
{
    size_t size = 0;

    return text.size == SITE_KEY_DIGITS &&
           sodium_hex2bin(key, CURVE_KEY_BYTES, (const char *)text.data, text.size, NULL, &size,
                          NULL) == 0 &&
           size == CURVE_KEY_BYTES && !sodium_is_zero(key, CURVE_KEY_BYTES);
}

/* ---- the file ---- */

struct reading {
    uint8_t secret[CURVE_KEY_BYTES];
    bool found;
    size_t line;
    char *reason;
    size_t size;
};

/* What the line holds is not told: part of it may be a key. */
static enum status refuse(const struct reading *self, const char *what)
{
    (void)snprintf(self->reason, self->size, "line %zu: %s", self->line, what);
    return STATUS_MALFORMED;
}

static enum status read_line(struct reading *self, struct span line)
{
    const struct span word = span_text(SITE_KEY_WORD);

    line = span_trim(line);
    if (line.size == 0 || line.data[0] == '#') {
        return STATUS_OK;
    }
    if (line.size <= word.size || !span_equal(span_of(line.data, word.size), word) ||
        !span_blank(line.data[word.size])) {
        return refuse(self, "it does not begin with " SITE_KEY_WORD ": is this a site's key?");
    }
    if (self->found) {
        return refuse(self, "one key more than the single one that a site has");
    }
    self->found = true;
    line = span_trim(span_of(line.data + word.size, line.size - word.size));
    return parse_digits(line, self->secret)
               ? STATUS_OK
               : refuse(self, "a key has 64 hexadecimal digits, not all of them 0, and nothing "
                              "else");
}

enum status site_key_read(void *pair, struct span text, char *reason, size_t size)
{
    struct reading reading = {.reason = reason, .size = size};
    struct curve_pair *out = pair;
    enum status status = STATUS_OK;
    struct span line;

    while (status == STATUS_OK && span_take_line(&text, &line)) {
        reading.line++;
        status = read_line(&reading, line);
    }
    if (status == STATUS_OK && !reading.found) {
        (void)snprintf(reason, size, "there is no key in it");
        status = STATUS_MALFORMED;
    }
    if (status == STATUS_OK) {
        int failed = crypto_scalarmult_base(out->public, reading.secret);

        assert(failed == 0); /* The base point has no small order. */
        (void)failed;
        memcpy(out->secret, reading.secret, sizeof out->secret);
    }
    sodium_memzero(&reading, sizeof reading);
    return status;
}

void site_key_wipe(struct curve_pair *pair)
{
    sodium_memzero(pair, sizeof *pair);
}

/* ---- public keys ---- */

bool site_key_parse_public(struct span text, uint8_t public[CURVE_KEY_BYTES])
{
    return parse_digits(text, public);
}

const char *site_key_show(const uint8_t public[CURVE_KEY_BYTES], char text[SITE_KEY_TEXT_BYTES])
{
    (void)sodium_bin2hex(text, SITE_KEY_TEXT_BYTES, public, CURVE_KEY_BYTES);
    return text;
}

struct site_id site_key_id(const uint8_t public[CURVE_KEY_BYTES])
{
    XXH128_hash_t hash = XXH3_128bits(public, CURVE_KEY_BYTES);

    return (struct site_id){.high = hash.high64, .low = hash.low64};
}
