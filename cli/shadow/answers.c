/* Replies about keys are small and flat: a number or a boolean, or an array of these and of errors.
 */
#include "cli/shadow/answers.h"

#include "cli/shadow/framer.h"

static bool is_array(struct span reply)
{
    return reply.size > 0 && reply.data[0] == '*';
}

static struct span elements_of(struct span reply)
{
    return is_array(reply) ? framer_elements(reply) : reply;
}

bool shadow_is_error(struct span reply)
{
    return reply.size == 0 || reply.data[0] == '-' || reply.data[0] == '!';
}

static enum shadow_answer read_one(struct span value)
{
    if (span_equal(value, span_text(":1\r\n")) || span_equal(value, span_text("#t\r\n"))) {
        return SHADOW_YES;
    }
    if (span_equal(value, span_text(":0\r\n")) || span_equal(value, span_text("#f\r\n"))) {
        return SHADOW_NO;
    }
    return SHADOW_UNKNOWN;
}

void shadow_answers_read(struct span reply, uint8_t *answers, size_t count)
{
    struct span rest = elements_of(reply);
    struct span value;

    for (size_t i = 0; i < count; i++) {
        answers[i] = framer_split(&rest, &value) ? (uint8_t)read_one(value) : SHADOW_UNKNOWN;
    }
}

/* "Not sure" is never "absent", and what the old one refused was not done. */
static struct span pick(struct span old, struct span fresh)
{
    enum shadow_answer answer = read_one(fresh);

    if (answer == SHADOW_UNKNOWN || read_one(old) == SHADOW_UNKNOWN) {
        return old;
    }
    if (old.data[0] == '#') {
        return span_text(answer == SHADOW_YES ? "#t\r\n" : "#f\r\n");
    }
    return span_text(answer == SHADOW_YES ? ":1\r\n" : ":0\r\n");
}

static size_t count_keys(struct span reply)
{
    struct span rest = elements_of(reply);
    struct span value;
    size_t count = 0;

    while (framer_split(&rest, &value)) {
        count++;
    }
    return count;
}

enum status shadow_answers_merge(struct span old, struct span fresh, struct buffer *out,
                                 bool *in_place)
{
    struct span old_rest = elements_of(old);
    struct span fresh_rest = elements_of(fresh);
    struct span old_value;
    struct span fresh_value;
    enum status status;

    *in_place = is_array(old) != is_array(fresh) || count_keys(old) != count_keys(fresh);
    if (*in_place) {
        return buffer_append(out, old);
    }
    status = buffer_append(out, span_of(old.data, old.size - old_rest.size));
    while (status == STATUS_OK && framer_split(&old_rest, &old_value) &&
           framer_split(&fresh_rest, &fresh_value)) {
        *in_place = *in_place || read_one(fresh_value) == SHADOW_UNKNOWN;
        status = buffer_append(out, pick(old_value, fresh_value));
    }
    return status;
}
