/* OpenSSL between two pieces of memory: it reads what a call has brought and writes into the buffer
 * that the call has named, by a BIO of our own. A BIO_s_mem would keep the room that it once needed
 * with each idle connection. */
#include "runtime/tls/tls.h"

#include "base/heap.h"
#include "base/log.h"
#include "runtime/file.h"

#include <assert.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    RECORD_BYTES = 16 << 10,
    HANDSHAKE_RECORD = 0x16, /* the first byte of whoever speaks TLS */
    ALERT_RECORD = 0x15,     /* ... or of a server that does not let us in */
    MOST_PEM_BYTES = 1 << 20,
    MOST_CHAIN = 16,
    MOST_AUTHORITIES = 256, /* their names must fit into one message */
    MOST_CLIENT_CHAIN_BYTES = 32 << 10,
    ABOUT_BYTES = 320,
    REASON_BYTES = 160,
    NAME_BYTES = 64, /* of an option, as people read it */
};

struct tls_identity {
    SSL_CTX *context;
    char about[ABOUT_BYTES];
};

struct tls {
    SSL *ssl;
    enum tls_state state;
    enum tls_outcome outcome;
    bool client;        /* this end is */
    bool begun;         /* something has come */
    bool ended;         /* close_notify was sent */
    struct span in;     /* of the call under way */
    struct buffer *out; /* ... */
    char reason[REASON_BYTES];
};

/* ---- what is shown and asked for: files ---- */

/* What OpenSSL says of the last thing that went wrong. */
static const char *why(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    return reason != NULL ? reason : "it is not what it must be";
}

static enum status refuse(const char *what, const char *path, const char *reason,
                          const char *remedy)
{
    log_line(LOG_ERROR, "cannot use %s %s: %s; %s", what, path, reason, remedy);
    return STATUS_INVALID;
}

/* Never ask whoever sits at the terminal. */
static int no_passphrase(char *room, int size, int writing, void *context)
{
    (void)room;
    (void)size;
    (void)writing;
    (void)context;
    return -1;
}

/* Takes each certificate of a file in turn, and owns it then; false: it is one too many, or no
 * good. */
typedef bool (*certificate_fn)(SSL_CTX *context, size_t index, X509 *certificate);

/* False: there is none, or one that is none. */
static bool take_each(SSL_CTX *context, struct span text, certificate_fn take)
{
    BIO *bio = BIO_new_mem_buf(text.data, (int)text.size);
    X509 *certificate = NULL;
    size_t count = 0;
    bool taken = bio != NULL;

    ERR_clear_error();
    while (taken && (certificate = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL)) != NULL) {
        taken = take(context, count, certificate);
        count += taken;
    }
    /* That no other one begins is how a file ends. */
    if (taken && count > 0 && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE) {
        ERR_clear_error();
    } else {
        taken = false;
    }
    BIO_free(bio);
    return taken;
}

static enum status read_certificates(SSL_CTX *context, const char *what, const char *path,
                                     certificate_fn take)
{
    enum status status;
    struct buffer text;

    buffer_init(&text, MOST_PEM_BYTES);
    status = file_read(path, &text);
    if (status != STATUS_OK) {
        log_line(LOG_ERROR, "cannot read %s %s: %s", what, path,
                 status == STATUS_IO ? strerror(errno) : "it is too long");
    } else if (!take_each(context, buffer_span(&text), take)) {
        status = refuse(what, path, why(), "it must hold certificates in PEM form");
    }
    buffer_fini(&text);
    return status;
}

static bool take_own(SSL_CTX *context, size_t index, X509 *certificate)
{
    bool taken;

    if (index == 0) {
        taken = SSL_CTX_use_certificate(context, certificate) == 1;
        X509_free(certificate);
        return taken;
    }
    taken = index < MOST_CHAIN && SSL_CTX_add0_chain_cert(context, certificate) == 1;
    if (!taken) {
        X509_free(certificate);
    }
    return taken;
}

