/* --check-config reads what a start would read, says what is wrong with it, and makes nothing. */
#include "tests/support/certificates.h"
#include "tests/support/command.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIMIT_S = 120, TEXT_BYTES = 2048, PATH_BYTES = 128, POLL_MS = 10 };

static char folder[] = "/tmp/orbloom-check-XXXXXX";
static char conf[PATH_BYTES];
static struct command command;

static void shell(const char *text)
{
    char words[TEXT_BYTES];

    (void)snprintf(words, sizeof words, "cd %s && %s", folder, text);
    cr_assert_eq(system(words), 0, "%s", words);
}

static void set_up(void)
{
    cr_assert_not_null(mkdtemp(folder), "%s", strerror(errno));
    (void)snprintf(conf, sizeof conf, "%s/conf", folder);
    certificates_make(folder);
    shell("umask 077; printf '%064d\n' 1 >key; printf '%064d\n' 2 >short; printf 'x\n' >bad; "
          "printf 'secret\n' >password; printf 'not a database, and longer than its head is: "
          "0123456789012345678901234567890123456789012345678901234567890123456789' >text; "
          "cp key open; chmod 644 open; cp server.key open.key; chmod 644 open.key; mkdir there");
}

static void tear_down(void)
{
    char words[PATH_BYTES];

    (void)snprintf(words, sizeof words, "rm -rf %s", folder);
    cr_assert_eq(system(words), 0);
}

TestSuite(check_config, .init = set_up, .fini = tear_down, .timeout = LIMIT_S);

/* A file of options, where each @ stands for the test's folder. */
static void write_conf(const char *text)
{
    FILE *file = fopen(conf, "we");

    cr_assert_not_null(file);
    for (; *text != '\0'; text++) {
        if (*text == '@') {
            cr_assert_geq(fputs(folder, file), 0);
        } else {
            cr_assert_eq(fputc(*text, file), (int)(unsigned char)*text);
        }
    }
    cr_assert_eq(fclose(file), 0);
}

static void check(const char *daemon, const char *options)
{
    write_conf(options);
    command_run(&command, span_text(""), daemon, "--config", conf, "--check-config", NULL);
}

static void expect_good(const char *daemon, const char *options)
{
    check(daemon, options);
    cr_assert_eq(command.exit_status, 0, "%s: %s", options, command.errors);
    cr_assert_not_null(strstr(command.output, "conf: ok"), "%s", command.output);
    cr_assert_eq(command.errors_size, 0, "%s", command.errors);
    command_forget(&command);
}

/* The pair of site.key. */
#define SITE_SECRET "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define SITE_PUBLIC "8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f"

#define KEY    "cluster_key_file = \"@/key\"; "
#define NODE   "name = \"n\"; " KEY
#define STORE  KEY "store = \"@/store\"; "
#define ETCD   KEY "etcd_endpoints = [\"https://127.0.0.1:1\"]; "
#define ROUTER KEY "resp_listen = \"tcp://127.0.0.1:0\"; "
#define TLS    KEY "resp_tls_listen = \"tcp://127.0.0.1:0\"; "
#define LINK   KEY "site = \"eu\"; site_peers = \"us tcp://a:1 " SITE_PUBLIC "\"; "
#define PAIR   "tls_cert_file = \"@/server.pem\"; tls_key_file = \"@/server.key\"; "
#define CLIENT "etcd_cert_file = \"@/client.pem\"; etcd_key_file = \"@/client.key\"; "

Test(check_config, what_is_well_passes_and_nothing_is_made)
{
    static const char *const made[] = {"data", "store", "audit", "socket"};
    char path[PATH_BYTES];

    expect_good("orbloom-node", NODE);
    expect_good("orbloom-node", NODE "data_dir = \"@/data\";");
    expect_good("orbloom-node", NODE "data_dir = \"@/data/\";");
    expect_good("orbloom-node", NODE "data_dir = \"@/there\";");
    expect_good("orbloom-router", ROUTER "resp_password_file = \"@/password\"; audit_log = "
                                         "\"@/audit\"; resp_socket = \"@/socket\";");
    expect_good("orbloom-router", TLS PAIR "tls_ca_file = \"@/ca.pem\"; tls_clients = "
                                           "\"required\";");
    expect_good("orbloom-coordinator", STORE "audit_log = \"@/audit\";");
    expect_good("orbloom-coordinator",
                ETCD CLIENT "etcd_ca_file = \"@/ca.pem\"; etcd_user = \"u\"; "
                            "etcd_password_file = \"@/password\";");
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, made[i]);
        cr_assert_neq(access(path, F_OK), 0, "%s was made", path);
    }
}

struct fault {
    const char *daemon;
    const char *options;
    const char *reason;
};

static void expect_all(const struct fault *faults, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check(faults[i].daemon, faults[i].options);
        cr_expect_eq(command.exit_status, 1, "%s: %s%s", faults[i].options, command.output,
                     command.errors);
        cr_expect_not_null(strstr(command.errors, faults[i].reason), "\"%s\" is not in: %s",
                           faults[i].reason, command.errors);
        cr_expect_eq(command.output_size, 0, "%s", command.output);
        command_forget(&command);
    }
}

