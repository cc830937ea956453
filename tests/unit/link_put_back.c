/* A site whose nodes are all put back to an older copy, under a link that lives on: what the other
 * site knows of their logs gives it away, and until then no bounded check is told anything. */
#include "base/heap.h"
#include "link/private.h"
#include "map/history/rebuild.h"
#include "tests/unit/link_questions.h"

TestSuite(link_put_back, .timeout = 120);

enum { ALL = 7 };

static bool lose_openings; /* of streams that eu would receive */

static bool watch(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    return !(lose_openings && to == US && frame->kind == FRAME_SITE_OPEN);
}

static void add(uint64_t key)
{
    site_pair_add(pair, US, ALL, &key, 1);
}

/* Is a fresh check told anything, which is asked again and again? */
static bool is_told_within(uint64_t us)
{
    bool told = false;

    for (uint64_t passed = 0; passed < us && !told; passed += SECOND) {
        uint64_t question = ask_for(
            &(struct site_age_request){.filter_id = SITE_PAIR_FILTER, .wait_ms = 900});

        site_pair_run(pair, SECOND);
        cr_assert(heard[question].answered);
        told = heard[question].sites[0].after;
    }
    return told;
}

struct copy {
    struct memory_disk *disks[3];
    struct node_record records[CIRCLE_MAX];
};

static void copy(struct copy *self)
{
    struct circle *circle = &pair->sides[US].circle;

    for (uint32_t i = 0; i < 3; i++) {
        self->disks[i] = memory_disk_copy(circle->nodes[i].disk);
    }
    memcpy(self->records, circle->records, sizeof self->records);
}

/* The store knows no more than the nodes do. */
static void put_back(struct copy *self)
{
    struct circle *circle = &pair->sides[US].circle;

    memcpy(circle->records, self->records, sizeof self->records);
    for (uint32_t i = 0; i < 3; i++) {
        circle_stop(circle, i + 1);
        memory_disk_restore(circle->nodes[i].disk, self->disks[i]);
        memory_disk_destroy(&self->disks[i]);
        circle_start(circle, i + 1);
    }
}

/* Both sites have key 1, eu key 2 as well, which us has acknowledged. */
static void begin_put_back(void)
{
    struct copy older;

    lose_openings = false;
    begin_with(watch);
    add(1);
    cr_assert(is_told_within(5 * SECOND));
    copy(&older);
    add(2);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_geq(site_pair_copies(pair, EU, 0, (uint64_t[]){2}, 1), 2);
    put_back(&older);
}

Test(link_put_back, what_the_other_site_knows_gives_it_away)
{
    const struct document_entry *entry;
    const struct site_life *life;

    begin_put_back();
    cr_assert_not(is_told_within(20 * SECOND));
    cr_assert_eq(site_pair_counter(pair, US, "site_put_backs_total"), 1);
    cr_assert_eq(site_pair_counter(pair, US, "site_streams_out"), 0);
    entry = document_cache_find(router_documents(us()->router), SITE_PAIR_FILTER);
    life = &site_set_own(document_sites(&entry->document))->life;
    cr_assert(put_back_is(us(), &entry->document.content.uid, life));
    end();
}

/* A link that starts knows nothing of that. The other site knows the logs by boots that nodes have
 * no more, and does not vouch for these: nor is it let go, as it has what is lost here. */
Test(link_put_back, before_that_nothing_is_told)
{
    const struct inflow_evidence *evidence;

    begin_put_back();
    lose_openings = true;
    site_pair_link_stop(pair, US);
    site_pair_link_start(pair, US);
    us()->inner.reply = hear;
    cr_assert_not(is_told_within(20 * SECOND));
    cr_assert_eq(site_pair_counter(pair, US, "site_put_backs_total"), 0);
    evidence = &inflow_find(us(), SITE_PAIR_FILTER, 0)->evidence;
    cr_assert_gt(evidence->noted_us, 0);
    cr_assert_eq(evidence->known_us, 0);
    end();
}

/* Others go on with their logs as they are. */
Test(link_put_back, who_has_only_started_again_is_told_as_before)
{
    lose_openings = false;
    begin_with(watch);
    add(1);
    cr_assert(is_told_within(5 * SECOND));
    for (uint32_t times = 0; times < 3; times++) {
        for (uint32_t i = 1; i <= 3; i++) {
            circle_stop(&pair->sides[US].circle, i);
            circle_start(&pair->sides[US].circle, i);
        }
        cr_assert(is_told_within(20 * SECOND));
    }
    cr_assert_eq(site_pair_counter(pair, US, "site_put_backs_total"), 0);
    end();
}

