/* Delivers, delays, repeats and loses messages, and breaks and cuts the links that they take. */
#include "tests/sim/sim_network.h"

#include "base/heap.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_memory.h"

#include <assert.h>

enum {
    DELAY_LEAST_US = 20,
    DELAY_MOST_US = 250,
    CONNECT_MOST_US = 3000,
    CONNECT_AGAIN_MOST_US = 20000,
    LATE_COMMAND_PERMILLE = 60,
    LATE_COMMAND_MOST_US = 2500000,
};

/* The peer that a server sees: which process, which life of it, which link and connection. */
struct peer_name {
    uint8_t process;
    uint8_t connection;
    uint16_t generation;
    uint32_t link;
};

_Static_assert(sizeof(struct peer_name) <= PEER_ID_BYTES, "a peer's name fits");

static struct sim_link *find_link(struct sim_process *process, uint32_t id)
{
    for (uint32_t i = 0; i < SIM_MAX_LINKS; i++) {
        if (id != 0 && process->links[i].id == id) {
            return &process->links[i];
        }
    }
    return NULL;
}

void sim_network_fini(struct sim_network *self)
{
    for (size_t i = 0; i < self->nmessages; i++) {
        heap_free(self->messages[i].bytes);
    }
    sim_mixup_fini(&self->mixup);
    heap_free(self->messages);
    heap_free(self->free_messages);
    *self = (struct sim_network){0};
}

uint32_t sim_network_open(struct sim_process *process, const char *endpoint)
{
    struct sim *sim = process->sim;
    struct sim_link *link = NULL;

    for (uint32_t i = 0; i < SIM_MAX_LINKS && link == NULL; i++) {
        link = process->links[i].id == 0 ? &process->links[i] : NULL;
    }
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        if (link != NULL && strcmp(sim->processes[i]->endpoint, endpoint) == 0) {
            *link = (struct sim_link){
                .id = ++process->last_link,
                .target = i,
                .generation = sim->processes[i]->generation,
                .ready_us = sim->now_us +
                            sim_random_between(&sim->network_random, 0, CONNECT_MOST_US),
            };
            return link->id;
        }
    }
    return 0;
}

void sim_network_close(struct sim_process *process, uint32_t link)
{
    struct sim_link *found = find_link(process, link);

    assert(found != NULL);
    *found = (struct sim_link){0};
}

static void reconnect(struct sim *sim, struct sim_link *link)
{
    link->connection++;
    link->generation = sim->processes[link->target]->generation;
    link->ready_us = sim->now_us + sim_random_between(&sim->network_random, DELAY_LEAST_US,
                                                      CONNECT_AGAIN_MOST_US);
}

/* Connected now? Notices a target that died and came back. */
static bool connected(struct sim *sim, struct sim_link *link)
{
    const struct sim_process *target = sim->processes[link->target];

    if (target->alive && target->generation != link->generation) {
        reconnect(sim, link);
    }
    return target->alive && sim->now_us >= link->ready_us;
}

/* ---- on the way ---- */

static uint32_t take_place(struct sim_network *self)
{
    if (self->nfree > 0) {
        return self->free_messages[--self->nfree];
    }
    self->messages = sim_memory_reserve(self->messages, &self->capacity, self->nmessages + 1,
                                        sizeof *self->messages);
    return (uint32_t)self->nmessages++;
}

void sim_network_drop(struct sim *sim, uint32_t message)
{
    struct sim_network *self = &sim->network;

    heap_free(self->messages[message].bytes);
    self->messages[message] = (struct sim_message){0};
    self->free_messages = sim_memory_reserve(self->free_messages, &self->free_capacity,
                                             self->nfree + 1, sizeof *self->free_messages);
    self->free_messages[self->nfree++] = message;
}

static void arrive(struct sim *sim, void *data, uint64_t number)
{
    const struct sim_message *message = &sim->network.messages[number];
    struct sim_process *to = sim->processes[message->to];

    (void)data;
    if (!to->alive || to->generation != message->generation) {
        sim_network_drop(sim, (uint32_t)number);
        return;
    }
    sim_process_push(to, (uint32_t)number);
}

/* Commands of operators come whenever they like: long after another try was carried out, say. */
static uint64_t draw_lateness(struct sim *sim, const struct sim_message *head)
{
    if (head->admin == 0 || !sim_random_chance(&sim->network_random, LATE_COMMAND_PERMILLE)) {
        return 0;
    }
    sim_coverage_fault(sim, SIM_FAULT_LATE_COMMAND);
    return sim_random_below(&sim->network_random, LATE_COMMAND_MOST_US);
}

