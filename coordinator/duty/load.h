/* load.h - filters that are made of a dump, chunk by chunk.
 *
 * A filter is being loaded while its document says so: how far, in iterators of the dump. Routers
 * serve it to nobody until all of it is there, so that one whose load is broken off never answers
 * "absent" for what it lacks. It is dropped once its load has stood still for load_timeout, on this
 * coordinator's own clock.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_DUTY_LOAD_H
#define ORBLOOM_COORDINATOR_DUTY_LOAD_H

#include "coordinator/duty/create.h"

void coordinator_on_load(struct coordinator *self, uint64_t now_us, const struct peer *from,
                         const struct frame *frame);

/* The name is taken: STATUS_OK if by a filter that is being made of this very dump, whose load is
 * at its beginning again. Else create->message says why not. */
MUST_USE enum status load_begin_again(struct coordinator *self, uint64_t now_us,
                                      const struct document_entry *entry, struct create *create);

/* Drop what has stood still for too long. */
void coordinator_check_loads(struct coordinator *self, uint64_t now_us);
uint64_t coordinator_loads_next_us(const struct coordinator *self);

#endif
