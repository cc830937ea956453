/* How many connections a second a server lets in: handshakes ENDPOINT [CREDENTIAL] [COUNT]
 *
 * Links are opened by the dozen, 64 at a time, each closed once something can be sent on it, until
 * COUNT (2,000) have been. With a credential file they speak CURVE, else plain ZMTP. Prints the
 * rate, a number. Exit: 0; 1 when one is not let in, saying why; 2 for wrong usage.
 */
#include "base/number.h"
#include "client/shell_credential.h"
#include "runtime/hub.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { AT_ONCE = 64, COUNT = 2000, MOST = 1000000, LIMIT_US = 60000000, EXIT_USAGE = 2 };

struct visitor {
    struct hub *hub;
    const struct effects *effects;
    struct hub_curve curve;
    struct credential credential;
    bool plain;
    const char *endpoint;
    uint32_t links[AT_ONCE];
    uint64_t opened;
    uint64_t in;
    uint64_t wanted;
    bool refused;
};

static size_t dial(void *context, const char *endpoint, bool *plain,
                   struct hub_dial dials[HUB_MAX_DIALS])
{
    const struct visitor *self = context;
    const struct public_keys *keys = &self->credential.processes.of[CURVE_ROUTER];

    (void)endpoint;
    *plain = self->plain;
    if (self->plain || keys->count == 0) {
        return 0;
    }
    dials[0].own = self->credential.pair;
    memcpy(dials[0].server, keys->keys[0], CURVE_KEY_BYTES);
    return 1;
}

/* A frame of nothing: whoever gets it drops it. */
static void try_all(struct visitor *self)
{
    const struct effects *effects = self->effects;

    for (size_t i = 0; i < AT_ONCE; i++) {
        if (self->links[i] != 0 &&
            effects->send(effects->context, self->links[i], span_text("")) == STATUS_OK) {
            effects->link_close(effects->context, self->links[i]);
            self->links[i] = 0;
            self->in++;
        }
        if (self->links[i] == 0 && self->opened < self->wanted) {
            self->links[i] = effects->link_open(effects->context, self->endpoint);
            self->opened++;
        }
    }
}

/* ---- an actor that only dials ---- */

static void on_request(void *context, uint64_t now_us, const struct peer *from, struct span frame)
{
    (void)context, (void)now_us, (void)from, (void)frame;
}

static void on_answer(void *context, uint64_t now_us, uint32_t link, struct span frame)
{
    (void)context, (void)now_us, (void)link, (void)frame;
}

static void on_shut_out(void *context, uint64_t now_us, uint32_t link, const char *cause)
{
    struct visitor *self = context;

    (void)now_us, (void)link;
    if (!self->refused) {
        (void)fprintf(stderr, "handshakes: %s\n", cause);
    }
    self->refused = true;
}

static void nothing(void *context, uint64_t now_us)
{
    (void)context, (void)now_us;
}

static uint64_t never(void *context)
{
    (void)context;
    return ACTOR_NEVER;
}

static bool idle(void *context, uint64_t now_us)
{
    (void)context, (void)now_us;
    return false;
}

static bool open_hub(struct visitor *self)
{
    const struct hub_options options = {.max_frame_bytes = 1024, .curve = &self->curve};
    const struct actor actor = {
        .self = self,
        .on_request = on_request,
        .on_answer = on_answer,
        .turn = nothing,
        .next_us = never,
        .time = nothing,
        .work = idle,
        .on_shut_out = on_shut_out,
    };

    self->curve = (struct hub_curve){.context = self, .dial = dial};
    if (hub_create(&options, &self->hub) != STATUS_OK) {
        return false;
    }
    self->effects = hub_effects(self->hub);
    hub_attach(self->hub, &actor);
    return true;
}

static int run(struct visitor *self)
{
    uint64_t start_us = hub_now_us();

    while (self->in < self->wanted && !self->refused && hub_now_us() - start_us < LIMIT_US) {
        try_all(self);
        hub_run_once(self->hub, 200);
    }
    if (self->in < self->wanted) {
        (void)fprintf(stderr, "handshakes: %" PRIu64 " of %" PRIu64 " were let in\n", self->in,
                      self->wanted);
        return 1;
    }
    (void)printf("%.1f\n", (double)self->wanted * 1e6 / (double)(hub_now_us() - start_us));
    return 0;
}

int main(int argc, char **argv)
{
    static struct visitor self = {.wanted = COUNT, .plain = true};
    char reason[512];
    int code = 1;

    if (argc < 2 || argc > 4 ||
        (argc > 3 && (number_parse_count(argv[3], &self.wanted) != STATUS_OK || self.wanted == 0 ||
                      self.wanted > MOST))) {
        (void)fprintf(stderr, "usage: handshakes ENDPOINT [CREDENTIAL|none] [COUNT]\n");
        return EXIT_USAGE;
    }
    self.endpoint = argv[1];
    self.plain = argc < 3 || strcmp(argv[2], "none") == 0;
    if (!self.plain && credential_file_read(argv[2], &self.credential, reason) != STATUS_OK) {
        (void)fprintf(stderr, "handshakes: %s\n", reason);
        return 1;
    }
    if (open_hub(&self)) {
        code = run(&self);
    }
    hub_destroy(&self.hub);
    credential_wipe(&self.credential);
    return code;
}
