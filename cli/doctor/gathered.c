/* Views of what was gathered. */
#include "cli/doctor/gathered.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

bool gathered_counter(const struct doctor_process *process, const char *name, uint64_t *value)
{
    const struct stats_reply *reply;

    if (process->stats.frame == NULL) {
        return false;
    }
    reply = &process->stats.frame->body.stats_reply;
    for (size_t i = 0; i < reply->nvalues; i++) {
        if (strcmp(reply->values[i].name, name) == 0) {
            *value = reply->values[i].value;
            return true;
        }
    }
    return false;
}

bool gathered_answered(const struct doctor_process *process)
{
    return process->stats.frame != NULL || process->status.frame != NULL;
}

const char *gathered_name(const struct doctor_process *process)
{
    return process->name[0] != '\0' ? process->name : process->endpoint;
}

const char *doctor_kind_name(enum doctor_kind kind)
{
    static const char *const names[DOCTOR_NKINDS] = {"coordinator", "router", "node", "link"};

    assert(kind < DOCTOR_NKINDS);
    return names[kind];
}

const char *gathered_place(const struct doctor_process *process, char text[DOCTOR_TEXT_BYTES])
{
    (void)snprintf(text, DOCTOR_TEXT_BYTES, "%s %s", doctor_kind_name(process->kind),
                   gathered_name(process));
    return text;
}
