/* codec_text.h - private to proto/: which bytes may travel as a text.
 *
 * UTF-8 without control characters (C0, DEL, C1), so that a text from a stranger can be
 * logged and shown on a terminal as it is.
 *
 * Source:  RFC 3629, section 4.
 */
#ifndef ORBLOOM_PROTO_CODEC_TEXT_H
#define ORBLOOM_PROTO_CODEC_TEXT_H

#include "base/span.h"

/* How many bytes from the start make one acceptable character; 0: none do. */
size_t codec_text_character(struct span text);

bool codec_text_valid(struct span text);

/* Copy what fits into `size` bytes, '?' for each byte that may not travel; never cuts a
 * character. Returns how much was written. */
size_t codec_text_clean(struct span text, uint8_t *out, size_t size);

#endif
