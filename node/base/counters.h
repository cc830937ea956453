/* counters.h - what a node counts, and shows: the one table of it.
 *
 * Errors:  none.
 * Threads: none.
 */
#ifndef ORBLOOM_NODE_BASE_COUNTERS_H
#define ORBLOOM_NODE_BASE_COUNTERS_H

#include "base/telemetry/counter.h"

/* name, unit, help */
#define NODE_COUNTERS(X)                                                                        \
    X(requests_total, "frames", "requests received from routers")                               \
    X(segments_total, "segments", "parts of requests executed or refused")                      \
    X(keys_checked_total, "keys", "keys looked up")                                             \
    X(keys_added_total, "keys", "keys written, new or not")                                     \
    X(keys_relayed_total, "keys", "... of them, from another site")                             \
    X(probes_total, "keys", "absent ones looked up here, to measure rates of false positives")  \
    X(probe_hits_total, "keys", "... of them, called present")                                  \
    X(stale_total, "segments", "refused: epoch behind the fence")                               \
    X(need_doc_total, "segments", "refused: epoch ahead of the document held")                  \
    X(not_ready_total, "segments", "refused: replica building, joining or not hosted")          \
    X(conflict_total, "segments", "refused: another content under the same epoch")              \
    X(dropped_total, "segments", "refused: the filter has been dropped")                        \
    X(full_total, "segments",                                                                   \
      "adds with new keys that were not accepted, the filter being at its capacity")            \
    X(remembered_total, "segments", "adds that came again and voted as the first time")         \
    X(repeated_total, "segments",                                                               \
      "adds that had, or may have, come before, without sure memory of their first vote")       \
    X(documents_taken_total, "documents", "newer documents taken over")                         \
    X(documents_refused_total, "documents", "documents with a wrong MAC, form or content")      \
    X(losses_accepted_total, "groups",                                                          \
      "hosted here in which an operator gave up replicas that are gone")                        \
    X(fences_total, "requests", "fences confirmed to coordinators")                             \
    X(peers_refused_total, "connections",                                                       \
      "not let in: an unknown key, plain where CURVE is spoken, or the other way round")        \
    X(frames_refused_total, "frames",                                                           \
      "of peers whose role does not allow them, or whose key was withdrawn")                    \
    X(malformed_total, "frames",                                                                \
      "frames that could not be decoded or do not belong here, connections that break ZMTP")    \
    X(version_total, "frames", "frames of a protocol version that is not served")               \
    X(replies_dropped_total, "frames", "answers that could not be sent")                        \
    X(recent_adds_bytes, "bytes", "memory of the votes of recent adds (a gauge)")               \
    X(incarnation, "", "this life of the node's data (a gauge)")                                \
    X(memory_used_bytes, "bytes", "arrays allocated (a gauge)")                                 \
    X(memory_limit_bytes, "bytes", "for arrays: memory_limit (a gauge)")                        \
    X(held_total, "frames", "answers that waited for the log")                                  \
    X(no_space_total, "segments", "adds refused: no room in the log")                           \
    X(replayed_keys_total, "keys", "fingerprints read back from the log into arrays")           \
    X(growth_keys_total, "keys",                                                                \
      "read back into the arrays of a wanted generation, or looked up there to verify it")      \
    X(growth_shards_total, "shards", "served from the arrays of a wanted generation since")     \
    X(growth_verify_failures_total, "shards",                                                   \
      "whose new arrays lacked a key, or could not be right, and were built again")             \
    X(growth_restarts_total, "passes",                                                          \
      "through the log for new arrays that began again, as what they read was gone")            \
    X(amnesia_total, "events", "new incarnations because data was found missing")               \
    X(log_end, "bytes", "appended to the log so far (a gauge)")                                 \
    X(log_synced, "bytes", "of it on disk, surviving power loss (a gauge)")                     \
    X(log_writes_total, "writes", "of the log, each of what had gathered for it")               \
    X(log_write_us_total, "us", "that these took, each from when there was something to write") \
    X(log_bytes, "bytes", "files of the log (a gauge)")                                         \
    X(disk_free_bytes, "bytes", "room on the disk of data_dir (a gauge)")                       \
    X(log_bare_total, "files",                                                                  \
      "segments without adds that were dropped, a later checkpoint repeating them")             \
    X(run_bytes, "bytes", "files of sorted runs (a gauge)")                                     \
    X(run_keys, "keys", "fingerprints in sorted runs (a gauge)")                                \
    X(runs, "files", "sorted runs (a gauge)")                                                   \
    X(snapshot_bytes, "bytes", "files of snapshots of arrays (a gauge)")                        \
    X(snapshots_total, "files", "snapshots of arrays written")                                  \
    X(imprint_bytes, "bytes", "files of imprints of arrays, which a start reads (a gauge)")     \
    X(imprints_total, "files", "imprints of arrays written")                                    \
    X(imprints_read_total, "files", "imprints that arrays were read back from")                 \
    X(imprints_refused_total, "files",                                                          \
      "imprints that were of no use: not finished, damaged, or of other arrays")                \
    X(unmerged_bytes, "bytes", "of the log, in no sorted run yet (a gauge)")                    \
    X(replicas, "groups", "slot groups here (a gauge)")                                         \
    X(replicas_full, "groups", "slot groups here that count for quorums (a gauge)")             \
    X(filters_refused, "filters", "that there is no room or no log for (a gauge)")              \
    X(gossip_behind, "replicas",                                                                \
      "of other nodes that have, or may have, what is not here yet: their nodes do not "        \
      "answer, or it is being taken over (a gauge)")                                            \
    X(pulls_total, "requests", "asked by other nodes for what they lack")                       \
    X(pulls_refused_total, "requests",                                                          \
      "refused to other nodes: another epoch, keyset, incarnation or state, or too many")       \
    X(pulls_delayed_total, "requests", "of other nodes that waited for gossip_rate")            \
    X(pull_failures_total, "questions", "to other nodes without an answer of use")              \
    X(pull_mismatches_total, "answers",                                                         \
      "of other nodes that are about something else than was asked: nothing was merged")        \
    X(gossip_bytes_in_total, "bytes", "answers of other nodes")                                 \
    X(gossip_bytes_out_total, "bytes", "questions to other nodes")                              \
    X(gossip_bytes_served_total, "bytes", "answers to other nodes")                             \
    X(gossip_keys_missed_total, "keys", "fetched in batches that routers had not brought")      \
    X(gossip_keys_copied_total, "keys", "taken over in copies of FULL replicas")                \
    X(gossip_copies_total, "copies",                                                            \
      "begun of a whole replica, its node's log not being kept far enough back")                \
    X(pages_copied_total, "pages",                                                              \
      "of arrays, 4 KiB each, taken over from other nodes (filters without key log)")           \
    X(confirmed_by_peers_total, "starts",                                                       \
      "that all nodes that share shards confirmed, as no coordinator answered")                 \
    X(catch_ups_short_total, "filters",                                                         \
      "that counted again after a kill although other nodes did not answer in time")            \
    X(sync_keys_total, "keys", "taken over to complete replicas that join")                     \
    X(report_pages_total, "requests", "to coordinators, each with a part of the slot groups")   \
    X(repairs_total, "repairs", "comparisons with other nodes' replicas begun")                 \
    X(repairs_ended_total, "repairs", "of them that came to their end")                         \
    X(repair_failures_total, "repairs",                                                         \
      "of them that ended early, and are tried again: no answer of use, or no room")            \
    X(repair_shards_total, "shards", "whose digests were compared")                             \
    X(repair_ranges_total, "ranges", "that differed, compared key by key")                      \
    X(repair_keys_total, "keys", "taken over in repairs")                                       \
    X(repair_round_trips_total, "questions", "of repairs, with an answer of use")               \
    X(repair_bytes_total, "bytes", "questions and answers of repairs, part of gossip_bytes")    \
    X(repair_cuts_total, "cuts", "of replicas here, for other nodes to compare with")           \
    X(site_tails_total, "requests", "asked by links for the tail of the log")                   \
    X(site_tails_refused_total, "requests",                                                     \
      "refused to links: another incarnation or boot, a place not kept, or too many")           \
    X(site_tail_records_total, "records", "of adds told to links")                              \
    X(site_tail_bytes_total, "bytes", "answers to links")                                       \
    X(site_untaken_bytes, "bytes", "of the log, that some other site has not taken (a gauge)")

enum node_counter {
#define X(name, unit, help) NODE_##name,
    NODE_COUNTERS(X)
#undef X
        NODE_NCOUNTERS
};

/* Names, units and help, in the order of the enum. */
struct counter_table node_counters(void);

#endif
