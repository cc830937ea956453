/* The measurements between two sites, a function a group of rows. */
#include "bench/sites_bench.h"

#include "bench/report/show.h"
#include "bench/sites_arrival.h"
#include "bench/sites_load.h"
#include "bench/sites_rows.h"
#include "runtime/hub.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    LINKED_A_SECOND = 400000, /* of the run, of the capacity: no filter grows meanwhile */
    ALONE_A_SECOND = 100000,
    LAG_PACE = 100000,
    LOCAL_PACE = 20000, /* of adds, and of checks, at each site */
    LOCAL_ROUNDS = 2,
    STRICT_PACE = 100,
    IDLE_PACE = 10,
    HALF_SECOND_US = 500000,
    REST_SECONDS = 2,
    ALONE_SECONDS = 8,   /* until links have one connection again */
    JOINED_SECONDS = 10, /* so long filters that have joined are spoken of */
    CUT_PACE = 100000,
    NARROW_RATE = 100000000 / 8, /* bytes a second */
    NAME_BYTES = 96,
    WAY_BYTES = 40,
};

/* Where numbers begin that no load at the first site gets to. */
#define SECOND_SITE (UINT64_C(1) << 40)
#define OTHER_KEYS  (UINT64_C(1) << 44)

static const char *const filters[SITES_FILTERS] = {
    [SITES_LINKED] = "linked", [SITES_ALONE] = "alone"};

static uint64_t part_us(const struct sites_bench *self, uint64_t per_mille)
{
    return self->seconds * per_mille * 1000;
}

static const struct sites_cluster *site_of(const struct sites_bench *self, int site)
{
    return &self->clusters.sites[site];
}

static double round_trip_us(const struct sites_bench *self)
{
    return 2.0 * (double)self->clusters.line.delay_us;
}

/* "80 ms, 1 % loss, BBR" */
static const char *way_of(const struct sites_bench *self, char text[WAY_BYTES])
{
    const struct line_kind *line = &self->clusters.line;
    int used = line->delay_us == 0
                   ? snprintf(text, WAY_BYTES, "direct")
                   : snprintf(text, WAY_BYTES, "%.0f ms", round_trip_us(self) / 1000);

    if (line->loss > 0) {
        (void)snprintf(text + used, WAY_BYTES - (size_t)used, ", %g %% loss, %s",
                       100.0 * line->loss / LINE_ALL,
                       self->clusters.congestion != NULL ? self->clusters.congestion
                                                         : "as the kernel has it");
    }
    return text;
}

static void tell(const struct sites_bench *self, const char *what)
{
    char way[WAY_BYTES];

    (void)fprintf(stderr, "sites: %s; %s\n", what, way_of(self, way));
}

/* ---- rows ---- */

/* "lag, p50; 80 ms" */
static const char *name_at(const struct sites_bench *self, const char *what, char name[NAME_BYTES])
{
    char way[WAY_BYTES];

    (void)snprintf(name, NAME_BYTES, "%.50s; %s", what, way_of(self, way));
    return name;
}

static void print_row(struct sites_bench *self, struct sites_row *row, bool good)
{
    if (!good) {
        row->value = NAN;
        row->note[0] = '\0';
        self->failed = true;
    }
    sites_rows_print(row);
}

/* ---- loads ---- */

static struct sites_load adds(const struct sites_bench *self, int site, enum sites_filter filter,
                              uint64_t pace, uint64_t for_us)
{
    return (struct sites_load){
        .site = site_of(self, site),
        .filter = filters[filter],
        .kind = LOAD_ADD,
        .choice = {.fresh = self->next[filter][site], .only_fresh = true},
        .pace = pace,
        .for_us = for_us,
        .batch = pace == 0    ? 1000
                 : pace > 100 ? (uint32_t)(pace / 100)
                              : 1,
        .in_flight = pace > 0 ? 64 : 16,
    };
}

/* Half of them present. */
static struct sites_load checks(const struct sites_bench *self, int site, enum sites_filter filter,
                                uint64_t pace, uint64_t for_us)
{
    struct sites_load load = adds(self, site, filter, pace, for_us);

    load.kind = LOAD_CHECK;
    load.choice = (struct key_choice){.known = self->known[filter], .fresh = OTHER_KEYS};
    return load;
}

