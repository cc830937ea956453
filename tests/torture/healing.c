/* Judges by the time that it took how much more may be asked of the cluster. */
#include "tests/torture/healing.h"

enum { CALM_AFTER_MS = 8000, EASE_AFTER_MS = 25000, EASED_PART = 20 };

enum healing healing_after(uint64_t took_ms, uint64_t patience_ms)
{
    if (took_ms > patience_ms) {
        return HEALING_FAILED;
    }
    return took_ms > EASE_AFTER_MS   ? HEALING_EASED
           : took_ms > CALM_AFTER_MS ? HEALING_CALM
                                     : HEALING_STORM;
}

uint64_t healing_pace(uint64_t pace, bool eased)
{
    return eased ? pace / EASED_PART : pace;
}
