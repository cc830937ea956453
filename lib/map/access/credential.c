/* A table of words, and one pass over the lines. That the secret makes the public key is looked at,
 * too: a file that was put together of two would be refused by every process, without a word. */
#include "map/access/credential.h"

#include <assert.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { KEY_DIGITS = 2 * CURVE_KEY_BYTES, FORMAT = 1, VALUE_BYTES = USER_NAME_BYTES + KEY_DIGITS };

/* ---- keys ---- */

void credential_wipe(struct credential *self)
{
    sodium_memzero(self, sizeof *self);
}

/* ---- reading ---- */

struct reading {
    struct credential credential;
    unsigned seen; /* bit set of the table's words */
    size_t line;
    char *reason;
    size_t size;
};

PRINTF_LIKE(2, 3)
static enum status refuse(struct reading *self, const char *format, ...)
{
    int used = self->line > 0 ? snprintf(self->reason, self->size, "line %zu: ", self->line) : 0;
    va_list args;

    va_start(args, format);
    if (used >= 0 && (size_t)used < self->size) {
        (void)vsnprintf(self->reason + used, self->size - (size_t)used, format, args);
    }
    va_end(args);
    return STATUS_MALFORMED;
}

static enum status take_format(struct reading *self, const char *value)
{
    return strcmp(value, "1") == 0
               ? STATUS_OK
               : refuse(self, "the file has a format that this orbloom does not know; upgrade it");
}

static enum status take_user(struct reading *self, const char *value)
{
    if (!user_name_valid(value)) {
        return refuse(self, "a user's name is 1 to 64 of A-Z a-z 0-9 . _ : -");
    }
    (void)snprintf(self->credential.user, sizeof self->credential.user, "%s", value);
    return STATUS_OK;
}

static enum status take_role(struct reading *self, const char *value)
{
    return user_role_parse(value, &self->credential.role)
               ? STATUS_OK
               : refuse(self, "a role is client, monitor or admin");
}

static enum status take_digits(struct reading *self, const char *value,
                               uint8_t key[CURVE_KEY_BYTES])
{
    size_t size = 0;
    size_t digits = strlen(value);
    enum status status = STATUS_OK;

    if (digits != KEY_DIGITS) {
        status = refuse(self, "a key has %d hexadecimal digits, and this one %zu", KEY_DIGITS,
                        digits);
    } else if (sodium_hex2bin(key, CURVE_KEY_BYTES, value, digits, NULL, &size, NULL) != 0 ||
               size != CURVE_KEY_BYTES) {
        status = refuse(self, "a key has %d hexadecimal digits, and nothing else", KEY_DIGITS);
    } else if (sodium_is_zero(key, CURVE_KEY_BYTES)) {
        status = refuse(self, "a key of zeros is none");
    }
    return status;
}

static enum status take_public(struct reading *self, const char *value)
{
    return take_digits(self, value, self->credential.pair.public);
}

static enum status take_secret(struct reading *self, const char *value)
{
    return take_digits(self, value, self->credential.pair.secret);
}

static enum status take_process(struct reading *self, const char *value, struct public_keys *keys)
{
    enum status status;

    if (keys->count == CLUSTER_KEY_MAX) {
        return refuse(self, "one key more than the %d that there may be of a kind",
                      CLUSTER_KEY_MAX);
    }
    status = take_digits(self, value, keys->keys[keys->count]);
    for (uint32_t i = 0; i < keys->count && status == STATUS_OK; i++) {
        if (memcmp(keys->keys[i], keys->keys[keys->count], CURVE_KEY_BYTES) == 0) {
            status = refuse(self, "the same key once more");
        }
    }
    keys->count += status == STATUS_OK;
    return status;
}

static enum status take_router(struct reading *self, const char *value)
{
    return take_process(self, value, &self->credential.processes.of[CURVE_ROUTER]);
}

static enum status take_node(struct reading *self, const char *value)
{
    return take_process(self, value, &self->credential.processes.of[CURVE_NODE]);
}

static enum status take_coordinator(struct reading *self, const char *value)
{
    return take_process(self, value, &self->credential.processes.of[CURVE_COORDINATOR]);
}

static const struct {
    const char *word;
    enum status (*take)(struct reading *self, const char *value);
    bool many;
} words[] = {
    {"orbloom-credential", take_format, false},
    {"user", take_user, false},
    {"role", take_role, false},
    {"public", take_public, false},
    {"secret", take_secret, false},
    {"router", take_router, true},
    {"node", take_node, true},
    {"coordinator", take_coordinator, true},
};

enum { NWORDS = sizeof words / sizeof words[0] };

static enum status read_word(struct reading *self, struct span word, const char *value)
{
    for (size_t i = 0; i < NWORDS; i++) {
        if (!span_equal(word, span_text(words[i].word))) {
            continue;
        }
        if (!words[i].many && (self->seen >> i & 1) != 0) {
            return refuse(self, "\"%s\" once more", words[i].word);
        }
        self->seen |= 1U << i;
        return words[i].take(self, value);
    }
    return refuse(self, "it begins with no word that a credential has");
}

