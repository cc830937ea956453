/* Endpoints that are as good as each other: used in turn, the dead ones skipped. */
#include "base/link_ring.h"
#include "tests/support/fake_effects.h"

#include <criterion/criterion.h>

static struct fake_effects fake;
static struct link_ring ring;

static void start(uint32_t count)
{
    static const char *const endpoints[] = {"tcp://a:1", "tcp://b:1", "tcp://c:1"};

    fake_init(&fake);
    ring = (struct link_ring){.count = count};
    for (uint32_t i = 0; i < count; i++) {
        ring.endpoints[i] = endpoints[i];
    }
}

Test(link_ring, takes_turns_and_opens_each_link_once)
{
    start(3);
    for (int i = 0; i < 7; i++) {
        cr_assert(link_ring_send(&ring, &fake.effects, span_text("x")));
    }
    cr_assert_eq(fake.nframes, 7);
    cr_assert_eq(fake.nlinks, 3);
    for (size_t i = 0; i < fake.nframes; i++) {
        cr_assert_eq(fake.frames[i].link, i % 3 + 1);
    }
    fake_fini(&fake);
}

Test(link_ring, says_when_nobody_is_connected)
{
    start(2);
    fake.deaf = true;
    cr_assert_not(link_ring_send(&ring, &fake.effects, span_text("x")));
    fake.deaf = false;
    cr_assert(link_ring_send(&ring, &fake.effects, span_text("x")));
    fake_fini(&fake);
}

Test(link_ring, knows_its_links_and_survives_being_empty)
{
    start(2);
    cr_assert(link_ring_send(&ring, &fake.effects, span_text("x")));
    cr_assert(link_ring_has(&ring, 1));
    cr_assert_not(link_ring_has(&ring, 7));
    fake_fini(&fake);
    start(0);
    cr_assert_not(link_ring_send(&ring, &fake.effects, span_text("x")));
    cr_assert_not(link_ring_has(&ring, 1));
    fake_fini(&fake);
}
