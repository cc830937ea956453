/* Who answers, and how fast; who speaks which version. */
#include "base/number.h"
#include "cli/doctor/judge.h"
#include "map/feature.h"

#include <stdio.h>
#include <string.h>

enum { OVERDUE_TEXT_BYTES = 128, MS_PER_S = 1000, US_PER_S = 1000000 };

/* ---- reach, slow ---- */

static uint32_t count_answered(const struct gathered *gathered, enum doctor_kind kind)
{
    uint32_t count = 0;

    for (size_t i = 0; i < gathered->nprocesses; i++) {
        count += gathered->processes[i].kind == kind && gathered_answered(&gathered->processes[i]);
    }
    return count;
}

/* As it was told of; NULL: it is no node, or was not. */
static const struct node_summary *summary_of(const struct admin_reply *cluster,
                                             const struct doctor_process *process)
{
    for (size_t i = 0; cluster != NULL && process->kind == DOCTOR_NODE && i < cluster->nnodes;
         i++) {
        if (strcmp(cluster->nodes[i].name, process->name) == 0) {
            return &cluster->nodes[i];
        }
    }
    return NULL;
}

static bool is_silent(const struct admin_reply *cluster, const struct doctor_process *process)
{
    const struct node_summary *node = summary_of(cluster, process);

    return node != NULL && !node->alive;
}

/* Of a node that may have ended, and is not called silent before node_timeout; else "". */
static const char *show_overdue(const struct gathered *gathered,
                                const struct doctor_process *process, char text[OVERDUE_TEXT_BYTES])
{
    const struct node_summary *node = summary_of(gathered->cluster, process);
    char time[NUMBER_TEXT_BYTES];

    text[0] = '\0';
    if (node != NULL && node->seen_ago_ms >= JUDGE_UNHEARD_MS) {
        (void)snprintf(text, OVERDUE_TEXT_BYTES, "; nor has the coordinator heard of it for %s",
                       number_show_duration(node->seen_ago_ms / MS_PER_S * US_PER_S, time));
    }
    return text;
}

static void mend_reach(const struct doctor_process *process, struct findings *out)
{
    switch (process->kind) {
    case DOCTOR_COORDINATOR:
        findings_mend(out, "start orbloom-coordinator there, or say where it is: --coordinator, "
                           "$ORBLOOM_COORDINATOR; for a cluster to try things: "
                           "`orbloom playground`");
        break;
    case DOCTOR_ROUTER:
        findings_mend(out, "start orbloom-router there, or say where it is: --router, "
                           "$ORBLOOM_ROUTER");
        break;
    case DOCTOR_NODE:
        findings_mend(out, "the coordinator hears of it: let this machine reach its port, or have "
                           "the node's `advertise` name an address that it is reached at; if it "
                           "has just ended, start it");
        break;
    case DOCTOR_LINK:
        findings_mend(out, "the coordinator hears of it: let this machine reach its port, or have "
                           "the link's `advertise` name an address that it is reached at");
        break;
    case DOCTOR_NKINDS:
        break;
    }
}

/* Where none of a kind that clients ask answers, nothing works. */
static void tell_unreached(const struct gathered *gathered, const struct doctor_process *process,
                           struct findings *out)
{
    bool asked_by_clients = process->kind == DOCTOR_COORDINATOR || process->kind == DOCTOR_ROUTER;
    bool none = asked_by_clients && count_answered(gathered, process->kind) == 0;
    bool deadline = process->stats.status == STATUS_DEADLINE;
    char overdue[OVERDUE_TEXT_BYTES];
    char place[DOCTOR_TEXT_BYTES];

    /* Nobody has said anything of a deadline but this command. */
    findings_tell(out, none ? SEVERITY_ERROR : SEVERITY_WARNING, "reach",
                  gathered_place(process, place), "does not answer at %s: %s%s%s%s",
                  process->endpoint, status_code(process->stats.status), deadline ? "" : ": ",
                  deadline ? "" : process->stats.why, show_overdue(gathered, process, overdue));
    if (overdue[0] != '\0') {
        findings_mend(out, "it seems to have ended: start it; else look at its machine, and the "
                           "lines to it");
    } else {
        mend_reach(process, out);
    }
}

static void mend_refusal(struct findings *out)
{
    findings_mend(out, "give a monitor's or an admin's credential, --credential FILE or "
                       "$ORBLOOM_CREDENTIAL; an admin makes one: `orbloom user create NAME --role "
                       "monitor --credential FILE`");
}

/* Where nothing was looked at, or next to nothing, that must not pass for well. */
static void judge_refusal(const struct gathered *gathered, const struct doctor_process *process,
                          struct findings *out)
{
    char place[DOCTOR_TEXT_BYTES];

    gathered_place(process, place);
    if (process->kind == DOCTOR_COORDINATOR && gathered->cluster == NULL) {
        findings_tell(out, SEVERITY_ERROR, "reach", place, "does not let this user in: %s",
                      process->stats.why);
        mend_refusal(out);
    } else if (process->kind == DOCTOR_COORDINATOR && process->status.frame != NULL) {
        findings_tell(out, SEVERITY_WARNING, "reach", place,
                      "shows this user its own filters only, and no process tells it how it is: "
                      "most was not looked at");
        mend_refusal(out);
    } else {
        findings_omit(out, "reach", "%s: %s", place, process->stats.why);
    }
}

