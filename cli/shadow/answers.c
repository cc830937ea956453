/* Replies about keys are small and flat: a number or a boolean, or an array of these and of errors.
 */
#include "cli/shadow/answers.h"

#include "cli/shadow/framer.h"

static bool is_array(struct span reply)
{
    return reply.size > 0 && reply.data[0] == '*';
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
    struct span rest = is_array(reply) ? framer_elements(reply) : reply;
    struct span value;

    for (size_t i = 0; i < count; i++) {
        answers[i] = framer_split(&rest, &value) ? (uint8_t)read_one(value) : SHADOW_UNKNOWN;
    }
}

static enum status put_as_resp3(struct span value, struct buffer *out)
{
    switch (read_one(value)) {
    case SHADOW_YES:
        return buffer_append(out, span_text("#t\r\n"));
    case SHADOW_NO:
        return buffer_append(out, span_text("#f\r\n"));
    case SHADOW_UNKNOWN:
        break;
    }
    return buffer_append(out, value);
}

enum status shadow_answers_as_resp3(struct span reply, struct buffer *out)
{
    struct span rest = framer_elements(reply);
    struct span value;
    enum status status;

    if (!is_array(reply)) {
        return put_as_resp3(reply, out);
    }
    status = buffer_append(out, span_of(reply.data, reply.size - rest.size));
    while (status == STATUS_OK && framer_split(&rest, &value)) {
        status = put_as_resp3(value, out);
    }
    return status;
}
