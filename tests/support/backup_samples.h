/* backup_samples.h - a small backup of two filters, for tests of what reads such.
 *
 * Errors:  abort.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_BACKUP_SAMPLES_H
#define ORBLOOM_TESTS_SUPPORT_BACKUP_SAMPLES_H

#include "backup/stream.h"

enum { BACKUP_SAMPLE_KEYS = 5 /* of both filters */ };

struct backup_head backup_sample_head(enum backup_seal seal);
struct backup_filter backup_sample_filter(const char *name);

/* Two chunks of a filter, the first one of three keys, the other one of none. */
struct backup_chunk backup_sample_chunk(unsigned which);

/* The whole: "urls" of two chunks, then "x" of one with two keys. `key`: NULL: the cluster's. */
void backup_sample_write(const struct backup_key *key, struct buffer *out);

/* All records of these bytes, and that no more is to come. `fed` at a time. */
enum status backup_sample_read(struct span bytes, size_t fed, const struct backup_key *key,
                               uint64_t *keys);

#endif
