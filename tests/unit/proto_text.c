/* Which bytes may be shown on a terminal and logged as they came? */
#include "proto/codec_field.h"

#include <criterion/criterion.h>

static bool valid(const char *bytes, size_t size)
{
    return codec_text_valid(span_of(bytes, size));
}

Test(text, every_single_byte_is_judged)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        char one = (char)byte;

        cr_assert_eq(valid(&one, 1), byte >= 0x20 && byte < 0x7f, "%02x", byte);
    }
    cr_assert(valid("", 0));
}

/* All pairs: valid are two ASCII characters, or U+00A0 to U+07FF. */
Test(text, every_pair_of_bytes_is_judged)
{
    for (unsigned a = 0; a < 256; a++) {
        for (unsigned b = 0; b < 256; b++) {
            char pair[2] = {(char)a, (char)b};
            bool ascii = a >= 0x20 && a < 0x7f && b >= 0x20 && b < 0x7f;
            unsigned point = (a & 0x1f) << 6 | (b & 0x3f);
            bool wide = a >> 5 == 6 && b >> 6 == 2 && point >= 0xa0;

            cr_assert_eq(valid(pair, 2), ascii || wide, "%02x %02x", a, b);
        }
    }
}

/* Every code point up to the end of the four-byte forms, encoded by the plain rule. */
Test(text, exactly_the_scalar_values_of_unicode_are_taken)
{
    for (unsigned point = 0x800; point < 0x200000; point++) {
        char bytes[4];
        size_t size;

        if (point < 0x10000) {
            bytes[0] = (char)(0xe0 | point >> 12);
            bytes[1] = (char)(0x80 | (point >> 6 & 0x3f));
            bytes[2] = (char)(0x80 | (point & 0x3f));
            size = 3;
        } else {
            bytes[0] = (char)(0xf0 | point >> 18);
            bytes[1] = (char)(0x80 | (point >> 12 & 0x3f));
            bytes[2] = (char)(0x80 | (point >> 6 & 0x3f));
            bytes[3] = (char)(0x80 | (point & 0x3f));
            size = 4;
        }
        cr_assert_eq(valid(bytes, size), point < 0xd800 || (point > 0xdfff && point < 0x110000),
                     "%x", point);
        cr_assert(!valid(bytes, size - 1));
    }
}

Test(text, overlong_forms_are_refused)
{
    cr_assert(!valid("\xc0\xaf", 2));
    cr_assert(!valid("\xc1\xbf", 2));
    cr_assert(!valid("\xe0\x9f\xbf", 3));
    cr_assert(!valid("\xf0\x8f\xbf\xbf", 4));
}

Test(text, cleaning_keeps_what_is_valid_and_never_cuts_a_character)
{
    uint8_t out[8];

    cr_assert_eq(codec_text_clean(span_of("a\0\xc3\xa9\x1b", 5), out, sizeof out), 5);
    cr_assert(span_equal(span_of(out, 5), span_text("a?\xc3\xa9?")));
    cr_assert_eq(codec_text_clean(span_text("1234567\xc3\xa9"), out, sizeof out), 7);
    cr_assert_eq(codec_text_clean(span_text("x"), out, 0), 0);
}
