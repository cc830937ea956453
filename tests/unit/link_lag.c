/* How far sites are from each other, as their links tell whoever asks, and gauges: two sites of
 * real nodes with their links. */
#include "tests/unit/link_questions.h"

TestSuite(link_lag, .timeout = 120);

enum { KEYS = 40, OPERATOR = 98, BOTH = 1U << 1 | 1U << 2 };

static uint64_t nmarks;
static struct site_lag told;
static size_t ntold;
static uint64_t lose_applied;

static bool watch(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    (void)to;
    nmarks += frame->kind == FRAME_SITE_MARK;
    return frame->kind != FRAME_SITE_APPLIED || lose_applied == 0;
}

static void begin(void)
{
    nmarks = lose_applied = 0;
    begin_with(watch);
}

static enum status hear_lag(void *context, const struct peer *to, struct span bytes)
{
    struct frame frame;

    if (to->id[0] != OPERATOR) {
        return hear(context, to, bytes);
    }
    cr_assert_eq(codec_decode(arena, bytes, &frame), STATUS_OK);
    cr_assert_eq(frame.kind, FRAME_SITE_LAG_REPLY);
    ntold = frame.body.site_lag_reply.nlags;
    told = ntold > 0 ? frame.body.site_lag_reply.lags[0] : (struct site_lag){0};
    return STATUS_OK;
}

/* What the link of us tells of eu. */
static const struct site_lag *tell(uint64_t filter_id)
{
    const struct peer from = {.size = 1, .id = {OPERATOR}, .role = PEER_MONITOR};
    const struct frame frame = {.correlation = 1,
                                .kind = FRAME_SITE_LAG_REQUEST,
                                .body.site_lag_request = {.filter_id = filter_id}};
    struct buffer bytes;

    us()->inner.reply = hear_lag;
    ntold = SIZE_MAX;
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    inner()->on_request(inner()->self, now(), &from, buffer_span(&bytes));
    buffer_fini(&bytes);
    cr_assert_neq(ntold, SIZE_MAX, "it is answered at once");
    return &told;
}

static void add(uint64_t first)
{
    uint64_t keys[KEYS];

    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = (first + i) * UINT64_C(0x9e3779b97f4a7c15);
    }
    site_pair_add(pair, US, BOTH, keys, KEYS);
}

static void cut(bool is_cut)
{
    pair->cut[EU] = pair->cut[US] = is_cut;
}

static uint64_t gauge(const char *name)
{
    return site_pair_counter(pair, US, name);
}

Test(link_lag, nothing_is_behind_where_nothing_is_added_and_asking_begins_no_mark)
{
    const struct site_id eu = sample_site_id(EU);
    const struct site_lag *lag;

    begin();
    lag = tell(SITE_PAIR_FILTER);
    cr_assert_eq(ntold, 1);
    cr_assert_eq(lag->filter_id, SITE_PAIR_FILTER);
    cr_assert(site_id_equal(&lag->id, &eu));
    cr_assert_eq(lag->waits, SITE_WAIT_NOTHING);
    cr_assert_not(lag->marked, "nobody has wanted one");
    cr_assert(lag->sends);
    cr_assert_eq(lag->holds, SITE_WAIT_NOTHING);
    cr_assert_eq(lag->pending_keys, 0);
    cr_assert_eq(lag->pending_us, 0);
    cr_assert_eq(lag->copies, 0);
    site_pair_run(pair, 10 * SECOND);
    (void)tell(0);
    cr_assert_eq(ntold, 1);
    (void)tell(SITE_PAIR_FILTER + 1);
    cr_assert_eq(ntold, 0);
    cr_assert_eq(nmarks, 0);
    cr_assert_eq(gauge("site_lag_us"), 0);
    end();
}

/* What the link of us tells of all other sites. */
static bool tells(const char *line)
{
    struct buffer out;
    struct metrics metrics = metrics_to(&out);
    bool found;

    buffer_init(&out, 1 << 16);
    link_tell_metrics(us(), &metrics);
    cr_assert_eq(metrics.status, STATUS_OK);
    cr_assert_eq(buffer_append(&out, span_of("", 1)), STATUS_OK);
    found = strstr((char *)out.data, line) != NULL;
    buffer_fini(&out);
    return found;
}

Test(link_lag, the_age_is_that_of_the_newest_mark)
{
    begin();
    (void)ask_for(&(struct site_age_request){.filter_id = SITE_PAIR_FILTER, .wait_ms = 5000});
    site_pair_run(pair, 2 * SECOND);
    cr_assert(heard[last].answered);
    cr_assert(tell(SITE_PAIR_FILTER)->marked);
    cr_assert_lt(told.age_us, 2 * SECOND);
    site_pair_run(pair, 20 * SECOND);
    cr_assert_gt(tell(SITE_PAIR_FILTER)->age_us, 10 * SECOND);
    end();
}

