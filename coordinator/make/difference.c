/* Compares field by field, in words for whoever creates a filter that exists already. */
#include "coordinator/make/difference.h"

#include "base/number.h"
#include "coordinator/make/create.h"
#include "coordinator/plan/expansion.h"
#include "filter/sizing.h"
#include "map/acks.h"
#include "map/history/window.h"
#include "map/staleness.h"

#include <stdio.h>
#include <string.h>

struct difference {
    char *text;
    size_t used;
};

static void note(struct difference *self, const char *what, const char *has, const char *wanted)
{
    char item[DIFFERENCE_BYTES];
    int size = snprintf(item, sizeof item, "%s%s %s, not %s", self->used > 0 ? "; " : "", what, has,
                        wanted);

    if ((size_t)size < DIFFERENCE_BYTES - self->used) {
        memcpy(self->text + self->used, item, (size_t)size + 1);
        self->used += (size_t)size;
    }
}

static void compare_counts(struct difference *self, const char *what, uint64_t has, uint64_t wanted)
{
    char a[NUMBER_TEXT_BYTES];
    char b[NUMBER_TEXT_BYTES];

    if (has != wanted) {
        note(self, what, number_show_count(has, a), number_show_count(wanted, b));
    }
}

static void compare_rates(struct difference *self, double has, double wanted)
{
    char a[NUMBER_TEXT_BYTES];
    char b[NUMBER_TEXT_BYTES];

    int digits = 6;

    if (has != wanted) {
        do { /* As few digits as tell them apart; 17 always do. */
            (void)snprintf(a, sizeof a, "%.*g", digits, has);
            (void)snprintf(b, sizeof b, "%.*g", digits, wanted);
        } while (strcmp(a, b) == 0 && digits++ < 17);
        note(self, "rate", a, b);
    }
}

/* A filter that was given another geometry since. Whoever creates it again, as a script does at
 * each start, asks for what it was made with, and is served by more. */
static bool has_changed(const struct filter_document *document)
{
    return document_generation(document)->id > 1 || expansion_running(document);
}

/* Rounded up, as it was when it was made. */
static uint64_t in_slices(const struct create_parameters *wanted, uint64_t capacity)
{
    return window_capacity(wanted->nslices, window_set_capacity(wanted->nslices, capacity));
}

static void compare_windows(struct difference *self, const struct filter_document *document,
                            const struct create_parameters *wanted)
{
    char a[NUMBER_TEXT_BYTES] = "none";
    char b[NUMBER_TEXT_BYTES] = "none";

    if (document->window_us != wanted->window_us) {
        (void)(document->window_us > 0 ? number_show_duration(document->window_us, a) : a);
        (void)(wanted->window_us > 0 ? number_show_duration(wanted->window_us, b) : b);
        note(self, "window", a, b);
    }
    compare_counts(self, "slices", document->nslices, wanted->nslices);
}

static void compare_bounds(struct difference *self, uint64_t has, uint64_t wanted)
{
    char a[NUMBER_TEXT_BYTES];
    char b[NUMBER_TEXT_BYTES];

    if (has != wanted) {
        note(self, "max-staleness", staleness_show(has, a), staleness_show(wanted, b));
    }
}

static void compare_acks(struct difference *self, uint32_t has, uint32_t wanted)
{
    char a[NUMBER_TEXT_BYTES];
    char b[NUMBER_TEXT_BYTES];

    if (has != acks_stored(wanted)) {
        note(self, "acks", acks_show(has, a), acks_show(wanted, b));
    }
}

static void compare_sizes(struct difference *self, const struct filter_document *document,
                          const struct create_parameters *wanted)
{
    uint64_t max_capacity = in_slices(wanted, create_max_capacity(wanted));
    uint64_t capacity = in_slices(wanted, wanted->capacity);
    bool changed = has_changed(document);
    bool enough = changed && document->capacity >= capacity;
    bool as_rare = changed && document->rate <= wanted->rate;

    if (!enough) {
        compare_counts(self, "capacity", document->capacity, capacity);
    }
    if (!as_rare) {
        compare_rates(self, document->rate, wanted->rate);
    }
    /* One that follows from another capacity is no difference of its own. */
    if (wanted->max_capacity != 0 || (!changed && document->capacity == capacity)) {
        compare_counts(self, "max-capacity", document->max_capacity, max_capacity);
    }
}

static void compare_rules(struct difference *self, const struct quorum_rule *has,
                          const struct quorum_rule *wanted)
{
    compare_counts(self, "replicas", has->replicas, wanted->replicas);
    compare_counts(self, "write-quorum", has->write, wanted->write);
    compare_counts(self, "read-quorum", has->read, wanted->read);
}

static void compare_names(struct difference *self, const char *what, const char *has,
                          const char *wanted)
{
    if (strcmp(has, wanted) != 0) {
        note(self, what, has, wanted);
    }
}

const char *difference_describe(const struct filter_document *document,
                                const struct create_parameters *wanted, char text[DIFFERENCE_BYTES])
{
    struct difference self = {.text = text};

    text[0] = '\0';
    compare_windows(&self, document, wanted);
    compare_sizes(&self, document, wanted);
    compare_rules(&self, &document->content.rule, &wanted->rule);
    compare_names(&self, "hash", hash_kind_name(document->hash), hash_kind_name(wanted->hash));
    compare_names(&self, "when-unavailable", when_unavailable_name(document->when_unavailable),
                  when_unavailable_name(wanted->when_unavailable));
    if (wanted->when_full != 0) { /* Else whatever suits it. */
        compare_names(&self, "when-full", when_full_name(document->when_full),
                      when_full_name(wanted->when_full));
    }
    compare_names(&self, "keylog", keylog_name(document->keylog), keylog_name(wanted->keylog));
    if (wanted->durability != 0) { /* Else whatever suits the nodes. */
        compare_names(&self, "durability", durability_name(document->durability),
                      durability_name(wanted->durability));
    }
    compare_bounds(&self, document->max_staleness, wanted->max_staleness);
    compare_acks(&self, document->acks, wanted->acks);
    return text;
}