/* ... not before the last one by that connection. */
static uint64_t in_order(struct sim *sim, const struct sim_message *head, uint64_t delay_us)
{
    const struct sim_weather *weather = &sim->network.weather;
    uint32_t connection = 2 * (head->link % SIM_MAX_LINKS) + head->answer;
    uint64_t *last_us = &sim->network.arrives_us[head->from][head->to][connection];

    if (sim_random_chance(&sim->network_random, weather->stall)) {
        delay_us += sim_random_below(&sim->network_random, weather->stall_us + 1);
    }
    *last_us = sim->now_us + delay_us > *last_us ? sim->now_us + delay_us : *last_us;
    return *last_us - sim->now_us;
}

static uint64_t draw_delay(struct sim *sim, const struct sim_message *head)
{
    struct sim_random *random = &sim->network_random;
    const struct sim_weather *weather = &sim->network.weather;
    uint64_t delay = sim_random_between(random, DELAY_LEAST_US, DELAY_MOST_US) +
                     weather->latency_us;

    if (sim_random_chance(random, weather->slow)) {
        sim_coverage_fault(sim, SIM_FAULT_DELAY);
        return delay + sim_random_below(random, weather->slow_us + 1);
    }
    return weather->in_order ? in_order(sim, head, delay) : delay;
}

static void put_on_wire(struct sim *sim, const struct sim_message *head, struct span frame)
{
    uint32_t place = take_place(&sim->network);
    uint64_t delay_us = draw_delay(sim, head) + draw_lateness(sim, head);
    struct sim_message *message = &sim->network.messages[place];

    *message = *head;
    message->used = true;
    message->size = frame.size;
    message->bytes = sim_memory_alloc(frame.size, 1);
    memcpy(message->bytes, frame.data, frame.size);
    if (head->admin != 0) {
        sim_given_up_note(sim, head->admin, sim->now_us + delay_us);
    }
    sim_after(sim, delay_us, arrive, NULL, place);
}

static bool between_nodes(const struct sim *sim, const struct sim_message *head)
{
    return sim->processes[head->from]->kind == SIM_NODE &&
           sim->processes[head->to]->kind == SIM_NODE;
}

/* The fate of one message between two live processes. */
static enum status transmit(struct sim *sim, const struct sim_message *head, struct span frame)
{
    const struct sim_weather *weather = &sim->network.weather;
    uint8_t cut = sim->network.cuts[head->from][head->to];

    sim_trace_hash(&sim->trace, sim->now_us, head->from << 8 | head->to,
                   document_epoch_hash(frame));
    if (sim->trace.detailed) {
        sim_show_frame(sim, head, frame, cut != SIM_CUT_NONE ? "cut" : "");
    }
    if (cut != SIM_CUT_NONE) {
        return cut == SIM_CUT_NOTICED ? STATUS_UNAVAILABLE : STATUS_OK;
    }
    if (sim_random_chance(&sim->network_random, weather->loss)) {
        sim_coverage_fault(sim, SIM_FAULT_LOSS);
        sim_trace_line(&sim->trace, sim->now_us, "  lost");
        return STATUS_OK;
    }
    if (head->answer && between_nodes(sim, head) &&
        sim_mixup_replace(sim, &frame, sim_random_chance(&sim->network_random, weather->mixed))) {
        sim_coverage_fault(sim, SIM_FAULT_MIXED_UP);
        sim_trace_line(&sim->trace, sim->now_us, "  replaced by an answer to another question");
    }
    put_on_wire(sim, head, frame);
    /* No transport repeats a client's frame: a client that sends again says so by its attempt. */
    if ((sim->processes[head->from]->kind != SIM_CLIENT) &&
        sim_random_chance(&sim->network_random, weather->repeat)) {
        sim_coverage_fault(sim, SIM_FAULT_REPEAT);
        put_on_wire(sim, head, frame);
    }
    return STATUS_OK;
}

enum status sim_network_send(struct sim_process *process, uint32_t link, struct span frame)
{
    struct sim *sim = process->sim;
    struct sim_link *found = find_link(process, link);
    struct sim_message head = {.from = process->index, .sender = process->generation, .link = link};

    if (found == NULL || !connected(sim, found)) {
        return STATUS_UNAVAILABLE;
    }
    head.to = found->target;
    head.generation = found->generation;
    head.connection = found->connection;
    head.admin = sim_operator_command(sim, process);
    return transmit(sim, &head, frame);
}

enum status sim_network_reply(struct sim_process *process, const struct peer *to, struct span frame)
{
    struct sim *sim = process->sim;
    struct peer_name name;
    struct sim_process *asker;
    struct sim_link *link;
    struct sim_message head = {
        .answer = true, .from = process->index, .sender = process->generation};

