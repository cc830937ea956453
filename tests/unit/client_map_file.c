/* Is a backup read back as it was written, and refused when a byte of it is not? */
#include "cli/map_file.h"
#include "map/document.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct map_header header = {.key = 1, .cluster = {{9}}, .store = 2, .change = 3};

static void make(struct buffer *file)
{
    buffer_init(file, 1 << 20);
    cr_assert_eq(map_file_begin(file), STATUS_OK);
    cr_assert_eq(map_file_put(file, "filter/1", span_text("document")), STATUS_OK);
    cr_assert_eq(map_file_put(file, "name/x", span_text("")), STATUS_OK);
    cr_assert_eq(map_file_end(file, &header), STATUS_OK);
}

static enum status check(const uint8_t *bytes, size_t size)
{
    struct map_header read;
    const char *reason = NULL;
    enum status status = map_file_check(span_of(bytes, size), &read, &reason);

    cr_assert_eq(status == STATUS_OK, reason == NULL);
    return status;
}

Test(client_map_file, what_was_put_comes_back)
{
    struct map_header read;
    struct buffer file;
    char key[MAP_FILE_KEY_BYTES];
    struct span value;
    const char *reason;
    size_t at = 0;

    make(&file);
    cr_assert_eq(map_file_check(buffer_span(&file), &read, &reason), STATUS_OK);
    cr_assert(read.key == 1 && read.cluster.bytes[0] == 9 && read.store == 2 && read.change == 3);
    cr_assert_eq(map_file_next(buffer_span(&file), &at, key, &value), STATUS_OK);
    cr_assert_str_eq(key, "filter/1");
    cr_assert(span_equal(value, span_text("document")));
    cr_assert_eq(map_file_next(buffer_span(&file), &at, key, &value), STATUS_OK);
    cr_assert_str_eq(key, "name/x");
    cr_assert_eq(value.size, 0);
    cr_assert_eq(map_file_next(buffer_span(&file), &at, key, &value), STATUS_NOT_FOUND);
    buffer_fini(&file);
}

Test(client_map_file, every_byte_and_every_length_counts)
{
    struct buffer file;
    static const uint8_t more[1];

    make(&file);
    for (size_t i = 0; i < file.size; i++) {
        cr_assert_eq(check(file.data, i), STATUS_MALFORMED, "%zu bytes", i);
        for (int bit = 0; bit < 8; bit++) {
            file.data[i] ^= (uint8_t)(1 << bit);
            cr_assert_eq(check(file.data, file.size), STATUS_MALFORMED, "byte %zu", i);
            file.data[i] ^= (uint8_t)(1 << bit);
        }
    }
    cr_assert_eq(check(file.data, file.size), STATUS_OK);
    cr_assert_eq(buffer_append(&file, span_of(more, 1)), STATUS_OK);
    cr_assert_eq(check(file.data, file.size), STATUS_MALFORMED, "something follows");
    buffer_fini(&file);
}

Test(client_map_file, keys_and_values_have_a_limit)
{
    static uint8_t big[MAP_FILE_MAX_VALUE_BYTES + 1];
    char key[MAP_FILE_KEY_BYTES + 1];
    struct buffer file;

    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    make(&file);
    cr_assert_eq(map_file_put(&file, key, span_text("")), STATUS_TOO_LARGE);
    cr_assert_eq(map_file_put(&file, "", span_text("")), STATUS_TOO_LARGE);
    cr_assert_eq(map_file_put(&file, "k", span_of(big, sizeof big)), STATUS_TOO_LARGE);
    buffer_fini(&file);
}

static void put_hash(uint8_t *out, struct span bytes)
{
    uint64_t hash = document_epoch_hash(bytes);

    for (size_t i = 0; i < 8; i++) {
        out[i] = (uint8_t)(hash >> (8 * i));
    }
}

/* As versions before and after this one write it, header and end as they are there. */
Test(client_map_file, another_format_is_refused_in_words)
{
    static const struct {
        uint8_t format;
        const char *words;
    } formats[] = {{1, "before clusters had ids"}, {3, "later version"}};

    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct map_header read;
        struct buffer file;
        const char *reason;

        make(&file);
        file.data[8] = formats[i].format;
        put_hash(file.data + 56, span_of(file.data, 56));
        put_hash(file.data + file.size - 8, span_of(file.data, file.size - 16));
        cr_assert_eq(map_file_check(buffer_span(&file), &read, &reason), STATUS_VERSION);
        cr_assert_not_null(strstr(reason, formats[i].words), "%s", reason);
        buffer_fini(&file);
    }
}
