/* A list of endpoints is judged as the client will read it; a channel is opened by what the flags
 * say. */
#include "cli/flags.h"

bool flags_endpoints_valid(const char *text)
{
    char names[SESSION_MAX_ENDPOINTS][DOCUMENT_TEXT_BYTES];
    uint32_t count;

    return endpoint_list_parse(text, names, &count) == STATUS_OK;
}

struct channel_options flags_channel(const struct flags_common *common)
{
    return (struct channel_options){.routers = common->routers,
                                    .coordinators = common->coordinators,
                                    .credential = common->credential,
                                    .held = common->held};
}
