/* Acknowledgements of several sites: their coding, order and words. */
#include "map/acks.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

bool acks_valid(uint32_t acks)
{
    return acks <= ACKS_MAX || acks == ACKS_EACH;
}

uint32_t acks_stored(uint32_t acks)
{
    return acks == ACKS_LOCAL ? 0 : acks;
}

/* The coding rises already, but for its two words for one. */
bool acks_more(uint32_t a, uint32_t b)
{
    return acks_stored(a) > acks_stored(b);
}

uint32_t acks_most(uint32_t a, uint32_t b)
{
    return acks_stored(acks_more(a, b) ? a : b);
}

enum status acks_parse(const char *text, uint32_t *out)
{
    if (strcmp(text, "local") == 0) {
        *out = ACKS_LOCAL;
    } else if (strcmp(text, "each") == 0) {
        *out = ACKS_EACH;
    } else if (text[0] >= '1' && text[0] <= '0' + ACKS_MAX && text[1] == '\0') {
        *out = (uint32_t)(text[0] - '0');
    } else {
        return STATUS_INVALID;
    }
    return STATUS_OK;
}

const char *acks_show(uint32_t acks, char text[NUMBER_TEXT_BYTES])
{
    assert(acks_valid(acks));
    if (acks == ACKS_EACH || acks_stored(acks) == 0) {
        (void)snprintf(text, NUMBER_TEXT_BYTES, "%s", acks == ACKS_EACH ? "each" : "local");
    } else {
        (void)snprintf(text, NUMBER_TEXT_BYTES, "%u", (unsigned)acks);
    }
    return text;
}
