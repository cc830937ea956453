/* Key by key: was it there before? A key that an add calls new was not. */
#include "cli/shadow/compare.h"

#include "base/heap.h"
#include "cli/shadow/answers.h"

static enum tally_count judge(bool old_present, bool new_present)
{
    if (old_present) {
        return new_present ? TALLY_BOTH : TALLY_ONLY_OLD;
    }
    return new_present ? TALLY_ONLY_NEW : TALLY_NEITHER;
}

/* Show which keys they differ about: the command is taken apart once more, as few do. */
static void take_sample(struct tally *tally, const struct mirror_item *item, uint32_t key,
                        enum tally_count which)
{
    struct resp_request parser;
    struct shadow_command command;

    resp_request_init(&parser);
    command = shadow_command_read(&parser, span_of(item->deed->request, item->deed->size));
    if (key < command.nkeys) {
        tally_sample(tally, which, command.filter, command.keys[key]);
    }
    resp_request_fini(&parser);
}

static void compare_key(struct tally *tally, const struct mirror_item *item, uint32_t key,
                        enum shadow_answer answer)
{
    bool add = item->deed->kind == SHADOW_ADD;
    enum shadow_answer present = add ? SHADOW_NO : SHADOW_YES;
    enum tally_count which;

    if (answer == SHADOW_UNKNOWN) {
        tally->counts[add ? TALLY_MISSED_REFUSED : TALLY_UNCOMPARED]++;
        return;
    }
    if (item->old[key] == SHADOW_UNKNOWN) {
        tally->counts[TALLY_UNCOMPARED]++;
        return;
    }
    which = judge(item->old[key] == present, answer == present);
    tally->counts[which]++;
    if (which == TALLY_ONLY_OLD || which == TALLY_ONLY_NEW) {
        take_sample(tally, item, key, which);
    }
}

/* Whoever made the filter at the new server beforehand is right. */
static bool exists(struct span reply)
{
    struct span exists = span_text("-ERR item exists");

    return reply.size > exists.size && span_equal(span_of(reply.data, exists.size), exists);
}

static void compare_keys(struct tally *tally, const struct mirror_item *item, struct span reply)
{
    uint8_t *answers = heap_alloc(item->deed->nkeys, 1);

    if (answers == NULL) {
        tally->counts[item->deed->kind == SHADOW_ADD ? TALLY_MISSED_UNSURE : TALLY_UNCOMPARED] +=
            item->deed->nkeys;
        return;
    }
    shadow_answers_read(reply, answers, item->deed->nkeys);
    for (uint32_t i = 0; i < item->deed->nkeys; i++) {
        compare_key(tally, item, i, (enum shadow_answer)answers[i]);
    }
    heap_free(answers);
}

void shadow_compare(struct tally *tally, const struct mirror_item *item, struct span reply)
{
    if (reply.size > 0 && shadow_is_error(reply) && !exists(reply)) {
        tally_refusal(tally, reply);
    }
    switch (item->deed->kind) {
    case SHADOW_ADD:
    case SHADOW_CHECK:
        if (reply.size == 0) {
            tally->counts[item->deed->kind == SHADOW_ADD ? TALLY_MISSED_UNSURE
                                                         : TALLY_UNCOMPARED] += item->deed->nkeys;
        } else {
            compare_keys(tally, item, reply);
        }
        break;
    case SHADOW_MAKE:
        tally->counts[TALLY_NOT_MADE] += shadow_is_error(reply) && !exists(reply);
        break;
    case SHADOW_PLAIN:
    case SHADOW_EXEC:
    case SHADOW_DISCARD:
    case SHADOW_SELECT:
    case SHADOW_RESET:
    case SHADOW_BLIND:
        break;
    }
}
