/* BF.SCANDUMP: a page of a filter's dump, which the router makes. */
#include "base/heap.h"
#include "map/dump.h"
#include "router/resp/command.h"

/* Who waits for a page. */
struct scan {
    struct front *front;
    struct call *call;
};

static void answer_page(struct front *self, struct call *call, const struct router_page *page)
{
    struct resp_writer writer = call_writer(call);

    resp_array(&writer, 2);
    resp_integer(&writer, (int64_t)page->next);
    resp_bulk(&writer, page->next != 0 ? page->bytes : span_text(""));
    call_end(self, call, &writer);
}

static void done(void *owner, const struct router_page *page)
{
    struct scan *scan = owner;

    if (page->status == STATUS_OK) {
        answer_page(scan->front, scan->call, page);
    } else if (page->status == STATUS_NOT_FOUND) {
        call_fail(scan->front, scan->call, "ERR not found");
    } else {
        call_fail_status(scan->front, scan->call, page->status, page->message);
    }
    heap_free(scan);
}

COMMAND(bf_scandump)
{
    char name[DOCUMENT_NAME_BYTES];
    struct router_dump dump = {.name = name, .deadline_us = front_deadline_us(self), .done = done};
    struct scan *scan;
    int64_t iterator;

    (void)count;
    if (!argument_integer(arguments[2], 0, INT64_MAX, &iterator)) {
        return answer_error(self, session, "Second argument must be numeric");
    }
    if (!argument_name(arguments[1], name)) {
        return answer_error(self, session, "ERR not found");
    }
    scan = heap_zalloc(1, sizeof *scan);
    if (scan == NULL || self->core == NULL) {
        heap_free(scan);
        return answer_error(self, session, "NOMEM the router has no memory for a dump");
    }
    scan->front = self;
    scan->call = call_begin(self, session);
    if (scan->call == NULL) {
        heap_free(scan);
        return TAKEN_DONE;
    }
    call_expect(scan->call, DUMP_MAX_BYTES);
    dump.owner = scan;
    dump.iterator = (uint64_t)iterator;
    router_dump(self->core, self->now_us, &dump);
    return TAKEN_DONE;
}