/* Gathered, on their way, and there but not known to be: until then they are at risk. */
Test(link_lag, keys_are_pending_until_the_other_site_has_said_that_it_has_them)
{
    uint64_t before_us;

    begin();
    lose_applied = 1;
    add(1);
    site_pair_run(pair, 30 * MS);
    cr_assert_eq(tell(SITE_PAIR_FILTER)->pending_keys, KEYS, "gathered");
    site_pair_run(pair, 2 * SECOND);
    cr_assert_eq(site_pair_counter(pair, EU, "site_applied_keys_total"), KEYS);
    cr_assert_eq(tell(SITE_PAIR_FILTER)->pending_keys, KEYS, "nobody knows that they are there");
    cr_assert_geq(told.pending_us, 2 * SECOND);
    before_us = told.pending_us;
    cr_assert_eq(gauge("site_pending_keys"), KEYS);
    cr_assert_geq(gauge("site_lag_us"), SECOND);
    cr_expect(tells("\norbloom_site_pending_keys{site=\"eu\"} 40\n"));
    cr_expect_not(tells("\norbloom_site_lag_seconds{site=\"eu\"} 0.000000\n"));
    cr_expect(tells("\norbloom_site_connected{site=\"eu\"} 1\n"));
    cr_expect(tells("\norbloom_site_round_trip_seconds{site=\"eu\"} "));
    add(1001);
    site_pair_run(pair, 200 * MS);
    cr_assert_eq(tell(SITE_PAIR_FILTER)->pending_keys, 2 * KEYS);
    cr_assert_eq(told.pending_us, before_us + 200 * MS, "the oldest counts");
    lose_applied = 0;
    site_pair_run(pair, 4 * SECOND);
    cr_assert_eq(tell(SITE_PAIR_FILTER)->pending_keys, 0);
    cr_assert_eq(told.pending_us, 0);
    cr_assert_eq(gauge("site_pending_keys"), 0);
    cr_assert_eq(gauge("site_lag_us"), 0);
    cr_expect(tells("\norbloom_site_lag_seconds{site=\"eu\"} 0.000000\n"));
    end();
}

/* What is not sent for want of room there is pending, too. */
Test(link_lag, keys_that_wait_for_room_are_pending)
{
    begin();
    lose_applied = 1;
    add(1);
    site_pair_run(pair, 500 * MS);
    TAILQ_FIRST(&us()->outflows)->room = 1;
    add(1001);
    site_pair_run(pair, 500 * MS);
    cr_assert_eq(tell(SITE_PAIR_FILTER)->pending_keys, 2 * KEYS);
    cr_assert_eq(told.holds, SITE_WAIT_TAKEN);
    end();
}

Test(link_lag, a_site_that_is_cut_off_is_behind_by_the_time_since_it_was_heard)
{
    begin();
    cut(true);
    site_pair_run(pair, 30 * SECOND);
    cr_assert_eq(tell(SITE_PAIR_FILTER)->waits, SITE_WAIT_CONNECTION);
    cr_assert_not(told.sends);
    cr_assert_geq(gauge("site_lag_us"), 20 * SECOND);
    cr_assert_leq(gauge("site_lag_us"), 30 * SECOND);
    cr_expect(tells("\norbloom_site_connected{site=\"eu\"} 0\n"));
    cr_expect_not(tells("\norbloom_site_round_trip_seconds{"));
    cr_expect_not(tells("\norbloom_site_lag_seconds{site=\"eu\"} 0.000000\n"));
    cut(false);
    site_pair_run(pair, 10 * SECOND);
    cr_assert_eq(tell(SITE_PAIR_FILTER)->waits, SITE_WAIT_NOTHING);
    cr_assert(told.sends);
    cr_assert_eq(gauge("site_lag_us"), 0);
    end();
}

Test(link_lag, what_comes_and_goes_is_measured)
{
    uint64_t out = 0;
    uint64_t in = 0;

    begin();
    for (uint64_t i = 0; i < 30; i++) {
        add(1 + i * KEYS);
        site_pair_run(pair, 100 * MS);
        (void)tell(SITE_PAIR_FILTER);
        out = told.out_per_s > out ? told.out_per_s : out;
        in = told.in_keys > in ? told.in_keys : in;
    }
    cr_assert_geq(out, 10 * KEYS * 6, "about 400 keys a second");
    cr_assert_leq(out, 10 * (KEYS * 9 + 400));
    cr_assert_eq(in, 0);
    site_pair_run(pair, 3 * SECOND);
    cr_assert_eq(tell(SITE_PAIR_FILTER)->out_per_s, 0);
    end();
}
