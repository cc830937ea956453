/* frames SEED COUNT: COUNT inputs made from SEED, each a frame or document bent in some way,
 * through codec_decode() and the opening of documents.
 *
 * Mutations know the structure: fields are dropped, repeated, swapped, given other values, at
 * any depth, and lengths are put right again, so that what is tried gets past the outermost
 * checks. Documents are signed anew for the same reason. Most is found under AddressSanitizer.
 *
 * An input is a byte that says what the rest is (enum input), then that.
 *
 * An input passes when decoding ends with a status that is documented, what was accepted survives
 * being encoded and decoded again, and the gate (proto/gate.h) has taken it for what it is. Prints
 * "N passed, N failed".
 */
#include "proto/codec.h"
#include "proto/gate.h"
#include "proto/signed_document.h"
#include "tests/support/fuzz_fields.h"
#include "tests/support/fuzz_loop.h"
#include "tests/unit/proto_document_samples.h"
#include "tests/unit/proto_samples.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_DEPTH = 4 };
/* The first byte, modulo INPUT_KINDS. Contents are signed when they are tried. */
enum input {
    INPUT_FRAME,
    INPUT_FILTER_CONTENT,
    INPUT_NODES_CONTENT,
    INPUT_FILTER_DOCUMENT,
    INPUT_NODE_LIST,
    INPUT_DROPPED_CONTENT,
    INPUT_DROPPED,
    INPUT_CLUSTER_CONTENT,
    INPUT_CLUSTER,
    INPUT_FEATURES_CONTENT,
    INPUT_FEATURES,
    INPUT_USERS_CONTENT,
    INPUT_USERS,
    INPUT_KINDS
};

/* The inputs that are a document of a kind: its content, and the whole. */
static const struct document_inputs {
    enum document_kind kind;
    enum seal_domain domain;
    enum input content;
    enum input whole;
} documents[] = {
    {DOCUMENT_FILTER, SEAL_FILTER_DOCUMENT, INPUT_FILTER_CONTENT, INPUT_FILTER_DOCUMENT},
    {DOCUMENT_NODE_LIST, SEAL_NODE_LIST, INPUT_NODES_CONTENT, INPUT_NODE_LIST},
    {DOCUMENT_DROPPED, SEAL_DROPPED, INPUT_DROPPED_CONTENT, INPUT_DROPPED},
    {DOCUMENT_CLUSTER, SEAL_CLUSTER, INPUT_CLUSTER_CONTENT, INPUT_CLUSTER},
    {DOCUMENT_FEATURES, SEAL_FEATURES, INPUT_FEATURES_CONTENT, INPUT_FEATURES},
    {DOCUMENT_USERS, SEAL_USERS, INPUT_USERS_CONTENT, INPUT_USERS},
};

struct fuzz {
    uint64_t random;
    struct codec_arena *arena;
    struct cluster_key key;
    struct buffer first;
    struct buffer second;
    struct frame frame;
};

static uint64_t draw(struct fuzz *self, uint64_t below)
{
    return sample_random(&self->random) % below;
}

/* ---- what must hold ---- */

static bool expected(enum status status)
{
    return status == STATUS_OK || status == STATUS_MALFORMED || status == STATUS_TOO_LARGE ||
           status == STATUS_VERSION || status == STATUS_UNAUTHENTIC;
}

/* What the router relies on without looking again. */
static bool keys_add_up(const struct frame *frame)
{
    const struct client_request *request = &frame->body.client_request;
    uint64_t sum = 0;

    if (frame->kind != FRAME_CLIENT_REQUEST) {
        return true;
    }
    for (size_t i = 0; i < request->count; i++) {
        sum += request->lengths[i];
    }
    return sum == request->keys.size;
}

/* What the gate lets by as one kind must be decoded as no other one: whoever may not send the kind
 * that it turns out to be must not have got past. */
static bool gate_saw(struct span bytes, enum frame_kind kind)
{
    bool pass = true;

    for (int door = 0; door < GATE_NDOORS; door++) {
        for (int role = PEER_CLIENT; role < PEER_NROLES; role++) {
            pass &= !gate_admits((enum gate_door)door, (enum peer_role)role, bytes) ||
                    gate_admits_kind((enum gate_door)door, (enum peer_role)role, kind);
        }
    }
    return pass;
}

