/* The parts that commands show are members of one object. */
#include "cli/show/status_json.h"

#include "cli/replicas.h"
#include "cli/summary.h"

void status_json(struct json *json, const char *name, const struct admin_reply *reply)
{
    json_begin(json, name, '{');
    json_text(json, "attention", reply->message);
    summary_nodes_json(json, "nodes", reply);
    summary_filters_json(json, "filters", reply);
    replicas_json(json, reply);
    replicas_changes_json(json, reply);
    replicas_lacking_json(json, reply);
    summary_keys_json(json, "cluster_key", reply);
    json_end(json, '}');
}