static enum status read_line(struct reading *self, struct span line)
{
    char value[VALUE_BYTES];
    enum status status;
    struct span rest;
    size_t word = 0;

    line = span_trim(line);
    if (line.size == 0 || line.data[0] == '#') {
        return STATUS_OK;
    }
    while (word < line.size && !span_blank(line.data[word])) {
        word++;
    }
    rest = span_trim(span_of(line.data + word, line.size - word));
    if (rest.size >= sizeof value || memchr(rest.data, '\0', rest.size) != NULL) {
        return refuse(self, "what stands behind its word is none of its values");
    }
    memcpy(value, rest.data, rest.size);
    value[rest.size] = '\0';
    status = read_word(self, span_of(line.data, word), value);
    sodium_memzero(value, sizeof value);
    return status;
}

/* Of the whole file. */
static enum status judge(struct reading *self)
{
    uint8_t public[CURVE_KEY_BYTES];

    self->line = 0;
    if ((self->seen & 1) == 0) {
        return refuse(self, "it has no line \"orbloom-credential %d\": is this a credential?",
                      FORMAT);
    }
    for (size_t i = 0; i < NWORDS; i++) {
        if ((self->seen >> i & 1) == 0) {
            return refuse(self, "it has no line \"%s ...\"", words[i].word);
        }
    }
    if (crypto_scalarmult_base(public, self->credential.pair.secret) != 0 ||
        memcmp(public, self->credential.pair.public, sizeof public) != 0) {
        return refuse(self, "its public key is not that of its secret one");
    }
    return STATUS_OK;
}

enum status credential_parse(struct span text, struct credential *out, char *reason, size_t size)
{
    struct reading reading = {.reason = reason, .size = size};
    enum status status = STATUS_OK;
    struct span line;

    while (status == STATUS_OK && span_take_line(&text, &line)) {
        reading.line++;
        status = read_line(&reading, line);
    }
    status = status == STATUS_OK ? judge(&reading) : status;
    if (status == STATUS_OK) {
        *out = reading.credential;
    }
    credential_wipe(&reading.credential);
    return status;
}

enum status credential_read(void *credential, struct span text, char *reason, size_t size)
{
    return credential_parse(text, credential, reason, size);
}

/* ---- writing ---- */

static enum status put(struct buffer *out, const char *word, const char *value)
{
    char line[CREDENTIAL_REASON_BYTES];
    int size = snprintf(line, sizeof line, "%s %s\n", word, value);
    enum status status;

    assert(size > 0 && (size_t)size < sizeof line);
    status = buffer_append(out, span_of(line, (size_t)size));
    sodium_memzero(line, sizeof line);
    return status;
}

static enum status put_key(struct buffer *out, const char *word, const uint8_t key[CURVE_KEY_BYTES])
{
    char digits[KEY_DIGITS + 1];
    enum status status;

    (void)sodium_bin2hex(digits, sizeof digits, key, CURVE_KEY_BYTES);
    status = put(out, word, digits);
    sodium_memzero(digits, sizeof digits);
    return status;
}

static enum status put_keys(struct buffer *out, const char *word, const struct public_keys *keys)
{
    enum status status = STATUS_OK;

    for (uint32_t i = 0; i < keys->count && status == STATUS_OK; i++) {
        status = put_key(out, word, keys->keys[i]);
    }
    return status;
}

enum status credential_write(const struct credential *self, struct buffer *out)
{
    static const char head[] =
        "# A credential of orbloom: whoever holds this file is the user that it names.\n"
        "# Keep it at mode 600. For use: --credential FILE, ORBLOOM_CREDENTIAL=FILE, or\n"
        "# orbloom_options.credential. While the cluster key is replaced:\n"
        "# orbloom user renew --credential FILE\n";
    size_t before = out->size;
    enum status status = buffer_append(out, span_text(head));

    status = status == STATUS_OK ? put(out, words[0].word, "1") : status;
    status = status == STATUS_OK ? put(out, "user", self->user) : status;
    status = status == STATUS_OK ? put(out, "role", user_role_name(self->role)) : status;
    status = status == STATUS_OK ? put_key(out, "public", self->pair.public) : status;
    status = status == STATUS_OK ? put_key(out, "secret", self->pair.secret) : status;
    status = status == STATUS_OK ? put_keys(out, "router", &self->processes.of[CURVE_ROUTER])
                                 : status;
    status = status == STATUS_OK ? put_keys(out, "node", &self->processes.of[CURVE_NODE]) : status;
    status = status == STATUS_OK
                 ? put_keys(out, "coordinator", &self->processes.of[CURVE_COORDINATOR])
                 : status;
    if (status != STATUS_OK) {
        out->size = before;
    }
    return status;
}
