/* What a coordinator keeps of what other sites and links tell, and what it takes for less. */
#include "coordinator/private.h"
#include "coordinator/site/heard.h"
#include "coordinator/site/newcomer.h"
#include "tests/support/site_stages.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct in_sites note;
static struct site_filter told; /* of us */

static const struct site_set both = {
    .entries = {{{0x05, 1}, "us", {1, 1}, SITE_COUNTED, false, 0},
                {{0xe0, 1}, "eu", {1, 3}, SITE_COUNTED, false, 0}},
    .count = 2,
    .takes_adds = true,
    .says_absent = true,
    .settled = true,
};

static void setup(void)
{
    note = (struct in_sites){0};
    told = (struct site_filter){
        .uid = {7, 7},
        .filter = "urls",
        .site = {0x05, 1},
        .revision = 5,
        .document = both,
        .is_fenced = true,
        .fenced = both,
        .hash = HASH_SIPHASH24,
        .shard_bits = 4,
        .keyset = 1,
        .rate = 0.01,
        .capacity = 1000,
        .max_capacity = 64000,
        .rule = {3, 2, 2},
        .durability = DURABILITY_SYNC,
        .when_unavailable = WHEN_UNAVAILABLE_ERROR,
        .keys = 3,
    };
}

static void teardown(void)
{
    in_sites_fini(&note);
}

TestSuite(coordinator_heard, .init = setup, .fini = teardown);

static const struct site_heard *heard(void)
{
    return in_sites_find(&note, &told.site);
}

static void say(const struct site_filter *state, bool news)
{
    cr_assert_null(site_filter_fault(state), "%s", site_filter_fault(state));
    cr_assert_eq(in_sites_hear(&note, state), news);
}

Test(coordinator_heard, what_is_new_is_said_to_be_once)
{
    cr_assert_null(heard());
    say(&told, true);
    say(&told, false);
    cr_assert(heard()->says_absent && heard()->is_fenced);
    cr_assert_eq(heard()->keys, 3);
}

/* Another coordinator of that site, or a word that was long on its way. */
Test(coordinator_heard, what_is_older_changes_nothing)
{
    struct site_filter old = told;

    say(&told, true);
    old.revision = 4;
    old.keys = 1;
    old.document.says_absent = old.fenced.says_absent = false;
    old.document.entries[1].state = old.fenced.entries[1].state = SITE_JOINING;
    say(&old, false);
    cr_assert_eq(heard()->keys, 3);
    cr_assert(heard()->says_absent);
    cr_assert_eq(heard()->fenced.entries[1].state, SITE_COUNTED);
    old.is_fenced = false;
    old.fenced = (struct site_set){0};
    old.revision = 6;
    say(&old, false);
    cr_assert(heard()->is_fenced, "it was, and stays so");
}

/* A set that is known to be fenced by one coordinator is so, whichever has the newer document. */
Test(coordinator_heard, a_later_set_counts_by_whomever_it_is_told)
{
    struct site_filter later = told;

    told.document.entries[1].state = told.fenced.entries[1].state = SITE_JOINING;
    say(&told, true);
    later.revision = 5;
    say(&later, true);
    cr_assert_eq(heard()->fenced.entries[1].state, SITE_COUNTED);
}

Test(coordinator_heard, another_life_begins_anew)
{
    struct site_filter next = told;

    told.document.entries[1].state = told.fenced.entries[1].state = SITE_LEAVING;
    told.done[0] = (struct site_id){0xe0, 1};
    told.ndone = 1;
    say(&told, true);
    cr_assert_eq(heard()->ndone, 1);
    next.revision = 1;
    next.document.entries[0].life.number = 2;
    next.is_fenced = false;
    next.fenced = (struct site_set){0};
    say(&next, true);
    cr_assert_not(heard()->is_fenced, "what the life before had fenced it may have lost");
    cr_assert_eq(heard()->ndone, 0);
    cr_assert_eq(heard()->revision, 1);
    told.is_fenced = false;
    told.fenced = (struct site_set){0};
    say(&told, false);
    next.is_fenced = true;
    next.fenced = next.document;
    say(&next, true);
    told.is_fenced = true;
    told.fenced = told.document;
    say(&told, false);
    cr_assert_eq(heard()->fenced.entries[0].life.number, 2,
                 "the life before says nothing any more");
}

/* The site has lost it, before anybody else knew of it, and takes another one that is older by
 * chance. */
Test(coordinator_heard, a_life_that_is_not_fenced_gives_way_to_one_that_is)
{
    struct site_filter lost = told;

    lost.document.entries[0].life.tag++;
    lost.is_fenced = false;
    lost.fenced = (struct site_set){0};
    say(&lost, true);
    say(&told, true);
    cr_assert(heard()->is_fenced);
    cr_assert_eq(heard()->life.tag, told.document.entries[0].life.tag);
}

