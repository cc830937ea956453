/* What processes have by this coordinator's ring whoever may ask anything at all may know. Who
 * signs with another key is what processes have said with their last sync. */
#include "coordinator/view/process_keys.h"

#include "coordinator/private.h"
#include "map/access/identity.h"

void coordinator_on_process_keys(struct coordinator *self, uint64_t now_us, const struct peer *from,
                                 const struct frame *frame)
{
    static const enum process_kind kinds[CURVE_NKINDS] = {
        [CURVE_ROUTER] = PROCESS_ROUTER,
        [CURVE_NODE] = PROCESS_NODE,
        [CURVE_COORDINATOR] = PROCESS_COORDINATOR,
    };
    struct process_key told[ADMIN_MAX_PROCESS_KEYS];
    struct frame answer = {.correlation = frame->correlation, .kind = FRAME_ADMIN_REPLY};
    struct process_keys keys;
    size_t count = 0;

    (void)now_us;
    process_keys_derive(&self->config.key, &keys);
    for (int kind = 0; kind < CURVE_NKINDS; kind++) {
        for (uint32_t i = 0; i < keys.of[kind].count; i++) {
            told[count].kind = kinds[kind];
            memcpy(told[count++].key, keys.of[kind].keys[i], CURVE_KEY_BYTES);
        }
    }
    answer.body.admin_reply = (struct admin_reply){
        .message = "", .process_keys = told, .nprocess_keys = count};
    coordinator_reply(self, from, &answer);
}

size_t process_keys_behind(const struct coordinator *self, uint64_t now_us, struct key_use *out)
{
    const struct node_list *nodes = &self->documents.nodes;
    uint64_t own = cluster_key_tag(&self->config.key);
    size_t count = 0;

    for (uint32_t i = 0; i < nodes->count; i++) {
        const struct heard *heard = coordinator_heard(self, nodes->nodes[i].id);

        if (heard != NULL && heard->key != 0 && heard->key != own &&
            coordinator_lately(self, now_us, heard->last_us)) {
            out[count++] = (struct key_use){PROCESS_NODE, nodes->nodes[i].name, heard->key};
        }
    }
    for (size_t i = 0; i < COORDINATOR_MAX_PEERS; i++) {
        const struct follower *one = &self->followers[i];

        if (one->key != 0 && one->key != own && coordinator_follows_router(self, one, now_us)) {
            out[count++] = (struct key_use){PROCESS_ROUTER, one->name, one->key};
        }
    }
    return count;
}
