/* site_stages.h - several sites in one test: a coordinator, a store and three nodes each, and one
 * link, which carries what coordinators say of filters from one to another, and says of its streams
 * what the test wants.
 *
 * Nothing moves by itself. Sites are eu, us and ap.
 *
 * Errors:  a failed cr_assert.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_SITE_STAGES_H
#define ORBLOOM_TESTS_SUPPORT_SITE_STAGES_H

#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"

enum { SITE_STAGES = 3, EU = 0, US = 1, AP = 2 };

/* One filter, as its coordinators have said it last to their links. */
struct site_words {
    bool said;
    struct site_filter told;
    char name[DOCUMENT_NAME_BYTES];
};

struct site_stage {
    struct memory_store store;
    struct coordinator_stage stage;
    bool cut;                                   /* its link reaches nobody */
    struct site_id key;                         /* that its link has now; 0: the first one */
    struct site_words words;                    /* what it says ... */
    struct site_words heard[SITE_STAGES];       /* ... and has heard of the others */
    struct site_evidence evidence[SITE_STAGES]; /* uid 0: none */
    uint64_t told_to;
    uint64_t told_of;
};

extern struct site_stage site_stages[SITE_STAGES];

struct site_id site_stages_id(uint32_t i);
const char *site_stages_name(uint32_t i);

/* `n` sites whose nodes have reported. */
void site_stages_init(uint32_t n);
void site_stages_fini(void);

/* Another coordinator of the site, on the same store: what was in memory is lost. */
void site_stages_restart(uint32_t i);

/* eu has filter "urls", with a log, which grows, and such acks (map/acks.h). */
void site_stages_make(uint32_t acks);

/* NULL: the site has no such filter. */
const struct filter_document *site_stages_document(uint32_t i, const char *name);

/* The answer to a change of urls' set at this site. */
struct coordinator_told site_stages_change(uint32_t i, enum site_step step, const char *site);

/* The link asks its coordinator, and brings along what it has heard, and its evidence. */
void site_stages_sync(uint32_t i);

/* Words of each site come to the others, as far as they are not cut off; no questions. */
void site_stages_carry(void);

/* Nodes answer all fences that they were asked for. */
void site_stages_confirm(uint32_t i);

/* All of that, several times. */
void site_stages_run(void);

/* The link of `i` has applied a whole mark of `k`, or a copy, begun now: as far as it has heard. */
void site_stages_mark(uint32_t i, uint32_t k);
void site_stages_copy(uint32_t i, uint32_t k);

/* What urls' set waits for at this site; valid until the next call. */
const char *site_stages_awaited(uint32_t i);

/* The state of site k in urls' set at site i; 0: it is not in it, or there is no filter. */
int site_stages_state(uint32_t i, uint32_t k);

#endif
