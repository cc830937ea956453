/* Between endpoints and addresses, as getaddrinfo() has them. */
#include "runtime/address.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

socklen_t address_resolve(const char *endpoint, struct sockaddr_storage *address)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    char host[ADDRESS_BYTES];
    const char *text = strstr(endpoint, "://") != NULL ? strstr(endpoint, "://") + 3 : endpoint;
    const char *colon = strrchr(text, ':');
    size_t size = colon != NULL ? (size_t)(colon - text) : 0;
    socklen_t length;

    if (colon == NULL || size >= sizeof host) {
        return 0;
    }
    if (size > 2 && text[0] == '[') { /* [::1] */
        text++;
        size -= 2;
    }
    memcpy(host, text, size);
    host[size] = '\0';
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
