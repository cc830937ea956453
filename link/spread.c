/* Chooses among connections by their load, and tells what by now can't come any more. */
#include "link/spread.h"

static uint64_t weight_of(const struct spread_load *load, uint32_t connection)
{
    return connection == 0 ? 2 * load->bytes : load->bytes;
}

uint32_t spread_choose(const struct spread_load loads[SITE_MAX_CONNECTIONS])
{
    uint32_t best = SITE_MAX_CONNECTIONS;

    for (uint32_t i = 0; i < SITE_MAX_CONNECTIONS; i++) {
        if (loads[i].open && (best == SITE_MAX_CONNECTIONS ||
                              weight_of(&loads[i], i) < weight_of(&loads[best], best))) {
            best = i;
        }
    }
    return best;
}

bool spread_has_passed(const uint64_t told[SITE_MAX_CONNECTIONS], uint32_t connections,
                       uint64_t number)
{
    for (uint32_t i = 0; i < SITE_MAX_CONNECTIONS; i++) {
        if ((connections >> i & 1) != 0 && told[i] < number) {
            return false;
        }
    }
    return true;
}
