/* Which of the operator's commands are changes, what each has looked at before, and how its
 * second look meets the first. */
#include "proto/admin_message.h"

#include <string.h>

bool admin_is_change(enum admin_action action)
{
    return action != ADMIN_STATUS && action != ADMIN_LOOK && action != ADMIN_MAP_BACKUP &&
           action != ADMIN_UPGRADE_STATUS && action != ADMIN_USER_LIST &&
           action != ADMIN_PROCESS_KEYS && action != ADMIN_SITE;
}

bool user_wish_has_key(const struct user_wish *self)
{
    static const uint8_t none[USER_KEY_BYTES];

    return memcmp(self->key, none, sizeof none) != 0;
}

bool admin_vouches(const struct admin_request *change)
{
    return change->nconfirmed_off > 0;
}

struct admin_request admin_look(const struct admin_request *change)
{
    return (struct admin_request){
        .action = ADMIN_LOOK,
        .timeout_ms = change->timeout_ms,
        .name = change->name,
        .successor = change->successor,
        .rename = {.name = change->action == ADMIN_RENAME ? change->rename.name : NULL},
    };
}

/* What may exist or not: it is made, or found. */
static bool makes(const struct admin_request *change)
{
    return change->action == ADMIN_CREATE ||
           (change->action == ADMIN_LOAD && change->load.step == LOAD_BEGIN);
}

static void take(struct admin_request *change, const struct admin_seen *seen)
{
    change->seen = *seen;
    change->seen.filter_id = 0;
    if (seen->filter_id != change->filter_id) {
        change->seen.revision = 0; /* Another filter's. */
    }
}

void admin_take_seen(struct admin_request *change, const struct admin_seen *seen)
{
    if (change->action == ADMIN_CREATE) {
        change->filter_id = 0;
    } else if (makes(change) || change->filter_id == 0) {
        change->filter_id = seen->filter_id;
    }
    take(change, seen);
}

static bool is_same(const struct admin_request *change, const struct admin_seen *seen)
{
    const struct admin_seen *before = &change->seen;

    return before->revision == seen->revision && before->binding == seen->binding &&
           before->target_revision == seen->target_revision &&
           before->target_binding == seen->target_binding &&
           before->nodes_revision == seen->nodes_revision &&
           before->store_version == seen->store_version;
}

bool admin_take_again(struct admin_request *change, const struct admin_seen *seen)
{
    const struct admin_seen *before = &change->seen;
    bool vouched = !admin_vouches(change) || before->nodes_revision == seen->nodes_revision;

    if (is_same(change, seen) || !vouched || before->target_id != seen->target_id ||
        before->node != seen->node || before->successor != seen->successor) {
        return false;
    }
    if (makes(change)) {
        admin_take_seen(change, seen);
        return true;
    }
    if (change->filter_id != seen->filter_id) {
        return false;
    }
    take(change, seen);
    return true;
}
