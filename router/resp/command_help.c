/* NAME HELP: which subcommands a command has here, in the form that Redis gives it. */
#include "router/resp/command.h"

#include <stdio.h>

enum { TEXT_BYTES = 160, FIXED_LINES = 3 };

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

    command_upper(subcommand->name, name);
    write_line(writer, "", name, subcommand->arguments);
    write_line(writer, "    ", subcommand->help, ".");
}

enum taken answer_help(struct front *self, struct session *session, const char *command,
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
    command_upper(command, name);
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
