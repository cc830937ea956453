/* Do the MACs of questions and answers about a start cover all that is believed of them? */
#include "proto/boot_seal.h"

#include <criterion/criterion.h>
#include <string.h>

static struct cluster_key key(uint8_t first)
{
    const uint8_t master[SEAL_KEY_BYTES] = {first, 2, 3};
    struct cluster_key derived;

    cluster_key_derive(master, &derived);
    return derived;
}

Test(boot_seal, a_question)
{
    const struct cluster_key signer = key(1);
    const struct cluster_key other = key(9);
    struct boot_request request = {.question = {.node = 1,
                                                .incarnation = 2,
                                                .boot = 3,
                                                .before = {4, 5},
                                                .ends = {8, 9},
                                                .nbefore = 2,
                                                .position = 6,
                                                .reached = 7}};
    struct boot_request bent;

    boot_request_sign(&signer, &request);
    cr_assert_eq(boot_request_verify(&signer, &request), STATUS_OK);
    cr_assert_eq(boot_request_verify(&other, &request), STATUS_UNAUTHENTIC);
#define BENT(field)  \
    bent = request;  \
    bent.field ^= 1; \
    cr_assert_eq(boot_request_verify(&signer, &bent), STATUS_UNAUTHENTIC, #field)
    BENT(question.node);
    BENT(question.incarnation);
    BENT(question.boot);
    BENT(question.before[0]);
    BENT(question.before[1]);
    BENT(question.ends[0]);
    BENT(question.ends[1]);
    BENT(question.nbefore);
    BENT(question.position);
    BENT(question.reached);
    BENT(mac[5]);
#undef BENT
    bent = request;
    bent.confirm = true;
    cr_assert_eq(boot_request_verify(&signer, &bent), STATUS_UNAUTHENTIC);
}

Test(boot_seal, an_answer)
{
    const struct cluster_key signer = key(1);
    struct boot_reply reply = {STATUS_OK, 1, 2, 3, false, 4, {0}};
    struct boot_reply bent;

    boot_reply_sign(&signer, &reply);
    cr_assert_eq(boot_reply_verify(&signer, &reply), STATUS_OK);
#define BENT(field, value) \
    bent = reply;          \
    bent.field = value;    \
    cr_assert_eq(boot_reply_verify(&signer, &bent), STATUS_UNAUTHENTIC, #field)
    BENT(status, STATUS_STALE);
    BENT(node, 9);
    BENT(incarnation, 9);
    BENT(boot, 9);
    BENT(confirmed, true);
    BENT(position, 9);
#undef BENT
}
