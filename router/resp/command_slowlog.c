/* SLOWLOG: the slow log, told and forgotten. */
#include "router/resp/command.h"

enum { DEFAULT_COUNT = 10 };

static uint32_t length(const struct front *self)
{
    uint32_t count = 0;

    for (uint64_t id = slowlog_oldest(self); id < self->nslow; id++) {
        count += slowlog_find(self, id) != NULL;
    }
    return count;
}

static void write_entry(struct resp_writer *writer, const struct slow_entry *entry)
{
    resp_array(writer, 6);
    resp_integer(writer, (int64_t)entry->id);
    resp_integer(writer, (int64_t)(entry->wall_us / 1000000));
    resp_integer(writer, (int64_t)entry->duration_us);
    resp_array(writer, entry->nwords);
    writer->failed = writer->failed ||
                     buffer_append(writer->out, buffer_span(&entry->words)) != STATUS_OK;
    resp_text(writer, entry->peer);
    resp_text(writer, entry->label);
}

/* The newest first. */
static enum taken show(struct front *self, struct session *session, uint32_t most)
{
    uint32_t left = length(self);
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    if (call == NULL) {
        return TAKEN_DONE;
    }
    left = left < most ? left : most;
    resp_array(&writer, left);
    for (uint64_t id = self->nslow; left > 0; id--) {
        const struct slow_entry *entry = slowlog_find(self, id - 1);

        if (entry != NULL) {
            write_entry(&writer, entry);
            left--;
        }
    }
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

static COMMAND(slowlog_get)
{
    int64_t most = DEFAULT_COUNT;

    if (count > 3) {
        return answer_error(self, session,
                            "ERR unknown subcommand or wrong number of arguments for 'GET'. Try "
                            "SLOWLOG HELP.");
    }
    if (count == 3 && !argument_integer(arguments[2], -1, INT64_MAX, &most)) {
        return answer_error(self, session, "ERR count should be greater than or equal to -1");
    }
    return show(self, session,
                most < 0 || most > FRONT_SLOW_ENTRIES ? FRONT_SLOW_ENTRIES : (uint32_t)most);
}

static COMMAND(slowlog_len)
{
    (void)arguments;
    (void)count;
    return answer_integer(self, session, length(self));
}

static COMMAND(slowlog_reset)
{
    (void)arguments;
    (void)count;
    slowlog_reset(self);
    return answer_ok(self, session);
}

COMMAND(slowlog)
{
    static const struct subcommand subcommands[] = {
        {"get", -2, command_slowlog_get, " [<count>]",
         "The newest entries (default: 10, -1: all): id, time, microseconds, arguments, client, "
         "its "
         "name"},
        {"len", 2, command_slowlog_len, "", "How many there are, at most 128"},
        {"reset", 2, command_slowlog_reset, "", "Forget them"},
    };

    return SUBCOMMAND_RUN(subcommands);
}
