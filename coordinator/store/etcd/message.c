/* Base64 and numbers as text, written and read; bytes that are not what they should be are
 * refused. */
#include "coordinator/store/etcd/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void etcd_draft_init(struct etcd_draft *self, size_t max_bytes)
{
    buffer_init(&self->bytes, max_bytes);
    self->status = STATUS_OK;
}

void etcd_draft_fini(struct etcd_draft *self)
{
    buffer_fini(&self->bytes);
}

void etcd_draft_text(struct etcd_draft *self, const char *json)
{
    if (self->status == STATUS_OK) {
        self->status = buffer_append(&self->bytes, span_text(json));
    }
}

void etcd_draft_number(struct etcd_draft *self, uint64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "\"%" PRIu64 "\"", number);
    etcd_draft_text(self, text);
}

static uint8_t byte_at(struct span first, struct span second, size_t at)
{
    if (at < first.size) {
        return first.data[at];
    }
    at -= first.size;
    return at < second.size ? second.data[at] : 0;
}

void etcd_draft_bytes(struct etcd_draft *self, struct span first, struct span second)
{
    size_t size = first.size + second.size;
    uint8_t *out;

    if (self->status == STATUS_OK) {
        self->status = buffer_extend(&self->bytes, (size + 2) / 3 * 4 + 2, &out);
    }
    if (self->status != STATUS_OK) {
        return;
    }
    *out++ = '"';
    for (size_t at = 0; at < size; at += 3) {
        uint32_t three = (uint32_t)byte_at(first, second, at) << 16 |
                         (uint32_t)byte_at(first, second, at + 1) << 8 |
                         byte_at(first, second, at + 2);

        *out++ = (uint8_t)letters[three >> 18];
        *out++ = (uint8_t)letters[three >> 12 & 63];
        *out++ = at + 1 < size ? (uint8_t)letters[three >> 6 & 63] : '=';
        *out++ = at + 2 < size ? (uint8_t)letters[three & 63] : '=';
    }
    *out = '"';
}

/* The six bits of a letter; 64 for what is none. */
static uint32_t six_bits(char letter)
{
    const char *found = letter != '\0' ? strchr(letters, letter) : NULL;

    return found != NULL ? (uint32_t)(found - letters) : 64;
}

/* Four letters, of which the last `padding` are '='. */
static enum status decode_four(const char *text, size_t padding, uint8_t out[3])
{
    uint32_t bits = 0;

    for (size_t i = 0; i < 4; i++) {
        uint32_t six = i < 4 - padding ? six_bits(text[i]) : 0;

        if (six == 64) {
            return STATUS_MALFORMED;
        }
        bits = bits << 6 | six;
    }
    out[0] = (uint8_t)(bits >> 16);
    out[1] = (uint8_t)(bits >> 8);
    out[2] = (uint8_t)bits;
    return STATUS_OK;
}

static size_t padding_of(const char *text, size_t size)
{
    if (size < 4 || text[size - 1] != '=') {
        return 0;
    }
    return text[size - 2] == '=' ? 2 : 1;
}

enum status etcd_decode_bytes(const json_t *text, struct buffer *out)
{
    const char *from = json_string_value(text);
    size_t size = json_string_length(text);
    size_t before = out->size;
    enum status status;
    size_t padding;
    uint8_t *to;

    if (text == NULL) {
        return STATUS_OK; /* Left out, as it is empty. */
    }
    if (from == NULL || size % 4 != 0) {
        return STATUS_MALFORMED;
    }
    padding = padding_of(from, size);
    status = buffer_extend(out, size / 4 * 3 - padding, &to);
    for (size_t at = 0; status == STATUS_OK && at < size; at += 4) {
        size_t missing = at + 4 == size ? padding : 0;
        uint8_t three[3];

        status = decode_four(from + at, missing, three);
        memcpy(to + at / 4 * 3, three, status == STATUS_OK ? 3 - missing : 0);
    }
    out->size = status == STATUS_OK ? out->size : before;
    return status;
}

enum status etcd_read_number(const json_t *object, const char *field, uint64_t *out)
{
    const json_t *value = json_object_get(object, field);
    const char *text = json_string_value(value);
    uint64_t number = 0;

    if (text != NULL) {
        for (const char *at = text; *at != '\0'; at++) {
            if (*at < '0' || *at > '9' || number > (INT64_MAX - 9) / 10) {
                return STATUS_MALFORMED;
            }
            number = number * 10 + (uint64_t)(*at - '0');
        }
    } else if (json_is_integer(value) && json_integer_value(value) >= 0) {
        number = (uint64_t)json_integer_value(value);
    } else if (value != NULL) {
        return STATUS_MALFORMED;
    }
    *out = number;
    return STATUS_OK;
}
