/* BF.ADD and its kin: what a command asks of the router for its items. */
#include "router/resp/command.h"

#include <stdio.h>
#include <string.h>

enum { REPLICAS = 3, QUORUM = 2 };

#define MOST_CAPACITY  INT64_C(1073741824)
#define MOST_RATE      0.25 /* more is taken as this */
#define NAME_MESSAGE   "ERR a filter's name takes 1 to 128 of [A-Za-z0-9._:-]"
#define MOST_EXPANSION 32768
#define LOW_EXPANSION  "expansion should be greater or equal to 1"
#define ITEM_MESSAGE   "ERR an item has 1 to 65536 bytes"

static void fill_create(const struct front *self, struct create_parameters *create)
{
    *create = (struct create_parameters){
        .capacity = self->config.capacity,
        .rate = self->config.rate,
        .max_capacity = self->config.max_capacity,
        .rule = {.replicas = REPLICAS, .write = QUORUM, .read = QUORUM},
        .hash = HASH_SIPHASH24,
        .when_unavailable = WHEN_UNAVAILABLE_ERROR,
        .keylog = KEYLOG_ON,
    };
}

static bool items_valid(const struct span *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].size == 0 || items[i].size > CODEC_MAX_KEY_BYTES) {
            return false;
        }
    }
    return true;
}

static bool too_large(const struct span *items, uint32_t count)
{
    return count > CODEC_MAX_KEYS || gather_key_bytes(items, count) > FRONT_GATHER_BYTES;
}

const char *items_error(const struct span *items, uint32_t count)
{
    if (!items_valid(items, count)) {
        return ITEM_MESSAGE;
    }
    return too_large(items, count) ? "ERR one command takes at most 65536 items and 4 MiB of them"
                                   : NULL;
}

static enum taken take_items(struct front *self, struct session *session,
                             const struct gather_kind *kind, const struct span *items,
                             uint32_t count, bool many)
{
    const char *error = items_error(items, count);

    if (error != NULL) {
        return answer_error(self, session, error);
    }
    return gather_keys(self, session, kind, items, count, many) ? TAKEN_DONE : TAKEN_WAIT;
}

static enum taken add(struct front *self, struct session *session, const struct span *arguments,
                      uint32_t count, bool many)
{
    struct gather_kind kind = {.operation = OPERATION_ADD, .make = MAKE_DEFAULT};

    if (!argument_name(arguments[1], kind.name)) {
        return answer_error(self, session, NAME_MESSAGE);
    }
    fill_create(self, &kind.create);
    rights_limit_make(session, &kind);
    return take_items(self, session, &kind, arguments + 2, count - 2, many);
}

COMMAND(bf_add)
{
    return add(self, session, arguments, count, false);
}

COMMAND(bf_madd)
{
    return add(self, session, arguments, count, true);
}

