/* Filters are found by their uids among those that have sites, which are noted. */
#include "coordinator/site/intake.h"

#include "coordinator/features.h"
#include "coordinator/links.h"
#include "coordinator/site/heard.h"
#include "coordinator/site/newcomer.h"

/* It would wait for ever what hangs on that, and nobody would know why. */
static void refuse(struct coordinator *self, uint64_t now_us, const struct filter_uid *uid,
                   const char *what, const char *fault)
{
    static struct log_limit limit;

    coordinator_count(self, COORDINATOR_site_states_refused_total);
    log_limited(&limit, now_us, LOG_WARN, "refused %s of filter %016llx%016llx by a link: %s", what,
                (unsigned long long)uid->high, (unsigned long long)uid->low, fault);
}

static void take(struct coordinator *self, uint64_t now_us, const struct site_filter *told,
                 const struct site_id *own)
{
    struct in_sites *note = in_sites_of(self, &told->uid);
    const char *fault = site_id_equal(&told->site, own) ? "it is said of this site itself"
                                                        : site_filter_fault(told);

    if (fault == NULL && note != NULL && !features_are_known(self, told->needs)) {
        fault = "that site has given it what this version does not know; upgrade this site";
    }
    if (fault != NULL) {
        refuse(self, now_us, &told->uid, "what another site says", fault);
    } else if (note != NULL) {
        note->news = in_sites_hear(note, told) || note->news;
    } else if (told->dropped) {
        newcomers_note_drop(self, told);
    } else {
        newcomers_note(self, now_us, told, own);
    }
}

/* Of which site this is nobody knows: what is said of other sites may be said of this one. */
static void leave_out(struct coordinator *self, uint64_t now_us, size_t count)
{
    static struct log_limit limit;

    for (size_t i = 0; i < count; i++) {
        coordinator_count(self, COORDINATOR_site_states_refused_total);
    }
    if (count > 0) {
        log_limited(&limit, now_us, LOG_WARN,
                    "links of this site say that they are of different sites: what they tell of "
                    "others is left out. Give all of them one site and one site_key_file");
    }
}

void intake_filters(struct coordinator *self, uint64_t now_us, const struct site_filter *filters,
                    size_t count)
{
    const struct link_heard *own = links_own(self, now_us);

    if (own == NULL) {
        leave_out(self, now_us, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        take(self, now_us, &filters[i], &own->report.id);
    }
}

void intake_evidence(struct coordinator *self, uint64_t now_us, const char *link,
                     const struct site_evidence *evidence, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct in_sites *note = in_sites_of(self, &evidence[i].uid);
        const char *fault = site_evidence_fault(&evidence[i]);

        if (fault != NULL) {
            refuse(self, now_us, &evidence[i].uid, "evidence", fault);
        } else if (note != NULL) {
            note->news = in_sites_witness(note, now_us, link, &evidence[i]) || note->news;
        }
    }
}
