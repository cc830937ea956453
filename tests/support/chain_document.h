/* chain_document.h - documents of filters without key log that grow by a chain of generations.
 *
 * Generation n of a chain has the id 10 n + 1, `lines` lines a shard, and half of the rate that was
 * left.
 *
 * Errors:  a failed cr_assert.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_CHAIN_DOCUMENT_H
#define ORBLOOM_TESTS_SUPPORT_CHAIN_DOCUMENT_H

#include "map/document.h"

/* The document's one generation becomes the first of a chain. Of durability memory the key log
 * stays "on". No revision is counted: the document was not handed over yet. */
void chain_document_start(struct filter_document *document, uint64_t lines, uint64_t capacity);

/* The next generation is listed, and its arrays are to stand: another revision. */
void chain_document_list(struct filter_document *document, uint64_t lines, uint64_t capacity);

/* What is listed joins the chain: another epoch. */
void chain_document_join(struct filter_document *document);

#endif