static bool try_frame(struct fuzz *self, struct span bytes)
{
    uint8_t *copy = fuzz_copy(bytes);
    enum status status = codec_decode(self->arena, span_of(copy, bytes.size), &self->frame);
    bool pass = expected(status) && (self->frame.kind == FRAME_NONE) == (status != STATUS_OK);

    if (pass && status == STATUS_OK) {
        buffer_clear(&self->first);
        buffer_clear(&self->second);
        pass = gate_saw(bytes, self->frame.kind) && keys_add_up(&self->frame) &&
               codec_encode(&self->frame, &self->first) == STATUS_OK &&
               codec_decode(self->arena, buffer_span(&self->first), &self->frame) == STATUS_OK &&
               codec_encode(&self->frame, &self->second) == STATUS_OK &&
               span_equal(buffer_span(&self->first), buffer_span(&self->second));
    }
    free(copy); /* Not before: a decoded frame borrows from it. */
    return pass;
}

/* ---- inputs ---- */

/* One of the actions that have parameters of their own. */
static void draw_action(struct fuzz *self, struct admin_request *request)
{
    static const uint8_t secret[SEAL_SECRET_BYTES];
    static const struct vouched_life off[] = {{{1, 7}, true}, {{2, 8}, false}};

    switch (draw(self, 8)) {
    case 0:
        request->action = ADMIN_REBUILD;
        request->rebuild = (struct rebuild_parameters){.step = REBUILD_FED, .fed_keys = 5};
        break;
    case 1:
        request->action = ADMIN_LOAD;
        request->load = (struct load_parameters){.step = LOAD_ASK, .source = 1, .from = 2, .to = 3};
        break;
    case 2: /* create is that of the sample */
        request->action = ADMIN_LOAD;
        request->load = (struct load_parameters){
            .step = LOAD_BEGIN, .source = 1, .secret = span_of(secret, sizeof secret)};
        break;
    case 3:
        request->action = ADMIN_ACCEPT_LOSS;
        request->loss = (struct loss_parameters){.shard = 4};
        request->confirmed_off = off;
        request->nconfirmed_off = sizeof off / sizeof off[0];
        break;
    default:
        break;
    }
}

/* A valid frame, small enough to be bent often: long keys and documents are left out. */
static void make_frame(struct fuzz *self, struct field_bytes *out)
{
    enum frame_kind kind = (enum frame_kind)(draw(self, SAMPLE_NKINDS - 1) + 1);
    struct frame *frame = &self->frame;

    sample_frame(kind, draw(self, 5) == 0 ? SAMPLE_EMPTY : SAMPLE_FULL, frame);
    if (kind == FRAME_PULL_REQUEST && draw(self, 2) == 0) {
        sample_view_request(draw(self, 2) == 0 ? PULL_DIGESTS : PULL_RANGES,
                            &frame->body.pull_request);
    }
    if (kind == FRAME_PULL_REPLY && draw(self, 2) == 0) {
        sample_view_reply(draw(self, 2) == 0 ? PULL_DIGESTS : PULL_RANGES, &frame->body.pull_reply);
    }
    if (kind == FRAME_ADMIN_REQUEST && frame->body.admin_request.action == ADMIN_CREATE) {
        draw_action(self, &frame->body.admin_request);
    }
    if (kind == FRAME_CLIENT_REQUEST && frame->body.client_request.count > 0) {
        frame->body.client_request.count = 1;
        frame->body.client_request.keys.size = frame->body.client_request.lengths[0];
    }
    if (kind == FRAME_DOCUMENTS && frame->body.documents.count > 0) {
        frame->body.documents.count = 1;
    }
    if (kind == FRAME_SYNC_REPLY && frame->body.sync_reply.ndocuments > 0) {
        frame->body.sync_reply.ndocuments = 1;
    }
    buffer_clear(&self->first);
    if (codec_encode(frame, &self->first) != STATUS_OK) {
        abort();
    }
    out->size = 0;
    fuzz_fields_add(out, self->first.data, self->first.size);
}

static void put_input(struct buffer *input, enum input kind, struct span bytes)
{
    uint8_t first = (uint8_t)kind;

    fuzz_put(input, &first, 1);
    fuzz_put(input, bytes.data, bytes.size);
}

