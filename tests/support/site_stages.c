/* Plays the link that carries what coordinators of several sites say to each other. */
#include "tests/support/site_stages.h"

#include "coordinator/private.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { LINK_PEER = 700, RUN_ROUNDS = 6 };

struct site_stage site_stages[SITE_STAGES];

static uint32_t nsites;
static uint32_t starts; /* no two draw the same numbers */
static const char *const names[SITE_STAGES] = {"eu", "us", "ap"};
static const struct hash_secret secret = {{1, 2, 3}};

struct site_id site_stages_id(uint32_t i)
{
    static const struct site_id ids[SITE_STAGES] = {{0xe0, 1}, {0x05, 1}, {0xa9, 1}};

    return ids[i];
}

const char *site_stages_name(uint32_t i)
{
    return names[i];
}

/* ---- coordinators ---- */

static void begin(struct site_stage *self, uint32_t i)
{
    coordinator_stage_init(&self->stage, &self->store.store);
    (void)snprintf(self->stage.coordinator->config.site, SITE_NAME_BYTES, "%s", names[i]);
    self->stage.fake.random = 1000u * ++starts + i;
    coordinator_stage_report(&self->stage, 3, 0, 0, REPLICA_NONE);
}

void site_stages_init(uint32_t n)
{
    coordinator_stage_disks = true;
    nsites = n;
    memset(site_stages, 0, sizeof site_stages);
    for (uint32_t i = 0; i < n; i++) {
        memory_store_init(&site_stages[i].store);
        begin(&site_stages[i], i);
    }
    for (uint32_t i = 0; i < n; i++) {
        site_stages_sync(i);
    }
}

void site_stages_fini(void)
{
    for (uint32_t i = 0; i < nsites; i++) {
        coordinator_stage_fini(&site_stages[i].stage);
        memory_store_fini(&site_stages[i].store);
    }
}

void site_stages_restart(uint32_t i)
{
    struct site_stage *self = &site_stages[i];
    uint64_t now_us = self->stage.now_us;

    coordinator_stage_fini(&self->stage);
    begin(self, i);
    self->stage.now_us = now_us > self->stage.now_us ? now_us : self->stage.now_us;
}

void site_stages_make(uint32_t acks)
{
    struct coordinator_stage *stage = &site_stages[EU].stage;
    struct admin_request create = coordinator_stage_create();

    create.create.durability = DURABILITY_SYNC;
    create.create.when_full = WHEN_FULL_EXPAND;
    create.create.max_staleness = 5000001;
    create.create.acks = acks;
    coordinator_stage_command(stage, 1, &create);
    coordinator_stage_report(stage, 3, 1, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(stage).status, STATUS_OK);
}

const struct filter_document *site_stages_document(uint32_t i, const char *name)
{
    const struct document_entry *entry = document_cache_find_name(
        &site_stages[i].stage.coordinator->documents, name);

    return entry != NULL ? &entry->document : NULL;
}

struct coordinator_told site_stages_change(uint32_t i, enum site_step step, const char *site)
{
    const struct admin_request request = {
        .action = ADMIN_SITE_CHANGE,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .name = "urls",
        .successor = "",
        .site = {.step = step, .site = site},
    };

    coordinator_stage_command(&site_stages[i].stage, 7, &request);
    return coordinator_stage_told(&site_stages[i].stage);
}

/* ---- links ---- */

static struct sync_request question(uint32_t i)
{
    struct sync_request request = {.role = SYNC_ROUTER,
                                   .name = "link-1",
                                   .endpoint = "tcp://10.0.0.1:7420",
                                   .host = "",
                                   .zone = "",
                                   .site = names[i],
                                   .features = features_known(),
                                   .link = {.id = site_stages_id(i)},
                                   .states_since = site_stages[i].told_to,
                                   .states_of = site_stages[i].told_of};

    if (site_stages[i].key.high != 0) {
        request.link.id = site_stages[i].key;
    }
    for (uint32_t k = 0; k < nsites; k++) {
        if (k != i) {
            struct link_peer *peer = &request.link.peers[request.link.npeers++];

            (void)snprintf(peer->name, sizeof peer->name, "%s", names[k]);
            peer->id = site_stages_id(k);
            peer->connected = !site_stages[i].cut && !site_stages[k].cut;
        }
    }
    return request;
}

/* The last thing that it has said of the only filter. */
static void take_words(struct site_stage *self)
{
    for (size_t n = 0; n < self->stage.states.count; n++) {
        self->words.said = true;
        self->words.told = self->stage.states.items[n];
        (void)snprintf(self->words.name, sizeof self->words.name, "%s",
                       self->stage.states.names[n]);
    }
    self->told_to = self->stage.states.to;
    self->told_of = self->stage.states.of;
}

