/* The table of orbloom-link's options, and what it takes for several of them to go together. Each
 * line of site_peers is parsed here: what is wrong with it is told with the line of the file. */
#include "link/shell_options.h"

#include "proto/site/message.h"
#include "router/shell_core_options.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define FIELD(name) offsetof(struct link_settings, name)
#define BYTES(name) sizeof(((struct link_settings *)NULL)->name)
#define MIB         (UINT64_C(1) << 20)

enum {
    WINDOW_BYTES = 16 << 20, /* more than a fast line has under way for 80 ms */
    MAX_TIMEOUT_US = 60000000,
    LEAST_SCRUB_US = 60000000,
    WORDS = 3, /* of a peer */
};

static const struct option options[] = {
    DAEMON_OPTION_NAME("name", FIELD(router.name), BYTES(router.name), true, "link-1",
                       "how this link is called in logs and status; links of a site have names of "
                       "their own"),
    DAEMON_OPTION_LISTEN("tcp://127.0.0.1:7402",
                         "where this link serves its own site; other sites: site_listen"),
    {
        .name = "advertise",
        .kind = OPTION_ENDPOINT,
        .offset = FIELD(advertise),
        .size = BYTES(advertise),
        .unit = "endpoint",
        .range = "tcp://HOST:PORT",
        .help = "where its own site's processes reach this link, if that is not where it listens",
    },
    {
        .name = "site",
        .kind = OPTION_SITE,
        .offset = FIELD(config.site),
        .size = BYTES(config.site),
        .required = true,
        .unit = "",
        .range = "1 to 32 of a-z 0-9 -",
        .help = "how the site of this link is called, here and in the site_peers of the others",
    },
    {
        .name = "site_key_file",
        .kind = OPTION_TEXT,
        .offset = FIELD(site_key_file),
        .size = BYTES(site_key_file),
        .required = true,
        .unit = "path",
        .range = "a file of mode 600",
        .help = "the key of this site, the same for all of its links, made by: orbloom keygen "
                "--site FILE",
    },
    {
        .name = "site_listen",
        .kind = OPTION_ENDPOINT,
        .offset = FIELD(site_listen),
        .size = BYTES(site_listen),
        .unit = "endpoint",
        .range = "tcp://HOST:PORT, * for all hosts or a free port",
        .help = "where links of other sites get in, always by CURVE; none: this one dials all of "
                "them",
    },
    {
        .name = "site_peers",
        .kind = OPTION_TEXTS,
        .offset = FIELD(peers),
        .size = BYTES(peers[0]),
        .count_offset = FIELD(npeers),
        .max_count = LINK_MAX_SITES,
        .required = true,
        .unit = "",
        .range = "1 to 7 of: NAME tcp://HOST:PORT PUBLICKEY",
        .help = "the other sites: their names, where their links listen (- for one that dials), "
                "and the public keys that orbloom keygen --site has printed there",
    },
    {
        .name = "site_connections",
        .kind = OPTION_COUNT,
        .offset = FIELD(config.connections),
        .min = 1,
        .max = SITE_MAX_CONNECTIONS,
        .unit = "",
        .range = "1 to 16",
        .value = "4",
        .help = "connections to one link of another site at most, once what is to be sent is more "
                "than one carries; the smaller number of the two sides counts",
    },
    {
        .name = "site_rate",
        .kind = OPTION_BYTES,
        .offset = FIELD(config.rate),
        .max = 16384 * 1024 * MIB,
        .unit = "bytes",
        .range = "0 to 16 TiB",
        .value = "0",
        .help = "bytes of batches a second that this link sends to all other sites together; 0: "
                "no bound",
    },
    DAEMON_OPTION_DURATION("site_flush", FIELD(config.flush_us), DAEMON_MS, 10 * DAEMON_SECOND,
                           "1ms to 10s", "50ms",
                           "what was added waits so long for more that is sent with it"),
    DAEMON_OPTION_DURATION(
        "site_mark_interval", FIELD(config.mark_interval_us), 10 * DAEMON_MS, 60 * DAEMON_SECOND,
        "10ms to 60s", "250ms",
        "how often another site is asked up to where all is here, while somebody "
        "waits for that"),
    DAEMON_OPTION_DURATION("site_scrub", FIELD(config.scrub_us), 0, 720 * 3600 * DAEMON_SECOND,
                           "0s, or 1m to 720h", "24h",
                           "how often all of a filter is compared with each other site, which is "
                           "sent what it lacks; 0s: never"),
    DAEMON_OPTION_COORDINATORS(FIELD(router.coordinators), BYTES(router.coordinators[0]),
                               FIELD(router.ncoordinators),
                               "the coordinators to ask for documents and to tell of other sites"),
    DAEMON_OPTION_CLUSTER_KEY_FILE,
    ROUTER_OPTION_MAX_INFLIGHT(FIELD(router.max_inflight_bytes)),
    ROUTER_OPTION_RETRY_INTERVAL(FIELD(router.retry_us)),
    ROUTER_OPTION_SYNC_INTERVAL(FIELD(router.sync_interval_us)),
    DAEMON_OPTION_TRANSPORT,
    DAEMON_OPTION_ALLOW_PLAIN,
    DAEMON_OPTION_IO_THREADS,
    DAEMON_OPTIONS_HTTP,
    DAEMON_OPTIONS_LOG,
};

