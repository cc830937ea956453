/* tls SEED COUNT: COUNT connections made from SEED, through tls_receive() as a server has them.
 *
 * An input is one of two things. Bytes of a stranger: a hello made by hand, records, text, all bent
 * in some way; a client of ours that takes them for a server's is given them, too. Or a plan: a
 * real client shakes hands and sends records, in pieces, and one of what it sends is bent on the
 * way; its random numbers differ each time, what is done to it does not.
 *
 * An input passes when nobody gets in who can't, what is handed over is the beginning of what the
 * client said, an end stays one, what has failed has a reason, answers are bounded, and all memory
 * is given back. Prints "N passed, N failed".
 */
#include "runtime/tls/tls.h"

#include "base/heap.h"
#include "base/log.h"
#include "tests/support/fuzz_loop.h"
#include "tests/support/random.h"

#include <assert.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_BYTES = 16 << 10, /* of a stranger */
    MOST_ANSWER = 64 << 10,
    MOST_BENDS = 4,
    MOST_FLIGHTS = 12,
    MOST_SAID = 40000,
    NKINDS = 3, /* of tls_clients */
    PLAN = 3,   /* of four inputs one is a plan: it begins with this */
};

/* What becomes of a real client; every value is good. */
struct plan {
    uint8_t clients; /* enum tls_clients of the server, modulo */
    uint8_t shown;   /* certificate of the client, modulo: none, ours, a stranger's */
    uint8_t old;     /* odd: TLS 1.2 */
    uint8_t flight;  /* which one is bent, modulo; beyond the last one: none is */
    uint16_t piece;  /* bytes handed to the server at a time; 0: all */
    uint16_t said;   /* bytes that it sends in its records */
    uint8_t seed[8]; /* of what is done to the flight */
};

struct pair {
    X509 *certificate;
    EVP_PKEY *key;
};

struct fuzz {
    uint64_t random;
    size_t size;
    uint8_t bytes[MOST_BYTES];
    struct tls_identity *identities[NKINDS];
    struct tls_identity *client;
    struct pair ours;
    struct pair stranger;
    struct buffer plain;
    struct buffer out;
};

/* ---- who is who ---- */

static struct pair make_pair(const char *name)
{
    struct pair pair = {X509_new(), EVP_EC_gen("P-256")};
    X509_NAME *subject = X509_get_subject_name(pair.certificate);

    assert(pair.certificate != NULL && pair.key != NULL);
    (void)X509_set_version(pair.certificate, X509_VERSION_3);
    (void)X509_gmtime_adj(X509_getm_notBefore(pair.certificate), -3600);
    (void)X509_gmtime_adj(X509_getm_notAfter(pair.certificate), 86400);
    (void)X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const uint8_t *)name, -1, -1, 0);
    (void)X509_set_issuer_name(pair.certificate, subject);
    (void)X509_set_pubkey(pair.certificate, pair.key);
    if (X509_sign(pair.certificate, pair.key, EVP_sha256()) == 0) {
        abort();
    }
    return pair;
}

static void write_pair(const struct pair *pair, const char *certificate, const char *key)
{
    int fd = open(key, O_WRONLY | O_CREAT | O_EXCL, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool good = file != NULL &&
                PEM_write_PrivateKey(file, pair->key, NULL, NULL, 0, NULL, NULL) == 1;

    good = file != NULL && fclose(file) == 0 && good;
    file = fopen(certificate, "w");
    good = file != NULL && PEM_write_X509(file, pair->certificate) == 1 && good;
    good = file != NULL && fclose(file) == 0 && good;
    if (!good) {
        perror(key);
        abort();
    }
}

static void make_identities(struct fuzz *self)
{
    char folder[] = "/tmp/orbloom-fuzz-tls-XXXXXX";
    char certificate[64];
    char key[64];

    self->ours = make_pair("ours");
    self->stranger = make_pair("stranger");
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        abort();
    }
    (void)snprintf(certificate, sizeof certificate, "%s/pem", folder);
    (void)snprintf(key, sizeof key, "%s/key", folder);
    write_pair(&self->ours, certificate, key);
    for (int kind = 0; kind < NKINDS; kind++) {
        struct tls_files files = {.certificate = certificate,
                                  .key = key,
                                  .authority = kind != TLS_CLIENTS_NONE ? certificate : "",
                                  .clients = (enum tls_clients)kind};

        if (tls_identity_read(&files, &self->identities[kind]) != STATUS_OK) {
            abort();
        }
    }
    if (tls_identity_read_client(
            &(struct tls_files){.authority = certificate, .certificate = "", .key = ""}, "",
            &self->client) != STATUS_OK) {
        abort();
    }
    (void)unlink(certificate);
    (void)unlink(key);
    (void)rmdir(folder);
}

