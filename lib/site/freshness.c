/* Beginnings only rise, as each answer is right about some mark. They have a sign: a machine may
 * have been started after a mark was begun, and beginning with 0 would make that younger than it
 * is. */
#include "site/freshness.h"

#include "base/mutant.h"

#include <assert.h>

void freshness_init(struct freshness *self, uint64_t tag)
{
    *self = (struct freshness){.sent = tag >> 1};
}

/* ---- the set ---- */

static bool is_same_life(const struct site_life *a, const struct site_life *b)
{
    return site_life_compare(a, b) == 0;
}

/* The others that are in the set, of which nothing is known yet. */
static uint32_t list_others(const struct site_set *set,
                            struct freshness_site sites[SITE_SET_MAX_LIVE])
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < set->count; i++) {
        const struct site_entry *entry = &set->entries[i];

        if (i != set->own && entry->state != SITE_GONE &&
            !(MUTANT(SITE_JOINING_LEFT_OUT) && entry->state == SITE_JOINING) &&
            !(MUTANT(SITE_LEAVING_LEFT_OUT) && entry->state == SITE_LEAVING)) {
            assert(count < SITE_SET_MAX_LIVE);
            sites[count++] = (struct freshness_site){
                .id = entry->id, .life = entry->life, .state = entry->state};
        }
    }
    return count;
}

static bool is_same_set(const struct freshness *self, const struct freshness_site *sites,
                        uint32_t nsites, const struct site_life *own_life, uint32_t keyset)
{
    bool same = self->entered && self->nsites == nsites && self->keyset == keyset &&
                is_same_life(&self->own_life, own_life);

    for (uint32_t i = 0; same && i < nsites; i++) {
        same = site_id_equal(&self->sites[i].id, &sites[i].id) &&
               is_same_life(&self->sites[i].life, &sites[i].life) &&
               self->sites[i].state == sites[i].state;
    }
    return same;
}

void freshness_enter(struct freshness *self, const struct site_set *set, uint32_t keyset)
{
    struct freshness_site sites[SITE_SET_MAX_LIVE];
    uint32_t nsites = list_others(set, sites);
    const struct site_entry *own = site_set_own(set);
    struct site_life own_life = own != NULL ? own->life : (struct site_life){0};

    if (!is_same_set(self, sites, nsites, &own_life, keyset)) {
        *self = (struct freshness){.sent = self->sent, .keyset = keyset, .own_life = own_life};
        for (uint32_t i = 0; i < nsites; i++) {
            self->sites[i] = sites[i];
        }
        self->nsites = nsites;
    }
    self->entered = own != NULL;
    self->says_absent = set->says_absent;
    self->settled = set->settled;
}

/* ---- questions ---- */

/* One that is free, or was sent so long ago that it counts as lost: the oldest of them. */
static struct freshness_question *find_room(struct freshness *self, uint64_t now_us)
{
    struct freshness_question *oldest = &self->questions[0];

    for (size_t i = 1; i < FRESHNESS_MAX_QUESTIONS; i++) {
        if (self->questions[i].number < oldest->number) {
            oldest = &self->questions[i];
        }
    }
    if (oldest->number == 0 ||
        (now_us >= oldest->sent_us && now_us - oldest->sent_us >= FRESHNESS_PATIENCE_US)) {
        return oldest;
    }
    return NULL;
}

enum status freshness_ask(struct freshness *self, uint64_t now_us, uint64_t *number)
{
    struct freshness_question *question = find_room(self, now_us);

    if (question == NULL) {
        return STATUS_OVERLOADED;
    }
    self->sent++;
    *question = (struct freshness_question){.number = self->sent, .sent_us = now_us};
    *number = self->sent;
    return STATUS_OK;
}

static struct freshness_site *find_site(struct freshness *self, const struct freshness_told *told)
{
    for (uint32_t i = 0; i < self->nsites; i++) {
        if (site_id_equal(&self->sites[i].id, &told->id) &&
            is_same_life(&self->sites[i].life, &told->life)) {
            return &self->sites[i];
        }
    }
    return NULL;
}

/* A mark that was begun after the question is younger than that; how much is not known for sure. */
static void hear(struct freshness_site *site, const struct freshness_question *question,
                 const struct mark_told *mark)
{
    int64_t begun_us;

    if (!mark->known || mark->age_us > INT64_MAX || question->sent_us > INT64_MAX) {
        return;
    }
    begun_us = (int64_t)question->sent_us - (mark->after ? 0 : (int64_t)mark->age_us);
    if (!site->known || begun_us > site->begun_us) {
        site->begun_us = begun_us;
    }
    if (mark->after && question->number > site->after) {
        site->after = question->number;
    }
    site->known = true;
}