static const struct option_table table = {
    .program = "orbloom-link",
    .summary = "tells other sites what is added at its own, and adds what they tell",
    .options = options,
    .count = sizeof options / sizeof options[0],
};

const struct option_table *link_option_table(void)
{
    return &table;
}

/* ---- one peer ---- */

/* The words of a line of site_peers; how many there are, also beyond those that there is room for.
 */
static size_t split(const char *text, struct span words[WORDS])
{
    size_t count = 0;

    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        size_t size = strcspn(text, " ");

        if (count < WORDS) {
            words[count] = span_of(text, size);
        }
        count++;
        text += size;
    }
    return count;
}

/* "-": it dials, and the endpoint is empty. */
static bool take_endpoint(struct span word, char endpoint[DOCUMENT_TEXT_BYTES])
{
    memset(endpoint, 0, DOCUMENT_TEXT_BYTES);
    if (span_equal(word, span_text("-"))) {
        return true;
    }
    if (word.size >= DOCUMENT_TEXT_BYTES) {
        return false;
    }
    memcpy(endpoint, word.data, word.size);
    return !options_endpoint_is_wildcard(endpoint);
}

static enum status refuse_word(const struct option_origins *origins, const char *text,
                               struct span word, const char *what)
{
    return options_refuse(&table, origins, "site_peers",
                          "in \"%.300s\" of site_peers '%.*s' is %s; write \"NAME tcp://HOST:PORT "
                          "PUBLICKEY\"",
                          text, (int)word.size, (const char *)word.data, what);
}

static enum status parse_peer(struct link_settings *settings, const struct option_origins *origins,
                              uint32_t at)
{
    struct other_site *peer = &settings->config.peers[at];
    const char *text = settings->peers[at];
    struct span words[WORDS];
    size_t count = split(text, words);

    memset(peer, 0, sizeof *peer);
    if (count != WORDS) {
        return options_refuse(&table, origins, "site_peers",
                              "\"%.300s\" of site_peers has %zu words; write \"NAME "
                              "tcp://HOST:PORT PUBLICKEY\", with - for the endpoint of a site that "
                              "dials this one",
                              text, count);
    }
    if (!site_name_valid(words[0])) {
        return refuse_word(origins, text, words[0],
                           "no name of a site, which is 1 to 32 of a-z, "
                           "0-9 and '-'");
    }
    if (!take_endpoint(words[1], peer->endpoint)) {
        return refuse_word(origins, text, words[1],
                           "no endpoint with a real host and port, nor - for a site that dials "
                           "this one");
    }
    if (!site_key_parse_public(words[2], settings->peer_keys[at])) {
        return refuse_word(origins, text, words[2],
                           "no public key, which has 64 hexadecimal digits and is what orbloom "
                           "keygen --site has printed at that site");
    }
    memcpy(peer->name, words[0].data, words[0].size);
    peer->id = site_key_id(settings->peer_keys[at]);
    return STATUS_OK;
}

/* ---- several ---- */

static enum status compare(const struct link_settings *settings,
                           const struct option_origins *origins, uint32_t a, uint32_t b)
{
    const struct other_site *one = &settings->config.peers[a];
    const struct other_site *other = &settings->config.peers[b];

    if (strcmp(one->name, other->name) == 0) {
        return options_refuse(&table, origins, "site_peers",
                              "site_peers has two sites of the name %s; each site has one line and "
                              "a name of its own",
                              one->name);
    }
    if (memcmp(settings->peer_keys[a], settings->peer_keys[b], CURVE_KEY_BYTES) == 0) {
        return options_refuse(&table, origins, "site_peers",
                              "site_peers has one key for %s and %s; each site has a key of its "
                              "own, made there by orbloom keygen --site",
                              one->name, other->name);
    }
    if (one->endpoint[0] != '\0' && strcmp(one->endpoint, other->endpoint) == 0) {
        return options_refuse(&table, origins, "site_peers",
                              "site_peers has one endpoint, %s, for %s and %s; each site is "
                              "reached where its own links listen",
                              one->endpoint, one->name, other->name);
    }
    return STATUS_OK;
}

