/* What `orbloom setup` writes: real daemons take it, start with it, and are a cluster. */
#include "tests/support/command.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LIMIT_S = 120,
    PATH_BYTES = 512,
    MAX_DAEMONS = 8,
    MAX_FLAGS = 8,
    TRIES = 200,
    LOWEST = 12000, /* below what the kernel gives away, as what else runs here has of these */
    PORTS = 18000,
    HTTP_PORTS = 2000
};

static char folder[64];
static char port[16];
static struct command daemons[MAX_DAEMONS];
static size_t ndaemons;

static void set_up(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/orbloom-setup-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    (void)unsetenv("ORBLOOM_CREDENTIAL");
}

static void tear_down(void)
{
    char words[128];

    (void)snprintf(words, sizeof words, "rm -rf %s", folder);
    cr_assert_eq(system(words), 0);
}

TestSuite(setup, .init = set_up, .fini = tear_down, .timeout = LIMIT_S);

/* In the test's folder; one of eight texts in turn. */
static const char *in_folder(const char *name)
{
    static char paths[8][PATH_BYTES];
    static unsigned turn;
    char *path = paths[turn++ % 8];

    (void)snprintf(path, PATH_BYTES, "%s/%s", folder, name);
    return path;
}

/* Does nobody have that port of 127.0.0.1 to 127.0.0.3? Who had it a moment ago is no matter, as
 * for daemons. */
static bool is_free(unsigned wanted)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)wanted),
                                  .sin_addr.s_addr = htonl(INADDR_ANY)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int yes = 1;
    bool bound = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                 bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 1) == 0;

    (void)close(fd);
    return bound;
}

static bool all_free(unsigned base)
{
    static const unsigned above[] = {0, 1, 10, 11, 12, 13};

    for (size_t i = 0; i < sizeof above / sizeof above[0]; i++) {
        if (!is_free(base + above[i]) || !is_free(base + above[i] + HTTP_PORTS)) {
            return false;
        }
    }
    return true;
}

static void choose_port(void)
{
    for (unsigned i = 0; i < TRIES; i++) {
        unsigned base = LOWEST + ((unsigned)getpid() * 37 + i * 101) % PORTS;

        if (all_free(base)) {
            (void)snprintf(port, sizeof port, "%u", base);
            return;
        }
    }
    cr_assert_fail("no free ports");
}

static void start(const char *program, const char *const *words)
{
    cr_assert_lt(ndaemons, MAX_DAEMONS);
    command_start(&daemons[ndaemons++], span_text(""), SIGKILL, program, words);
}

static void stop_all(void)
{
    while (ndaemons > 0) {
        struct command *daemon = &daemons[--ndaemons];

        cr_assert_eq(kill(daemon->pid, SIGTERM), 0, "it ended by itself");
        command_finish(daemon, COMMAND_LIMIT_MS);
        command_expect_exit(daemon, 0);
        command_forget(daemon);
    }
}

static void run(const char *output, const char *const *words)
{
    struct command command;

    command_start(&command, span_text("a\nb\na\n"), SIGKILL, "orbloom", words);
    command_finish(&command, COMMAND_LIMIT_MS);
    cr_assert_eq(command.exit_status, 0, "%s: %s", words[0], command.errors);
    cr_assert(output == NULL || strcmp(command.output, output) == 0, "%s", command.output);
    command_forget(&command);
}

#define RUN(output, ...) run(output, (const char *const[]){__VA_ARGS__, NULL})

static void use(void)
{
    RUN(NULL, "create", "seen", "--capacity", "100k", "--fpr", "1%", "--timeout", "20s");
    RUN("", "add", "seen", "--timeout", "20s");
    RUN("present\npresent\npresent\n", "check", "seen", "--timeout", "20s");
}

static unsigned mode_of(const char *name)
{
    struct stat about;

    cr_assert_eq(stat(in_folder(name), &about), 0, "%s", name);
    return about.st_mode & 07777;
}

/* What it prints has these words. */
static void expect_steps(const struct command *command, const char *const *words)
{
    for (; *words != NULL; words++) {
        cr_expect_not_null(strstr(command->output, *words), "not told: %s\n%s", *words,
                           command->output);
    }
}

static void write_one(void)
{
    struct command command;

    choose_port();
    command_run(&command, span_text(""), "orbloom", "setup", "--dir", in_folder("etc"), "--data",
                in_folder("data"), "--base-port", port, NULL);
    command_expect_exit(&command, 0);
    expect_steps(&command,
                 (const char *const[]){"orbloom-coordinator --config ", "orbloom-node --config ",
                                       "orbloom-router --config ", "export ORBLOOM_COORDINATOR=",
                                       "orbloom doctor", "Keep a copy of cluster.key", NULL});
    command_forget(&command);
}

static void point_to(const char *coordinators, const char *routers)
{
    cr_assert_eq(setenv("ORBLOOM_COORDINATOR", coordinators, 1), 0);
    cr_assert_eq(setenv("ORBLOOM_ROUTER", routers, 1), 0);
}