/* What can't be a filter's name is no filter. */
static enum taken nothing_there(struct front *self, struct session *session, uint32_t count,
                                bool many)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    if (call == NULL) {
        return TAKEN_DONE;
    }
    if (many) {
        resp_array(&writer, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        resp_boolean(&writer, false);
    }
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

static enum taken check(struct front *self, struct session *session, const struct span *arguments,
                        uint32_t count, bool many)
{
    struct gather_kind kind = {.operation = OPERATION_CHECK};

    if (!argument_name(arguments[1], kind.name)) {
        return self->config.strict_missing ? answer_error(self, session, "ERR not found")
                                           : nothing_there(self, session, count - 2, many);
    }
    return take_items(self, session, &kind, arguments + 2, count - 2, many);
}

COMMAND(bf_exists)
{
    return check(self, session, arguments, count, false);
}

COMMAND(bf_mexists)
{
    return check(self, session, arguments, count, true);
}

COMMAND(bf_del)
{
    (void)arguments;
    (void)count;
    return answer_error(self, session,
                        "ERR a Bloom filter can't forget single items; rebuild it from a list "
                        "(orbloom rebuild), or use a filter with a time window");
}

/* ---- filters as asked for ---- */

/* Texts differ between commands, as peers' do. */
struct texts {
    const char *bad_rate;
    const char *bad_capacity;
    const char *bad_expansion;
    const char *low_expansion;
    const char *high_expansion;
};

static const char *read_rate(struct span text, const struct texts *texts,
                             struct create_parameters *create)
{
    if (!argument_double(text, &create->rate)) {
        return texts->bad_rate;
    }
    if (create->rate <= 0 || create->rate >= 1) {
        return "ERR error rate must be in the range (0.000000, 1.000000)";
    }
    create->rate = create->rate < MOST_RATE ? create->rate : MOST_RATE;
    return NULL;
}

static const char *read_capacity(struct span text, const struct texts *texts,
                                 struct create_parameters *create)
{
    int64_t value;

    if (!argument_integer(text, INT64_MIN, INT64_MAX, &value)) {
        return texts->bad_capacity;
    }
    if (value < 1 || value > MOST_CAPACITY) {
        return "ERR capacity must be in the range [1, 1073741824]";
    }
    create->capacity = (uint64_t)value;
    create->max_capacity = create->max_capacity > create->capacity ? create->max_capacity
                                                                   : create->capacity;
    return NULL;
}

/* How much it grows at a time is the cluster's to say (growth_factor); that it does is asked. So 0
 * is an error, as in RedisBloom until Redis 8: NONSCALING says what some may have meant by it. */
static const char *read_expansion(struct span text, const struct texts *texts, bool *expands)
{
    int64_t value;

    if (!argument_integer(text, INT64_MIN, INT64_MAX, &value)) {
        return texts->bad_expansion;
    }
    if (value < 1) {
        return texts->low_expansion;
    }
    *expands = true;
    return value > MOST_EXPANSION ? texts->high_expansion : NULL;
}

static void stay_as_it_is(struct create_parameters *create)
{
    create->when_full = WHEN_FULL_REFUSE;
    create->max_capacity = create->capacity;
}

static const char *read_reserve(const struct span *arguments, uint32_t count,
                                struct create_parameters *create)
{
    static const struct texts texts = {
        .bad_rate = "ERR bad error rate",
        .bad_capacity = "ERR bad capacity",
        .bad_expansion = "ERR bad expansion",
        .low_expansion = "ERR " LOW_EXPANSION,
        .high_expansion = "ERR expansion must be in the range [1, 32768]",
    };
    const char *error = read_rate(arguments[2], &texts, create);
    bool fixed = false;
    bool expands = false;

    error = error != NULL ? error : read_capacity(arguments[3], &texts, create);
    for (uint32_t i = 4; i < count && error == NULL; i++) {
        if (command_word(arguments[i], "nonscaling")) {
            fixed = true;
        } else if (command_word(arguments[i], "expansion")) {
            error = ++i == count ? "ERR no expansion"
                                 : read_expansion(arguments[i], &texts, &expands);
        }
    }
    if (error == NULL && fixed && expands) {
        error = "Nonscaling filters cannot expand";
    }
    if (fixed) {
        stay_as_it_is(create);
    }
    return error;
}

static void reserved(struct front *self, struct call *call, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct resp_writer writer;

    if (reply->status == STATUS_EXISTS || (reply->status == STATUS_OK && !reply->created)) {
        call_fail(self, call, "ERR item exists");
    } else if (reply->status == STATUS_NO_SPACE) {
        call_fail(self, call, "ERR Insufficient memory to create filter");
    } else if (reply->status != STATUS_OK) {
        call_fail_status(self, call, reply->status, reply->message);
    } else {
        writer = call_writer(call);
        resp_simple(&writer, "OK");
        call_end(self, call, &writer);
    }
}

COMMAND(bf_reserve)
{
    char name[DOCUMENT_NAME_BYTES];
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct admin_request *request = &frame.body.admin_request;
    const char *error;

    if (count > 7) {
        return answer_arity(self, session, "bf.reserve");
    }
    if (!argument_name(arguments[1], name)) {
        return answer_error(self, session, NAME_MESSAGE);
    }
    request->action = ADMIN_CREATE;
    request->name = name;
    request->successor = "";
    fill_create(self, &request->create);
    error = read_reserve(arguments, count, &request->create);
    if (error != NULL) {
        return answer_error(self, session, error);
    }
    question_for_call(self, session, &frame, name, false, reserved, 0);
    return TAKEN_DONE;
}

/* ---- BF.INSERT ---- */

struct insert {
    struct gather_kind kind;
    uint32_t items; /* where they begin; 0: there are none */
    bool fixed;
    bool expands;
};

static bool begins(struct span argument, const char *letters)
{
    size_t size = strlen(letters);

    return argument.size >= size && command_word(span_of(argument.data, size), letters);
}

/* The option at *at, and past its value. By its first letters, as peers do. */
static const char *read_option(const struct span *arguments, uint32_t count, uint32_t *at,
                               struct insert *insert)
{
    static const struct texts texts = {
        .bad_rate = "Bad error rate",
        .bad_capacity = "Bad capacity",
        .bad_expansion = "Bad expansion",
        .low_expansion = "Bad argument received: " LOW_EXPANSION,
        .high_expansion = "Bad expansion",
    };
    struct span word = arguments[*at];
    bool last = *at + 1 == count;

    if (begins(word, "noc")) {
        insert->kind.make = MAKE_NEVER;
        return NULL;
    }
    if (begins(word, "non")) {
        insert->fixed = true;
        return NULL;
    }
    if (last) {
        return "Unknown argument received";
    }
    ++*at;
    if (begins(word, "c")) {
        return read_capacity(arguments[*at], &texts, &insert->kind.create);
    }
    if (begins(word, "er")) {
        return read_rate(arguments[*at], &texts, &insert->kind.create);
    }
    if (begins(word, "ex")) {
        return read_expansion(arguments[*at], &texts, &insert->expands);
    }
    return "Unknown argument received";
}

static const char *read_insert(const struct span *arguments, uint32_t count, struct insert *insert)
{
    const char *error = NULL;

    for (uint32_t i = 2; i < count && error == NULL && insert->items == 0; i++) {
        if (begins(arguments[i], "i")) {
            insert->items = i + 1;
        } else {
            insert->kind.make = insert->kind.make == MAKE_DEFAULT ? MAKE_ASKED : insert->kind.make;
            error = read_option(arguments, count, &i, insert);
        }
    }
    if (insert->fixed) {
        stay_as_it_is(&insert->kind.create);
    }
    return error == NULL && insert->fixed && insert->expands ? "Nonscaling filters cannot expand"
                                                             : error;
}

COMMAND(bf_insert)
{
    struct insert insert = {.kind = {.operation = OPERATION_ADD, .make = MAKE_DEFAULT}};
    const char *error;

    if (!argument_name(arguments[1], insert.kind.name)) {
        return answer_error(self, session, NAME_MESSAGE);
    }
    fill_create(self, &insert.kind.create);
    error = read_insert(arguments, count, &insert);
    if (error != NULL) {
        return answer_error(self, session, error);
    }
    if (insert.items == 0 || insert.items == count) {
        return answer_arity(self, session, "bf.insert");
    }
    rights_limit_make(session, &insert.kind);
    return take_items(self, session, &insert.kind, arguments + insert.items, count - insert.items,
                      true);
}
