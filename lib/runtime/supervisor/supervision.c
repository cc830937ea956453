/* Which lines, by the stage and by what is amiss. */
#include "runtime/supervisor/supervision.h"

#include <stdio.h>
#include <string.h>

void supervision_init(struct supervision *self, uint64_t watchdog_us)
{
    *self = (struct supervision){.watchdog_us = watchdog_us};
}

/* A third: two of its words may come late before it is taken for one that hangs. */
static uint64_t every_us(const struct supervision *self)
{
    uint64_t third_us = self->watchdog_us / 3;

    return third_us > 0 && third_us < SUPERVISION_EVERY_US ? third_us : SUPERVISION_EVERY_US;
}

void supervision_ready(struct supervision *self)
{
    if (self->stage == SUPERVISION_STARTING) {
        self->stage = SUPERVISION_SERVING;
        self->next_us = 0;
    }
}

/* Of whatever came first: a signal, or that the process is over. */
const char *supervision_stop(struct supervision *self)
{
    if (self->stage == SUPERVISION_STOPPING) {
        return "";
    }
    self->stage = SUPERVISION_STOPPING;
    self->next_us = 0;
    return "STOPPING=1";
}

const char *supervision_reload(const struct supervision *self, uint64_t mono_us,
                               char text[SUPERVISION_TEXT_BYTES])
{
    text[0] = '\0';
    if (self->stage == SUPERVISION_SERVING) {
        (void)snprintf(text, SUPERVISION_TEXT_BYTES, "RELOADING=1\nMONOTONIC_USEC=%llu",
                       (unsigned long long)mono_us);
    }
    return text;
}

void supervision_reloaded(struct supervision *self, bool refused)
{
    self->refused = refused;
    self->next_us = 0;
}

/* One line: what comes after its end would be taken for another word. */
static void make_status(const struct supervision *self, const struct health *moves,
                        const struct health *fitness, char status[SUPERVISION_TEXT_BYTES])
{
    const struct health *told = health_is_well(moves) ? fitness : moves;
    const char *word = self->stage == SUPERVISION_STARTING  ? "starting"
                       : self->stage == SUPERVISION_SERVING ? "serving"
                                                            : "stopping";
    const char *refused = self->refused ? "; the last SIGHUP was refused, see the log" : "";

    if (health_is_well(told)) {
        (void)snprintf(status, SUPERVISION_TEXT_BYTES, "%s%s", word, refused);
    } else {
        (void)snprintf(status, SUPERVISION_TEXT_BYTES, "%s: %.*s%s", word, HEALTH_WHY_BYTES,
                       told->reasons[0].why, refused);
    }
    for (char *end = strchr(status, '\n'); end != NULL; end = strchr(end, '\n')) {
        *end = ' ';
    }
}

static void put_life(const struct supervision *self, char text[SUPERVISION_TEXT_BYTES])
{
    uint64_t extend_us = self->watchdog_us > 0 ? self->watchdog_us : SUPERVISION_EXTEND_US;

    if (self->stage == SUPERVISION_SERVING) {
        (void)snprintf(text, SUPERVISION_TEXT_BYTES, "READY=1\n%s",
                       self->watchdog_us > 0 ? "WATCHDOG=1\n" : "");
    } else {
        (void)snprintf(text, SUPERVISION_TEXT_BYTES, "%sEXTEND_TIMEOUT_USEC=%llu\n",
                       self->stage == SUPERVISION_STOPPING ? "STOPPING=1\n" : "",
                       (unsigned long long)extend_us);
    }
}

const char *supervision_beat(struct supervision *self, uint64_t now_us, const struct health *moves,
                             const struct health *fitness, char text[SUPERVISION_TEXT_BYTES])
{
    char status[SUPERVISION_TEXT_BYTES];
    size_t used;

    text[0] = '\0';
    if (health_is_well(moves)) {
        put_life(self, text);
    }
    make_status(self, moves, fitness, status);
    if (strcmp(status, self->status) != 0) {
        memcpy(self->status, status, sizeof status);
        used = strlen(text);
        (void)snprintf(text + used, SUPERVISION_TEXT_BYTES - used, "STATUS=%.*s",
                       (int)(SUPERVISION_TEXT_BYTES - 64), status);
    }
    self->next_us = now_us + every_us(self);
    return text;
}
