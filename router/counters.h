/* counters.h - what a router counts. */
#ifndef ORBLOOM_ROUTER_COUNTERS_H
#define ORBLOOM_ROUTER_COUNTERS_H

/* name, unit, help */
#define ROUTER_COUNTERS(X)                                                                       \
    X(requests_total, "requests", "adds and checks received from clients")                       \
    X(keys_checked_total, "keys", "keys of checks answered")                                     \
    X(keys_added_total, "keys", "keys of adds answered")                                         \
    X(keys_relayed_total, "keys", "keys of other sites' adds answered")                          \
    X(keys_undecided_total, "keys", "keys answered unknown or not acknowledged")                 \
    X(checks_behind_total, "keys",                                                               \
      "keys that no replica has, answered unknown or maybe as other sites may have them")        \
    X(checks_again_total, "operations",                                                          \
      "checks that asked nodes once more, as their \"absent\" keeps to its bound only now")      \
    X(adds_awaiting_sites, "keys", "acknowledged here that wait for other sites (a gauge)")      \
    X(site_questions_total, "questions", "to links, how far the keys of other sites are here")   \
    X(keys_maybe_total, "keys", "unknown keys answered maybe (when_unavailable = maybe)")        \
    X(keys_maybe_new_total, "keys", "adds acknowledged as MAYBE_NEW")                            \
    X(node_requests_total, "frames", "messages sent to nodes")                                   \
    X(segments_total, "subrequests",                                                             \
      "parts of operations sent; divided by node_requests_total: how "                           \
      "many a message carries")                                                                  \
    X(hedges_total, "parts",                                                                     \
      "checks unanswered for longer than hedge_delay, for which the remaining replicas "         \
      "were asked")                                                                              \
    X(disagreements_total, "parts",                                                              \
      "checks that the first R replicas could not decide, so that the remaining ones "           \
      "were asked")                                                                              \
    X(retries_total, "subrequests", "parts sent again to a node that had not answered")          \
    X(restarts_total, "operations", "operations started over under a newer document")            \
    X(stale_total, "replies", "nodes that answered STALE or DROPPED")                            \
    X(need_doc_total, "replies", "nodes that lacked a document and were given it")               \
    X(not_ready_total, "replies", "nodes that answered NOT_READY")                               \
    X(full_total, "replies", "nodes that did not accept new keys, being at capacity")            \
    X(held_total, "replies", "of them, those whose filter grows: asked again in a moment")       \
    X(conflict_total, "replies", "nodes that hold another content under the same epoch")         \
    X(votes_void_total, "replies", "votes that do not count: other incarnation, epoch or state") \
    X(late_total, "replies", "votes for operations already answered")                            \
    X(overloaded_total, "requests", "requests refused: too many bytes in flight")                \
    X(user_rate_total, "requests", "refused as their user asks for more than its keys_per_s")    \
    X(user_in_flight_total, "requests",                                                          \
      "refused as their user has as many bytes under way as its limit in_flight allows")         \
    X(backend_overloaded_total, "subrequests",                                                   \
      "parts not sent: too many bytes in flight to a node")                                      \
    X(suspects_total, "events", "nodes that stopped answering")                                  \
    X(deadlines_total, "operations", "operations that ended at their deadline")                  \
    X(ends_total, "questions", "where the logs of a filter's replicas end, answered")            \
    X(dump_chunks_total, "chunks", "of dumps, told")                                             \
    X(not_permitted_total, "requests",                                                           \
      "of users who have not the right to that filter, or are users no more")                    \
    X(unknown_filters_total, "requests", "requests for a filter that the store does not hold")   \
    X(documents_taken_total, "documents", "newer documents taken over")                          \
    X(documents_refused_total, "documents", "documents or secrets with a wrong MAC or form")     \
    X(peers_refused_total, "connections",                                                        \
      "not let in: an unknown key, plain where CURVE is spoken, or the other way round")         \
    X(frames_refused_total, "frames",                                                            \
      "of peers whose role does not allow them, or whose key was withdrawn")                     \
    X(malformed_total, "frames",                                                                 \
      "frames that could not be decoded or do not belong here, connections that break ZMTP")     \
    X(version_total, "frames", "frames of a protocol version that is not served")                \
    X(replies_dropped_total, "frames", "answers that could not be sent")                         \
    X(hedge_delay_us, "us", "hedge_delay as it stands, given or learned (a gauge)")              \
    X(inflight_bytes, "bytes", "requests not yet answered (a gauge)")

enum router_counter {
#define X(name, unit, help) ROUTER_##name,
    ROUTER_COUNTERS(X)
#undef X
        ROUTER_NCOUNTERS
};

#endif
