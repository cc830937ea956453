/* Reads and rewrites addresses in IPv4 headers, and amends the checksums for that. */
#include "bench/wan/packet.h"

#include <netinet/in.h>
#include <stdbool.h>

#define NETWORK UINT32_C(0x0a4e0000) /* 10.78.0.0 */

enum { HEADER_BYTES = 20, FRAGMENT = 6, PROTOCOL = 9, CHECKSUM = 10, SOURCE = 12, TARGET = 16 };
enum { TCP_CHECKSUM = 16, UDP_CHECKSUM = 6, OFFSET_MASK = 0x1fff };

static uint16_t get_word(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static void put_word(uint8_t *at, uint32_t word)
{
    at[0] = (uint8_t)(word >> 8);
    at[1] = (uint8_t)word;
}

static uint32_t get_address(const uint8_t *at)
{
    return (uint32_t)get_word(at) << 16 | get_word(at + 2);
}

static size_t header_bytes(const uint8_t *packet)
{
    return (size_t)(packet[0] & 15) * 4;
}

uint32_t packet_address(uint32_t site, uint32_t other)
{
    return NETWORK | (site + 1) << 8 | (other + 1);
}

int packet_target(const uint8_t *packet, size_t size, uint32_t from, uint32_t sites)
{
    if (size < HEADER_BYTES || packet[0] >> 4 != 4 || header_bytes(packet) < HEADER_BYTES ||
        header_bytes(packet) > size || get_address(packet + SOURCE) != packet_address(from, from)) {
        return -1;
    }
    for (uint32_t to = 0; to < sites; to++) {
        if (to != from && get_address(packet + TARGET) == packet_address(from, to)) {
            return (int)to;
        }
    }
    return -1;
}

/* A checksum after two words that it covers have grown by `more` (RFC 1624). */
static void amend(uint8_t *checksum, uint16_t more)
{
    uint32_t sum = (uint16_t)~get_word(checksum) + 2u * more;

    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    put_word(checksum, ~sum & 0xffff);
}

/* Where the checksum is that covers addresses, too; NULL: there is none. Of a packet in fragments
 * the first one has it; in UDP 0 stands for none. */
static uint8_t *inner_checksum(uint8_t *packet, size_t size)
{
    bool tcp = packet[PROTOCOL] == IPPROTO_TCP;
    size_t at = header_bytes(packet) + (tcp ? TCP_CHECKSUM : UDP_CHECKSUM);

    if ((!tcp && packet[PROTOCOL] != IPPROTO_UDP) ||
        (get_word(packet + FRAGMENT) & OFFSET_MASK) != 0 || at + 2 > size ||
        (!tcp && get_word(packet + at) == 0)) {
        return NULL;
    }
    return packet + at;
}

void packet_carry_over(uint8_t *packet, size_t size, uint32_t from, uint32_t to)
{
    uint8_t *inner = inner_checksum(packet, size);
    uint32_t difference = (to - from) << 8 & 0xffff;
    uint16_t more = (uint16_t)(to > from ? difference : difference - 1); /* as one's complement */

    packet[SOURCE + 2] = packet[TARGET + 2] = (uint8_t)(to + 1);
    amend(packet + CHECKSUM, more);
    if (inner != NULL) {
        amend(inner, more);
    }
}
