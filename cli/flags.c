/* A list of endpoints is judged as the client will read it. */
#include "cli/flags.h"

bool flags_endpoints_valid(const char *text)
{
    char names[SESSION_MAX_ENDPOINTS][DOCUMENT_TEXT_BYTES];
    uint32_t count;

    return endpoint_list_parse(text, names, &count) == STATUS_OK;
}
