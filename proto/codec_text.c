/* UTF-8 without control characters, checked byte by byte: texts end up in logs and on terminals. */
#include "proto/codec_text.h"

#include <string.h>

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

size_t codec_text_character(struct span text)
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
        size_t size = codec_text_character(text);

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
        size_t step = codec_text_character(text);
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
