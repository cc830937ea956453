/* Random bytes as hexadecimal digits, in a file that is for its owner alone and never written
 * over. */
#include "cli/keygen.h"

#include "base/status.h"
#include "cli/cmd.h"
#include "runtime/file.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

enum { KEY_BYTES = 32 };

static const struct option_table table = {
    .program = "orbloom",
    .command = "keygen",
    .words = "FILE",
    .summary = "Make a cluster key: a secret that every process of a cluster must hold.",
    .notes = "Writes 32 random bytes as 64 hexadecimal digits into a new file of mode 600. A file\n"
             "that exists is never overwritten.\n\n"
             "Exit: 0 made, 1 not, 2 wrong usage.",
    .min_words = 1,
    .max_words = 1,
};

bool keygen_draw(char text[KEYGEN_TEXT_BYTES + 1])
{
    uint8_t bytes[KEY_BYTES];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return false;
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
    explicit_bzero(bytes, sizeof bytes);
    text[KEYGEN_TEXT_BYTES - 1] = '\n';
    text[KEYGEN_TEXT_BYTES] = '\0';
    return true;
}

enum status keygen_write(const char *path)
{
    char text[KEYGEN_TEXT_BYTES + 1];
    enum status status = STATUS_IO;

    if (keygen_draw(text)) {
        status = file_make(path, 0600, span_of(text, KEYGEN_TEXT_BYTES));
    }
    explicit_bzero(text, sizeof text);
    return status;
}

static int run(int argc, char **argv)
{
    struct option_words words;
    char nothing;

    if (options_parse_command(&table, argc, argv, &nothing, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    if (keygen_write(words.items[0]) != STATUS_OK) {
        return cmd_fail(errno == EEXIST ? STATUS_EXISTS : STATUS_IO, "%s: %s; %s", words.items[0],
                        strerror(errno),
                        errno == EEXIST ? "a key is never overwritten: choose another file"
                                        : "choose a folder that you may write to");
    }
    return CMD_OK;
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_keygen(void)
{
    return &command;
}
