/* A board of what the own coordinators say, from which each channel is told, and one of each other
 * site, from which coordinators are. What went out with a question is heard once that one is
 * answered; a channel loses what it was given only when it breaks, and then it is another one. */
#include "link/states.h"

#include "base/heap.h"
#include "base/link_ring.h"
#include "base/token_bucket.h"
#include "link/private.h"
#include "link/received/evidence.h"
#include "link/state_board.h"

#include <assert.h>
#include <string.h>

enum {
    ARENA_BYTES = 32 << 20,
    PAGE_STATES = 64,
    SENT_PER_SECOND = 1000,     /* states, to one link */
    ACCEPTED_PER_SECOND = 4000, /* that are looked at, as they differ; of one site */
    SEND_AGAIN_US = 50000,
    ASK_US = 100000, /* coordinators are told no more often, what changes */
    ASK_AGAIN_US = 1000000,
    PROVE_AGAIN_US = 10000000, /* evidence, to each coordinator of several */
};

/* Who is told what this site says. */
struct told_channel {
    uint64_t number; /* of the channel that the rest is of; 0: none */
    struct state_place place;
    struct token_bucket rate;
    uint64_t again_us; /* it could not be sent */
};

/* What a coordinator has heard, and how far what it says is here. Each counts for itself. */
struct told_coordinator {
    struct state_place heard[LINK_MAX_SITES];
    uint32_t peer; /* whose states it was told last; then it is the next one's turn */
    uint64_t since;
    uint64_t of;
    bool answers;       /* it did the last time; who does not is asked no sooner for what is new */
    uint64_t proved_us; /* when it was told all evidence */
};

struct states {
    struct state_board own;
    struct state_board others[LINK_MAX_SITES];
    struct told_channel told[LINK_MAX_CHANNELS];
    struct token_bucket accepted[LINK_MAX_SITES];
    struct log_limit refused_log;

    struct told_coordinator coordinators[LINK_RING_MAX];
    struct told_coordinator *filled; /* to whom the last question went; NULL: none did */
    struct state_place filled_to;    /* what it has heard if it answers, of its peer */
    bool filled_proofs;              /* ... and all evidence */
    bool asking;
    uint64_t asked_us;
    uint64_t next_ask_us;

    struct codec_arena *arena;
    struct site_filter page[PAGE_STATES];
    struct hash_secret secrets[PAGE_STATES];
    uint8_t sealed[PAGE_STATES][SEAL_SECRET_BYTES];
};

enum status states_create(struct states **out)
{
    struct states *self = heap_zalloc(1, sizeof *self);

    if (self == NULL || codec_arena_create(ARENA_BYTES, &self->arena) != STATUS_OK) {
        heap_free(self);
        return STATUS_NOMEM;
    }
    state_board_init(&self->own);
    for (uint32_t peer = 0; peer < LINK_MAX_SITES; peer++) {
        state_board_init(&self->others[peer]);
    }
    *out = self;
    return STATUS_OK;
}

void states_destroy(struct states **states)
{
    struct states *self = *states;

    *states = NULL;
    if (self == NULL) {
        return;
    }
    state_board_fini(&self->own);
    for (uint32_t peer = 0; peer < LINK_MAX_SITES; peer++) {
        state_board_fini(&self->others[peer]);
    }
    codec_arena_destroy(&self->arena);
    heap_free(self);
}

/* ---- what other sites say ---- */

static void refuse(struct link *self, uint64_t now_us, const char *site,
                   const struct site_filter *state, const char *fault)
{
    char uid[FILTER_UID_TEXT_BYTES];

    link_count(self, LINK_site_states_refused_total, 1);
    log_limited(&self->states->refused_log, now_us, LOG_WARN,
                "refused what site %s says of filter %s (uid %s): %s", site, state->filter,
                filter_uid_show(&state->uid, uid), fault);
}

