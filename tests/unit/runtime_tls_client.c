/* A client's end of TLS and a server's of our own, between two pieces of memory: which servers a
 * client takes, and what it says of others. */
#include "base/heap.h"
#include "runtime/tls/tls.h"
#include "tests/support/certificates.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1 << 20, ROUNDS = 8 };

static char folder[] = "/tmp/orbloom-tls-XXXXXX";

static const char *in_folder(const char *name)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];

    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void set_up(void)
{
    cr_assert_not_null(mkdtemp(folder));
    certificates_make(folder);
    cr_redirect_stderr();
}

static void tear_down(void)
{
    char command[64];

    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(runtime_tls_client, .init = set_up, .fini = tear_down, .timeout = 120);

struct end {
    struct tls *tls;
    enum tls_state state;
    struct buffer plain;
    struct buffer out;
};

static struct end make_end(void)
{
    struct end end = {.state = TLS_SHAKING};

    buffer_init(&end.plain, MOST);
    buffer_init(&end.out, MOST);
    return end;
}

static void drop_end(struct end *end)
{
    tls_destroy(&end->tls);
    buffer_fini(&end->plain);
    buffer_fini(&end->out);
    ERR_clear_error();
}

/* "": none of its own. */
static struct tls_identity *client_identity(const char *authority, const char *own)
{
    struct tls_files files = {.authority = in_folder(authority), .certificate = "", .key = ""};
    struct tls_identity *identity = NULL;
    char name[32];

    if (own[0] != '\0') {
        (void)snprintf(name, sizeof name, "%s.pem", own);
        files.certificate = in_folder(name);
        (void)snprintf(name, sizeof name, "%s.key", own);
        files.key = in_folder(name);
    }
    cr_assert_eq(tls_identity_read_client(&files, "old_", &identity), STATUS_OK);
    return identity;
}

static struct end begin_client(const char *authority, const char *own, const char *host)
{
    struct tls_identity *identity = client_identity(authority, own);
    struct end end = make_end();

    cr_assert_eq(tls_create_client(identity, host, &end.tls), STATUS_OK);
    tls_identity_destroy(&identity); /* Connections keep what they need. */
    end.state = tls_receive(end.tls, span_of(NULL, 0), &end.plain, &end.out);
    cr_assert_eq(end.state, TLS_SHAKING);
    cr_assert_gt(end.out.size, 0);
    return end;
}

static struct end begin_server(enum tls_clients clients)
{
    const struct tls_files files = {.certificate = in_folder("server.pem"),
                                    .key = in_folder("server.key"),
                                    .authority = in_folder("ca.pem"),
                                    .clients = clients};
    struct tls_identity *identity = NULL;
    struct end end = make_end();

    cr_assert_eq(tls_identity_read(&files, &identity), STATUS_OK);
    cr_assert_eq(tls_create(identity, &end.tls), STATUS_OK);
    tls_identity_destroy(&identity);
    return end;
}

static void carry(struct end *from, struct end *to)
{
    if (from->out.size > 0) {
        to->state = tls_receive(to->tls, buffer_span(&from->out), &to->plain, &to->out);
        buffer_clear(&from->out);
    }
}

static void talk(struct end *client, struct end *server)
{
    for (int i = 0; i < ROUNDS; i++) {
        carry(client, server);
        carry(server, client);
    }
}

static void expect_refused(const char *authority, const char *host, const char *reason)
{
    struct end client = begin_client(authority, "", host);
    struct end server = begin_server(TLS_CLIENTS_NONE);

    talk(&client, &server);
    cr_assert_eq(client.state, TLS_FAILED);
    cr_assert_eq(tls_outcome(client.tls), TLS_CERTIFICATE);
    cr_assert_not_null(strstr(tls_reason(client.tls), reason), "%s", tls_reason(client.tls));
    cr_assert_eq(tls_send(client.tls, span_text("key"), &client.out), STATUS_OK);
    talk(&client, &server);
    cr_assert_eq(server.plain.size, 0, "it was told something");
    drop_end(&client);
    drop_end(&server);
    cr_assert_eq(heap_live(), 0);
}

Test(runtime_tls_client, both_ends_understand_each_other)
{
    struct end client = begin_client("ca.pem", "client", "127.0.0.1");
    struct end server = begin_server(TLS_CLIENTS_REQUIRED);
    char subject[64];

    talk(&client, &server);
    cr_assert_eq(client.state, TLS_OPEN, "%s", tls_reason(client.tls));
    cr_assert_eq(server.state, TLS_OPEN, "%s", tls_reason(server.tls));
    tls_subject(server.tls, subject, sizeof subject);
    cr_assert_str_eq(subject, "CN=client");
    cr_assert_eq(tls_send(client.tls, span_text("PING\r\n"), &client.out), STATUS_OK);
    cr_assert_eq(tls_send(server.tls, span_text("+PONG\r\n"), &server.out), STATUS_OK);
    talk(&client, &server);
    cr_assert(span_equal(buffer_span(&server.plain), span_text("PING\r\n")));
    cr_assert(span_equal(buffer_span(&client.plain), span_text("+PONG\r\n")));
    tls_end(server.tls, &server.out);
    talk(&client, &server);
    cr_assert_eq(client.state, TLS_ENDED);
    drop_end(&client);
    drop_end(&server);
    cr_assert_eq(heap_live(), 0);
}

Test(runtime_tls_client, a_server_that_nobody_vouches_for_is_refused)
{
    expect_refused("other.pem", "127.0.0.1", "certificate");
}

/* The certificate is good, and another host's. */
Test(runtime_tls_client, a_server_that_is_another_host_is_refused)
{
    expect_refused("ca.pem", "127.0.0.2", "IP address mismatch");
    expect_refused("ca.pem", "::1", "IP address mismatch");
    expect_refused("ca.pem", "localhost", "hostname mismatch");
    expect_refused("ca.pem", "server", "hostname mismatch");
}

/* By TLS 1.3 the client hears of it after it believed that all is well. */
Test(runtime_tls_client, a_server_that_wants_a_certificate_says_so)
{
    struct end client = begin_client("ca.pem", "", "127.0.0.1");
    struct end server = begin_server(TLS_CLIENTS_REQUIRED);

    talk(&client, &server);
    cr_assert_eq(client.state, TLS_FAILED);
    cr_assert_not_null(strstr(tls_reason(client.tls), "certificate required"), "%s",
                       tls_reason(client.tls));
    drop_end(&client);
    drop_end(&server);
}

static void expect_strange(struct span words, enum tls_outcome outcome)
{
    struct end client = begin_client("ca.pem", "", "127.0.0.1");

    client.state = tls_receive(client.tls, words, &client.plain, &client.out);
    cr_assert_eq(client.state, TLS_FAILED);
    cr_assert_eq(tls_outcome(client.tls), outcome, "%s", tls_reason(client.tls));
    cr_assert_neq(tls_reason(client.tls)[0], '\0');
    drop_end(&client);
}

Test(runtime_tls_client, what_is_no_server_of_tls_is_told_from_one_that_refuses)
{
    static const uint8_t refusal[] = {0x15, 3, 3, 0, 2, 2, 40}; /* handshake failure */
    static const uint8_t version[] = {0x15, 3, 3, 0, 2, 2, 70};

    expect_strange(span_text("-ERR unknown command\r\n"), TLS_PLAIN);
    expect_strange(span_of("\x00\x01\x02", 3), TLS_BROKEN);
    expect_strange(span_of(refusal, sizeof refusal), TLS_BROKEN);
    expect_strange(span_of(version, sizeof version), TLS_VERSION);
}

Test(runtime_tls_client, files_that_are_no_good_are_refused)
{
    struct tls_files files = {.authority = in_folder("ca.key"), .certificate = "", .key = ""};
    struct tls_identity *identity = NULL;

    cr_assert_eq(tls_identity_read_client(&files, "old_", &identity), STATUS_INVALID);
    files.authority = in_folder("nobody.pem");
    cr_assert_eq(tls_identity_read_client(&files, "old_", &identity), STATUS_IO);
    files = (struct tls_files){.authority = in_folder("ca.pem"),
                               .certificate = in_folder("client.pem"),
                               .key = in_folder("server.key")};
    cr_assert_eq(tls_identity_read_client(&files, "old_", &identity), STATUS_INVALID);
    cr_assert_null(identity);
    identity = client_identity("ca.pem", "");
    cr_assert_neq(tls_create_client(identity, "", &(struct tls *){NULL}), STATUS_OK);
    tls_identity_destroy(&identity);
    cr_assert_eq(heap_live(), 0);
}