Test(coordinator_heard, done_once_is_done_until_it_is_gone)
{
    told.document.entries[1].state = told.fenced.entries[1].state = SITE_LEAVING;
    told.done[0] = (struct site_id){0xe0, 1};
    told.ndone = 1;
    say(&told, true);
    told.ndone = 0;
    say(&told, false);
    cr_assert_eq(heard()->ndone, 1, "another coordinator that has no evidence yet");
    told.revision = 6;
    told.document.entries[1].state = told.fenced.entries[1].state = SITE_GONE;
    say(&told, true);
    cr_assert_eq(heard()->ndone, 0);
}

Test(coordinator_heard, a_tombstone_is_the_last_word)
{
    const struct site_filter tombstone = {
        .uid = told.uid, .filter = "", .site = told.site, .revision = 1, .dropped = true};

    say(&told, true);
    say(&tombstone, true);
    say(&tombstone, false);
    told.revision = 100;
    say(&told, false);
    cr_assert(heard()->dropped);
}

Test(coordinator_heard, so_many_sites_are_kept)
{
    for (uint32_t i = 0; i < SITE_SET_MAX + 2; i++) {
        struct site_filter one = told;

        one.site = (struct site_id){0x05, 1 + i};
        one.document.entries[0].id = one.fenced.entries[0].id = one.site;
        cr_assert_eq(in_sites_hear(&note, &one), i < SITE_SET_MAX);
    }
    cr_assert_eq(note.nsites, SITE_SET_MAX);
}

static struct sites_peer seen_by(const struct site_set *document)
{
    static struct sites_peer peers[SITE_SET_MAX];
    struct sites_view view = in_sites_view(NULL, 0, &note, document, peers);

    cr_assert_eq(view.npeers, 1);
    return peers[0];
}

/* The document has heard of a newer life by others: what the older one has fenced, and is done
 * with, may be lost there. What it knows of sites is merged all the same. */
Test(coordinator_heard, what_another_life_has_fenced_is_merged_and_no_more)
{
    struct site_set document = both;
    struct site_entry third = {{0xa9, 1}, "ap", {1, 4}, SITE_JOINING, false, 0};

    document.own = 1;
    told.document.entries[1].state = told.fenced.entries[1].state = SITE_LEAVING;
    told.done[0] = (struct site_id){0xe0, 1};
    told.ndone = 1;
    say(&told, true);
    document.entries[1].state = SITE_LEAVING;
    cr_assert_not_null(seen_by(&document).fenced);
    cr_assert_eq(seen_by(&document).ndone, 1);
    document.entries[0].life = (struct site_life){2, 9};
    cr_assert_null(seen_by(&document).fenced);
    cr_assert_eq(seen_by(&document).ndone, 0);
    told.revision++;
    cr_assert_eq(site_set_add(&told.fenced, &third), STATUS_OK);
    told.document = told.fenced;
    say(&told, true);
    cr_assert_not_null(seen_by(&document).fenced);
    cr_assert_eq(seen_by(&document).ndone, 0);
    cr_assert_eq(site_set_merge(&document, &told.fenced), STATUS_OK);
    cr_assert_null(seen_by(&document).fenced);
}

/* The leaver has come back since, and leaves again. */
Test(coordinator_heard, done_with_a_leaver_is_not_done_with_its_next_return)
{
    struct site_set document = both;
    struct site_life next = {site_life_first_of_next_return(1), 8};

    document.own = 1;
    told.document.entries[1].state = told.fenced.entries[1].state = SITE_LEAVING;
    told.done[0] = (struct site_id){0xe0, 1};
    told.ndone = 1;
    say(&told, true);
    document.entries[1].state = SITE_LEAVING;
    cr_assert_eq(seen_by(&document).ndone, 1);
    document.entries[1].life = next;
    cr_assert_eq(seen_by(&document).ndone, 0);
    told.document.entries[1].life = told.fenced.entries[1].life = next;
    told.revision++;
    told.ndone = 0;
    say(&told, true);
    cr_assert_eq(seen_by(&document).ndone, 0);
    told.ndone = 1;
    say(&told, true);
    cr_assert_eq(seen_by(&document).ndone, 1);
}

/* ---- evidence ---- */

static struct site_evidence evidence_of(enum site_state own)
{
    struct site_evidence evidence = {.uid = told.uid,
                                     .site = told.site,
                                     .source_life = {1, 1},
                                     .own_life = {1, 3},
                                     .marked = both,
                                     .compared = both,
                                     .compared_here = both};

    evidence.marked.entries[1].state = evidence.compared.entries[1].state = own;
    evidence.marked.own = evidence.compared.own = 0;
    evidence.compared_here.own = 1;
    cr_assert_null(site_evidence_fault(&evidence), "%s", site_evidence_fault(&evidence));
    return evidence;
}