/* NULL, or why it is not for us to know, or not for that site to say. */
static const char *fault_of(const struct link *self, uint32_t peer, const struct site_filter *state)
{
    const char *fault = site_filter_fault(state);

    if (fault != NULL) {
        return fault;
    }
    if (!site_id_equal(&state->site, &self->config.peers[peer].id)) {
        return "it is said of another site; each site speaks for itself";
    }
    if (!state->dropped && site_set_find(&state->document, &self->config.id) == NULL) {
        return "this site is not in the filter's set of sites";
    }
    return state->sealed_secret.size == 0 || state->sealed_secret.size == HASH_SECRET_BYTES
               ? NULL
               : "its secret is sealed with a key of its cluster; upgrade the link there";
}

static const char *put_fault(enum status status)
{
    if (status == STATUS_NOMEM) {
        return "out of memory; it is told again";
    }
    return status == STATUS_TOO_LARGE
               ? "there are too many filters of it, or their states are too large; drop filters "
                 "that are not needed any more, or take them out of sites"
               : NULL;
}

static void take(struct link *self, uint64_t now_us, uint32_t peer, const struct site_filter *state)
{
    struct states *states = self->states;
    const char *fault = fault_of(self, peer, state);
    enum status status;

    if (fault == NULL && token_bucket_ready_us(&states->accepted[peer], now_us) > now_us) {
        fault = "more is told than can be taken; it is told again";
    }
    if (fault == NULL) {
        status = state_board_put(&states->others[peer], now_us, states->arena, state);
        fault = put_fault(status);
        if (status != STATUS_EXISTS) { /* Also what is not taken costs time. */
            token_bucket_take(&states->accepted[peer], now_us, 1, ACCEPTED_PER_SECOND);
        }
        link_count(self, LINK_site_states_heard_total, status == STATUS_OK);
    }
    if (fault != NULL) {
        refuse(self, now_us, self->config.peers[peer].name, state, fault);
    }
}

void states_on_filters(struct link *self, uint64_t now_us, const struct channel *channel,
                       const struct site_filters *message)
{
    for (size_t i = 0; i < message->nstates; i++) {
        take(self, now_us, channel->peer, &message->states[i]);
    }
}

/* ---- what this site says ---- */

/* False: it is to be told once more. */
static bool take_own(struct link *self, uint64_t now_us, const struct site_filter *state)
{
    struct states *states = self->states;
    const char *fault = site_filter_fault(state);
    enum status status = STATUS_OK;

    if (fault == NULL && !site_id_equal(&state->site, &self->config.id)) {
        fault = "its coordinator takes it for another one: give all links of the site the same "
                "site_key_file";
    }
    if (fault == NULL) {
        status = state_board_put(&states->own, now_us, states->arena, state);
        fault = put_fault(status);
    }
    if (fault != NULL) {
        refuse(self, now_us, self->config.site, state, fault);
    }
    return status != STATUS_NOMEM;
}

/* Those of the page that concern the site, and for one that may have to make it (one that counts
 * may have lost all that it had) the secret, if it is known here yet. Returns how many. */
static size_t cut_page(struct link *self, uint32_t peer, size_t count)
{
    struct states *states = self->states;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct site_filter *state = &states->page[i];
        const struct site_entry *entry = site_set_find(&state->document,
                                                       &self->config.peers[peer].id);
        const struct document_entry *filter;

        if (!state->dropped && entry == NULL) {
            continue;
        }
        state->sealed_secret = span_text("");
        filter = entry != NULL && entry->state <= SITE_COUNTED ? site_filter_of(self, &state->uid)
                                                               : NULL;
        if (filter != NULL &&
            router_secret(self->router, filter->document.id, &states->secrets[kept])) {
            state->sealed_secret = span_of(states->secrets[kept].bytes, HASH_SECRET_BYTES);
        }
        states->page[kept++] = *state;
    }
    return kept;
}

static bool send_page(struct link *self, struct channel *channel, size_t count)
{
    const struct frame frame = {
        .kind = FRAME_SITE_FILTERS,
        .body.site_filters = {.states = self->states->page, .nstates = count},
    };
    bool sent = count == 0 || channel_send_secret(self, channel, &frame);

    explicit_bzero(self->states->secrets, sizeof self->states->secrets);
    return sent;
}

/* Another channel in the place of one that is gone has heard nothing. */
static void tell_channel(struct link *self, uint64_t now_us, struct channel *channel,
                         struct told_channel *told)
{
    struct states *states = self->states;
    struct state_place after;
    size_t count;