Test(setup, one_machine_is_a_cluster)
{
    static const char *const files[][2] = {{"orbloom-coordinator", "etc/coordinator.conf"},
                                           {"orbloom-node", "etc/node-1.conf"},
                                           {"orbloom-node", "etc/node-2.conf"},
                                           {"orbloom-node", "etc/node-3.conf"},
                                           {"orbloom-router", "etc/router.conf"}};
    char coordinator[64];
    char router[64];

    write_one();
    for (size_t i = 0; i < 5; i++) {
        struct command command;

        command_run(&command, span_text(""), files[i][0], "--config", in_folder(files[i][1]),
                    "--check-config", NULL);
        command_expect_exit(&command, 0);
        command_forget(&command);
        start(files[i][0], (const char *const[]){"--config", in_folder(files[i][1]), NULL});
    }
    (void)snprintf(coordinator, sizeof coordinator, "tcp://127.0.0.1:%s", port);
    (void)snprintf(router, sizeof router, "tcp://127.0.0.1:%lu", strtoul(port, NULL, 10) + 1);
    point_to(coordinator, router);
    use();
    stop_all();
}

Test(setup, secrets_are_for_their_owner)
{
    char *key;
    char *token;

    write_one();
    cr_expect_eq(mode_of("etc"), 0700);
    cr_expect_eq(mode_of("etc/cluster.key"), 0600);
    cr_expect_eq(mode_of("etc/http.token"), 0600);
    cr_expect_eq(mode_of("etc/router.conf"), 0644);
    key = command_read_file(in_folder("etc/cluster.key"));
    token = command_read_file(in_folder("etc/http.token"));
    cr_expect_str_neq(key, token);
    free(key);
    free(token);
}

/* Nothing is replaced, and where one file is there none is written. */
Test(setup, what_is_there_stays)
{
    struct command command;
    char *key;
    char *again;

    write_one();
    key = command_read_file(in_folder("etc/cluster.key"));
    cr_assert_eq(unlink(in_folder("etc/node-2.conf")), 0);
    cr_assert_eq(unlink(in_folder("etc/http.token")), 0);
    command_run(&command, span_text(""), "orbloom", "setup", "--dir", in_folder("etc"), NULL);
    command_expect_errors(&command, 1, "etc/cluster.key is there, and is never replaced");
    cr_expect_str_eq(command.output, "");
    command_forget(&command);
    again = command_read_file(in_folder("etc/cluster.key"));
    cr_expect_str_eq(key, again);
    cr_expect_eq(access(in_folder("etc/node-2.conf"), F_OK), -1);
    cr_expect_eq(access(in_folder("etc/http.token"), F_OK), -1);
    free(key);
    free(again);
}

/* Not half of it, which a second run would refuse to replace. */
Test(setup, without_room_for_data_nothing_is_written)
{
    struct command command;

    cr_assert_eq(symlink("/dev/null", in_folder("data")), 0);
    command_run(&command, span_text(""), "orbloom", "setup", "--dir", in_folder("etc"), "--data",
                in_folder("data"), NULL);
    command_expect_errors(&command, 1, "name a folder that you may write to");
    cr_expect_str_eq(command.output, "");
    command_forget(&command);
    cr_expect_eq(access(in_folder("etc/cluster.key"), F_OK), -1);
    cr_assert_eq(unlink(in_folder("data")), 0);
    write_one();
}

Test(setup, what_makes_no_sense_is_refused)
{
    static const char *const refused[][5] = {
        {"--machines", "a,b", NULL},
        {"--machines", "a,b,c,d", NULL},
        {"--machines", "a,b,a", NULL},
        {"--machines", "a,,b", NULL},
        {"--machines", "a,b,../c", NULL},
        {"--machines", "a,b,$(c)", NULL},
        {"--machines", "a,b,A", NULL},
        {"--machines", "10.0.0.1,10.0.0.2,10.0.0.300", NULL},
        {"--machines", "10.0.0.1,10.0.0.2,10.0.3", NULL},
        {"--machines", "", NULL},
        {"--etcd", "http://a:2379", NULL},
        {"--machines", "a,b,c", "--etcd", "a:2379", NULL},
        {"--machines", "a,b,c", "--etcd", "http://a:2379,", NULL},
        {"--machines", "a,b,c", "--etcd", "http://a:2379,b:2379", NULL},
        {"--machines", "a,b,c", "--data", "/srv/seen", NULL},
        {"--base-port", "0", NULL},
        {"--base-port", "65000", NULL},
        {"--dir", "a\"b", NULL},
        {"--dir", "a;b", NULL},
        {"--dir", "a`b`", NULL},
        {"--data", "a(b)", NULL},
        {"--data", "a\rb", NULL},
        {"--data", "a b", NULL},
        {"word", NULL},
    };

    cr_assert_eq(chdir(folder), 0);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const char *words[10] = {"setup", "--dir", "x"};
        size_t count = strcmp(refused[i][0], "--dir") == 0 ? 1 : 3;
        struct command command;

        for (size_t n = 0; n < 5 && refused[i][n] != NULL; n++) {
            words[count++] = refused[i][n];
        }
        words[count] = NULL;
        command_start(&command, span_text(""), SIGKILL, "orbloom", words);
        command_finish(&command, COMMAND_LIMIT_MS);
        command_expect_exit(&command, 2);
        cr_expect_str_eq(command.output, "");
        cr_expect_eq(access(in_folder("x"), F_OK), -1);
        command_forget(&command);
    }
}

