/* The table itself: number, code and meaning of every outcome. */
#include "base/status.h"

#include <stddef.h>

static const struct {
    const char *code;
    const char *meaning;
} table[] = {
#define X(name, number, meaning) [number] = {#name, meaning},
    STATUS_TABLE(X)
#undef X
};

enum status status_from_wire(unsigned number)
{
    if (number >= sizeof table / sizeof table[0] || table[number].code == NULL) {
        return STATUS_INTERNAL;
    }
    return (enum status)number;
}

const char *status_code(enum status status)
{
    return table[status_from_wire(status)].code;
}

const char *status_meaning(enum status status)
{
    return table[status_from_wire(status)].meaning;
}
