/* The bit-sliced verdicts are those that counting key by key gives: for every rule that is
 * certain, random votes of all kinds, batches that end inside a word. */
#include "map/quorum.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <inttypes.h>

enum { MAX_KEYS = 300, MAX_WORDS = (MAX_KEYS + 63) / 64, ROUNDS = 40 };

struct election {
    struct quorum_rule rule;
    size_t nkeys;
    uint64_t present[QUORUM_MAX_REPLICAS][MAX_WORDS];
    uint64_t absent[QUORUM_MAX_REPLICAS][MAX_WORDS];
    struct quorum_votes votes;
};

/* One key's votes, counted. */
struct count {
    uint32_t present;
    uint32_t present_untainted;
    uint32_t absent;
};

static bool bit(const uint64_t *plane, size_t i)
{
    return (plane[i / 64] >> (i % 64) & 1) != 0;
}

static void hold_election(struct election *self, uint64_t *seed)
{
    self->nkeys = 1 + random_below(seed, MAX_KEYS);
    self->votes = (struct quorum_votes){0};
    for (uint32_t slot = 0; slot < self->rule.replicas; slot++) {
        uint64_t leaning = random_next(seed);

        for (size_t word = 0; word < MAX_WORDS; word++) {
            /* Mostly one opinion a key, so that quorums come about. */
            uint64_t opinion = random_next(seed) | (leaning & 1 ? random_next(seed) : 0);

            self->present[slot][word] = opinion & (random_next(seed) | random_next(seed));
            self->absent[slot][word] = ~opinion |
                                       (random_next(seed) & random_next(seed) & random_next(seed));
        }
        if (random_below(seed, 5) != 0) {
            self->votes.present[slot] = self->present[slot];
            self->votes.absent[slot] = self->absent[slot];
            self->votes.tainted[slot] = random_below(seed, 3) == 0;
        }
    }
}

static struct count count_key(const struct election *self, size_t key)
{
    struct count count = {0};

    for (uint32_t slot = 0; slot < self->rule.replicas; slot++) {
        bool p = self->votes.present[slot] != NULL && bit(self->votes.present[slot], key);
        bool a = self->votes.absent[slot] != NULL && bit(self->votes.absent[slot], key);

        count.present += p && !a;
        count.present_untainted += p && !a && !self->votes.tainted[slot];
        count.absent += a && !p;
    }
    return count;
}

static void expect_check(const struct election *self, bool last, uint64_t seed)
{
    const struct quorum_rule *rule = &self->rule;
    uint64_t present[MAX_WORDS];
    uint64_t absent[MAX_WORDS];
    size_t unknown = quorum_check(rule, &self->votes, self->nkeys, last, present, absent);
    size_t expected_unknown = 0;

    for (size_t key = 0; key < self->nkeys; key++) {
        struct count count = count_key(self, key);
        bool is_absent = count.absent >= rule->read;
        bool is_present = count.present >= rule->replicas - rule->read + 1 ||
                          (last && count.present >= 1 && !is_absent);

        cr_assert(bit(present, key) == is_present && bit(absent, key) == is_absent,
                  "seed %" PRIu64 " N %u W %u R %u key %zu last %d", seed, rule->replicas,
                  rule->write, rule->read, key, last);
        expected_unknown += !is_absent && !is_present;
    }
    cr_assert_eq(unknown, expected_unknown, "seed %" PRIu64, seed);
}

static void expect_add(const struct election *self, uint64_t seed)
{
    const struct quorum_rule *rule = &self->rule;
    uint64_t present[MAX_WORDS];
    uint64_t absent[MAX_WORDS];
    size_t nunsure = SIZE_MAX;
    size_t open = quorum_add(rule, &self->votes, self->nkeys, present, absent, &nunsure);
    size_t expected_open = 0;
    size_t expected_unsure = 0;

    for (size_t key = 0; key < self->nkeys; key++) {
        struct count count = count_key(self, key);
        bool acked = count.present + count.absent >= rule->write;
        bool is_new = acked && count.absent >= rule->replicas - rule->write + 1 &&
                      2 * count.absent > rule->replicas;
        bool is_old = acked && count.absent == 0 && count.present_untainted >= rule->write;

        cr_assert(bit(present, key) == (acked && !is_new) && bit(absent, key) == (acked && !is_old),
                  "seed %" PRIu64 " N %u W %u R %u key %zu", seed, rule->replicas, rule->write,
                  rule->read, key);
        expected_open += !acked;
        expected_unsure += acked && !is_new && !is_old;
    }
    cr_assert_eq(open, expected_open, "seed %" PRIu64, seed);
    cr_assert_eq(nunsure, expected_unsure, "seed %" PRIu64, seed);
}

Test(quorum_law, verdicts_are_those_of_counting_key_by_key)
{
    uint64_t seed = 1;
    unsigned nrules = 0;

    for (uint32_t n = 1; n <= QUORUM_MAX_REPLICAS; n++) {
        for (uint32_t w = 1; w <= n; w++) {
            for (uint32_t r = 1; r <= n; r++) {
                struct election election = {.rule = {.replicas = n, .write = w, .read = r}};

                for (int round = 0; round < ROUNDS && quorum_rule_check(&election.rule) == 0;
                     round++) {
                    uint64_t start = seed;

                    hold_election(&election, &seed);
                    expect_check(&election, false, start);
                    expect_check(&election, true, start);
                    expect_add(&election, start);
                    nrules += round == 0;
                }
            }
        }
    }
    cr_assert_geq(nrules, 50, "only %u rules tried", nrules);
}
