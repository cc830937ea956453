/* TLS between two pieces of memory: a client of OpenSSL's at the other end, and what is none. */
#include "base/heap.h"
#include "runtime/tls/source.h"
#include "runtime/tls/tls.h"
#include "tests/support/certificates.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 20, ROUNDS = 20, LONG = 300000 };

static char folder[] = "/tmp/orbloom-tls-XXXXXX";

static const char *in_folder(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void set_up(void)
{
    cr_assert_not_null(mkdtemp(folder));
    certificates_make(folder);
    cr_redirect_stderr();
}

static void run(const char *script)
{
    char command[512];

    (void)snprintf(command, sizeof command, "cd %s && { %s; }", folder, script);
    cr_assert_eq(system(command), 0, "%s", script);
}

static void tear_down(void)
{
    run("rm -rf \"$PWD\"");
}

TestSuite(runtime_tls, .init = set_up, .fini = tear_down, .timeout = 120);

static struct tls_files files_of(const char *certificate, const char *key, enum tls_clients clients)
{
    static char paths[3][128];

    (void)snprintf(paths[0], sizeof paths[0], "%s/%s", folder, certificate);
    (void)snprintf(paths[1], sizeof paths[1], "%s/%s", folder, key);
    (void)snprintf(paths[2], sizeof paths[2], "%s/ca.pem", folder);
    return (struct tls_files){.certificate = paths[0],
                              .key = paths[1],
                              .authority = clients != TLS_CLIENTS_NONE ? paths[2] : "",
                              .clients = clients};
}

static struct tls_identity *identity_of(enum tls_clients clients)
{
    struct tls_files files = files_of("server.pem", "server.key", clients);
    struct tls_identity *identity = NULL;

    cr_assert_eq(tls_identity_read(&files, &identity), STATUS_OK);
    return identity;
}

/* ---- both ends ---- */

struct ends {
    struct tls *server;
    enum tls_state state;
    SSL *client;
    BIO *to_client;
    BIO *from_client;
    struct buffer plain; /* what the server has read */
    struct buffer out;
};

/* NULL: whatever the library's defaults are. */
struct client_rules {
    int most_version;
    const char *certificate; /* NULL: none */
    const char *ciphers;
};

static SSL_CTX *client_context(const struct client_rules *rules)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    char path[128];

    cr_assert_not_null(context);
    cr_assert_eq(SSL_CTX_load_verify_file(context, in_folder("ca.pem")), 1);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    if (rules->ciphers != NULL) {
        cr_assert_eq(SSL_CTX_set_min_proto_version(context, TLS1_VERSION), 1);
        cr_assert_eq(SSL_CTX_set_cipher_list(context, rules->ciphers), 1);
    }
    if (rules->most_version != 0) {
        cr_assert_eq(SSL_CTX_set_max_proto_version(context, rules->most_version), 1);
    }
    if (rules->certificate != NULL) {
        (void)snprintf(path, sizeof path, "%s/%s.pem", folder, rules->certificate);
        cr_assert_eq(SSL_CTX_use_certificate_chain_file(context, path), 1);
        (void)snprintf(path, sizeof path, "%s/%s.key", folder, rules->certificate);
        cr_assert_eq(SSL_CTX_use_PrivateKey_file(context, path, SSL_FILETYPE_PEM), 1);
    }
    return context;
}

static struct ends begin(const struct tls_identity *identity, const struct client_rules *rules)
{
    struct ends ends = {.to_client = BIO_new(BIO_s_mem()), .from_client = BIO_new(BIO_s_mem())};
    SSL_CTX *context = client_context(rules);

    cr_assert_eq(tls_create(identity, &ends.server), STATUS_OK);
    ends.client = SSL_new(context);
    SSL_CTX_free(context);
    (void)BIO_set_mem_eof_return(ends.to_client, -1);
    SSL_set_bio(ends.client, ends.to_client, ends.from_client);
    SSL_set_connect_state(ends.client);
    buffer_init(&ends.plain, MOST);
    buffer_init(&ends.out, MOST);
    return ends;
}

static void finish(struct ends *ends)
{
    SSL_free(ends->client);
    tls_destroy(&ends->server);
    buffer_fini(&ends->plain);
    buffer_fini(&ends->out);
    ERR_clear_error();
}