static void make_bent_frame(struct fuzz *self, struct buffer *input)
{
    static struct field_bytes from;
    static struct field_bytes to;

    make_frame(self, &to);
    for (uint64_t n = draw(self, 4); n > 0; n--) {
        from = to;
        to.size = 0;
        fuzz_fields_bend(&self->random, span_of(from.data, from.size), MOST_DEPTH, &to);
    }
    if (draw(self, 4) == 0) {
        fuzz_fields_bend_bytes(&self->random, &to);
    }
    put_input(input, INPUT_FRAME, span_of(to.data, to.size));
}

static void make_garbage(struct fuzz *self, struct buffer *input)
{
    static const enum input kinds[] = {INPUT_FRAME, INPUT_FILTER_DOCUMENT, INPUT_NODE_LIST,
                                       INPUT_DROPPED};
    enum input kind = kinds[draw(self, sizeof kinds / sizeof kinds[0])];
    uint8_t bytes[400];
    size_t size = draw(self, sizeof bytes);

    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)sample_random(&self->random);
    }
    put_input(input, kind, span_of(bytes, size));
}

/* Single ids, long stretches, and the last ids that there are. */
static struct dropped_record sample_dropped(void)
{
    static const struct id_interval some[] = {
        {1, 1}, {3, 400}, {402, 402}, {UINT64_C(1) << 40, UINT64_C(1) << 50}};
    struct dropped_record record = {.revision = 7};

    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        if (id_set_add_interval(&record.ids, some[i]) != STATUS_OK) {
            abort();
        }
    }
    return record;
}

static enum status sign_sample(struct fuzz *self, enum document_kind kind)
{
    struct filter_document document = sample_document();
    struct node_list list = sample_nodes(4);
    struct dropped_record record = sample_dropped();
    struct cluster_id cluster = cluster_id_make(3, 5);
    const struct cluster_features features = {.revision = 3, .in_use = 5};
    struct user_list users = sample_users();
    enum status status = STATUS_INVALID;

    switch (kind) {
    case DOCUMENT_FILTER:
        status = codec_filter_document_sign(&document, &self->key, &self->first);
        break;
    case DOCUMENT_NODE_LIST:
        status = codec_node_list_sign(&list, &self->key, &self->first);
        break;
    case DOCUMENT_DROPPED:
        status = codec_dropped_sign(&record, &self->key, &self->first);
        break;
    case DOCUMENT_CLUSTER:
        status = codec_cluster_sign(&cluster, &self->key, &self->first);
        break;
    case DOCUMENT_FEATURES:
        status = codec_features_sign(&features, &self->key, &self->first);
        break;
    case DOCUMENT_USERS:
        status = codec_users_sign(&users, &self->key, &self->first);
        break;
    }
    document_fini(&document);
    node_list_fini(&list);
    dropped_record_fini(&record);
    user_list_fini(&users);
    return status;
}

static void make_document(struct fuzz *self, enum document_kind kind)
{
    enum status status;

    buffer_clear(&self->first);
    status = sign_sample(self, kind);
    if (status != STATUS_OK) {
        abort();
    }
}

/* The content of a signed document: its second field. */
static struct span content_of(struct span bytes)
{
    struct codec_wire_field field = {0};

    if (codec_wire_next(&bytes, &field) != STATUS_OK ||
        codec_wire_next(&bytes, &field) != STATUS_OK) {
        abort();
    }
    return field.bytes;
}

static void make_bent_document(struct fuzz *self, struct buffer *input)
{
    const struct document_inputs *inputs =
        &documents[draw(self, sizeof documents / sizeof documents[0])];
    bool resigned = draw(self, 4) > 0;
    static struct field_bytes bytes;

    make_document(self, inputs->kind);
    bytes.size = 0;
    if (resigned) {
        fuzz_fields_bend(&self->random, content_of(buffer_span(&self->first)), MOST_DEPTH, &bytes);
        put_input(input, inputs->content, span_of(bytes.data, bytes.size));
    } else {
        fuzz_fields_add(&bytes, self->first.data, self->first.size);
        fuzz_fields_bend_bytes(&self->random, &bytes);
        put_input(input, inputs->whole, span_of(bytes.data, bytes.size));
    }
}

static void make(void *context, uint64_t seed, struct buffer *input)
{
    struct fuzz *self = context;

    self->random = seed;
    switch (draw(self, 8)) {
    case 0:
        make_garbage(self, input);
        break;
    case 1:
    case 2:
        make_bent_document(self, input);
        break;
    default:
        make_bent_frame(self, input);
        break;
    }
}

