/* Reads sizes out of etcd's JSON and out of lines for Prometheus. */
#include "coordinator/store/etcd/size.h"

#include "coordinator/store/etcd/message.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 40 };

#define MOST_BYTES 0x1p62 /* more is no size */

static uint64_t number_in(const json_t *answer, const char *field)
{
    uint64_t number = 0;

    return etcd_read_number(answer, field, &number) == STATUS_OK && (double)number <= MOST_BYTES
               ? number
               : 0;
}

void etcd_size_read_status(struct etcd_size *self, const json_t *answer)
{
    uint64_t bytes = number_in(answer, "dbSize");
    uint64_t quota = number_in(answer, "dbSizeQuota");

    if (bytes != 0) {
        self->bytes = bytes;
        self->in_use = number_in(answer, "dbSizeInUse");
    }
    if (quota != 0) {
        self->quota_said = true;
        self->quota = quota;
    }
}

/* "NAME NUMBER": the number, as it is written there, ends the line. */
static bool read_value(struct span line, const char *name, double *out)
{
    size_t size = strlen(name);
    char text[NUMBER_BYTES];
    char *end = NULL;
    double value;

    if (line.size <= size + 1 || line.size - size > sizeof text ||
        memcmp(line.data, name, size) != 0 || line.data[size] != ' ') {
        return false;
    }
    memcpy(text, line.data + size + 1, line.size - size - 1);
    text[line.size - size - 1] = '\0';
    value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= -MOST_BYTES && value <= MOST_BYTES)) {
        return false;
    }
    *out = value;
    return true;
}

static void read_line(struct etcd_size *self, struct span line)
{
    double value = 0;

    if (read_value(line, "etcd_mvcc_db_total_size_in_bytes", &value) && value > 0) {
        self->bytes = (uint64_t)value;
    } else if (read_value(line, "etcd_mvcc_db_total_size_in_use_in_bytes", &value) && value > 0) {
        self->in_use = (uint64_t)value;
    } else if (read_value(line, "etcd_server_quota_backend_bytes", &value) && value != 0) {
        self->quota_said = true;
        self->quota = value > 0 ? (uint64_t)value : 0; /* Negative: etcd was told to have none. */
    }
}

void etcd_size_read_metrics(struct etcd_size *self, struct span text)
{
    const uint8_t *at = text.data;
    size_t left = text.size;

    while (left > 0) {
        const uint8_t *end = memchr(at, '\n', left);
        size_t size = end != NULL ? (size_t)(end - at) : left;

        read_line(self, span_of(at, size));
        size += end != NULL;
        at += size;
        left -= size;
    }
}

struct store_room etcd_size_room(const struct etcd_size *self)
{
    if (self->bytes == 0) {
        return (struct store_room){0};
    }
    return (struct store_room){
        .bytes = self->bytes,
        .in_use = self->in_use < self->bytes ? self->in_use : self->bytes,
        .quota = self->quota_said ? self->quota : ETCD_DEFAULT_QUOTA,
    };
}

double etcd_room_share(const struct store_room *self)
{
    return self->quota != 0 ? (double)self->bytes / (double)self->quota : 0;
}
