/* Dumps by BF.SCANDUMP and BF.LOADCHUNK, through real processes: a copy lacks nothing that was
 * acknowledged, a load that is broken off goes on or leaves nothing, and nothing else is taken. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    LIMIT_S = 240,
    WAIT_MS = 30000,
    KEYS = 100000,
    BATCH = 5000, /* items of one command */
    MOST_CHUNKS = 64,
    MOST_ANSWER = 1 << 20,
};

static struct playground playground;

/* ---- a client ---- */

struct client {
    int fd;
    char *bytes; /* received and not read yet */
    size_t size;
    size_t taken;
};

static void dial(struct client *self, const struct playground *where)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    *self = (struct client){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
                            .bytes = malloc(MOST_ANSWER)};
    cr_assert(self->fd >= 0 && self->bytes != NULL);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/router/resp.sock", where->dir);
    for (int tries = 0; tries < WAIT_MS / 10; tries++) {
        if (connect(self->fd, (struct sockaddr *)&address, sizeof address) == 0) {
            return;
        }
        (void)poll(NULL, 0, 10); /* It may be starting. */
    }
    cr_assert_fail("connect: %s", strerror(errno));
}

static void hang_up(struct client *self)
{
    (void)close(self->fd);
    free(self->bytes);
}

static void send_bytes(struct client *self, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size > 0) {
        ssize_t sent = send(self->fd, at, size, MSG_NOSIGNAL);

        cr_assert_gt(sent, 0, "%s", strerror(errno));
        at += sent;
        size -= (size_t)sent;
    }
}

static void send_raw(struct client *self, const char *text)
{
    send_bytes(self, text, strlen(text));
}

static void send_begin(struct client *self, size_t count)
{
    char line[32];

    send_bytes(self, line, (size_t)snprintf(line, sizeof line, "*%zu\r\n", count));
}

static void send_argument(struct client *self, const void *bytes, size_t size)
{
    char line[32];

    send_bytes(self, line, (size_t)snprintf(line, sizeof line, "$%zu\r\n", size));
    send_bytes(self, bytes, size);
    send_bytes(self, "\r\n", 2);
}

static void send_text(struct client *self, const char *text)
{
    send_argument(self, text, strlen(text));
}

static void receive(struct client *self)
{
    struct pollfd polled = {.fd = self->fd, .events = POLLIN};
    ssize_t got;

    memmove(self->bytes, self->bytes + self->taken, self->size - self->taken);
    self->size -= self->taken;
    self->taken = 0;
    cr_assert_lt(self->size, MOST_ANSWER);
    cr_assert_eq(poll(&polled, 1, WAIT_MS), 1, "no answer");
    got = recv(self->fd, self->bytes + self->size, MOST_ANSWER - self->size, 0);
    cr_assert_gt(got, 0, "the connection has ended");
    self->size += (size_t)got;
}

/* A line without its end, until the next call. */
static char *read_line(struct client *self)
{
    char *end;
    char *line;

    while ((end = memchr(self->bytes + self->taken, '\n', self->size - self->taken)) == NULL) {
        receive(self);
    }
    line = self->bytes + self->taken;
    self->taken = (size_t)(end + 1 - self->bytes);
    end[-1] = '\0';
    return line;
}

static int64_t read_number(struct client *self, char kind)
{
    const char *line = read_line(self);

    cr_assert_eq(line[0], kind, "%s", line);
    return strtoll(line + 1, NULL, 10);
}

static char *read_bulk(struct client *self, size_t *size)
{
    char *copy;

    *size = (size_t)read_number(self, '$');
    while (self->size - self->taken < *size + 2) {
        receive(self);
    }
    copy = malloc(*size + 1);
    cr_assert_not_null(copy);
    memcpy(copy, self->bytes + self->taken, *size);
    self->taken += *size + 2;
    return copy;
}

/* One line is the whole answer. */
static void expect(struct client *self, const char *begins)
{
    const char *line = read_line(self);

    cr_assert_eq(strncmp(line, begins, strlen(begins)), 0, "%s, not %s", line, begins);
}

/* ---- filters ---- */

static void reserve(struct client *self, const char *name)
{
    send_begin(self, 4);
    send_text(self, "BF.RESERVE");
    send_text(self, name);
    send_text(self, "0.001");
    send_text(self, "200000");
    expect(self, "+OK");
}