static struct freshness_question *find_question(struct freshness *self, uint64_t number)
{
    for (size_t i = 0; i < FRESHNESS_MAX_QUESTIONS; i++) {
        if (number != 0 && self->questions[i].number == number) {
            return &self->questions[i];
        }
    }
    return NULL;
}

void freshness_unsent(struct freshness *self, uint64_t number)
{
    struct freshness_question *question = find_question(self, number);

    assert(question != NULL);
    *question = (struct freshness_question){0};
}

enum status freshness_answered(struct freshness *self, uint64_t number,
                               const struct freshness_answer *answer)
{
    struct freshness_question *question = find_question(self, number);

    if (question == NULL) {
        return STATUS_NOT_FOUND;
    }
    if (answer->keyset != self->keyset || !is_same_life(&answer->own_life, &self->own_life)) {
        *question = (struct freshness_question){0};
        return STATUS_STALE;
    }
    for (size_t i = 0; i < answer->ntold; i++) {
        struct freshness_site *site = find_site(self, &answer->told[i]);

        if (site != NULL) {
            hear(site, question, &answer->told[i].mark);
        }
    }
    *question = (struct freshness_question){0};
    return STATUS_OK;
}

/* ---- checks ---- */

struct freshness_moment freshness_came(const struct freshness *self, uint64_t now_us)
{
    return (struct freshness_moment){.us = now_us, .questions = self->sent};
}

static bool is_fresh(const struct freshness_site *site, const struct freshness_moment *came)
{
    return site->after + MUTANT(SITE_OLD_QUESTION) > came->questions;
}

static bool counts(const struct freshness_site *site)
{
    return site->state == SITE_COUNTED ||
           (MUTANT(SITE_LEAVER_COUNTS) && site->state == SITE_LEAVING);
}

uint32_t freshness_confirmed(const struct freshness *self, const struct freshness_moment *came)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < self->nsites; i++) {
        count += counts(&self->sites[i]) && is_fresh(&self->sites[i], came);
    }
    return count;
}

bool freshness_has_confirmed(const struct freshness *self, const struct freshness_moment *came,
                             const struct site_id *id)
{
    bool has = false;

    for (uint32_t i = 0; i < self->nsites; i++) {
        has = has || (site_id_equal(&self->sites[i].id, id) && is_fresh(&self->sites[i], came));
    }
    return has;
}

/* 0: it is not. Both times are whole microseconds, so a difference may be one too small. */
static uint64_t behind(const struct freshness_site *site, const struct freshness_moment *came)
{
    if (is_fresh(site, came)) {
        return 0;
    }
    if (came->us > INT64_MAX) {
        return UINT64_MAX;
    }
    return (int64_t)came->us < site->begun_us ? 1 : came->us - (uint64_t)site->begun_us + 1;
}

static struct freshness_ruling judge(const struct freshness *self, uint64_t bound_us,
                                     const struct freshness_moment *came)
{
    struct freshness_ruling worst = {.verdict = FRESHNESS_MAY_SAY};

    for (uint32_t i = 0; i < self->nsites; i++) {
        uint64_t behind_us;

        if (!self->sites[i].known) {
            return (struct freshness_ruling){.verdict = FRESHNESS_UNHEARD, .site = i};
        }
        behind_us = behind(&self->sites[i], came);
        if (behind_us > bound_us && behind_us > worst.behind_us) {
            worst = (struct freshness_ruling){FRESHNESS_BEHIND, i, behind_us};
        }
    }
    return worst;
}

struct freshness_ruling freshness_allows(const struct freshness *self, uint64_t bound_us,
                                         const struct freshness_moment *came)
{
    if (!self->entered || !self->says_absent) {
        return (struct freshness_ruling){.verdict = FRESHNESS_FILLING};
    }
    if (bound_us == FRESHNESS_UNBOUNDED) {
        return (struct freshness_ruling){.verdict = FRESHNESS_MAY_SAY};
    }
    if (!self->settled && !MUTANT(SITE_UNSETTLED_BOUNDS)) {
        return (struct freshness_ruling){.verdict = FRESHNESS_UNSETTLED};
    }
    return judge(self, bound_us, came);
}
