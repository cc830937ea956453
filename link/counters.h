/* counters.h - what a link counts. */
#ifndef ORBLOOM_LINK_COUNTERS_H
#define ORBLOOM_LINK_COUNTERS_H

/* name, unit, help */
#define LINK_COUNTERS(X)                                                                          \
    X(site_channels, "links", "links of other sites that are heard of (a gauge)")                 \
    X(site_connections, "connections", "to them beside the first, for batches (a gauge)")         \
    X(site_refused_peers_total, "peers", "peers without a pinned key that wanted to get in")      \
    X(site_shut_out_total, "times", "links of other sites that did not let this one in")          \
    X(site_rate_waits_total, "times", "batches that waited for site_rate")                        \
    X(site_streams_out, "streams", "filters that are being sent to another site (a gauge)")       \
    X(site_streams_in, "streams", "filters that are being received from another site (a gauge)")  \
    X(site_wire_bytes_total, "bytes", "batches and offers sent to other sites")                   \
    X(site_keys_total, "keys", "fingerprints sent to other sites")                                \
    X(site_applied_keys_total, "keys", "fingerprints of other sites applied here")                \
    X(site_overtaken_total, "batches", "batches that came before an earlier one of their stream") \
    X(site_repeats_total, "records", "records of replicas not sent, as they had been")            \
    X(site_copies_total, "copies", "replicas of slot groups of which all was sent, or is there")  \
    X(site_offers_total, "offers", "questions which keys of a copy another site has")             \
    X(site_skipped_keys_total, "keys", "fingerprints of copies not sent, as they are there")      \
    X(site_scrubs_total, "filters", "of which all was compared with another site, site_scrub")    \
    X(site_scrub_keys_total, "keys", "fingerprints sent since a part of them was missing then")   \
    X(site_put_backs_total, "filters", "of which another site remembered more than this one has") \
    X(site_full_total, "batches", "batches that wait, as the filter here is full")                \
    X(site_pending_keys, "keys", "fingerprints read that are not applied elsewhere (a gauge)")    \
    X(site_lag_us, "us", "how far another site is behind, at most; 0: by nothing (a gauge)")      \
    X(site_marks_total, "marks", "questions by which batch all is sent that were answered")       \
    X(site_ages_total, "questions", "of routers, what of one site another has, answered")         \
    X(site_confirms_total, "questions", "of other sites, is all of them here, answered with yes") \
    X(site_confirms_refused_total, "questions", "... and those answered with no")                 \
    X(site_closed_total, "streams", "streams that ended before their time")                       \
    X(site_states, "filters", "states of filters at sites that are held (a gauge)")               \
    X(site_states_told_total, "states", "states of filters here told to other sites")             \
    X(site_states_heard_total, "states", "states of filters elsewhere that were news")            \
    X(site_states_refused_total, "states", "states of filters that were refused")                 \
    X(site_refused_total, "frames", "frames of other sites that were refused")

enum link_counter {
#define X(name, unit, help) LINK_##name,
    LINK_COUNTERS(X)
#undef X
        LINK_NCOUNTERS
};

#endif
