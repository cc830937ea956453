/* Keys are whole lines, whatever bytes they hold and however the input is cut. */
#include "base/heap.h"
#include "cli/keys.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LONGEST = 65536 };

static char folder[] = "/tmp/orbloom-client-keys-XXXXXX";
static char path[64];

static void make_folder(void)
{
    cr_assert_neq(mkdtemp(folder), NULL);
    (void)snprintf(path, sizeof path, "%s/keys", folder);
}

static void remove_folder(void)
{
    (void)unlink(path);
    (void)rmdir(folder);
}

TestSuite(keys, .init = make_folder, .fini = remove_folder);

static void write_file(const void *data, size_t size)
{
    FILE *file = fopen(path, "w");

    cr_assert_neq(file, NULL);
    cr_assert_eq(fwrite(data, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

static struct key_source *open_file(char delimiter)
{
    static char *files[1];
    struct key_source *source = NULL;

    files[0] = path;
    cr_assert_eq(key_source_create(files, 1, delimiter, &source), STATUS_OK);
    return source;
}

static void expect_key(struct key_source *source, const void *key, size_t size, uint64_t line)
{
    struct key_item item;

    cr_assert_eq(key_source_next(source, &item), KEY_READY);
    cr_assert(span_equal(item.key, span_of(key, size)), "line %lu", (unsigned long)line);
    cr_assert_eq(item.line, line);
    cr_assert_str_eq(item.file, path);
}

static void expect_bad(struct key_source *source, uint64_t line, const char *reason)
{
    struct key_item item;

    cr_assert_eq(key_source_next(source, &item), KEY_BAD);
    cr_assert_eq(item.line, line);
    cr_assert(strstr(item.reason, reason) != NULL, "%s", item.reason);
}

static void expect_end(struct key_source **source)
{
    struct key_item item;

    cr_assert_eq(key_source_next(*source, &item), KEY_END);
    cr_assert_eq(key_source_next(*source, &item), KEY_END);
    key_source_destroy(source);
    cr_assert_eq(heap_live(), 0);
}

Test(keys, lines_keep_their_bytes)
{
    struct key_source *source;

    write_file("a\nb \r\n\n\xff\0x\nlast", 15);
    source = open_file('\n');
    expect_key(source, "a", 1, 1);
    expect_key(source, "b \r", 3, 2);
    expect_bad(source, 3, "empty key");
    expect_key(source, "\xff\0x", 3, 4);
    expect_key(source, "last", 4, 5);
    expect_end(&source);
}

Test(keys, nul_separates_where_asked)
{
    struct key_source *source;

    write_file("a\nb\0c\0", 6);
    source = open_file('\0');
    expect_key(source, "a\nb", 3, 1);
    expect_key(source, "c", 1, 2);
    expect_end(&source);
}

Test(keys, an_empty_file_has_none)
{
    struct key_source *source;

    write_file("", 0);
    source = open_file('\n');
    expect_end(&source);
}

/* Exactly the longest key, one byte more, and a line longer than the buffer: told once. */
Test(keys, long_lines_are_told_and_skipped)
{
    size_t size = 3 * LONGEST + 40 * LONGEST + 16;
    char *text = malloc(size);
    char *at = text;
    struct key_source *source;

    cr_assert_neq(text, NULL);
    memset(text, 'k', size);
    at[LONGEST] = '\n';
    at += LONGEST + 1;
    at[LONGEST + 1] = '\n';
    at += LONGEST + 2;
    at[40 * LONGEST] = '\n';
    at += 40 * LONGEST + 1;
    write_file(text, (size_t)(at - text) + 3);
    source = open_file('\n');
    expect_key(source, text, LONGEST, 1);
    expect_bad(source, 2, "too long");
    expect_bad(source, 3, "too long");
    expect_key(source, "kkk", 3, 4);
    expect_end(&source);
    free(text);
}

Test(keys, a_long_last_line_is_told_too)
{
    static char text[LONGEST + 1];
    struct key_source *source;

    memset(text, 'k', sizeof text);
    write_file(text, sizeof text);
    source = open_file('\n');
    expect_bad(source, 1, "too long");
    expect_end(&source);
}

/* Every key arrives once, wherever the ends of reads fall. */
Test(keys, many_keys_cross_the_buffer)
{
    enum { NKEYS = 400000 };
    FILE *file = fopen(path, "w");
    struct key_source *source;

    cr_assert_neq(file, NULL);
    for (int i = 0; i < NKEYS; i++) {
        cr_assert_gt(fprintf(file, "key-%d\n", i), 0);
    }
    cr_assert_eq(fclose(file), 0);
    source = open_file('\n');
    for (int i = 0; i < NKEYS; i++) {
        char key[32];
        int size = snprintf(key, sizeof key, "key-%d", i);

        expect_key(source, key, (size_t)size, (uint64_t)i + 1);
    }
    expect_end(&source);
}

Test(keys, a_missing_file_is_told_and_the_next_one_read)
{
    char missing[] = "/nonexistent/keys";
    char *files[] = {missing, path};
    struct key_source *source = NULL;
    struct key_item item;

    write_file("a\n", 2);
    cr_assert_eq(key_source_create(files, 2, '\n', &source), STATUS_OK);
    cr_assert_eq(key_source_next(source, &item), KEY_UNREADABLE);
    cr_assert_str_eq(item.file, missing);
    expect_key(source, "a", 1, 1);
    expect_end(&source);
}

/* A pipe that is open and silent does not block: what was read can be sent meanwhile. */
Test(keys, a_silent_pipe_is_waited_for)
{
    int ends[2];
    char *files[] = {path};
    struct key_source *source = NULL;
    struct key_item item;

    cr_assert_eq(pipe(ends), 0);
    (void)snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    cr_assert_eq(key_source_create(files, 1, '\n', &source), STATUS_OK);
    cr_assert_eq(write(ends[1], "a\nhal", 5), 5);
    expect_key(source, "a", 1, 1);
    cr_assert_eq(key_source_next(source, &item), KEY_WAIT);
    cr_assert_eq(key_source_next(source, &item), KEY_WAIT);
    cr_assert_eq(write(ends[1], "f\n", 2), 2);
    expect_key(source, "half", 4, 2);
    cr_assert_eq(close(ends[1]), 0);
    expect_end(&source);
}

/* ---- places ---- */

static void expect_item(struct key_source *source, const struct key_item *like,
                        enum key_event event)
{
    struct key_item item;

    cr_assert_eq(key_source_next(source, &item), event);
    if (event == KEY_READY || event == KEY_BAD) {
        cr_assert_eq(item.line, like->line);
        cr_assert_str_eq(item.file, like->file);
        cr_assert(event == KEY_BAD || span_equal(item.key, like->key));
    }
}

/* Wherever one stops, who begins at its place reads the rest; a line that is too long and was told
 * but not read to its end comes once more, and no piece of it is a key. */
Test(keys, reading_begins_again_behind_any_line)
{
    enum { TAIL = (1 << 20) + 100 /* a little more than is read at once */ };
    static uint8_t text[TAIL + 8];
    char *files[] = {path, path};
    enum key_event event = KEY_READY;

    memset(text, 'x', sizeof text);
    memcpy(text, "a\n\nb\n", 5);
    memcpy(text + TAIL, "\nc\nlast", 7);
    write_file(text, TAIL + 7);
    for (size_t steps = 0; event != KEY_END; steps++) {
        struct key_source *first = NULL;
        struct key_source *second = NULL;
        struct key_place place;
        struct key_item item = {.line = 0};

        cr_assert_eq(key_source_create(files, 2, '\n', &first), STATUS_OK);
        cr_assert_eq(key_source_create(files, 2, '\n', &second), STATUS_OK);
        for (size_t i = 0; i < steps; i++) {
            event = key_source_next(first, &item);
        }
        place = key_source_place(first);
        key_source_begin_at(second, &place);
        if (event == KEY_BAD && item.line == 4) {
            expect_item(second, &item, KEY_BAD);
        }
        while (event != KEY_END) {
            event = key_source_next(first, &item);
            expect_item(second, &item, event);
        }
        key_source_destroy(&first);
        key_source_destroy(&second);
        event = steps < 14 ? KEY_READY : KEY_END;
    }
}
