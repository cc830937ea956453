/* sites_oracle.h - what must hold of every answer at any site, whatever happened between them.
 *
 * It is told what clients began and were answered, and looks at documents in the stores of sites:
 * it knows the promises, not the code. Of each answered key:
 *
 *   Z1       a check does not say "absent" of what was acknowledged at this site before it began
 *   Z2, Z4   ... nor, at any site, of what all that count have acknowledged (`each`)
 *   Z3       ... nor, within a bound D, of what any site had acknowledged more than D before
 *   join     ... nor of what any site had acknowledged before this one counted. Before its document
 *            allows it, and after it has left, it says "absent" of nothing
 *   inherit  "present" takes an add of that key somewhere, and PRESENT another one
 *   NEW      not after an add that was acknowledged at this site
 *   end      every operation ends once, by its deadline; OK means that every key is decided
 *
 * For that it keeps account of who has a key for sure: who has acknowledged it, who had to for an
 * acknowledgement elsewhere, and who was filled since. What nobody has any more, as those have
 * burnt or were put back to before it, is let off; so two that were put back at once may take with
 * them what the two have acknowledged. A site that was put back owes plain checks what it had until
 * its copy and what is acknowledged from then on; the rest again once it counts anew, or says
 * "absent" as before because nobody can notice. Within a bound nothing else is let off.
 *
 * A site that was removed while it lived is out of the others' sight until they ask it again: till
 * then they owe nothing of what it alone has acknowledged, nor it anything of what `each` has.
 *
 * A filter that was dropped at all sites, and another one of its name, have records of their own. A
 * site has the former one until it hears of the drop, with all promises; what was asked before it
 * had the other one, and is answered since, either may have answered. The new one nobody drops, and
 * no key of the former one is in it.
 *
 * Each acknowledged key is also one of the cluster's own record: so W of its replicas hold it as
 * long as there is a filter (tests/sim/sim_invariant.h), and after an add that `each` has
 * acknowledged W of every site that counts.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_SITES_SITES_ORACLE_H
#define ORBLOOM_TESTS_SIM_SITES_SITES_ORACLE_H

#include "client/session.h"
#include "map/document.h"
#include "map/sites.h"
#include "tests/sim/sim_keyset.h"
#include "tests/sim_sites/sites_settings.h"

enum {
    SITES_KEYS = SIM_MOST_KEYS, /* those below SIM_MAX_KEYS are looked for in replicas, too */
    SITES_BATCH = 64,
    SITES_FILTERS = 2, /* under one name, one after the other */
};

#define SITES_UNBOUND UINT64_MAX

struct site;
struct sim_process;

/* One operation of a client, from its start to its answer. */
struct sites_op {
    bool used;
    struct site *site;
    struct sim_process *client;
    uint32_t filter; /* the one that its site had when it began */
    bool lags;       /* ... and a node there may still have the former one */
    uint64_t serial;
    enum operation operation;
    uint32_t count;
    uint32_t keys[SITES_BATCH];
    uint64_t begun_us;
    uint64_t deadline_us;
    uint64_t bound_us; /* of a check, the filter's or its own; SITES_UNBOUND: none */
    uint32_t acks;     /* of an add: those of map/acks.h, the filter's or its own */
    bool must_succeed; /* nothing is wrong any more */
};

/* What is known of a site, by its document. */
struct sites_standing {
    uint64_t filter_id; /* 0: none yet */
    struct site_life life;
    uint64_t counted_us; /* in that life; 0: not yet */
    uint64_t absent_us;  /* its document has allowed it first, in that life; 0: not yet */
    uint64_t barred_us;  /* until then no router goes by an epoch that allows it; 0: some may */
    uint64_t gone_us;    /* another site's document has it as GONE; 0: none */
};

/* Of one filter. */
struct sites_record {
    struct filter_uid uid;                     /* zeros: nobody has it yet */
    uint64_t acked_us[SITES_MAX][SITES_KEYS];  /* at that site; 0: not */
    uint64_t each_us[SITES_MAX][SITES_KEYS];   /* by all that counted, that site among them */
    uint64_t held_us[SITES_MAX][SITES_KEYS];   /* it has it: another one's add took that, or it was
                                                  filled since */
    uint64_t either_us[SITES_MAX][SITES_KEYS]; /* ... one of the two others has it, which is not
                                                  known */
    uint8_t has[SITES_KEYS];                   /* sites, a bit each, that surely do */
    uint32_t tried[SITES_KEYS];                /* adds that were begun */
};

struct sites_oracle {
    struct sites_record records[SITES_FILTERS];
    uint32_t newest; /* the one that is to be everywhere in the end */
    uint64_t let_off;
    uint64_t answers;
};

void sites_oracle_op_begins(struct sites *sites, struct sites_op *op);
void sites_oracle_op_ends(struct sites *sites, const struct sites_op *op,
                          const struct session_result *result);

/* After each event: documents may have changed. */
void sites_oracle_look(struct sites *sites);

/* All that this site has is gone for good. */
void sites_oracle_burnt(struct sites *sites, const struct site *site);

/* It has again what it had at that time, and nothing that came later; 0: nothing at all. */
void sites_oracle_put_back(struct sites *sites, struct site *site, uint64_t copied_us);

/* Is it to be found everywhere, in the end? */
bool sites_oracle_promised(const struct sites *sites, uint32_t key);

/* ... or nowhere, as it went with a filter that was dropped? */
bool sites_oracle_forgotten(const struct sites *sites, uint32_t key);

#endif
