/* binding.h - private to proto/: tables that say how a struct of ours travels as a message.
 *
 * One row binds one field, and from it the engine both encodes and decodes, with the bounds that
 * the row names. An example (proto/codec_admin.c has the whole):
 *
 *     #define WIRE_process_features Orbloom__V1__ProcessFeatures
 *     static const struct binding process_features_rows[] = {
 *         ENUM(process_features, kind, PROCESS_COORDINATOR, PROCESS_ROUTER),
 *         ROW(process_features, heard, BOOL),
 *         ROW(process_features, name, TEXT),
 *     };
 *     static BINDING_TABLE(process_features, process_features, NULL);
 *
 *     static const struct binding upgrade_page_rows[] = {
 *         ROW(upgrade_page, known, UINT64),
 *         LIST(upgrade_page, processes, nprocesses, process_features, UNBOUNDED, STATUS_OK),
 *     };
 *
 * The first word is the struct's tag; WIRE_ names protobuf-c's. ROW_AS() binds fields whose names
 * differ, also one within a struct of ours: ROW_AS(filter_summary, uid.high, uid_high, UINT64).
 * The table becomes the function binding_process_features(), which rows of other tables name, and,
 * of a whole frame, codec.c. A row whose kind does not fit both fields does not compile; a field
 * that was forgotten, and what C sees no difference in (an enum and a number),
 * tests/unit/proto_binding.c finds.
 *
 * Order:   rows are worked off in their order, and the first refusal is the answer: where two
 *          rows refuse differently their order is part of the contract.
 * Rules:   what concerns several fields is the table's check, which is asked once all are decoded;
 *          what is not a copy is a row BY_HAND.
 * Errors:  as codec_field.h says. Enums and numbers out of range, parts that are missing:
 *          STATUS_MALFORMED; lists that are too long: as the row says.
 * Owner:   encoded messages borrow from our structs and the scratch, decoded structs from the
 *          message and the arena.
 * Threads: any; tables are constant.
 */
#ifndef ORBLOOM_PROTO_BINDING_H
#define ORBLOOM_PROTO_BINDING_H

#include "proto/arena.h"

#include <limits.h>
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum binding_kind {
    BINDING_UINT64, /* varint or fixed, as the schema has it */
    BINDING_UINT32,
    BINDING_BOOL,
    BINDING_COUNT,    /* how many the planes have; at most ... */
    BINDING_DOUBLE,   /* finite */
    BINDING_FRACTION, /* 0 to 1 */
    BINDING_UNJUDGED, /* a double, also one that is no number: the table's check judges it */
    BINDING_STATUS,   /* one that is not known reads as status_from_wire() says */
    BINDING_ENUM,
    BINDING_TEXT,
    BINDING_MESSAGE,   /* a text that is cleaned and cut rather than refused */
    BINDING_CHARS,     /* a text in an array within ours; one that does not fit is malformed */
    BINDING_SPAN,      /* bytes of any size */
    BINDING_DOCUMENT,  /* bytes of at most DOCUMENT_MAX_BYTES; over: STATUS_TOO_LARGE */
    BINDING_BYTES,     /* an array of bytes; with another size it reads as zeros */
    BINDING_PLANE,     /* of so many bits as a row before has counted */
    BINDING_CLUSTER,   /* which cluster; none: left out. Another size, too, reads as none */
    BINDING_DOCUMENTS, /* a list of documents */
    BINDING_NUMBERS,   /* a list of numbers, borrowed */
    BINDING_ROOM,      /* ... in an array within ours */
    BINDING_LIST,      /* of structs, in an array of its own */
    BINDING_ARRAY,     /* ... in an array within ours */
    BINDING_OWNED,     /* ... in heap memory, which is the struct's also where decoding fails */
    BINDING_PART,      /* a struct within ours, which is a message of its own on the wire */
    BINDING_NEEDS,     /* features that a reader must know; others: STATUS_VERSION */
    BINDING_BY_HAND,
};

struct binding_table;
typedef const struct binding_table *binding_table_fn(void);

/* Is the part there? Of ours as far as it is: when decoding, what rows before have set. */
typedef bool binding_has_fn(const void *ours);

/* STATUS_OK, or what is wrong with all of it. */
typedef enum status binding_check_fn(const void *ours);

/* What must a reader of it know? */
typedef uint64_t binding_needs_fn(const void *ours);

typedef enum status binding_put_fn(struct codec_scratch *scratch, const void *ours, void *wire);
typedef enum status binding_get_fn(struct codec_arena *arena, const void *wire, void *ours);

struct binding {
    enum binding_kind kind;
    uint32_t ours; /* offsets, and how much is there */
    uint32_t wire;
    uint32_t bytes;
    uint32_t our_count; /* lists, arrays, planes: offsets */
    uint32_t count_bytes;
    uint32_t wire_count;
    int first; /* enums */
    int last;
    size_t most;       /* lists, arrays: items */
    enum status fault; /* ... the answer to more of them; STATUS_TOO_LARGE also when encoding */
    binding_table_fn *table;
    binding_has_fn *sends; /* parts, BYTES; NULL: always */
    binding_has_fn *reads; /* NULL: whenever it is there */
    bool needed;           /* a part that is to be read and is not there is malformed */
    binding_needs_fn *needs;
    binding_put_fn *put; /* by hand; NULL: another row's does it */
    binding_get_fn *get;
    const char *name; /* of our field, which tests hold against the schema's */
};

