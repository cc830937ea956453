/* Many filters: creates, drops and asks them through a router's Redis socket, a command in flight
 * on each of many connections.
 *
 *   filters SOCKET create|churn|add|check PREFIX FIRST COUNT [--connections N] [--keys N]
 *         [--reserve "RATE CAPACITY [NONSCALING]"] [--limit TIME]
 *
 * The filters are PREFIX and a number from FIRST on. churn creates and drops each; add and check
 * say the same N keys of each filter, which no other filter gets. What is answered UNAVAILABLE,
 * DEADLINE or OVERLOADED is sent again after a while, a limited number of times.
 *
 * Prints one line: seconds, filters done, filters that failed, commands sent again, keys answered
 * absent. The first error, and how far it is every ten seconds, go to stderr. Exit: 0; 1 when a
 * filter failed or a key was absent; 2 for wrong usage.
 */
#include "base/heap.h"
#include "base/number.h"
#include "runtime/hub.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_CONNECTIONS = 200, /* less than a coordinator lets wait */
    MAX_KEYS = 64,
    MAX_RESERVE = 4, /* words */
    MAX_WORDS = MAX_KEYS + 2,
    MAX_TRIES = 100,
    TEXT_BYTES = 160,
    AGAIN_US = 200000,
    PROGRESS_US = 10000000,
    EXIT_USAGE = 2,
};

enum verb { VERB_CREATE, VERB_CHURN, VERB_ADD, VERB_CHECK, NVERBS };

static const char *const verb_names[NVERBS] = {"create", "churn", "add", "check"};

struct filters {
    const char *socket;
    enum verb verb;
    const char *prefix;
    uint64_t next; /* the number of the filter that nobody has begun */
    uint64_t end;
    uint64_t nconnections;
    uint64_t nkeys;
    char reserve[TEXT_BYTES];
    char *reserve_words[MAX_RESERVE];
    int nreserve;
    uint64_t limit_us;

    uint64_t done;
    uint64_t failed;
    uint64_t again;
    uint64_t absent;
};

struct connection {
    redisContext *redis;
    uint64_t filter;
    bool busy;
    bool dropping;    /* of churn: the second half */
    uint64_t tries;   /* of the command under way */
    uint64_t wait_us; /* then it is sent again; 0: it is under way */
};

/* ---- sending ---- */

static int add_words(const struct filters *self, const struct connection *one, const char **words,
                     char keys[][TEXT_BYTES])
{
    int count = 1;

    switch (self->verb) {
    case VERB_CREATE:
    case VERB_CHURN:
        words[0] = one->dropping ? "DEL" : "BF.RESERVE";
        for (int i = 0; i < self->nreserve && !one->dropping; i++) {
            words[++count] = self->reserve_words[i];
        }
        return one->dropping ? 2 : count + 1;
    case VERB_ADD:
    case VERB_CHECK:
    case NVERBS:
        break;
    }
    words[0] = self->verb == VERB_ADD ? "BF.MADD" : "BF.MEXISTS";
    for (uint64_t i = 0; i < self->nkeys; i++) {
        (void)snprintf(keys[i], TEXT_BYTES, "key %" PRIu64 " of %" PRIu64, i, one->filter);
        words[++count] = keys[i];
    }
    return count + 1;
}

static bool send_command(const struct filters *self, struct connection *one)
{
    static char keys[MAX_KEYS][TEXT_BYTES];
    const char *words[MAX_WORDS + MAX_RESERVE];
    char name[TEXT_BYTES];
    int count = add_words(self, one, words, keys);
    int sent = 0;

    (void)snprintf(name, sizeof name, "%s%" PRIu64, self->prefix, one->filter);
    words[1] = name;
    one->wait_us = 0;
    if (redisAppendCommandArgv(one->redis, count, words, NULL) != REDIS_OK) {
        return false;
    }
    while (!sent) {
        if (redisBufferWrite(one->redis, &sent) != REDIS_OK) {
            return false;
        }
    }
    return true;
}

static bool begin_next(struct filters *self, struct connection *one)
{
    one->busy = self->next < self->end;
    one->dropping = false;
    one->tries = 0;
    if (!one->busy) {
        return true;
    }
    one->filter = self->next++;
    return send_command(self, one);
}