/* An add that has run: its numbers are taken. */
static void take_numbers(struct sites_bench *self, int site, enum sites_filter filter,
                         const struct sites_load *load)
{
    self->next[filter][site] += load->result.keys;
}

static bool run_adds(struct sites_bench *self, struct sites_load *load)
{
    bool good = sites_load_run(load, 1);

    take_numbers(self, 0, SITES_LINKED, load);
    return good;
}

static double rate_of(const struct sites_load *load)
{
    return (double)load->result.keys * 1e6 / (double)load->result.elapsed_us;
}

/* Until the second site has what a load has added at the first one. */
static bool wait_for(const struct sites_bench *self, const struct sites_load *load,
                     struct sites_arrival *arrival)
{
    return sites_arrival_wait(site_of(self, 1), load->filter, load->choice.fresh, load->result.keys,
                              arrival);
}

/* ---- before ---- */

/* What has been done before is noted, and told, for some seconds yet. */
static void rest(int seconds)
{
    for (int i = 0; i < 2 * seconds; i++) {
        hub_nap(HALF_SECOND_US);
    }
}

static bool create(const struct sites_bench *self, int site, const char *name, uint64_t capacity,
                   const char *flags)
{
    char words[256];

    (void)snprintf(words, sizeof words,
                   "create %s --capacity %" PRIu64 " --fpr 0.1%% --durability os --timeout 60s %s",
                   name, capacity, flags);
    return sites_clusters_command(&self->clusters, site, words);
}

static bool create_filters(const struct sites_bench *self)
{
    uint64_t linked = self->seconds * LINKED_A_SECOND;
    uint64_t alone = self->seconds * ALONE_A_SECOND;

    return create(self, 0, filters[SITES_LINKED], linked, "--sites site-1,site-2") &&
           create(self, 0, "strict", 1000000,
                  "--sites site-1,site-2 --acks each --max-staleness 0") &&
           create(self, 0, filters[SITES_ALONE], alone, "") &&
           create(self, 1, filters[SITES_ALONE], alone, "") &&
           sites_clusters_wait_filters(&self->clusters, 2);
}

/* Keys for checks to find, from number 0 on: those of LINKED from one site. */
static bool fill(struct sites_bench *self)
{
    struct sites_load linked = adds(self, 0, SITES_LINKED, 0, part_us(self, 7));
    struct sites_load alone[SITES_CLUSTERS] = {adds(self, 0, SITES_ALONE, 0, part_us(self, 7)),
                                               adds(self, 1, SITES_ALONE, 0, part_us(self, 7))};
    struct sites_arrival arrival;

    if (!sites_load_run(alone, SITES_CLUSTERS) || !run_adds(self, &linked) ||
        !wait_for(self, &linked, &arrival)) {
        return false;
    }
    take_numbers(self, 0, SITES_ALONE, &alone[0]);
    take_numbers(self, 1, SITES_ALONE, &alone[1]);
    self->known[SITES_LINKED] = linked.result.keys;
    self->known[SITES_ALONE] = alone[0].result.keys < alone[1].result.keys ? alone[0].result.keys
                                                                           : alone[1].result.keys;
    return true;
}

bool sites_bench_prepare(struct sites_bench *self)
{
    self->next[SITES_LINKED][1] = SECOND_SITE;
    self->fresh = 2 * OTHER_KEYS;
    tell(self, "filters are made and filled");
    if (!create_filters(self) || !fill(self)) {
        return false;
    }
    rest(REST_SECONDS);
    return true;
}

/* ---- the way between the sites ---- */

static void print_missing(const char *name, const char *why)
{
    struct sites_row row = {.name = name, .value = NAN, .unit = "x", .goal = NAN};

    (void)snprintf(row.note, sizeof row.note, "%s", why);
    sites_rows_print(&row);
}

void sites_bench_no_wan(void)
{
    print_missing("all that takes a distance, losses, or the packets counted",
                  "not measured: no network namespaces, or no TUN devices; stderr says why");
}