/* Can it ever be connected, and is it another site? */
static enum status check_peer(const struct link_settings *settings,
                              const struct option_origins *origins, uint32_t at)
{
    const struct other_site *peer = &settings->config.peers[at];
    enum status status = STATUS_OK;

    if (strcmp(peer->name, settings->config.site) == 0) {
        return options_refuse(&table, origins, "site_peers",
                              "site_peers names %s, which is the site of this link itself; name "
                              "only the others",
                              peer->name);
    }
    if (peer->endpoint[0] == '\0' && settings->site_listen[0] == '\0') {
        return options_refuse(&table, origins, "site_peers",
                              "site_peers says that site %s dials this link, and there is no "
                              "site_listen; add that, or say where the links of %s listen",
                              peer->name, peer->name);
    }
    for (uint32_t other = 0; other < at && status == STATUS_OK; other++) {
        status = compare(settings, origins, other, at);
    }
    return status;
}

static enum status take_peers(struct link_settings *settings, const struct option_origins *origins)
{
    enum status status = STATUS_OK;

    settings->config.npeers = settings->npeers;
    for (uint32_t i = 0; i < settings->npeers && status == STATUS_OK; i++) {
        status = parse_peer(settings, origins, i);
        status = status == STATUS_OK ? check_peer(settings, origins, i) : status;
    }
    return status;
}

static enum status check_ports(const struct link_settings *settings,
                               const struct option_origins *origins)
{
    if (options_endpoints_clash(settings->site_listen, settings->daemon.listen)) {
        return options_refuse(&table, origins, "site_listen listen",
                              "site_listen, %s, and listen, %s, are one address; each needs a port "
                              "of its own",
                              settings->site_listen, settings->daemon.listen);
    }
    if (settings->advertise[0] != '\0' && options_endpoint_is_wildcard(settings->advertise)) {
        return options_refuse(&table, origins, "advertise",
                              "advertise must name a real host and port, as others are to connect "
                              "to it");
    }
    if (settings->advertise[0] == '\0' && options_endpoint_is_any_host(settings->daemon.listen)) {
        return options_refuse(&table, origins, "listen",
                              "listen is on all hosts, so others cannot be told where this link "
                              "is; give advertise = \"tcp://HOST:PORT\" too");
    }
    return STATUS_OK;
}

/* Each begins with digests of all that there is. */
static enum status check_scrub(const struct link_settings *settings,
                               const struct option_origins *origins)
{
    uint64_t scrub_us = settings->config.scrub_us;

    return scrub_us == 0 || scrub_us >= LEAST_SCRUB_US
               ? STATUS_OK
               : options_refuse(&table, origins, "site_scrub",
                                "site_scrub is shorter than a minute; all of each filter would be "
                                "compared without end. Choose a longer time, or 0s for never");
}

enum status link_options_finish(void *context, const struct option_origins *origins)
{
    struct link_settings *settings = context;
    enum status status = check_ports(settings, origins);

    status = status == STATUS_OK ? check_scrub(settings, origins) : status;
    settings->origins = *origins;
    settings->router.max_timeout_us = MAX_TIMEOUT_US;
    settings->config.window = WINDOW_BYTES;
    memcpy(settings->config.name, settings->router.name, sizeof settings->config.name);
    return status == STATUS_OK ? take_peers(settings, origins) : status;
}

enum status link_options_check_key(const struct link_settings *settings,
                                   const struct curve_pair *keys)
{
    assert(settings->npeers <= LINK_MAX_SITES);
    for (uint32_t i = 0; i < settings->npeers; i++) {
        if (memcmp(settings->peer_keys[i], keys->public, CURVE_KEY_BYTES) == 0) {
            return options_refuse(&table, &settings->origins, "site_peers",
                                  "site_peers has this site's own key for %s; write what orbloom "
                                  "keygen --site has printed there, and never copy a site's key "
                                  "file to another site",
                                  settings->config.peers[i].name);
        }
    }
    return STATUS_OK;
}
