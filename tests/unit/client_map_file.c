/* Is a backup read back as it was written, and refused when a byte of it is not? */
#include "client/map_file.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct map_header header = {.cluster = 1, .store = 2, .change = 3};

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
    cr_assert(read.cluster == 1 && read.store == 2 && read.change == 3);
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