/* Streams are where they were. */
bool sites_bench_bbr(struct sites_bench *self)
{
    struct line_kind line = self->clusters.line;
    bool good;

    sites_clusters_set_line(&self->clusters, &(struct line_kind){0});
    good = sites_clusters_set_congestion(&self->clusters, "bbr");
    sites_clusters_set_line(&self->clusters, &line);
    if (!good) {
        print_missing("all that takes BBR", "not measured: this kernel does not have it");
        return false;
    }
    rest(REST_SECONDS);
    return true;
}

/* ---- adds of each site, fresh checks ---- */

static bool run_strict(struct sites_bench *self, enum load_kind kind, struct sites_load *load)
{
    *load = (struct sites_load){.site = site_of(self, 0),
                                .filter = "strict",
                                .kind = kind,
                                .choice = {.fresh = self->fresh, .only_fresh = true},
                                .pace = STRICT_PACE,
                                .for_us = part_us(self, 20),
                                .batch = 1,
                                .in_flight = 256};
    self->fresh += OTHER_KEYS;
    return sites_load_run(load, 1);
}

static void print_strict(struct sites_bench *self, const char *what, const struct sites_load *load,
                         double share, bool good)
{
    double trip_us = round_trip_us(self);
    char name[NAME_BYTES];
    struct sites_row row = {
        .name = name_at(self, what, name),
        .value = (double)latency_quantile_us(&load->result.latency, share),
        .unit = "us",
        .goal = share > 0.5 || self->clusters.line.loss > 0 ? NAN : 1.5 * trip_us + 25000};
    double rest_us = row.value;
    int trips = 0;

    for (; trip_us > 0 && rest_us >= trip_us; trips++) {
        rest_us -= trip_us;
    }
    (void)snprintf(row.note, sizeof row.note,
                   "%d round trips + %.1f ms; %" PRIu64 " of one key, %d a second", trips,
                   rest_us / 1000, load->result.batches, STRICT_PACE);
    print_row(self, &row, good);
}

void sites_bench_strict(struct sites_bench *self)
{
    struct sites_load load;
    bool good;

    tell(self, "adds of each site, and fresh checks");
    good = run_strict(self, LOAD_ADD, &load);
    print_strict(self, "`each` add, p50", &load, 0.5, good);
    print_strict(self, "`each` add, p99", &load, 0.99, good);
    good = run_strict(self, LOAD_CHECK, &load);
    print_strict(self, "fresh check, p50", &load, 0.5, good);
    print_strict(self, "fresh check, p99", &load, 0.99, good);
}

/* ---- lag ---- */

/* Of a key in a line without losses, or in one that has them; direct there is none. */
static double lag_goal_us(const struct sites_bench *self, double lossless_us, double lossy_us)
{
    return self->clusters.line.loss > 0 ? lossy_us : round_trip_us(self) > 0 ? lossless_us : NAN;
}

static void print_lag(struct sites_bench *self, const char *what, const struct latency *lag,
                      double share, double goal_us, const struct sites_load *load, bool good)
{
    char name[NAME_BYTES];
    char rate[SHOW_BYTES];
    struct sites_row row = {.name = name_at(self, what, name),
                            .value = (double)latency_quantile_us(lag, share),
                            .unit = "us",
                            .goal = goal_us};

    (void)snprintf(row.note, sizeof row.note,
                   "%" PRIu64 " keys, from the acknowledgement until present there; beside %s "
                   "keys/s added",
                   lag->total, show_rate(rate_of(load), rate));
    print_row(self, &row, good && lag->total > 0);
}

