/* What nodes and routers ask for every sync_interval: what a node says is kept, and what is
 * newer in the store is handed back. */
#include "base/heap.h"
#include "coordinator/cluster.h"
#include "coordinator/duty.h"
#include "coordinator/features.h"
#include "coordinator/links.h"
#include "coordinator/records.h"
#include "coordinator/site/intake.h"
#include "coordinator/site/tell.h"
#include "coordinator/sites.h"
#include "coordinator/stored.h"
#include "coordinator/users/users.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SYNC_MAX_DOCUMENTS = 512,
    SYNC_MAX_ITEMS = SYNC_MAX_DOCUMENTS + STORE_MAX_SWAPS, /* one swap more is not torn apart */
    SYNC_GOAL_BYTES = 1 << 20,                             /* ask again for what is beyond */
    FOLLOWER_GAP_MOST_US = 600000000, /* more than the longest sync_interval, of all coordinators */
};

/* ---- followers ---- */

/* The longest time between two questions: one that is hinted asks early, and again as seldom as
 * before. */
static uint64_t longest_gap(const struct follower *one, uint64_t now_us)
{
    uint64_t gap_us = now_us > one->last_us ? now_us - one->last_us : 0;

    gap_us = gap_us > one->gap_us ? gap_us : one->gap_us;
    return gap_us < FOLLOWER_GAP_MOST_US ? gap_us : FOLLOWER_GAP_MOST_US;
}

static void note_follower(struct follower *one, uint64_t now_us, const struct peer *peer,
                          const struct sync_request *request)
{
    bool again = one->peer.size == peer->size && memcmp(one->peer.id, peer->id, peer->size) == 0;

    *one = (struct follower){
        .peer = *peer,
        .last_us = now_us,
        .gap_us = again ? longest_gap(one, now_us) : 0,
        .features = request->features,
        .key = request->key,
        .serves = request->role == SYNC_ROUTER && !link_report_said(&request->link),
    };
    if (request->role == SYNC_ROUTER) {
        (void)snprintf(one->name, sizeof one->name, "%s", request->name);
    }
}

static void follow(struct coordinator *self, uint64_t now_us, const struct peer *peer,
                   const struct sync_request *request)
{
    struct follower *oldest = &self->followers[0];

    for (size_t i = 0; i < COORDINATOR_MAX_PEERS; i++) {
        struct follower *one = &self->followers[i];

        if (one->peer.size == peer->size && memcmp(one->peer.id, peer->id, peer->size) == 0) {
            note_follower(one, now_us, peer, request);
            return;
        }
        oldest = one->last_us < oldest->last_us ? one : oldest;
    }
    note_follower(oldest, now_us, peer, request);
}

/* Those that have asked here lately and serve clients. Each of them allows users its share of their
 * limits. */
static uint32_t living_routers(const struct coordinator *self)
{
    uint32_t count = 0;

    for (size_t i = 0; i < COORDINATOR_MAX_PEERS; i++) {
        count += self->followers[i].serves &&
                 coordinator_follows_router(self, &self->followers[i], self->now_us);
    }
    return count;
}

void coordinator_check_store(struct coordinator *self, uint64_t now_us)
{
    if (self->store->moved == NULL || !self->store->moved(self->store->self)) {
        return;
    }
    /* What can't be read now is read when the next request comes. */
    if (records_refresh(self) == STATUS_OK && self->hinted != self->change) {
        coordinator_hint(self, now_us);
    }
}

/* ---- what a node says ---- */

/* A repeat, or overtaken: it says nothing of the present. */
static bool is_old(const struct heard *heard, const struct sync_request *request)
{
    return heard != NULL && heard->incarnation == request->incarnation &&
           heard->boot == request->boot && request->number <= heard->number;
}

static struct heard *hear_first(struct coordinator *self, uint32_t node)
{
    struct heard *grown = heap_realloc(self->heard, self->nheard + 1, sizeof *grown);

    if (grown == NULL) {
        return NULL;
    }
    self->heard = grown;
    grown[self->nheard] = (struct heard){.node = node};
    return &grown[self->nheard++];
}

