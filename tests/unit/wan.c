/* Sites in a network of our own, and packets of the kernel's between them. Where no such network
 * can be made, this is said and nothing is tried. */
#include "bench/wan/wan.h"

#include "bench/wan/space.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SITES = 3, PORT = 4711, TIMEOUT_S = 20, LOSSES = 200 };

static struct wan *wan;

static void enter(void)
{
    wan = space_leave() ? wan_open(SITES, 1) : NULL;
    if (wan == NULL) {
        (void)fprintf(stderr, "wan: not tried, no network of its own: %s\n", strerror(errno));
    }
}

static void leave(void)
{
    wan_close(&wan);
}

TestSuite(wan, .init = enter, .fini = leave, .timeout = 120);

static struct sockaddr_in address_of(uint32_t from, uint32_t to, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    char text[WAN_ADDRESS_BYTES];

    cr_assert_eq(inet_pton(AF_INET, wan_address(from, to, text), &address.sin_addr), 1);
    return address;
}

/* As that site's, at its own address. */
static int open_socket(uint32_t site, int type)
{
    const struct timeval limit = {.tv_sec = TIMEOUT_S};
    struct sockaddr_in address = address_of(site, site, PORT);
    int fd = socket(AF_INET, type, 0);

    cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void send_number(int fd, uint32_t from, uint32_t to, uint32_t number)
{
    struct sockaddr_in address = address_of(from, to, PORT);

    cr_assert_eq(sendto(fd, &number, sizeof number, 0, (struct sockaddr *)&address, sizeof address),
                 (ssize_t)sizeof number);
}

/* The next one at site `to`, which is to come from site `from`. */
static uint32_t receive_number(int fd, uint32_t from, uint32_t to)
{
    struct sockaddr_in wanted = address_of(to, from, PORT);
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    uint32_t number = 0;

    cr_assert_eq(recvfrom(fd, &number, sizeof number, 0, (struct sockaddr *)&address, &size),
                 (ssize_t)sizeof number, "%s", strerror(errno));
    cr_assert_eq(address.sin_addr.s_addr, wanted.sin_addr.s_addr);
    return number;
}

Test(wan, packets_go_from_each_site_to_each)
{
    int sockets[SITES];

    if (wan == NULL) {
        return;
    }
    for (uint32_t site = 0; site < SITES; site++) {
        sockets[site] = open_socket(site, SOCK_DGRAM);
    }
    for (uint32_t way = 0; way < SITES * SITES; way++) {
        if (way / SITES != way % SITES) {
            send_number(sockets[way / SITES], way / SITES, way % SITES, way);
            cr_assert_eq(receive_number(sockets[way % SITES], way / SITES, way % SITES), way);
        }
    }
    cr_assert_eq(wan_sum(wan).packets, SITES * (SITES - 1));
    cr_assert_eq(wan_sum(wan).bytes, SITES * (SITES - 1) * (20 + 8 + sizeof(uint32_t)));
    for (uint32_t site = 0; site < SITES; site++) {
        (void)close(sockets[site]);
    }
}

Test(wan, a_cut_of_one_direction_leaves_the_other)
{
    const struct line_kind cut = {.cut = true};
    const struct line_kind open = {0};
    int sockets[2];

    if (wan == NULL) {
        return;
    }
    sockets[0] = open_socket(0, SOCK_DGRAM);
    sockets[1] = open_socket(1, SOCK_DGRAM);
    wan_set(wan, 0, 1, &cut);
    send_number(sockets[0], 0, 1, 1);
    send_number(sockets[1], 1, 0, 2);
    cr_assert_eq(receive_number(sockets[0], 1, 0), 2);
    cr_assert_eq(wan_sum(wan).lost, 1);
    wan_set(wan, 0, 1, &open);
    send_number(sockets[0], 0, 1, 3);
    cr_assert_eq(receive_number(sockets[1], 0, 1), 3, "what was sent in the cut is lost");
    (void)close(sockets[0]);
    (void)close(sockets[1]);
}

Test(wan, what_chance_leaves_keeps_its_order)
{
    const struct line_kind half = {.delay_us = 1000, .loss = LINE_ALL / 2};
    const struct line_kind open = {0};
    uint32_t last = 0;
    int sockets[2];

    if (wan == NULL) {
        return;
    }
    sockets[0] = open_socket(0, SOCK_DGRAM);
    sockets[1] = open_socket(1, SOCK_DGRAM);
    wan_set(wan, 0, 1, &half);
    for (uint32_t number = 1; number < LOSSES; number++) {
        send_number(sockets[0], 0, 1, number);
    }
    while (wan_sum(wan).packets < LOSSES - 1) {
        (void)usleep(1000);
    }
    wan_set(wan, 0, 1, &open);
    send_number(sockets[0], 0, 1, LOSSES);
    for (uint64_t left = LOSSES - wan_sum(wan).lost; left > 0; left--) {
        uint32_t number = receive_number(sockets[1], 0, 1);

        cr_assert_gt(number, last);
        last = number;
    }
    cr_assert_eq(last, LOSSES);
    cr_assert(wan_sum(wan).lost > LOSSES / 4 && wan_sum(wan).lost < LOSSES * 3 / 4);
    (void)close(sockets[0]);
    (void)close(sockets[1]);
}

Test(wan, tcp_gets_through_losses)
{
    const struct line_kind bad = {.loss = LINE_ALL / 50};
    static uint8_t sent[1 << 20];
    static uint8_t got[sizeof sent];
    struct sockaddr_in address;
    size_t received = 0;
    int listener;
    int ends[2];

    if (wan == NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof sent; i++) {
        sent[i] = (uint8_t)(i * 31 + i / 251);
    }
    address = address_of(0, 1, PORT);
    listener = open_socket(1, SOCK_STREAM);
    cr_assert_eq(listen(listener, 1), 0);
    wan_set_all(wan, &bad);
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(ends[0], (struct sockaddr *)&address, sizeof address), 0);
    ends[1] = accept(listener, NULL, NULL);
    for (size_t at = 0; at < sizeof sent; at += 65536) {
        cr_assert_eq(send(ends[0], sent + at, 65536, 0), 65536);
        for (ssize_t size = 1; received < at + 65536 && size > 0; received += (size_t)size) {
            size = recv(ends[1], got + received, sizeof got - received, 0);
            cr_assert_gt(size, 0, "%s", strerror(errno));
        }
    }
    cr_assert_arr_eq(got, sent, sizeof sent);
    cr_assert_gt(wan_sum(wan).lost, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
    (void)close(listener);
}
