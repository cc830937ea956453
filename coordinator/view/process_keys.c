/* The public keys that processes have by this coordinator's ring: whoever may ask anything at all
 * may know them, as everybody sees them who dials. */
#include "coordinator/view/process_keys.h"

#include "coordinator/private.h"
#include "map/identity.h"

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
