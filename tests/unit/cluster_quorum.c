/* Which rules make an answer certain, and what each vote means. The law over all rules and
 * random votes is in property/cluster_quorum.c. */
#include "map/quorum.h"

#include <criterion/criterion.h>

enum { NEVER = 9 };

/* A rule is taken exactly if read and write quorums meet, and any two write quorums. */
Test(quorum, takes_exactly_the_rules_that_are_certain)
{
    for (uint32_t n = 0; n <= NEVER; n++) {
        for (uint32_t w = 0; w <= NEVER; w++) {
            for (uint32_t r = 0; r <= NEVER; r++) {
                struct quorum_rule rule = {.replicas = n, .write = w, .read = r};
                bool certain = n >= 1 && n <= 7 && w >= 1 && w <= n && r >= 1 && r <= n &&
                               w + r > n && 2 * w > n;

                cr_assert_eq(quorum_rule_check(&rule), certain ? STATUS_OK : STATUS_INVALID,
                             "N %u, W %u, R %u", n, w, r);
            }
        }
    }
}

Test(quorum, refuses_numbers_whose_sums_would_wrap)
{
    const struct quorum_rule rules[] = {
        {.replicas = 3, .write = UINT32_MAX, .read = 2},
        {.replicas = 3, .write = 2, .read = UINT32_MAX},
        {.replicas = UINT32_MAX, .write = UINT32_MAX, .read = UINT32_MAX},
        {.replicas = 3, .write = 0x80000002u, .read = 2},
    };

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        cr_assert_eq(quorum_rule_check(&rules[i]), STATUS_INVALID, "rule %zu", i);
    }
}

/* After F fences fewer than W, and fewer than R, replicas are left for the old epoch; one fence
 * less would leave a quorum. */
Test(quorum, fences_leave_no_quorum_of_either_kind_and_none_is_needless)
{
    for (uint32_t n = 1; n <= 7; n++) {
        for (uint32_t w = n / 2 + 1; w <= n; w++) {
            for (uint32_t r = n - w + 1; r <= n; r++) {
                struct quorum_rule rule = {.replicas = n, .write = w, .read = r};
                uint32_t f = quorum_fences(&rule);

                cr_assert(f >= 1 && f <= n, "N %u, W %u, R %u", n, w, r);
                cr_assert(n - f < w && n - f < r, "N %u, W %u, R %u: F %u", n, w, r, f);
                cr_assert(n - (f - 1) >= w || n - (f - 1) >= r, "N %u, W %u, R %u: F %u", n, w, r,
                          f);
            }
        }
    }
}

/* One key, votes written as letters: '-' no reply, '0' no vote, 'p' present, 'a' absent, 'j' by a
 * JOINING replica, 't' present but tainted. */
struct ballot {
    uint64_t present[QUORUM_MAX_REPLICAS];
    uint64_t absent[QUORUM_MAX_REPLICAS];
    struct quorum_votes votes;
};

static void cast(struct ballot *ballot, const char *letters)
{
    *ballot = (struct ballot){0};
    for (size_t i = 0; letters[i] != '\0'; i++) {
        char letter = letters[i];

        if (letter != '-') {
            ballot->present[i] = letter == 'p' || letter == 't' || letter == 'j';
            ballot->absent[i] = letter == 'a' || letter == 'j';
            ballot->votes.present[i] = &ballot->present[i];
            ballot->votes.absent[i] = &ballot->absent[i];
            ballot->votes.tainted[i] = letter == 't';
        }
    }
}

static char letter_of(uint64_t present, uint64_t absent)
{
    return present != 0 ? (absent != 0 ? 'm' : 'p') : (absent != 0 ? 'a' : '?');
}

static char check(const char *letters, bool last)
{
    const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
    struct ballot ballot;
    uint64_t present = UINT64_MAX;
    uint64_t absent = UINT64_MAX;
    size_t unknown;

    cast(&ballot, letters);
    unknown = quorum_check(&rule, &ballot.votes, 1, last, &present, &absent);
    cr_assert_eq(unknown, present == 0 && absent == 0, "%s: count of unknown keys", letters);
    return letter_of(present, absent);
}