/* With losses it takes some hundred of them until TCP sends as much as it can go on sending. */
void sites_bench_lag(struct sites_bench *self)
{
    uint64_t for_us = part_us(self, self->clusters.line.loss > 0 ? 160 : 40);
    struct sites_load load = adds(self, 0, SITES_LINKED, LAG_PACE, for_us);
    struct latency lag = {0};
    struct sites_arrival arrival;
    bool good;

    tell(self, "lag");
    good = sites_load_start(&load) &&
           sites_arrival_sample(&self->clusters, load.filter, self->fresh, for_us, &lag);
    good &= sites_load_join(&load);
    self->fresh += OTHER_KEYS;
    take_numbers(self, 0, SITES_LINKED, &load);
    good = good && wait_for(self, &load, &arrival);
    print_lag(self, "lag at 100 k keys/s, p50", &lag, 0.5, lag_goal_us(self, 120000, NAN), &load,
              good);
    print_lag(self, "lag at 100 k keys/s, p99", &lag, 0.99, lag_goal_us(self, 400000, 1500000),
              &load, good);
}

/* ---- bytes a key ---- */

/* What has passed so far. */
struct traffic {
    struct line all;  /* both ways */
    uint64_t batches; /* their bytes, as the first site's link counts them */
};

static bool look_at_traffic(const struct sites_bench *self, struct traffic *traffic)
{
    traffic->all = wan_sum(self->clusters.wan);
    return sites_clusters_counter(&self->clusters, 0, "site_wire_bytes_total", &traffic->batches);
}

static void bytes_at(struct sites_bench *self, const char *name, uint64_t pace, double goal)
{
    struct sites_load load = adds(self, 0, SITES_LINKED, pace, part_us(self, 40));
    struct sites_row row = {.name = name, .unit = "B", .goal = goal};
    struct traffic before = {0};
    struct traffic after = {0};
    struct sites_arrival arrival = {0};
    char rate[SHOW_BYTES];
    bool good = look_at_traffic(self, &before) && run_adds(self, &load) &&
                wait_for(self, &load, &arrival) && look_at_traffic(self, &after);
    double keys = (double)load.result.keys;

    row.value = (double)(after.all.bytes - before.all.bytes) / keys;
    (void)snprintf(row.note, sizeof row.note,
                   "whole packets, both ways, %.1f keys each; %s keys/s added, there %.2f s later; "
                   "batches alone %.2f B",
                   keys / (double)(after.all.packets - before.all.packets + 1),
                   show_rate(rate_of(&load), rate), (double)arrival.all_us / 1e6,
                   (double)(after.batches - before.batches) / keys);
    print_row(self, &row, good);
}

void sites_bench_bytes(struct sites_bench *self)
{
    tell(self, "bytes a key");
    rest(ALONE_SECONDS);
    bytes_at(self, "bytes a key at 10 k keys/s", 10000, 8.0);
    bytes_at(self, "bytes a key at 100 k keys/s", 100000, 7.2);
    bytes_at(self, "bytes a key at as many as it takes", 0, 6.6);
}

/* ---- comparing ---- */

/* Of the copy that the second site orders of the first one; keys sent or not sent. */
static bool compare(const struct sites_bench *self, uint64_t *skipped, uint64_t *sent,
                    uint64_t *took_us)
{
    uint64_t skipped_before = 0;
    uint64_t sent_before = 0;
    uint64_t begun_us = hub_now_us();
    bool good = sites_clusters_counter(&self->clusters, 0, "site_skipped_keys_total",
                                       &skipped_before) &&
                sites_clusters_counter(&self->clusters, 0, "site_keys_total", &sent_before) &&
                sites_clusters_command(&self->clusters, 1, "site resync linked site-1") &&
                sites_clusters_counter(&self->clusters, 0, "site_skipped_keys_total", skipped) &&
                sites_clusters_counter(&self->clusters, 0, "site_keys_total", sent);

    *took_us = hub_now_us() - begun_us;
    *skipped -= skipped_before;
    *sent -= sent_before;
    return good;
}

void sites_bench_compare(struct sites_bench *self)
{
    char name[NAME_BYTES];
    struct sites_row row = {
        .name = name_at(self, "bytes a 1,000 keys that both have, compared", name),
        .unit = "B",
        .goal = NAN};
    uint64_t before;
    uint64_t skipped = 0;
    uint64_t sent = 0;
    uint64_t took_us = 0;
    bool good;

    tell(self, "comparing");
    rest(REST_SECONDS);
    before = wan_sum(self->clusters.wan).bytes;
    good = compare(self, &skipped, &sent, &took_us) && skipped + sent > 0;
    row.value = (double)(wan_sum(self->clusters.wan).bytes - before) * 1e3 /
                (double)(skipped + sent + 1);
    (void)snprintf(row.note, sizeof row.note,
                   "whole packets, both ways; %.1f M keys in %.2f s, of which %" PRIu64
                   " were sent",
                   (double)(skipped + sent) / 1e6, (double)took_us / 1e6, sent);
    print_row(self, &row, good);
}

