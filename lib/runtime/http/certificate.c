/* Two files are read, and looked at as OpenSSL sees them, since it says best what is wrong. */
#include "runtime/http/certificate.h"

#include "base/log.h"
#include "runtime/file.h"
#include "runtime/tls/tls.h"

#include <errno.h>
#include <string.h>

enum { MOST_PEM_BYTES = 1 << 20 };

static const struct file_secret key_secret = {
    .what = "the http_key_file",
    .form = "it must hold a private key in PEM form, without a passphrase",
    .remedy = "make one with: (umask 077; openssl genpkey -algorithm EC -pkeyopt "
              "ec_paramgen_curve:P-256 -out FILE)",
};

static enum status end_text(struct buffer *text)
{
    return buffer_append(text, span_of("", 1));
}

/* file_parse_fn */
static enum status keep_key(void *context, struct span content, char *reason, size_t size)
{
    struct buffer *key = context;
    enum status status = buffer_append(key, content);

    (void)reason;
    (void)size;
    return status == STATUS_OK ? end_text(key) : status;
}

static enum status read_chain(const char *path, struct http_certificate *out)
{
    enum status status = file_read(path, &out->chain);

    if (status != STATUS_OK) {
        log_line(LOG_ERROR, "cannot read the http_cert_file %s: %s", path,
                 status == STATUS_IO ? strerror(errno) : status_meaning(status));
        return status;
    }
    out->ends_s = tls_certificate_ends_s(buffer_span(&out->chain));
    return end_text(&out->chain);
}

enum status http_certificate_read(const char *cert_file, const char *key_file,
                                  struct http_certificate *out)
{
    const struct tls_files files = {.certificate = cert_file, .key = key_file, .authority = ""};
    enum status status;

    buffer_init(&out->chain, MOST_PEM_BYTES);
    buffer_init(&out->key, MOST_PEM_BYTES);
    status = file_read_secret(&key_secret, key_file, keep_key, &out->key);
    status = status == STATUS_OK ? tls_files_check(&files, "http_") : status;
    status = status == STATUS_OK ? read_chain(cert_file, out) : status;
    if (status != STATUS_OK) {
        http_certificate_fini(out);
    }
    return status;
}

static bool texts_equal(const struct buffer *a, const struct buffer *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

bool http_certificate_equal(const struct http_certificate *a, const struct http_certificate *b)
{
    return texts_equal(&a->chain, &b->chain) && texts_equal(&a->key, &b->key);
}

void http_certificate_fini(struct http_certificate *self)
{
    if (self->key.data != NULL) {
        explicit_bzero(self->key.data, self->key.capacity);
    }
    buffer_fini(&self->key);
    buffer_fini(&self->chain);
    *self = (struct http_certificate){0};
}
