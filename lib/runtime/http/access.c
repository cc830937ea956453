/* RFC 6750 and RFC 7617, as far as servers need them. */
#include "runtime/http/access.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>

enum { CREDENTIALS_BYTES = 1024 /* a name and a password; longer ones are wrong */ };

/* What follows the scheme; NULL: it is another one. */
static const char *after_scheme(const char *header, const char *scheme)
{
    size_t size = strlen(scheme);

    if (strncasecmp(header, scheme, size) != 0 || header[size] != ' ') {
        return NULL;
    }
    return header + size + strspn(header + size, " ");
}

static bool bearer_matches(const struct password *token, const char *text)
{
    return password_matches(token, span_text(text));
}

static bool basic_matches(const struct password *token, const char *text)
{
    char credentials[CREDENTIALS_BYTES];
    const char *colon;
    size_t size = 0;
    bool decoded = sodium_base642bin((unsigned char *)credentials, sizeof credentials, text,
                                     strlen(text), " ", &size, NULL,
                                     sodium_base64_VARIANT_ORIGINAL) == 0;
    bool matches = false;

    colon = decoded ? memchr(credentials, ':', size) : NULL;
    if (colon != NULL) {
        colon++;
        matches = password_matches(token, span_of(colon, size - (size_t)(colon - credentials)));
    }
    explicit_bzero(credentials, sizeof credentials);
    return matches;
}

bool http_knows_token(const struct password *token, const char *authorization)
{
    const char *bearer;
    const char *basic;

    if (authorization == NULL) {
        return false;
    }
    bearer = after_scheme(authorization, "Bearer");
    basic = after_scheme(authorization, "Basic");
    return (bearer != NULL && bearer_matches(token, bearer)) ||
           (basic != NULL && basic_matches(token, basic));
}

enum http_verdict http_judge(const struct http_request *request, const struct password *token,
                             const struct http_page *pages, size_t npages, size_t *page)
{
    if (token != NULL && !http_knows_token(token, request->authorization)) {
        return HTTP_DENY;
    }
    if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0) {
        return HTTP_NO_METHOD;
    }
    for (size_t i = 0; i < npages; i++) {
        if (strcmp(pages[i].path, request->path) == 0) {
            *page = i;
            return HTTP_SERVE;
        }
    }
    return HTTP_NO_PAGE;
}