/* What either has to say goes to the other, `piece` bytes at a time. */
static void carry(struct ends *ends, size_t piece)
{
    uint8_t *bytes = NULL;
    long size;

    if (ends->out.size > 0) {
        cr_assert_eq(BIO_write(ends->to_client, ends->out.data, (int)ends->out.size),
                     (int)ends->out.size);
        buffer_clear(&ends->out);
    }
    size = BIO_get_mem_data(ends->from_client, &bytes);
    for (size_t at = 0; at < (size_t)size && ends->state != TLS_FAILED; at += piece) {
        size_t part = (size_t)size - at < piece ? (size_t)size - at : piece;

        ends->state = tls_receive(ends->server, span_of(bytes + at, part), &ends->plain,
                                  &ends->out);
    }
    (void)BIO_reset(ends->from_client);
}

/* True: the client believes that all is well, too. */
static bool meet(struct ends *ends, size_t piece)
{
    int result = 0;

    for (int round = 0; round < ROUNDS; round++) {
        result = SSL_do_handshake(ends->client);
        carry(ends, piece);
    }
    return result == 1;
}

static void expect_outcome(const struct tls_identity *identity, const struct client_rules *rules,
                           enum tls_outcome outcome)
{
    struct ends ends = begin(identity, rules);

    (void)meet(&ends, MOST);
    cr_assert_eq(ends.state, outcome == TLS_DONE ? TLS_OPEN : TLS_FAILED);
    cr_assert_eq(tls_outcome(ends.server), outcome, "%d: %s", tls_outcome(ends.server),
                 tls_reason(ends.server));
    cr_assert_eq(ends.plain.size, 0);
    finish(&ends);
}

/* ---- what goes well ---- */

static void expect_both_ways(int version, size_t piece)
{
    static char large[LONG];
    static char got[LONG];
    struct tls_identity *identity = identity_of(TLS_CLIENTS_NONE);
    struct ends ends = begin(identity, &(struct client_rules){.most_version = version});
    size_t size = 0;
    size_t part = 0;

    tls_identity_destroy(&identity); /* Connections keep what they need. */
    for (size_t i = 0; i < sizeof large; i++) {
        large[i] = (char)(i * 7 % 251);
    }
    cr_assert(meet(&ends, piece));
    cr_assert_eq(ends.state, TLS_OPEN);
    cr_assert_eq(SSL_write(ends.client, large, sizeof large), (int)sizeof large);
    carry(&ends, piece);
    cr_assert(span_equal(buffer_span(&ends.plain), span_of(large, sizeof large)));
    cr_assert_eq(tls_send(ends.server, span_of(large, sizeof large), &ends.out), STATUS_OK);
    carry(&ends, piece);
    while (SSL_read_ex(ends.client, got + size, sizeof got - size, &part) == 1) {
        size += part;
    }
    cr_assert_eq(size, sizeof large);
    cr_assert_eq(memcmp(got, large, sizeof large), 0);
    finish(&ends);
}

Test(runtime_tls, bytes_go_both_ways_in_whatever_pieces)
{
    expect_both_ways(TLS1_3_VERSION, MOST);
    expect_both_ways(TLS1_3_VERSION, 1);
    expect_both_ways(TLS1_2_VERSION, MOST);
    expect_both_ways(TLS1_2_VERSION, 7);
}

Test(runtime_tls, either_end_can_end_it)
{
    struct tls_identity *identity = identity_of(TLS_CLIENTS_NONE);
    struct ends ends = begin(identity, &(struct client_rules){0});
    char byte;

    cr_assert(meet(&ends, MOST));
    cr_assert_eq(SSL_write(ends.client, "last", 4), 4);
    (void)SSL_shutdown(ends.client);
    carry(&ends, MOST);
    cr_assert_eq(ends.state, TLS_ENDED);
    cr_assert(span_equal(buffer_span(&ends.plain), span_text("last")), "it is not lost");
    finish(&ends);
    ends = begin(identity, &(struct client_rules){0});
    cr_assert(meet(&ends, MOST));
    cr_assert_eq(tls_send(ends.server, span_text("!"), &ends.out), STATUS_OK);
    tls_end(ends.server, &ends.out);
    tls_end(ends.server, &ends.out);
    cr_assert_eq(tls_send(ends.server, span_text("more"), &ends.out), STATUS_OK);
    carry(&ends, MOST);
    cr_assert_eq(SSL_read(ends.client, &byte, 1), 1);
    cr_assert_eq(SSL_read(ends.client, &byte, 1), 0);
    cr_assert_eq(SSL_get_error(ends.client, 0), SSL_ERROR_ZERO_RETURN, "a clean end");
    finish(&ends);
    tls_identity_destroy(&identity);
}

