/* Nodes: those that are silent, leave, or are short of memory or disk; and what processes count
 * that they should not have to. */
#include "base/number.h"
#include "cli/doctor/judge.h"

#include <inttypes.h>
#include <string.h>

enum { MS_PER_S = 1000, US_PER_S = 1000000 };

/* ---- silent, memory ---- */

/* Does it run, and only the coordinator does not hear it? */
static bool answers(const struct gathered *gathered, const struct node_summary *node)
{
    for (size_t i = 0; i < gathered->nprocesses; i++) {
        const struct doctor_process *process = &gathered->processes[i];

        if (process->kind == DOCTOR_NODE && gathered_answered(process) &&
            strcmp(process->name, node->name) == 0) {
            return true;
        }
    }
    return false;
}

static void mend_silent(const struct gathered *gathered, const struct node_summary *node,
                        struct findings *out)
{
    if (answers(gathered, node)) {
        findings_mend(out, "it runs, and answers here: its log says why the coordinator does not "
                           "hear it; look at its `coordinators`, `cluster_key_file` and `site`");
    } else {
        findings_mend(out, "start it; if it is gone for good: `orbloom node %s %s`",
                      node->slots > 0 ? "drain" : "remove", node->name);
    }
}

static void judge_silent(const struct gathered *gathered, const struct node_summary *node,
                         struct findings *out)
{
    char time[NUMBER_TEXT_BYTES];

    if (node->seen_ago_ms > 0) {
        findings_tell(out, SEVERITY_WARNING, "silent", node->name,
                      "not heard of for %s; replicas of slot groups there: %" PRIu32,
                      number_show_duration(node->seen_ago_ms / MS_PER_S * US_PER_S, time),
                      node->slots);
    } else {
        findings_tell(out, SEVERITY_WARNING, "silent", node->name,
                      "not heard of since the coordinator started; replicas of slot groups "
                      "there: %" PRIu32,
                      node->slots);
    }
    mend_silent(gathered, node, out);
}

static void judge_leaving(const struct node_summary *node, struct findings *out)
{
    if (node->slots > 0) {
        findings_tell(out, SEVERITY_INFO, "drain", node->name,
                      "replicas of slot groups that are left there: %" PRIu32 "%s%s", node->slots,
                      node->awaited[0] != '\0' ? "; awaited: " : "", node->awaited);
    } else {
        findings_tell(out, SEVERITY_INFO, "drain", node->name, "nothing is left on it");
        findings_mend(out, "end its process, then `orbloom node remove %s`", node->name);
    }
}

static void judge_memory(const struct node_summary *node, struct findings *out)
{
    double share = node->memory_limit_bytes > 0
                       ? (double)node->memory_used_bytes / (double)node->memory_limit_bytes
                       : 0;
    char used[NUMBER_TEXT_BYTES];
    char limit[NUMBER_TEXT_BYTES];

    if (node->alive && share >= JUDGE_NEAR_SHARE) {
        findings_tell(out, SEVERITY_WARNING, "memory", node->name,
                      "%s of its memory_limit of %s are in use",
                      number_show_bytes(node->memory_used_bytes, used),
                      number_show_bytes(node->memory_limit_bytes, limit));
        findings_mend(out,
                      "raise `memory_limit` of %s and restart it, or start further nodes and "
                      "say `orbloom rebalance`",
                      node->name);
    }
}

void judge_nodes(const struct gathered *gathered, struct findings *out)
{
    const struct admin_reply *cluster = gathered->cluster;

    if (cluster != NULL && cluster->nnodes == 0) {
        findings_tell(out, SEVERITY_ERROR, "silent", "cluster", "no node has registered");
        findings_mend(out, "start orbloom-node with `coordinators` naming this cluster's");
    }
    for (size_t i = 0; cluster != NULL && i < cluster->nnodes; i++) {
        const struct node_summary *node = &cluster->nodes[i];

        if (node->draining || node->replaced_by[0] != '\0') {
            judge_leaving(node, out);
        } else if (!node->alive) {
            judge_silent(gathered, node, out);
        }
        judge_memory(node, out);
    }
}

/* ---- disk, log ---- */

static void judge_unsynced(const struct doctor_process *process, struct findings *out)
{
    uint64_t end = 0;
    uint64_t synced = 0;
    char text[NUMBER_TEXT_BYTES];

    if (gathered_counter(process, "log_end", &end) &&
        gathered_counter(process, "log_synced", &synced) && end > synced &&
        end - synced >= JUDGE_UNSYNCED_BYTES) {
        findings_tell(out, SEVERITY_WARNING, "log", process->name,
                      "%s of its log are not on the disk yet: the disk is slow",
                      number_show_bytes(end - synced, text));
        findings_mend(out, "give `data_dir` a faster disk, or one of its own");
    }
}

/* Since the process was started, as it counts. */
static void judge_writes(const struct doctor_process *process, struct findings *out)
{
    uint64_t writes = 0;
    uint64_t took_us = 0;
    char time[NUMBER_TEXT_BYTES];

    if (!gathered_counter(process, "log_writes_total", &writes) ||
        !gathered_counter(process, "log_write_us_total", &took_us)) {
        findings_omit(out, "log",
                      "node %s is of a version that does not tell how long writes of "
                      "its log take",
                      process->name);
    } else if (writes >= JUDGE_WRITES && took_us / writes >= JUDGE_WRITE_US) {
        findings_tell(out, SEVERITY_WARNING, "log", process->name,
                      "a write of its log takes %s on average, since its start: adds wait for that",
                      number_show_duration(took_us / writes, time));
        findings_mend(out, "give `data_dir` a faster disk, or one of its own");
    }
}

