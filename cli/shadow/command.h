/* command.h - what a client's command is to a shadow: does it add keys, or look them up?
 *
 * Errors:  a command that is not understood is SHADOW_PLAIN: it is the old server's alone.
 * Owner:   spans point into the request.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHADOW_COMMAND_H
#define ORBLOOM_CLI_SHADOW_COMMAND_H

#include "base/span.h"
#include "resp/request.h"

enum {
    SHADOW_REQUEST_BYTES =
        8 << 20,              /* of one that the new server is sent; it takes no larger ones */
    SHADOW_MOST_KEYS = 65536, /* ... */
};

enum shadow_kind {
    SHADOW_PLAIN,
    SHADOW_ADD,   /* BF.ADD, BF.MADD, BF.INSERT: to both */
    SHADOW_CHECK, /* BF.EXISTS, BF.MEXISTS: to both */
    SHADOW_MAKE,  /* BF.RESERVE: to both */
    SHADOW_EXEC,
    SHADOW_DISCARD,
    SHADOW_SELECT,
    SHADOW_RESET,
    SHADOW_BLIND, /* from then on answers are not one a command: all is passed on unseen */
};

/* Does it go to both? */
static inline bool shadow_is_about_keys(enum shadow_kind kind)
{
    return kind == SHADOW_ADD || kind == SHADOW_CHECK || kind == SHADOW_MAKE;
}

struct shadow_command {
    enum shadow_kind kind;
    uint32_t database; /* SHADOW_SELECT */
    struct span filter;
    const struct span *keys; /* SHADOW_ADD, SHADOW_CHECK */
    uint32_t nkeys;
    bool unread; /* no memory: it may be anything */
};

/* A whole request; `parser` holds what the command points to until its next call. */
struct shadow_command shadow_command_read(struct resp_request *parser, struct span request);

/* Could a request that begins so go to both? Of one whose name has not come yet: it could. */
bool shadow_command_may_matter(struct span begin);

#endif
