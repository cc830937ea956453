/* The loop has to turn, and each write of a log to end. */
#include "runtime/movement.h"

void movement_judge(uint64_t silent_us, uint64_t commit_us, struct health *health)
{
    health_want(health, silent_us < MOVEMENT_STILL_US, "loop",
                "the loop has not turned for %llu s: the process was stopped, or hangs",
                (unsigned long long)(silent_us / 1000000));
    health_want(health, commit_us < MOVEMENT_STILL_US, "commit",
                "one write of the log has taken %llu s so far: look at the disk",
                (unsigned long long)(commit_us / 1000000));
}

void movement_look(const struct hub *hub, bool logs, struct health *health)
{
    movement_judge(hub_silent_us(hub), logs ? hub_busy_us(hub, JOB_COMMIT) : 0, health);
}
