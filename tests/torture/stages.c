/* Reads the daemons' log lines for what tells where a change is. */
#include "tests/torture/stages.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOMENT_MS = 150 };

static const char *const names[STAGES] = {
    [STAGE_PLANNED] = "planned", [STAGE_STAND] = "stand", [STAGE_AWAIT] = "await",
    [STAGE_FILL] = "fill",       [STAGE_CHECK] = "check", [STAGE_WEIGH] = "weigh",
    [STAGE_SERVE] = "serve",     [STAGE_TURN] = "turn",   [STAGE_VALVE] = "valve open",
    [STAGE_ENDED] = "ended",     [STAGE_V1] = "v1 asked", [STAGE_V2] = "v2 pair",
    [STAGE_V3] = "v3 moved",     [STAGE_V4] = "v4 left",
};

const char *stage_name(enum stage stage)
{
    return names[stage];
}

uint32_t stages_of(enum change change)
{
    uint32_t moves = 1U << STAGE_V1 | 1U << STAGE_V2 | 1U << STAGE_V3 | 1U << STAGE_V4;

    return change == CHANGE_EXPAND ? (1U << STAGE_V1) - 1 : moves;
}

void stages_begin(struct stages *self, enum change change, uint64_t now_ms)
{
    *self = (struct stages){.change = change, .asked_ms = now_ms};
}

void stages_end(struct stages *self)
{
    *self = (struct stages){.change = self->change};
}

/* ---- an expansion ---- */

/* "... shards 3 to 3: fill from the log" */
static void hear_span(struct stages *self, uint32_t daemon, const char *line)
{
    const char *word = strrchr(line, ':');

    self->building[daemon] = STAGE_TURN;
    for (enum stage stage = STAGE_STAND; word != NULL && stage <= STAGE_SERVE; stage++) {
        if (strncmp(word + 2, names[stage], strlen(names[stage])) == 0) {
            self->building[daemon] = stage;
        }
    }
}

static void hear_expansion(struct stages *self, uint32_t daemon, const char *line, uint64_t now_ms)
{
    if (strstr(line, ": asked to change to ") != NULL) {
        self->wanted = true;
        self->begun = false;
        self->ended_ms = 0;
    } else if (strstr(line, ": all replicas serve generation ") != NULL) {
        self->wanted = false;
        self->ended_ms = now_ms;
    } else if (strstr(line, ": builds generation ") != NULL) {
        self->begun = self->builds[daemon] = true;
        self->building[daemon] = STAGE_TURN;
    } else if (strstr(line, " serves all that is here") != NULL) {
        stages_forget(self, daemon);
    } else if (self->builds[daemon] && strstr(line, ", shards ") != NULL) {
        hear_span(self, daemon, line);
    }
}

uint32_t stages_builder(const struct stages *self)
{
    for (uint32_t i = 0; i < CLUSTER_MAX_DAEMONS; i++) {
        if (self->builds[i] && self->building[i] != STAGE_TURN) {
            return i;
        }
    }
    return CLUSTER_MAX_DAEMONS;
}

static uint32_t expansion_now(const struct stages *self, bool valve, uint64_t now_ms)
{
    uint32_t builder = stages_builder(self);

    if (!self->wanted) {
        return self->ended_ms != 0 && now_ms < self->ended_ms + MOMENT_MS ? 1U << STAGE_ENDED : 0;
    }
    return (builder < CLUSTER_MAX_DAEMONS ? 1U << self->building[builder]
            : self->begun                 ? 1U << STAGE_TURN
                                          : 1U << STAGE_PLANNED) |
           (uint32_t)valve << STAGE_VALVE;
}

/* ---- moves ---- */

static void hear_move(struct stages *self, const char *line, uint64_t now_ms)
{
    const char *text = strstr(line, ": replicas are being replaced: ");
    uint32_t pairs = 0;
    uint32_t moved = 0;

    if (text == NULL && strstr(line, ": replicas have been replaced") == NULL) {
        return;
    }
    if (text != NULL &&
        sscanf(text,
               ": replicas are being replaced: %" SCNu32 " written in both places, read in the old "
               "one, %" SCNu32 " read in the new one",
               &pairs, &moved) != 2) {
        return;
    }
    if (pairs + moved < self->pairs + self->moved) {
        self->left_ms = now_ms;
    }
    self->pairs = pairs;
    self->moved = moved;
}

static uint32_t move_now(const struct stages *self, uint64_t now_ms)
{
    bool left = self->left_ms != 0 && now_ms < self->left_ms + MOMENT_MS;
    bool none = self->pairs + self->moved == 0 && self->left_ms == 0;

    return (uint32_t)none << STAGE_V1 | (uint32_t)(self->pairs > 0) << STAGE_V2 |
           (uint32_t)(self->moved > 0) << STAGE_V3 | (uint32_t)left << STAGE_V4;
}

/* ---- both ---- */

void stages_hear(struct stages *self, uint32_t daemon, const char *line, uint64_t now_ms)
{
    if (self->asked_ms == 0) {
        return;
    }
    if (self->change == CHANGE_EXPAND) {
        hear_expansion(self, daemon, line, now_ms);
    } else {
        hear_move(self, line, now_ms);
    }
}

void stages_forget(struct stages *self, uint32_t daemon)
{
    self->builds[daemon] = false;
    self->building[daemon] = STAGE_TURN;
}

uint32_t stages_now(const struct stages *self, bool valve, uint64_t now_ms)
{
    if (self->asked_ms == 0) {
        return 0;
    }
    return self->change == CHANGE_EXPAND ? expansion_now(self, valve, now_ms)
                                         : move_now(self, now_ms);
}