/* ---- idle ---- */

static void idle_with(struct sites_bench *self, uint64_t idle, int rest_seconds, bool good)
{
    struct sites_load load = adds(self, 0, SITES_LINKED, IDLE_PACE, part_us(self, 50));
    char name[NAME_BYTES];
    struct sites_row row = {.name = name, .unit = "KB/s", .goal = 5};
    uint64_t before;

    (void)snprintf(name, sizeof name, "one filter with light traffic, %" PRIu64 " without", idle);
    rest(rest_seconds);
    before = wan_sum(self->clusters.wan).bytes;
    good = good && run_adds(self, &load);
    row.value = (double)(wan_sum(self->clusters.wan).bytes - before) * 1e3 /
                (double)(load.result.elapsed_us + 1);
    (void)snprintf(row.note, sizeof row.note, "whole packets, both ways; %d keys/s, one at a time",
                   IDLE_PACE);
    print_row(self, &row, good);
}

/* `strict` is one of those without traffic. */
void sites_bench_idle(struct sites_bench *self)
{
    bool good;

    tell(self, "sites at rest");
    idle_with(self, 1, ALONE_SECONDS, true);
    if (self->idle == 0) {
        return;
    }
    tell(self, "filters without traffic are made");
    good = sites_clusters_create_many(&self->clusters, (int)self->idle,
                                      "idle-NUMBER --capacity 1k --fpr 1% --durability os "
                                      "--timeout 60s --sites site-1,site-2") &&
           sites_clusters_wait_filters(&self->clusters, (int)self->idle + 2);
    idle_with(self, self->idle + 1, JOINED_SECONDS, good);
}

/* ---- local adds and checks ---- */

/* At the first site, in all rounds. */
struct local {
    struct latency adds;
    struct latency checks;
    double adds_per_s; /* sums */
    double checks_per_s;
};

static void merge(struct latency *all, const struct latency *one)
{
    all->total += one->total;
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        all->counts[i] += one->counts[i];
    }
}

static bool run_adds_at_both(struct sites_bench *self, enum sites_filter filter,
                             struct sites_load *loads, int count)
{
    bool good = sites_load_run(loads, count);

    take_numbers(self, 0, filter, &loads[0]);
    take_numbers(self, 1, filter, &loads[1]);
    return good;
}

/* The first two add. */
static bool run_paced(struct sites_bench *self, enum sites_filter filter, struct local *local)
{
    uint64_t for_us = part_us(self, 20);
    struct sites_load loads[] = {
        adds(self, 0, filter, LOCAL_PACE, for_us), adds(self, 1, filter, LOCAL_PACE, for_us),
        checks(self, 0, filter, LOCAL_PACE, for_us), checks(self, 1, filter, LOCAL_PACE, for_us)};

    if (!run_adds_at_both(self, filter, loads, 4)) {
        return false;
    }
    merge(&local->adds, &loads[0].result.latency);
    merge(&local->checks, &loads[2].result.latency);
    return true;
}

static bool run_unpaced(struct sites_bench *self, enum sites_filter filter, struct local *local)
{
    uint64_t for_us = part_us(self, 12);
    struct sites_load added[] = {adds(self, 0, filter, 0, for_us),
                                 adds(self, 1, filter, 0, for_us)};
    struct sites_load checked[] = {checks(self, 0, filter, 0, for_us),
                                   checks(self, 1, filter, 0, for_us)};

    if (!run_adds_at_both(self, filter, added, 2) || !sites_load_run(checked, 2)) {
        return false;
    }
    local->adds_per_s += rate_of(&added[0]);
    local->checks_per_s += rate_of(&checked[0]);
    return true;
}

