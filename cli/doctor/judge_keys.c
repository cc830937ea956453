/* The cluster key on its way to another one, credentials that run out, clocks. */
#include "base/number.h"
#include "cli/doctor/judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- the cluster key ---- */

static void judge_behind(const struct key_use *one, struct findings *out)
{
    findings_tell(out, SEVERITY_WARNING, "key", one->name,
                  "serves and signs with cluster key %016" PRIx64
                  ", which is not the coordinator's "
                  "first one: a rotation was left half-way",
                  one->key);
    findings_mend(out, "bring the same cluster_key_file to all processes, and send them SIGHUP; "
                       "what a file holds: `orbloom key list FILE`");
}

static void judge_ring(const struct doctor_process *process, struct findings *out)
{
    const struct key_page *keys = &process->status.frame->body.admin_reply.keys;
    char place[DOCTOR_TEXT_BYTES];

    if (keys->records_left > 0) {
        findings_tell(out, SEVERITY_INFO, "key", gathered_place(process, place),
                      "%" PRIu64 " records of the store are signed with an older cluster key still",
                      keys->records_left);
        findings_mend(out, "wait until `orbloom status` tells of none, before `orbloom key retire "
                           "FILE`");
    }
    for (size_t i = 0; i < keys->nbehind; i++) {
        judge_behind(&keys->behind[i], out);
    }
}

void judge_keys(const struct gathered *gathered, struct findings *out)
{
    const struct doctor_process *first = NULL;

    for (size_t i = 0; i < gathered->nprocesses; i++) {
        const struct doctor_process *process = &gathered->processes[i];
        char place[DOCTOR_TEXT_BYTES];

        if (process->status.frame == NULL) {
            continue;
        }
        first = first == NULL ? process : first;
        if (process->status.frame->body.admin_reply.keys.signing !=
            first->status.frame->body.admin_reply.keys.signing) {
            findings_tell(out, SEVERITY_WARNING, "key", gathered_place(process, place),
                          "signs with another cluster key than %s: a rotation was left half-way",
                          gathered_name(first));
            findings_mend(out, "bring the same cluster_key_file to all coordinators, and send them "
                               "SIGHUP");
        } else {
            judge_ring(process, out);
        }
    }
}

/* ---- users' tokens and keys, and clocks ---- */

static void judge_expiry(const struct user *user, const char *what, uint32_t id,
                         uint64_t expires_ms, uint64_t now_ms, struct findings *out)
{
    bool is_key = strcmp(what, "key") == 0;
    char left[NUMBER_TEXT_BYTES];

    if (expires_ms == 0 || expires_ms >= now_ms + (uint64_t)JUDGE_EXPIRY_MS) {
        return;
    }
    if (expires_ms <= now_ms) {
        findings_tell(out, SEVERITY_INFO, "credential", user->name,
                      "%s %" PRIu32 " has expired, and gets nobody in", what, id);
        findings_mend(out, "`orbloom user %s %s remove %" PRIu32 "`", what, user->name, id);
        return;
    }
    findings_tell(out, SEVERITY_WARNING, "credential", user->name, "%s %" PRIu32 " expires in %s",
                  what, id, number_show_duration((expires_ms - now_ms) / 1000 * 1000000, left));
    findings_mend(out, "`orbloom user %s %s add%s`, and give it to its clients", what, user->name,
                  is_key ? " --credential FILE" : "");
}

static void judge_user(const struct user *user, uint64_t now_ms, struct findings *out)
{
    for (size_t i = 0; i < user->ntokens; i++) {
        judge_expiry(user, "token", user->tokens[i].id, user->tokens[i].expires_ms, now_ms, out);
    }
    for (size_t i = 0; i < user->nkeys; i++) {
        judge_expiry(user, "key", user->keys[i].id, user->keys[i].expires_ms, now_ms, out);
    }
}

void judge_clocks(const struct gathered *gathered, struct findings *out)
{
    const struct frame *frame = gathered->users.frame;
    uint64_t theirs_ms = frame != NULL ? frame->body.admin_reply.users.now_ms : 0;
    uint64_t own_ms = gathered->users_now_ms;
    uint64_t apart_ms = theirs_ms > own_ms ? theirs_ms - own_ms : own_ms - theirs_ms;
    char text[NUMBER_TEXT_BYTES];

    if (theirs_ms == 0) {
        findings_omit(out, "clock", "%s",
                      frame != NULL           ? "the coordinator has no clock to tell of"
                      : gathered->users.asked ? gathered->users.why
                                              : "no coordinator has told anything");
        return;
    }
    for (size_t i = 0; i < frame->body.admin_reply.users.nusers; i++) {
        judge_user(&frame->body.admin_reply.users.users[i], theirs_ms, out);
    }
    if (apart_ms > JUDGE_CLOCK_MS) {
        findings_tell(out, SEVERITY_INFO, "clock", "coordinator",
                      "its clock is %s %s that of this machine; only dates that people give and "
                      "read go by it",
                      number_show_duration(apart_ms * 1000, text),
                      theirs_ms > own_ms ? "ahead of" : "behind");
        findings_mend(out, "have both machines' clocks set by NTP");
    }
    findings_omit(out, "clock",
                  "nodes, routers and links: they do not tell their clocks, and "
                  "nothing that is promised depends on them");
}
