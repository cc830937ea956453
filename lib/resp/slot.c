/* The checksum over a key, or over the part of it between braces. */
#include "resp/slot.h"

enum { POLYNOMIAL = 0x1021 };

static uint32_t crc16(struct span bytes)
{
    uint32_t crc = 0;

    for (size_t i = 0; i < bytes.size; i++) {
        crc ^= (uint32_t)bytes.data[i] << 8;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc << 1 ^ ((crc & 0x8000) != 0 ? POLYNOMIAL : 0)) & 0xffff;
        }
    }
    return crc;
}

/* What counts of it. */
static struct span tag_of(struct span key)
{
    size_t open = 0;
    size_t close;

    while (open < key.size && key.data[open] != '{') {
        open++;
    }
    close = open + 1;
    while (close < key.size && key.data[close] != '}') {
        close++;
    }
    return close < key.size && close > open + 1 ? span_of(key.data + open + 1, close - open - 1)
                                                : key;
}

uint32_t resp_slot(struct span key)
{
    return crc16(tag_of(key)) % RESP_SLOTS;
}
