/* The coordinators' store, and the backup without which its loss is that of all filters. */
#include "base/number.h"
#include "cli/doctor/judge.h"

#include <string.h>

enum { US_PER_MS = 1000 };

/* ---- the store ---- */

/* A coordinator says itself where a restore helps; elsewhere it would lose what is newer. */
static const char *told_remedy(const char *message)
{
    if (strstr(message, "orbloom map restore") != NULL) {
        return "`orbloom map restore FILE`, with the newest backup";
    }
    return strstr(message, "the store can't be") != NULL ||
                   strstr(message, "the store has not answered") != NULL
               ? "look at etcd (`etcd_endpoints`), or at the disk of `store`; its log says why"
               : "its log says more";
}

static void judge_told(const struct doctor_process *process, const struct admin_reply *reply,
                       struct findings *out)
{
    char place[DOCTOR_TEXT_BYTES];

    if (reply->message[0] != '\0') {
        findings_tell(out, SEVERITY_ERROR, "store", gathered_place(process, place), "%s",
                      reply->message);
        findings_mend(out, "%s", told_remedy(reply->message));
    }
}

static void judge_silence(const struct doctor_process *process, struct findings *out)
{
    char place[DOCTOR_TEXT_BYTES];

    gathered_place(process, place);
    if (process->status.status == STATUS_UNAUTHENTIC) {
        findings_omit(out, "store", "%s: %s", place, process->status.why);
        return;
    }
    findings_tell(out, SEVERITY_ERROR, "store", place, "can't tell how the cluster is: %s: %s",
                  status_code(process->status.status), process->status.why);
    findings_mend(out, "its log says why; ask again: `orbloom status --coordinator %s`",
                  process->endpoint);
}

/* What an older one does not tell, or a file for a store does not have, is 0. */
static uint64_t counter_of(const struct doctor_process *process, const char *name)
{
    uint64_t value = 0;

    return gathered_counter(process, name, &value) ? value : 0;
}

/* Compaction and defragmentation make room only of what is old. */
static const char *full_remedy(uint64_t in_use, uint64_t quota)
{
    return (double)in_use < JUDGE_STORE_SHARE * (double)quota
               ? "defragment its members, one after the other: `etcdctl defrag`; and have etcd "
                 "compact by itself: --auto-compaction-mode=periodic "
                 "--auto-compaction-retention=1h (docs/store.md, \"In etcd\")"
               : "compact and defragment it, and have it compact by itself: "
                 "--auto-compaction-mode=periodic --auto-compaction-retention=1h; if that does not "
                 "help raise --quota-backend-bytes (docs/store.md, \"In etcd\")";
}

/* Of its quota; without one it is empty. */
static double share_of(const struct doctor_process *process)
{
    uint64_t quota = counter_of(process, "store_quota_bytes");

    return quota > 0 ? (double)counter_of(process, "store_bytes") / (double)quota : 0;
}

/* All have the same store, and may have asked other members of it: who found the least room. */
static const struct doctor_process *find_fullest(const struct gathered *gathered)
{
    const struct doctor_process *fullest = NULL;

    for (size_t i = 0; i < gathered->nprocesses; i++) {
        const struct doctor_process *process = &gathered->processes[i];

        if (process->kind == DOCTOR_COORDINATOR && share_of(process) >= JUDGE_STORE_SHARE &&
            (fullest == NULL || share_of(process) > share_of(fullest))) {
            fullest = process;
        }
    }
    return fullest;
}

static void tell_full(const struct doctor_process *process, struct findings *out)
{
    uint64_t bytes = counter_of(process, "store_bytes");
    uint64_t in_use = counter_of(process, "store_in_use_bytes");
    uint64_t quota = counter_of(process, "store_quota_bytes");
    char place[DOCTOR_TEXT_BYTES];
    char has[NUMBER_TEXT_BYTES];
    char used[NUMBER_TEXT_BYTES];
    char most[NUMBER_TEXT_BYTES];

    findings_tell(out, SEVERITY_WARNING, "store", gathered_place(process, place),
                  "etcd's database has %s of the %s that its quota allows, %s in use; when it is "
                  "full nothing can be created, changed, grown or dropped",
                  number_show_bytes(bytes, has), number_show_bytes(quota, most),
                  number_show_bytes(in_use, used));
    findings_mend(out, "%s", full_remedy(in_use, quota));
}

void judge_store(const struct gathered *gathered, struct findings *out)
{
    const struct doctor_process *fullest = find_fullest(gathered);

    for (size_t i = 0; i < gathered->nprocesses; i++) {
        const struct doctor_process *process = &gathered->processes[i];

        if (process->status.frame != NULL) {
            judge_told(process, &process->status.frame->body.admin_reply, out);
        } else if (process->status.asked) {
            judge_silence(process, out);
        }
    }
    if (fullest != NULL) {
        tell_full(fullest, out);
    }
}

/* ---- backup ---- */

static bool has_other_key(const struct gathered *gathered)
{
    return gathered->cluster != NULL && gathered->cluster->keys.signing != 0 &&
           gathered->cluster->keys.signing != gathered->backup.key;
}

static void judge_file(const struct gathered *gathered, struct findings *out)
{
    const struct backup *backup = &gathered->backup;
    char age[NUMBER_TEXT_BYTES];

    if (backup->status != STATUS_OK) {
        findings_tell(out, SEVERITY_WARNING, "backup", backup->path, "is no backup of a store: %s",
                      backup->reason);
    } else if (has_other_key(gathered)) {
        findings_tell(out, SEVERITY_WARNING, "backup", backup->path,
                      "is signed with another cluster key than the coordinator's: before it is "
                      "restored that key has to be put back into the ring");
    } else if (backup->age_ms > JUDGE_BACKUP_MS) {
        findings_tell(out, SEVERITY_WARNING, "backup", backup->path,
                      "is %s old: filters that were made or grown since are not in it",
                      number_show_duration(backup->age_ms * US_PER_MS, age));
    } else {
        return;
    }
    findings_mend(out, "`orbloom map backup %s`, daily", backup->path);
}

void judge_backup(const struct gathered *gathered, struct findings *out)
{
    if (gathered->backup.path == NULL) {
        findings_omit(out, "backup",
                      "no process tells where `orbloom map backup` has written to; "
                      "name the file: --backup FILE");
    } else {
        judge_file(gathered, out);
    }
}
