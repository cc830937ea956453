/* From "node-1,node-2@INCARNATION" and the nodes of a status answer to lives. */
#include "cli/life_names.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One of them, between two commas. */
struct word {
    const char *name;
    size_t name_size;
    const char *incarnation; /* behind the '@'; NULL: as it is shown */
    size_t incarnation_size;
};

PRINTF_LIKE(3, 4)
static enum status refuse(char reason[LIFE_REASON_BYTES], enum status status, const char *format,
                          ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(reason, LIFE_REASON_BYTES, format, args);
    va_end(args);
    return status;
}

static struct word split(const char *text, size_t size)
{
    const char *at = memchr(text, '@', size);

    if (at == NULL) {
        return (struct word){.name = text, .name_size = size};
    }
    return (struct word){.name = text,
                         .name_size = (size_t)(at - text),
                         .incarnation = at + 1,
                         .incarnation_size = size - (size_t)(at - text) - 1};
}

/* All of it, and not 0, which is no life and no node. */
static bool take_number(const char *text, size_t size, int base, uint64_t most, uint64_t *out)
{
    const char *digits = base == 16 ? "0123456789abcdefABCDEF" : "0123456789";
    char copy[24];
    unsigned long long number;

    if (size == 0 || size >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    errno = 0;
    number = strtoull(copy, NULL, base);
    if (strspn(copy, digits) != size || errno != 0 || number == 0 || number > most) {
        return false;
    }
    *out = number;
    return true;
}

static const struct node_summary *find(const struct node_summary *nodes, size_t nnodes,
                                       const struct word *word)
{
    for (size_t i = 0; i < nnodes; i++) {
        if (strlen(nodes[i].name) == word->name_size &&
            memcmp(nodes[i].name, word->name, word->name_size) == 0) {
            return &nodes[i];
        }
    }
    return NULL;
}

static enum status take_life(const char *text, size_t size, const struct node_summary *nodes,
                             size_t nnodes, struct vouched_life *out,
                             char reason[LIFE_REASON_BYTES])
{
    const struct word word = split(text, size);
    const struct node_summary *node = find(nodes, nnodes, &word);
    uint64_t incarnation = node != NULL ? node->incarnation : 0;
    uint64_t id = node != NULL ? node->id : 0;
    bool numbered = word.name_size > 0 && word.name[0] == '#';

    if (word.incarnation != NULL &&
        !take_number(word.incarnation, word.incarnation_size, 16, UINT64_MAX, &incarnation)) {
        return refuse(reason, STATUS_INVALID,
                      "\"%.*s\" names no life: behind the @ comes its incarnation as `orbloom "
                      "status` shows it, such as 00f3a9c2d4e51b07",
                      (int)size, text);
    }
    if (numbered && (word.incarnation == NULL ||
                     !take_number(word.name + 1, word.name_size - 1, 10, UINT32_MAX, &id))) {
        return refuse(reason, STATUS_INVALID,
                      "\"%.*s\" names no life: a node that is not listed is #NUMBER@INCARNATION",
                      (int)size, text);
    }
    if (node == NULL && !numbered) {
        return refuse(reason, STATUS_NOT_FOUND, "there is no node %.*s; see `orbloom status`",
                      (int)word.name_size, word.name);
    }
    *out = (struct vouched_life){
        .life = {.node = (uint32_t)id, .incarnation = incarnation},
        .runs = word.incarnation == NULL && node->alive,
    };
    return STATUS_OK;
}

enum status life_names_resolve(const char *text, const struct node_summary *nodes, size_t nnodes,
                               struct life_names *out, char reason[LIFE_REASON_BYTES])
{
    struct life_names found;
    const char *at = text != NULL ? text : "";

    found.count = 0;
    while (*at != '\0') {
        size_t size = strcspn(at, ",");
        enum status status;

        if (found.count == ADMIN_MAX_LIVES) {
            return refuse(reason, STATUS_INVALID, "more than %d nodes are named", ADMIN_MAX_LIVES);
        }
        status = take_life(at, size, nodes, nnodes, &found.lives[found.count], reason);
        if (status != STATUS_OK) {
            return status;
        }
        found.count++;
        at += size + (at[size] == ',');
    }
    memcpy(out->lives, found.lives, found.count * sizeof found.lives[0]);
    out->count = found.count;
    return STATUS_OK;
}
