/* records.h - the store as documents: what it holds is in the cache, and every edit is
 * one compare-and-swap; private to the coordinator. */
#ifndef ORBLOOM_COORDINATOR_RECORDS_H
#define ORBLOOM_COORDINATOR_RECORDS_H

#include "coordinator/private.h"

/* ---- records.c ---- */

/* Bring the cache up to what the store holds now. */
MUST_USE enum status records_refresh(struct coordinator *self);

/* ... or what the last time has shown, if that was begun after the request under way had come: many
 * that wait for a slow store share one look. */
MUST_USE enum status records_fresh(struct coordinator *self);

/* The keys of the record of dropped filters, and of how many of those are out of the store. */
#define RECORDS_DROPPED_KEY "dropped"
#define RECORDS_REMOVED_KEY "removed"

/* The key of the record of users. */
#define RECORDS_USERS_KEY "users"

/* The key of the number of the last filter that was made. */
#define RECORDS_LAST_FILTER_KEY "next/filter"

/* A filter that is gone: a revision of the record that it is in. */
uint64_t records_gone_revision(const struct coordinator *self, const struct document_entry *entry);

/* The store's version of a filter's document in the cache. */
uint64_t records_version(const struct document_entry *entry);

/* It is about to be removed from the cache. */
void records_forget(struct coordinator *self, struct document_entry *entry);

/* The live filter of that name, if it is the one of that id: it was seen, and no later one is
 * meant. Id 0: none. */
struct document_entry *records_find(const struct coordinator *self, const char *name,
                                    uint64_t filter_id);

/* The filter that is being dropped, or renamed, and so has the name still; NULL: none. */
const struct filter_document *records_holder(const struct coordinator *self, const char *name);

/* "the store can't be written: why; what helps", right after an operation that failed with this. */
void records_tell(const struct coordinator *self, enum status status, const char *done, char *text,
                  size_t size);

/* Read the store's record about itself. */
void records_take_mark(struct coordinator *self, uint64_t version, struct span value);

enum { RECORDS_MARK_BYTES = 17 };

void records_put_mark(const struct store_mark *mark, uint8_t bytes[RECORDS_MARK_BYTES]);

/* Compare and swap, then refresh. STATUS_CONFLICT: one of the keys has changed; nothing is written,
 * and what somebody else wrote is in the cache. */
MUST_USE enum status records_swap(struct coordinator *self, const struct store_swap *swaps,
                                  size_t count);

/* The version of a key, 0 when it does not exist; its value as a number in *number. */
MUST_USE enum status records_read_number(struct coordinator *self, const char *key,
                                         uint64_t *version, uint64_t *number);

/* As the store keeps numbers: little-endian. */
void records_put_number(uint64_t value, uint8_t bytes[8]);

/* One attempt at a change: it judges what the cache holds now, and writes what follows from that.
 * STATUS_CONFLICT: somebody else was first, or is to be looked at once more. */
typedef enum status (*records_attempt_fn)(struct coordinator *self, uint64_t now_us, void *context);

/* ... again while others are first, a few times: each loser has seen what the winner wrote.
 * STATUS_CONFLICT: they were each time, or what the command is about is not as it was seen. */
MUST_USE enum status records_change(struct coordinator *self, uint64_t now_us,
                                    records_attempt_fn attempt, void *context);

/* ---- records_write.c ---- */

/* Sign and write an edited copy of a cached document, then refresh. STATUS_CONFLICT: somebody
 * else was first; nothing is written. */
MUST_USE enum status records_write_filter(struct coordinator *self, uint64_t version,
                                          struct filter_document *document);

/* An edit of the cached document, into the store; hints that it has moved. `edit` changes a copy.
 * STATUS_CONFLICT: another coordinator was first, and what it wrote is in the cache. */
typedef void (*records_edit_fn)(struct filter_document *document, const void *context);
MUST_USE enum status records_edit_filter(struct coordinator *self, uint64_t now_us,
                                         const struct document_entry *entry, records_edit_fn edit,
                                         const void *context);

/* The same: another set of sites, or another state, under another epoch. */
MUST_USE enum status records_edit_sites(struct coordinator *self, uint64_t now_us,
                                        const struct document_entry *entry,
                                        const struct site_set *sites);
MUST_USE enum status records_write_state(struct coordinator *self, uint64_t now_us,
                                         const struct document_entry *entry,
                                         enum filter_state state);

/* The filter has another name, and the one that has it now (or NULL) is DROPPING, in one swap. The
 * name that it had stays bound until records_end_rename(). STATUS_CONFLICT: somebody was first. */
MUST_USE enum status records_rename_filter(struct coordinator *self,
                                           const struct document_entry *entry,
                                           const struct document_entry *replaced, const char *name);

/* The former name is free. */
MUST_USE enum status records_end_rename(struct coordinator *self,
                                        const struct document_entry *entry);

/* Seal a filter's secret as the store keeps it. */
void records_seal(struct coordinator *self, uint64_t id, const struct hash_secret *secret,
                  uint8_t sealed[SEAL_SECRET_BYTES]);

/* Sign a record of users, whose secret is sealed with the first key of the ring then. A revision
 * that nobody has is the caller's. */
MUST_USE enum status records_sign_users(struct coordinator *self, struct user_list *users,
                                        struct buffer *out);

MUST_USE enum status records_write_nodes(struct coordinator *self, const struct node_list *nodes);

/* Of a name that no live filter has, what shows later that it was not bound meanwhile: its key's
 * version; where the key is not in the store, as the name was never bound or has been removed with
 * its filter, when anything was last removed. */
MUST_USE enum status records_seen_binding(struct coordinator *self, uint64_t name_version,
                                          uint64_t *binding);

/* Write a new filter, its name's binding and its secret in one swap; sets document->id.
 * STATUS_CONFLICT when the name was bound meanwhile. */
MUST_USE enum status records_create_filter(struct coordinator *self,
                                           struct filter_document *document,
                                           const struct hash_secret *secret);

#endif
