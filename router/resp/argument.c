/* Words of a command: what they say. */
#include "router/resp/command.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool command_word(struct span argument, const char *word)
{
    size_t size = strlen(word);

    if (argument.size != size) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = argument.data[i];

        byte = byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte | 0x20) : byte;
        if (byte != (uint8_t)word[i]) {
            return false;
        }
    }
    return true;
}

bool argument_integer(struct span text, int64_t least, int64_t most, int64_t *value)
{
    char copy[24];
    char *end;

    if (text.size == 0 || text.size >= sizeof copy ||
        !(text.data[0] == '-' || (text.data[0] >= '0' && text.data[0] <= '9'))) {
        return false;
    }
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    errno = 0;
    *value = strtoll(copy, &end, 10);
    return errno == 0 && end == copy + text.size && *value >= least && *value <= most;
}

bool argument_double(struct span text, double *value)
{
    char copy[64];
    char *end;

    if (text.size == 0 || text.size >= sizeof copy || text.data[0] <= ' ') {
        return false;
    }
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    *value = strtod(copy, &end);
    return end == copy + text.size && isfinite(*value);
}

bool argument_name(struct span text, char name[DOCUMENT_NAME_BYTES])
{
    if (text.size >= DOCUMENT_NAME_BYTES || !document_name_valid(text)) {
        return false;
    }
    memcpy(name, text.data, text.size);
    name[text.size] = '\0';
    return true;
}
