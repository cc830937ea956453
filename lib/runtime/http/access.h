/* access.h - what becomes of a request: whether it gets a page, and which, or why it gets none.
 *
 * Errors:  none.
 * Threads: any; pure.
 */
#ifndef ORBLOOM_RUNTIME_HTTP_ACCESS_H
#define ORBLOOM_RUNTIME_HTTP_ACCESS_H

#include "base/password.h"
#include "runtime/http/http.h"

struct http_request {
    const char *method;
    const char *path;
    const char *authorization; /* of the header; NULL: there is none */
};

enum http_verdict {
    HTTP_SERVE,
    HTTP_DENY,      /* it does not know the token */
    HTTP_NO_METHOD, /* neither GET nor HEAD */
    HTTP_NO_PAGE,
};

/* Has whoever sends that header the token? As a bearer token, or as the password of basic
 * authentication with any name; in constant time. */
bool http_knows_token(const struct password *token, const char *authorization);

/* `token`: NULL: none is asked for. Who does not know it is told nothing else. *page: HTTP_SERVE.
 */
enum http_verdict http_judge(const struct http_request *request, const struct password *token,
                             const struct http_page *pages, size_t npages, size_t *page);

#endif