/* ---- what a stranger sends ---- */

static uint64_t draw(struct fuzz *self, uint64_t below)
{
    return random_below(&self->random, below);
}

static void put(struct fuzz *self, const void *bytes, size_t size)
{
    if (size <= sizeof self->bytes - self->size) {
        memcpy(self->bytes + self->size, bytes, size);
        self->size += size;
    }
}

static void put_number(struct fuzz *self, uint64_t number, size_t size)
{
    for (size_t i = size; i > 0; i--) {
        uint8_t byte = (uint8_t)(number >> (8 * (i - 1)));

        put(self, &byte, 1);
    }
}

static void put_random(struct fuzz *self, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        put_number(self, draw(self, 256), 1);
    }
}

/* How long what follows is, set when it is there. */
static size_t open_length(struct fuzz *self, size_t size)
{
    put_number(self, 0, size);
    return self->size;
}

static void close_length(struct fuzz *self, size_t begin, size_t size)
{
    size_t length = self->size - begin;

    for (size_t i = 1; i <= size && begin >= i; i++) {
        self->bytes[begin - i] = (uint8_t)(length >> (8 * (i - 1)));
    }
}

/* An extension, with contents as they are, or any. */
static void put_extension(struct fuzz *self)
{
    static const uint16_t kinds[] = {0, 5, 10, 11, 13, 16, 22, 23, 35, 41, 42, 43, 44, 45, 49, 51};
    static const uint8_t versions[] = {4, 3, 4, 3, 3};
    static const uint8_t groups[] = {0, 6, 0, 29, 0, 23, 0, 24};
    static const uint8_t signatures[] = {0, 8, 4, 3, 8, 4, 8, 7, 4, 1};
    uint16_t kind = kinds[draw(self, sizeof kinds / sizeof kinds[0])];
    size_t begin;

    put_number(self, kind, 2);
    begin = open_length(self, 2);
    if (draw(self, 8) == 0) {
        put_random(self, (size_t)draw(self, 80));
    } else if (kind == 43) {
        put(self, versions, sizeof versions);
    } else if (kind == 10) {
        put_number(self, sizeof groups - 2, 2);
        put(self, groups + 2, sizeof groups - 2);
    } else if (kind == 13 || kind == 49) {
        put(self, signatures, sizeof signatures);
    } else if (kind == 51) { /* a share of X25519 */
        put_number(self, 36, 2);
        put_number(self, 29, 2);
        put_number(self, 32, 2);
        put_random(self, 32);
    } else {
        put_random(self, (size_t)draw(self, 24));
    }
    close_length(self, begin, 2);
}

static void put_hello(struct fuzz *self)
{
    static const uint16_t ciphers[] = {0x1301, 0x1302, 0x1303, 0xc02b,
                                       0xc02f, 0xcca9, 0x00ff, 0x2f};
    size_t record;
    size_t message;
    size_t extensions;
    uint64_t count;

    put_number(self, 0x160301, 3);
    record = open_length(self, 2);
    put_number(self, 1, 1);
    message = open_length(self, 3);
    put_number(self, 0x0303, 2);
    put_random(self, 32);
    count = draw(self, 2) * 32;
    put_number(self, count, 1);
    put_random(self, (size_t)count);
    count = 1 + draw(self, 12);
    put_number(self, 2 * count, 2);
    for (; count > 0; count--) {
        put_number(self, ciphers[draw(self, sizeof ciphers / sizeof ciphers[0])], 2);
    }
    put_number(self, 0x0100, 2); /* one compression: none */
    extensions = open_length(self, 2);
    for (count = draw(self, 10); count > 0; count--) {
        put_extension(self);
    }
    close_length(self, extensions, 2);
    close_length(self, message, 3);
    close_length(self, record, 2);
}

