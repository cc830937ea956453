/* Between endpoints and addresses, as getaddrinfo() has them. */
#include "runtime/address.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

static const char *behind_scheme(const char *endpoint)
{
    const char *scheme = strstr(endpoint, "://");

    return scheme != NULL ? scheme + 3 : endpoint;
}

bool address_host(const char *endpoint, char host[ADDRESS_BYTES])
{
    const char *text = behind_scheme(endpoint);
    const char *colon = strrchr(text, ':');
    size_t size = colon != NULL ? (size_t)(colon - text) : 0;

    if (colon == NULL || size >= ADDRESS_BYTES) {
        return false;
    }
    if (size > 2 && text[0] == '[') { /* [::1] */
        text++;
        size -= 2;
    }
    memcpy(host, text, size);
    host[size] = '\0';
    return true;
}

socklen_t address_resolve(const char *endpoint, struct sockaddr_storage *address)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    char host[ADDRESS_BYTES];
    const char *colon = strrchr(endpoint, ':');
    socklen_t length;

    if (!address_host(endpoint, host)) {
        return 0;
    }
    if (getaddrinfo(strcmp(host, "*") == 0 ? NULL : host,
                    strcmp(colon, ":*") == 0 ? "0" : colon + 1, &hints, &found) != 0) {
        return 0;
    }
    length = found->ai_addrlen;
    memcpy(address, found->ai_addr, length);
    freeaddrinfo(found);
    return length;
}

void address_tell(const struct sockaddr_storage *address, socklen_t length,
                  char endpoint[ADDRESS_BYTES])
{
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];

    if (getnameinfo((const struct sockaddr *)address, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
        (void)snprintf(endpoint, ADDRESS_BYTES,
                       address->ss_family == AF_INET6 ? "tcp://[%.200s]:%.5s" : "tcp://%.200s:%.5s",
                       host, port);
    }
}
