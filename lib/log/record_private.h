/* record_private.h - what the parts of record*.c share. */
#ifndef ORBLOOM_LOG_RECORD_PRIVATE_H
#define ORBLOOM_LOG_RECORD_PRIVATE_H

#include "log/record.h"

/* The body of a record of that type; its first `size` bytes are put into `fixed`. */
MUST_USE enum status record_body_of(struct span record, enum record_type type, void *fixed,
                                    size_t size, struct span *body);

#endif