/* Nothing of it is left to do when the next measurement begins. */
static bool settle(const struct sites_bench *self, const uint64_t since[SITES_CLUSTERS])
{
    struct sites_arrival arrival;
    bool good = true;

    for (int site = 0; site < SITES_CLUSTERS && good; site++) {
        good = sites_arrival_wait(site_of(self, 1 - site), filters[SITES_LINKED], since[site],
                                  self->next[SITES_LINKED][site] - since[site], &arrival);
    }
    return good;
}

static bool run_local(struct sites_bench *self, enum sites_filter filter, struct local *local)
{
    uint64_t since[SITES_CLUSTERS];

    memcpy(since, self->next[filter], sizeof since);
    return run_paced(self, filter, local) && run_unpaced(self, filter, local) &&
           (filter == SITES_ALONE || settle(self, since));
}

static void print_p99(struct sites_bench *self, const char *name, const struct latency *linked,
                      const struct latency *alone, bool good)
{
    double here = (double)latency_quantile_us(linked, 0.99);
    double there = (double)latency_quantile_us(alone, 0.99);
    char text[2][SHOW_BYTES];
    struct sites_row row = {.name = name, .value = here / there, .unit = "x", .goal = 1.05};

    (void)snprintf(row.note, sizeof row.note,
                   "%s by %s; %d k keys/s added and as many checked at each site, batches of %d",
                   show_time(here, text[0]), show_time(there, text[1]), LOCAL_PACE / 1000,
                   LOCAL_PACE / 100);
    print_row(self, &row, good && there > 0);
}

static void print_throughput(struct sites_bench *self, const char *name, double linked,
                             double alone, bool good)
{
    char text[2][SHOW_BYTES];
    struct sites_row row = {
        .name = name, .value = linked / alone, .unit = "x", .goal = 0.95, .at_least = true};

    (void)snprintf(row.note, sizeof row.note,
                   "%s by %s keys/s at the first site, both under load on the same cores",
                   show_rate(linked / LOCAL_ROUNDS, text[0]),
                   show_rate(alone / LOCAL_ROUNDS, text[1]));
    print_row(self, &row, good && alone > 0);
}

void sites_bench_local(struct sites_bench *self)
{
    static struct local local[SITES_FILTERS];
    bool good = true;

    tell(self, "local adds and checks");
    for (int round = 0; round < LOCAL_ROUNDS && good; round++) {
        good = run_local(self, SITES_ALONE, &local[SITES_ALONE]) &&
               run_local(self, SITES_LINKED, &local[SITES_LINKED]);
    }
    print_p99(self, "local adds, p99, linked by alone", &local[SITES_LINKED].adds,
              &local[SITES_ALONE].adds, good);
    print_p99(self, "local checks, p99, linked by alone", &local[SITES_LINKED].checks,
              &local[SITES_ALONE].checks, good);
    print_throughput(self, "local adds, throughput, linked by alone",
                     local[SITES_LINKED].adds_per_s, local[SITES_ALONE].adds_per_s, good);
    print_throughput(self, "local checks, throughput, linked by alone",
                     local[SITES_LINKED].checks_per_s, local[SITES_ALONE].checks_per_s, good);
}

/* ---- catching up ---- */

/* A link that is stopped has what its machine still takes for it, a line that is cut has nothing;
 * but links have to find each other again. */
enum outage { LINK_STOPPED, LINE_CUT };

/* Bytes that have got to the second site. */
static uint64_t carried(const struct sites_bench *self)
{
    return self->clusters.wan != NULL ? wan_line(self->clusters.wan, 0, 1).carried : 0;
}

static void have_outage(struct sites_bench *self, enum outage outage, bool begins)
{
    if (outage == LINK_STOPPED) {
        sites_clusters_stop_link(&self->clusters, begins);
    } else {
        sites_clusters_cut(&self->clusters, begins);
    }
}

/* `sent` becomes what has got to the second site after the outage. */
static bool add_cut_off(struct sites_bench *self, enum outage outage, struct sites_load *load,
                        struct sites_arrival *arrival, uint64_t *sent)
{
    uint64_t before;
    bool good;