Test(check_config, a_wrong_cluster_key_is_told_by_every_daemon)
{
    static const struct fault faults[] = {
        {"orbloom-node", "name = \"n\"; cluster_key_file = \"@/none\";",
         "none: No such file or directory; make one with: orbloom keygen FILE"},
        {"orbloom-node", "name = \"n\"; cluster_key_file = \"@/open\";", "chmod 600 it"},
        {"orbloom-router", "cluster_key_file = \"@/bad\";", "the cluster key file"},
        {"orbloom-router", "cluster_key_file = \"@/open\";", "chmod 600 it"},
        {"orbloom-coordinator", "store = \"@/store\"; cluster_key_file = \"@/bad\";",
         "the cluster key file"},
        {"orbloom-coordinator", "store = \"@/store\"; cluster_key_file = \"@/none\";",
         "No such file or directory"},
    };

    expect_all(faults, sizeof faults / sizeof faults[0]);
}

Test(check_config, wrong_files_of_a_router_are_told)
{
    static const struct fault faults[] = {
        {"orbloom-router", ROUTER "resp_password_file = \"@/none\";", "the resp_password_file"},
        {"orbloom-router", ROUTER "resp_password_file = \"@/open\";", "chmod 600 it"},
        {"orbloom-router", ROUTER "audit_log = \"@/none/audit\";", "a folder that is there"},
        {"orbloom-router", ROUTER "audit_log = \"@/open\";", "chmod 600 it"},
        {"orbloom-router", ROUTER "audit_log = \"@/there\";", "Is a directory"},
        {"orbloom-router", ROUTER "resp_socket = \"@/none/socket\";",
         "cannot serve at resp_socket"},
        {"orbloom-router", ROUTER "kept_file = \"@/none/kept\";", "check that kept_file names"},
        {"orbloom-router", TLS "tls_cert_file = \"@/none.pem\"; tls_key_file = \"@/server.key\";",
         "cannot read the tls_cert_file"},
        {"orbloom-router", TLS "tls_cert_file = \"@/bad\"; tls_key_file = \"@/server.key\";",
         "it must hold certificates in PEM form"},
        {"orbloom-router", TLS "tls_cert_file = \"@/server.pem\"; tls_key_file = \"@/second.key\";",
         "it is not the key of tls_cert_file"},
        {"orbloom-router", TLS "tls_cert_file = \"@/server.pem\"; tls_key_file = \"@/open.key\";",
         "chmod 600 it"},
        {"orbloom-router", TLS PAIR "tls_ca_file = \"@/none.pem\"; tls_clients = \"required\";",
         "cannot read the tls_ca_file"},
    };

    expect_all(faults, sizeof faults / sizeof faults[0]);
}

Test(check_config, a_wrong_key_of_a_site_is_told)
{
    static const struct fault faults[] = {
        {"orbloom-link", LINK "site_key_file = \"@/none\";",
         "none: No such file or directory; make one with: orbloom keygen --site FILE"},
        {"orbloom-link", LINK "site_key_file = \"@/open\";", "chmod 600 it"},
        {"orbloom-link", LINK "site_key_file = \"@/key\";",
         "line 1: it does not begin with orbloom-site-secret"},
        {"orbloom-link", LINK "site_key_file = \"@/site.key\";",
         "conf:1: site_peers has this site's own key for us"},
        {"orbloom-link",
         "cluster_key_file = \"@/site.key\"; site = \"eu\"; site_peers = \"us "
         "tcp://a:1 " SITE_PUBLIC "\"; site_key_file = \"@/other.key\";",
         "the cluster key file"},
    };

    shell("umask 077; echo orbloom-site-secret " SITE_SECRET " >site.key; "
          "echo orbloom-site-secret 1" SITE_SECRET " | sed 's/.$//' >other.key");
    expect_all(faults, sizeof faults / sizeof faults[0]);
    expect_good("orbloom-link", LINK "site_key_file = \"@/other.key\";");
}

Test(check_config, a_folder_or_store_that_cannot_be_used_is_told)
{
    static const struct fault faults[] = {
        {"orbloom-node", NODE "data_dir = \"@/none/data\";", "make its parent folder first"},
        {"orbloom-node", NODE "data_dir = \"@/key\";", "choose a folder"},
        {"orbloom-node", NODE "data_dir = \"@/key/data\";", "choose a folder"},
        {"orbloom-coordinator", KEY "store = \"@/none/store\";", "the folder must exist"},
        {"orbloom-coordinator", KEY "store = \"@/there\";", "Is a directory"},
        {"orbloom-coordinator", KEY "store = \"@/text\";", "it is no SQLite file"},
        {"orbloom-coordinator", KEY "store = \"@/other\";", "it belongs to another program"},
        {"orbloom-coordinator", STORE "audit_log = \"@/open\";", "chmod 600 it"},
    };

    /* Its head alone: SQLite's magic, and the number of another program at 68. */
    shell("{ printf 'SQLite format 3\\0'; head -c 52 /dev/zero; printf 'othr'; head -c 28 "
          "/dev/zero; } >other");
    expect_all(faults, sizeof faults / sizeof faults[0]);
}

