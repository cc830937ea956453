/* What comes after a pause may have waited since it began, for a while after it too. */
#include "base/pulse.h"

#include <criterion/criterion.h>

enum { START_US = 5000000 };

/* Beats as a loop that runs makes them; the last one's time. */
static uint64_t run(struct pulse *pulse, uint64_t from_us, int beats)
{
    for (int i = 0; i < beats; i++) {
        pulse_beat(pulse, from_us + (uint64_t)i * PULSE_US);
    }
    return from_us + (uint64_t)(beats - 1) * PULSE_US;
}

Test(base_pulse, who_runs_has_not_waited)
{
    struct pulse pulse = {0};
    uint64_t now_us = run(&pulse, START_US, 100);

    cr_assert_eq(pulse_waited_us(&pulse, now_us), 0);
}

Test(base_pulse, a_pause_is_waited_for_until_all_is_handed_over)
{
    enum { PAUSE_US = 7000000 };
    struct pulse pulse = {0};
    uint64_t stopped_us = run(&pulse, START_US, 3);
    uint64_t now_us = stopped_us + PAUSE_US;

    pulse_beat(&pulse, now_us);
    cr_assert_eq(pulse_waited_us(&pulse, now_us), PAUSE_US);
    pulse_beat(&pulse, now_us + PULSE_US);
    cr_assert_eq(pulse_waited_us(&pulse, now_us + PULSE_US), PAUSE_US + PULSE_US,
                 "sockets hand over little by little");
    now_us += PULSE_HANDOVER_US;
    cr_assert_eq(pulse_waited_us(&pulse, now_us), 0);
}

Test(base_pulse, of_two_pauses_at_once_the_first_one_counts)
{
    struct pulse pulse = {0};
    uint64_t stopped_us = run(&pulse, START_US, 3);
    uint64_t now_us = stopped_us + 2 * PULSE_PAUSE_US;

    pulse_beat(&pulse, now_us);
    now_us += PULSE_PAUSE_US + 1;
    pulse_beat(&pulse, now_us);
    cr_assert_eq(pulse_waited_us(&pulse, now_us), now_us - stopped_us);
}
