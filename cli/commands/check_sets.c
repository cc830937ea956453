/* Parses sets as they are named, or makes all sets of R slots, each as a bit mask. */
#include "cli/commands/check_sets.h"

#include "map/quorum.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

_Static_assert(2 * QUORUM_MAX_REPLICAS <= CHECK_SET_BYTES, "a digit and a comma each");

/* "0,2" up to `end`; 0: not a set. */
static uint32_t parse_set(const char *text, const char *end)
{
    uint32_t mask = 0;

    for (;;) {
        if (text == end || !isdigit((unsigned char)text[0]) ||
            text[0] - '0' >= QUORUM_MAX_REPLICAS) {
            return 0;
        }
        mask |= 1U << (text[0] - '0');
        if (text + 1 == end) {
            return mask;
        }
        if (text[1] != ',') {
            return 0;
        }
        text += 2;
    }
}

enum status check_sets_parse(const char *text, struct check_sets *out)
{
    struct check_sets sets = {.all = strcmp(text, "all") == 0};

    while (!sets.all) {
        const char *end = strchrnul(text, '/');
        uint32_t mask = parse_set(text, end);

        if (mask == 0 || sets.count == CHECK_MAX_SETS) {
            return STATUS_INVALID;
        }
        sets.masks[sets.count++] = mask;
        if (*end == '\0') {
            break;
        }
        text = end + 1;
    }
    *out = sets;
    return STATUS_OK;
}

void check_sets_fill(struct check_sets *out, uint32_t slots, uint32_t size)
{
    assert(slots <= QUORUM_MAX_REPLICAS);

    *out = (struct check_sets){.all = true};
    for (uint32_t mask = 1; mask < 1U << slots; mask++) {
        if ((uint32_t)__builtin_popcount(mask) == size) {
            out->masks[out->count++] = mask;
        }
    }
}

const char *check_set_show(uint32_t mask, char text[CHECK_SET_BYTES])
{
    char *end = text;

    for (uint32_t slot = 0; slot < QUORUM_MAX_REPLICAS; slot++) {
        if ((mask >> slot & 1) != 0) {
            if (end != text) {
                *end++ = ',';
            }
            *end++ = (char)('0' + slot);
        }
    }
    *end = '\0';
    return text;
}
