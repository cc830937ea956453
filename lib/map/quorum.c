/* Votes are counted in bit slices: 64 keys at once, with one vote of one node added in a few
 * operations. */
#include "map/quorum.h"

#include "base/bits.h"
#include "base/mutant.h"

#include <assert.h>

/* 64 counters of 0 to 7, bit-sliced: counter i is bits i of the three words. */
struct tally {
    uint64_t ones;
    uint64_t twos;
    uint64_t fours;
};

static inline void tally_add(struct tally *self, uint64_t votes)
{
    uint64_t carry = self->ones & votes;

    self->ones ^= votes;
    self->fours |= self->twos & carry;
    self->twos ^= carry;
}

/* Which of the 64 counters have reached `least`. */
static inline uint64_t tally_at_least(const struct tally *self, uint32_t least)
{
    switch (least) {
    case 0:
        return UINT64_MAX;
    case 1:
        return self->ones | self->twos | self->fours;
    case 2:
        return self->twos | self->fours;
    case 3:
        return (self->ones & self->twos) | self->fours;
    case 4:
        return self->fours;
    case 5:
        return self->fours & (self->ones | self->twos);
    case 6:
        return self->fours & self->twos;
    case 7:
        return self->fours & self->twos & self->ones;
    }
    return 0;
}

enum status quorum_rule_check(const struct quorum_rule *rule)
{
    if (rule->replicas < 1 || rule->replicas > QUORUM_MAX_REPLICAS || rule->write < 1 ||
        rule->read < 1 || rule->write > rule->replicas || rule->read > rule->replicas) {
        return STATUS_INVALID;
    }
    if (!MUTANT(READ_ONE_WRITE_TWO) &&
        (rule->write + rule->read <= rule->replicas || 2 * rule->write <= rule->replicas)) {
        return STATUS_INVALID;
    }
    return STATUS_OK;
}

uint32_t quorum_fences(const struct quorum_rule *rule)
{
    uint32_t least = rule->write < rule->read ? rule->write : rule->read;

    return rule->replicas - least + 1;
}

size_t quorum_check(const struct quorum_rule *rule, const struct quorum_votes *votes, size_t nkeys,
                    bool last, uint64_t *present, uint64_t *absent)
{
    size_t unknown = 0;

    assert(rule->replicas <= QUORUM_MAX_REPLICAS);
    for (size_t word = 0; word < bits_words(nkeys); word++) {
        struct tally says_present = {0};
        struct tally says_absent = {0};
        uint64_t mask = bits_mask(nkeys, word);

        for (uint32_t slot = 0; slot < rule->replicas; slot++) {
            if (votes->present[slot] != NULL) {
                uint64_t p = votes->present[slot][word];
                uint64_t a = votes->absent[slot][word];

                tally_add(&says_present, p & ~a);
                tally_add(&says_absent, a & ~p);
            }
        }
        absent[word] = tally_at_least(&says_absent, rule->read) & mask;
        present[word] = tally_at_least(&says_present, rule->replicas - rule->read + 1) & mask;
        if (last) {
            present[word] |= tally_at_least(&says_present, 1) & ~absent[word] & mask;
        }
        unknown += bits_count_word(mask & ~(present[word] | absent[word]));
    }
    return unknown;
}

/* The votes of one word of an add. */
struct add_tally {
    struct tally acks;
    struct tally says_new;
    struct tally says_present;
};

static void add_tally_collect(struct add_tally *self, const struct quorum_rule *rule,
                              const struct quorum_votes *votes, size_t word)
{
    for (uint32_t slot = 0; slot < rule->replicas; slot++) {
        if (votes->present[slot] != NULL) {
            uint64_t p = votes->present[slot][word];
            uint64_t a = votes->absent[slot][word];

            tally_add(&self->acks, p ^ a);
            tally_add(&self->says_new, a & ~p);
            if (!votes->tainted[slot] || MUTANT(TAINT_IGNORED)) {
                tally_add(&self->says_present, p & ~a);
            }
        }
    }
}

/* N - W + 1 "new" votes prove that the key was not acknowledged before; a majority sees to it
 * that at most one of several adds in a race is told so. A large W makes the first the smaller. */
static uint32_t least_new(const struct quorum_rule *rule)
{
    uint32_t proof = rule->replicas - rule->write + 1;
    uint32_t majority = rule->replicas / 2 + 1;

    return proof > majority ? proof : majority;
}

size_t quorum_add(const struct quorum_rule *rule, const struct quorum_votes *votes, size_t nkeys,
                  uint64_t *present, uint64_t *absent, size_t *nunsure)
{
    size_t open = 0;

    *nunsure = 0;
    assert(rule->replicas <= QUORUM_MAX_REPLICAS);
    for (size_t word = 0; word < bits_words(nkeys); word++) {
        struct add_tally tally = {0};
        uint64_t mask = bits_mask(nkeys, word);
        uint64_t acked;
        uint64_t was_new;
        uint64_t was_present;

        add_tally_collect(&tally, rule, votes, word);
        acked = tally_at_least(&tally.acks, rule->write) & mask;
        was_new = tally_at_least(&tally.says_new, least_new(rule)) & acked;
        /* One "new" vote, or one lost to an earlier attempt, leaves the history unsure. */
        was_present = tally_at_least(&tally.says_present, rule->write) &
                      ~tally_at_least(&tally.says_new, 1) & acked;
        present[word] = acked & ~was_new;
        absent[word] = acked & ~was_present;
        *nunsure += bits_count_word(present[word] & absent[word]);
        open += bits_count_word(mask & ~acked);
    }
    return open;
}
