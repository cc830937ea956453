/* What each row of proto/'s tables allows passes, and what is beyond is refused. */
#include "map/feature.h"
#include "proto_tables.h"

#include <limits.h>
#include <math.h>

struct trial {
    struct binding_table table; /* of that row, and the one that counts for it */
    struct binding rows[2];
    const struct binding *row;
    const char *name;
    ProtobufCMessage *wire;
    void *ours;
};

static enum status get_trial(const struct trial *self)
{
    void *back = calloc(1, self->table.our_bytes + 1);
    enum status status = binding_get(&self->table, arena, self->wire, back);

    release(&self->table, back);
    free(back);
    return status;
}

#define EXPECT(self, status)                                                           \
    cr_assert_eq(get_trial(self), status, "%s.%s: %d", (self)->table.descriptor->name, \
                 (self)->name, (int)get_trial(self))

static void try_enum(const struct trial *self)
{
    int *value = rows_at(self->wire, self->row->wire);

    if (self->row->first == INT_MIN) {
        return; /* The table's check judges it. */
    }
    for (int64_t i = (int64_t)self->row->first - 1; i <= (int64_t)self->row->last + 1; i++) {
        *value = (int)i;
        EXPECT(self, i < self->row->first || i > self->row->last ? STATUS_MALFORMED : STATUS_OK);
    }
    *value = INT_MAX;
    EXPECT(self, STATUS_MALFORMED);
    *value = INT_MIN;
    EXPECT(self, STATUS_MALFORMED);
}

static void try_double(const struct trial *self)
{
    bool fraction = self->row->kind == BINDING_FRACTION;
    const double worst[] = {(double)NAN, (double)INFINITY, (double)-INFINITY};
    double *value = rows_at(self->wire, self->row->wire);

    for (size_t i = 0; i < sizeof worst / sizeof worst[0]; i++) {
        *value = worst[i];
        EXPECT(self, STATUS_MALFORMED);
    }
    *value = 0;
    EXPECT(self, STATUS_OK);
    *value = 1;
    EXPECT(self, STATUS_OK);
    *value = 1.0000001;
    EXPECT(self, fraction ? STATUS_MALFORMED : STATUS_OK);
    *value = -0.0000001;
    EXPECT(self, fraction ? STATUS_MALFORMED : STATUS_OK);
}

static void try_text(const struct trial *self)
{
    static uint8_t text[CODEC_MAX_TEXT_BYTES + 1];
    bool chars = self->row->kind == BINDING_CHARS;
    size_t most = chars ? self->row->bytes - 1 : CODEC_MAX_TEXT_BYTES;
    ProtobufCBinaryData *value = rows_at(self->wire, self->row->wire);

    cr_assert_lt(most, sizeof text);
    memset(text, 'n', sizeof text);
    *value = (ProtobufCBinaryData){.len = most, .data = text};
    EXPECT(self, STATUS_OK);
    value->len++;
    EXPECT(self, chars ? STATUS_MALFORMED : STATUS_TOO_LARGE);
    value->len = 3;
    text[1] = 0; /* must not read as shorter */
    EXPECT(self, STATUS_MALFORMED);
    text[1] = 0xff;
    EXPECT(self, STATUS_MALFORMED);
}

static void try_document(const struct trial *self)
{
    static uint8_t bytes[DOCUMENT_MAX_BYTES + 1];
    struct span large = span_of(bytes, sizeof bytes);
    ProtobufCBinaryData *value = rows_at(self->wire, self->row->wire);
    ProtobufCMessage *wire = NULL;

    *value = (ProtobufCBinaryData){.len = DOCUMENT_MAX_BYTES, .data = bytes};
    EXPECT(self, STATUS_OK);
    value->len++;
    EXPECT(self, STATUS_TOO_LARGE);
    memcpy(rows_at(self->ours, self->row->ours), &large, sizeof large);
    cr_assert_eq(binding_put_new(&self->table, &scratch, self->ours, &wire), STATUS_TOO_LARGE);
}