    assert(to->size == sizeof name);
    memcpy(&name, to->id, sizeof name);
    asker = sim->processes[name.process];
    link = find_link(asker, name.link);
    if (!asker->alive || (uint16_t)asker->generation != name.generation || link == NULL ||
        (uint8_t)link->connection != name.connection) {
        return STATUS_UNAVAILABLE;
    }
    head.to = asker->index;
    head.generation = asker->generation;
    head.link = name.link;
    head.connection = link->connection;
    return transmit(sim, &head, frame);
}

/* ---- arrival ---- */

static void deliver_answer(struct sim_process *process, const struct sim_message *message)
{
    const struct sim_link *link = find_link(process, message->link);

    if (link != NULL && link->connection == message->connection) {
        process->sim->network.delivered++;
        process->actor.on_answer(process->actor.self, sim_process_now(process), message->link,
                                 span_of(message->bytes, message->size));
    }
}

static void deliver_request(struct sim_process *process, const struct sim_message *message)
{
    struct peer peer = {.size = sizeof(struct peer_name)};
    struct peer_name name = {
        .process = (uint8_t)message->from,
        .connection = (uint8_t)message->connection,
        .generation = (uint16_t)message->sender,
        .link = message->link,
    };

    memcpy(peer.id, &name, sizeof name);
    process->sim->network.delivered++;
    if (process->program != NULL && process->program->identify != NULL) {
        process->program->identify(process->program->context,
                                   process->sim->processes[message->from], &peer);
    }
    if (sim_users_admit(process, process->sim->processes[message->from], &peer,
                        span_of(message->bytes, message->size))) {
        process->actor.on_request(process->actor.self, sim_process_now(process), &peer,
                                  span_of(message->bytes, message->size));
    }
}

void sim_network_deliver(struct sim_process *process, uint32_t message)
{
    struct sim *sim = process->sim;
    /* A copy: what the actor sends may move the table, and its bytes stay where they are. */
    const struct sim_message taken = sim->network.messages[message];

    sim_trace_hash(&sim->trace, sim->now_us, UINT64_C(1) << 32 | process->index, message);
    if (sim->trace.detailed) {
        sim_show_arrival(sim, &taken);
    }
    if (taken.answer) {
        deliver_answer(process, &taken);
    } else {
        deliver_request(process, &taken);
    }
    sim_network_drop(sim, message);
}

/* ---- faults ---- */

static void reset_links(struct sim *sim, struct sim_process *process, uint32_t target)
{
    for (uint32_t i = 0; i < SIM_MAX_LINKS; i++) {
        if (process->links[i].id != 0 && process->links[i].target == target) {
            reconnect(sim, &process->links[i]);
        }
    }
}

void sim_network_listen(struct sim_process *process)
{
    struct sim *sim = process->sim;

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        for (uint32_t k = 0; k < SIM_MAX_LINKS && sim->processes[i]->alive; k++) {
            struct sim_link *link = &sim->processes[i]->links[k];

            if (link->id != 0 && link->target == process->index &&
                link->generation != process->generation) {
                reconnect(sim, link);
            }
        }
    }
}

void sim_network_reset(struct sim *sim, uint32_t a, uint32_t b)
{
    sim_coverage_fault(sim, SIM_FAULT_RESET);
    sim_trace_line(&sim->trace, sim->now_us, "connections of %s and %s break",
                   sim->processes[a]->name, sim->processes[b]->name);
    reset_links(sim, sim->processes[a], b);
    reset_links(sim, sim->processes[b], a);
}

void sim_network_break(struct sim *sim, uint32_t from, uint32_t to)
{
    struct sim_process *process = sim->processes[from];
    uint32_t first = (uint32_t)sim_random_below(&sim->network_random, SIM_MAX_LINKS);

    for (uint32_t i = 0; i < SIM_MAX_LINKS; i++) {
        struct sim_link *link = &process->links[(first + i) % SIM_MAX_LINKS];

        if (link->id != 0 && link->target == to) {
            sim_coverage_fault(sim, SIM_FAULT_RESET);
            sim_trace_line(&sim->trace, sim->now_us, "a connection of %s to %s breaks",
                           process->name, sim->processes[to]->name);
            reconnect(sim, link);
            return;
        }
    }
}

void sim_network_cut(struct sim *sim, uint32_t from, uint32_t to, enum sim_cut cut)
{
    sim->network.cuts[from][to] = (uint8_t)cut;
    sim_trace_line(&sim->trace, sim->now_us, "from %s to %s: %s", sim->processes[from]->name,
                   sim->processes[to]->name,
                   cut == SIM_CUT_NONE     ? "healed"
                   : cut == SIM_CUT_SILENT ? "cut"
                                           : "cut, noticed");
}

void sim_network_heal(struct sim *sim)
{
    memset(sim->network.cuts, 0, sizeof sim->network.cuts);
    sim_trace_line(&sim->trace, sim->now_us, "all cuts heal");
}
