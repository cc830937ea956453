/* What an answer of a node's tail is to a stream: which records of it are new, and how far each
 * slot group is read by it. */
#include "link/private.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { FILTER = 5, NODE = 2, KEYSET = 1, BOOT = 40, OTHER_BOOT = 41, KEYS = 4, GROUPS = 2 };

static struct link *self;
static struct outflow *outflow;
static struct reading reading;
static struct follow follows[GROUPS];

/* Two slot groups of one node, read from these places. */
static void begin(uint64_t first, uint64_t second)
{
    self = calloc(1, sizeof *self);
    outflow = calloc(1, sizeof *outflow);
    cr_assert(self != NULL && outflow != NULL);
    for (uint32_t group = 0; group < GROUPS; group++) {
        follows[group] = (struct follow){
            .source = {.group = group,
                       .node = NODE,
                       .incarnation = 3,
                       .boot = BOOT,
                       .offset = group == 0 ? first : second,
                       .epoch = 1},
        };
    }
    outflow->filter_id = FILTER;
    outflow->keyset = KEYSET;
    outflow->follows = follows;
    outflow->nfollows = GROUPS;
    reading = (struct reading){
        .outflow = outflow, .filter_id = FILTER, .member = {NODE, 3}, .boot = BOOT, .at = first};
}

static void end(void)
{
    free(outflow->memory);
    free(outflow->pending);
    free(outflow);
    free(self);
}

static const struct pull_targets targets = {.count = 1, .items = {{.keyset = KEYSET}}};

/* One record of a slot group at `offset`, its keys beginning with `key`. */
static void tell(uint64_t from, uint64_t next, uint32_t group, uint64_t offset, uint64_t producer,
                 uint64_t number, uint64_t key)
{
    uint64_t keys[KEYS];
    struct site_tail_record record = {.filter_id = FILTER,
                                      .producer_id = producer,
                                      .number = number,
                                      .offset = offset,
                                      .digest = key,
                                      .group = group,
                                      .count = KEYS,
                                      .targets = &targets};
    struct site_tail_reply reply = {.source = {NODE, 3},
                                    .boot = BOOT,
                                    .from = from,
                                    .next = next,
                                    .records = &record,
                                    .nrecords = 1,
                                    .fingerprints = keys,
                                    .count = KEYS};

    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = key + i;
    }
    outflow_read(self, 1000, &reading, &reply);
}

Test(link_outflow, what_is_told_is_gathered_and_read)
{
    begin(96, 96);
    tell(96, 400, 1, 200, 9, 1, 1000);
    cr_assert_eq(outflow->npending, KEYS);
    cr_assert_eq(outflow->pending[0], 1000);
    cr_assert_eq(follows[0].source.offset, 400);
    cr_assert_eq(follows[1].source.offset, 400);
    cr_assert(outflow->moved);
    end();
}

/* A group that was begun from a lower place while the question was under way: what lies between was
 * told to nobody. */
Test(link_outflow, an_answer_says_nothing_of_a_place_below_it)
{
    begin(496, 296);
    tell(496, 600, 1, 504, 9, 1, 1000);
    cr_assert_eq(follows[1].source.offset, 296);
    cr_assert_eq(outflow->npending, 0);
    cr_assert_eq(follows[0].source.offset, 600);
    end();
}

/* What a group has read already is not gathered again, wherever the others are. */
Test(link_outflow, records_below_a_place_are_not_new)
{
    begin(96, 296);
    tell(96, 400, 1, 200, 9, 1, 1000);
    cr_assert_eq(outflow->npending, 0);
    tell(400, 500, 1, 400, 9, 2, 2000);
    cr_assert_eq(outflow->npending, KEYS);
    end();
}

/* Of a log that goes on in another boot only the place that was asked from is known to be the same;
 * what was read behind it may have been another record's. */
Test(link_outflow, in_another_boot_all_is_read_from_where_it_was_asked)
{
    begin(96, 296);
    follows[1].source.boot = OTHER_BOOT;
    tell(96, 400, 1, 200, 9, 1, 1000);
    cr_assert_eq(outflow->npending, KEYS);
    cr_assert_eq(follows[1].source.boot, BOOT);
    cr_assert_eq(follows[1].source.offset, 400);
    end();
}

Test(link_outflow, what_is_to_be_copied_is_not_read)
{
    begin(96, 96);
    follows[1].fills = true;
    tell(96, 400, 1, 200, 9, 1, 1000);
    cr_assert_eq(outflow->npending, 0);
    cr_assert_eq(follows[1].source.offset, 96);
    end();
}

/* One number and one content: it was gathered before. One number and another content: a part of the
 * batch. No number: nothing tells it apart from any other. */
Test(link_outflow, a_repeat_has_the_same_number_and_content)
{
    begin(96, 96);
    tell(96, 200, 0, 96, 9, 1, 1000);
    tell(200, 300, 0, 200, 9, 1, 1000);
    cr_assert_eq(outflow->npending, KEYS);
    tell(300, 400, 0, 300, 9, 1, 2000);
    cr_assert_eq(outflow->npending, 2 * KEYS);
    tell(400, 500, 0, 400, 0, 0, 3000);
    tell(500, 600, 0, 500, 0, 0, 3000);
    cr_assert_eq(outflow->npending, 4 * KEYS);
    end();
}

Test(link_outflow, other_keysets_and_filters_are_not_gathered)
{
    begin(96, 96);
    outflow->keyset = KEYSET + 1;
    tell(96, 200, 0, 96, 9, 1, 1000);
    cr_assert_eq(outflow->npending, 0);
    outflow->keyset = KEYSET;
    outflow->filter_id = FILTER + 1;
    tell(200, 300, 0, 200, 9, 2, 1000);
    cr_assert_eq(outflow->npending, 0);
    cr_assert_eq(follows[0].source.offset, 300, "it was looked at all the same");
    end();
}