Test(check_config, wrong_files_for_etcd_are_told)
{
    static const struct fault faults[] = {
        {"orbloom-coordinator", ETCD "etcd_user = \"u\"; etcd_password_file = \"@/none\";",
         "cannot use etcd_password_file"},
        {"orbloom-coordinator", ETCD "etcd_user = \"u\"; etcd_password_file = \"@/open\";",
         "chmod 600 it"},
        {"orbloom-coordinator", ETCD CLIENT "etcd_ca_file = \"@/none.pem\";",
         "cannot read the etcd_ca_file"},
        {"orbloom-coordinator", ETCD "etcd_ca_file = \"@/bad\";", "the etcd_ca_file"},
        {"orbloom-coordinator",
         ETCD "etcd_cert_file = \"@/none.pem\"; etcd_key_file = \"@/client.key\";",
         "cannot read the etcd_cert_file"},
        {"orbloom-coordinator",
         ETCD "etcd_cert_file = \"@/client.pem\"; etcd_key_file = \"@/none.key\";",
         "cannot use the etcd_key_file"},
        {"orbloom-coordinator",
         ETCD "etcd_cert_file = \"@/client.pem\"; etcd_key_file = \"@/bad\";",
         "without a passphrase"},
        {"orbloom-coordinator",
         ETCD "etcd_cert_file = \"@/client.pem\"; etcd_key_file = \"@/server.key\";",
         "it is not the key of the certificate"},
    };

    expect_all(faults, sizeof faults / sizeof faults[0]);
}

/* It is well as far as a start goes, which tells the same. */
static void expect_warning(const char *daemon, const char *options, const char *text)
{
    check(daemon, options);
    cr_assert_eq(command.exit_status, 0, "%s: %s", options, command.errors);
    cr_assert_not_null(strstr(command.output, "conf: ok"), "%s", command.output);
    cr_assert_not_null(strstr(command.errors, text), "\"%s\" is not in: %s", text, command.errors);
    command_forget(&command);
}

Test(check_config, a_certificate_that_has_expired_is_told)
{
    shell("for who in server client; do openssl x509 -req -in $who.csr -signkey $who.key -days -1 "
          "-out $who-old.pem 2>/dev/null || exit 1; done");
    expect_warning("orbloom-router",
                   TLS "tls_cert_file = \"@/server-old.pem\"; tls_key_file = \"@/server.key\";",
                   "clients will refuse it: /CN=server");
    expect_warning("orbloom-coordinator",
                   ETCD "etcd_cert_file = \"@/client-old.pem\"; etcd_key_file = \"@/client.key\";",
                   "client-old.pem has expired or is not valid yet");
}

static void wait_for(const char *name)
{
    uint64_t deadline_ms = command_now_ms() + COMMAND_LIMIT_MS;
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    while (access(path, F_OK) != 0) {
        cr_assert_lt(command_now_ms(), deadline_ms, "%s never comes", path);
        (void)poll(NULL, 0, POLL_MS);
    }
}

/* A node has its folder locked, a coordinator its store open. */
Test(check_config, what_a_running_process_uses_is_well)
{
    static char key[PATH_BYTES];
    static char data[PATH_BYTES];
    static char store[PATH_BYTES];
    const char *node_words[] = {"--name=n", "--listen=tcp://127.0.0.1:*", key, data, NULL};
    const char *coordinator_words[] = {"--listen=tcp://127.0.0.1:*", key, store, NULL};
    struct command node;
    struct command coordinator;

    (void)snprintf(key, sizeof key, "--cluster_key_file=%s/key", folder);
    (void)snprintf(data, sizeof data, "--data_dir=%s/data", folder);
    (void)snprintf(store, sizeof store, "--store=%s/store", folder);
    command_start(&node, span_text(""), SIGKILL, "orbloom-node", node_words);
    command_start(&coordinator, span_text(""), SIGKILL, "orbloom-coordinator", coordinator_words);
    wait_for("data/lock");
    wait_for("store-shm");
    expect_good("orbloom-node", NODE "data_dir = \"@/data\";");
    expect_good("orbloom-coordinator", STORE);
    cr_assert_eq(kill(node.pid, SIGTERM), 0);
    cr_assert_eq(kill(coordinator.pid, SIGTERM), 0);
    command_finish(&node, COMMAND_LIMIT_MS);
    command_finish(&coordinator, COMMAND_LIMIT_MS);
    command_expect_exit(&coordinator, 0);
    command_forget(&node);
    command_forget(&coordinator);
    expect_good("orbloom-coordinator", STORE);
}