/* A MAC of another size can't be right, and must not be a part of one that is. */
static void try_bytes(const struct trial *self)
{
    static const uint8_t zeros[65];
    static uint8_t bytes[66];
    ProtobufCBinaryData *value = rows_at(self->wire, self->row->wire);
    uint8_t *back = malloc(self->table.our_bytes);

    memset(bytes, 0xab, sizeof bytes);
    cr_assert_lt(self->row->bytes, sizeof zeros);
    for (size_t size = self->row->bytes - 1; size <= self->row->bytes + 1; size++) {
        *value = (ProtobufCBinaryData){.len = size, .data = bytes};
        cr_assert_eq(binding_get(&self->table, arena, self->wire, back), STATUS_OK);
        cr_assert_arr_eq(back + self->row->ours, size == self->row->bytes ? bytes : zeros,
                         self->row->bytes, "%s", self->name);
    }
    free(back);
}

static void try_plane(const struct trial *self)
{
    static uint8_t bits[] = {0xff, 0x01, 0};
    ProtobufCBinaryData *value = rows_at(self->wire, self->row->wire);

    *(uint32_t *)rows_at(self->wire, self->rows[0].wire) = 9;
    for (size_t size = 0; size <= sizeof bits; size++) {
        *value = (ProtobufCBinaryData){.len = size, .data = bits};
        EXPECT(self, size == 0 || size == 2 ? STATUS_OK : STATUS_MALFORMED);
    }
    value->len = 2;
    bits[1] = 0x03; /* a spare bit */
    EXPECT(self, STATUS_MALFORMED);
    bits[1] = 0x01;
    *(uint32_t *)rows_at(self->wire, self->rows[0].wire) = 0; /* a plane of none */
    EXPECT(self, STATUS_MALFORMED);
}

static void try_count(const struct trial *self)
{
    uint32_t *value = rows_at(self->wire, self->row->wire);
    ProtobufCMessage *wire = NULL;

    *value = (uint32_t)self->row->most;
    EXPECT(self, STATUS_OK);
    ++*value;
    EXPECT(self, STATUS_TOO_LARGE);
    rows_set_count(self->row, self->row->most + 1, self->ours);
    cr_assert_eq(binding_put_new(&self->table, &scratch, self->ours, &wire), STATUS_TOO_LARGE);
}

/* One that is there already, again and again. */
static void try_list(const struct trial *self)
{
    bool documents_only = self->row->kind == BINDING_DOCUMENTS;
    bool numbers = self->row->kind == BINDING_NUMBERS || self->row->kind == BINDING_ROOM;
    size_t most = self->row->most;
    void *list;
    ProtobufCMessage *wire = NULL;

    if (most == UNBOUNDED) {
        return;
    }
    list = calloc(most + 1, sizeof(ProtobufCBinaryData));
    if (!documents_only && !numbers) {
        void *item = **(void ***)rows_at(self->wire, self->row->wire);

        for (size_t i = 0; i <= most; i++) {
            ((void **)list)[i] = item;
        }
    }
    *(void **)rows_at(self->wire, self->row->wire) = list;
    *(size_t *)rows_at(self->wire, self->row->wire_count) = most;
    EXPECT(self, STATUS_OK);
    *(size_t *)rows_at(self->wire, self->row->wire_count) = most + 1;
    EXPECT(self, self->row->fault);
    if (self->row->fault == STATUS_TOO_LARGE) {
        rows_set_count(self->row, most + 1, self->ours);
        cr_assert_eq(binding_put_new(&self->table, &scratch, self->ours, &wire), STATUS_TOO_LARGE);
    }
    if (documents_only) {
        ((ProtobufCBinaryData *)list)->len = DOCUMENT_MAX_BYTES + 1;
        *(size_t *)rows_at(self->wire, self->row->wire_count) = 1;
        EXPECT(self, STATUS_TOO_LARGE);
    }
    free(list);
}