/* A field of a message, below the byte that says what it is. */
static size_t bend_input(void *context, uint64_t seed, uint8_t *input, size_t size, size_t most)
{
    static struct field_bytes bent;

    (void)context;
    bent.size = 0;
    if (size > 1) {
        fuzz_fields_bend(&seed, span_of(input + 1, size - 1), MOST_DEPTH, &bent);
    }
    if (size <= 1 || bent.size >= most) {
        return size;
    }
    memcpy(input + 1, bent.data, bent.size);
    return bent.size + 1;
}

/* ---- trying them ---- */

/* Wrap bent content as its signer would. */
static void sign(struct fuzz *self, enum document_kind kind, struct span content,
                 struct field_bytes *out)
{
    uint8_t mac[SEAL_MAC_BYTES];
    const struct codec_wire_field fields[] = {
        {.number = 1, .type = WIRE_VARINT, .value = kind},
        {.number = 2, .type = WIRE_BYTES, .bytes = content},
        {.number = 3, .type = WIRE_BYTES, .bytes = span_of(mac, sizeof mac)},
    };

    seal_mac(&self->key, documents[kind - DOCUMENT_FILTER].domain, fields[1].bytes, mac);
    out->size = 0;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        fuzz_fields_put(out, &fields[i]);
    }
}

/* Is what was signed anew what make_document() gives? */
static bool is_sample(struct fuzz *self, enum document_kind kind)
{
    make_document(self, kind);
    return span_equal(buffer_span(&self->first), buffer_span(&self->second));
}

/* What of a document comes back from being signed and opened again; else, of one that was not
 * signed here, it has to be the sample: nobody else can sign. */
static bool try_document(struct fuzz *self, struct span bytes, bool is_signed)
{
    uint8_t *copy = fuzz_copy(bytes);
    struct filter_document document;
    enum status status = codec_filter_document_open(span_of(copy, bytes.size), &self->key,
                                                    &document);
    bool pass = expected(status);

    free(copy);
    if (pass && status == STATUS_OK) {
        buffer_clear(&self->second);
        pass = codec_filter_document_sign(&document, &self->key, &self->second) == STATUS_OK &&
               (is_signed || is_sample(self, DOCUMENT_FILTER));
        document_fini(&document);
        status = codec_filter_document_open(buffer_span(&self->second), &self->key, &document);
        pass = pass && status == STATUS_OK;
    }
    document_fini(&document);
    return pass;
}

static bool try_node_list(struct fuzz *self, struct span bytes, bool is_signed)
{
    uint8_t *copy = fuzz_copy(bytes);
    struct node_list list;
    enum status status = codec_node_list_open(span_of(copy, bytes.size), &self->key, &list);
    bool pass = expected(status);

    free(copy);
    if (pass && status == STATUS_OK) {
        buffer_clear(&self->second);
        pass = codec_node_list_sign(&list, &self->key, &self->second) == STATUS_OK &&
               (is_signed || is_sample(self, DOCUMENT_NODE_LIST));
    }
    node_list_fini(&list);
    return pass;
}

static bool try_dropped(struct fuzz *self, struct span bytes, bool is_signed)
{
    uint8_t *copy = fuzz_copy(bytes);
    struct dropped_record record = {0};
    const char *reason = NULL;
    enum status status = codec_dropped_open(span_of(copy, bytes.size), &self->key, &record);
    bool pass = expected(status);

    free(copy);
    if (pass && status == STATUS_OK) {
        buffer_clear(&self->second);
        pass = dropped_record_validate(&record, &reason) == STATUS_OK &&
               codec_dropped_sign(&record, &self->key, &self->second) == STATUS_OK &&
               (is_signed || is_sample(self, DOCUMENT_DROPPED));
    }
    dropped_record_fini(&record);
    return pass;
}

static bool try_cluster(struct fuzz *self, struct span bytes, bool is_signed)
{
    struct cluster_id id;
    uint8_t *copy = fuzz_copy(bytes);
    enum status status = codec_cluster_open(span_of(copy, bytes.size), &self->key, &id);
    bool pass = expected(status);

    free(copy);
    if (pass && status == STATUS_OK) {
        buffer_clear(&self->second);
        pass = codec_cluster_sign(&id, &self->key, &self->second) == STATUS_OK &&
               (is_signed || is_sample(self, DOCUMENT_CLUSTER));
    }
    return pass;
}

