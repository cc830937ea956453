/* A list of endpoints is judged as the client will read it; a channel is opened by what the flags
 * say. */
#include "cli/flags.h"

#include "base/number.h"
#include "map/acks.h"
#include "map/staleness.h"

#include <string.h>

bool flags_endpoints_valid(const char *text)
{
    char names[SESSION_MAX_ENDPOINTS][DOCUMENT_TEXT_BYTES];
    uint32_t count;

    return endpoint_list_parse(text, names, &count) == STATUS_OK;
}

/* A time of none has no unit. */
static bool parse_bound(const char *text, uint64_t *bound_us)
{
    if (strcmp(text, "0") == 0) {
        *bound_us = 0;
        return true;
    }
    return number_parse_duration(text, bound_us) == STATUS_OK && *bound_us <= STALENESS_MAX_US;
}

bool flags_bound_valid(const char *text)
{
    uint64_t bound_us;

    return parse_bound(text, &bound_us);
}

uint64_t flags_bound(const char *text)
{
    uint64_t bound_us = 0;

    return text != NULL && parse_bound(text, &bound_us) ? staleness_of(bound_us) : 0;
}

bool flags_acks_valid(const char *text)
{
    uint32_t acks;

    return acks_parse(text, &acks) == STATUS_OK;
}

uint32_t flags_acks(const char *text)
{
    uint32_t acks = 0;

    return text != NULL && acks_parse(text, &acks) == STATUS_OK ? acks : 0;
}

struct channel_options flags_channel(const struct flags_common *common)
{
    return (struct channel_options){.routers = common->routers,
                                    .coordinators = common->coordinators,
                                    .credential = common->credential,
                                    .held = common->held};
}
