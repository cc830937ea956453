/* What nodes tell of their slot groups, kept in order, so that one is found without a look at all.
 *
 * A page replaces what was known of its stretch and says nothing of the rest. What another boot
 * told is void as a whole: a replica that has to read its log again is not what it was. */
#include "base/heap.h"
#include "coordinator/private.h"

#include <stdio.h>
#include <string.h>

struct heard *coordinator_heard(const struct coordinator *self, uint32_t node)
{
    for (size_t i = 0; i < self->nheard; i++) {
        if (self->heard[i].node == node) {
            return &self->heard[i];
        }
    }
    return NULL;
}

bool heard_alive(const struct coordinator *self, uint64_t now_us, uint32_t node)
{
    const struct heard *heard = coordinator_heard(self, node);

    return heard != NULL && coordinator_lately(self, now_us, heard->last_us);
}

void heard_note(const struct coordinator *self, uint64_t now_us, struct heard *heard)
{
    rhythm_note(&heard->rhythm, heard->last_us, now_us, self->config.node_timeout_us);
    heard->last_us = now_us > heard->last_us ? now_us : heard->last_us;
}

uint64_t heard_silent_after(const struct coordinator *self, uint32_t node)
{
    const struct heard *heard = coordinator_heard(self, node);
    uint64_t timeout_us = self->config.node_timeout_us;

    return heard != NULL ? rhythm_silent_after(&heard->rhythm, heard->last_us, timeout_us)
                         : timeout_us;
}

uint32_t heard_link(struct coordinator *self, uint32_t node)
{
    const struct node_record *record = node_list_find(&self->documents.nodes, node);
    struct heard *heard = coordinator_heard(self, node);
    char address[NODE_ADDRESS_BYTES];

    if (record == NULL || heard == NULL) {
        return 0; /* Not heard of by this coordinator; its next sync changes that. */
    }
    (void)node_record_address(record, address);
    if (heard->link != 0 && strcmp(heard->link_address, address) != 0) {
        self->effects.link_close(self->effects.context, heard->link);
        heard->link = 0;
    }
    if (heard->link == 0) {
        heard->link = self->effects.link_open(self->effects.context, address);
        memcpy(heard->link_address, address, sizeof address);
    }
    return heard->link;
}

void heard_fini(struct heard *self)
{
    heap_free(self->reports);
    heap_free(self->before);
}

/* ---- finding ---- */

static const struct replica_report *find_group(const struct replica_report *reports, size_t count,
                                               uint64_t filter_id, uint32_t group)
{
    size_t at = report_place_find(reports, count, (struct report_place){filter_id, group});
    bool found = at < count && reports[at].filter_id == filter_id && reports[at].group == group;

    return found ? &reports[at] : NULL;
}

const struct replica_report *heard_report(const struct heard *self, uint64_t filter_id,
                                          uint32_t group)
{
    return self != NULL ? find_group(self->reports, self->nreports, filter_id, group) : NULL;
}

const struct replica_report *heard_reports(const struct heard *self, uint64_t filter_id,
                                           size_t *count)
{
    size_t first;
    size_t end;

    *count = 0;
    if (self == NULL || self->nreports == 0) {
        return NULL;
    }
    first = report_place_find(self->reports, self->nreports, (struct report_place){filter_id, 0});
    for (end = first; end < self->nreports && self->reports[end].filter_id == filter_id; end++) {
    }
    *count = end - first;
    return self->reports + first;
}

uint64_t heard_most_keys(const struct coordinator *self, uint64_t filter_id, uint32_t group)
{
    uint64_t most = 0;

    for (size_t i = 0; i < self->nheard; i++) {
        const struct heard *heard = &self->heard[i];
        const struct replica_report *now = heard_report(heard, filter_id, group);
        const struct replica_report *before = find_group(heard->before, heard->nbefore, filter_id,
                                                         group);

        most = now != NULL && now->keys > most ? now->keys : most;
        most = before != NULL && before->keys > most ? before->keys : most;
    }
    return most;
}

/* ---- taking ---- */

/* Of a life that is over the last ones stay: nobody else tells what it held. */
static void begin_boot(struct heard *self, const struct sync_request *request)
{
    if (self->incarnation != request->incarnation && self->nreports > 0) {
        heap_free(self->before);
        self->before = self->reports;
        self->nbefore = self->nreports;
        self->reports = NULL;
        self->reports_capacity = 0;
    }
    self->nreports = 0;
    memset(self->states, 0, sizeof self->states);
    self->round = (struct report_round){0};
    self->since = 0;
    self->rival_us = 0;
}

static void count_states(struct heard *self, size_t from, size_t to, uint32_t sign)
{
    for (size_t i = from; i < to; i++) {
        self->states[self->reports[i].state] += sign;
    }
}

/* In place of what was known of the stretch. */
static void splice(struct heard *self, const struct sync_request *request)
{
    const struct report_page *page = &request->page;
    size_t first = report_place_find(self->reports, self->nreports, page->from);
    size_t end = report_page_ends(page)
                     ? self->nreports
                     : report_place_find(self->reports, self->nreports, page->to);

    count_states(self, first, end, (uint32_t)-1);
    if (end < self->nreports) {
        memmove(&self->reports[first + request->nreplicas], &self->reports[end],
                (self->nreports - end) * sizeof *self->reports);
    }
    for (size_t i = 0; i < request->nreplicas; i++) {
        self->reports[first + i] = request->replicas[i];
        self->reports[first + i].node_id = self->node;
        self->reports[first + i].incarnation = request->incarnation;
    }
    count_states(self, first, first + request->nreplicas, 1);
    self->nreports += request->nreplicas - (end - first);
}

/* Keeps `since` at the oldest state of the store that any report kept here was made under. */
static void follow_round(struct heard *self, const struct report_page *page, uint64_t since)
{
    struct report_round *round = &self->round;

    self->since = since < self->since ? since : self->since;
    if (report_page_begins(page)) {
        *round = (struct report_round){.told = round->told, .going = true, .since = since};
    } else {
        round->since = since < round->since ? since : round->since;
        if (report_place_compare(round->reached, page->from) != 0) {
            return; /* News of a stretch, told between two pages of the round; or one got lost. */
        }
    }
    round->reached = page->to;
    if (round->going && report_page_ends(page)) {
        round->told = true;
        round->going = false;
        self->since = round->since;
    }
}

static bool make_room(struct heard *self, size_t more)
{
    return heap_grow(&self->reports, &self->reports_capacity, self->nreports + more,
                     sizeof *self->reports);
}

bool heard_take_page(struct heard *self, const struct sync_request *request, uint64_t since)
{
    if (!make_room(self, request->nreplicas)) {
        return false;
    }
    if (self->incarnation != request->incarnation || self->boot != request->boot) {
        begin_boot(self, request);
        if (!make_room(self, request->nreplicas)) {
            return false;
        }
    }
    splice(self, request);
    follow_round(self, &request->page, since);
    return true;
}