static bool try_features(struct fuzz *self, struct span bytes, bool is_signed)
{
    struct cluster_features record;
    uint8_t *copy = fuzz_copy(bytes);
    enum status status = codec_features_open(span_of(copy, bytes.size), &self->key, &record);
    bool pass = expected(status);

    free(copy);
    if (pass && status == STATUS_OK) {
        buffer_clear(&self->second);
        pass = record.revision != 0 &&
               codec_features_sign(&record, &self->key, &self->second) == STATUS_OK &&
               (is_signed || is_sample(self, DOCUMENT_FEATURES));
    }
    return pass;
}

static bool try_users(struct fuzz *self, struct span bytes, bool is_signed)
{
    uint8_t *copy = fuzz_copy(bytes);
    struct user_list users = {0};
    const char *reason = NULL;
    enum status status = codec_users_open(span_of(copy, bytes.size), &self->key, &users);
    bool pass = expected(status);

    free(copy);
    if (pass && status == STATUS_OK) {
        buffer_clear(&self->second);
        pass = user_list_validate(&users, &reason) == STATUS_OK &&
               codec_users_sign(&users, &self->key, &self->second) == STATUS_OK &&
               (is_signed || is_sample(self, DOCUMENT_USERS));
    }
    user_list_fini(&users);
    return pass;
}

static bool try_content(struct fuzz *self, enum document_kind kind, struct span content)
{
    static struct field_bytes bytes;

    sign(self, kind, content, &bytes);
    switch (kind) {
    case DOCUMENT_FILTER:
        return try_document(self, span_of(bytes.data, bytes.size), true);
    case DOCUMENT_NODE_LIST:
        return try_node_list(self, span_of(bytes.data, bytes.size), true);
    case DOCUMENT_DROPPED:
        return try_dropped(self, span_of(bytes.data, bytes.size), true);
    case DOCUMENT_CLUSTER:
        return try_cluster(self, span_of(bytes.data, bytes.size), true);
    case DOCUMENT_USERS:
        return try_users(self, span_of(bytes.data, bytes.size), true);
    case DOCUMENT_FEATURES:
        break;
    }
    return try_features(self, span_of(bytes.data, bytes.size), true);
}

static bool try_input(void *context, struct span input)
{
    struct fuzz *self = context;
    uint8_t kind;

    fuzz_take(&input, &kind, 1);
    switch ((enum input)(kind % INPUT_KINDS)) {
    case INPUT_FILTER_CONTENT:
        return try_content(self, DOCUMENT_FILTER, input);
    case INPUT_NODES_CONTENT:
        return try_content(self, DOCUMENT_NODE_LIST, input);
    case INPUT_FILTER_DOCUMENT:
        return try_document(self, input, false);
    case INPUT_NODE_LIST:
        return try_node_list(self, input, false);
    case INPUT_DROPPED_CONTENT:
        return try_content(self, DOCUMENT_DROPPED, input);
    case INPUT_DROPPED:
        return try_dropped(self, input, false);
    case INPUT_CLUSTER_CONTENT:
        return try_content(self, DOCUMENT_CLUSTER, input);
    case INPUT_CLUSTER:
        return try_cluster(self, input, false);
    case INPUT_FEATURES_CONTENT:
        return try_content(self, DOCUMENT_FEATURES, input);
    case INPUT_FEATURES:
        return try_features(self, input, false);
    case INPUT_USERS_CONTENT:
        return try_content(self, DOCUMENT_USERS, input);
    case INPUT_USERS:
        return try_users(self, input, false);
    case INPUT_FRAME:
    case INPUT_KINDS:
        break;
    }
    return try_frame(self, input);
}

int main(int argc, char **argv)
{
    static struct fuzz fuzz;
    const struct fuzz_target target = {.name = "frames",
                                       .context = &fuzz,
                                       .make = make,
                                       .try_input = try_input,
                                       .bend = bend_input};
    int code;

    fuzz.key = sample_key(1);
    buffer_init(&fuzz.first, 2 * CODEC_MAX_FRAME_BYTES);
    buffer_init(&fuzz.second, 2 * CODEC_MAX_FRAME_BYTES);
    if (codec_arena_create(SAMPLE_ARENA_BYTES, &fuzz.arena) != STATUS_OK) {
        return 2;
    }
    code = fuzz_loop(&target, argc, argv);
    codec_arena_destroy(&fuzz.arena);
    buffer_fini(&fuzz.first);
    buffer_fini(&fuzz.second);
    return code;
}