void site_stages_sync(uint32_t i)
{
    struct site_stage *self = &site_stages[i];
    struct sync_request request = question(i);
    struct site_filter states[SITE_STAGES];
    struct site_evidence evidence[SITE_STAGES];
    uint8_t sealed[SEAL_SECRET_BYTES];
    const uint8_t nonce[SEAL_NONCE_BYTES] = {9};

    for (uint32_t k = 0; k < nsites; k++) {
        if (self->heard[k].said) {
            struct site_filter *told = &states[request.nstates++];

            *told = self->heard[k].told;
            told->filter = self->heard[k].name;
            if (!told->dropped) {
                seal_secret(sample_key(), site_secret_name(&told->uid), &secret, nonce, sealed);
                told->sealed_secret = span_of(sealed, sizeof sealed);
            }
        }
        if (self->evidence[k].uid.high != 0) {
            evidence[request.nevidence++] = self->evidence[k];
        }
    }
    request.states = states;
    request.evidence = evidence;
    cr_assert_eq(coordinator_stage_send(&self->stage, LINK_PEER, &request).status, STATUS_OK, "%s",
                 self->stage.synced.message);
    take_words(self);
}

void site_stages_carry(void)
{
    for (uint32_t i = 0; i < nsites; i++) {
        for (uint32_t k = 0; k < nsites; k++) {
            if (i != k && !site_stages[i].cut && !site_stages[k].cut && site_stages[k].words.said) {
                site_stages[i].heard[k] = site_stages[k].words;
            }
        }
    }
}

void site_stages_confirm(uint32_t i)
{
    struct coordinator_stage *stage = &site_stages[i].stage;

    for (uint32_t n = 1; n <= 3; n++) {
        for (size_t k = 0; k < stage->nfences; k++) {
            if (stage->fences[k].node == n) {
                coordinator_stage_confirm(stage, n, SAMPLE_INCARNATION + n, STATUS_OK);
                break;
            }
        }
    }
    stage->nfences = 0;
}

void site_stages_run(void)
{
    for (int round = 0; round < RUN_ROUNDS; round++) {
        for (uint32_t i = 0; i < nsites; i++) {
            coordinator_stage_report(&site_stages[i].stage, 3, 0, 0, REPLICA_NONE);
            site_stages_sync(i);
            coordinator_stage_pass(&site_stages[i].stage, 1100000);
            site_stages_confirm(i);
            coordinator_stage_turn(&site_stages[i].stage);
            site_stages_sync(i);
        }
        site_stages_carry();
    }
}

static struct site_evidence *evidence_of(uint32_t i, uint32_t k)
{
    struct site_evidence *evidence = &site_stages[i].evidence[k];
    const struct site_filter *there = &site_stages[i].heard[k].told;
    const struct site_filter *here = &site_stages[i].words.told;

    cr_assert(site_stages[i].heard[k].said && site_stages[i].words.said);
    cr_assert(there->is_fenced && here->is_fenced);
    if (site_life_compare(&evidence->source_life, &site_set_own(&there->fenced)->life) != 0 ||
        site_life_compare(&evidence->own_life, &site_set_own(&here->fenced)->life) != 0) {
        *evidence = (struct site_evidence){0};
    }
    evidence->uid = there->uid;
    evidence->site = site_stages_id(k);
    evidence->source_life = site_set_own(&there->fenced)->life;
    evidence->own_life = site_set_own(&here->fenced)->life;
    return evidence;
}

void site_stages_mark(uint32_t i, uint32_t k)
{
    evidence_of(i, k)->marked = site_stages[i].heard[k].told.fenced;
}

void site_stages_copy(uint32_t i, uint32_t k)
{
    struct site_evidence *evidence = evidence_of(i, k);

    evidence->compared = site_stages[i].heard[k].told.fenced;
    evidence->compared_here = site_stages[i].words.told.fenced;
}

/* ---- what is seen ---- */

const char *site_stages_awaited(uint32_t i)
{
    static char text[COORDINATOR_MESSAGE_BYTES];
    struct coordinator_stage *stage = &site_stages[i].stage;
    const struct frame frame = {
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request = {.action = ADMIN_SITE,
                               .timeout_ms = 1000,
                               .name = "urls",
                               .successor = "",
                               .site = {.step = SITE_STEP_LIST, .site = ""}}};
    struct fake_sent sent = {0};

    fake_request(&stage->actor, stage->now_us, 900, &frame);
    do {
        cr_assert(fake_take(&stage->fake, &sent));
    } while (sent.frame.kind != FRAME_ADMIN_REPLY);
    cr_assert_eq(sent.frame.body.admin_reply.status, STATUS_OK);
    (void)snprintf(text, sizeof text, "%s",
                   sent.frame.body.admin_reply.sites.nfilters == 1
                       ? sent.frame.body.admin_reply.sites.filters[0].awaited
                       : "no filter");
    coordinator_stage_collect(stage);
    return text;
}

int site_stages_state(uint32_t i, uint32_t k)
{
    const struct filter_document *document = site_stages_document(i, "urls");
    struct site_id id = site_stages_id(k);
    const struct site_entry *entry = document != NULL ? site_set_find(document_sites(document), &id)
                                                      : NULL;

    return entry != NULL ? (int)entry->state : 0;
}