static bool take_authority(SSL_CTX *context, size_t index, X509 *certificate)
{
    bool taken = index < MOST_AUTHORITIES &&
                 X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate) == 1 &&
                 SSL_CTX_add_client_CA(context, certificate) == 1;

    X509_free(certificate);
    return taken;
}

/* file_parse_fn */
static enum status parse_key(void *out, struct span text, char *reason, size_t size)
{
    BIO *bio = BIO_new_mem_buf(text.data, (int)text.size);
    EVP_PKEY *key = bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;

    (void)reason, (void)size; /* What the file must hold says enough. */
    BIO_free(bio);
    *(EVP_PKEY **)out = key;
    return key != NULL ? STATUS_OK : STATUS_INVALID;
}

/* Named as its option, likewise the certificate that it belongs to. */
static enum status read_key(SSL_CTX *context, const char *what, const char *path,
                            const char *certificate_name)
{
    const struct file_secret secret = {
        .what = what,
        .form = "it must hold a private key in PEM form, without a passphrase",
        .remedy = "make one with: (umask 077; openssl genpkey -algorithm EC -pkeyopt "
                  "ec_paramgen_curve:P-256 -out FILE)",
    };
    const X509 *certificate = SSL_CTX_get0_certificate(context);
    char reason[REASON_BYTES];
    EVP_PKEY *key = NULL;
    enum status status = file_read_secret(&secret, path, parse_key, &key);

    if (status == STATUS_OK && X509_check_private_key(certificate, key) != 1) {
        (void)snprintf(reason, sizeof reason, "it is not the key of %s", certificate_name);
        status = refuse(what, path, reason, "name two that were made together");
    } else if (status == STATUS_OK && SSL_CTX_use_PrivateKey(context, key) != 1) {
        status = refuse(what, path, why(), "make another one");
    }
    EVP_PKEY_free(key);
    return status;
}

static enum status read_files(SSL_CTX *context, const struct tls_files *files)
{
    enum status status = read_certificates(context, "the tls_cert_file", files->certificate,
                                           take_own);

    status = status == STATUS_OK
                 ? read_key(context, "the tls_key_file", files->key, "tls_cert_file")
                 : status;
    if (status == STATUS_OK && files->authority[0] != '\0') {
        status = read_certificates(context, "the tls_ca_file", files->authority, take_authority);
    }
    return status;
}

/* ---- files of a client ---- */

static bool is_valid_now(const X509 *certificate)
{
    return X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0 &&
           X509_cmp_current_time(X509_get0_notBefore(certificate)) < 0;
}

static void warn_of_dates(SSL_CTX *context, const char *what, const char *path)
{
    if (!is_valid_now(SSL_CTX_get0_certificate(context))) {
        log_line(LOG_WARN,
                 "%s %s has expired or is not valid yet, and will be refused; put a valid one in "
                 "its place",
                 what, path);
    }
}

/* Whose mode is its reader's affair. */
static enum status check_key(SSL_CTX *context, const char *what, const char *path)
{
    const X509 *certificate = SSL_CTX_get0_certificate(context);
    EVP_PKEY *key = NULL;
    enum status status;
    struct buffer text;

    buffer_init(&text, MOST_PEM_BYTES);
    status = file_read(path, &text);
    if (status != STATUS_OK) {
        status = refuse(what, path, status == STATUS_IO ? strerror(errno) : status_meaning(status),
                        "name a private key in PEM form");
    } else if (parse_key(&key, buffer_span(&text), NULL, 0) != STATUS_OK) {
        status = refuse(what, path, "it is none, or has a passphrase",
                        "it must hold a private key in PEM form, without a passphrase");
    } else if (X509_check_private_key(certificate, key) != 1) {
        status = refuse(what, path, "it is not the key of the certificate",
                        "name two that were made together");
    }
    EVP_PKEY_free(key);
    if (text.data != NULL) {
        explicit_bzero(text.data, text.capacity);
    }
    buffer_fini(&text);
    return status;
}

