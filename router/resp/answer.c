/* Answers that are known at once, and commands that go by their second word. */
#include "router/resp/command.h"

#include <assert.h>
#include <stdio.h>

enum { TEXT_BYTES = 160, FIXED_LINES = 3 };

/* ---- known at once ---- */

enum taken answer_simple(struct front *self, struct session *session, const char *text)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    if (call != NULL) {
        resp_simple(&writer, text);
        call_end(self, call, &writer);
    }
    return TAKEN_DONE;
}

enum taken answer_ok(struct front *self, struct session *session)
{
    return answer_simple(self, session, "OK");
}

enum taken answer_error(struct front *self, struct session *session, const char *text)
{
    struct call *call = call_begin(self, session);

    session->multi_broken = session->multi_broken || session->multi;
    if (call != NULL) {
        call_fail(self, call, text);
    }
    return TAKEN_DONE;
}

enum taken answer_integer(struct front *self, struct session *session, int64_t value)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    if (call != NULL) {
        resp_integer(&writer, value);
        call_end(self, call, &writer);
    }
    return TAKEN_DONE;
}

enum taken answer_text(struct front *self, struct session *session, const char *text)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    if (call != NULL) {
        resp_text(&writer, text);
        call_end(self, call, &writer);
    }
    return TAKEN_DONE;
}

enum taken answer_empty(struct front *self, struct session *session, bool map)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    if (call != NULL) {
        if (map) {
            resp_map(&writer, 0);
        } else {
            resp_array(&writer, 0);
        }
        call_end(self, call, &writer);
    }
    return TAKEN_DONE;
}

enum taken answer_arity(struct front *self, struct session *session, const char *name)
{
    char text[FRONT_MESSAGE_BYTES];

    (void)snprintf(text, sizeof text, "ERR wrong number of arguments for '%s' command", name);
    return answer_error(self, session, text);
}

/* ---- by a second word ---- */

/* "config" is "CONFIG". */
static void to_upper(const char *name, char upper[FRONT_LABEL_BYTES])
{
    size_t size = 0;

    for (; name[size] != '\0' && size + 1 < FRONT_LABEL_BYTES; size++) {
        bool lower = name[size] >= 'a' && name[size] <= 'z';

        upper[size] = (char)(lower ? name[size] - 0x20 : name[size]);
    }
    upper[size] = '\0';
}

/* The command, as the table has it: whoever is here has been found there. */
static void to_lower(struct span word, char lower[FRONT_LABEL_BYTES])
{
    assert(word.size < FRONT_LABEL_BYTES);
    for (size_t i = 0; i < word.size; i++) {
        bool upper = word.data[i] >= 'A' && word.data[i] <= 'Z';

        lower[i] = (char)(upper ? word.data[i] | 0x20 : word.data[i]);
    }
    lower[word.size] = '\0';
}

/* NAME HELP: which subcommands a command has here, in the form that Redis gives it. */

static void write_line(struct resp_writer *writer, const char *indent, const char *name,
                       const char *rest)
{
    char line[TEXT_BYTES];

    (void)snprintf(line, sizeof line, "%s%s%s", indent, name, rest);
    resp_simple(writer, line);
}

static void write_subcommand(struct resp_writer *writer, const struct subcommand *subcommand)
{
    char name[FRONT_LABEL_BYTES];

    to_upper(subcommand->name, name);
    write_line(writer, "", name, subcommand->arguments);
    write_line(writer, "    ", subcommand->help, ".");
}

static enum taken answer_help(struct front *self, struct session *session, const char *command,
                              const struct subcommand *table, size_t size)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);
    char name[FRONT_LABEL_BYTES];
    size_t listed = 0;

    if (call == NULL) {
        return TAKEN_DONE;
    }
    for (size_t i = 0; i < size; i++) {
        listed += table[i].help != NULL;
    }
    resp_array(&writer, FIXED_LINES + 2 * listed);
    to_upper(command, name);
    write_line(&writer, "", name, " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    for (size_t i = 0; i < size; i++) {
        if (table[i].help != NULL) {
            write_subcommand(&writer, &table[i]);
        }
    }
    resp_simple(&writer, "HELP");
    resp_simple(&writer, "    Print this help.");
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

static enum taken refuse_subcommand(struct front *self, struct session *session, struct span name,
                                    const char *command)
{
    char text[FRONT_MESSAGE_BYTES];
    char upper[FRONT_LABEL_BYTES];

    to_upper(command, upper);
    (void)snprintf(text, sizeof text, "ERR unknown subcommand '%.*s'. Try %s HELP.",
                   name.size < 128 ? (int)name.size : 128, (const char *)name.data, upper);
    return answer_error(self, session, text);
}

bool arity_fits(int arity, uint32_t count)
{
    return arity >= 0 ? count == (uint32_t)arity : count >= (uint32_t)-arity;
}

enum taken subcommand_run(struct front *self, struct session *session, const struct span *arguments,
                          uint32_t count, const struct subcommand *table, size_t size)
{
    char command[FRONT_LABEL_BYTES];
    char name[2 * FRONT_LABEL_BYTES];

    to_lower(arguments[0], command);
    for (size_t i = 0; i < size; i++) {
        if (!command_word(arguments[1], table[i].name)) {
            continue;
        }
        if (arity_fits(table[i].arity, count)) {
            return table[i].run(self, session, arguments, count);
        }
        (void)snprintf(name, sizeof name, "%s|%s", command, table[i].name);
        return answer_arity(self, session, name);
    }
    if (command_word(arguments[1], "help")) {
        (void)snprintf(name, sizeof name, "%s|help", command);
        return count == 2 ? answer_help(self, session, command, table, size)
                          : answer_arity(self, session, name);
    }
    return refuse_subcommand(self, session, arguments[1], command);
}