void coordinator_note_alive(struct coordinator *self, uint64_t now_us,
                            const struct sync_request *request)
{
    struct heard *heard = coordinator_heard(self, coordinator_recognize(self, request));

    if (heard != NULL && heard->incarnation == request->incarnation &&
        heard->boot == request->boot) {
        heard_note(self, now_us, heard);
        age_note_alive(self, now_us, request);
    }
}

/* A page that begins no round tells what is new. */
static void wake_duties(struct coordinator *self, const struct sync_request *request)
{
    for (size_t i = 0; i < request->nreplicas && !report_page_begins(&request->page); i++) {
        for (size_t k = 0; duties[k] != NULL; k++) {
            if (duties[k]->wake != NULL) {
                duties[k]->wake(self, request->replicas[i].filter_id);
            }
        }
    }
}

static void remember(struct coordinator *self, uint64_t now_us, uint32_t node,
                     const struct sync_request *request)
{
    struct heard *heard = coordinator_heard(self, node);
    /* Else another store's. */
    uint64_t since = request->since <= self->change ? request->since : 0;
    bool goes_on;

    if (is_old(heard, request)) {
        return;
    }
    heard = heard != NULL ? heard : hear_first(self, node);
    goes_on = heard != NULL && heard->round.going;
    if (heard == NULL || !heard_take_page(heard, request, since)) {
        return;
    }
    if (heard->incarnation != request->incarnation || heard->position < request->position) {
        heard->position = request->position;
    }
    if (goes_on && !heard->round.going && !report_page_begins(&request->page)) {
        coordinator_count(self, COORDINATOR_report_rounds_total);
    }
    heard->incarnation = request->incarnation;
    heard->boot = request->boot;
    heard->number = request->number;
    heard_note(self, now_us, heard);
    self->expansion_news = true;
    wake_duties(self, request);
    heard->memory_used_bytes = request->memory_used_bytes;
    heard->disk_used_bytes = request->disk_used_bytes;
    heard->features = request->features;
    heard->key = request->key;
}

/* ---- the answer ---- */

/* Records for one answer, gathered in one buffer; spans are made when it has stopped moving. */
struct gathering {
    struct buffer bytes;
    enum status status;
    bool more;
    uint64_t last; /* version of the last record that is in */
    struct {
        uint64_t filter; /* whose document or secret it is; 0: a record of all */
        size_t at;
        size_t size;
    } items[2 * SYNC_MAX_ITEMS];
    size_t ndocuments; /* they come first ... */
    size_t nitems;     /* ... then secrets */
};

static bool gather(void *context, const char *key, uint64_t version, struct span value)
{
    struct gathering *self = context;
    bool filter = strncmp(key, "filter/", 7) == 0;

    /* Records of one swap share a version and must not be torn apart. */
    if (version != self->last &&
        (self->bytes.size >= SYNC_GOAL_BYTES || self->nitems >= SYNC_MAX_DOCUMENTS)) {
        self->more = true;
        return false;
    }
    self->last = version;
    if (!filter && strcmp(key, "nodes") != 0 && strcmp(key, RECORDS_DROPPED_KEY) != 0 &&
        strcmp(key, RECORDS_USERS_KEY) != 0) {
        return true;
    }
    self->items[self->nitems].filter = filter ? strtoull(key + 7, NULL, 10) : 0;
    self->items[self->nitems].at = self->bytes.size;
    self->items[self->nitems].size = value.size;
    self->status = buffer_append(&self->bytes, value);
    self->ndocuments = self->nitems += self->status == STATUS_OK;
    return self->status == STATUS_OK;
}

/* A secret is older than its filter's newest document, by so much that it may belong to another
 * answer; but a router can't take a secret before the document, nor serve one without. So they go
 * together, whatever changed. */