/* "the etcd_cert_file" */
static const char *name_file(char name[NAME_BYTES], const char *prefix, const char *which)
{
    (void)snprintf(name, NAME_BYTES, "the %s%s_file", prefix, which);
    return name;
}

/* But for the key. */
static enum status read_client_files(SSL_CTX *context, const struct tls_files *files,
                                     const char *prefix)
{
    enum status status = STATUS_OK;
    char name[NAME_BYTES];

    if (files->authority[0] != '\0') {
        status = read_certificates(context, name_file(name, prefix, "ca"), files->authority,
                                   take_authority);
    }
    if (status == STATUS_OK && files->certificate[0] != '\0') {
        status = read_certificates(context, name_file(name, prefix, "cert"), files->certificate,
                                   take_own);
    }
    if (status == STATUS_OK && files->certificate[0] != '\0') {
        warn_of_dates(context, name, files->certificate);
    }
    return status;
}

enum status tls_files_check(const struct tls_files *files, const char *prefix)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    enum status status = STATUS_NOMEM;
    char name[NAME_BYTES];

    ERR_clear_error();
    if (context != NULL) {
        status = read_client_files(context, files, prefix);
    } else {
        log_line(LOG_ERROR, "cannot begin with TLS: %s", why());
    }
    if (status == STATUS_OK && files->certificate[0] != '\0') {
        status = check_key(context, name_file(name, prefix, "key"), files->key);
    }
    SSL_CTX_free(context);
    return status;
}

/* ---- what is shown, for people ---- */

/* Who can tell that this is the right one reads it in the log. */
static void describe(struct tls_identity *self)
{
    X509 *certificate = SSL_CTX_get0_certificate(self->context);
    char name[192] = "?";
    char date[64] = "?";
    BIO *bio = BIO_new(BIO_s_mem());
    int size = 0;

    (void)X509_NAME_oneline(X509_get_subject_name(certificate), name, sizeof name);
    if (bio != NULL && ASN1_TIME_print(bio, X509_get0_notAfter(certificate)) == 1) {
        size = BIO_read(bio, date, sizeof date - 1);
        date[size > 0 ? size : 0] = '\0';
    }
    BIO_free(bio);
    (void)snprintf(self->about, sizeof self->about, "%s, valid until %s", name, date);
}

/* ---- how TLS is spoken ---- */

/* Clients with a certificate would have it looked at only once if sessions were resumed, and keys
 * of tickets would have to be kept. */