    if (told->number != channel->number) {
        *told = (struct told_channel){.number = channel->number};
    }
    after = told->place;
    if (!state_board_has_news(&states->own, &after) || now_us < told->again_us ||
        token_bucket_ready_us(&told->rate, now_us) > now_us) {
        return;
    }
    count = state_board_page(&states->own, &after, states->arena, states->page, PAGE_STATES);
    count = cut_page(self, channel->peer, count);
    if (!send_page(self, channel, count)) {
        told->again_us = now_us + SEND_AGAIN_US;
        return;
    }
    token_bucket_take(&told->rate, now_us, count, SENT_PER_SECOND);
    link_count(self, LINK_site_states_told_total, count);
    told->place = after;
}

/* ---- coordinators ---- */

static bool is_behind(const struct link *self, const struct told_coordinator *to)
{
    for (uint32_t peer = 0; peer < self->config.npeers; peer++) {
        if (state_board_has_news(&self->states->others[peer], &to->heard[peer])) {
            return true;
        }
    }
    return false;
}

static bool has_heard_news(const struct link *self)
{
    for (uint32_t i = 0; i < LINK_RING_MAX; i++) {
        const struct told_coordinator *to = &self->states->coordinators[i];

        if (to->answers && is_behind(self, to)) {
            return true;
        }
    }
    return evidence_has_news(self);
}

/* They have none of the keys that links of other sites have. */
static void seal_page(struct link *self, size_t count)
{
    struct states *states = self->states;

    for (size_t i = 0; i < count; i++) {
        struct site_filter *state = &states->page[i];
        struct hash_secret secret;

        if (state->sealed_secret.size == HASH_SECRET_BYTES) {
            memcpy(secret.bytes, state->sealed_secret.data, sizeof secret.bytes);
            router_seal_secret(self->router, site_secret_name(&state->uid), &secret,
                               states->sealed[i]);
            explicit_bzero(&secret, sizeof secret);
            state->sealed_secret = span_of(states->sealed[i], SEAL_SECRET_BYTES);
        }
    }
}

/* Evidence goes to who is asked next, and then it is told. Of several coordinators each is to have
 * all of it, and again as often as one would that is alone. */
static bool is_to_be_proved(const struct states *states, uint64_t now_us,
                            const struct told_coordinator *to)
{
    bool alone = true;

    for (uint32_t i = 0; i < LINK_RING_MAX; i++) {
        alone &= &states->coordinators[i] == to || !states->coordinators[i].answers;
    }
    return !alone && (to->proved_us == 0 || now_us - to->proved_us >= PROVE_AGAIN_US);
}

/* Sites take turns: one of them may have much to say. */
static size_t fill_states(struct link *self, struct told_coordinator *to)
{
    struct states *states = self->states;
    size_t count = 0;

    for (uint32_t i = 0; count == 0 && i < self->config.npeers; i++) {
        to->peer = (to->peer + 1) % self->config.npeers;
        states->filled_to = to->heard[to->peer];
        count = state_board_page(&states->others[to->peer], &states->filled_to, states->arena,
                                 states->page, PAGE_STATES);
    }
    seal_page(self, count);
    return count;
}

void states_fill(struct link *self, uint64_t now_us, uint32_t coordinator,
                 struct sync_request *request)
{
    struct states *states = self->states;
    struct told_coordinator *to = &states->coordinators[coordinator];

    assert(coordinator < LINK_RING_MAX);
    states->filled = to;
    states->filled_proofs = is_to_be_proved(states, now_us, to);
    to->answers = false;
    request->nstates = fill_states(self, to);
    request->states = states->page;
    request->states_since = to->since;
    request->states_of = to->of;
    if (states->filled_proofs) {
        evidence_tell_anew(self);
    }
    evidence_fill(self, request);
}

/* Who counts anew has forgotten what was said before, or never heard it. */
static void note_count(struct link *self, struct told_coordinator *to,
                       const struct sync_reply *reply, bool taken)
{
    if (reply->states_of != to->of) {
        if (to->of != 0) {
            memset(to->heard, 0, sizeof to->heard);
            to->proved_us = 0;
            evidence_tell_anew(self);
        }
        to->of = reply->states_of;
        to->since = 0;
    }
    if (taken && reply->states_to > to->since) {
        to->since = reply->states_to;
    }
}

