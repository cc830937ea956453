/* Copies a link's configuration, and puts the addresses of the wan into it. */
#include "bench/wan/conf.h"

#include "bench/wan/wan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONF_BYTES = 16384 };

#define LOOPBACK "127.0.0.1:"

static bool complain(const char *path, const char *why)
{
    (void)fprintf(stderr, "wan: %s: %s\n", path, why);
    return false;
}

static bool read_text(const char *path, char text[CONF_BYTES])
{
    FILE *file = fopen(path, "re");
    size_t size;

    if (file == NULL) {
        return complain(path, strerror(errno));
    }
    size = fread(text, 1, CONF_BYTES - 1, file);
    text[size] = '\0';
    (void)fclose(file);
    return true;
}

static bool read_port(const char *path, long *port)
{
    static const char line[] = "\nsite_listen = \"tcp://" LOOPBACK;
    char text[CONF_BYTES];
    const char *at;

    if (!read_text(path, text)) {
        return false;
    }
    at = strstr(text, line);
    *port = at != NULL ? strtol(at + sizeof line - 1, NULL, 10) : 0;
    return *port > 0 || complain(path, "it does not listen for other sites on loopback");
}

/* Which site listens for the others there; -1: none. */
static int site_of(long port, const long *ports, uint32_t sites)
{
    for (uint32_t site = 0; site < sites; site++) {
        if (ports[site] == port) {
            return (int)site;
        }
    }
    return -1;
}

static void copy_text(FILE *file, const char *text, uint32_t site, const long *ports,
                      uint32_t sites)
{
    const char *at;

    while ((at = strstr(text, LOOPBACK)) != NULL) {
        int other = site_of(strtol(at + sizeof LOOPBACK - 1, NULL, 10), ports, sites);
        char address[WAN_ADDRESS_BYTES];

        (void)fprintf(file, "%.*s", (int)(at - text), text);
        if (other >= 0) {
            (void)fprintf(file, "%s:", wan_address(site, (uint32_t)other, address));
        } else {
            (void)fputs(LOOPBACK, file);
        }
        text = at + sizeof LOOPBACK - 1;
    }
    (void)fputs(text, file);
}

static bool write_one(const char *from, const char *path, uint32_t site, const long *ports,
                      uint32_t sites)
{
    char text[CONF_BYTES];
    FILE *file;
    bool good;

    if (!read_text(from, text)) {
        return false;
    }
    file = fopen(path, "we");
    if (file == NULL) {
        return complain(path, strerror(errno));
    }
    copy_text(file, text, site, ports, sites);
    good = ferror(file) == 0;
    return (fclose(file) == 0 && good) || complain(path, strerror(errno));
}

bool wan_conf_write(const char *const *read, const char *const *written, uint32_t sites)
{
    long ports[WAN_MAX_SITES] = {0};

    for (uint32_t site = 0; site < sites; site++) {
        if (!read_port(read[site], &ports[site])) {
            return false;
        }
    }
    for (uint32_t site = 0; site < sites; site++) {
        if (!write_one(read[site], written[site], site, ports, sites)) {
            return false;
        }
    }
    return true;
}
