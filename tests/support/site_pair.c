/* Carries frames between two sites' links, with a delay, and keeps one clock for all. */
#include "tests/support/site_pair.h"

#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum {
    ARENA_BYTES = 64 << 20,
    DIALED = 7,
    /* and those above it */ FLUSH_US = 50000,
    WINDOW = 1 << 20
};

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};

/* ---- the network between them ---- */

static enum status post(struct site_pair_side *side, bool answer, uint32_t connection,
                        struct span bytes)
{
    struct site_pair *self = side->pair;
    uint32_t to = 1 - side->site;
    struct site_pair_frame *frame;
    struct frame decoded;

    self->sent_bytes[to] += bytes.size;
    self->posted = connection;
    cr_assert_eq(codec_decode(self->arena, bytes, &decoded), STATUS_OK);
    self->batches[connection] += decoded.kind == FRAME_SITE_BATCH &&
                                 decoded.body.site_batch.batch.size > 0;
    if (self->cut[to] || self->hangs[connection] ||
        (self->spy != NULL && !self->spy(self, to, &decoded))) {
        return STATUS_OK; /* libzmq has taken it; nothing tells that it was lost. */
    }
    cr_assert_lt(self->last - self->first, SITE_PAIR_FRAMES);
    frame = &self->frames[self->last++ % SITE_PAIR_FRAMES];
    *frame = (struct site_pair_frame){
        .to = to,
        .answer = answer,
        .connection = connection,
        .renewed = self->renewed[connection],
        .incarnation = self->sides[to].incarnation,
        .due_us = self->now_us + self->delay_us + self->late_us[connection],
        .bytes = malloc(bytes.size + 1),
        .size = bytes.size,
    };
    cr_assert_not_null(frame->bytes);
    memcpy(frame->bytes, bytes.data, bytes.size);
    return STATUS_OK;
}

/* The name of the first one is short; the others tell which they are, and how often they broke. */
static struct peer name_of(uint32_t connection, uint8_t renewed)
{
    struct peer name = {.size = 1, .id = {1, (uint8_t)connection, renewed}, .user = 1};

    name.size = connection > 0 || renewed > 0 ? 3 : 1;
    return name;
}

static enum status outer_reply(void *context, const struct peer *to, struct span bytes)
{
    const struct site_pair_side *side = context;

    return to->id[2] == side->pair->renewed[to->id[1]] ? post(context, true, to->id[1], bytes)
                                                       : STATUS_UNAVAILABLE;
}

static enum status outer_send(void *context, uint32_t link, struct span bytes)
{
    const struct site_pair_side *side = context;

    cr_assert(link >= DIALED && side->pair->opened[link - DIALED]);
    return post(context, false, link - DIALED, bytes);
}

static uint32_t outer_link_open(void *context, const char *endpoint)
{
    struct site_pair_side *side = context;
    bool *opened = side->pair->opened;
    uint32_t connection = 0;

    cr_assert_str_eq(endpoint, "tcp://us:7420");
    while (opened[connection]) {
        connection++;
        cr_assert_lt(connection, SITE_MAX_CONNECTIONS);
    }
    opened[connection] = true;
    return DIALED + connection;
}

static void outer_link_close(void *context, uint32_t link)
{
    struct site_pair_side *side = context;

    cr_assert(link >= DIALED && side->pair->opened[link - DIALED]);
    side->pair->opened[link - DIALED] = false;
    side->pair->renewed[link - DIALED]++;
}

static uint64_t outer_random(void *context)
{
    struct site_pair_side *side = context;

    return side->circle.nodes[0].effects.random(&side->circle.nodes[0]);
}

static void deliver(struct site_pair *self, const struct site_pair_frame *frame)
{
    struct site_pair_side *side = &self->sides[frame->to];
    const struct peer from = name_of(frame->connection, frame->renewed);

    if (side->link == NULL || side->incarnation != frame->incarnation ||
        frame->renewed != self->renewed[frame->connection]) {
        return;
    }
    if (frame->answer) {
        side->face.on_answer(side->face.self, side->circle.now_us, DIALED + frame->connection,
                             span_of(frame->bytes, frame->size));
    } else {
        side->face.on_request(side->face.self, side->circle.now_us, &from,
                              span_of(frame->bytes, frame->size));
    }
}

