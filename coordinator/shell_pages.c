/* Embedded files as they are; answers of the coordinator, as it is. */
#include "coordinator/shell_pages.h"

#include "coordinator/web/embedded.h"
#include "coordinator/web/web.h"
#include "runtime/hub.h"

#define JSON_TYPE "application/json"

static struct coordinator *coordinator;

void coordinator_pages_use(struct coordinator *whose)
{
    coordinator = whose;
}

static enum status tell(web_tell_fn *tell_it, const struct http_query *query, struct buffer *body,
                        unsigned *code)
{
    const struct web_question question = {
        .q = http_query_value(query, "q"),
        .page = http_query_value(query, "page"),
        .size = http_query_value(query, "size"),
    };
    enum status status = tell_it(coordinator, hub_now_us(), &question, body);

    *code = status == STATUS_INVALID ? HTTP_BAD_REQUEST : HTTP_OK;
    return status == STATUS_INVALID ? STATUS_OK : status;
}

/* name, how it is told */
#define ANSWERS(X)               \
    X(status, web_tell_status)   \
    X(filters, web_tell_filters) \
    X(changes, web_tell_changes) \
    X(sites, web_tell_sites)

/* name, path, type */
#define FILES(X)                                             \
    X(page_html, "/", "text/html; charset=utf-8")            \
    X(page_css, "/page.css", "text/css; charset=utf-8")      \
    X(page_js, "/page.js", "text/javascript; charset=utf-8") \
    X(icon_svg, "/icon.svg", "image/svg+xml")

#define X(name, tell_it)                                                          \
    static enum status fill_##name(void *context, const struct http_query *query, \
                                   struct buffer *body, unsigned *code)           \
    {                                                                             \
        (void)context;                                                            \
        return tell(tell_it, query, body, code);                                  \
    }
ANSWERS(X)
#undef X

#define X(name, path, type)                                                       \
    static enum status fill_##name(void *context, const struct http_query *query, \
                                   struct buffer *body, unsigned *code)           \
    {                                                                             \
        (void)context;                                                            \
        (void)query;                                                              \
        (void)code;                                                               \
        return buffer_append(body, embedded_##name());                            \
    }
FILES(X)
#undef X

const struct http_page coordinator_pages[COORDINATOR_NPAGES] = {
#define X(name, tell_it) {"/api/v1/" #name, JSON_TYPE, fill_##name},
    ANSWERS(X)
#undef X
#define X(name, path, type) {path, type, fill_##name},
        FILES(X)
#undef X
};
