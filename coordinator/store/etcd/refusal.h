/* refusal.h - what an answer other than "200 OK" of etcd's gateway means. Pure.
 *
 * Owner:   reason and remedy are valid as long as the answer; both are texts for people.
 */
#ifndef ORBLOOM_COORDINATOR_STORE_ETCD_REFUSAL_H
#define ORBLOOM_COORDINATOR_STORE_ETCD_REFUSAL_H

#include <jansson.h>

enum etcd_refusal_kind {
    ETCD_REFUSAL_UNKNOWN,  /* no leader, a time-out inside: the request may have been executed */
    ETCD_REFUSAL_REQUEST,  /* refused for good; was not executed, as are all below */
    ETCD_REFUSAL_TOKEN,    /* the token has expired, or belongs to another member */
    ETCD_REFUSAL_USER,     /* user, password or permissions */
    ETCD_REFUSAL_SIZE,     /* past etcd's limit on requests */
    ETCD_REFUSAL_NOT_ETCD, /* nobody that speaks /v3 */
};

struct etcd_refusal {
    enum etcd_refusal_kind kind;
    const char *reason;
    const char *remedy;
};

/* `answer`: the body, or NULL when it is no JSON. */
struct etcd_refusal etcd_refusal_judge(long http, const json_t *answer);

#endif