struct binding_table {
    const ProtobufCMessageDescriptor *descriptor;
    size_t our_bytes;
    size_t wire_bytes;
    const struct binding *rows;
    size_t count;
    binding_check_fn *check; /* NULL: none */
};

/* Into `wire`, which is a message of that table; what no row names is left out. */
MUST_USE enum status binding_put(const struct binding_table *table, struct codec_scratch *scratch,
                                 const void *ours, void *wire);

/* ... which is made in the scratch. */
MUST_USE enum status binding_put_new(const struct binding_table *table,
                                     struct codec_scratch *scratch, const void *ours,
                                     ProtobufCMessage **out);

/* What no row names is zeroed. */
MUST_USE enum status binding_get(const struct binding_table *table, struct codec_arena *arena,
                                 const void *wire, void *ours);

/* ---- rows ---- */

/* 0, or it does not compile. */
#define BINDING_IS(type, object, field) _Generic(((object *)0)->field, type : 0)
#define BINDING_FIT(message, field, our_type, wire_field, wire_type) \
    (BINDING_IS(our_type, struct message, field) +                   \
     BINDING_IS(wire_type, WIRE_##message, wire_field))

#define BINDING_AT(message, field, wire_field)                                             \
    .ours = offsetof(struct message, field), .wire = offsetof(WIRE_##message, wire_field), \
    .bytes = sizeof(((struct message *)0)->field), .name = #field

#define BINDING_OF_UINT32   uint32_t, uint32_t
#define BINDING_OF_UINT64   uint64_t, uint64_t
#define BINDING_OF_BOOL     bool, protobuf_c_boolean
#define BINDING_OF_DOUBLE   double, double
#define BINDING_OF_FRACTION double, double
#define BINDING_OF_UNJUDGED double, double
#define BINDING_OF_STATUS   enum status, Orbloom__V1__Status
#define BINDING_OF_TEXT     const char *, ProtobufCBinaryData
#define BINDING_OF_MESSAGE  const char *, ProtobufCBinaryData
#define BINDING_OF_CHARS    char *, ProtobufCBinaryData
#define BINDING_OF_SPAN     struct span, ProtobufCBinaryData
#define BINDING_OF_DOCUMENT struct span, ProtobufCBinaryData
#define BINDING_OF_BYTES    uint8_t *, ProtobufCBinaryData
#define BINDING_OF_CLUSTER  struct cluster_id, ProtobufCBinaryData

#define BINDING_FITS(message, field, wire_field, ...) \
    BINDING_FITS_(message, field, wire_field, __VA_ARGS__)
#define BINDING_FITS_(message, field, wire_field, our_type, wire_type) \
    BINDING_FIT(message, field, our_type, wire_field, wire_type)

#define ROW_AS(message, field, wire_field, KIND)                                              \
    {                                                                                         \
        .kind = BINDING_##KIND + BINDING_FITS(message, field, wire_field, BINDING_OF_##KIND), \
        BINDING_AT(message, field, wire_field)                                                \
    }
#define ROW(message, field, KIND) ROW_AS(message, field, field, KIND)

#define ENUM(message, field, from, to)                                                 \
    {                                                                                  \
        .kind = BINDING_ENUM + BINDING_FIT(message, field, unsigned, field, unsigned), \
        BINDING_AT(message, field, field), .first = (int)(from), .last = (int)(to)     \
    }

/* Of any value: the table's check judges it. */
#define ENUM_UNJUDGED(message, field) ENUM(message, field, INT_MIN, INT_MAX)

/* Sent if is_said() is true. */
#define BYTES_IF(message, field, is_said)                                              \
    {                                                                                  \
        .kind = BINDING_BYTES + BINDING_FITS(message, field, field, BINDING_OF_BYTES), \
        BINDING_AT(message, field, field), .sends = (is_said)                          \
    }

/* ---- rows of many ---- */

/* How many there are; 0, or it does not compile. */
#define BINDING_COUNT_FIT(message, count) \
    _Generic(((struct message *)0)->count, size_t : 0, uint32_t : 0)
#define BINDING_OUR_COUNT(message, count)         \
    .our_count = offsetof(struct message, count), \
    .count_bytes = sizeof(((struct message *)0)->count)
#define BINDING_COUNTS(message, count, field) \
    BINDING_OUR_COUNT(message, count), .wire_count = offsetof(WIRE_##message, n_##field)

/* Over it: STATUS_TOO_LARGE, to both sides. */
#define COUNT(message, field, max)                                                          \
    {                                                                                       \
        .kind = BINDING_COUNT + BINDING_COUNT_FIT(message, field) +                         \
                BINDING_IS(uint32_t, WIRE_##message, field),                                \
        BINDING_AT(message, field, field), BINDING_OUR_COUNT(message, field), .most = (max) \
    }
#define PLANE(message, field, count)                                                       \
    {                                                                                      \
        .kind = BINDING_PLANE + BINDING_COUNT_FIT(message, count) +                        \
                BINDING_FIT(message, field, const uint64_t *, field, ProtobufCBinaryData), \
        BINDING_AT(message, field, field), BINDING_OUR_COUNT(message, count)               \
    }

/* `type`: uint32_t or uint64_t. */
#define NUMBERS(message, field, count, type, max, over)                                          \
    {                                                                                            \
        .kind = BINDING_NUMBERS + BINDING_COUNT_FIT(message, count) +                            \
                BINDING_FIT(message, field, const type *, field, type *),                        \
        BINDING_AT(message, field, field), BINDING_COUNTS(message, count, field), .most = (max), \
        .fault = (over)                                                                          \
    }
#define ROOM(message, field, count, type, over)                                      \
    {                                                                                \
        .kind = BINDING_ROOM + BINDING_COUNT_FIT(message, count) +                   \
                BINDING_FIT(message, field, type *, field, type *),                  \
        BINDING_AT(message, field, field), BINDING_COUNTS(message, count, field),    \
        .most = sizeof(((struct message *)0)->field) / sizeof(type), .fault = (over) \
    }

#define BINDING_ITEMS(which, message, our_type, field, count, item)           \
    .kind = which + BINDING_COUNT_FIT(message, count) +                       \
            BINDING_FIT(message, field, our_type, field, WIRE_##item **),     \
    BINDING_AT(message, field, field), BINDING_COUNTS(message, count, field), \
    .table = binding_##item

/* Of `item`s, another message's struct. */
#define LIST(message, field, count, item, max, over)                                   \
    {                                                                                  \
        BINDING_ITEMS(BINDING_LIST, message, const struct item *, field, count, item), \
            .most = (max), .fault = (over)                                             \
    }
#define ARRAY(message, field, count, item, over)                                                \
    {                                                                                           \
        BINDING_ITEMS(BINDING_ARRAY, message, struct item *, field, count, item),               \
            .most = sizeof(((struct message *)0)->field) / sizeof(struct item), .fault = (over) \
    }
#define OWNED(message, field, count, item, max, over)                                             \
    {                                                                                             \
        BINDING_ITEMS(BINDING_OWNED, message, struct item *, field, count, item), .most = (max),  \
                                                                                  .fault = (over) \
    }
#define DOCUMENTS(message, field, count)                                                        \
    {                                                                                           \
        .kind = BINDING_DOCUMENTS + BINDING_COUNT_FIT(message, count) +                         \
                BINDING_FIT(message, field, const struct span *, field, ProtobufCBinaryData *), \
        BINDING_AT(message, field, field), BINDING_COUNTS(message, count, field),               \
        .most = CODEC_MAX_DOCUMENTS, .fault = STATUS_TOO_LARGE                                  \
    }

/* ---- rows of parts, and others ---- */

#define BINDING_PART_OF(message, field, item)                                              \
    .kind = BINDING_PART + BINDING_FIT(message, field, struct item, field, WIRE_##item *), \
    BINDING_AT(message, field, field), .table = binding_##item

/* Of messages that has() is true of, and needed there. */
#define PART(message, field, item, has)                                                       \
    {                                                                                         \
        BINDING_PART_OF(message, field, item), .sends = (has), .reads = (has), .needed = true \
    }
/* May be missing: sent if is_said() is true; read where it is there and may() is true, or NULL. */
#define OPTIONAL(message, field, item, is_said, may)                              \
    {                                                                             \
        BINDING_PART_OF(message, field, item), .sends = (is_said), .reads = (may) \
    }

/* First, for what is not understood is not judged either. */
#define NEEDS(message, needs_fn)                                             \
    {                                                                        \
        .kind = BINDING_NEEDS + BINDING_IS(uint64_t, WIRE_##message, needs), \
        .wire = offsetof(WIRE_##message, needs), .needs = (needs_fn)         \
    }

/* NULL: another row does it; both: of a field that goes along with the one of another row. */
#define BY_HAND(message, wire_field, put_fn, get_fn)                                            \
    {                                                                                           \
        .kind = BINDING_BY_HAND, .wire = offsetof(WIRE_##message, wire_field), .put = (put_fn), \
        .get = (get_fn)                                                                         \
    }

#define UNBOUNDED SIZE_MAX

/* `wire_message`: as the schema calls it, in lower case. */
#define BINDING_TABLE(message, wire_message, check_fn)                 \
    const struct binding_table *binding_##message(void)                \
    {                                                                  \
        static const struct binding_table table = {                    \
            .descriptor = &orbloom__v1__##wire_message##__descriptor,  \
            .our_bytes = sizeof(struct message),                       \
            .wire_bytes = sizeof(WIRE_##message),                      \
            .rows = message##_rows,                                    \
            .count = sizeof message##_rows / sizeof message##_rows[0], \
            .check = (check_fn),                                       \
        };                                                             \
                                                                       \
        return &table;                                                 \
    }                                                                  \
    _Static_assert(sizeof message##_rows >= sizeof(struct binding), "a table has rows")

#endif
