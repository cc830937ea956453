/* create.h - making a filter, of nothing or of a dump: checked, given its nodes, and written.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_MAKE_CREATE_H
#define ORBLOOM_COORDINATOR_MAKE_CREATE_H

#include "coordinator/private.h"
#include "filter/sizing.h"

struct create;

/* There is a filter of that name. STATUS_OK: it is what is asked for; else create->message says why
 * it can't be. */
typedef enum status (*create_found_fn)(struct coordinator *self, uint64_t now_us,
                                       const struct document_entry *entry, struct create *create);

/* A request to create, with everything that its answer needs. */
struct create {
    const struct admin_request *request;
    create_found_fn found;
    struct sizing_plan plan;
    enum durability durability;       /* as chosen */
    enum when_full when_full;         /* as chosen */
    const struct hash_secret *secret; /* to be the filter's; NULL: one is drawn */
    uint32_t owner;                   /* id of the user who asks; 0: none */
    uint64_t load_source;             /* it is to be made of this dump; 0: of none */
    uint64_t filter_id;               /* what exists in the end */
    bool created;                     /* by this request */
    char message[COORDINATOR_MESSAGE_BYTES];
};

/* Make what is asked for, and answer once it serves; or say why not. */
void create_begin(struct coordinator *self, uint64_t now_us, const struct peer *from,
                  const struct frame *frame, struct create *create);

/* What could not be held is refused before it is written: are there too many filters? */
MUST_USE enum status create_check_count(const struct coordinator *self, struct create *create);

/* What is asked for; else so many times the capacity. */
uint64_t create_max_capacity(const struct create_parameters *wanted);

/* What is asked for; else sync where enough nodes have a disk, else memory. */
void create_choose_durability(const struct coordinator *self, uint64_t now_us,
                              struct create *create);

/* Choose the nodes and fill the document's groups; else explain in create->message. */
MUST_USE enum status create_place(struct coordinator *self, uint64_t now_us, struct create *create,
                                  struct filter_document *document);

#endif
