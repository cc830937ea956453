/* What must hold and does not is a reason; without one all is well. */
#include "base/telemetry/health.h"

#include <criterion/criterion.h>

static struct buffer text;

static const char *show(const struct health *health)
{
    buffer_fini(&text);
    buffer_init(&text, 1 << 16);
    cr_assert_eq(health_show(health, &text), STATUS_OK);
    cr_assert_eq(buffer_append(&text, span_of("", 1)), STATUS_OK);
    return (const char *)text.data;
}

Test(base_health, nothing_amiss_is_well)
{
    struct health health = {0};

    health_want(&health, true, "boot", "never shown");
    cr_assert(health_is_well(&health));
    cr_assert_str_eq(show(&health), "{\"ok\":true,\"reasons\":[],\"left_out\":0}\n");
    buffer_fini(&text);
}

Test(base_health, each_reason_is_told)
{
    struct health health = {0};

    health_want(&health, false, "boot", "no coordinator has named it");
    health_want(&health, true, "log", "never shown");
    health_want(&health, false, "replicas", "%d of \"%s\"\n", 3, "a\\b");
    cr_assert_not(health_is_well(&health));
    cr_assert_str_eq(show(&health), "{\"ok\":false,\"reasons\":["
                                    "{\"what\":\"boot\",\"why\":\"no coordinator has named it\"},"
                                    "{\"what\":\"replicas\",\"why\":\"3 of \\\"a\\\\b\\\"\\u000a\"}"
                                    "],\"left_out\":0}\n");
    buffer_fini(&text);
}

/* One reason too many is counted, and it is not well for that. */
Test(base_health, reasons_beyond_the_bound_are_counted)
{
    struct health health = {0};

    for (int i = 0; i < HEALTH_MAX + 2; i++) {
        health_want(&health, false, "what", "%d", i);
    }
    cr_assert_eq(health.count, HEALTH_MAX);
    cr_assert_not_null(strstr(show(&health), "\"why\":\"15\"}],\"left_out\":2}"));
    buffer_fini(&text);
}

Test(base_health, a_long_reason_is_cut)
{
    struct health health = {0};

    health_want(&health, false, "what", "%0*d", 2 * HEALTH_WHY_BYTES, 7);
    cr_assert_eq(strlen(health.reasons[0].why), HEALTH_WHY_BYTES - 1);
}

Test(base_health, without_room_it_says_so)
{
    struct health health = {0};
    struct buffer small;

    health_want(&health, false, "what", "why");
    for (size_t max = 0; max < 60; max++) {
        buffer_init(&small, max);
        cr_assert_eq(health_show(&health, &small), STATUS_TOO_LARGE, "%zu", max);
        buffer_fini(&small);
    }
}
