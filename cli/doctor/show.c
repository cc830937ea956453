/* The worst comes first, the sum last: where a terminal has room for some lines only, it is what is
 * seen. */
#include "cli/doctor/show.h"

#include "base/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- for people ---- */

static void show_finding(const struct finding *one)
{
    (void)printf("%-7s  %-11s  %s: %s%s%s\n", severity_name(one->severity), one->what, one->where,
                 one->text, one->remedy[0] != '\0' ? " -> " : "", one->remedy);
}

static const struct doctor_process *slowest(const struct gathered *gathered)
{
    const struct doctor_process *slowest = NULL;

    for (size_t i = 0; i < gathered->nprocesses; i++) {
        const struct doctor_process *one = &gathered->processes[i];

        if (one->stats.status == STATUS_OK &&
            (slowest == NULL || one->round_trip_us > slowest->round_trip_us)) {
            slowest = one;
        }
    }
    return slowest;
}

static void show_kind(const struct gathered *gathered, enum doctor_kind kind)
{
    uint32_t answered = 0;
    uint32_t count = 0;

    for (size_t i = 0; i < gathered->nprocesses; i++) {
        count += gathered->processes[i].kind == kind;
        answered += gathered->processes[i].kind == kind &&
                    gathered_answered(&gathered->processes[i]);
    }
    (void)printf("%s%" PRIu32 " of %" PRIu32 " %s%s", kind == 0 ? "" : ", ", answered, count,
                 doctor_kind_name(kind), count == 1 ? "" : "s");
}

static void show_asked(const struct gathered *gathered)
{
    const struct doctor_process *one = slowest(gathered);
    char place[DOCTOR_TEXT_BYTES];
    char time[NUMBER_TEXT_BYTES];

    (void)printf("asked from %s; answered: ", gathered->machine.host);
    for (enum doctor_kind kind = DOCTOR_COORDINATOR; kind < DOCTOR_NKINDS; kind++) {
        show_kind(gathered, kind);
    }
    if (one != NULL) {
        (void)printf("; the slowest in %s (%s)", number_show_duration(one->round_trip_us, time),
                     gathered_place(one, place));
    }
    (void)putchar('\n');
}

void doctor_show_text(const struct gathered *gathered, const struct findings *findings)
{
    const size_t *of = findings->of;

    for (size_t i = 0; i < findings->count; i++) {
        show_finding(&findings->items[i]);
    }
    if (findings->left_out > 0) {
        (void)printf("and %zu more like those; all filters: orbloom status --all\n",
                     findings->left_out);
    }
    for (size_t i = 0; i < findings->nomissions; i++) {
        (void)printf("not looked at: %s: %s\n", findings->omissions[i].what,
                     findings->omissions[i].why);
    }
    show_asked(gathered);
    (void)printf("%zu error%s, %zu warning%s, %zu for information\n", of[SEVERITY_ERROR],
                 of[SEVERITY_ERROR] == 1 ? "" : "s", of[SEVERITY_WARNING],
                 of[SEVERITY_WARNING] == 1 ? "" : "s", of[SEVERITY_INFO]);
}

/* ---- for programs ---- */

static void put_findings(struct json *json, const struct findings *findings)
{
    json_begin(json, "findings", '[');
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *one = &findings->items[i];

        json_begin(json, NULL, '{');
        json_text(json, "severity", severity_name(one->severity));
        json_text(json, "what", one->what);
        json_text(json, "where", one->where);
        json_text(json, "text", one->text);
        json_text(json, "remedy", one->remedy);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_count(json, "left_out", findings->left_out);
    json_begin(json, "not_looked_at", '[');
    for (size_t i = 0; i < findings->nomissions; i++) {
        json_begin(json, NULL, '{');
        json_text(json, "what", findings->omissions[i].what);
        json_text(json, "why", findings->omissions[i].why);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void put_process(struct json *json, const struct doctor_process *process)
{
    json_begin(json, NULL, '{');
    json_text(json, "kind", doctor_kind_name(process->kind));
    json_text(json, "name", process->name);
    json_text(json, "endpoint", process->endpoint);
    json_bool(json, "answered", gathered_answered(process));
    json_count(json, "round_trip_us", process->round_trip_us);
    json_text(json, "why", process->stats.why);
    json_end(json, '}');
}

void doctor_show_json(struct json *json, const char *name, const struct gathered *gathered,
                      const struct findings *findings)
{
    json_begin(json, name, '{');
    json_text(json, "worst", findings->count > 0 ? severity_name(findings_worst(findings)) : "");
    put_findings(json, findings);
    json_text(json, "asked_from", gathered->machine.host);
    json_count(json, "looked_us", gathered->looked_us);
    json_begin(json, "processes", '[');
    for (size_t i = 0; i < gathered->nprocesses; i++) {
        put_process(json, &gathered->processes[i]);
    }
    json_end(json, ']');
    json_end(json, '}');
}
