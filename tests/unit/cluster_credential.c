/* Does a credential come back as it was written, and is all else refused with its line and cause?
 */
#include "base/heap.h"
#include "map/access/credential.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static struct buffer text;
static char reason[CREDENTIAL_REASON_BYTES];

static void setup(void)
{
    buffer_init(&text, CREDENTIAL_TEXT_BYTES);
}

static void teardown(void)
{
    buffer_fini(&text);
}

TestSuite(credential, .init = setup, .fini = teardown);

static void fill(struct public_keys *keys, uint32_t count, uint8_t first)
{
    keys->count = count;
    for (uint32_t i = 0; i < count; i++) {
        memset(keys->keys[i], first + (int)i, CURVE_KEY_BYTES);
    }
}

static struct credential sample(uint32_t keys)
{
    uint8_t seed[CURVE_KEY_BYTES] = {1, 2, 3};
    struct credential self = {.user = "crawler", .role = USER_MONITOR};

    seal_pair_of_seed(seed, &self.pair);
    fill(&self.processes.of[CURVE_ROUTER], keys, 0x11);
    fill(&self.processes.of[CURVE_NODE], keys, 0x31);
    fill(&self.processes.of[CURVE_COORDINATOR], keys, 0x51);
    return self;
}

static enum status parse(const char *content, struct credential *out)
{
    reason[0] = '\0';
    return credential_parse(span_text(content), out, reason, sizeof reason);
}

/* X25519 of the first half of the seed's SHA-512, by other means than this code. */
Test(credential, a_pair_comes_of_its_seed)
{
    uint8_t seed[CURVE_KEY_BYTES];
    struct curve_pair pair;
    char hex[2 * CURVE_KEY_BYTES + 1] = "";

    memset(seed, 7, sizeof seed);
    seal_pair_of_seed(seed, &pair);
    for (size_t i = 0; i < sizeof pair.public; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", pair.public[i]);
    }
    cr_assert_str_eq(hex, "761d88ec830413919dfe9d4d1d56f17e653c8c994082df5b137b90a0ae6edf74");
}

Test(credential, what_is_written_is_read)
{
    for (uint32_t keys = 1; keys <= CLUSTER_KEY_MAX; keys++) {
        struct credential before = sample(keys);
        struct credential after = {.role = USER_CLIENT};

        buffer_clear(&text);
        cr_assert_eq(credential_write(&before, &text), STATUS_OK);
        cr_assert_eq(credential_parse(buffer_span(&text), &after, reason, sizeof reason), STATUS_OK,
                     "%s", reason);
        cr_assert_str_eq(after.user, "crawler");
        cr_assert_eq(after.role, USER_MONITOR);
        cr_assert_arr_eq(after.pair.public, before.pair.public, CURVE_KEY_BYTES);
        cr_assert_arr_eq(after.pair.secret, before.pair.secret, CURVE_KEY_BYTES);
        cr_assert_eq(after.processes.of[CURVE_NODE].count, keys);
        cr_assert(process_keys_equal(&before.processes, &after.processes));
        after.processes.of[CURVE_NODE].keys[keys - 1][3] ^= 1;
        cr_assert_not(process_keys_equal(&before.processes, &after.processes));
    }
}

/* ---- what is refused ---- */

#define HEAD        "orbloom-credential 1\n"
#define USER        "user x\n"
#define ROLE        "role client\n"
#define PAIR        "public PUBLICKEY\nsecret SECRETKEY\n"
#define DIGITS      "00000000000000000000000000000000000000000000000000000000000000"
#define ROUTER      "router 01" DIGITS "\n"
#define NODE        "node 02" DIGITS "\n"
#define COORDINATOR "coordinator 03" DIGITS "\n"
#define REST        ROUTER NODE COORDINATOR
#define WHOLE       HEAD USER ROLE PAIR REST

/* The pair of a seed of sevens in place of the words. */
static const char *paired(const char *content)
{
    static char out[2 * CREDENTIAL_TEXT_BYTES];
    uint8_t seed[CURVE_KEY_BYTES];
    struct curve_pair pair;
    static const char *const words[] = {"PUBLICKEY", "SECRETKEY"};
    size_t used = 0;

    memset(seed, 7, sizeof seed);
    seal_pair_of_seed(seed, &pair);
    while (*content != '\0') {
        bool placed = false;

        for (int w = 0; w < 2 && !placed; w++) {
            if (strncmp(content, words[w], strlen(words[w])) == 0) {
                for (size_t i = 0; i < CURVE_KEY_BYTES; i++) {
                    used += (size_t)snprintf(out + used, 3, "%02x",
                                             (w == 0 ? pair.public : pair.secret)[i]);
                }
                content += strlen(words[w]);
                placed = true;
            }
        }
        if (!placed) {
            out[used++] = *content++;
        }
    }
    out[used] = '\0';
    return out;
}

Test(credential, blanks_comments_and_any_order_are_fine)
{
    struct credential out = {.role = USER_CLIENT};

    cr_assert_eq(parse(paired(WHOLE), &out), STATUS_OK, "%s", reason);
    cr_assert_eq(
        parse(paired("# of ours\n\n  " REST "\t" PAIR "\r\n" ROLE USER "orbloom-credential \t1  "),
              &out),
        STATUS_OK, "%s", reason);
    cr_assert_eq(out.processes.of[CURVE_ROUTER].keys[0][0], 1);
    cr_assert_eq(out.processes.of[CURVE_COORDINATOR].keys[0][0], 3);
}

