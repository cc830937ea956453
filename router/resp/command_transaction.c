/* Transactions: commands are kept as they came, and run one after another at EXEC. */
#include "router/resp/command.h"

void transaction_forget(struct session *session)
{
    session->multi = false;
    session->multi_broken = false;
    session->nqueued = 0;
    buffer_fini(&session->queued); /* It may be large. */
}

COMMAND(multi)
{
    (void)arguments;
    (void)count;
    if (session->multi) {
        bool broken = session->multi_broken;

        (void)answer_error(self, session, "ERR MULTI calls can not be nested");
        session->multi_broken = broken; /* Peers go on, too. */
        return TAKEN_DONE;
    }
    session->multi = true;
    return answer_ok(self, session);
}

COMMAND(discard)
{
    (void)arguments;
    (void)count;
    if (!session->multi) {
        return answer_error(self, session, "ERR DISCARD without MULTI");
    }
    transaction_forget(session);
    return answer_ok(self, session);
}

/* What was queued goes before what has come since. */
static bool put_first(struct session *session)
{
    struct buffer joined;
    struct span rest = span_of(session->input.data + session->taken,
                               session->input.size - session->taken);

    buffer_init(&joined, session->input.max);
    if (buffer_append(&joined, buffer_span(&session->queued)) != STATUS_OK ||
        buffer_append(&joined, rest) != STATUS_OK) {
        buffer_fini(&joined);
        return false;
    }
    buffer_fini(&session->input);
    session->input = joined;
    session->taken = 0;
    return true;
}

COMMAND(exec)
{
    struct resp_writer writer;
    struct call *call;
    uint32_t nqueued = session->nqueued;

    (void)arguments;
    (void)count;
    if (!session->multi) {
        return answer_error(self, session, "ERR EXEC without MULTI");
    }
    session->multi = false;
    if (session->multi_broken || !put_first(session)) {
        transaction_forget(session);
        return answer_error(self, session,
                            "EXECABORT Transaction discarded because of previous errors.");
    }
    transaction_forget(session);
    call = call_now(self, session, &writer);
    if (call != NULL) {
        resp_array(&writer, nqueued);
        call_end(self, call, &writer);
    }
    return TAKEN_DONE;
}
