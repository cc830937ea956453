/* Looks through a message, and the messages in it, for fields that this version does not know. */
#include "proto/codec_unknown.h"

#include <stddef.h>
#include <stdint.h>

static const void *member_at(const ProtobufCMessage *message, unsigned offset)
{
    return (const uint8_t *)message + offset;
}

/* As deep as messages are in each other by the schema: none is in itself. */
static bool field_has_unknown(const ProtobufCMessage *message,
                              const ProtobufCFieldDescriptor *field)
{
    const ProtobufCMessage *const *items;
    size_t count;

    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        items = member_at(message, field->offset);
        return *items != NULL && codec_has_unknown(*items);
    }
    items = *(const ProtobufCMessage *const *const *)member_at(message, field->offset);
    count = *(const size_t *)member_at(message, field->quantifier_offset);
    for (size_t i = 0; i < count; i++) {
        if (codec_has_unknown(items[i])) {
            return true;
        }
    }
    return false;
}

bool codec_has_unknown(const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;

    if (message->n_unknown_fields > 0) {
        return true;
    }
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        if (descriptor->fields[i].type == PROTOBUF_C_TYPE_MESSAGE &&
            field_has_unknown(message, &descriptor->fields[i])) {
            return true;
        }
    }
    return false;
}
