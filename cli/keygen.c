/* Random bytes as hexadecimal digits, in a file that is for its owner alone and never written
 * over. */
#include "cli/keygen.h"

#include "base/status.h"
#include "cli/cmd.h"
#include "cli/secret_file.h"
#include "map/site_key.h"
#include "runtime/file.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

enum { KEY_BYTES = 32, PREFIX_BYTES = 32 };

struct keygen_settings {
    bool site;
};

static const struct option options[] = {
    {
        .name = "site",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct keygen_settings, site),
        .help = "a key for the links of a site instead, and print what other sites pin it by",
    },
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "keygen",
    .words = "FILE",
    .summary = "Make a cluster key: a secret that every process of a cluster must hold.",
    .notes =
        "Writes 32 random bytes as 64 hexadecimal digits into a new file of mode 600. A file\n"
        "that exists is never overwritten.\n\n"
        "--site: the secret is that of all links of one site (site_key_file of orbloom-link).\n"
        "Its public key, which the other sites name in their site_peers, and the id of the\n"
        "site, which is made of that, are printed; also of a file that exists.\n\n"
        "Exit: 0 made (or, of --site, shown), 1 not, 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
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

/* What stands before the digits may be "". */
static enum status write_line(const char *path, const char *before)
{
    size_t size = strlen(before);
    char text[PREFIX_BYTES + KEYGEN_TEXT_BYTES + 1];
    enum status status = STATUS_IO;

    assert(size <= PREFIX_BYTES);
    memcpy(text, before, size);
    if (keygen_draw(text + size)) {
        status = file_make(path, 0600, span_of(text, size + KEYGEN_TEXT_BYTES));
    }
    explicit_bzero(text, sizeof text);
    return status;
}

enum status keygen_write(const char *path)
{
    return write_line(path, "");
}

/* ---- of a site ---- */

enum status keygen_write_site(const char *path)
{
    return write_line(path, SITE_KEY_WORD " ");
}

enum status keygen_read_site(const char *path, struct curve_pair *pair)
{
    return secret_file_read(&file_site_key, path, site_key_read, pair);
}

/* What was made before is shown again: who has lost the line that was printed needs no new key. */
static int show_site(const char *path)
{
    struct curve_pair pair;
    struct site_id id;
    char key[SITE_KEY_TEXT_BYTES];
    char text[SITE_ID_TEXT_BYTES];

    if (keygen_read_site(path, &pair) != STATUS_OK) {
        return CMD_PARTIAL;
    }
    id = site_key_id(pair.public);
    (void)printf("public key  %s\nsite id     %s\n", site_key_show(pair.public, key),
                 site_id_show(&id, text));
    site_key_wipe(&pair);
    return cmd_close_output(CMD_OK);
}

/* ---- the command ---- */

static int refuse(const char *path)
{
    return cmd_fail(errno == EEXIST ? STATUS_EXISTS : STATUS_IO, "%s: %s; %s", path,
                    strerror(errno),
                    errno == EEXIST ? "a key is never overwritten: choose another file"
                                    : "choose a folder that you may write to");
}

static int run(int argc, char **argv)
{
    struct keygen_settings settings = {0};
    struct option_words words;
    enum status status;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    status = (settings.site ? keygen_write_site : keygen_write)(words.items[0]);
    if (status != STATUS_OK && !(settings.site && errno == EEXIST)) {
        return refuse(words.items[0]);
    }
    return settings.site ? show_site(words.items[0]) : CMD_OK;
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_keygen(void)
{
    return &command;
}
