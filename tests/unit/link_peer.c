/* What a peer may say: places, batches, rooms, greetings and words out of place, by one who is let
 * in. Nothing of it is applied, and streams go on. */
#include "site/batch.h"
#include "tests/unit/link_streams.h"

TestSuite(link_peer, .timeout = 120);

/* To a link's outer face, as its peer. */
static void say_bytes(uint32_t site, struct span bytes)
{
    struct site_pair_side *side = &pair->sides[site];
    const struct peer from = {.size = 1, .id = {1}, .user = 1};

    if (site == EU) {
        side->face.on_answer(side->face.self, side->circle.now_us, 7, bytes);
    } else {
        side->face.on_request(side->face.self, side->circle.now_us, &from, bytes);
    }
}

static void say(uint32_t site, const struct frame *frame)
{
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(frame, &bytes), STATUS_OK);
    say_bytes(site, buffer_span(&bytes));
    buffer_fini(&bytes);
}

/* Places that nobody can have been told are taken for unknown ones, also while the node that would
 * refuse them is down. */
Test(link_peer, places_that_can_not_be_are_copied)
{
    const struct filter_document *document;
    struct site_source sources[3] = {{.node = 1, .offset = 7, .boot = 1, .epoch = 1},
                                     {.node = 2, .offset = UINT64_MAX - 7, .boot = 1, .epoch = 1},
                                     {.node = 3, .offset = 8, .boot = 0, .epoch = UINT64_MAX}};
    struct frame frame = {.kind = FRAME_SITE_OPEN};
    struct site_open *open = &frame.body.site_open;

    begin();
    connect_both();
    document = &pair->sides[EU].document;
    for (uint32_t i = 0; i < 3; i++) {
        sources[i].incarnation = slot_reader(&document->content.groups[0].slots[i])->incarnation;
    }
    *open = (struct site_open){.stream = 77,
                               .uid = document->content.uid,
                               .source_life = {1, 10},
                               .own_life = {1, 11},
                               .keyset = document->content.keysets[0].id,
                               .room = UINT64_MAX,
                               .sources = sources,
                               .nsources = 3};
    circle_stop(&pair->sides[EU].circle, 3);
    say(EU, &frame);
    site_pair_run(pair, 5 * SECOND);
    make_keys(1, one_keys, BATCH);
    site_pair_add(pair, EU, N1 | N2, one_keys, BATCH);
    site_pair_run(pair, 5 * SECOND);
    expect_all(US, one_keys, BATCH);
    end();
}

static uint64_t stream_seen; /* that US has opened at EU */
static uint64_t last_batch;  /* number of the last one that EU has sent */
static uint64_t nclosed;

static bool watch_batches(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    if (frame->kind == FRAME_SITE_BATCH && to == US) {
        last_batch = frame->body.site_batch.number;
    }
    nclosed += frame->kind == FRAME_SITE_CLOSE && to == EU;
    if (frame->kind == FRAME_SITE_OPEN && to == EU) {
        stream_seen = frame->body.site_open.stream;
    }
    return true;
}

/* What a batch names is not what its stream is of: one thing each. */
static void bend(int how, struct site_batch *batch)
{
    batch->uid.low += how == 0;
    batch->sender.number += how == 1;
    batch->sender.tag += how == 2;
    batch->receiver.number += how == 3;
    batch->receiver.tag += how == 4;
    batch->keysets[0] += how == 5;
    batch->flags |= how == 6 ? SITE_BATCH_FED : 0;
}