static void put_record(struct fuzz *self)
{
    static const uint8_t kinds[] = {0x14, 0x15, 0x16, 0x17, 0x18, 0x80};
    size_t begin;

    put_number(self, kinds[draw(self, sizeof kinds)], 1);
    put_number(self, 0x0300 + draw(self, 5), 2);
    begin = open_length(self, 2);
    put_random(self, (size_t)draw(self, draw(self, 8) == 0 ? 3000 : 60));
    close_length(self, begin, 2);
}

static void put_stranger(struct fuzz *self)
{
    static const char text[] = "*1\r\n$4\r\nPING\r\n";

    if (draw(self, 16) == 0) {
        put(self, text, sizeof text - 1);
    } else if (draw(self, 8) != 0) {
        put_hello(self);
    }
    for (uint64_t i = draw(self, 4); i > 0; i--) {
        put_record(self);
    }
    for (uint64_t i = draw(self, MOST_BENDS); i > 0 && self->size > 0; i--) {
        fuzz_bend(&self->random, self->bytes, &self->size);
    }
}

static void make(void *context, uint64_t seed, struct buffer *input)
{
    struct fuzz *self = context;
    uint8_t kind = (uint8_t)(seed % (PLAN + 1));

    self->random = seed;
    self->size = 0;
    if (kind == PLAN) {
        put_random(self, sizeof(struct plan));
    } else {
        put_stranger(self);
    }
    fuzz_put(input, &kind, 1);
    fuzz_put(input, self->bytes, self->size);
}

/* ---- the promises ---- */

static bool complain(const char *what)
{
    printf("%s\n", what);
    return false;
}

/* Whatever has come: failures have reasons, answers are bounded. */
static bool is_sound(const struct fuzz *self, const struct tls *server, enum tls_state state)
{
    if (state == TLS_FAILED && (tls_outcome(server) == TLS_DONE || tls_reason(server)[0] == '\0')) {
        return complain("it failed for no reason");
    }
    return self->out.size <= MOST_ANSWER || complain("it says too much");
}

/* An end is one: nothing that comes or goes changes it. */
static bool stays_over(struct fuzz *self, struct tls *server, enum tls_state state)
{
    size_t said = self->plain.size;
    size_t answered;

    if (state != TLS_FAILED && state != TLS_ENDED) {
        return true;
    }
    if (tls_receive(server, span_text("\x16\x03\x01\x00\x01\x01 more"), &self->plain, &self->out) !=
            state ||
        self->plain.size != said) {
        return complain("it goes on after its end");
    }
    tls_end(server, &self->out);
    answered = self->out.size;
    return (tls_send(server, span_text("late"), &self->out) == STATUS_OK &&
            self->out.size == answered) ||
           complain("it speaks after its end");
}

/* In pieces, each to its exact size. */
static enum tls_state hand_over(struct fuzz *self, struct tls *server, struct span bytes,
                                size_t piece)
{
    enum tls_state state = TLS_SHAKING;
    size_t at = 0;

    do {
        size_t size = bytes.size - at < piece ? bytes.size - at : piece;
        uint8_t *copy = fuzz_copy(span_of(bytes.data + at, size));

        state = tls_receive(server, span_of(copy, size), &self->plain, &self->out);
        free(copy);
        at += size;
    } while (at < bytes.size && state != TLS_FAILED && state != TLS_ENDED);
    return state;
}

