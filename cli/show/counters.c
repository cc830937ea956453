/* One member a counter. */
#include "cli/show/counters.h"

void counters_json(struct json *json, const struct stats_reply *reply)
{
    json_begin(json, "counters", '{');
    for (size_t i = 0; i < reply->nvalues; i++) {
        json_count(json, reply->values[i].name, reply->values[i].value);
    }
    json_end(json, '}');
}