/* By the documents of these, as bits. */
static void set_third(enum site_state state, unsigned of)
{
    struct site_entry entry = {.id = sample_site_id(AP), .life = {1, 10 + AP}, .state = state};

    strcpy(entry.name, "ap");
    for (uint32_t where = 0; where < 2; where++) {
        struct site_set *set = pair->sides[where].document.content.sites;

        if ((of >> where & 1) == 0) {
            continue;
        }

        if (state == SITE_GONE) {
            set->entries[site_set_find(set, &entry.id) - set->entries].state = SITE_GONE;
        } else {
            cr_assert_eq(site_set_add(set, &entry), STATUS_OK);
        }
        document_epoch_advance(&pair->sides[where].document);
        site_pair_hand(pair, where);
    }
}

/* It may have been told what this site has not, and know that the one that is asked was put back.
 * All but bounded checks goes on. */
Test(link_put_back, where_a_third_site_knows_the_logs_or_not_is_asked_first)
{
    const struct inflow *inflow;
    uint64_t at_us;

    lose_openings = false;
    begin_with(watch);
    cr_assert(is_told_within(5 * SECOND));
    set_third(SITE_COUNTED, 1 << US);
    site_pair_run(pair, 3 * SECOND);
    cr_assert_not(is_told_within(10 * SECOND), "the other one's set is older");
    set_third(SITE_COUNTED, 1 << EU);
    site_pair_run(pair, 3 * SECOND);
    at_us = now();
    cr_assert_not(is_told_within(10 * SECOND));
    inflow = inflow_find(us(), SITE_PAIR_FILTER, 0);
    cr_assert_gt(inflow->evidence.noted_us, at_us);
    set_third(SITE_GONE, 1 << EU | 1 << US);
    cr_assert(is_told_within(10 * SECOND));
    end();
}

static const struct filter_document *document_of_us(void)
{
    return &document_cache_find(router_documents(us()->router), SITE_PAIR_FILTER)->document;
}

/* A place as eu may have it of a log here: of a boot that its node does not know. */
static struct site_source lost_place(uint64_t epoch)
{
    const struct member *reader = slot_reader(&document_of_us()->content.groups[0].slots[0]);

    return (struct site_source){.node = reader->node,
                                .incarnation = reader->incarnation,
                                .boot = 12345,
                                .offset = 1 << 20,
                                .epoch = epoch};
}

/* eu goes on from these places. */
static void open_from(const struct site_source *places, size_t count)
{
    const struct filter_document *document = document_of_us();
    const struct site_set *sites = document_sites(document);
    struct channel *channel = channel_for(us(), 0, &document->content.uid);
    const struct site_open open = {
        .stream = 77,
        .uid = document->content.uid,
        .source_life = site_set_own(sites)->life,
        .own_life = site_set_find(sites, &us()->config.peers[0].id)->life,
        .keyset = rebuild_serving(document),
        .room = 1 << 20,
        .sources = places,
        .nsources = count,
    };

    cr_assert_not_null(channel);
    outflow_on_open(us(), us()->now_us, channel, &open);
}

/* The document was put back, too: its epochs begin anew from an older one. */
Test(link_put_back, a_place_of_a_later_epoch_than_the_document_is_judged)
{
    struct site_source place;

    lose_openings = false;
    begin_with(watch);
    place = lost_place(document_of_us()->epoch + 5);
    open_from(&place, 1);
    site_pair_run(pair, 3 * SECOND);
    cr_assert_eq(site_pair_counter(pair, US, "site_put_backs_total"), 1);
    end();
}

static const struct node_record *record_of(uint32_t node)
{
    const struct circle *circle = &pair->sides[US].circle;

    for (size_t i = 0; i < CIRCLE_MAX; i++) {
        if (circle->records[i].id == node) {
            return &circle->records[i];
        }
    }
    cr_assert_fail("no such node");
    return NULL;
}

/* Of its log, of a slot group that it is a reader of, the `nth` from the first one on. */
static struct site_source place_in(const struct node_record *node, uint32_t nth, uint64_t offset)
{
    const struct epoch_content *content = &document_of_us()->content;

    for (uint32_t at = 0; at < content->ngroups * content->rule.replicas; at++) {
        uint32_t group = at / content->rule.replicas;
        const struct slot *slot = &content->groups[group].slots[at % content->rule.replicas];
        const struct member *reader = slot_reader(slot);

        if (reader->node == node->id && nth-- == 0) {
            return (struct site_source){.group = group,
                                        .node = reader->node,
                                        .incarnation = reader->incarnation,
                                        .boot = node->boot,
                                        .offset = offset,
                                        .epoch = document_of_us()->epoch};
        }
    }
    cr_assert_fail("it is no reader of so many");
    return (struct site_source){0};
}