static bool set_rules(SSL_CTX *context, enum tls_clients clients)
{
    static const unsigned char name[] = "orbloom";
    int verify = clients == TLS_CLIENTS_NONE ? SSL_VERIFY_NONE : SSL_VERIFY_PEER;

    if (clients == TLS_CLIENTS_REQUIRED) {
        verify |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    }
    (void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                           SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
    (void)SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_max_cert_list(context, MOST_CLIENT_CHAIN_BYTES);
    SSL_CTX_set_verify(context, verify, NULL);
    return SSL_CTX_set_num_tickets(context, 0) == 1 &&
           SSL_CTX_set_session_id_context(context, name, sizeof name - 1) == 1 &&
           SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1;
}

enum status tls_identity_read(const struct tls_files *files, struct tls_identity **out)
{
    struct tls_identity *self = heap_zalloc(1, sizeof *self);
    enum status status = STATUS_NOMEM;

    assert(*out == NULL);
    ERR_clear_error();
    if (self != NULL && (self->context = SSL_CTX_new(TLS_server_method())) != NULL &&
        set_rules(self->context, files->clients)) {
        status = read_files(self->context, files);
    } else {
        log_line(LOG_ERROR, "cannot begin with TLS: %s", why());
    }
    if (status != STATUS_OK) {
        tls_identity_destroy(&self);
        return status;
    }
    describe(self);
    *out = self;
    return STATUS_OK;
}

enum status tls_identity_read_client(const struct tls_files *files, const char *prefix,
                                     struct tls_identity **out)
{
    struct tls_identity *self = heap_zalloc(1, sizeof *self);
    enum status status = STATUS_NOMEM;
    char name[NAME_BYTES];

    assert(*out == NULL && files->authority[0] != '\0');
    ERR_clear_error();
    if (self != NULL && (self->context = SSL_CTX_new(TLS_client_method())) != NULL &&
        set_rules(self->context, TLS_CLIENTS_REQUIRED)) {
        status = read_client_files(self->context, files, prefix);
    } else {
        log_line(LOG_ERROR, "cannot begin with TLS: %s", why());
    }
    if (status == STATUS_OK && files->certificate[0] != '\0') {
        status = read_key(self->context, name_file(name, prefix, "key"), files->key,
                          "the certificate");
    }
    if (status != STATUS_OK) {
        tls_identity_destroy(&self);
        return status;
    }
    *out = self;
    return STATUS_OK;
}

void tls_identity_destroy(struct tls_identity **identity)
{
    struct tls_identity *self = *identity;

    *identity = NULL;
    if (self != NULL) {
        SSL_CTX_free(self->context);
        heap_free(self);
    }
}

const char *tls_identity_about(const struct tls_identity *identity)
{
    return identity->about;
}

bool tls_identity_is_valid(const struct tls_identity *identity)
{
    return is_valid_now(SSL_CTX_get0_certificate(identity->context));
}

static int64_t ends_s(const X509 *certificate)
{
    struct tm end = {0};

    return ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1 ? (int64_t)timegm(&end) : 0;
}

int64_t tls_certificate_ends_s(struct span pem)
{
    BIO *bio = BIO_new_mem_buf(pem.data, (int)pem.size);
    X509 *certificate = bio != NULL ? PEM_read_bio_X509(bio, NULL, no_passphrase, NULL) : NULL;
    int64_t at_s = certificate != NULL ? ends_s(certificate) : 0;

    X509_free(certificate);
    BIO_free(bio);
    ERR_clear_error();
    return at_s;
}

int64_t tls_identity_ends_s(const struct tls_identity *identity)
{
    return ends_s(SSL_CTX_get0_certificate(identity->context));
}

int64_t tls_identity_begins_s(const struct tls_identity *identity)
{
    const X509 *certificate = SSL_CTX_get0_certificate(identity->context);
    int days = 0;
    int seconds = 0;
    int64_t left_s;

    if (ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notBefore(certificate)) != 1) {
        return 0;
    }
    left_s = (int64_t)days * 86400 + seconds;
    return left_s > 0 ? left_s : 0;
}

/* ---- memory as OpenSSL sees it ---- */

static int give(BIO *bio, char *room, int size)
{
    struct tls *self = BIO_get_data(bio);
    size_t count = self->in.size < (size_t)size ? self->in.size : (size_t)size;

    BIO_clear_retry_flags(bio);
    if (count == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(room, self->in.data, count);
    self->in = span_of(self->in.data + count, self->in.size - count);
    return (int)count;
}

static int take(BIO *bio, const char *bytes, int size)
{
    struct tls *self = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    return buffer_append(self->out, span_of(bytes, (size_t)size)) == STATUS_OK ? size : -1;
}

static long control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

/* One for all connections, for good. */
static const BIO_METHOD *memory_method(void)
{
    static BIO_METHOD *method;

    if (method == NULL) {
        method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "orbloom memory");
        if (method != NULL) {
            (void)BIO_meth_set_read(method, give);
            (void)BIO_meth_set_write(method, take);
            (void)BIO_meth_set_ctrl(method, control);
        }
    }
    return method;
}

