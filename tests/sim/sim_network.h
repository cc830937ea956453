/* sim_network.h - the wires: messages on their way, links that connect, break and are cut.
 *
 * What ZeroMQ and TCP promise is not assumed: messages may be lost, repeated, late and out of
 * order, also on one link. What they do is done: a link to a dead process refuses to send,
 * connects again by itself once the process is back, and gives the server a new peer then; what
 * was in flight to the former process or over the former connection is gone.
 *
 *          Nodes may be answered what was not asked (sim_mixup.h).
 * Faults:  `weather` holds for every message; cuts are directed, so a partition may be one-way.
 *          A silent cut swallows messages; a noticed one refuses to send.
 * Owner:   sim_network_fini() frees what is in flight.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_NETWORK_H
#define ORBLOOM_TESTS_SIM_NETWORK_H

#include "base/actor.h"
#include "tests/sim/sim_mixup.h"

enum { SIM_MAX_PROCESSES = 24, SIM_MAX_LINKS = 32 };

enum sim_cut { SIM_CUT_NONE = 0, SIM_CUT_SILENT, SIM_CUT_NOTICED };

struct sim;
struct sim_process;

/* Chances in permille; times in microseconds. */
struct sim_weather {
    uint32_t loss;
    uint32_t repeat;
    uint32_t mixed; /* answers of nodes to nodes that are to another question */
    uint32_t slow;  /* delayed by up to slow_us more, so that others overtake */
    uint64_t slow_us;
    uint64_t latency_us; /* every message takes so long more */
    bool in_order;       /* by one connection what is not slow is not overtaken on its way ... */
    uint32_t stall;      /* ... and what is lost is sent again: it takes up to stall_us more, and so
                            does all behind it */
    uint64_t stall_us;
};

/* One outgoing link of a process. */
struct sim_link {
    uint32_t id; /* 0: free */
    uint32_t target;
    uint32_t generation; /* of the target that it is connected to */
    uint32_t connection; /* counts reconnections */
    uint64_t ready_us;   /* connected from then on */
};

struct sim_message {
    bool used;
    bool answer; /* on its way back over the link */
    uint32_t from;
    uint32_t to;
    uint32_t sender;     /* generation of the sender */
    uint32_t generation; /* of the receiver it was meant for */
    uint32_t link;       /* the asker's */
    uint32_t connection;
    uint32_t admin; /* number of the operator's command it belongs to; 0: none */
    size_t size;
    uint8_t *bytes;
};

struct sim_network {
    struct sim_weather weather;
    uint8_t cuts[SIM_MAX_PROCESSES][SIM_MAX_PROCESSES];
    uint64_t arrives_us[SIM_MAX_PROCESSES][SIM_MAX_PROCESSES][2 * SIM_MAX_LINKS]; /* the last in
                                                                                     order */
    struct sim_message *messages;
    size_t nmessages;
    size_t capacity;
    uint32_t *free_messages;
    size_t nfree;
    size_t free_capacity;
    uint64_t delivered;
    struct sim_mixup mixup;
};

void sim_network_fini(struct sim_network *self);

/* The wire side of struct effects. */
uint32_t sim_network_open(struct sim_process *process, const char *endpoint);
void sim_network_close(struct sim_process *process, uint32_t link);
enum status sim_network_send(struct sim_process *process, uint32_t link, struct span frame);
enum status sim_network_reply(struct sim_process *process, const struct peer *to,
                              struct span frame);

/* Hand one message of its inbox to the process, if it is still meant for it. */
void sim_network_deliver(struct sim_process *process, uint32_t message);
void sim_network_drop(struct sim *sim, uint32_t message);

/* The process has started: whoever was connected to a former life of it connects again. */
void sim_network_listen(struct sim_process *process);

/* Every connection of the two processes breaks and is made again. */
void sim_network_reset(struct sim *sim, uint32_t a, uint32_t b);

/* One of those that the first has made to the second does. */
void sim_network_break(struct sim *sim, uint32_t from, uint32_t to);

void sim_network_cut(struct sim *sim, uint32_t from, uint32_t to, enum sim_cut cut);
void sim_network_heal(struct sim *sim);

#endif