static struct sites_peer peer_now(const struct coordinator *coordinator, uint64_t now_us)
{
    static struct sites_peer peers[SITE_SET_MAX];
    static struct site_set own;
    struct sites_view view;

    own = both;
    own.own = 1;
    view = in_sites_view(coordinator, now_us, &note, &own, peers);
    return view.npeers > 0 ? peers[0] : (struct sites_peer){0};
}

Test(coordinator_heard, of_several_links_what_says_most_counts, .init = setup)
{
    struct site_evidence little = evidence_of(SITE_JOINING);
    struct site_evidence much = evidence_of(SITE_COUNTED);
    struct coordinator *coordinator;
    uint64_t now_us;
    struct sites_peer peer;

    site_stages_init(1);
    coordinator = site_stages[EU].stage.coordinator;
    now_us = site_stages[EU].stage.now_us;
    coordinator->links[0].last_us = coordinator->links[1].last_us = now_us;
    (void)snprintf(coordinator->links[0].name, DOCUMENT_NAME_BYTES, "link-1");
    (void)snprintf(coordinator->links[1].name, DOCUMENT_NAME_BYTES, "link-2");
    cr_assert(in_sites_witness(&note, now_us, "link-1", &much));
    cr_assert(in_sites_witness(&note, now_us, "link-2", &little));
    peer = peer_now(coordinator, now_us);
    cr_assert_eq(peer.marked->entries[1].state, SITE_COUNTED);
    cr_assert_eq(peer.compared->entries[1].state, SITE_COUNTED);
    cr_assert(in_sites_witness(&note, now_us, "link-1", &little));
    peer = peer_now(coordinator, now_us);
    cr_assert_eq(peer.marked->entries[1].state, SITE_JOINING, "it has taken that back");
    cr_assert_eq(note.nevidence, 2);
    coordinator->links[0].last_us = coordinator->links[1].last_us = now_us + HEARD_FOR_US;
    cr_assert_not_null(peer_now(coordinator, now_us + HEARD_FOR_US).marked);
    cr_assert_null(peer_now(coordinator, now_us + HEARD_FOR_US + 1).marked, "not repeated");
    coordinator->links[0].name[0] = coordinator->links[1].name[0] = '\0';
    cr_assert_null(peer_now(coordinator, now_us).marked, "no such links live");
    site_stages_fini();
}

Test(coordinator_heard, so_much_evidence_is_kept_and_the_oldest_goes)
{
    struct site_evidence evidence = evidence_of(SITE_COUNTED);
    char name[16];

    for (unsigned i = 0; i <= HEARD_MAX_EVIDENCE; i++) {
        (void)snprintf(name, sizeof name, "link-%u", i);
        cr_assert(in_sites_witness(&note, 1000 + i, name, &evidence));
    }
    cr_assert_eq(note.nevidence, HEARD_MAX_EVIDENCE);
    for (size_t i = 0; i < note.nevidence; i++) {
        cr_assert_str_neq(note.evidence[i].link, "link-0");
    }
}

/* ---- newcomers ---- */

static const struct filter_uid *tell(struct coordinator *coordinator, uint64_t now_us, uint64_t n)
{
    const struct site_id own = site_stages_id(EU);

    told.uid = (struct filter_uid){7, n};
    newcomers_note(coordinator, now_us, &told, &own);
    return &told.uid;
}

/* eu counts in what is told, and has nothing of it: that is not made. */
Test(coordinator_heard, those_that_can_t_be_made_keep_no_others_away)
{
    struct coordinator *coordinator;
    uint64_t now_us;

    site_stages_init(1);
    coordinator = site_stages[EU].stage.coordinator;
    now_us = site_stages[EU].stage.now_us;
    for (unsigned i = 1; i <= NEWCOMERS_MAX; i++) {
        cr_assert(newcomers_has(coordinator, tell(coordinator, now_us + i, i)));
    }
    now_us += 1000;
    cr_assert_not(newcomers_has(coordinator, tell(coordinator, now_us, 100)), "none was tried yet");
    newcomers_try(coordinator, now_us);
    for (unsigned i = 0; i < NEWCOMERS_MAX; i++) {
        cr_assert_not_null(newcomers_at(coordinator, i));
    }
    cr_assert(newcomers_has(coordinator, tell(coordinator, now_us, 100)));
    cr_assert_not(newcomers_has(coordinator, &(struct filter_uid){7, 1}));
    cr_assert(newcomers_has(coordinator, tell(coordinator, now_us + 1, 1)), "it comes again");
    cr_assert_not(newcomers_has(coordinator, &(struct filter_uid){7, 2}));
    cr_assert(newcomers_has(coordinator, &(struct filter_uid){7, 100}), "it is to be tried first");
    site_stages_fini();
}