/* What nobody has made for this client is of no server. */
static bool try_server(struct fuzz *self, struct span bytes, size_t piece)
{
    struct tls *client = NULL;
    enum tls_state state;
    bool good;

    buffer_clear(&self->plain);
    buffer_clear(&self->out);
    if (tls_create_client(self->client, "localhost", &client) != STATUS_OK) {
        abort();
    }
    (void)tls_receive(client, span_of(NULL, 0), &self->plain, &self->out);
    state = hand_over(self, client, bytes, piece);
    good = ((state != TLS_OPEN && self->plain.size == 0) || complain("a stranger is a server")) &&
           is_sound(self, client, state) && stays_over(self, client, state);
    tls_destroy(&client);
    return good;
}

static bool try_stranger(struct fuzz *self, uint8_t kind, struct span bytes)
{
    size_t piece = bytes.size > 0 && bytes.data[bytes.size - 1] % 2 == 0 ? 97 : MOST_BYTES;
    struct tls *server = NULL;
    enum tls_state state;
    bool good;

    if (tls_create(self->identities[kind % NKINDS], &server) != STATUS_OK) {
        abort();
    }
    state = hand_over(self, server, bytes, piece);
    good = (state != TLS_OPEN && self->plain.size == 0) || complain("a stranger is in");
    good = good && is_sound(self, server, state) && stays_over(self, server, state);
    tls_destroy(&server);
    return good && try_server(self, bytes, piece);
}

/* ---- a real client, and what becomes of it ---- */

struct talk {
    struct fuzz *fuzz;
    struct plan plan;
    struct tls *server;
    enum tls_state state;
    SSL *client;
    BIO *to_client;
    BIO *from_client;
    unsigned flights; /* so many have left the client */
    bool bent;
    uint8_t said[MOST_SAID];
};

static SSL_CTX *client_context(const struct talk *self)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    const struct pair *shown = self->plan.shown % 3 == 1 ? &self->fuzz->ours
                                                         : &self->fuzz->stranger;

    if (context == NULL) {
        abort();
    }
    (void)SSL_CTX_set_max_proto_version(context,
                                        self->plan.old % 2 == 1 ? TLS1_2_VERSION : TLS1_3_VERSION);
    if (self->plan.shown % 3 != 0 && (SSL_CTX_use_certificate(context, shown->certificate) != 1 ||
                                      SSL_CTX_use_PrivateKey(context, shown->key) != 1)) {
        abort();
    }
    return context;
}

static void begin_talk(struct talk *self)
{
    SSL_CTX *context = client_context(self);

    if (tls_create(self->fuzz->identities[self->plan.clients % NKINDS], &self->server) !=
        STATUS_OK) {
        abort();
    }
    self->client = SSL_new(context);
    SSL_CTX_free(context);
    self->to_client = BIO_new(BIO_s_mem());
    self->from_client = BIO_new(BIO_s_mem());
    (void)BIO_set_mem_eof_return(self->to_client, -1);
    SSL_set_bio(self->client, self->to_client, self->from_client);
    SSL_set_connect_state(self->client);
    for (size_t i = 0; i < MOST_SAID; i++) {
        self->said[i] = (uint8_t)(i * 7 + i / 251);
    }
}

/* What the client has to say reaches the server, as the plan has it. */
static void carry_there(struct talk *self)
{
    uint8_t *bytes = NULL;
    size_t size = (size_t)BIO_get_mem_data(self->from_client, &bytes);
    uint8_t *copy;
    uint64_t random;

    if (size == 0) {
        return;
    }
    copy = fuzz_copy(span_of(bytes, size));
    (void)BIO_reset(self->from_client);
    if (self->flights++ == self->plan.flight % MOST_FLIGHTS) {
        uint8_t *before = fuzz_copy(span_of(copy, size));
        size_t was = size;

        memcpy(&random, self->plan.seed, sizeof random);
        fuzz_bend(&random, copy, &size);
        self->bent = size != was || memcmp(before, copy, size) != 0;
        free(before);
    }
    self->state = hand_over(self->fuzz, self->server, span_of(copy, size),
                            self->plan.piece > 0 ? self->plan.piece : MOST_SAID);
    free(copy);
}

