/* Numbers are given by a counter in the epoch's content, so that an aborted rebuild's number
 * never comes back. */
#include "map/history/keyset.h"

#include "base/mutant.h"

#include <assert.h>

void keyset_first(struct epoch_content *content)
{
    content->last_keyset = 1;
    content->nkeysets = 1;
    content->keysets[0] = (struct keyset){.id = 1, .serving = true};
}

uint32_t keyset_next(const struct epoch_content *content)
{
    if (MUTANT(KEYSET_AGAIN)) {
        return content->keysets[content->nkeysets - 1].id + 1; /* Also of one that was aborted. */
    }
    return content->last_keyset < UINT32_MAX ? content->last_keyset + 1 : 0;
}

void keyset_add(struct epoch_content *content)
{
    uint32_t id = keyset_next(content);

    assert(id != 0 && content->nkeysets < DOCUMENT_MAX_KEYSETS);
    content->last_keyset = id;
    content->keysets[content->nkeysets++] = (struct keyset){.id = id};
}

void keyset_skip(struct epoch_content *content, uint32_t numbers)
{
    uint32_t left = UINT32_MAX - content->last_keyset;

    content->last_keyset += numbers < left ? numbers : left;
}

const char *keyset_fault(const struct filter_document *document)
{
    const struct epoch_content *content = &document->content;
    bool serving = false;

    if (content->nkeysets == 0 || content->nkeysets > DOCUMENT_MAX_KEYSETS) {
        return "there are no keysets, or too many";
    }
    for (uint32_t i = 0; i < content->nkeysets; i++) {
        uint32_t id = content->keysets[i].id;

        if (id == 0 || id > content->last_keyset) {
            return "a keyset has no number, or one that was never given";
        }
        for (uint32_t k = 0; k < i; k++) {
            if (id == content->keysets[k].id) {
                return "two keysets have one number";
            }
        }
        serving = serving || content->keysets[i].serving;
    }
    return serving ? NULL : "no keyset serves";
}