/* ---- answers ---- */

static bool is_passing(const char *error)
{
    return strstr(error, "UNAVAILABLE") != NULL || strstr(error, "DEADLINE") != NULL ||
           strstr(error, "OVERLOADED") != NULL;
}

/* The first error of an answer, or NULL; counts keys that are absent. */
static const char *look(const struct filters *self, const redisReply *reply, uint64_t *absent)
{
    if (reply->type == REDIS_REPLY_ERROR) {
        return reply->str;
    }
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++) {
        const redisReply *one = reply->element[i];

        if (one->type == REDIS_REPLY_ERROR) {
            return one->str;
        }
        *absent += self->verb == VERB_CHECK && one->integer == 0;
    }
    return reply->type == REDIS_REPLY_ARRAY && reply->elements != self->nkeys
               ? "the answer is not about all keys"
               : NULL;
}

static bool fail_one(struct filters *self, struct connection *one, const char *error)
{
    if (self->failed++ == 0) {
        (void)fprintf(stderr, "filters: %s%" PRIu64 ": %s\n", self->prefix, one->filter, error);
    }
    return begin_next(self, one);
}

static bool take_reply(struct filters *self, struct connection *one, const redisReply *reply)
{
    uint64_t absent = 0;
    const char *error = look(self, reply, &absent);

    if (error != NULL && is_passing(error) && one->tries++ < MAX_TRIES) {
        if (self->again++ == 0) {
            (void)fprintf(stderr, "filters: sent again: %s%" PRIu64 ": %s\n", self->prefix,
                          one->filter, error);
        }
        one->wait_us = hub_now_us() + AGAIN_US;
        return true;
    }
    /* A create or drop that was sent again may have been done the first time. */
    if (error != NULL && one->tries > 0 && strstr(error, "exists") != NULL) {
        error = NULL;
    }
    if (error != NULL) {
        return fail_one(self, one, error);
    }
    if (absent > 0 && self->absent == 0) {
        (void)fprintf(stderr, "filters: %s%" PRIu64 ": %" PRIu64 " keys absent\n", self->prefix,
                      one->filter, absent);
    }
    self->absent += absent;
    if (self->verb == VERB_CHURN && !one->dropping) {
        one->dropping = true;
        one->tries = 0;
        return send_command(self, one);
    }
    self->done++;
    return begin_next(self, one);
}

static bool read_replies(struct filters *self, struct connection *one)
{
    void *reply = NULL;
    bool good;

    if (redisBufferRead(one->redis) != REDIS_OK ||
        redisGetReplyFromReader(one->redis, &reply) != REDIS_OK) {
        return false;
    }
    good = reply == NULL || take_reply(self, one, reply);
    if (reply != NULL) {
        freeReplyObject(reply);
    }
    return good;
}

/* ---- all of them ---- */

static bool any_busy(const struct filters *self, const struct connection *all)
{
    for (uint64_t i = 0; i < self->nconnections; i++) {
        if (all[i].busy) {
            return true;
        }
    }
    return false;
}

static bool step(struct filters *self, struct connection *all)
{
    struct pollfd polled[MAX_CONNECTIONS];

    for (uint64_t i = 0; i < self->nconnections; i++) {
        struct connection *one = &all[i];

        polled[i] = (struct pollfd){.fd = one->busy ? one->redis->fd : -1, .events = POLLIN};
        if (one->wait_us != 0 && hub_now_us() >= one->wait_us && !send_command(self, one)) {
            return false;
        }
    }
    (void)poll(polled, self->nconnections, AGAIN_US / 1000);
    for (uint64_t i = 0; i < self->nconnections; i++) {
        if (polled[i].revents != 0 && !read_replies(self, &all[i])) {
            (void)fprintf(stderr, "filters: the connection is gone: %s\n", all[i].redis->errstr);
            return false;
        }
    }
    return true;
}

static void show_progress(const struct filters *self, uint64_t start_us, uint64_t *next_us)
{
    uint64_t now_us = hub_now_us();

    if (now_us >= *next_us) {
        *next_us = now_us + PROGRESS_US;
        (void)fprintf(stderr, "filters: %s %s: %" PRIu64 " after %" PRIu64 " s, %" PRIu64 " left\n",
                      verb_names[self->verb], self->prefix, self->done,
                      (now_us - start_us) / 1000000, self->end - self->next);
    }
}

