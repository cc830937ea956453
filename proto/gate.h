/* gate.h - which peer may send what to which kind of process: the one table.
 *
 * A process asks it before anything of a frame is decoded, with what the peer has proved to be:
 * see base/actor.h. Who came by a plain transport, PEER_ANYBODY, may send everything. Nobody else
 * may send what the table has no word for; a kind of frame without a row is refused to all of them.
 *
 *   peer          at a router                  at a node                          at a coordinator
 *   client        client requests, info, dumps -                                  admin requests
 *   monitor       stats, lag and age (links)   stats                              status, stats
 *   admin         these, loads of dumps        stats                              all, stats
 *   router        age (links)                  node requests, documents, info,    sync, admin
 *                                              pulls (dumps), cursors of sites    requests
 *   node          -                            boots, pulls, documents            sync
 *   coordinator   hints, lag and age (links)   fences, hints, info, documents     admin requests
 *
 * Age is how much is here of other sites' keys, lag that and all else of how far sites are.
 *
 * Links have the door of routers, which they are to their own site; a router knows no answer to
 * what is for links, and says so.
 *
 * Hints and answers travel back on the connection of whoever asked; there no gate is passed. That a
 * coordinator may send a hint to a door is room for one that dials; today's ignore it there.
 *
 * Of admin requests the kind of action matters too, and gate_admits_action() has those. It wants
 * the decoded request: of an action that is named twice the last one counts, which a glance at the
 * bytes would not see. Whether a user has the right to the filter judges the coordinator.
 *
 * A coordinator's row at a coordinator is that of operators who hold the cluster key and no
 * credential yet: they come with a coordinator's keys, and may do everything.
 *
 * Owner:   all is borrowed for the call.
 * Threads: any; pure.
 */
#ifndef ORBLOOM_PROTO_GATE_H
#define ORBLOOM_PROTO_GATE_H

#include "base/actor.h"
#include "proto/admin_message.h"
#include "proto/codec.h"

/* Whose server socket it is. */
enum gate_door { GATE_ROUTER = 0, GATE_NODE, GATE_COORDINATOR, GATE_NDOORS };

/* May this frame go on to the actor? Looks at the first fields only. What can't be a frame goes on,
 * as the decoder refuses it by the same rules and nothing is done then. What has more fields before
 * its body than any sender writes may be anything, and does not go on. */
bool gate_admits(enum gate_door door, enum peer_role role, struct span frame);

/* The table itself. FRAME_NONE is no kind and is admitted. */
bool gate_admits_kind(enum gate_door door, enum peer_role role, enum frame_kind kind);
bool gate_admits_action(enum peer_role role, enum admin_action action);

enum { GATE_REASON_BYTES = 320 };

/* Why gate_admits_action() has refused it, and what to do about it. Returns `reason`. */
const char *gate_why_action(enum peer_role role, enum admin_action action,
                            char reason[GATE_REASON_BYTES]);

/* All of it, for a hub that speaks CURVE: see hub_curve.admits. One who is not `known` any more may
 * send nothing, and who can't be known yet (PEER_PENDING) is told NOT_READY. False: `refusal`,
 * empty at first, is the answer, an error of STATUS_UNAUTHENTIC under the frame's correlation that
 * says why, and what to do about it; it stays empty where memory is out. */
bool gate_pass(enum gate_door door, const struct peer *from, bool known, struct span frame,
               struct buffer *refusal);

/* "client" */
const char *gate_role_name(enum peer_role role);

#endif