static void send_items(struct client *self, const char *command, const char *name, int from)
{
    send_begin(self, BATCH + 2);
    send_text(self, command);
    send_text(self, name);
    for (int i = from; i < from + BATCH; i++) {
        char item[32];

        (void)snprintf(item, sizeof item, "item-%d", i);
        send_text(self, item);
    }
}

/* How many ones; nothing else but zeros is there. */
static int read_ones(struct client *self)
{
    int ones = 0;

    cr_assert_eq(read_number(self, '*'), BATCH);
    for (int i = 0; i < BATCH; i++) {
        int64_t one = read_number(self, ':');

        cr_assert(one == 0 || one == 1);
        ones += (int)one;
    }
    return ones;
}

static void add_items(struct client *self, const char *name, int from, int to)
{
    for (; from < to; from += BATCH) {
        send_items(self, "BF.MADD", name, from);
        (void)read_ones(self);
    }
}

static void assert_all_there(struct client *self, const char *name)
{
    for (int from = 0; from < KEYS; from += BATCH) {
        send_items(self, "BF.MEXISTS", name, from);
        cr_assert_eq(read_ones(self), BATCH, "of item-%d and those behind", from);
    }
    send_items(self, "BF.MEXISTS", name, 100 * KEYS);
    cr_assert_lt(read_ones(self), BATCH / 10, "it has not everything");
}

static void check_exists(struct client *self, const char *name, const char *answer)
{
    send_begin(self, 3);
    send_text(self, "BF.EXISTS");
    send_text(self, name);
    send_text(self, "item-1");
    expect(self, answer);
}

/* ---- dumps ---- */

struct dump {
    struct chunk {
        int64_t iterator;
        char *bytes;
        size_t size;
    } chunks[MOST_CHUNKS];
    size_t count;
};

static void send_scan(struct client *self, const char *name, int64_t iterator)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%" PRId64, iterator);
    send_begin(self, 3);
    send_text(self, "BF.SCANDUMP");
    send_text(self, name);
    send_text(self, text);
}

/* `busy`: a connection that adds more of them meanwhile; NULL: none. */
static void dump_filter(struct client *self, const char *name, struct client *busy,
                        struct dump *dump)
{
    int64_t iterator = 0;
    int more = KEYS;

    dump->count = 0;
    do {
        struct chunk *chunk = &dump->chunks[dump->count++];

        cr_assert_lt(dump->count, MOST_CHUNKS);
        if (busy != NULL) {
            send_items(busy, "BF.MADD", name, more);
        }
        send_scan(self, name, iterator);
        cr_assert_eq(read_number(self, '*'), 2);
        chunk->iterator = iterator = read_number(self, ':');
        chunk->bytes = read_bulk(self, &chunk->size);
        if (busy != NULL) {
            (void)read_ones(busy);
            more += BATCH;
        }
    } while (iterator != 0);
    cr_assert_eq(dump->chunks[--dump->count].size, 0, "the end is empty");
    free(dump->chunks[dump->count].bytes);
    cr_assert_geq(dump->count, 3, "a header and several chunks");
    cr_assert_eq(dump->chunks[0].iterator, 1);
}

static void forget(struct dump *dump)
{
    for (size_t i = 0; i < dump->count; i++) {
        free(dump->chunks[i].bytes);
    }
}

static void send_load(struct client *self, const char *name, int64_t iterator, const void *bytes,
                      size_t size)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%" PRId64, iterator);
    send_begin(self, 4);
    send_text(self, "BF.LOADCHUNK");
    send_text(self, name);
    send_text(self, text);
    send_argument(self, bytes, size);
}

static void load_chunk(struct client *self, const char *name, const struct chunk *chunk,
                       const char *answer)
{
    send_load(self, name, chunk->iterator, chunk->bytes, chunk->size);
    expect(self, answer);
}

static void load_from(struct client *self, const char *name, const struct dump *dump, size_t first)
{
    for (size_t i = first; i < dump->count; i++) {
        load_chunk(self, name, &dump->chunks[i], "+OK");
    }
}

static void start(struct client *client)
{
    (void)signal(SIGPIPE, SIG_IGN);
    playground_start(&playground, &(struct playground_plan){.nodes = 3});
    dial(client, &playground);
}

static void start_with_filter(struct client *client, struct dump *dump)
{
    start(client);
    reserve(client, "from");
    add_items(client, "from", 0, KEYS);
    dump_filter(client, "from", NULL, dump);
}

static void stop(struct client *client)
{
    hang_up(client);
    playground_stop(&playground);
}

