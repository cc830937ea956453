/* codec_unknown.h - private to proto/: what must not be read in part.
 *
 * Threads: any; no state.
 */
#ifndef ORBLOOM_PROTO_CODEC_UNKNOWN_H
#define ORBLOOM_PROTO_CODEC_UNKNOWN_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

/* Has it a field that this version does not know, itself or anywhere in the messages in it? Not for
 * messages with a `oneof`. */
bool codec_has_unknown(const ProtobufCMessage *message);

#endif