static enum status gather_secrets(struct coordinator *self, struct gathering *gathering)
{
    for (size_t i = 0; i < gathering->ndocuments; i++) {
        uint64_t filter = gathering->items[i].filter;
        size_t at = gathering->bytes.size;
        char key[STORE_KEY_BYTES];
        uint64_t version;
        enum status status;

        if (filter == 0) {
            continue;
        }
        (void)snprintf(key, sizeof key, "secret/%" PRIu64, filter);
        status = stored_get(self, key, &gathering->bytes, &version);
        if (status == STATUS_NOT_FOUND) {
            continue; /* Lost: the filter was created after the backup, and is being dropped. */
        }
        if (status != STATUS_OK) {
            return status;
        }
        gathering->items[gathering->nitems].filter = filter;
        gathering->items[gathering->nitems].at = at;
        gathering->items[gathering->nitems++].size = gathering->bytes.size - at;
    }
    return STATUS_OK;
}

/* Why a router is not to take what is missing for what does not exist. */
static const char *why_doubtful(struct coordinator *self, uint32_t node)
{
    if (age_reason(self) != NULL) {
        return age_reason(self);
    }
    return node == 0 && !age_could_tell(self, self->now_us)
               ? "this coordinator has just started, and no node has told yet whether its store is "
                 "current"
               : NULL;
}

/* Of a node that has not told all that it holds: where it is to go on. */
static void ask_held(const struct coordinator *self, const struct sync_request *request,
                     struct sync_reply *reply)
{
    const struct claim *claim = request->role == SYNC_NODE ? age_claim(self, request->name) : NULL;

    reply->held_lacks = claim != NULL && !age_told_all(claim, &reply->held_after);
}

/* Nothing while a store may be older than what nodes hold. */
static void tell_states(const struct coordinator *self, const struct sync_request *request,
                        struct sync_reply *reply)
{
    static struct site_filter states[TELL_MAX];
    struct tell_page page;

    if (reply->status != STATUS_OK) {
        return;
    }
    page = tell_since(self, request->states_since, request->states_of, states);
    reply->states = states;
    reply->nstates = page.count;
    reply->states_to = page.to;
    reply->states_of = page.of;
    reply->states_more = page.more;
}

static void send_gathered(struct coordinator *self, const struct peer *to,
                          const struct frame *frame, uint32_t node,
                          const struct gathering *gathering)
{
    const char *reason = why_doubtful(self, node);
    static struct span documents[SYNC_MAX_ITEMS];
    static struct sealed_secret secrets[SYNC_MAX_ITEMS];
    struct link_place places[COORDINATOR_MAX_LINKS];
    struct frame answer = {.correlation = frame->correlation, .kind = FRAME_SYNC_REPLY};
    struct sync_reply *reply = &answer.body.sync_reply;

    *reply = (struct sync_reply){
        .status = reason == NULL ? STATUS_OK : STATUS_UNAVAILABLE,
        .message = reason == NULL ? "" : reason,
        .store = self->mark.name,
        .change = gathering->more ? gathering->last : self->change,
        .more = gathering->more,
        .node_id = node,
        .cluster = cluster_record(self),
        .documents = documents,
        .secrets = secrets,
    };
    ask_held(self, &frame->body.sync_request, reply);
    if (frame->body.sync_request.role == SYNC_ROUTER &&
        link_report_said(&frame->body.sync_request.link)) {
        tell_states(self, &frame->body.sync_request, reply);
    }
    if (frame->body.sync_request.role == SYNC_ROUTER) {
        reply->routers = living_routers(self);
        reply->links = places;
        reply->nlinks = links_places(self, self->now_us, places);
    }
    for (size_t i = 0; i < gathering->nitems; i++) {
        struct span bytes = span_of(gathering->bytes.data + gathering->items[i].at,
                                    gathering->items[i].size);

        if (i >= gathering->ndocuments) {
            secrets[reply->nsecrets++] = (struct sealed_secret){
                .filter_id = gathering->items[i].filter, .sealed = bytes};
        } else {
            documents[reply->ndocuments++] = bytes;
        }
    }
    coordinator_reply(self, to, &answer);
}

