/* Records with a checksum each, and one over all of the file at its end: the whole is checked
 * before any record is sent. */
#include "cli/map_file.h"

#include "map/document.h"

#include <string.h>

enum { FORMAT = 2, HEADER_BYTES = 64, HEADER_HASHED = 56, RECORD_BYTES = 16 };

static const char magic[8] = {'o', 'r', 'b', 'l', 'm', 'a', 'p', '\n'};

static void put_number(uint8_t *out, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
}

static uint64_t get_number(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

static uint64_t hash_of(const uint8_t *bytes, size_t size)
{
    return document_epoch_hash(span_of(bytes, size));
}

/* ---- writing ---- */

enum status map_file_begin(struct buffer *file)
{
    static const uint8_t blank[HEADER_BYTES];

    return buffer_append(file, span_of(blank, sizeof blank));
}

enum status map_file_put(struct buffer *file, const char *key, struct span value)
{
    size_t key_size = strlen(key);
    size_t at = file->size;
    uint8_t head[RECORD_BYTES];
    enum status status;

    if (key_size == 0 || key_size >= MAP_FILE_KEY_BYTES || value.size > MAP_FILE_MAX_VALUE_BYTES) {
        return STATUS_TOO_LARGE;
    }
    put_number(head, key_size, 4);
    put_number(head + 4, value.size, 4);
    put_number(head + 8, 0, 8);
    status = buffer_append(file, span_of(head, sizeof head));
    status = status == STATUS_OK ? buffer_append(file, span_of(key, key_size)) : status;
    status = status == STATUS_OK ? buffer_append(file, value) : status;
    if (status == STATUS_OK) {
        put_number(file->data + at + 8,
                   hash_of(file->data + at + RECORD_BYTES, key_size + value.size), 8);
    }
    return status;
}

enum status map_file_end(struct buffer *file, const struct map_header *header)
{
    uint8_t end[RECORD_BYTES] = {0};
    uint8_t *head = file->data;

    memcpy(head, magic, sizeof magic);
    put_number(head + 8, FORMAT, 4);
    put_number(head + 16, header->key, 8);
    put_number(head + 24, header->store, 8);
    put_number(head + 32, header->change, 8);
    memcpy(head + 40, header->cluster.bytes, CLUSTER_ID_BYTES);
    put_number(head + HEADER_HASHED, hash_of(head, HEADER_HASHED), 8);
    put_number(end + 8, hash_of(file->data, file->size), 8);
    return buffer_append(file, span_of(end, sizeof end));
}

/* ---- reading ---- */

enum status map_file_header(struct span file, struct map_header *header, const char **reason)
{
    const uint8_t *head = file.data;
    enum status status = STATUS_MALFORMED;

    *reason = NULL;
    if (file.size < sizeof magic || memcmp(head, magic, sizeof magic) != 0) {
        *reason = file.size == 0 ? "it is empty" : "it is no backup made by `orbloom map backup`";
    } else if (file.size < HEADER_BYTES) {
        *reason = "it ends in its header";
    } else if (get_number(head + HEADER_HASHED, 8) != hash_of(head, HEADER_HASHED)) {
        *reason = "its header is damaged";
    } else if (get_number(head + 8, 4) != FORMAT) {
        *reason = get_number(head + 8, 4) < FORMAT
                      ? "it was made by an earlier version of orbloom, before clusters had ids"
                      : "it was made by a later version of orbloom";
        status = STATUS_VERSION;
    }
    if (*reason != NULL) {
        return status;
    }
    *header = (struct map_header){
        .key = get_number(head + 16, 8),
        .store = get_number(head + 24, 8),
        .change = get_number(head + 32, 8),
    };
    memcpy(header->cluster.bytes, head + 40, CLUSTER_ID_BYTES);
    return STATUS_OK;
}

/* The sizes of the record at `at`; false: it does not fit in. */
static bool measure(struct span file, size_t at, size_t *key_size, size_t *value_size)
{
    if (file.size - at < RECORD_BYTES) {
        return false;
    }
    *key_size = get_number(file.data + at, 4);
    *value_size = get_number(file.data + at + 4, 4);
    return *key_size < MAP_FILE_KEY_BYTES && *value_size <= MAP_FILE_MAX_VALUE_BYTES &&
           file.size - at - RECORD_BYTES >= *key_size + *value_size;
}

static const char *check_end(struct span file, size_t at)
{
    if (file.size - at != RECORD_BYTES) {
        return "something follows its end";
    }
    return get_number(file.data + at + 8, 8) == hash_of(file.data, at) ? NULL : "it is damaged";
}

enum status map_file_check(struct span file, struct map_header *header, const char **reason)
{
    size_t at = HEADER_BYTES;
    size_t key_size = 1;
    size_t value_size = 0;
    enum status status = map_file_header(file, header, reason);

    if (status != STATUS_OK) {
        return status;
    }
    while (*reason == NULL && key_size > 0) {
        if (!measure(file, at, &key_size, &value_size)) {
            *reason = "it is cut short, or damaged";
        } else if (key_size == 0) {
            *reason = check_end(file, at);
        } else if (memchr(file.data + at + RECORD_BYTES, '\0', key_size) != NULL ||
                   get_number(file.data + at + 8, 8) !=
                       hash_of(file.data + at + RECORD_BYTES, key_size + value_size)) {
            *reason = "a record in it is damaged";
        }
        at += RECORD_BYTES + key_size + value_size;
    }
    return *reason == NULL ? STATUS_OK : STATUS_MALFORMED;
}

enum status map_file_next(struct span file, size_t *at, char key[MAP_FILE_KEY_BYTES],
                          struct span *value)
{
    size_t from = *at == 0 ? HEADER_BYTES : *at;
    size_t key_size;
    size_t value_size;

    if (!measure(file, from, &key_size, &value_size)) {
        return STATUS_MALFORMED;
    }
    if (key_size == 0) {
        return STATUS_NOT_FOUND;
    }
    memcpy(key, file.data + from + RECORD_BYTES, key_size);
    key[key_size] = '\0';
    *value = span_of(file.data + from + RECORD_BYTES + key_size, value_size);
    *at = from + RECORD_BYTES + key_size + value_size;
    return STATUS_OK;
}
