/* Tables of etcd's texts and gRPC's codes: may a refused request have been executed, and what is
 * to be done? */
#include "coordinator/store/etcd/refusal.h"

#include <string.h>

/* What etcd says, in part; the first that fits. */
static const struct {
    const char *part;
    enum etcd_refusal_kind kind;
    const char *remedy;
} known[] = {
    {"invalid auth token", ETCD_REFUSAL_TOKEN, "see etcd's log"},
    {"revision of auth store is old", ETCD_REFUSAL_TOKEN, "see etcd's log"},
    {"invalid user ID or password", ETCD_REFUSAL_USER, "check etcd_user and etcd_password_file"},
    {"user name is empty", ETCD_REFUSAL_USER, "give etcd_user and etcd_password_file"},
    {"permission denied", ETCD_REFUSAL_USER,
     "grant etcd_user a role that may read and write all keys below etcd_prefix"},
    {"authentication is not enabled", ETCD_REFUSAL_USER,
     "leave out etcd_user, or run: etcdctl auth enable"},
    {"request is too large", ETCD_REFUSAL_SIZE, "raise etcd's --max-request-bytes"},
    {"larger than max", ETCD_REFUSAL_SIZE, "raise etcd's --max-request-bytes"},
    {"database space exceeded", ETCD_REFUSAL_REQUEST,
     "compact and defragment etcd or raise --quota-backend-bytes, then: etcdctl alarm disarm"},
};

/* Numbers of gRPC's codes. */
enum { CODE_INVALID = 3, CODE_DENIED = 7, CODE_EXHAUSTED = 8, CODE_UNAUTHENTICATED = 16 };

static const char *text_of(const json_t *answer)
{
    const char *error = json_string_value(json_object_get(answer, "error"));

    return error != NULL ? error : json_string_value(json_object_get(answer, "message"));
}

static struct etcd_refusal judge_code(long http, json_int_t code, const char *text)
{
    if (code == CODE_UNAUTHENTICATED || http == 401) {
        return (struct etcd_refusal){ETCD_REFUSAL_TOKEN, text, "see etcd's log"};
    }
    if (code == CODE_DENIED || http == 403) {
        return (struct etcd_refusal){ETCD_REFUSAL_USER, text, "check etcd_user and what it may do"};
    }
    if (code == CODE_INVALID || code == CODE_EXHAUSTED) {
        return (struct etcd_refusal){ETCD_REFUSAL_REQUEST, text, "see etcd's log"};
    }
    return (struct etcd_refusal){ETCD_REFUSAL_UNKNOWN, text, "see etcd's log"};
}

struct etcd_refusal etcd_refusal_judge(long http, const json_t *answer)
{
    const char *text = text_of(answer);

    if (text == NULL && http >= 500) {
        return (struct etcd_refusal){ETCD_REFUSAL_UNKNOWN, "it answers with an error of the server",
                                     "see its log"};
    }
    if (text == NULL) {
        return (struct etcd_refusal){
            ETCD_REFUSAL_NOT_ETCD, "what answers is no etcd, or has no JSON gateway",
            "name the endpoints of etcd 3.4 or newer, usually of port 2379"};
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strstr(text, known[i].part) != NULL) {
            return (struct etcd_refusal){known[i].kind, text, known[i].remedy};
        }
    }
    return judge_code(http, json_integer_value(json_object_get(answer, "code")), text);
}