static bool run(struct filters *self, struct connection *all)
{
    uint64_t start_us = hub_now_us();
    uint64_t progress_us = start_us + PROGRESS_US;
    bool good = true;

    for (uint64_t i = 0; i < self->nconnections && good; i++) {
        good = begin_next(self, &all[i]);
    }
    while (good && any_busy(self, all)) {
        good = step(self, all);
        show_progress(self, start_us, &progress_us);
        if (hub_now_us() - start_us > self->limit_us) {
            (void)fprintf(stderr, "filters: not done within the limit\n");
            break;
        }
    }
    self->failed += self->end - self->next; /* Nobody began them. */
    for (uint64_t i = 0; i < self->nconnections; i++) {
        self->failed += all[i].busy;
    }
    (void)printf("%.3f %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                 (double)(hub_now_us() - start_us) / 1e6, self->done, self->failed, self->again,
                 self->absent);
    return self->failed == 0 && self->absent == 0;
}

static bool connect_all(const struct filters *self, struct connection *all)
{
    for (uint64_t i = 0; i < self->nconnections; i++) {
        all[i].redis = redisConnectUnix(self->socket);
        if (all[i].redis == NULL || all[i].redis->err != 0) {
            (void)fprintf(stderr, "filters: %s: %s\n", self->socket,
                          all[i].redis != NULL ? all[i].redis->errstr : "out of memory");
            return false;
        }
    }
    return true;
}

/* ---- the command line ---- */

static bool parse_number(const char *text, uint64_t most, uint64_t *out)
{
    char *end = NULL;

    *out = strtoull(text, &end, 10);
    return *text != '\0' && *end == '\0' && *out <= most;
}

static bool parse_flag(struct filters *self, const char *name, const char *value)
{
    if (strcmp(name, "--connections") == 0) {
        return parse_number(value, MAX_CONNECTIONS, &self->nconnections) && self->nconnections > 0;
    }
    if (strcmp(name, "--keys") == 0) {
        return parse_number(value, MAX_KEYS, &self->nkeys) && self->nkeys > 0;
    }
    if (strcmp(name, "--limit") == 0) {
        return number_parse_duration(value, &self->limit_us) == STATUS_OK;
    }
    (void)snprintf(self->reserve, sizeof self->reserve, "%s", value);
    return strcmp(name, "--reserve") == 0;
}

static void split_reserve(struct filters *self)
{
    char *rest = self->reserve;
    char *word;

    while (self->nreserve < MAX_RESERVE && (word = strtok_r(rest, " ", &rest)) != NULL) {
        self->reserve_words[self->nreserve++] = word;
    }
}

static bool parse(int argc, char **argv, struct filters *self)
{
    uint64_t count;

    if (argc < 6 || argc % 2 != 0) {
        return false;
    }
    self->socket = argv[1];
    while (self->verb < NVERBS && strcmp(verb_names[self->verb], argv[2]) != 0) {
        self->verb++;
    }
    self->prefix = argv[3];
    for (int i = 6; i < argc; i += 2) {
        if (!parse_flag(self, argv[i], argv[i + 1])) {
            return false;
        }
    }
    split_reserve(self);
    if (self->verb == NVERBS || !parse_number(argv[4], UINT32_MAX, &self->next) ||
        !parse_number(argv[5], UINT32_MAX, &count)) {
        return false;
    }
    self->end = self->next + count;
    return true;
}

int main(int argc, char **argv)
{
    struct filters self = {
        .nconnections = 64, .nkeys = 8, .reserve = "0.01 1000", .limit_us = 3600000000};
    struct connection all[MAX_CONNECTIONS] = {0};
    bool good;

    if (!parse(argc, argv, &self)) {
        (void)fprintf(
            stderr, "usage: filters SOCKET create|churn|add|check PREFIX FIRST COUNT "
                    "[--connections N] [--keys N] [--reserve \"RATE CAPACITY\"] [--limit TIME]\n");
        return EXIT_USAGE;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    good = connect_all(&self, all) && run(&self, all);
    for (uint64_t i = 0; i < self.nconnections; i++) {
        redisFree(all[i].redis);
    }
    return good ? 0 : 1;
}
