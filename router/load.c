/* Fingerprints of a dump, added as keys are. */
#include "router/private.h"

void router_load(struct router *self, uint64_t now_us, const struct router_load *load)
{
    struct document_entry *entry = document_cache_find(&self->documents, load->filter_id);
    const struct routed_filter *routed = entry != NULL ? entry->attachment : NULL;
    const struct peer nobody = {0};
    const struct client_request request = {
        .filter = entry != NULL ? entry->document.content.name : "",
        .filter_id = load->filter_id,
        .operation = OPERATION_ADD,
        .op = {.session = {self->boot, load->source}, .sequence = load->correlation},
        .timeout_ms = load->timeout_ms,
        .count = load->count,
    };

    router_count(self, ROUTER_requests_total);
    if (routed == NULL || !routed->has_secret || entry->document.load_source != load->source ||
        entry->document.content.state != FILTER_ACTIVE) {
        sync_want(self, now_us);
        router_refuse_client(self, &nobody, load->correlation, &request, STATUS_NOT_READY,
                             "this router has not heard of the filter yet");
    } else if (entry->conflict) {
        router_refuse_client(self, &nobody, load->correlation, &request, STATUS_CONFLICT,
                             ROUTER_CONFLICT_MESSAGE);
    } else {
        op_begin_hashed(self, now_us, &nobody, load->correlation, &request, load->fingerprints,
                        entry);
    }
}