Test(link_peer, batches_of_something_else_are_not_applied)
{
    enum { NBENT = 7 };

    for (int how = 0; how < NBENT; how++) {
        struct site_batch batch = {
            .sender = {1, 10}, .receiver = {1, 11}, .nkeysets = 1, .nkeys = BATCH};
        struct frame frame = {.kind = FRAME_SITE_BATCH};
        uint8_t bytes[16 * BATCH];
        uint64_t keys[BATCH];

        begin();
        pair->spy = watch_batches;
        connect_both();
        for (uint64_t i = 0; i < BATCH; i++) {
            keys[i] = (i + 1) << 50;
        }
        batch.uid = pair->sides[EU].document.content.uid;
        batch.keysets[0] = pair->sides[EU].document.content.keysets[0].id;
        bend(how, &batch);
        cr_assert_leq(site_batch_room(&batch), sizeof bytes);
        frame.body.site_batch = (struct site_batch_message){
            .stream = stream_seen,
            .number = last_batch + 1,
            .batch = span_of(bytes, site_batch_encode(&batch, keys, NULL, bytes))};
        nclosed = 0;
        say(US, &frame);
        site_pair_run(pair, 20000);
        cr_assert_eq(nclosed, 1, "%d: it was not said", how);
        site_pair_run(pair, 2 * SECOND);
        cr_assert_eq(have_none(US, keys, BATCH), 3, "%d", how);
        end();
    }
}

static uint64_t room_told; /* by US, last */

static bool watch_room(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    if (frame->kind == FRAME_SITE_OPEN && to == EU) {
        room_told = frame->body.site_open.room;
    }
    return watch_batches(self, to, frame);
}

static void say_full_batch(uint64_t number, const uint64_t *keys, uint32_t count, uint8_t *bytes)
{
    struct site_batch batch = {
        .sender = {1, 10}, .receiver = {1, 11}, .nkeysets = 1, .nkeys = count};
    struct frame frame = {.kind = FRAME_SITE_BATCH};

    batch.uid = pair->sides[EU].document.content.uid;
    batch.keysets[0] = pair->sides[EU].document.content.keysets[0].id;
    frame.body.site_batch = (struct site_batch_message){
        .stream = stream_seen,
        .number = number,
        .batch = span_of(bytes, site_batch_encode(&batch, keys, NULL, bytes))};
    say(US, &frame);
}

/* Less is asked for than of one stream alone, and who sends more all the same is not listened to:
 * here nothing is applied, as nodes are down. */
Test(link_peer, what_waits_of_all_streams_is_bounded)
{
    enum { COUNT = 8192, HELD = 1 << 20 };
    static uint64_t keys[COUNT];
    static uint8_t bytes[16 * COUNT];
    uint64_t sent = 0;

    begin();
    pair->window = 16 << 20;
    pair->held = HELD;
    for (uint32_t site = EU; site <= US; site++) {
        site_pair_link_stop(pair, site);
        site_pair_link_start(pair, site);
    }
    pair->spy = watch_room;
    connect_both();
    cr_assert_eq(room_told, HELD / 4);
    for (uint64_t i = 0; i < COUNT; i++) {
        keys[i] = (i + 1) << 48;
    }
    for (uint32_t node = 1; node <= 3; node++) {
        circle_stop(&pair->sides[US].circle, node);
    }
    nclosed = 0;
    while (nclosed == 0) {
        cr_assert_lt(sent, 64, "four times as much as may wait");
        say_full_batch(last_batch + ++sent, keys, COUNT, bytes);
    }
    cr_assert_geq(sent, HELD / sizeof keys);
    end();
}

/* A body that this version does not know: field 900, of one byte. */
static void say_unknown(uint32_t site)
{
    static const uint8_t bytes[] = {0x08, 1, 0xa2, 0x38, 1, 0};

    say_bytes(site, span_of(bytes, sizeof bytes));
}

static enum status close_told; /* by US */

static bool watch_close(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    if (frame->kind == FRAME_SITE_CLOSE && to == EU) {
        close_told = frame->body.site_close.status;
    }
    return watch_batches(self, to, frame);
}

