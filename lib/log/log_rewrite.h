/* log_rewrite.h - what is readable in a log's last segment is made durable before it is relied
 * upon.
 *
 * A killed process may have written without syncing. Worse, its sync may have failed: the system
 * then holds such pages for clean, so that they can be read, and the next sync succeeds without
 * them. So what no record calls durable is written once more, and then synced.
 *
 * Errors:  STATUS_IO, STATUS_NOMEM.
 * Threads: none.
 */
#ifndef ORBLOOM_LOG_LOG_REWRITE_H
#define ORBLOOM_LOG_LOG_REWRITE_H

#include "log/log_segment.h"

/* Of the segment that is open, which has a header: its readable records. */
MUST_USE enum status log_rewrite(struct log_segment *segment);

#endif