static void judge_round_trip(const struct doctor_process *process, struct findings *out)
{
    char place[DOCTOR_TEXT_BYTES];
    char time[NUMBER_TEXT_BYTES];

    if (process->round_trip_us >= JUDGE_ROUND_TRIP_US) {
        findings_tell(out, SEVERITY_WARNING, "slow", gathered_place(process, place),
                      "took %s to answer a question about itself",
                      number_show_duration(process->round_trip_us, time));
        findings_mend(out,
                      "look whether its machine, or the line to it, is overloaded; what it "
                      "does: `orbloom stats %s`",
                      process->endpoint);
    }
}

static bool is_named(const struct gathered *gathered, const char *name)
{
    for (size_t i = 0; i < gathered->nprocesses; i++) {
        if (strcmp(gathered->processes[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Coordinators tell the names of routers, and not where they are. */
static void omit_routers(const struct gathered *gathered, const struct upgrade_page *page,
                         struct findings *out)
{
    for (size_t i = 0; i < page->nprocesses; i++) {
        if (page->processes[i].kind == PROCESS_ROUTER &&
            !is_named(gathered, page->processes[i].name)) {
            findings_omit(out, "reach",
                          "router %s: it asks a coordinator, which does not tell where it is; name "
                          "it: --router",
                          page->processes[i].name);
        }
    }
}

static void judge_process(const struct gathered *gathered, const struct doctor_process *process,
                          struct findings *out)
{
    if (process->stats.status == STATUS_UNAUTHENTIC) {
        judge_refusal(gathered, process, out);
    } else if (process->stats.status != STATUS_OK && !is_silent(gathered->cluster, process) &&
               !is_silent(gathered->earlier, process)) {
        tell_unreached(gathered, process, out);
    } else if (process->stats.status == STATUS_OK) {
        judge_round_trip(process, out);
    }
}

void judge_reach(const struct gathered *gathered, struct findings *out)
{
    for (size_t i = 0; i < gathered->nprocesses; i++) {
        const struct doctor_process *process = &gathered->processes[i];

        judge_process(gathered, process, out);
        if (process->upgrade.frame != NULL) {
            omit_routers(gathered, &process->upgrade.frame->body.admin_reply.upgrade, out);
        }
    }
}

/* ---- version, features ---- */

static bool tells_same(const struct stats_reply *a, const struct stats_reply *b)
{
    bool same = a->nvalues == b->nvalues;

    for (size_t i = 0; same && i < a->nvalues; i++) {
        same = strcmp(a->values[i].name, b->values[i].name) == 0;
    }
    return same;
}

/* No process tells its version, but other builds have other counters. */
static void judge_builds(const struct gathered *gathered, struct findings *out)
{
    const struct doctor_process *first[DOCTOR_NKINDS] = {NULL};

    for (size_t i = 0; i < gathered->nprocesses; i++) {
        const struct doctor_process *process = &gathered->processes[i];
        const struct doctor_process **one = &first[process->kind];
        char place[DOCTOR_TEXT_BYTES];

        if (process->stats.frame == NULL) {
            continue;
        }
        if (*one == NULL) {
            *one = process;
        } else if (!tells_same(&(*one)->stats.frame->body.stats_reply,
                               &process->stats.frame->body.stats_reply)) {
            findings_tell(out, SEVERITY_INFO, "version", gathered_place(process, place),
                          "counts other things than %s: they are of different versions",
                          gathered_name(*one));
            findings_mend(out, "upgrade the older one; what each knows: `orbloom upgrade status`");
        }
    }
}

static void judge_features(const struct upgrade_page *page, const struct process_features *process,
                           struct findings *out)
{
    uint64_t lacks = (page->known | page->in_use) & ~process->features;
    char names[FEATURES_TEXT_BYTES];

    if (process->heard && lacks != 0) {
        findings_tell(out, SEVERITY_WARNING, "features", process->name,
                      "does not know %s: it is of an older version", features_show(lacks, names));
        findings_mend(out, "upgrade it, then say `orbloom upgrade finalize`");
    }
}

static void judge_upgrade(const struct doctor_process *coordinator, struct findings *out)
{
    const struct admin_reply *reply = &coordinator->upgrade.frame->body.admin_reply;
    const struct upgrade_page *page = &reply->upgrade;
    uint64_t unused = page->known & ~page->in_use;
    char place[DOCTOR_TEXT_BYTES];
    char names[FEATURES_TEXT_BYTES];

    gathered_place(coordinator, place);
    if (unused != 0) {
        findings_tell(out, SEVERITY_WARNING, "features", place,
                      "knows %s, which the cluster does not use yet", features_show(unused, names));
        findings_mend(out, "%s",
                      reply->message[0] != '\0' ? reply->message
                                                : "say `orbloom upgrade finalize`");
    }
    if ((page->known & ~features_known()) != 0 || (features_known() & ~page->known) != 0) {
        findings_tell(out, SEVERITY_INFO, "version", place,
                      "is of another version than this command");
        findings_mend(out, "take the orbloom command of the newest version");
    }
    for (size_t i = 0; i < page->nprocesses; i++) {
        judge_features(page, &page->processes[i], out);
    }
}

void judge_versions(const struct gathered *gathered, struct findings *out)
{
    for (size_t i = 0; i < gathered->nprocesses; i++) {
        const struct doctor_process *process = &gathered->processes[i];
        char place[DOCTOR_TEXT_BYTES];

        if (process->upgrade.frame != NULL) {
            judge_upgrade(process, out);
        } else if (process->upgrade.asked) {
            findings_omit(out, "features", "%s: %s", gathered_place(process, place),
                          process->upgrade.why);
        }
    }
    judge_builds(gathered, out);
}