/* ---- tests ---- */

Test(resp_dump, a_copy_has_all_that_was_acknowledged_and_can_grow, .timeout = LIMIT_S)
{
    struct client client;
    struct client busy;
    struct dump dump;

    start(&client);
    dial(&busy, &playground);
    reserve(&client, "from");
    add_items(&client, "from", 0, KEYS);
    dump_filter(&client, "from", &busy, &dump);
    load_from(&client, "to", &dump, 0);
    assert_all_there(&client, "to");
    playground_wait_status("0.1 %"); /* Loaded so fast, it has grown by itself, or does. */
    add_items(&client, "to", KEYS, 2 * KEYS);
    assert_all_there(&client, "to");
    add_items(&client, "to", 10 * KEYS, 10 * KEYS + BATCH);
    hang_up(&busy);
    stop(&client);

    /* Another cluster has another key, other nodes, and the same hash secret. */
    playground_start(&playground, &(struct playground_plan){.nodes = 4});
    dial(&client, &playground);
    load_from(&client, "from", &dump, 0);
    assert_all_there(&client, "from");
    forget(&dump);
    stop(&client);
}

/* What node-1 missed is on the others; then one of these is gone, and at last too few are left. */
Test(resp_dump, nodes_that_are_gone_or_lag_behind_hide_nothing, .timeout = LIMIT_S)
{
    struct client client;
    struct dump dump;

    start(&client);
    reserve(&client, "from");
    add_items(&client, "from", 0, KEYS / 2);
    playground_kill(&playground, "node-1");
    add_items(&client, "from", KEYS / 2, KEYS);
    playground_restart(&playground, "node-1");
    playground_wait_status("All shards have all their replicas FULL");
    playground_kill(&playground, "node-2");
    dump_filter(&client, "from", NULL, &dump);
    playground_kill(&playground, "node-3");
    send_scan(&client, "from", dump.chunks[0].iterator);
    expect(&client, "-UNAVAILABLE ");
    playground_restart(&playground, "node-2");
    playground_restart(&playground, "node-3");
    playground_wait_status("All shards have all their replicas FULL");
    load_from(&client, "to", &dump, 0);
    assert_all_there(&client, "to");
    forget(&dump);
    stop(&client);
}

Test(resp_dump, a_load_goes_on_after_the_router_was_killed, .timeout = LIMIT_S)
{
    struct client client;
    struct dump dump;

    start_with_filter(&client, &dump);
    load_chunk(&client, "to", &dump.chunks[0], "+OK");
    load_chunk(&client, "to", &dump.chunks[1], "+OK");
    send_load(&client, "to", dump.chunks[2].iterator, dump.chunks[2].bytes,
              dump.chunks[2].size / 2);
    playground_kill(&playground, "router");
    hang_up(&client);
    playground_restart(&playground, "router");
    dial(&client, &playground);
    check_exists(&client, "to", "-NOT_READY ");
    load_from(&client, "to", &dump, 1);
    assert_all_there(&client, "to");
    forget(&dump);
    stop(&client);
}

Test(resp_dump, a_filter_that_is_being_loaded_serves_nobody, .timeout = LIMIT_S)
{
    struct client client;
    struct dump dump;

    start_with_filter(&client, &dump);
    load_chunk(&client, "to", &dump.chunks[0], "+OK");
    load_chunk(&client, "to", &dump.chunks[1], "+OK");
    check_exists(&client, "to", "-NOT_READY ");
    send_raw(&client, "BF.ADD to item\r\nBF.INFO to\r\nBF.CARD to\r\nBF.SCANDUMP to 0\r\n"
                      "BF.RESERVE to 0.01 100\r\nEXISTS to\r\nTYPE to\r\nDBSIZE\r\n");
    for (int i = 0; i < 4; i++) {
        expect(&client, "-NOT_READY ");
    }
    expect(&client, "-NAME_BUSY ");
    expect(&client, ":0");
    expect(&client, "+none");
    expect(&client, ":1");
    playground_wait_status("being loaded");
    send_raw(&client, "DEL to\r\nEXISTS to\r\n");
    expect(&client, ":1");
    expect(&client, ":0");
    load_chunk(&client, "to", &dump.chunks[1], "-ERR not found");
    load_from(&client, "to", &dump, 0);
    assert_all_there(&client, "to");
    load_chunk(&client, "to", &dump.chunks[0], "-ERR item exists");
    forget(&dump);
    stop(&client);
}