Test(runtime_tls, clients_are_asked_for_certificates_as_wanted)
{
    struct tls_identity *identity = identity_of(TLS_CLIENTS_REQUIRED);
    int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

    for (size_t i = 0; i < 2; i++) {
        expect_outcome(identity, &(struct client_rules){versions[i], "client", NULL}, TLS_DONE);
        expect_outcome(identity, &(struct client_rules){versions[i], NULL, NULL}, TLS_CERTIFICATE);
        expect_outcome(identity, &(struct client_rules){versions[i], "stranger", NULL},
                       TLS_CERTIFICATE);
    }
    tls_identity_destroy(&identity);
    identity = identity_of(TLS_CLIENTS_OPTIONAL);
    expect_outcome(identity, &(struct client_rules){0, "client", NULL}, TLS_DONE);
    expect_outcome(identity, &(struct client_rules){0, NULL, NULL}, TLS_DONE);
    expect_outcome(identity, &(struct client_rules){0, "stranger", NULL}, TLS_CERTIFICATE);
    tls_identity_destroy(&identity);
    identity = identity_of(TLS_CLIENTS_NONE);
    expect_outcome(identity, &(struct client_rules){0, "stranger", NULL}, TLS_DONE);
    tls_identity_destroy(&identity);
}

/* As RFC 2253 has it: the last part first, and what separates parts is escaped. */
static void expect_subject(enum tls_clients clients, const char *certificate, const char *subject)
{
    struct tls_identity *identity = identity_of(clients);
    struct ends ends = begin(identity, &(struct client_rules){0, certificate, NULL});
    char text[64] = "as before";
    char little[8] = "before";

    tls_subject(ends.server, text, sizeof text);
    cr_assert_str_eq(text, "", "before the handshake nobody is anybody");
    cr_assert(meet(&ends, MOST));
    tls_subject(ends.server, text, sizeof text);
    cr_assert_str_eq(text, subject);
    tls_subject(ends.server, little, sizeof little);
    cr_assert_str_eq(little, "", "half a name is another name");
    finish(&ends);
    tls_identity_destroy(&identity);
}

Test(runtime_tls, a_client_is_known_by_its_certificate)
{
    char script[512];

    (void)snprintf(script, sizeof script,
                   "cd %s && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "
                   "'/O=Ex, Inc/CN=crawler' -keyout two.key -out two.csr 2>log && openssl x509 "
                   "-req -in two.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out two.pem "
                   "2>log",
                   folder);
    cr_assert_eq(system(script), 0);
    expect_subject(TLS_CLIENTS_REQUIRED, "client", "CN=client");
    expect_subject(TLS_CLIENTS_OPTIONAL, "two", "CN=crawler,O=Ex\\, Inc");
    expect_subject(TLS_CLIENTS_OPTIONAL, NULL, "");
    expect_subject(TLS_CLIENTS_NONE, "client", "");
    expect_subject(TLS_CLIENTS_NONE, "stranger", "");
}

/* ---- what does not ---- */

Test(runtime_tls, old_versions_and_weak_ciphers_are_refused)
{
    struct tls_identity *identity = identity_of(TLS_CLIENTS_NONE);
    const char *any = "ALL:@SECLEVEL=0";

    expect_outcome(identity, &(struct client_rules){TLS1_1_VERSION, NULL, any}, TLS_VERSION);
    expect_outcome(identity, &(struct client_rules){TLS1_VERSION, NULL, any}, TLS_VERSION);
    expect_outcome(identity, &(struct client_rules){TLS1_2_VERSION, NULL, "AES128-SHA"},
                   TLS_BROKEN);
    tls_identity_destroy(&identity);
}

static void expect_begin(const struct tls_identity *identity, struct span bytes,
                         enum tls_state state, enum tls_outcome outcome)
{
    struct tls *server = NULL;
    struct buffer plain;
    struct buffer out;

    buffer_init(&plain, MOST);
    buffer_init(&out, MOST);
    cr_assert_eq(tls_create(identity, &server), STATUS_OK);
    cr_assert_eq(tls_receive(server, bytes, &plain, &out), state);
    if (state == TLS_FAILED) {
        cr_assert_eq(tls_outcome(server), outcome);
        cr_assert_neq(tls_reason(server)[0], '\0');
        tls_end(server, &out);
    }
    cr_assert_eq(plain.size, 0);
    tls_destroy(&server);
    buffer_fini(&plain);
    buffer_fini(&out);
}

