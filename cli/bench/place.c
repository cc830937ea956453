/* Parses the place strictly: a typing error must not become a host name. */
#include "cli/bench/place.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { PATH_MOST = 107, PORT_DIGITS = 5, PORT_MOST = 65535 };

static const char unix_scheme[] = "unix:";

/* 0: not a port. */
static int parse_port(const char *text)
{
    size_t size = strlen(text);
    int port = 0;

    if (size == 0 || size > PORT_DIGITS || strspn(text, "0123456789") != size) {
        return 0;
    }
    for (; *text != '\0'; text++) {
        port = 10 * port + (*text - '0');
    }
    return port <= PORT_MOST ? port : 0;
}

static bool parse_host(const char *text, struct redis_place *place)
{
    const char *colon = strrchr(text, ':');
    const char *end = colon;

    if (colon == NULL) {
        return false;
    }
    if (text[0] == '[') {
        if (colon == text || colon[-1] != ']') {
            return false;
        }
        text++;
        end = colon - 1;
    } else if (memchr(text, ':', (size_t)(colon - text)) != NULL) {
        return false; /* An IPv6 address wants brackets. */
    }
    place->port = parse_port(colon + 1);
    (void)snprintf(place->name, sizeof place->name, "%.*s", (int)(end - text), text);
    return place->port > 0 && place->name[0] != '\0' && strpbrk(place->name, "/ ") == NULL;
}

bool redis_place_parse(const char *text, struct redis_place *out)
{
    struct redis_place place = {0};
    size_t scheme = sizeof unix_scheme - 1;
    bool valid;

    if (strlen(text) >= sizeof place.text) {
        return false;
    }
    (void)snprintf(place.text, sizeof place.text, "%s", text);
    if (strncmp(text, unix_scheme, scheme) == 0) {
        (void)snprintf(place.name, sizeof place.name, "%s", text + scheme);
        valid = place.name[0] != '\0' && strlen(place.name) <= PATH_MOST;
    } else {
        valid = parse_host(text, &place);
    }
    if (valid) {
        *out = place;
    }
    return valid;
}