Test(credential, each_fault_is_named_with_its_line)
{
    static const struct {
        const char *content;
        const char *says;
    } faults[] = {
        {"", "it has no line \"orbloom-credential 1\": is this a credential?"},
        {"# nothing\n", "it has no line \"orbloom-credential 1\""},
        {USER ROLE PAIR REST, "it has no line \"orbloom-credential 1\""},
        {"orbloom-credential 2\n", "line 1: the file has a format that this orbloom does not know"},
        {HEAD ROLE PAIR REST, "it has no line \"user ...\""},
        {HEAD USER PAIR REST, "it has no line \"role ...\""},
        {HEAD USER ROLE REST, "it has no line \"public ...\""},
        {HEAD USER ROLE PAIR NODE COORDINATOR, "it has no line \"router ...\""},
        {HEAD USER ROLE PAIR ROUTER COORDINATOR, "it has no line \"node ...\""},
        {HEAD USER ROLE PAIR ROUTER NODE, "it has no line \"coordinator ...\""},
        {HEAD "user\n", "line 2: a user's name"},
        {HEAD "user a b\n", "line 2: a user's name"},
        {HEAD "user \xc3\xa4\n", "line 2: a user's name"},
        {HEAD "role root\n", "line 2: a role is client, monitor or admin"},
        {HEAD USER USER, "line 3: \"user\" once more"},
        {HEAD "public 12\n", "line 2: a key has 64 hexadecimal digits, and this one 2"},
        {HEAD "secret 1g" DIGITS "\n", "line 2: a key has 64 hexadecimal digits, and nothing else"},
        {HEAD "router 00" DIGITS "\n", "line 2: a key of zeros is none"},
        {HEAD ROUTER ROUTER, "line 3: the same key once more"},
        {HEAD "users x\n", "line 2: it begins with no word that a credential has"},
        {HEAD "USER x\n", "line 2: it begins with no word that a credential has"},
        {HEAD USER ROLE "public 01" DIGITS "\nsecret SECRETKEY\n" REST,
         "its public key is not that of its secret one"},
    };

    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct credential out = {.role = USER_ADMIN, .user = "untouched"};

        cr_expect_eq(parse(paired(faults[i].content), &out), STATUS_MALFORMED, "%zu", i);
        cr_expect(strncmp(reason, faults[i].says, strlen(faults[i].says)) == 0, "%zu: \"%s\"", i,
                  reason);
        cr_expect_str_eq(out.user, "untouched");
    }
}

/* Not a digit of what may be a secret is repeated. */
Test(credential, a_reason_quotes_nothing)
{
    struct credential out;

    cr_assert_eq(parse(HEAD "secret c0ffee\n", &out), STATUS_MALFORMED);
    cr_assert_null(strstr(reason, "c0ffee"));
    cr_assert_eq(parse("c0ffee c0ffee\n", &out), STATUS_MALFORMED);
    cr_assert_null(strstr(reason, "c0ffee"));
}

Test(credential, nine_keys_of_a_kind_are_too_many)
{
    struct credential out;

    cr_assert_eq(buffer_append(&text, span_text(HEAD)), STATUS_OK);
    for (int i = 1; i <= CLUSTER_KEY_MAX + 1; i++) {
        char line[100];

        (void)snprintf(line, sizeof line, "node %02x%s\n", i, DIGITS);
        cr_assert_eq(buffer_append(&text, span_text(line)), STATUS_OK);
    }
    cr_assert_eq(credential_parse(buffer_span(&text), &out, reason, sizeof reason),
                 STATUS_MALFORMED);
    cr_assert(strstr(reason, "line 10: one key more than the 8") != NULL, "%s", reason);
}

/* NULs, long lines, bits turned over: refused, or read as the same user. */
Test(credential, garbage_does_no_harm)
{
    struct credential before = sample(2);
    uint64_t random = 4711;

    cr_assert_eq(credential_write(&before, &text), STATUS_OK);
    for (int n = 0; n < 20000; n++) {
        size_t at = (size_t)random_below(&random, text.size);
        uint8_t was = text.data[at];
        struct credential out = {.role = USER_CLIENT};

        text.data[at] = (uint8_t)random_next(&random);
        if (credential_parse(span_of(text.data, text.size - (size_t)random_below(&random, 3)), &out,
                             reason, sizeof reason) == STATUS_OK) {
            cr_assert_arr_eq(out.pair.secret, before.pair.secret, CURVE_KEY_BYTES);
        }
        text.data[at] = was;
    }
}

Test(credential, roles_have_names)
{
    enum user_role role = USER_ADMIN;

    for (int i = USER_CLIENT; i <= USER_ADMIN; i++) {
        cr_assert(user_role_parse(user_role_name((enum user_role)i), &role));
        cr_assert_eq((int)role, i);
    }
    cr_assert_not(user_role_parse("root", &role));
    cr_assert_not(user_role_parse("", &role));
    cr_assert_eq(role, USER_ADMIN);
}