static void deliver_due(struct site_pair *self)
{
    for (size_t at = self->first; at < self->last; at++) {
        struct site_pair_frame *frame = &self->frames[at % SITE_PAIR_FRAMES];
        struct site_pair_frame due = *frame;

        if (due.bytes != NULL && due.due_us <= self->now_us) {
            frame->bytes = NULL;
            deliver(self, &due);
            free(due.bytes);
        }
    }
    while (self->first < self->last && self->frames[self->first % SITE_PAIR_FRAMES].bytes == NULL) {
        self->first++;
    }
}

void site_pair_break(struct site_pair *self, uint32_t connection)
{
    self->renewed[connection]++;
}

void site_pair_say(struct site_pair *self, uint32_t connection, const struct frame *frame)
{
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(frame, &bytes), STATUS_OK);
    cr_assert_eq(post(&self->sides[0], false, connection, buffer_span(&bytes)), STATUS_OK);
    buffer_fini(&bytes);
}

void site_pair_run(struct site_pair *self, uint64_t us)
{
    uint64_t until_us = self->now_us + us;

    while (self->now_us < until_us) {
        deliver_due(self);
        self->now_us += SITE_PAIR_STEP_US;
        for (uint32_t site = 0; site < 2; site++) {
            struct circle *circle = &self->sides[site].circle;

            if (circle->now_us < self->now_us) {
                circle_run(circle, self->now_us - circle->now_us);
            }
        }
    }
}

/* ---- links ---- */

void site_pair_link_stop(struct site_pair *self, uint32_t site)
{
    struct site_pair_side *side = &self->sides[site];

    circle_guest_stop(&side->circle);
    for (uint32_t i = 0; site == 0 && i < SITE_MAX_CONNECTIONS; i++) {
        self->renewed[i] += self->opened[i];
        self->opened[i] = false;
    }
    router_destroy(&side->router);
    link_destroy(&side->link);
}

void site_pair_link_start(struct site_pair *self, uint32_t site)
{
    struct site_pair_side *side = &self->sides[site];
    const struct router_config router = {
        .name = "link",
        .coordinators = {"tcp://coordinator:7400", "tcp://coordinator-2:7400"},
        .ncoordinators = self->ncoordinators,
        .key = *sample_key(),
        .max_inflight_bytes = 64 << 20,
        .hedge_us = 20000,
        .retry_us = 100000,
        .max_timeout_us = 60000000,
        .sync_interval_us = 1000000,
    };
    struct link_config config = {
        .name = "link",
        .id = sample_site_id(site),
        .npeers = 1,
        .flush_us = FLUSH_US,
        .mark_interval_us = LINK_MARK_INTERVAL_US,
        .window = self->window,
        .held = self->held,
        .rate = self->rate,
        .scrub_us = self->scrub_us,
        .connections = self->connections[site],
        .crowd = self->crowd,
    };
    struct actor core;
    struct actor inner;

    cr_assert_null(side->link);
    strcpy(config.site, sample_site_name(site));
    strcpy(config.peers[0].name, sample_site_name(1 - site));
    config.peers[0].id = sample_site_id(1 - site);
    if (site == 0) {
        strcpy(config.peers[0].endpoint, "tcp://us:7420");
    }
    side->incarnation++;
    cr_assert_eq(
        link_create(&config, circle_guest_effects(&side->circle), &side->outer, &side->link),
        STATUS_OK);
    cr_assert_eq(router_create(&router, link_router_effects(side->link), &side->router), STATUS_OK);
    core = router_actor(side->router);
    link_attach(side->link, side->router, &core);
    inner = link_inner_actor(side->link);
    side->face = link_outer_actor(side->link);
    circle_guest_start(&side->circle, &inner);
}

/* ---- the filter ---- */

void site_pair_hand(struct site_pair *self, uint32_t site)
{
    struct site_pair_side *side = &self->sides[site];

    circle_hand(&side->circle, &side->document, 0);
}

