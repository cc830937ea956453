/* status.h - the one table of outcomes: every fallible function returns an enum status.
 *
 * A status is a kind of outcome, not a message. Its code is what users see after
 * "orbloom: " and what travels on the wire, so numbers are never reused or reordered.
 *
 * Errors:  none of these functions fails; an unknown number reads as INTERNAL.
 * Threads: any; the table is constant.
 */
#ifndef ORBLOOM_BASE_STATUS_H
#define ORBLOOM_BASE_STATUS_H

#define MUST_USE          __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

/* name, number on the wire, what it means */
#define STATUS_TABLE(X)                                                                \
    X(OK, 0, "done")                                                                   \
    X(NOMEM, 1, "an allocation failed")                                                \
    X(INVALID, 2, "an argument or option is outside its range")                        \
    X(SHAPE, 3, "two things that must match in shape do not")                          \
    X(MALFORMED, 4, "bytes that cannot be decoded")                                    \
    X(TOO_LARGE, 5, "over a limit on size or count")                                   \
    X(VERSION, 6, "a protocol or format version that is not served here")              \
    X(NOT_FOUND, 7, "the store holds no such filter or record")                        \
    X(EXISTS, 8, "it exists already, with other parameters")                           \
    X(CONFLICT, 9, "a compare-and-swap lost, or two contents under one number")        \
    X(STALE, 10, "the request's epoch is behind this node's fence")                    \
    X(NEED_DOC, 11, "the request's epoch is ahead of the document held here")          \
    X(NOT_READY, 12, "no FULL replica is ready to answer here")                        \
    X(UNAVAILABLE, 13, "too few replicas answered to be sure")                         \
    X(OVERLOADED, 14, "too many bytes in flight; slow down and retry")                 \
    X(DEADLINE, 15, "no answer before the deadline")                                   \
    X(NO_SPACE, 16, "memory or disk does not suffice")                                 \
    X(FULL, 17, "the filter has reached its capacity")                                 \
    X(NAME_BUSY, 18, "the name is still fenced by a change under way")                 \
    X(UNAUTHENTIC, 19, "a message authentication code does not match the cluster key") \
    X(IO, 20, "the operating system refused an operation")                             \
    X(USAGE, 21, "the command line or configuration is wrong")                         \
    X(DROPPED, 22, "the filter has been dropped")                                      \
    X(INTERNAL, 23, "a defect in orbloom; please report it")                           \
    X(OVER_QUOTA, 24, "the user has as much as its limits allow")                      \
    X(BEHIND, 25, "another site may have keys that this one does not have yet")

enum status {
#define X(name, number, meaning) STATUS_##name = number,
    STATUS_TABLE(X)
#undef X
};

/* "NOT_READY": the code that users and scripts see. */
const char *status_code(enum status status);

/* One English phrase; the table above. */
const char *status_meaning(enum status status);

/* A number from the wire; unknown ones become STATUS_INTERNAL, never STATUS_OK. */
enum status status_from_wire(unsigned number);

#endif
