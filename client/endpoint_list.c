/* Cuts a list at its commas; an endpoint that could not be connected to is refused here rather
 * than retried for ever. */
#include "client/endpoint_list.h"

#include <arpa/inet.h>
#include <stdlib.h>

enum { PORT_MAX = 65535, PORT_DIGITS = 5 };

/* An IPv6 address is between brackets, and nothing else is. */
static bool host_is_valid(const char *host, size_t size)
{
    bool bracketed = size > 2 && host[0] == '[' && host[size - 1] == ']';
    char address[INET6_ADDRSTRLEN] = "";
    struct in6_addr parsed;
    size_t length = bracketed ? strcspn(host + 1, "%]") : 0; /* "[fe80::1%eth0]" */

    if (!bracketed) {
        return strcspn(host, ":[]") >= size;
    }
    if (length >= sizeof address) {
        return false;
    }
    memcpy(address, host + 1, length);
    return inet_pton(AF_INET6, address, &parsed) == 1;
}

bool endpoint_is_valid(const char *text)
{
    const char *host = text + strlen("tcp://");
    const char *colon;
    unsigned long port;

    if (strncmp(text, "tcp://", strlen("tcp://")) != 0) {
        return false;
    }
    colon = strrchr(host, ':');
    if (colon == NULL || colon == host || strpbrk(host, " \t/,") != NULL || colon[1] == '\0' ||
        !host_is_valid(host, (size_t)(colon - host)) || strlen(colon + 1) > PORT_DIGITS ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1)) {
        return false;
    }
    port = strtoul(colon + 1, NULL, 10);
    return port >= 1 && port <= PORT_MAX;
}

enum status endpoint_list_parse(const char *text, char names[][DOCUMENT_TEXT_BYTES],
                                uint32_t *count)
{
    uint32_t found = 0;

    for (;;) {
        size_t size = strcspn(text, ",");
        struct span entry = span_trim(span_of(text, size));

        if (found == SESSION_MAX_ENDPOINTS || entry.size >= DOCUMENT_TEXT_BYTES) {
            return STATUS_TOO_LARGE;
        }
        memcpy(names[found], entry.data, entry.size);
        names[found][entry.size] = '\0';
        if (!endpoint_is_valid(names[found])) {
            return STATUS_INVALID;
        }
        found++;
        if (text[size] == '\0') {
            *count = found;
            return STATUS_OK;
        }
        text += size + 1;
    }
}
