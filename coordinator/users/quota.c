/* Sums over all documents: one user's are asked for when a filter is made, grows or is rebuilt,
 * which is seldom. */
#include "coordinator/users/quota.h"

#include "base/heap.h"
#include "base/number.h"
#include "map/history/window.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* One keyset's, of so many bytes a shard. */
static uint64_t keyset_of(const struct filter_document *document, uint64_t shard_bytes)
{
    return shard_bytes * document_nshards(document) * window_sets(document->nslices);
}

static uint64_t arrays_of(const struct filter_document *document, uint64_t shard_bytes)
{
    return keyset_of(document, shard_bytes) * document->content.nkeysets;
}

bool quota_takes_more(const struct filter_document *before, const struct filter_document *after)
{
    return after->owner != 0 && arrays_of(after, document_shard_bytes(after)) >
                                    arrays_of(before, document_shard_bytes(before));
}

static void add(const struct filter_document *document, struct quota_used *sum)
{
    sum->filters++;
    sum->bytes += arrays_of(document, document_shard_bytes(document));
}

static struct quota_used used_by(const struct coordinator *self, uint32_t owner)
{
    struct quota_used sum = {0};

    for (size_t i = 0; i < self->documents.count; i++) {
        const struct filter_document *document = &self->documents.by_id[i]->document;

        if (document->owner == owner && document->content.state == FILTER_ACTIVE) {
            add(document, &sum);
        }
    }
    return sum;
}

/* A user by its place in the record. */
struct owner {
    uint32_t id;
    uint32_t at;
};

static int compare_owners(const void *left, const void *right)
{
    const struct owner *a = left;
    const struct owner *b = right;

    return (a->id > b->id) - (a->id < b->id);
}

enum status quota_sum(const struct coordinator *self, struct quota_used *out)
{
    const struct user_list *users = &self->documents.users;
    struct owner *owners = heap_alloc(users->count, sizeof *owners);

    if (owners == NULL) {
        return STATUS_NOMEM;
    }
    for (uint32_t i = 0; i < users->count; i++) {
        owners[i] = (struct owner){users->users[i].id, i};
    }
    qsort(owners, users->count, sizeof *owners, compare_owners);
    for (size_t i = 0; i < self->documents.count && users->count > 0; i++) {
        const struct filter_document *document = &self->documents.by_id[i]->document;
        const struct owner wanted = {.id = document->owner};
        const struct owner *found = document->content.state == FILTER_ACTIVE
                                        ? bsearch(&wanted, owners, users->count, sizeof *owners,
                                                  compare_owners)
                                        : NULL;

        if (found != NULL) {
            add(document, &out[found->at]);
        }
    }
    heap_free(owners);
    return STATUS_OK;
}

static const struct user *owner_of(const struct coordinator *self,
                                   const struct filter_document *document)
{
    return document->owner != 0 ? user_list_find_id(&self->documents.users, document->owner) : NULL;
}

static enum status check_bytes(const struct user *user, const struct quota_used *has, uint64_t more,
                               char *message)
{
    char held[NUMBER_TEXT_BYTES];
    char wanted[NUMBER_TEXT_BYTES];
    char most[NUMBER_TEXT_BYTES];

    if (user->limits.bytes == 0 || more == 0 ||
        (has->bytes <= user->limits.bytes && more <= user->limits.bytes - has->bytes)) {
        return STATUS_OK;
    }
    (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                   "user %.64s has %s of arrays in %" PRIu64 " filters, this would take %s more, "
                   "and no more than %s may be; drop filters, ask for less, or have an "
                   "administrator raise its limit `bytes` (`orbloom user apply`)",
                   user->name, number_show_bytes(has->bytes, held), has->filters,
                   number_show_bytes(more, wanted), number_show_bytes(user->limits.bytes, most));
    return STATUS_OVER_QUOTA;
}

enum status quota_allow_filter(const struct coordinator *self,
                               const struct filter_document *document, char *message)
{
    const struct user *user = owner_of(self, document);
    struct quota_used has;

    if (user == NULL) {
        return STATUS_OK;
    }
    has = used_by(self, user->id);
    if (user->limits.filters != 0 && has.filters >= user->limits.filters) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "user %.64s has made %" PRIu64 " filters, and no more than %" PRIu64
                       " may be; drop some, or have an administrator raise its limit `filters` "
                       "(`orbloom user apply`)",
                       user->name, has.filters, user->limits.filters);
        return STATUS_OVER_QUOTA;
    }
    return check_bytes(user, &has, arrays_of(document, document_shard_bytes(document)), message);
}

/* So many bytes more of a filter that there is. */
static enum status allow_more(const struct coordinator *self,
                              const struct filter_document *document, uint64_t more, char *message)
{
    const struct user *user = owner_of(self, document);
    struct quota_used has;

    if (user == NULL) {
        return STATUS_OK;
    }
    has = used_by(self, user->id);
    return check_bytes(user, &has, more, message);
}

/* Of a chain what is there stays beside it; else it takes the place of that. */
enum status quota_allow_expansion(const struct coordinator *self,
                                  const struct filter_document *document,
                                  const struct generation *next, char *message)
{
    uint64_t now = document_shard_bytes(document);
    struct filter_document after = {.generations = {*next}, .ngenerations = 1};
    uint64_t then = document_shard_bytes(&after) + (document_is_chain(document) ? now : 0);

    return then > now ? allow_more(self, document, arrays_of(document, then - now), message)
                      : STATUS_OK;
}

enum status quota_allow_keyset(const struct coordinator *self,
                               const struct filter_document *document, char *message)
{
    return allow_more(self, document, keyset_of(document, document_shard_bytes(document)), message);
}
