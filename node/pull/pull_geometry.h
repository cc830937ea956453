/* pull_geometry.h - taking over pages of arrays: when bits of another node may be set here.
 *
 * A wrong bit in an array can't be undone. Both sides name the generation and what fixes its bits,
 * and pages go forward within what was asked for.
 *
 * Shape:   pages of all shards of a filter have one number: shard x pages a shard + page. A page of
 *          a shard of less than 64 lines (filter/lines.h) is told as one of 4 KiB: zeros follow.
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_PULL_PULL_GEOMETRY_H
#define ORBLOOM_NODE_PULL_PULL_GEOMETRY_H

#include "map/document.h"
#include "map/pull_message.h"

/* XXH3-64, seed 0, of seed, lines, z and shard bits as words of 64 bits, little-endian; never 0. */
uint64_t pull_geometry(const struct geometry *geometry);

/* Name the array of its slice in a scope, if it is all that the filter keeps; none where the
 * document has no such slice. */
void pull_scope_name(struct pull_scope *scope, const struct filter_document *document);

/* Does the scope name the array of its slice, or none where keys are kept? */
bool pull_scope_fits(const struct pull_scope *scope, const struct filter_document *document);

/* May this kind be asked for a filter with, or without, key log? */
bool pull_kind_fits(enum pull_kind kind, const struct filter_document *document);

/* Of a live slice's array: pages of a shard, and of all. */
uint64_t pull_pages_a_shard(const struct filter_document *document, uint64_t slice);
uint64_t pull_pages(const struct filter_document *document, uint64_t slice);

/* Of a group: how many shards it has. */
uint32_t pull_group_shards(const struct filter_document *document, uint32_t group);

/* XXH3-64 of a page, its number being the seed. The digest of a shard is the sum (modulo 2^64) of
 * those of its pages. */
uint64_t pull_page_digest(const uint8_t *page, size_t page_bytes, uint64_t number);

/* Do the numbers of a LINES reply ascend within `from` and `next`? */
bool pull_pages_ascend(const struct pull_reply *reply);

/* Are they all of shards of the scope's group? */
bool pull_pages_belong(const struct pull_reply *reply, const struct filter_document *document);

#endif