/* It was put back to between them. */
Test(link_put_back, of_several_places_of_a_log_the_highest_one_is_judged)
{
    for (uint64_t beyond = 0; beyond < 2; beyond++) {
        const struct node_record *node;
        struct site_source places[2];

        lose_openings = false;
        begin_of(4, watch);
        node = record_of(1);
        places[0] = place_in(node, 0, 8);
        places[1] = place_in(node, 1, beyond != 0 ? 1 << 20 : 16);
        open_from(places, 2);
        site_pair_run(pair, 3 * SECOND);
        cr_assert_eq(site_pair_counter(pair, US, "site_put_backs_total"), beyond);
        end();
    }
}

static void expect_judged(const struct site_source *places, size_t count)
{
    open_from(places, count);
    site_pair_run(pair, 3 * SECOND);
    cr_assert_eq(site_pair_counter(pair, US, "site_put_backs_total"), 1);
    end();
}

/* Of an epoch from which nothing is gone on. */
Test(link_put_back, a_place_that_is_not_gone_on_from_is_judged_all_the_same)
{
    struct site_source place;

    lose_openings = false;
    begin_with(watch);
    place = lost_place(0);
    expect_judged(&place, 1);
}

/* ... and such as is of another boot than that of the first slot group. */
Test(link_put_back, places_of_several_boots_of_a_log_are_judged)
{
    struct site_source places[2];

    lose_openings = false;
    begin_of(4, watch);
    places[0] = place_in(record_of(1), 0, 8);
    places[1] = place_in(record_of(1), 1, 1 << 20);
    places[1].boot = 12345;
    expect_judged(places, 2);
}

/* ---- what is told of it ---- */

static struct outflow stream_of(uint64_t filter, uint64_t life)
{
    return (struct outflow){.self = us(),
                            .filter_id = filter,
                            .uid = {filter, 1},
                            .peer = 0,
                            .own_life = {life, 5},
                            .peer_life = {1, 6}};
}

static const struct site_source lost = {.node = 1, .incarnation = 2, .boot = 3, .offset = 800};

enum { MANY = 1000, ROOM = 32 };

static bool once[MANY];

/* Of those on the page; false: one of them was told before. */
static bool mark(const struct site_evidence *page, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool *seen = &once[page[i].uid.high];

        cr_assert(page[i].put_back);
        if (*seen) {
            return false;
        }
        *seen = true;
    }
    return true;
}

Test(link_put_back, many_filters_are_told_as_fast_as_they_are_heard)
{
    struct site_evidence *page = heap_alloc(ROOM, sizeof *page);
    size_t told = 0;

    begin_with(watch);
    for (uint64_t i = 0; i < MANY; i++) {
        struct outflow stream = stream_of(i, 1);

        cr_assert_eq(put_back_note(us(), &stream, &lost), STATUS_OK);
    }
    (void)put_back_fill(us(), page, ROOM); /* A question that is lost. */
    for (int questions = 0; put_back_has_news(us()); questions++) {
        size_t count = put_back_fill(us(), page, ROOM);

        cr_assert_leq(questions, MANY / ROOM);
        cr_assert(mark(page, count), "each is heard of before any is told again");
        put_back_heard(us(), us()->now_us);
        told += count;
    }
    cr_assert_eq(told, MANY);
    heap_free(page);
    end();
}

Test(link_put_back, what_it_has_joined_anew_for_is_no_news_in_its_next_life)
{
    struct site_source other = lost;
    struct outflow before;
    struct outflow after;

    begin_with(watch);
    before = stream_of(1, 1);
    after = stream_of(1, 2);
    cr_assert_eq(put_back_note(us(), &before, &lost), STATUS_OK);
    cr_assert_eq(put_back_note(us(), &before, &lost), STATUS_OK, "in the life that it is about");
    cr_assert_eq(put_back_note(us(), &after, &lost), STATUS_STALE);
    cr_assert_not(put_back_is(us(), &after.uid, &after.own_life));
    other.boot++;
    cr_assert_eq(put_back_note(us(), &after, &other), STATUS_OK, "put back once more");
    cr_assert(put_back_is(us(), &after.uid, &after.own_life));
    cr_assert_eq(site_pair_counter(pair, US, "site_put_backs_total"), 2);
    end();
}

/* An answer to a question that was asked before it was known is none to that. */
Test(link_put_back, it_is_told_until_it_was_heard)
{
    static struct link link;
    struct put_back one = {.filter_id = SITE_PAIR_FILTER};
    struct site_evidence page[2];

    link.put_backs = (struct put_backs){.items = &one, .count = 1, .room = 1, .news = true};
    put_back_heard(&link, SECOND);
    cr_assert(put_back_has_news(&link));
    cr_assert_eq(put_back_fill(&link, page, 2), 1);
    put_back_heard(&link, 2 * SECOND);
    cr_assert_not(put_back_has_news(&link));
}