/* One that it does not know reads as a defect, never as done. */
static void try_status(const struct trial *self)
{
    const int unknown[] = {-1, INT_MAX, INT_MIN, 64};
    uint8_t *back = malloc(self->table.our_bytes);

    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        *(int *)rows_at(self->wire, self->row->wire) = unknown[i];
        cr_assert_eq(binding_get(&self->table, arena, self->wire, back), STATUS_OK);
        cr_assert_eq(*(enum status *)rows_at(back, self->row->ours), STATUS_INTERNAL, "%s",
                     self->name);
    }
    free(back);
}

static void try_needs(const struct trial *self)
{
    uint64_t *value = rows_at(self->wire, self->row->wire);

    *value = features_known();
    EXPECT(self, STATUS_OK);
    *value = features_known() + 1;
    EXPECT(self, STATUS_VERSION);
    *value = UINT64_MAX;
    EXPECT(self, STATUS_VERSION);
}

/* A part that must be there where its message has it. */
static void try_part(struct trial *self)
{
    ProtobufCMessage *none = NULL;
    bool needed = self->row->needed;

    self->rows[0].reads = NULL;
    memcpy(rows_at(self->wire, self->row->wire), &none, sizeof none);
    EXPECT(self, needed ? STATUS_MALFORMED : STATUS_OK);
}

static void try_row(struct trial *self)
{
    switch (self->row->kind) {
    case BINDING_ENUM:
        try_enum(self);
        break;
    case BINDING_DOUBLE:
    case BINDING_FRACTION:
        try_double(self);
        break;
    case BINDING_TEXT:
    case BINDING_MESSAGE:
    case BINDING_CHARS:
        try_text(self);
        break;
    case BINDING_DOCUMENT:
        try_document(self);
        break;
    case BINDING_BYTES:
    case BINDING_CLUSTER:
        try_bytes(self);
        break;
    case BINDING_PLANE:
        try_plane(self);
        break;
    case BINDING_COUNT:
        try_count(self);
        break;
    case BINDING_DOCUMENTS:
    case BINDING_NUMBERS:
    case BINDING_ROOM:
    case BINDING_LIST:
    case BINDING_ARRAY:
    case BINDING_OWNED:
        try_list(self);
        break;
    case BINDING_STATUS:
        try_status(self);
        break;
    case BINDING_NEEDS:
        try_needs(self);
        break;
    case BINDING_PART:
        try_part(self);
        break;
    case BINDING_UINT64:
    case BINDING_UINT32:
    case BINDING_BOOL:
    case BINDING_UNJUDGED:
    case BINDING_SPAN:
    case BINDING_BY_HAND:
        break; /* of any value */
    }
}

/* A plane is as long as another row says. */
static size_t row_that_counts(const struct binding_table *table, size_t i)
{
    size_t at = i;

    while (table->rows[i].kind == BINDING_PLANE && table->rows[at].kind != BINDING_COUNT) {
        at--;
    }
    return at;
}

static void try_rows(const struct binding_table *whole)
{
    for (size_t i = 0; i < whole->count; i++) {
        struct trial trial = {.table = *whole, .name = rows_field(whole, &whole->rows[i])->name};
        size_t count = row_that_counts(whole, i);

        if (whole->rows[i].kind == BINDING_BY_HAND) {
            continue;
        }
        trial.rows[0] = whole->rows[count];
        trial.rows[1] = whole->rows[i];
        trial.table.rows = trial.rows;
        trial.table.count = count == i ? 1 : 2;
        trial.table.check = NULL;
        trial.row = &trial.rows[trial.table.count - 1];
        trial.ours = sample_of(whole, SAMPLE_FULL);
        cr_assert_eq(binding_put_new(&trial.table, &scratch, trial.ours, &trial.wire), STATUS_OK);
        arena_reset(arena);
        try_row(&trial);
    }
}

Test(row_bounds, what_is_beyond_a_rows_bounds_is_refused, .init = open_stage, .fini = close_stage)
{
    visit_all(try_rows);
}
