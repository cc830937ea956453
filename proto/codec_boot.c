/* What nodes ask each other about a start. */
#include "proto/codec_body.h"

/* Starts before, each with where its log ended: two lists of numbers, of one length. */
static enum status put_before(struct codec_scratch *scratch, const void *ours, void *wire)
{
    const struct boot_question *question = &((const struct boot_request *)ours)->question;
    Orbloom__V1__BootRequest *message = wire;

    (void)scratch;
    if (question->nbefore > BOOT_MAX_BEFORE) {
        return STATUS_TOO_LARGE;
    }
    message->before = (uint64_t *)question->before;
    message->n_before = question->nbefore;
    message->ends = (uint64_t *)question->ends;
    message->n_ends = question->nbefore;
    return STATUS_OK;
}

static enum status get_before(struct codec_arena *arena, const void *wire, void *ours)
{
    const Orbloom__V1__BootRequest *message = wire;
    struct boot_question *question = &((struct boot_request *)ours)->question;

    (void)arena;
    if (message->n_before > BOOT_MAX_BEFORE) {
        return STATUS_TOO_LARGE;
    }
    if (message->n_ends != message->n_before) {
        return STATUS_MALFORMED;
    }
    question->nbefore = (uint32_t)message->n_before;
    for (size_t i = 0; i < message->n_before; i++) {
        question->before[i] = message->before[i];
        question->ends[i] = message->ends[i];
    }
    return STATUS_OK;
}

#define WIRE_boot_request Orbloom__V1__BootRequest
static const struct binding boot_request_rows[] = {
    ROW_AS(boot_request, question.node, node, UINT32),
    ROW_AS(boot_request, question.incarnation, incarnation, UINT64),
    ROW_AS(boot_request, question.boot, boot, UINT64),
    ROW_AS(boot_request, question.position, position, UINT64),
    ROW_AS(boot_request, question.reached, reached, UINT64),
    ROW(boot_request, confirm, BOOL),
    ROW(boot_request, nodes, DOCUMENT),
    BY_HAND(boot_request, before, put_before, get_before),
    BY_HAND(boot_request, ends, NULL, NULL),
    ROW(boot_request, mac, BYTES),
};
BINDING_TABLE(boot_request, boot_request, NULL);

#define WIRE_boot_reply Orbloom__V1__BootReply
static const struct binding boot_reply_rows[] = {
    ROW(boot_reply, status, STATUS),      ROW(boot_reply, node, UINT32),
    ROW(boot_reply, incarnation, UINT64), ROW(boot_reply, boot, UINT64),
    ROW(boot_reply, confirmed, BOOL),     ROW(boot_reply, position, UINT64),
    ROW(boot_reply, mac, BYTES),
};
BINDING_TABLE(boot_reply, boot_reply, NULL);
