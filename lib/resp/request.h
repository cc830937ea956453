/* request.h - requests in RESP (the Redis serialization protocol, versions 2 and 3), taken out of
 * the bytes of a connection as they arrive.
 *
 * A request is an array of bulk strings ("*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n"), or a line of words
 * ("ECHO hi\r\n"), quoted where need be: "a\x00b" or 'a b'. Requests follow one another without
 * waiting for answers. An empty line and an empty array are requests without arguments, which
 * nobody answers.
 *
 * What is announced is never allocated, only what has come; nothing that was looked at is looked at
 * again when more comes, however small the pieces are.
 *
 * Source:  the RESP specification of the Redis documentation; texts of errors as Redis 7 gives
 *          them, where it has one.
 * Errors:  RESP_BROKEN with a text for the client, after which nothing can be made of the
 *          connection; RESP_NOMEM.
 * Owner:   whoever called resp_request_init() calls resp_request_fini().
 * Threads: none.
 */
#ifndef ORBLOOM_RESP_REQUEST_H
#define ORBLOOM_RESP_REQUEST_H

#include "base/buffer.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

enum { RESP_ERROR_BYTES = 96 };

struct resp_limits {
    uint32_t max_arguments;
    size_t max_bulk;    /* bytes of one argument */
    size_t max_request; /* bytes of all of it, with lengths and line ends */
    size_t max_line;    /* bytes of a request that is a line */
    bool stranger;      /* not authenticated: the limits are small, and errors say why */
};

enum resp_progress {
    RESP_MORE,    /* the rest has not come yet */
    RESP_REQUEST, /* the arguments are there */
    RESP_BROKEN,  /* `error` says what is wrong */
    RESP_NOMEM,
};

struct resp_request {
    /* After RESP_REQUEST, until the input changes or the next call: */
    struct span *arguments;
    uint32_t count;
    size_t size; /* bytes of the input that it took */

    /* After RESP_BROKEN: without the sign of an error and the line end. */
    char error[RESP_ERROR_BYTES];

    /* Private. */
    bool counted;    /* the head of the array was read */
    uint32_t wanted; /* arguments that it announced */
    bool measured;   /* the head of the next argument was read */
    size_t length;   /* ... and says so */
    size_t at;       /* where to go on */
    size_t looked;   /* no line end before this */
    size_t capacity;
    struct buffer words; /* of a line, without quotes */
};

void resp_request_init(struct resp_request *self);
void resp_request_fini(struct resp_request *self);

/* Look for a request at the start of `input`: all that has come of the connection and was not taken
 * by an earlier one. After RESP_MORE it is called with the same bytes and more behind them; they
 * may lie elsewhere. After RESP_REQUEST the next call begins with the next request, so `size` bytes
 * are to be gone by then. */
enum resp_progress resp_request_read(struct resp_request *self, const struct resp_limits *limits,
                                     struct span input);

#endif