/* Of what the process counts under these names together. */
static uint64_t sum_of(const struct doctor_process *process, const char *const *names, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t value = 0;

        (void)gathered_counter(process, names[i], &value);
        sum += value;
    }
    return sum;
}

static void judge_free(const struct doctor_process *process, struct findings *out)
{
    static const char *const files[] = {"log_bytes", "run_bytes", "snapshot_bytes"};
    uint64_t used = sum_of(process, files, sizeof files / sizeof files[0]);
    uint64_t free_bytes = 0;
    char left[NUMBER_TEXT_BYTES];
    char has[NUMBER_TEXT_BYTES];

    if (!gathered_counter(process, "disk_free_bytes", &free_bytes)) {
        findings_omit(out, "disk", "node %s is of a version that does not tell what is free",
                      process->name);
    } else if (used > 0 && (free_bytes < JUDGE_DISK_BYTES || free_bytes < used / JUDGE_DISK_PART)) {
        findings_tell(out, SEVERITY_WARNING, "disk", process->name,
                      "%s are free on its disk, where it has %s",
                      number_show_bytes(free_bytes, left), number_show_bytes(used, has));
        findings_mend(out, "make room on the disk of `data_dir`, or lower `log_retain` and "
                           "`site_retain` there");
    }
}

void judge_disks(const struct gathered *gathered, struct findings *out)
{
    for (size_t i = 0; i < gathered->nprocesses; i++) {
        const struct doctor_process *process = &gathered->processes[i];

        if (process->kind == DOCTOR_NODE && process->stats.status == STATUS_OK) {
            judge_free(process, out);
            judge_unsynced(process, out);
            judge_writes(process, out);
        }
    }
}

/* ---- counters ---- */

struct concern {
    enum doctor_kind kind;
    const char *counter;
    enum severity severity;
    const char *what;
    const char *text; /* after the number */
    const char *remedy;
};

static const struct concern concerns[] = {
    {DOCTOR_COORDINATOR, "store_errors_total", SEVERITY_WARNING, "store",
     "reads or writes that the store refused",
     "its log says why; look at the disk of `store`, or at etcd (`etcd_endpoints`)"},
    {DOCTOR_COORDINATOR, "registrations_refused_total", SEVERITY_WARNING, "refused",
     "times a process was not let in: the name of a node is in use, its labels, site or version "
     "are "
     "wrong, or it is of another cluster",
     "the logs of coordinator and node say which; each node needs a `name` of its own, and this "
     "cluster's `cluster_key_file`"},
    {DOCTOR_COORDINATOR, "audit_lost_total", SEVERITY_WARNING, "audit",
     "lines of the audit log could not be written",
     "make room on the disk of `audit_log`, and see that the process may write there"},
    {DOCTOR_NODE, "no_space_total", SEVERITY_WARNING, "disk",
     "parts of adds were refused as its log had no room", "make room on the disk of `data_dir`"},
    {DOCTOR_NODE, "documents_refused_total", SEVERITY_WARNING, "key",
     "documents that it could not verify: signed with a key that its ring lacks",
     "bring this cluster's `cluster_key_file` to it, and send it SIGHUP"},
    {DOCTOR_ROUTER, "documents_refused_total", SEVERITY_WARNING, "key",
     "documents that it could not verify: signed with a key that its ring lacks",
     "bring this cluster's `cluster_key_file` to it, and send it SIGHUP"},
    {DOCTOR_NODE, "amnesia_total", SEVERITY_INFO, "data",
     "times it found that data were missing, and began anew",
     "look at the disk of `data_dir`; `orbloom status` shows what is copied"},
    {DOCTOR_LINK, "site_refused_peers_total", SEVERITY_INFO, "refused",
     "times somebody without a pinned key wanted to get in from another site",
     "compare `site_peers` here with what `orbloom keygen --site FILE` prints there"},
    {DOCTOR_LINK, "site_shut_out_total", SEVERITY_WARNING, "refused",
     "times another site did not let this link in",
     "have `site_peers` there name the public key that `orbloom keygen --site FILE` prints here"},
};

/* Since the process was started: it may be over. */
static void judge_concern(const struct doctor_process *process, const struct concern *concern,
                          struct findings *out)
{
    char place[DOCTOR_TEXT_BYTES];
    uint64_t value;

    if (process->kind == concern->kind && gathered_counter(process, concern->counter, &value) &&
        value > 0) {
        findings_tell(out, concern->severity, concern->what, gathered_place(process, place),
                      "%" PRIu64 " %s, since its start (%s)", value, concern->text,
                      concern->counter);
        findings_mend(out, "%s", concern->remedy);
    }
}

void judge_counters(const struct gathered *gathered, struct findings *out)
{
    for (size_t i = 0; i < gathered->nprocesses; i++) {
        for (size_t k = 0; k < sizeof concerns / sizeof concerns[0]; k++) {
            judge_concern(&gathered->processes[i], &concerns[k], out);
        }
    }
}