/* ---- three machines ---- */

#define MACHINES "127.0.0.1", "127.0.0.2", "127.0.0.3"
static const char *const machines[] = {MACHINES};

static void write_three(const char *dir, const char *etcd)
{
    struct command command;

    choose_port();
    command_run(&command, span_text(""), "orbloom", "setup", "--dir", in_folder(dir), "--machines",
                "127.0.0.1,127.0.0.2,127.0.0.3", "--base-port", port,
                etcd != NULL ? "--etcd" : NULL, etcd, NULL);
    command_expect_exit(&command, 0);
    expect_steps(&command,
                 (const char *const[]){
                     "127.0.0.2/* root@127.0.0.2:/etc/orbloom/", "chmod 640 cluster.key http.token",
                     "ssh root@127.0.0.3 systemctl enable --now orbloom.target ", "orbloom-node@3",
                     "orbloom user create root --role admin", "three times: remove it", NULL});
    command_forget(&command);
}

/* A flag for a path that is another one here than on the machine. */
static void put_flag(const char *option, const char *dir, const char *machine, const char *name,
                     char text[PATH_BYTES])
{
    (void)snprintf(text, PATH_BYTES, "--%s=%s/%s/%s/%s", option, folder, dir, machine, name);
}

/* `data`: the option that says where its data are, or NULL. `last`: one more flag, or NULL. */
static void with_daemon(const char *program, const char *dir, const char *machine, const char *conf,
                        const char *data, const char *last,
                        void (*use_words)(const char *program, const char *const *words))
{
    char path[PATH_BYTES];
    char key[PATH_BYTES];
    char token[PATH_BYTES];
    char place[PATH_BYTES];
    const char *words[MAX_FLAGS] = {"--config", path, key, token, data != NULL ? place : last};

    words[5] = data != NULL ? last : NULL;
    (void)snprintf(path, sizeof path, "%s/%s/%s/%s", folder, dir, machine, conf);
    put_flag("cluster_key_file", dir, machine, "cluster.key", key);
    put_flag("http_token_file", dir, machine, "http.token", token);
    put_flag(data != NULL ? data : "", dir, machine, data != NULL ? data : "", place);
    use_words(program, words);
}

static void check(const char *program, const char *const *words)
{
    struct command command;

    command_start(&command, span_text(""), SIGKILL, program, words);
    command_finish(&command, COMMAND_LIMIT_MS);
    cr_expect_eq(command.exit_status, 0, "%s: %s", words[1], command.errors);
    command_forget(&command);
}

/* Every file of options, with a coordinator on so many machines. */
static void for_each(const char *dir, size_t ncoordinators, const char *store, const char *last,
                     void (*use_words)(const char *program, const char *const *words))
{
    char node[32];

    for (size_t i = 0; i < 3; i++) {
        if (i < ncoordinators) {
            with_daemon("orbloom-coordinator", dir, machines[i], "coordinator.conf", store, last,
                        use_words);
        }
        (void)snprintf(node, sizeof node, "node-%zu.conf", i + 1);
        with_daemon("orbloom-node", dir, machines[i], node, "data_dir", last, use_words);
        with_daemon("orbloom-router", dir, machines[i], "router.conf", "kept_file", last,
                    use_words);
    }
}

Test(setup, three_machines_are_a_cluster)
{
    char coordinator[64];
    char routers[160];
    unsigned long base;

    write_three("three", NULL);
    for_each("three", 1, "store", "--check-config", check);
    for_each("three", 1, "store", NULL, start);
    base = strtoul(port, NULL, 10);
    (void)snprintf(coordinator, sizeof coordinator, "tcp://127.0.0.1:%lu", base);
    (void)snprintf(routers, sizeof routers,
                   "tcp://127.0.0.1:%lu,tcp://127.0.0.2:%lu,tcp://127.0.0.3:%lu", base + 1,
                   base + 1, base + 1);
    point_to(coordinator, routers);
    RUN(NULL, "user", "create", "root", "--role", "admin", "--credential", in_folder("root.cred"),
        "--cluster-key", in_folder("three/127.0.0.1/cluster.key"), "--timeout", "20s");
    cr_assert_eq(setenv("ORBLOOM_CREDENTIAL", in_folder("root.cred"), 1), 0);
    use();
    stop_all();
}

Test(setup, with_etcd_each_machine_has_a_coordinator)
{
    write_three("three", "http://127.0.0.1:2379,http://127.0.0.2:2379");
    cr_expect_eq(access(in_folder("three/127.0.0.3/coordinator.conf"), F_OK), 0);
    for_each("three", 3, NULL, "--check-config", check);
}