static void note_heard(struct link *self, uint64_t now_us, struct told_coordinator *to)
{
    if (self->config.npeers > 0) {
        to->heard[to->peer] = self->states->filled_to;
    }
    to->answers = true;
    to->proved_us = self->states->filled_proofs ? now_us : to->proved_us;
    evidence_heard(self, now_us);
}

void states_answered(struct link *self, uint64_t now_us, const struct sync_reply *reply, bool last)
{
    struct states *states = self->states;
    bool taken = true;

    for (size_t i = 0; i < reply->nstates; i++) {
        taken &= take_own(self, now_us, &reply->states[i]);
    }
    if (!last) {
        return; /* What it counts by is of another coordinator than was asked last. */
    }
    assert(states->filled != NULL);
    note_heard(self, now_us, states->filled);
    note_count(self, states->filled, reply, taken);
    states->asking = false;
    if (!taken) {
        states->next_ask_us = now_us + ASK_AGAIN_US;
    } else if (reply->states_more) {
        router_sync_soon(self->router, now_us);
    }
}

static void ask(struct link *self, uint64_t now_us)
{
    struct states *states = self->states;
    uint64_t due_us = states->asking ? states->asked_us + ASK_AGAIN_US : states->next_ask_us;

    if (now_us >= due_us && has_heard_news(self)) {
        router_sync_soon(self->router, now_us);
        states->asking = true;
        states->asked_us = now_us;
        states->next_ask_us = now_us + ASK_US;
    }
}

/* ---- the clock ---- */

void states_turn(struct link *self, uint64_t now_us)
{
    for (size_t i = 0; i < LINK_MAX_CHANNELS; i++) {
        struct channel *channel = &self->channels[i];

        if (channel->number != 0 && !channel_is_spare(self, channel)) {
            tell_channel(self, now_us, channel, &self->states->told[i]);
        }
    }
    ask(self, now_us);
}

void states_tick(struct link *self, uint64_t now_us)
{
    struct states *states = self->states;
    uint64_t held = states->own.count;

    state_board_repeat(&states->own, now_us);
    for (uint32_t peer = 0; peer < self->config.npeers; peer++) {
        state_board_repeat(&states->others[peer], now_us);
        held += states->others[peer].count;
    }
    self->counters[LINK_site_states] = held;
}

static uint64_t told_next_us(const struct link *self, const struct channel *channel,
                             const struct told_channel *told)
{
    uint64_t ready_us = token_bucket_ready_us(&told->rate, self->now_us);

    if (channel->number == 0 || channel->number != told->number ||
        channel_is_spare(self, channel) ||
        !state_board_has_news(&self->states->own, &told->place)) {
        return ACTOR_NEVER; /* A new channel comes with a turn. */
    }
    return ready_us > told->again_us ? ready_us : told->again_us;
}

uint64_t states_next_us(const struct link *self)
{
    const struct states *states = self->states;
    uint64_t next_us = ACTOR_NEVER;

    for (size_t i = 0; i < LINK_MAX_CHANNELS; i++) {
        uint64_t told_us = told_next_us(self, &self->channels[i], &states->told[i]);

        next_us = told_us < next_us ? told_us : next_us;
    }
    if (!states->asking && states->next_ask_us < next_us && has_heard_news(self)) {
        next_us = states->next_ask_us;
    }
    return next_us;
}

/* ---- what is known of a filter ---- */

bool states_own(const struct link *self, const struct filter_uid *uid, struct site_filter *out)
{
    return state_board_find(&self->states->own, uid, self->states->arena, out);
}

bool states_of_peer(const struct link *self, uint32_t peer, const struct filter_uid *uid,
                    struct site_filter *out)
{
    return state_board_find(&self->states->others[peer], uid, self->states->arena, out);
}

uint64_t states_version(const struct link *self, uint32_t peer, const struct filter_uid *uid)
{
    return state_board_version(&self->states->own, uid) +
           state_board_version(&self->states->others[peer], uid);
}

bool states_unsettled(const struct link *self, const struct filter_uid *uid)
{
    return state_board_unsettled(&self->states->own, uid);
}
