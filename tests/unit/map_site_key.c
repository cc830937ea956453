/* The key of a site's links: its file, what other sites pin, and the id that is made of it. */
#include "map/site_key.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* By other means than this code: X25519 of python's cryptography; the id by libxxhash's xxh128. */
#define SECRET "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define PUBLIC "8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f"
#define ZEROS  "0000000000000000000000000000000000000000000000000000000000000000"

static char reason[200];

static enum status parse(const char *text, struct curve_pair *pair)
{
    reason[0] = '\0';
    return site_key_read(pair, span_text(text), reason, sizeof reason);
}

Test(site_key, a_secret_makes_its_public_key_and_that_the_id)
{
    struct curve_pair pair;
    char text[SITE_KEY_TEXT_BYTES];
    char id_text[SITE_ID_TEXT_BYTES];
    struct site_id id;

    cr_assert_eq(parse("# of eu\n\n  " SITE_KEY_WORD "\t " SECRET " \n", &pair), STATUS_OK, "%s",
                 reason);
    cr_assert_str_eq(site_key_show(pair.public, text), PUBLIC);
    id = site_key_id(pair.public);
    cr_assert_str_eq(site_id_show(&id, id_text), "6f44e8846c063df215226cca69ebeb0d");
    site_key_wipe(&pair);
    for (size_t i = 0; i < sizeof pair.secret; i++) {
        cr_assert_eq(pair.secret[i], 0);
    }
}

Test(site_key, what_is_no_key_of_a_site_is_refused_with_its_line)
{
    static const struct {
        const char *text;
        const char *why;
    } cases[] = {
        {"", "no key in it"},
        {"# nothing\n", "no key in it"},
        {SECRET "\n", "line 1: it does not begin with"}, /* a cluster key */
        {SITE_KEY_WORD SECRET "\n", "line 1: it does not begin with"},
        {"\n" SITE_KEY_WORD " " ZEROS "\n", "line 2: a key has 64"},
        {SITE_KEY_WORD " 12\n", "line 1: a key has 64"},
        {SITE_KEY_WORD "\n", "line 1: it does not begin with"},
        {SITE_KEY_WORD " " SECRET "0\n", "line 1: a key has 64"},
        {SITE_KEY_WORD " " SECRET " " SECRET "\n", "line 1: a key has 64"},
        {SITE_KEY_WORD " " SECRET "\n" SITE_KEY_WORD " " SECRET "\n", "line 2: one key more"},
    };
    struct curve_pair pair;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(&pair, 5, sizeof pair);
        cr_assert_eq(parse(cases[i].text, &pair), STATUS_MALFORMED, "%s", cases[i].text);
        cr_assert_not_null(strstr(reason, cases[i].why), "%s: %s", cases[i].text, reason);
        cr_assert_null(strstr(reason, "0405"), "a secret is told: %s", reason);
        cr_assert_eq(pair.secret[0], 5, "the output has changed");
    }
}

Test(site_key, a_public_key_is_64_digits)
{
    uint8_t key[CURVE_KEY_BYTES];
    char text[SITE_KEY_TEXT_BYTES];

    cr_assert(site_key_parse_public(span_text(PUBLIC), key));
    cr_assert_str_eq(site_key_show(key, text), PUBLIC);
    cr_assert_not(site_key_parse_public(span_text(""), key));
    cr_assert_not(site_key_parse_public(span_text(ZEROS), key));
    cr_assert_not(site_key_parse_public(span_text(PUBLIC "00"), key));
    cr_assert_not(site_key_parse_public(span_text("-" PUBLIC), key));
    cr_assert_not(site_key_parse_public(
        span_text("8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e213828g0"), key));
}
