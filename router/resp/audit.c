/* What RESP clients were refused, for the audit log: a line each, of who, what and from where; no
 * more than so many a second. */
#include "router/resp/private.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST_SHOWN = 128 /* bytes of a word */ };

void front_attach_audit(struct front *front, const struct audit_sink *sink)
{
    audit_log_init(&front->audit, sink, &front->outer, &front->counters[FRONT_audit_lost_total]);
}

static bool put_text(struct buffer *line, const char *name, struct span text)
{
    const struct span shown = span_of(text.data, text.size < MOST_SHOWN ? text.size : MOST_SHOWN);

    return buffer_append(line, span_text(",\"")) == STATUS_OK &&
           buffer_append(line, span_text(name)) == STATUS_OK &&
           buffer_append(line, span_text("\":")) == STATUS_OK &&
           audit_quote(line, shown) == STATUS_OK;
}

static bool put_left_out(struct buffer *line, uint64_t count)
{
    char text[48];

    if (count == 0) {
        return true;
    }
    (void)snprintf(text, sizeof text, ",\"left_out\":%" PRIu64, count);
    return buffer_append(line, span_text(text)) == STATUS_OK;
}

/* What is not known is not told. */
static bool put_known(struct buffer *line, const char *name, struct span text)
{
    return text.size == 0 || put_text(line, name, text);
}

static bool is_due(struct front *self)
{
    bool due = audit_limit_take(&self->audit_limit, self->now_us);

    if (!due) {
        front_count(self, FRONT_audit_left_out_total);
    }
    return due;
}

void audit_refusal(struct front *self, const struct session *session, const struct refusal *refusal)
{
    struct buffer line;
    bool whole;

    if (!audit_log_is_on(&self->audit) || !is_due(self)) {
        return;
    }
    buffer_init(&line, AUDIT_LINE_BYTES);
    whole = put_text(&line, "router", span_text(self->router_name)) &&
            put_text(&line, "action", span_text(refusal->action)) &&
            put_text(&line, "user", refusal->user) &&
            put_known(&line, "command", span_text(refusal->command)) &&
            put_known(&line, "filter", refusal->filter) &&
            put_text(&line, "client", span_text(session->peer)) &&
            put_text(&line, "outcome", span_text(refusal->outcome)) &&
            put_left_out(&line, self->audit_limit.left_out);
    self->audit_limit.left_out = 0;
    if (whole) {
        audit_log_write(&self->audit, self->now_us, buffer_span(&line));
    } else {
        audit_log_lose(&self->audit, self->now_us);
    }
    buffer_fini(&line);
}