static char add(const char *letters)
{
    const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
    struct ballot ballot;
    uint64_t present = UINT64_MAX;
    uint64_t absent = UINT64_MAX;
    size_t nunsure;
    size_t open;

    cast(&ballot, letters);
    open = quorum_add(&rule, &ballot.votes, 1, &present, &absent, &nunsure);
    cr_assert_eq(open, present == 0 && absent == 0, "%s: count of open keys", letters);
    cr_assert_eq(nunsure, present != 0 && absent != 0, "%s: count of unsure keys", letters);
    return letter_of(present, absent);
}

Test(quorum, a_check_of_three_two_two)
{
    cr_assert_eq(check("---", false), '?');
    cr_assert_eq(check("a--", false), '?');
    cr_assert_eq(check("a--", true), '?', "one absent is never enough");
    cr_assert_eq(check("aa-", false), 'a');
    cr_assert_eq(check("aap", false), 'a', "absent takes R, whatever the rest says");
    cr_assert_eq(check("p--", false), '?');
    cr_assert_eq(check("p--", true), 'p', "nobody else will answer");
    cr_assert_eq(check("pa-", false), '?');
    cr_assert_eq(check("pa-", true), 'p');
    cr_assert_eq(check("pp-", false), 'p');
    cr_assert_eq(check("ja-", true), '?', "JOINING counts for nothing");
    cr_assert_eq(check("j--", true), '?', "JOINING counts for nothing");
    cr_assert_eq(check("0a-", true), '?', "an empty vote is no vote");
    cr_assert_eq(check("000", true), '?', "all zeros is never absent");
}

Test(quorum, an_add_of_three_two_two)
{
    cr_assert_eq(add("a--"), '?', "one ack is not enough");
    cr_assert_eq(add("ja-"), '?', "a JOINING replica is no ack");
    cr_assert_eq(add("jj-"), '?', "two JOINING replicas are no ack");
    cr_assert_eq(add("00a"), '?', "not accepted is no ack");
    cr_assert_eq(add("aa-"), 'a', "two new of three: no earlier quorum can exist");
    cr_assert_eq(add("aap"), 'a');
    cr_assert_eq(add("pa-"), 'm', "one new, one present: an earlier add may have been cut short");
    cr_assert_eq(add("ppa"), 'm');
    cr_assert_eq(add("pp-"), 'p');
    cr_assert_eq(add("ppp"), 'p');
    cr_assert_eq(add("tp-"), 'm', "a tainted present may be the op's own first attempt");
    cr_assert_eq(add("tt-"), 'm');
    cr_assert_eq(add("tpp"), 'p', "two untainted ones suffice");
    cr_assert_eq(add("taa"), 'a');
}

/* Words past the keys are not written, spare bits of the last word are 0. */
Test(quorum, spare_bits_stay_zero)
{
    const struct quorum_rule rule = {.replicas = 1, .write = 1, .read = 1};
    const uint64_t ones[2] = {UINT64_MAX, UINT64_MAX};
    const uint64_t zeros[2] = {0, 0};
    struct quorum_votes votes = {.present = {ones}, .absent = {zeros}};
    uint64_t present[2] = {0, 0};
    uint64_t absent[2] = {0, 0};
    size_t nunsure;

    cr_assert_eq(quorum_check(&rule, &votes, 65, false, present, absent), 0);
    cr_assert_eq(present[0], UINT64_MAX);
    cr_assert_eq(present[1], 1);
    cr_assert_eq(absent[1], 0);
    votes = (struct quorum_votes){.present = {zeros}, .absent = {ones}};
    cr_assert_eq(quorum_add(&rule, &votes, 65, present, absent, &nunsure), 0);
    cr_assert_eq(absent[1], 1);
    cr_assert_eq(present[1], 0);
}