static void answer_since(struct coordinator *self, const struct peer *to, const struct frame *frame,
                         uint32_t node)
{
    const struct sync_request *request = &frame->body.sync_request;
    struct gathering *gathering = heap_zalloc(1, sizeof *gathering);
    /* A number of another store says nothing of this one: start over. */
    bool ours = (request->store == self->mark.name || request->store == 0) &&
                request->since <= self->change;
    uint64_t since = ours ? request->since : 0;
    enum status status;

    if (gathering == NULL) {
        return;
    }
    gathering->last = since;
    buffer_init(&gathering->bytes, CODEC_MAX_FRAME_BYTES / 2);
    status = since == self->change ? STATUS_OK : stored_since(self, since, gather, gathering);
    if (status == STATUS_OK && gathering->status == STATUS_OK && request->role == SYNC_ROUTER) {
        status = gather_secrets(self, gathering);
    }
    if (status == STATUS_OK && gathering->status == STATUS_OK) {
        send_gathered(self, to, frame, node, gathering);
    }
    buffer_fini(&gathering->bytes);
    heap_free(gathering);
}

static void refuse(struct coordinator *self, const struct peer *to, const struct frame *frame,
                   enum status status, const struct registered *why)
{
    struct frame answer = {
        .correlation = frame->correlation,
        .kind = FRAME_SYNC_REPLY,
        .body.sync_reply = {.status = status,
                            .message = why->message,
                            .cluster = cluster_record(self)},
    };

    uint64_t wanted[CODEC_MAX_WANTED];

    if (status == STATUS_STALE) {
        answer.body.sync_reply.present = why->present;
    }
    if (status == STATUS_UNAVAILABLE && frame->body.sync_request.role == SYNC_NODE) {
        answer.body.sync_reply.wanted = wanted;
        answer.body.sync_reply.nwanted = age_wanted(
            self, age_claim(self, frame->body.sync_request.name), wanted, CODEC_MAX_WANTED);
        ask_held(self, &frame->body.sync_request, &answer.body.sync_reply);
    }
    if (why->unfit) {
        coordinator_count(self, COORDINATOR_registrations_refused_total);
    }
    coordinator_reply(self, to, &answer);
}

void coordinator_on_sync(struct coordinator *self, uint64_t now_us, const struct peer *from,
                         const struct frame *frame)
{
    const struct sync_request *request = &frame->body.sync_request;
    uint64_t arrived_us = work_arrived_us(self); /* Whoever has asked was there then. */
    struct registered registered = {0};
    enum status status = records_fresh(self);

    coordinator_count(self, COORDINATOR_syncs_total);
    if (request->role == SYNC_NODE && request->incarnation == 0) {
        coordinator_on_cluster_question(self, from, frame, status);
        return;
    }
    if (status != STATUS_OK && request->role == SYNC_NODE) {
        registered.node = coordinator_recognize(self, request);
    }
    if (status != STATUS_OK) {
        records_tell(self, status, "read", registered.message, sizeof registered.message);
    } else if (request->role == SYNC_NODE) {
        status = coordinator_register(self, now_us, request, &registered);
        if (status != STATUS_OK && registered.message[0] == '\0') {
            records_tell(self, status, "written", registered.message, sizeof registered.message);
        }
    }
    /* Also of one that is refused, or that can't be told anything now: it is there as it says. */
    if (registered.node != 0) {
        remember(self, arrived_us, registered.node, request);
    }
    if (status == STATUS_OK && request->role == SYNC_ROUTER) {
        status = features_check(self, request, registered.message);
        status = status == STATUS_OK ? sites_check(self, request, registered.message) : status;
        registered.unfit = status != STATUS_OK;
    }
    if (status == STATUS_OK && request->role == SYNC_ROUTER && age_differs(self)) {
        (void)snprintf(registered.message, sizeof registered.message, "%s", age_reason(self));
        status = STATUS_UNAVAILABLE;
    }
    if (status != STATUS_OK) {
        refuse(self, from, frame, status, &registered);
        return;
    }
    follow(self, arrived_us, from, request);
    if (request->role == SYNC_ROUTER && links_note(self, arrived_us, request)) {
        intake_filters(self, arrived_us, request->states, request->nstates);
        intake_evidence(self, arrived_us, request->name, request->evidence, request->nevidence);
    }
    users_note_uses(self, request->uses, request->nuses);
    answer_since(self, from, frame, registered.node);
}