static void carry_back(struct talk *self)
{
    struct buffer *out = &self->fuzz->out;

    if (out->size > 0) {
        (void)BIO_write(self->to_client, out->data, (int)out->size);
        buffer_clear(out);
    }
}

static void shake(struct talk *self)
{
    for (int round = 0; round < 6 && self->state == TLS_SHAKING; round++) {
        (void)SSL_do_handshake(self->client);
        carry_there(self);
        carry_back(self);
    }
}

static void say(struct talk *self)
{
    size_t size = self->plan.said % MOST_SAID;

    for (size_t at = 0; at < size && self->state == TLS_OPEN;) {
        size_t piece = size - at < 9000 ? size - at : 9000;

        if (SSL_write(self->client, self->said + at, (int)piece) != (int)piece) {
            return; /* The server has told it that all is over. */
        }
        at += piece;
        carry_there(self);
        carry_back(self);
    }
    if (self->state == TLS_OPEN && self->plan.shown >= 128) {
        (void)SSL_shutdown(self->client);
        carry_there(self);
    }
}

static bool may_get_in(const struct talk *self)
{
    unsigned shown = self->plan.shown % 3;

    switch ((enum tls_clients)(self->plan.clients % NKINDS)) {
    case TLS_CLIENTS_NONE:
        return true;
    case TLS_CLIENTS_OPTIONAL:
        return shown != 2;
    case TLS_CLIENTS_REQUIRED:
        return shown == 1;
    }
    return false;
}

static bool is_as_told(const struct talk *self)
{
    struct span plain = buffer_span(&self->fuzz->plain);
    bool open = self->state == TLS_OPEN || self->state == TLS_ENDED;

    if (plain.size > 0 && memcmp(plain.data, self->said, plain.size) != 0) {
        return complain("what is handed over was never said");
    }
    if (!may_get_in(self) && (open || plain.size > 0)) {
        return complain("one without a good certificate is in");
    }
    if (!self->bent && may_get_in(self)) {
        return (open && plain.size == self->plan.said % MOST_SAID) ||
               complain("one who belongs in is not heard");
    }
    return true;
}

static bool try_plan(struct fuzz *self, struct span input)
{
    static struct talk talk;
    bool good;

    talk = (struct talk){.fuzz = self, .state = TLS_SHAKING};
    fuzz_take(&input, &talk.plan, sizeof talk.plan);
    begin_talk(&talk);
    shake(&talk);
    say(&talk);
    good = is_as_told(&talk) && is_sound(self, talk.server, talk.state) &&
           stays_over(self, talk.server, talk.state);
    SSL_free(talk.client);
    tls_destroy(&talk.server);
    return good;
}

static bool try_input(void *context, struct span input)
{
    struct fuzz *self = context;
    size_t live = heap_live();
    uint8_t kind;
    bool good;

    if (input.size > MOST_BYTES) {
        return true;
    }
    fuzz_take(&input, &kind, 1);
    buffer_init(&self->plain, 1 << 20);
    buffer_init(&self->out, 1 << 20);
    good = kind == PLAN ? try_plan(self, input) : try_stranger(self, kind, input);
    buffer_fini(&self->plain);
    buffer_fini(&self->out);
    ERR_clear_error();
    return good && (heap_live() == live || complain("memory is not given back"));
}

int main(int argc, char **argv)
{
    static struct fuzz fuzz;
    const struct fuzz_target target = {
        .name = "tls", .context = &fuzz, .make = make, .try_input = try_input};
    int status;

    make_identities(&fuzz);
    status = fuzz_loop(&target, argc, argv);
    for (int kind = 0; kind < NKINDS; kind++) {
        tls_identity_destroy(&fuzz.identities[kind]);
    }
    tls_identity_destroy(&fuzz.client);
    X509_free(fuzz.ours.certificate);
    EVP_PKEY_free(fuzz.ours.key);
    X509_free(fuzz.stranger.certificate);
    EVP_PKEY_free(fuzz.stranger.key);
    return status;
}