    have_outage(self, outage, true);
    good = run_adds(self, load);
    before = carried(self);
    have_outage(self, outage, false);
    good = good && wait_for(self, load, arrival);
    *sent = carried(self) - before;
    return good;
}

void sites_bench_catch_up(struct sites_bench *self)
{
    bool direct = self->clusters.line.delay_us == 0;
    struct sites_load load = adds(self, 0, SITES_LINKED, 0, part_us(self, direct ? 30 : 10));
    char name[NAME_BYTES];
    struct sites_row row = {.name = name_at(self, "catching up, keys/s", name),
                            .unit = "/s",
                            .goal = direct ? 1e6 : NAN,
                            .at_least = true};
    struct sites_arrival arrival = {0};
    uint64_t sent = 0;
    char keys[SHOW_BYTES];
    bool good;

    tell(self, "catching up");
    good = add_cut_off(self, direct ? LINK_STOPPED : LINE_CUT, &load, &arrival, &sent);
    row.value = (double)load.result.keys * 1e6 / (double)arrival.all_us;
    (void)snprintf(row.note, sizeof row.note,
                   "%s keys added while the other link was %s, there in %.2f s, the first "
                   "ones after %.2f s; %.1f MB since then, %.2f MB/s",
                   show_rate((double)load.result.keys, keys), direct ? "stopped" : "cut off",
                   (double)arrival.all_us / 1e6, (double)arrival.first_us / 1e6, (double)sent / 1e6,
                   (double)sent / (double)(arrival.all_us + 1));
    print_row(self, &row, good);
}

/* That links find each other again is part of it. */
void sites_bench_narrow(struct sites_bench *self)
{
    struct sites_load load = adds(self, 0, SITES_LINKED, 0, part_us(self, 100));
    struct line_kind line = self->clusters.line;
    char name[NAME_BYTES];
    struct sites_row row = {.name = name_at(self, "catching up by 100 Mbit/s, of the line", name),
                            .unit = "x",
                            .goal = 0.85,
                            .at_least = true};
    struct sites_arrival arrival = {0};
    uint64_t sent = 0;
    bool good;

    tell(self, "catching up by 100 Mbit/s");
    line.rate = NARROW_RATE;
    sites_clusters_set_line(&self->clusters, &line);
    good = add_cut_off(self, LINE_CUT, &load, &arrival, &sent);
    line.rate = 0;
    sites_clusters_set_line(&self->clusters, &line);
    row.value = (double)sent * 1e6 / (double)(arrival.all_us + 1) / NARROW_RATE;
    (void)snprintf(row.note, sizeof row.note,
                   "%.1f M keys, %.1f MB in %.2f s, the first ones after %.2f s: without these "
                   "%.2f x",
                   (double)load.result.keys / 1e6, (double)sent / 1e6, (double)arrival.all_us / 1e6,
                   (double)arrival.first_us / 1e6,
                   (double)sent * 1e6 / (double)(arrival.all_us - arrival.first_us + 1) /
                       NARROW_RATE);
    print_row(self, &row, good);
}

void sites_bench_cut(struct sites_bench *self)
{
    struct sites_load load = adds(self, 0, SITES_LINKED, CUT_PACE, part_us(self, 400));
    char name[NAME_BYTES];
    struct sites_row row = {
        .name = name_at(self, "equal again after a cut", name), .unit = "s", .goal = 15};
    struct sites_arrival arrival = {0};
    uint64_t sent = 0;
    char rate[SHOW_BYTES];
    bool good;

    tell(self, "a cut");
    good = add_cut_off(self, LINE_CUT, &load, &arrival, &sent);
    row.value = (double)arrival.all_us / 1e6;
    (void)snprintf(row.note, sizeof row.note,
                   "of %.0f s at %s keys/s, the first ones after %.2f s, %.1f MB; the goal is that "
                   "of 60 s at 100 k keys/s",
                   (double)load.result.elapsed_us / 1e6, show_rate(rate_of(&load), rate),
                   (double)arrival.first_us / 1e6, (double)sent / 1e6);
    print_row(self, &row, good);
}
