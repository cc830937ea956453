/* Two columns of counts, samples of keys that are no secrets as they stand, and what follows from
 * all that for whoever wants to switch. */
#include "cli/shadow/tally.h"

#include "base/number.h"
#include "filter/fingerprint.h"

#include <inttypes.h>

enum { US_PER_S = 1000000 };

static const struct {
    const char *text;
    bool always; /* 0, too */
} rows[TALLY_NCOUNTS] = {
    [TALLY_ADDED] = {"keys added", true},
    [TALLY_CHECKED] = {"keys checked", true},
    [TALLY_BOTH] = {"present in both", true},
    [TALLY_NEITHER] = {"absent in both", true},
    [TALLY_ONLY_OLD] = {"old present, new absent", true},
    [TALLY_ONLY_NEW] = {"old absent, new present", true},
    [TALLY_UNCOMPARED] = {"not compared", false},
    [TALLY_MISSED_FULL] = {"adds missed: queue full", false},
    [TALLY_MISSED_REFUSED] = {"adds missed: refused", false},
    [TALLY_MISSED_LARGE] = {"adds missed: too large", false},
    [TALLY_MISSED_UNSURE] = {"adds missed: no answer", false},
    [TALLY_NOT_MADE] = {"BF.RESERVE refused", false},
    [TALLY_IN_PLACE] = {"answered by the old one", false},
    [TALLY_OTHER_DATABASE] = {"of other databases", false},
    [TALLY_BLIND] = {"connections unseen", false},
    [TALLY_OLD_FAILED] = {"old one not reached", false},
    [TALLY_NEW_FAILED] = {"new one lost", false},
    [TALLY_UNREAD] = {"reports that nobody read", false},
};

static void show_key(const struct tally *self, struct span key, char *text, size_t size)
{
    const struct hash_secret none = {{0}};
    uint32_t length = (uint32_t)key.size;
    uint64_t hash;
    size_t used = 0;

    if (!self->show_keys) {
        fingerprint_batch(HASH_XXH3, &none, key.data, &length, 1, &hash);
        (void)snprintf(text, size, "XXH3 %016" PRIx64, hash);
        return;
    }
    text[0] = '\0';
    for (size_t i = 0; i < key.size && used + 5 < size; i++) {
        bool plain = key.data[i] > ' ' && key.data[i] < 0x7f && key.data[i] != '\\';

        used += (size_t)snprintf(text + used, size - used, plain ? "%c" : "\\x%02x", key.data[i]);
    }
}

void tally_sample(struct tally *self, enum tally_count which, struct span filter, struct span key)
{
    size_t kind = which == TALLY_ONLY_OLD ? 0 : 1;
    char *text = self->samples[kind][self->nsamples[kind]++ % TALLY_SAMPLES];
    int used = snprintf(text, TALLY_TEXT_BYTES, "%.*s ", (int)(filter.size < 64 ? filter.size : 64),
                        (const char *)filter.data);

    show_key(self, key, text + used, TALLY_TEXT_BYTES - (size_t)used);
}

void tally_refusal(struct tally *self, struct span reply)
{
    size_t size = 0;

    while (size + 1 < reply.size && size + 1 < TALLY_TEXT_BYTES &&
           strchr("'\"\r\n", reply.data[size + 1]) == NULL) {
        self->refusal[size] = (char)reply.data[size + 1];
        size++;
    }
    self->refusal[size] = '\0';
}

uint64_t tally_missed(const struct tally *self)
{
    return self->counts[TALLY_MISSED_FULL] + self->counts[TALLY_MISSED_REFUSED] +
           self->counts[TALLY_MISSED_LARGE] + self->counts[TALLY_MISSED_UNSURE];
}

static void report_counts(const struct tally *self, FILE *out)
{
    char lately[NUMBER_TEXT_BYTES];
    char all[NUMBER_TEXT_BYTES];

    for (size_t i = 0; i < TALLY_NCOUNTS; i++) {
        if (rows[i].always || self->counts[i] > 0) {
            (void)fprintf(out, "  %-24s %16s %16s\n", rows[i].text,
                          number_show_count(self->counts[i] - self->reported[i], lately),
                          number_show_count(self->counts[i], all));
        }
    }
}

static void report_samples(const struct tally *self, FILE *out)
{
    for (size_t kind = 0; kind < 2; kind++) {
        for (uint32_t i = 0; i < self->nsamples[kind] && i < TALLY_SAMPLES; i++) {
            (void)fprintf(out, "  %s: %s\n", rows[kind == 0 ? TALLY_ONLY_OLD : TALLY_ONLY_NEW].text,
                          self->samples[kind][i]);
        }
    }
}

static void report_verdict(const struct tally *self, FILE *out)
{
    uint64_t only_old = self->counts[TALLY_ONLY_OLD] - self->reported[TALLY_ONLY_OLD];
    uint64_t neither = self->counts[TALLY_NEITHER] - self->reported[TALLY_NEITHER];
    uint64_t missed = tally_missed(self);
    double share = (double)only_old / (double)(only_old + neither > 0 ? only_old + neither : 1);
    char count[NUMBER_TEXT_BYTES];
    char rate[NUMBER_TEXT_BYTES];

    if (self->late) {
        (void)fputs("  the new one is late: until it has answered in time clients get the old "
                    "one's answers at once\n",
                    out);
    }
    if (self->refusal[0] != '\0') {
        (void)fprintf(out, "  the new one says: %s\n", self->refusal);
    }
    if (missed > 0) {
        (void)fprintf(out,
                      "not ready to switch: %s keys did not reach the new one. Once it takes adds "
                      "again, add your list of keys anew, and start the shadow again.%s\n",
                      number_show_count(missed, count),
                      self->new_answers ? " Until then clients get the old one's answers." : "");
    } else if (only_old + neither == 0) {
        (void)fputs("nothing to judge by since the last report: no keys were looked up that the "
                    "new one has not\n",
                    out);
    } else {
        (void)fprintf(out,
                      "of keys that the new one has not, the old one has %s: once this is no more "
                      "than its rate of false positives, the history is there\n",
                      number_show_rate(share, rate));
    }
}

/* Whole ones: nobody reads the rest. */
static const char *show_seconds(uint64_t time_us, char text[NUMBER_TEXT_BYTES])
{
    uint64_t seconds = (time_us + US_PER_S - 1) / US_PER_S;

    return number_show_duration((seconds > 0 ? seconds : 1) * US_PER_S, text);
}

void tally_report(const struct tally *self, FILE *out, uint64_t since_begin_us,
                  uint64_t since_report_us, uint64_t waiting)
{
    char lately[NUMBER_TEXT_BYTES];
    char all[NUMBER_TEXT_BYTES];
    char head[2][2 * NUMBER_TEXT_BYTES];

    (void)snprintf(head[0], sizeof head[0], "last %s", show_seconds(since_report_us, lately));
    (void)snprintf(head[1], sizeof head[1], "all %s", show_seconds(since_begin_us, all));
    (void)fprintf(out, "%-26s %16s %16s\n", "shadow", head[0], head[1]);
    report_counts(self, out);
    (void)fprintf(out, "  %-24s %33s\n", "commands waiting for new",
                  number_show_count(waiting, lately));
    report_samples(self, out);
    report_verdict(self, out);
}

void tally_reported(struct tally *self)
{
    memcpy(self->reported, self->counts, sizeof self->reported);
    self->nsamples[0] = self->nsamples[1] = 0;
}
