/* Fields that many messages share: texts, bit planes, signed documents handed along. */
#include "proto/codec_field.h"

#include "base/bits.h"

#include <assert.h>
#include <string.h>

/* ---- which bytes may travel as a text: UTF-8 without control characters, checked byte by byte, as
 * texts end up in logs and on terminals ---- */

/* Lead bytes of two to four byte characters, with the range of the second byte, which is
 * what keeps out overlong forms, surrogates, C1 controls and anything past U+10FFFF. */
static const struct {
    uint8_t first;
    uint8_t last;
    uint8_t second_first;
    uint8_t second_last;
    uint8_t size;
} leads[] = {
    {0xc2, 0xc2, 0xa0, 0xbf, 2}, {0xc3, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

static size_t wide_character(struct span text)
{
    size_t i;
    size_t k;

    for (i = 0; i < sizeof leads / sizeof leads[0]; i++) {
        if (text.data[0] >= leads[i].first && text.data[0] <= leads[i].last) {
            if (text.size < leads[i].size || text.data[1] < leads[i].second_first ||
                text.data[1] > leads[i].second_last) {
                return 0;
            }
            for (k = 2; k < leads[i].size; k++) {
                if ((text.data[k] & 0xc0) != 0x80) {
                    return 0;
                }
            }
            return leads[i].size;
        }
    }
    return 0;
}

/* How many bytes from the start make one acceptable character; 0: none do. */
static size_t character(struct span text)
{
    if (text.size == 0) {
        return 0;
    }
    if (text.data[0] < 0x80) {
        return text.data[0] >= 0x20 && text.data[0] != 0x7f ? 1 : 0;
    }
    return wide_character(text);
}

bool codec_text_valid(struct span text)
{
    while (text.size > 0) {
        size_t size = character(text);

        if (size == 0) {
            return false;
        }
        text = span_of(text.data + size, text.size - size);
    }
    return true;
}

size_t codec_text_clean(struct span text, uint8_t *out, size_t size)
{
    size_t used = 0;

    while (text.size > 0) {
        size_t step = character(text);
        size_t taken = step > 0 ? step : 1;

        if (taken > size - used) {
            break;
        }
        if (step > 0) {
            memcpy(out + used, text.data, step);
        } else {
            out[used] = '?';
        }
        used += taken;
        text = span_of(text.data + taken, text.size - taken);
    }
    return used;
}

/* ---- texts ---- */

enum status codec_put_text(const char *text, ProtobufCBinaryData *out)
{
    struct span bytes = span_text(text != NULL ? text : "");

    if (bytes.size > CODEC_MAX_TEXT_BYTES) {
        return STATUS_TOO_LARGE;
    }
    if (!codec_text_valid(bytes)) {
        return STATUS_INVALID;
    }
    *out = codec_put_span(bytes);
    return STATUS_OK;
}

enum status codec_put_message(struct codec_scratch *scratch, const char *text,
                              ProtobufCBinaryData *out)
{
    uint8_t *clean;

    if (codec_put_text(text, out) == STATUS_OK) {
        return STATUS_OK;
    }
    /* It is for people: better with question marks than not at all. */
    clean = codec_scratch_take(scratch, 1, CODEC_MAX_TEXT_BYTES);
    if (clean == NULL) {
        return STATUS_NOMEM;
    }
    out->data = clean;
    out->len = codec_text_clean(span_text(text), clean, CODEC_MAX_TEXT_BYTES);
    return STATUS_OK;
}

enum status codec_get_text(struct codec_arena *arena, ProtobufCBinaryData data, const char **out)
{
    char *text;

    if (data.len > CODEC_MAX_TEXT_BYTES) {
        return STATUS_TOO_LARGE;
    }
    if (!codec_text_valid(codec_get_span(data))) {
        return STATUS_MALFORMED;
    }
    if (data.len == 0) {
        *out = "";
        return STATUS_OK;
    }
    text = arena_take(arena, 1, data.len + 1);
    if (text == NULL) {
        return STATUS_TOO_LARGE;
    }
    memcpy(text, data.data, data.len);
    text[data.len] = '\0';
    *out = text;
    return STATUS_OK;
}

enum status codec_get_chars(ProtobufCBinaryData data, char *out, size_t size)
{
    if (data.len >= size || !codec_text_valid(span_of(data.data, data.len))) {
        return STATUS_MALFORMED;
    }
    if (data.len > 0) {
        memcpy(out, data.data, data.len);
    }
    out[data.len] = '\0';
    return STATUS_OK;
}

/* ---- planes ---- */

/* Planes are copied as they lie in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words must be little-endian");

/* Read in place of any plane that was left out. */
static const uint64_t zeros[CODEC_MAX_KEYS / 64];

ProtobufCBinaryData codec_put_plane(const uint64_t *words, size_t count)
{
    size_t nwords = bits_words(count);
    uint64_t any = 0;
    size_t i;

    if (words == NULL || nwords == 0) {
        return (ProtobufCBinaryData){0};
    }
    assert(count % 64 == 0 || words[nwords - 1] >> (count % 64) == 0);
    for (i = 0; i < nwords; i++) {
        any |= words[i];
    }
    /* A plane of zeros is told by leaving it out. */
    return codec_put_span(span_of(words, any != 0 ? (count + 7) / 8 : 0));
}

enum status codec_get_plane(struct codec_arena *arena, ProtobufCBinaryData data, size_t count,
                            const uint64_t **out)
{
    size_t nwords = bits_words(count);
    uint64_t *words;

    assert(count <= CODEC_MAX_KEYS);
    if (data.len == 0) {
        *out = zeros;
        return STATUS_OK;
    }
    if (data.len != (count + 7) / 8) {
        return STATUS_MALFORMED;
    }
    if (count % 8 != 0 && data.data[data.len - 1] >> (count % 8) != 0) {
        return STATUS_MALFORMED;
    }
    words = arena_take(arena, nwords, sizeof *words);
    if (words == NULL) {
        return STATUS_TOO_LARGE;
    }
    words[nwords - 1] = 0;
    memcpy(words, data.data, data.len);
    *out = words;
    return STATUS_OK;
}

/* ---- documents ---- */

enum status codec_put_documents(struct codec_scratch *scratch, const struct span *items,
                                size_t count, ProtobufCBinaryData **out)
{
    size_t i;

    if (count > CODEC_MAX_DOCUMENTS) {
        return STATUS_TOO_LARGE;
    }
    *out = codec_scratch_take(scratch, count, sizeof **out);
    if (*out == NULL) {
        return STATUS_NOMEM;
    }
    for (i = 0; i < count; i++) {
        if (items[i].size > DOCUMENT_MAX_BYTES) {
            return STATUS_TOO_LARGE;
        }
        (*out)[i] = codec_put_span(items[i]);
    }
    return STATUS_OK;
}

enum status codec_get_documents(struct codec_arena *arena, const ProtobufCBinaryData *items,
                                size_t count, const struct span **out)
{
    struct span *spans;
    size_t i;

    if (count > CODEC_MAX_DOCUMENTS) {
        return STATUS_TOO_LARGE;
    }
    spans = arena_take(arena, count, sizeof *spans);
    if (spans == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (i = 0; i < count; i++) {
        if (items[i].len > DOCUMENT_MAX_BYTES) {
            return STATUS_TOO_LARGE;
        }
        spans[i] = codec_get_span(items[i]);
    }
    *out = spans;
    return STATUS_OK;
}
