/* Packets between sites: whose they are, and that checksums still hold on the other side. */
#include "bench/wan/packet.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <string.h>

enum { SITES = 4, HEADER = 20, BODY = 37, SIZE = HEADER + BODY };

static uint32_t sum_words(const uint8_t *at, size_t size, uint32_t sum)
{
    for (size_t i = 0; i < size; i++) {
        sum += i % 2 == 0 ? (uint32_t)at[i] << 8 : at[i];
    }
    while (sum >> 16 != 0) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

/* Of header, and of what TCP and UDP cover. */
static uint32_t header_sum(const uint8_t *packet)
{
    return sum_words(packet, HEADER, 0);
}

static uint32_t inner_sum(const uint8_t *packet)
{
    return sum_words(packet + 12, SIZE - 12, packet[9] + BODY);
}

static void put_word(uint8_t *at, uint32_t word)
{
    at[0] = (uint8_t)(word >> 8);
    at[1] = (uint8_t)word;
}

static void put_address(uint8_t *at, uint32_t address)
{
    put_word(at, address >> 16);
    put_word(at + 2, address & 0xffff);
}

static void make(uint8_t packet[SIZE], uint8_t protocol, uint32_t source, uint32_t target)
{
    size_t checksum = HEADER + (protocol == IPPROTO_TCP ? 16 : 6);

    for (size_t i = 0; i < SIZE; i++) {
        packet[i] = (uint8_t)(i * 37 + 11);
    }
    memset(packet, 0, HEADER);
    packet[0] = 0x45;
    put_word(packet + 2, SIZE);
    packet[9] = protocol;
    put_address(packet + 12, source);
    put_address(packet + 16, target);
    put_word(packet + 10, ~header_sum(packet) & 0xffff);
    put_word(packet + checksum, 0);
    put_word(packet + checksum, ~inner_sum(packet) & 0xffff);
}

Test(wan_packet, checksums_hold_whichever_way_it_goes)
{
    static const uint8_t protocols[] = {IPPROTO_TCP, IPPROTO_UDP};
    uint8_t packet[SIZE];
    uint8_t wanted[SIZE];

    for (uint32_t way = 0; way < 2 * SITES * SITES; way++) {
        uint32_t from = way / 2 / SITES;
        uint32_t to = way / 2 % SITES;

        if (from == to) {
            continue;
        }
        make(packet, protocols[way % 2], packet_address(from, from), packet_address(from, to));
        make(wanted, protocols[way % 2], packet_address(to, from), packet_address(to, to));
        cr_assert_eq(packet_target(packet, SIZE, from, SITES), (int)to);
        packet_carry_over(packet, SIZE, from, to);
        cr_assert_arr_eq(packet, wanted, SIZE, "from %u to %u", from, to);
    }
}

Test(wan_packet, what_has_no_checksum_gets_none)
{
    uint8_t packet[SIZE];
    uint8_t body[BODY];

    make(packet, IPPROTO_UDP, packet_address(0, 0), packet_address(0, 1));
    put_word(packet + HEADER + 6, 0);
    memcpy(body, packet + HEADER, BODY);
    packet_carry_over(packet, SIZE, 0, 1);
    cr_assert_arr_eq(packet + HEADER, body, BODY);

    make(packet, IPPROTO_TCP, packet_address(0, 0), packet_address(0, 1));
    put_word(packet + 6, 100); /* a later fragment */
    memcpy(body, packet + HEADER, BODY);
    packet_carry_over(packet, SIZE, 0, 1);
    cr_assert_arr_eq(packet + HEADER, body, BODY);
}

Test(wan_packet, what_is_not_between_sites_goes_nowhere)
{
    uint8_t packet[SIZE];

    make(packet, IPPROTO_TCP, packet_address(0, 0), packet_address(0, 1));
    cr_assert_eq(packet_target(packet, SIZE, 0, 2), 1);
    cr_assert_eq(packet_target(packet, SIZE, 1, 2), -1, "of another site");
    cr_assert_eq(packet_target(packet, SIZE, 0, 1), -1, "there is no such site");
    cr_assert_eq(packet_target(packet, HEADER - 1, 0, 2), -1);
    packet[0] = 0x4f;
    cr_assert_eq(packet_target(packet, SIZE, 0, 2), -1, "its header is longer than it is");
    packet[0] = 0x60;
    cr_assert_eq(packet_target(packet, SIZE, 0, 2), -1, "IPv6");
    make(packet, IPPROTO_TCP, packet_address(0, 0), packet_address(0, 0));
    cr_assert_eq(packet_target(packet, SIZE, 0, 2), -1, "to itself");
    make(packet, IPPROTO_TCP, packet_address(0, 1), packet_address(0, 1));
    cr_assert_eq(packet_target(packet, SIZE, 0, 2), -1, "from another network");
}
