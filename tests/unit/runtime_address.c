/* Endpoints as people write them, and back. */
#include "runtime/address.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>

static void expect(const char *endpoint, const char *told)
{
    struct sockaddr_storage address = {0};
    socklen_t length = address_resolve(endpoint, &address);
    char text[ADDRESS_BYTES] = "as it was";

    cr_assert_gt(length, 0, "%s", endpoint);
    address_tell(&address, length, text);
    cr_expect_str_eq(text, told, "%s", endpoint);
}

Test(runtime_address, an_endpoint_is_told_in_numbers)
{
    expect("tcp://127.0.0.1:7401", "tcp://127.0.0.1:7401");
    expect("127.0.0.1:7401", "tcp://127.0.0.1:7401");
    expect("tcp://127.0.0.1:*", "tcp://127.0.0.1:0");
    expect("tcp://[::1]:7401", "tcp://[::1]:7401");
    expect("tcp://*:7401", "tcp://0.0.0.0:7401");
}

Test(runtime_address, what_is_none_changes_nothing)
{
    static const char *const none[] = {"", "tcp://", "tcp://127.0.0.1", "tcp://:x",
                                       "tcp://no.such.host.invalid:1"};
    char text[ADDRESS_BYTES] = "as it was";
    struct sockaddr_storage address;

    memset(&address, 7, sizeof address);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        cr_expect_eq(address_resolve(none[i], &address), 0, "%s", none[i]);
    }
    cr_expect_eq(((const char *)&address)[0], 7);
    address_tell(&address, 0, text);
    cr_expect_str_eq(text, "as it was");
}

Test(runtime_address, a_host_that_is_too_long_is_none)
{
    struct sockaddr_storage address;
    char endpoint[2 * ADDRESS_BYTES];

    memset(endpoint, 'a', sizeof endpoint);
    memcpy(endpoint + sizeof endpoint - 4, ":99", 4);
    cr_expect_eq(address_resolve(endpoint, &address), 0);
}

Test(runtime_address, the_host_is_what_a_certificate_must_name)
{
    static const struct {
        const char *endpoint;
        const char *host;
    } cases[] = {{"tcp://cache.example:6380", "cache.example"},
                 {"cache.example:6380", "cache.example"},
                 {"[::1]:6380", "::1"},
                 {"127.0.0.1:*", "127.0.0.1"},
                 {":6380", ""}};
    char long_one[2 * ADDRESS_BYTES];
    char host[ADDRESS_BYTES] = "as it was";

    cr_assert_not(address_host("tcp://cache.example", host));
    memset(long_one, 'x', sizeof long_one);
    memcpy(long_one + sizeof long_one - 3, ":1", 3);
    cr_assert_not(address_host(long_one, host));
    cr_assert_str_eq(host, "as it was");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_assert(address_host(cases[i].endpoint, host), "%s", cases[i].endpoint);
        cr_assert_str_eq(host, cases[i].host);
    }
}
