/* Fields that many messages share: texts, bit planes, signed documents handed along. */
#include "proto/codec_field.h"

#include "proto/codec_text.h"

#include <assert.h>
#include <string.h>

/* Planes are copied as they lie in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words must be little-endian");

/* Read in place of any plane that was left out. */
static const uint64_t zeros[CODEC_MAX_KEYS / 64];

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

ProtobufCBinaryData codec_put_plane(const uint64_t *words, size_t count)
{
    size_t nwords = codec_plane_words(count);
    uint64_t any = 0;
    size_t i;

    if (words == NULL || nwords == 0) {
        return (ProtobufCBinaryData){0};
    }
    assert(count % 64 == 0 || words[nwords - 1] >> (count % 64) == 0);
    for (i = 0; i < nwords; i++) {
        any |= words[i];
    }
    return codec_put_span(span_of(words, any != 0 ? (count + 7) / 8 : 0));
}

enum status codec_get_plane(struct codec_arena *arena, ProtobufCBinaryData data, size_t count,
                            const uint64_t **out)
{
    size_t nwords = codec_plane_words(count);
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