static enum status create(const struct tls_identity *identity, struct tls **out)
{
    struct tls *self = heap_zalloc(1, sizeof *self);
    const BIO_METHOD *method = memory_method();
    BIO *bio = method != NULL ? BIO_new(method) : NULL;

    assert(*out == NULL);
    if (self != NULL && bio != NULL) {
        self->ssl = SSL_new(identity->context);
    }
    if (self == NULL || self->ssl == NULL) {
        BIO_free(bio);
        heap_free(self);
        return STATUS_NOMEM;
    }
    BIO_set_data(bio, self);
    BIO_set_init(bio, 1);
    SSL_set_bio(self->ssl, bio, bio);
    *out = self;
    return STATUS_OK;
}

enum status tls_create(const struct tls_identity *identity, struct tls **out)
{
    enum status status = create(identity, out);

    if (status == STATUS_OK) {
        SSL_set_accept_state((*out)->ssl);
    }
    return status;
}

/* A name is told to the server, too, which may have certificates for several. */
static bool expect_host(SSL *ssl, const char *host)
{
    X509_VERIFY_PARAM *rules = SSL_get0_param(ssl);

    if (X509_VERIFY_PARAM_set1_ip_asc(rules, host) == 1) {
        return true;
    }
    X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                               X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return host[0] != '\0' && X509_VERIFY_PARAM_set1_host(rules, host, 0) == 1 &&
           SSL_set_tlsext_host_name(ssl, host) == 1;
}

enum status tls_create_client(const struct tls_identity *identity, const char *host,
                              struct tls **out)
{
    enum status status = create(identity, out);

    if (status != STATUS_OK) {
        return status;
    }
    (*out)->client = true;
    SSL_set_connect_state((*out)->ssl);
    if (!expect_host((*out)->ssl, host)) {
        tls_destroy(out);
        status = STATUS_INVALID;
    }
    ERR_clear_error();
    return status;
}

void tls_destroy(struct tls **tls)
{
    struct tls *self = *tls;

    *tls = NULL;
    if (self != NULL) {
        SSL_free(self->ssl);
        heap_free(self);
    }
}

/* ---- what went wrong ---- */

static enum tls_outcome outcome_of(int reason)
{
    switch (reason) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_UNKNOWN_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
        return TLS_VERSION;
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
        return TLS_CERTIFICATE;
    default:
        return TLS_BROKEN;
    }
}

static void fail(struct tls *self, enum tls_outcome outcome, const char *reason)
{
    self->state = TLS_FAILED;
    self->outcome = outcome;
    (void)snprintf(self->reason, sizeof self->reason, "%s", reason);
}

static void fail_as_told(struct tls *self)
{
    unsigned long error = ERR_peek_error();
    int reason = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
    const char *text = ERR_reason_error_string(error);

    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
        text = X509_verify_cert_error_string(SSL_get_verify_result(self->ssl));
    }
    fail(self, outcome_of(reason), text != NULL ? text : "it broke off");
    ERR_clear_error();
}

/* Text in the place of a handshake is of someone who does not know that TLS is wanted. */
static bool begins_well(struct tls *self, struct span bytes)
{
    uint8_t first = bytes.size > 0 ? bytes.data[0] : HANDSHAKE_RECORD;

    if (self->begun || first == HANDSHAKE_RECORD || (self->client && first == ALERT_RECORD)) {
        self->begun |= bytes.size > 0;
        return true;
    }
    if ((first >= ' ' && first <= '~') || first == '\r' || first == '\n') {
        fail(self, TLS_PLAIN, "it speaks no TLS");
    } else {
        fail(self, TLS_BROKEN, "what came first is no handshake");
    }
    return false;
}

/* ---- bytes in, bytes out ---- */

/* Did the last call only want more? Else the connection has ended or failed. */
static void note(struct tls *self, int result)
{
    int error = SSL_get_error(self->ssl, result);

    if (error == SSL_ERROR_ZERO_RETURN) {
        self->state = TLS_ENDED;
    } else if (error != SSL_ERROR_WANT_READ) {
        fail_as_told(self);
    }
}

