/* `orbloom doctor`: what is wrong with a cluster, and what soon will be. */
#include "cli/cmd.h"
#include "cli/doctor/bundle.h"
#include "cli/doctor/gather.h"
#include "cli/doctor/judge.h"
#include "cli/doctor/show.h"

/* What it finds is told by 0, 1 and 2; that it could not do what was asked must be told apart. */
enum { DOCTOR_OK = 0, DOCTOR_WARNINGS = 1, DOCTOR_ERRORS = 2, DOCTOR_NOT_DONE = 3 };

struct doctor_settings {
    struct flags_common common;
    const char *bundle;
    const char *backup;
    uint64_t look_us;
    bool json;
};

#define FIELD(name) offsetof(struct doctor_settings, name)

static const struct option options[] = {
    {
        .name = "json",
        .kind = OPTION_SWITCH,
        .offset = FIELD(json),
        .help = "print one object with \"worst\", \"findings\", \"not_looked_at\" and "
                "\"processes\" instead",
    },
    {
        .name = "bundle",
        .kind = OPTION_TEXT,
        .offset = FIELD(bundle),
        .sample = "FILE",
        .range = "a file that is not there yet",
        .help = "also write all that was gathered, for who helps; it holds no secrets",
    },
    {
        .name = "backup",
        .kind = OPTION_TEXT,
        .offset = FIELD(backup),
        .sample = "FILE",
        .range = "a file that map backup has written",
        .help = "also see whether it is whole, and how old",
    },
    {
        .name = "look",
        .kind = OPTION_DURATION,
        .offset = FIELD(look_us),
        .min = 0,
        .max = UINT64_C(3600000000),
        .sample = "TIME",
        .range = "0s to 1h",
        .value = "5s",
        .help = "how long to watch how fast keys come and growth moves; 0s: not at all",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "doctor",
    .words = "",
    .summary = "Find what is wrong with a cluster, or soon will be, and say what helps.",
    .notes =
        "Asks the coordinators and routers that flags or the environment name, and the nodes and\n"
        "links that coordinators tell of; changes nothing. A line a finding, the worst first:\n"
        "how bad, of what kind, where, what, and behind \"->\" what helps. What it can't know is\n"
        "told as \"not looked at\", with the reason.\n\n"
        "Settings of the machine are those of the one where it runs: run it on nodes' machines.\n\n"
        "Examples:\n"
        "  orbloom doctor\n"
        "  orbloom doctor --json --look 0s\n"
        "  orbloom doctor --bundle cluster.json\n\n"
        "Exit: 0 nothing, or information only; 1 warnings; 2 errors: something does not work, or\n"
        "is unsafe; 3 wrong usage, or FILE can't be written.",
    .options = options,
    .count = sizeof options / sizeof options[0],
};

static void show(const struct doctor_settings *settings, const struct gathered *gathered,
                 const struct findings *findings)
{
    struct json json;

    if (settings->json) {
        json_open(&json, stdout);
        doctor_show_json(&json, NULL, gathered, findings);
    } else {
        doctor_show_text(gathered, findings);
    }
}

static int code_of(const struct findings *findings)
{
    static const int codes[NSEVERITIES] = {DOCTOR_OK, DOCTOR_WARNINGS, DOCTOR_ERRORS};

    return codes[findings_worst(findings)];
}

static int examine(const struct doctor_settings *settings)
{
    struct findings findings = {0};
    struct gather all = {
        .common = &settings->common, .backup = settings->backup, .look_us = settings->look_us};
    int code = DOCTOR_NOT_DONE;

    if (gather(&all) != STATUS_OK) {
        (void)cmd_fail(all.status, "%s", all.reason);
    } else {
        judge(&all.gathered, &findings);
        show(settings, &all.gathered, &findings);
        code = code_of(&findings);
    }
    if (code != DOCTOR_NOT_DONE && settings->bundle != NULL &&
        bundle_write(settings->bundle, &all.gathered, &findings) != STATUS_OK) {
        code = DOCTOR_NOT_DONE;
    }
    findings_fini(&findings);
    gather_fini(&all);
    return cmd_close_output(code);
}

static int run(int argc, char **argv)
{
    struct doctor_settings settings = {0};
    struct option_words words;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK ||
        (settings.bundle != NULL && bundle_check(settings.bundle) != STATUS_OK)) {
        return DOCTOR_NOT_DONE;
    }
    return examine(&settings);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_doctor(void)
{
    return &command;
}