static void side_init(struct site_pair *self, uint32_t site)
{
    struct site_pair_side *side = &self->sides[site];

    side->pair = self;
    side->site = site;
    side->outer = (struct effects){
        .context = side,
        .reply = outer_reply,
        .link_open = outer_link_open,
        .link_close = outer_link_close,
        .send = outer_send,
        .random = outer_random,
    };
    circle_init(&side->circle, self->nnodes);
    side->circle.random += site; /* No boot of one site is one of the other's. */
    circle_document(&side->circle, SITE_PAIR_FILTER, &rule, self->nnodes, &side->document);
    sample_sites(site, &side->document);
    side->circle.stored = &side->document;
    site_pair_hand(self, site);
    site_pair_link_start(self, site);
}

void site_pair_init(struct site_pair *self, uint32_t nnodes)
{
    memset(self, 0, sizeof *self);
    self->nnodes = nnodes;
    self->window = WINDOW;
    self->ncoordinators = 1;
    self->delay_us = 40000;
    cr_assert_eq(codec_arena_create(ARENA_BYTES, &self->arena), STATUS_OK);
    side_init(self, 0);
    side_init(self, 1);
    self->now_us = self->sides[0].circle.now_us > self->sides[1].circle.now_us
                       ? self->sides[0].circle.now_us
                       : self->sides[1].circle.now_us;
}

void site_pair_fini(struct site_pair *self)
{
    for (uint32_t site = 0; site < 2; site++) {
        struct site_pair_side *side = &self->sides[site];

        if (side->link != NULL) {
            site_pair_link_stop(self, site);
        }
        circle_fini(&side->circle);
        document_fini(&side->document);
    }
    while (self->first < self->last) {
        free(self->frames[self->first++ % SITE_PAIR_FRAMES].bytes);
    }
    codec_arena_destroy(&self->arena);
}

/* ---- what tests say ---- */

void site_pair_add(struct site_pair *self, uint32_t site, unsigned nodes, const uint64_t *keys,
                   uint32_t count)
{
    struct site_pair_side *side = &self->sides[site];

    side->batch++;
    for (uint32_t id = 1; id <= self->nnodes; id++) {
        if ((nodes >> id & 1) != 0) {
            cr_assert_eq(circle_add(&side->circle, id, &side->document, side->batch, keys, count),
                         STATUS_OK);
        }
    }
}

static uint32_t reader_of(const struct site_pair_side *side, uint32_t group, uint32_t slot)
{
    return slot_reader(&side->document.content.groups[group].slots[slot % 3])->node;
}

void site_pair_add_group(struct site_pair *self, uint32_t site, uint32_t group, uint32_t first,
                         const uint64_t *keys, uint32_t count)
{
    struct site_pair_side *side = &self->sides[site];
    unsigned nodes = 0;

    nodes |= 1U << reader_of(side, group, first);
    nodes |= 1U << reader_of(side, group, first + 1);
    site_pair_add(self, site, nodes, keys, count);
}

uint32_t site_pair_copies(struct site_pair *self, uint32_t site, uint32_t group,
                          const uint64_t *keys, uint32_t count)
{
    struct site_pair_side *side = &self->sides[site];
    uint32_t copies = 0;

    for (uint32_t slot = 0; slot < 3; slot++) {
        uint32_t node = reader_of(side, group, slot);

        copies += circle_node(&side->circle, node) != NULL &&
                  site_pair_count(self, site, node, keys, count) == (int)count;
    }
    return copies;
}

int site_pair_count(struct site_pair *self, uint32_t site, uint32_t node, const uint64_t *keys,
                    uint32_t count)
{
    struct site_pair_side *side = &self->sides[site];

    return circle_count(&side->circle, node, &side->document, keys, count);
}

uint64_t site_pair_counter(const struct site_pair *self, uint32_t site, const char *name)
{
    const struct counter_table table = link_counters();

    for (size_t i = 0; i < table.count; i++) {
        if (strcmp(table.defs[i].name, name) == 0) {
            return link_counts(self->sides[site].link)[i];
        }
    }
    cr_assert(false, "no counter %s", name);
    return 0;
}
