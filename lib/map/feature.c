/* The table of features: name, help, and which of them a document makes use of. */
#include "map/feature.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    const char *help;
} table[FEATURES_MAX] = {
#define X(constant, bit, name, help) [bit] = {name, help},
    FEATURES(X)
#undef X
};

uint64_t features_known(void)
{
    uint64_t known = 0;

#define X(constant, bit, name, help) known |= (uint64_t)1 << (bit);
    FEATURES(X)
#undef X
    return known;
}

const char *feature_name(unsigned bit)
{
    return bit < FEATURES_MAX ? table[bit].name : NULL;
}

const char *feature_help(unsigned bit)
{
    return bit < FEATURES_MAX ? table[bit].help : NULL;
}

static void append(char text[FEATURES_TEXT_BYTES], unsigned bit)
{
    size_t used = strlen(text);
    const char *comma = used > 0 ? ", " : "";

    if (table[bit].name != NULL) {
        (void)snprintf(text + used, FEATURES_TEXT_BYTES - used, "%s%s", comma, table[bit].name);
    } else {
        (void)snprintf(text + used, FEATURES_TEXT_BYTES - used, "%sfeature %u", comma, bit);
    }
}

const char *features_show(uint64_t set, char text[FEATURES_TEXT_BYTES])
{
    uint64_t base = feature_bit(FEATURE_BASE);

    text[0] = '\0';
    set = set != base ? set & ~base : set;
    for (unsigned bit = 0; bit < FEATURES_MAX; bit++) {
        if ((set >> bit & 1) != 0) {
            append(text, bit);
        }
    }
    return text;
}

uint64_t features_of(const struct filter_document *document)
{
    uint64_t set = feature_bit(FEATURE_BASE);

    if (document->former_name[0] != '\0' || document->replaces != 0 ||
        document->content.named_epoch != 0) {
        set |= feature_bit(FEATURE_RENAMES);
    }
    if (document->window_us != 0) {
        set |= feature_bit(FEATURE_WINDOWS);
    }
    if (document->expiry.number != 0) {
        set |= feature_bit(FEATURE_EXPIRY);
    }
    if (document->owner != 0) {
        set |= feature_bit(FEATURE_USERS);
    }
    if (document_has_sites(document) || document->max_staleness != 0 || document->acks != 0) {
        set |= feature_bit(FEATURE_SITES);
    }
    return set;
}

uint64_t features_of_sites(const struct filter_document *document)
{
    return features_of(document) & feature_bit(FEATURE_SITES);
}