static void shake(struct tls *self)
{
    int result = SSL_do_handshake(self->ssl);

    if (result == 1) {
        self->state = TLS_OPEN;
    } else {
        note(self, result);
    }
}

/* All that there is: nothing but a part of a record stays behind. */
static void open_records(struct tls *self, struct buffer *plain)
{
    while (self->state == TLS_OPEN) {
        uint8_t *room;
        size_t before = plain->size;
        size_t size = 0;
        int result;

        if (buffer_extend(plain, RECORD_BYTES, &room) != STATUS_OK) {
            fail(self, TLS_BROKEN, "out of memory");
            return;
        }
        result = SSL_read_ex(self->ssl, room, RECORD_BYTES, &size);
        plain->size = before + size;
        if (result != 1) {
            note(self, result);
            return;
        }
    }
}

enum tls_state tls_receive(struct tls *self, struct span bytes, struct buffer *plain,
                           struct buffer *out)
{
    self->in = bytes;
    self->out = out;
    ERR_clear_error();
    if (self->state == TLS_SHAKING && begins_well(self, bytes)) {
        shake(self);
    }
    open_records(self, plain);
    self->in = span_of(NULL, 0);
    self->out = NULL;
    return self->state;
}

enum status tls_send(struct tls *self, struct span plain, struct buffer *out)
{
    size_t sent = 0;
    int result;

    if (self->state != TLS_OPEN || self->ended || plain.size == 0) {
        return STATUS_OK;
    }
    self->out = out;
    ERR_clear_error();
    result = SSL_write_ex(self->ssl, plain.data, plain.size, &sent);
    self->out = NULL;
    if (result != 1 || sent != plain.size) {
        fail(self, TLS_BROKEN, "out of memory");
        ERR_clear_error();
        return STATUS_NOMEM;
    }
    return STATUS_OK;
}

void tls_end(struct tls *self, struct buffer *out)
{
    if ((self->state != TLS_OPEN && self->state != TLS_ENDED) || self->ended) {
        return;
    }
    self->ended = true;
    self->out = out;
    ERR_clear_error();
    (void)SSL_shutdown(self->ssl); /* The peer's own is not waited for. */
    ERR_clear_error();
    self->out = NULL;
}

enum tls_outcome tls_outcome(const struct tls *self)
{
    return self->outcome;
}

const char *tls_reason(const struct tls *self)
{
    return self->reason;
}

/* ---- who the peer is ---- */

/* What is written is text: control bytes are escaped, and a NUL in a name, too. */
static void write_name(X509_NAME *name, char *text, size_t size)
{
    BIO *out = BIO_new(BIO_s_mem());
    char *written = NULL;
    long length;

    if (out == NULL || X509_NAME_print_ex(out, name, 0, XN_FLAG_RFC2253) < 0) {
        BIO_free(out);
        return;
    }
    length = BIO_get_mem_data(out, &written);
    if (length > 0 && (size_t)length < size && memchr(written, '\0', (size_t)length) == NULL) {
        memcpy(text, written, (size_t)length);
        text[length] = '\0';
    }
    BIO_free(out);
}

void tls_subject(const struct tls *self, char *text, size_t size)
{
    X509 *certificate;

    assert(size > 0);
    text[0] = '\0';
    if ((self->state != TLS_OPEN && self->state != TLS_ENDED) ||
        (SSL_get_verify_mode(self->ssl) & SSL_VERIFY_PEER) == 0 ||
        SSL_get_verify_result(self->ssl) != X509_V_OK) {
        return;
    }
    certificate = SSL_get0_peer_certificate(self->ssl);
    if (certificate != NULL) {
        write_name(X509_get_subject_name(certificate), text, size);
    }
    ERR_clear_error();
}