/* Sites are upgraded weeks apart: what is new is refused, and all else goes on. */
Test(link_peer, what_only_a_later_version_sends_does_no_harm)
{
    enum { VERSION_AT = 7 };
    static const uint64_t key = UINT64_C(1) << 50;
    struct site_batch batch = {.sender = {1, 10}, .receiver = {1, 11}, .nkeysets = 1, .nkeys = 1};
    struct frame frame = {.kind = FRAME_SITE_BATCH};
    uint8_t bytes[1024];
    size_t size;

    begin();
    pair->spy = watch_close;
    connect_both();
    for (uint32_t site = EU; site <= US; site++) {
        uint64_t refused = site_pair_counter(pair, site, "site_refused_total");

        say_unknown(site);
        cr_assert_eq(site_pair_counter(pair, site, "site_refused_total"), refused + 1);
        cr_assert_eq(site_pair_counter(pair, site, "site_channels"), 1);
    }
    batch.uid = pair->sides[EU].document.content.uid;
    batch.keysets[0] = pair->sides[EU].document.content.keysets[0].id;
    size = site_batch_encode(&batch, &key, NULL, bytes);
    bytes[VERSION_AT]++;
    frame.body.site_batch = (struct site_batch_message){
        .stream = stream_seen, .number = last_batch + 1, .batch = span_of(bytes, size)};
    say(US, &frame);
    site_pair_run(pair, 20000);
    cr_assert_eq(close_told, STATUS_VERSION, "the sender hears why");
    add_rounds(one_keys, other_keys, 100000);
    site_pair_run(pair, 5 * SECOND);
    expect_rounds(one_keys, other_keys);
    cr_assert_eq(have_none(US, &key, 1), 3, "it was not guessed at");
    end();
}

/* By version, id, name, and a link that would be its own peer. */
Test(link_peer, greetings_that_do_not_fit_are_refused)
{
    const struct site_id id = sample_site_id(EU);
    const struct site_hello hellos[] = {
        {.version = SITE_LINK_VERSION + 1, .site = "eu", .id = id, .boot = 3},
        {.version = SITE_LINK_VERSION, .site = "eu", .id = {id.high, id.low + 1}, .boot = 3},
        {.version = SITE_LINK_VERSION, .site = "asia", .id = id, .boot = 3},
    };

    begin();
    connect_both();
    for (size_t i = 0; i < sizeof hellos / sizeof hellos[0]; i++) {
        const struct frame frame = {.kind = FRAME_SITE_HELLO, .body.site_hello = hellos[i]};

        say(US, &frame);
        cr_assert_eq(site_pair_counter(pair, US, "site_refused_total"), i + 1);
    }
    site_pair_run(pair, 2 * SECOND);
    cr_assert_eq(site_pair_counter(pair, US, "site_streams_in"), 1, "the stream goes on");
    end();
}

/* Streams that nobody opened, numbers out of order, batches of nothing: said, and harmless. */
Test(link_peer, words_out_of_place_do_no_harm)
{
    static const uint8_t garbage[200] = {1, 2, 3};
    const struct frame frames[] = {
        {.kind = FRAME_SITE_BATCH,
         .body.site_batch = {.stream = 5, .number = 1, .batch = {garbage, sizeof garbage}}},
        {.kind = FRAME_SITE_APPLIED,
         .body.site_applied = {.stream = 5, .number = UINT64_MAX, .room = UINT64_MAX}},
        {.kind = FRAME_SITE_MARK, .body.site_mark = {.stream = 5, .mark = 1}},
        {.kind = FRAME_SITE_MARKED, .body.site_marked = {.stream = 5, .mark = 1, .number = 9}},
        {.kind = FRAME_SITE_CLOSE, .body.site_close = {.stream = 5, .message = "no"}},
        {.kind = FRAME_SITE_OPEN, .body.site_open = {.stream = 6}},
        {.kind = FRAME_SITE_HELLO, .body.site_hello = {.version = 2, .site = "eu", .boot = 3}},
        {.kind = FRAME_SITE_HELLO, .body.site_hello = {.version = 1, .site = "asia", .boot = 3}},
        {.kind = FRAME_STATS_REQUEST},
    };

    begin();
    connect_both();
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        say(EU, &frames[i]);
        say(US, &frames[i]);
    }
    add_rounds(one_keys, other_keys, 100000);
    site_pair_run(pair, 5 * SECOND);
    expect_rounds(one_keys, other_keys);
    end();
}