Test(runtime_tls, text_and_garbage_are_told_apart)
{
    struct tls_identity *identity = identity_of(TLS_CLIENTS_NONE);

    expect_begin(identity, span_text("*1\r\n$4\r\nPING\r\n"), TLS_FAILED, TLS_PLAIN);
    expect_begin(identity, span_text("PING\r\n"), TLS_FAILED, TLS_PLAIN);
    expect_begin(identity, span_text("GET / HTTP/1.1\r\n\r\n"), TLS_FAILED, TLS_PLAIN);
    expect_begin(identity, span_of("\x80\x2e\x01\x03\x01", 5), TLS_FAILED, TLS_BROKEN);
    expect_begin(identity, span_of("\0", 1), TLS_FAILED, TLS_BROKEN);
    expect_begin(identity, span_of("\x16", 1), TLS_SHAKING, TLS_DONE);
    expect_begin(identity, span_of("\x16\x03\x01\xff\xff", 5), TLS_FAILED, TLS_BROKEN);
    expect_begin(identity, span_text(""), TLS_SHAKING, TLS_DONE);
    tls_identity_destroy(&identity);
}

/* A client's first words, cut off anywhere, or with one byte bent: never in, never a crash. */
Test(runtime_tls, a_torn_or_bent_hello_gets_nowhere)
{
    struct tls_identity *identity = identity_of(TLS_CLIENTS_REQUIRED);
    struct ends ends = begin(identity, &(struct client_rules){0});
    struct buffer plain;
    struct buffer out;
    uint8_t *hello = NULL;
    size_t size;

    buffer_init(&plain, MOST);
    buffer_init(&out, MOST);
    (void)SSL_do_handshake(ends.client);
    size = (size_t)BIO_get_mem_data(ends.from_client, &hello);
    cr_assert_gt(size, 100);
    for (size_t i = 0; i < size; i++) {
        struct tls *server = NULL;

        expect_begin(identity, span_of(hello, i), TLS_SHAKING, TLS_DONE);
        hello[i] ^= 0xff;
        cr_assert_eq(tls_create(identity, &server), STATUS_OK);
        cr_assert_neq(tls_receive(server, span_of(hello, size), &plain, &out), TLS_OPEN);
        hello[i] ^= 0xff;
        if (tls_receive(server, span_of(hello, size), &plain, &out) != TLS_FAILED) {
            cr_assert_eq(plain.size, 0);
        }
        tls_destroy(&server);
        buffer_clear(&out);
    }
    finish(&ends);
    buffer_fini(&plain);
    buffer_fini(&out);
    tls_identity_destroy(&identity);
}

Test(runtime_tls, a_bent_record_ends_it)
{
    struct tls_identity *identity = identity_of(TLS_CLIENTS_NONE);
    struct ends ends = begin(identity, &(struct client_rules){0});
    uint8_t *bytes = NULL;
    long size;

    cr_assert(meet(&ends, MOST));
    cr_assert_eq(SSL_write(ends.client, "well", 4), 4);
    size = BIO_get_mem_data(ends.from_client, &bytes);
    bytes[size - 1] ^= 1;
    carry(&ends, MOST);
    cr_assert_eq(ends.state, TLS_FAILED);
    cr_assert_eq(tls_outcome(ends.server), TLS_BROKEN);
    cr_assert_eq(ends.plain.size, 0);
    cr_assert_eq(tls_send(ends.server, span_text("x"), &ends.out), STATUS_OK);
    finish(&ends);
    tls_identity_destroy(&identity);
}

/* TLS 1.2 has it, and whoever asks for it is told no. */
Test(runtime_tls, nothing_is_negotiated_again)
{
    struct tls_identity *identity = identity_of(TLS_CLIENTS_NONE);
    struct ends ends = begin(identity, &(struct client_rules){.most_version = TLS1_2_VERSION});

    cr_assert(meet(&ends, MOST));
    cr_assert_eq(SSL_renegotiate(ends.client), 1);
    cr_assert_not(meet(&ends, MOST), "the client gets no second handshake");
    cr_assert_eq(ends.plain.size, 0);
    finish(&ends);
    tls_identity_destroy(&identity);
}

