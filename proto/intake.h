/* intake.h - a signed document's way into a process: verify, decode, take if it is newer.
 *
 * Errors:  what codec_filter_document_open(), codec_node_list_open(), codec_dropped_open() and
 *          document_cache_take*() say; the cache is as before then.
 * Threads: none.
 */
#ifndef ORBLOOM_PROTO_INTAKE_H
#define ORBLOOM_PROTO_INTAKE_H

#include "map/document_cache.h"
#include "proto/codec.h"
#include "proto/signed_document.h"

struct intake {
    enum document_kind kind;
    bool changed;                 /* it was newer than what the cache held */
    struct document_entry *entry; /* filter documents: the cache's entry; NULL: dropped for good */
};

MUST_USE enum status intake_take(struct document_cache *cache, const struct cluster_key *key,
                                 struct span bytes, struct intake *result);

#endif
