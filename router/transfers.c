/* Dumps for clients, and what they bring back: pages of dump.c and adds of serve.c for whoever is
 * not in this process, as their rights allow. */
#include "base/heap.h"
#include "map/dump.h"
#include "router/private.h"

#include <string.h>

/* ---- who may ---- */

/* As keys are judged: by the record of users as it is now. Who is no user may. */
static bool may(struct router *self, const struct peer *from, uint8_t right, const char *filter,
                char message[ROUTER_MESSAGE_BYTES])
{
    const struct user *user = from->user != 0 ? user_places_find(&self->asking,
                                                                 &self->documents.users, from->user)
                                              : NULL;

    if (from->user == 0 || (user != NULL && user_may(user, right, filter))) {
        return true;
    }
    serve_describe_right(self, user, right, filter, message);
    return false;
}

/* ---- a page ---- */

/* Who waits for one. */
struct page_asker {
    struct router *router;
    struct peer peer;
    uint64_t correlation;
    uint64_t seal_as; /* of a header; else 0 */
};

static void answer(struct router *self, const struct peer *to, uint64_t correlation,
                   const struct dump_reply *reply)
{
    const struct frame frame = {
        .correlation = correlation, .kind = FRAME_DUMP_REPLY, .body.dump_reply = *reply};

    router_reply(self, to, &frame);
}

static void refuse(struct router *self, const struct peer *to, uint64_t correlation,
                   enum status status, const char *message)
{
    const struct dump_reply reply = {.status = status, .message = message};

    answer(self, to, correlation, &reply);
}

/* The header anew, with zeros where the secret was: that goes sealed. */
static void answer_sealed(const struct page_asker *asker, const struct router_page *page)
{
    struct router *self = asker->router;
    uint8_t sealed[SEAL_SECRET_BYTES];
    struct dump_header header;
    struct buffer bytes;

    buffer_init(&bytes, DUMP_HEADER_BYTES);
    if (dump_header_read(page->bytes, &header) != STATUS_OK) {
        refuse(self, &asker->peer, asker->correlation, STATUS_INTERNAL, "no header of a dump");
        return;
    }
    router_seal_secret(self, asker->seal_as, &header.secret, sealed);
    memset(&header.secret, 0, sizeof header.secret);
    if (dump_header_write(&header, &bytes) == STATUS_OK) {
        const struct dump_reply reply = {.status = STATUS_OK,
                                         .message = "",
                                         .next = page->next,
                                         .page = buffer_span(&bytes),
                                         .sealed = span_of(sealed, sizeof sealed),
                                         .uid = page->uid};

        answer(self, &asker->peer, asker->correlation, &reply);
    } else {
        refuse(self, &asker->peer, asker->correlation, STATUS_NOMEM, "the router is out of memory");
    }
    buffer_fini(&bytes);
}

static void page_done(void *owner, const struct router_page *page)
{
    struct page_asker *asker = owner;

    if (page->status != STATUS_OK) {
        refuse(asker->router, &asker->peer, asker->correlation, page->status, page->message);
    } else if (asker->seal_as != 0) {
        answer_sealed(asker, page);
    } else {
        const struct dump_reply reply = {.status = STATUS_OK,
                                         .message = "",
                                         .next = page->next,
                                         .page = page->next != 0 ? page->bytes : span_text(""),
                                         .uid = page->uid};

        answer(asker->router, &asker->peer, asker->correlation, &reply);
    }
    heap_free(asker);
}

static void serve_dump(struct router *self, uint64_t now_us, const struct peer *from,
                       uint64_t correlation, const struct dump_request *request)
{
    char message[ROUTER_MESSAGE_BYTES];
    struct page_asker *asker;

    if (!may(self, from, USER_DUMP, request->filter, message)) {
        refuse(self, from, correlation, STATUS_UNAUTHENTIC, message);
        return;
    }
    if (request->seal_as != 0 && request->seal_as < DUMP_LEAST_NAME) {
        refuse(self, from, correlation, STATUS_INVALID,
               "a secret is not sealed under what may be the id of another filter");
        return;
    }
    asker = heap_zalloc(1, sizeof *asker);
    if (asker == NULL) {
        refuse(self, from, correlation, STATUS_NOMEM, "the router is out of memory");
        return;
    }
    *asker = (struct page_asker){.router = self,
                                 .peer = *from,
                                 .correlation = correlation,
                                 .seal_as = request->iterator == 0 ? request->seal_as : 0};
    router_dump(self, now_us,
                &(struct router_dump){
                    .user = from->user,
                    .name = request->filter,
                    .iterator = request->iterator,
                    .series = request->series,
                    .deadline_us = op_deadline_us(self, now_us, request->timeout_ms),
                    .done = page_done,
                    .owner = asker,
                });
}

/* ---- what is brought back ---- */

static void refuse_load(struct router *self, const struct peer *to, uint64_t correlation,
                        enum status status, const char *message)
{
    static const struct client_request request = {.operation = OPERATION_ADD};

    router_refuse_client(self, to, correlation, &request, status, message);
}

static void serve_load(struct router *self, uint64_t now_us, const struct peer *from,
                       uint64_t correlation, const struct load_request *request)
{
    /* Keys go by the id, so the right does, whatever the asker calls the filter. */
    const struct document_entry *entry = document_cache_find(&self->documents, request->filter_id);
    const char *name = entry != NULL ? entry->document.content.name : request->filter;
    char message[ROUTER_MESSAGE_BYTES];
    struct dump_chunk chunk;
    uint64_t *fingerprints;

    if (!may(self, from, USER_CREATE, name, message)) {
        refuse_load(self, from, correlation, STATUS_UNAUTHENTIC, message);
        return;
    }
    if (entry != NULL && !document_is_loading(&entry->document)) {
        refuse_load(self, from, correlation, STATUS_EXISTS,
                    "all of the dump is in the filter, and it serves: keys are added to it by its "
                    "clients");
        return;
    }
    if (dump_chunk_read(request->chunk, &chunk) != STATUS_OK) {
        refuse_load(self, from, correlation, STATUS_MALFORMED, "it is no chunk of a dump");
        return;
    }
    fingerprints = heap_alloc(chunk.count + 1, sizeof *fingerprints);
    if (fingerprints == NULL) {
        refuse_load(self, from, correlation, STATUS_OVERLOADED,
                    "the router is out of memory; slow down, retry");
        return;
    }
    dump_chunk_unpack(&chunk, fingerprints);
    router_load(self, now_us,
                &(struct router_load){
                    .from = from,
                    .user = from->user,
                    .filter_id = request->filter_id,
                    .source = chunk.source,
                    .correlation = correlation,
                    .timeout_ms = request->timeout_ms,
                    .fingerprints = fingerprints,
                    .count = (uint32_t)chunk.count,
                });
    heap_free(fingerprints);
}

void transfers_serve(struct router *self, uint64_t now_us, const struct peer *from,
                     const struct frame *frame)
{
    if (frame->kind == FRAME_DUMP_REQUEST) {
        serve_dump(self, now_us, from, frame->correlation, &frame->body.dump_request);
    } else {
        serve_load(self, now_us, from, frame->correlation, &frame->body.load_request);
    }
}