/* Each end may change its keys at will. */
Test(runtime_tls, keys_may_be_renewed)
{
    struct tls_identity *identity = identity_of(TLS_CLIENTS_NONE);
    struct ends ends = begin(identity, &(struct client_rules){0});
    char byte;

    cr_assert(meet(&ends, MOST));
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(SSL_key_update(ends.client, SSL_KEY_UPDATE_REQUESTED), 1);
        cr_assert_eq(SSL_write(ends.client, "x", 1), 1);
        carry(&ends, MOST);
        cr_assert_eq(tls_send(ends.server, span_text("y"), &ends.out), STATUS_OK);
        carry(&ends, MOST);
        cr_assert_eq(SSL_read(ends.client, &byte, 1), 1);
    }
    cr_assert_eq(ends.plain.size, 5);
    finish(&ends);
    tls_identity_destroy(&identity);
}

Test(runtime_tls, memory_that_runs_out_harms_nothing)
{
    struct tls_identity *identity = identity_of(TLS_CLIENTS_NONE);
    struct ends ends = begin(identity, &(struct client_rules){0});
    struct tls *server = NULL;
    size_t alive = heap_live();

    heap_fault_after(0);
    cr_assert_eq(tls_create(identity, &server), STATUS_NOMEM);
    heap_fault_clear();
    cr_assert_eq(heap_live(), alive);
    cr_assert(meet(&ends, MOST));
    buffer_fini(&ends.out);
    heap_fault_after(0);
    cr_assert_eq(tls_send(ends.server, span_text("x"), &ends.out), STATUS_NOMEM);
    heap_fault_clear();
    finish(&ends);
    tls_identity_destroy(&identity);
}

/* ---- files ---- */

static void expect_refused(const char *certificate, const char *key)
{
    struct tls_files files = files_of(certificate, key, TLS_CLIENTS_REQUIRED);
    struct tls_identity *identity = NULL;
    size_t alive = heap_live();

    cr_assert_neq(tls_identity_read(&files, &identity), STATUS_OK, "%s, %s", certificate, key);
    cr_assert_null(identity);
    cr_assert_eq(heap_live(), alive);
}

Test(runtime_tls, files_that_are_no_good_are_refused)
{
    run("cp server.key open.key && chmod 644 open.key");
    run("openssl pkey -in server.key -aes128 -passout pass:x -out locked.key && chmod 600 "
        "locked.key");
    run("echo nothing >empty.pem; head -c 300 server.pem >torn.pem; mkdir folder.pem");
    run("cat server.pem torn.pem >twice.pem; openssl genrsa -out rsa.key 2048 2>/dev/null");
    expect_refused("none.pem", "server.key");
    expect_refused("server.pem", "none.key");
    expect_refused("empty.pem", "server.key");
    expect_refused("torn.pem", "server.key");
    expect_refused("twice.pem", "server.key");
    expect_refused("folder.pem", "server.key");
    expect_refused("server.pem", "second.key");
    expect_refused("server.pem", "rsa.key");
    expect_refused("server.pem", "open.key");
    expect_refused("server.pem", "locked.key");
    expect_refused("server.pem", "empty.pem");
    run("cp ca.pem kept.pem; echo nothing >ca.pem");
    expect_refused("server.pem", "server.key");
    run("mv kept.pem ca.pem");
}

static void expect_shown(const struct tls_source *source, const char *name)
{
    cr_assert_not_null(strstr(tls_identity_about(source->identity), name), "%s",
                       tls_identity_about(source->identity));
}

/* As certbot and Kubernetes do it: a link is turned. */
Test(runtime_tls, changed_files_are_taken_if_they_are_good)
{
    struct tls_files files = files_of("now/cert", "now/key", TLS_CLIENTS_NONE);
    struct tls_source source = {0};

    run("for who in server second; do mkdir of-$who; cp $who.pem of-$who/cert; "
        "cp $who.key of-$who/key; done; mkdir of-both; cp server.pem of-both/cert; "
        "cp second.key of-both/key; chmod 600 of-*/key; ln -s of-server now");
    cr_assert_eq(tls_source_read(&source, &files), STATUS_OK);
    expect_shown(&source, "CN=server");
    cr_assert_not(tls_source_look(&source), "nothing has changed");
    run("ln -sfn of-both now");
    cr_assert_not(tls_source_look(&source));
    expect_shown(&source, "CN=server");
    cr_assert_not(tls_source_look(&source));
    run("ln -sfn of-second now");
    cr_assert(tls_source_look(&source));
    expect_shown(&source, "CN=second");
    run("rm now");
    cr_assert_not(tls_source_look(&source));
    expect_shown(&source, "CN=second");
    run("ln -s of-both now");
    cr_assert_neq(tls_source_read(&source, &files), STATUS_OK);
    expect_shown(&source, "CN=second");
    run("cp server.key of-both/key");
    cr_assert(tls_source_look(&source));
    expect_shown(&source, "CN=server");
    tls_source_fini(&source);
}