static void set_load_timeout(const char *line)
{
    char path[128];
    FILE *file;

    playground_kill(&playground, "coordinator");
    (void)snprintf(path, sizeof path, "%s/coordinator/conf", playground.dir);
    file = fopen(path, "a");
    cr_assert_not_null(file, "%s: %s", path, strerror(errno));
    cr_assert_gt(fprintf(file, "%s\n", line), 0);
    cr_assert_eq(fclose(file), 0);
    playground_restart(&playground, "coordinator");
}

Test(resp_dump, a_load_that_is_left_disappears, .timeout = LIMIT_S)
{
    struct client client;
    struct dump dump;

    start_with_filter(&client, &dump);
    set_load_timeout("load_timeout = \"3s\";");
    playground_wait_status("All shards have all their replicas FULL");
    load_chunk(&client, "to", &dump.chunks[0], "+OK");
    playground_wait_counter(&playground, "coordinator", "loads_given_up_total", 1);
    playground_wait_counter(&playground, "coordinator", "filters_dropped_total", 1);
    load_chunk(&client, "to", &dump.chunks[1], "-ERR not found");
    check_exists(&client, "to", ":0");
    reserve(&client, "to");
    check_exists(&client, "to", ":0");
    load_chunk(&client, "to", &dump.chunks[1], "-ERR received bad data");
    forget(&dump);
    stop(&client);
}

/* Of each chunk: some bits turned, some bytes missing or too many. */
static void refuse_bent(struct client *client, const struct chunk *chunk)
{
    static const char answer[] = "-ERR received bad data";
    char *bytes = malloc(chunk->size + 1);

    cr_assert_not_null(bytes);
    memcpy(bytes, chunk->bytes, chunk->size);
    bytes[chunk->size] = 0;
    for (size_t at = 0; at < chunk->size; at += chunk->size / 16) {
        bytes[at] ^= 4;
        send_load(client, "to", chunk->iterator, bytes, chunk->size);
        expect(client, answer);
        bytes[at] ^= 4;
        send_load(client, "to", chunk->iterator, bytes, at);
        expect(client, answer);
    }
    send_load(client, "to", chunk->iterator, bytes, chunk->size + 1);
    expect(client, answer);
    free(bytes);
}

Test(resp_dump, what_is_no_chunk_is_refused, .timeout = LIMIT_S)
{
    struct client client;
    struct dump dump;
    struct dump other;

    start_with_filter(&client, &dump);
    reserve(&client, "other");
    add_items(&client, "other", 0, KEYS);
    dump_filter(&client, "other", NULL, &other);
    refuse_bent(&client, &dump.chunks[0]);
    load_chunk(&client, "to", &dump.chunks[1], "-ERR not found");
    load_chunk(&client, "to", &dump.chunks[0], "+OK");
    refuse_bent(&client, &dump.chunks[1]);
    load_chunk(&client, "to", &dump.chunks[2], "-ERR invalid offset - no link found");
    load_chunk(&client, "to", &other.chunks[0], "-ERR item exists");
    load_chunk(&client, "to", &other.chunks[1], "-ERR received bad data");
    load_chunk(&client, "to", &dump.chunks[1], "+OK");
    load_chunk(&client, "to", &dump.chunks[1], "+OK");
    send_load(&client, "to", dump.chunks[2].iterator + 1, dump.chunks[2].bytes,
              dump.chunks[2].size);
    expect(&client, "-ERR invalid offset - no link found");
    load_from(&client, "to", &dump, 2);
    load_chunk(&client, "to", &dump.chunks[dump.count - 1], "+OK");
    assert_all_there(&client, "to");
    send_raw(&client, "BF.LOADCHUNK to x y\r\nBF.SCANDUMP to x\r\nBF.SCANDUMP nothing 0\r\n");
    expect(&client, "-ERR Second argument must be numeric");
    expect(&client, "-Second argument must be numeric");
    expect(&client, "-ERR not found");
    forget(&dump);
    forget(&other);
    stop(&client);
}

Test(resp_dump, what_is_in_memory_only_is_not_dumped, .timeout = LIMIT_S)
{
    struct client client;

    (void)signal(SIGPIPE, SIG_IGN);
    playground_start(&playground, &(struct playground_plan){.in_memory = true});
    dial(&client, &playground);
    reserve(&client, "from");
    send_scan(&client, "from", 0);
    expect(&client, "-ERR INVALID only a filter with a key log");
    stop(&client);
}
