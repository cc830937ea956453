/* order.h - an operator's change, from its arrival to its writes: is it still wanted,
 * and is what it was asked about still so?
 *
 * One that comes late must do nothing. So it names what it means by ids and by the numbers that
 * were seen, which are compared at the very write that compare-and-swap guards; and it says for how
 * long it is wanted, which is looked at there too, as the store may have taken its time. What takes
 * no write (it is so already) takes no comparison either: a change may be repeated.
 *
 * An edit that says how far something is (a list fed, a chunk loaded) compares no revision: its own
 * numbers say what it is about, and others like it go on at the same time.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_ORDER_H
#define ORBLOOM_COORDINATOR_ORDER_H

#include "base/actor.h"
#include "map/document_cache.h"
#include "proto/admin_message.h"

struct coordinator;

/* Zeroed: none; what is written is the coordinator's own work. */
struct order {
    bool on;
    bool progress; /* compares no revision */
    bool moved;    /* refused, as what was seen is not so any more */
    enum admin_action action;
    uint64_t filter_id;
    uint64_t until_us; /* it is wanted until then */
    struct admin_seen seen;
};

/* Does it only say how far something is? */
bool order_is_progress(const struct admin_request *request);

/* The request that has come. STATUS_DEADLINE: it is not wanted any more. STATUS_CONFLICT: its
 * filter has another name by now, or the name another filter; or the nodes that the operator
 * vouches for are not those that were seen. `message`: why not. */
MUST_USE enum status order_begin(struct coordinator *self, uint64_t now_us,
                                 const struct admin_request *request, char *message);

/* It waited; STATUS_DEADLINE as above. */
MUST_USE enum status order_resume(struct coordinator *self, const struct order *order);
void order_end(struct coordinator *self);

/* Before a swap: may anything be written? */
MUST_USE enum status order_may_write(const struct coordinator *self);

/* The same at the very moment, on any thread; `now_us`: it is so late at least. */
bool order_is_wanted(const struct order *self, const struct effects *effects, uint64_t now_us);

/* ... this document's next revision, a name's next binding, the node list, the store's record about
 * itself? STATUS_CONFLICT: not what was seen. */
MUST_USE enum status order_may_edit(struct coordinator *self, const struct document_entry *entry);
MUST_USE enum status order_may_bind(struct coordinator *self, uint64_t binding);
MUST_USE enum status order_may_list(struct coordinator *self);
MUST_USE enum status order_may_mark(struct coordinator *self, uint64_t version);

/* A rename to a name: is its holder, NULL: none, the target that was seen? */
MUST_USE enum status order_may_replace(struct coordinator *self,
                                       const struct document_entry *holder);

#endif