/* ---- certificates that are not valid now ---- */

enum { DAY_S = 86400, MOST_LOOKS = 300, LOOK_US = 100000 };

static void *read_pem(const char *name, bool key)
{
    FILE *file = fopen(in_folder(name), "re");
    void *read;

    cr_assert_not_null(file);
    read = key ? (void *)PEM_read_PrivateKey(file, NULL, NULL, NULL)
               : (void *)PEM_read_X509(file, NULL, NULL, NULL);
    cr_assert_not_null(read);
    cr_assert_eq(fclose(file), 0);
    return read;
}

/* The certificate in live.pem is server.pem's, with its key, good from so many seconds from now on
 * until then. */
static void put_live(const char *pair, long from_s, long until_s)
{
    char certificate[32];
    char key[32];
    EVP_PKEY *authority = read_pem("ca.key", true);
    X509 *live;
    FILE *file;

    (void)snprintf(certificate, sizeof certificate, "%s.pem", pair);
    (void)snprintf(key, sizeof key, "cp -p %s.key live.key", pair);
    live = read_pem(certificate, false);
    cr_assert_not_null(X509_gmtime_adj(X509_getm_notBefore(live), from_s));
    cr_assert_not_null(X509_gmtime_adj(X509_getm_notAfter(live), until_s));
    cr_assert_gt(X509_sign(live, authority, EVP_sha256()), 0);
    file = fopen(in_folder("live.new"), "we");
    cr_assert(file != NULL && PEM_write_X509(file, live) == 1 && fclose(file) == 0);
    run(key);
    run("mv live.new live.pem");
    X509_free(live);
    EVP_PKEY_free(authority);
}

static void start_live(struct tls_source *source, const char *pair, long from_s, long until_s)
{
    struct tls_files files = files_of("live.pem", "live.key", TLS_CLIENTS_NONE);

    put_live(pair, from_s, until_s);
    cr_assert_eq(tls_source_read(source, &files), STATUS_OK);
}

/* By the look of every minute, and by a SIGHUP. */
static void expect_kept(struct tls_source *source)
{
    struct tls_files files = source->files;

    cr_assert_not(tls_source_look(source));
    expect_shown(source, "CN=server");
    cr_assert_eq(tls_source_read(source, &files), STATUS_INVALID);
    expect_shown(source, "CN=server");
}

Test(runtime_tls, one_that_is_not_valid_now_takes_no_valid_ones_place)
{
    struct tls_source source = {0};

    start_live(&source, "server", -DAY_S, DAY_S);
    put_live("second", -2 * DAY_S, -DAY_S);
    expect_kept(&source);
    put_live("second", DAY_S, 2 * DAY_S);
    expect_kept(&source);
    put_live("second", -DAY_S, DAY_S);
    cr_assert(tls_source_look(&source));
    expect_shown(&source, "CN=second");
    tls_source_fini(&source);
}

/* It will be: nobody has to touch the files once more. */
Test(runtime_tls, one_that_is_too_early_is_taken_when_its_time_has_come)
{
    struct tls_source source = {0};
    bool taken = false;

    start_live(&source, "server", -DAY_S, DAY_S);
    put_live("second", 3, DAY_S);
    for (int i = 0; i < MOST_LOOKS && !taken; i++) {
        taken = tls_source_look(&source);
        (void)usleep(LOOK_US);
    }
    expect_shown(&source, "CN=second");
    cr_assert(tls_identity_is_valid(source.identity));
    tls_source_fini(&source);
}

/* At the start, and where the former one is no better. */
Test(runtime_tls, where_there_is_nothing_better_it_is_taken)
{
    struct tls_source source = {0};

    start_live(&source, "server", -2 * DAY_S, -DAY_S);
    expect_shown(&source, "CN=server");
    put_live("second", DAY_S, 2 * DAY_S);
    cr_assert(tls_source_look(&source));
    expect_shown(&source, "CN=second");
    tls_source_fini(&source);
}
