/* Edits and rules of a rename; among documents that claim one name, which one has it. */
#include "map/rename.h"

#include <stdio.h>
#include <string.h>

bool rename_is_open(const struct filter_document *document)
{
    return document->former_name[0] != '\0';
}

void rename_begin(struct filter_document *document, const char *name, uint64_t replaces)
{
    memcpy(document->former_name, document->content.name, sizeof document->former_name);
    (void)snprintf(document->content.name, sizeof document->content.name, "%s", name);
    document->replaces = replaces;
    document_epoch_advance(document);
    document->content.named_epoch = document->epoch;
}

void rename_end(struct filter_document *document)
{
    document->former_name[0] = '\0';
    document->replaces = 0;
    document->revision++;
}

bool rename_outranks(const struct filter_document *self, const struct filter_document *other)
{
    return self->replaces == other->id || (other->replaces != self->id && self->id > other->id);
}

bool rename_lost(const struct filter_document *self, const struct filter_document *other)
{
    if (other->content.state != FILTER_ACTIVE && self->content.named_epoch != 0) {
        return false;
    }
    return rename_outranks(other, self);
}

bool rename_follows(const struct filter_document *older, const struct filter_document *newer)
{
    return strcmp(older->content.name, newer->content.name) == 0 ||
           newer->content.named_epoch > older->epoch;
}

const char *rename_fault(const struct filter_document *document)
{
    const char *former = document->former_name;
    size_t size = strnlen(former, DOCUMENT_NAME_BYTES);

    if (document->content.named_epoch > document->epoch) {
        return "the name is of an epoch to come";
    }
    if (size == 0) {
        return document->replaces == 0 ? NULL : "a filter is replaced without a rename";
    }
    if (!document_name_valid(span_of(former, size)) ||
        strcmp(former, document->content.name) == 0) {
        return "the former name is not one";
    }
    return document->content.named_epoch != 0 && document->replaces != document->id
               ? NULL
               : "a rename has no epoch, or replaces itself";
}
