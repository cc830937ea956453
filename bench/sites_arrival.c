/* Adds keys at one site and asks the other one until it has them, or for those that are missing. */
#include "bench/sites_arrival.h"

#include "base/heap.h"
#include "cli/bench/keys.h"
#include "client/orbloom.h"
#include "runtime/hub.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    EVERY_US = 15000, /* a sample */
    SAMPLES = 65536,
    ASKED = 2048, /* keys at once */
    STEP = 64,
    NAP_US = 500,
    LIMIT_US = 300000000, /* losses hold much up */
};

/* ---- asking ---- */

/* A client of one site with keys of a batch. */
struct asker {
    struct orbloom *handle;
    const char *filter;
    uint32_t lengths[ASKED];
    uint8_t keys[ASKED * BENCH_KEY_BYTES];
    uint8_t answers[ASKED];
};

static bool complain(const struct asker *self, const char *what)
{
    (void)fprintf(stderr, "sites: %s: %s: %s\n", self->filter, what,
                  self->handle != NULL ? orbloom_error(self->handle) : "no memory");
    return false;
}

static bool open_asker(struct asker *self, const struct sites_cluster *site, const char *filter)
{
    const struct orbloom_options options = {
        .routers = site->router, .coordinators = site->coordinator, .credential = "none"};

    self->filter = filter;
    for (size_t i = 0; i < ASKED; i++) {
        self->lengths[i] = BENCH_KEY_BYTES;
        key_write(self->keys + i * BENCH_KEY_BYTES);
    }
    return orbloom_connect(&options, &self->handle) == ORBLOOM_OK || complain(self, "no client");
}

static struct asker *make_asker(const struct sites_cluster *site, const char *filter)
{
    struct asker *self = heap_zalloc(1, sizeof *self);

    if (self != NULL && !open_asker(self, site, filter)) {
        orbloom_close(&self->handle);
        heap_free(self);
        return NULL;
    }
    return self;
}

static void free_asker(struct asker *self)
{
    if (self != NULL) {
        orbloom_close(&self->handle);
        heap_free(self);
    }
}

/* Of so many keys, whose numbers were set. */
static bool check(struct asker *self, size_t count)
{
    const struct orbloom_keys keys = {self->keys, self->lengths, count};

    return orbloom_check(self->handle, self->filter, &keys, self->answers) == ORBLOOM_OK ||
           complain(self, "a check");
}

/* ---- samples ---- */

struct samples {
    struct asker *adder; /* of its thread ... */
    struct asker *asker; /* ... and of ours */
    uint64_t first;
    uint64_t for_us;
    _Atomic uint64_t added; /* of them so many have been acknowledged ... */
    uint64_t *added_us;     /* ... at these times */
    atomic_bool over;
    bool failed; /* the adder's, once it is over */
    size_t nwaiting;
    uint32_t waiting[ASKED];
    uint64_t taken; /* over to `waiting` */
};

static bool add_one(struct samples *self, uint64_t at)
{
    struct asker *adder = self->adder;
    enum orbloom_answer answer;

    key_set_number(adder->keys, self->first + at);
    if (orbloom_add_key(adder->handle, adder->filter, adder->keys, BENCH_KEY_BYTES, &answer) !=
        ORBLOOM_OK) {
        return complain(adder, "an add");
    }
    self->added_us[at] = hub_now_us();
    atomic_store(&self->added, at + 1);
    return true;
}

static void *add_samples(void *context)
{
    struct samples *self = context;
    uint64_t next_us = hub_now_us();
    uint64_t end_us = next_us + self->for_us;

    for (uint64_t at = 0; at < SAMPLES && hub_now_us() < end_us && !self->failed; at++) {
        uint64_t now_us = hub_now_us();

        if (now_us < next_us) {
            hub_nap((uint32_t)(next_us - now_us));
        }
        next_us += EVERY_US;
        self->failed = !add_one(self, at);
    }
    atomic_store(&self->over, true);
    return NULL;
}

static void take_samples(struct samples *self)
{
    uint64_t added = atomic_load(&self->added);

    while (self->taken < added && self->nwaiting < ASKED) {
        self->waiting[self->nwaiting++] = (uint32_t)self->taken++;
    }
}

static bool look(struct samples *self, struct latency *lag)
{
    struct asker *asker = self->asker;
    size_t left = 0;
    uint64_t now_us;

    for (size_t i = 0; i < self->nwaiting; i++) {
        key_set_number(asker->keys + i * BENCH_KEY_BYTES, self->first + self->waiting[i]);
    }
    if (self->nwaiting > 0 && !check(asker, self->nwaiting)) {
        return false;
    }
    now_us = hub_now_us();
    for (size_t i = 0; i < self->nwaiting; i++) {
        if (asker->answers[i] == ORBLOOM_PRESENT) {
            latency_add(lag, now_us - self->added_us[self->waiting[i]]);
        } else {
            self->waiting[left++] = self->waiting[i];
        }
    }
    self->nwaiting = left;
    return true;
}

static bool await_samples(struct samples *self, struct latency *lag)
{
    uint64_t end_us = hub_now_us() + self->for_us + LIMIT_US;
    bool good = true;

    while (good && hub_now_us() < end_us) {
        bool over = atomic_load(&self->over);

        take_samples(self);
        if (over && self->nwaiting == 0) {
            return true;
        }
        good = look(self, lag);
        hub_nap(NAP_US);
    }
    (void)fprintf(stderr, "sites: %zu samples do not get to the other site\n", self->nwaiting);
    return false;
}

static bool run_samples(struct samples *self, struct latency *lag)
{
    pthread_t thread;
    bool good;

    if (pthread_create(&thread, NULL, add_samples, self) != 0) {
        return false;
    }
    good = await_samples(self, lag);
    (void)pthread_join(thread, NULL);
    return good && !self->failed;
}

bool sites_arrival_sample(const struct sites_clusters *clusters, const char *filter, uint64_t first,
                          uint64_t for_us, struct latency *lag)
{
    struct samples *self = heap_zalloc(1, sizeof *self);
    bool good = false;

    if (self == NULL) {
        return false;
    }
    self->first = first;
    self->for_us = for_us;
    self->added_us = heap_zalloc(SAMPLES, sizeof *self->added_us);
    self->adder = make_asker(&clusters->sites[0], filter);
    self->asker = make_asker(&clusters->sites[1], filter);
    if (self->added_us != NULL && self->adder != NULL && self->asker != NULL) {
        good = run_samples(self, lag);
    }
    free_asker(self->adder);
    free_asker(self->asker);
    heap_free(self->added_us);
    heap_free(self);
    return good;
}

/* ---- all of many ---- */

/* Numbers that are still missing; who is there leaves. */
struct missing {
    uint64_t *numbers;
    size_t count;
};

static bool list_all(struct missing *self, uint64_t first, uint64_t count)
{
    uint64_t last = count < STEP ? count : STEP;

    self->numbers = heap_alloc(count / STEP + 1 + last, sizeof *self->numbers);
    if (self->numbers == NULL) {
        return false;
    }
    for (uint64_t at = 0; at < count; at += STEP) {
        self->numbers[self->count++] = first + at;
    }
    for (uint64_t at = count - last; at < count; at++) {
        self->numbers[self->count++] = first + at;
    }
    return true;
}

/* The first batch of them. Returns whether it could be asked. */
static bool ask_some(struct missing *self, struct asker *asker)
{
    size_t asked = self->count < ASKED ? self->count : ASKED;
    size_t left = 0;

    for (size_t i = 0; i < asked; i++) {
        key_set_number(asker->keys + i * BENCH_KEY_BYTES, self->numbers[i]);
    }
    if (!check(asker, asked)) {
        return false;
    }
    for (size_t i = 0; i < asked; i++) {
        if (asker->answers[i] != ORBLOOM_PRESENT) {
            self->numbers[left++] = self->numbers[i];
        }
    }
    memmove(self->numbers + left, self->numbers + asked,
            (self->count - asked) * sizeof *self->numbers);
    self->count -= asked - left;
    return true;
}

static bool ask_all(struct missing *self, struct asker *asker, struct sites_arrival *out)
{
    size_t wanted = self->count;
    uint64_t start_us = hub_now_us();
    bool good = true;

    *out = (struct sites_arrival){0};
    while (good && self->count > 0 && hub_now_us() - start_us < LIMIT_US) {
        size_t before = self->count;

        good = ask_some(self, asker);
        out->all_us = hub_now_us() - start_us;
        if (self->count < wanted && out->first_us == 0) {
            out->first_us = out->all_us;
        }
        if (self->count == before) {
            hub_nap(10 * NAP_US);
        }
    }
    if (self->count > 0) {
        (void)fprintf(stderr, "sites: %zu of %zu keys that were asked for are not there\n",
                      self->count, wanted);
    }
    return good && self->count == 0;
}

bool sites_arrival_wait(const struct sites_cluster *site, const char *filter, uint64_t first,
                        uint64_t count, struct sites_arrival *out)
{
    struct missing missing = {0};
    struct asker *asker = make_asker(site, filter);
    bool good = asker != NULL && list_all(&missing, first, count) && ask_all(&missing, asker, out);

    heap_free(missing.numbers);
    free_asker(asker);
    return good;
}
