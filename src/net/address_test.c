/* SPDX-License-Identifier: Apache-2.0 */
#include "net/address.h"

#include "base/test.h"

static const struct {
    const char *host;
    uint16_t port;
    const char *alone, *with_port;
} cases[] = {
    {"127.0.0.1", 7077, "127.0.0.1", "127.0.0.1:7077"},
    {"::1", 1, "::1", "[::1]:1"},
    {"::ffff:10.1.2.3", 65535, "10.1.2.3", "10.1.2.3:65535"},
    {"2001:db8::5", 80, "2001:db8::5", "[2001:db8::5]:80"},
};

static void numeric_hosts_are_found_and_printed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_address found[SH_ADDRESS_FOUND_MAX];
        size_t count = 0;
        char text[SH_ADDRESS_TEXT];
        assert_ok(sh_address_find(found, &count, cases[i].host, cases[i].port));
        assert_int_equal(count, 1);
        sh_address_print_host(text, &found[0]);
        assert_string_equal(text, cases[i].alone);
        sh_address_print(text, &found[0]);
        assert_string_equal(text, cases[i].with_port);
        assert_int_equal(sh_address_port(&found[0]), cases[i].port);
    }
}

static void what_is_no_host_fails(void **state)
{
    (void)state;
    sh_address found[SH_ADDRESS_FOUND_MAX];
    size_t count;
    assert_fails(sh_address_find(found, &count, "fe80::1%no-such-zone", 1), SH_NETWORK,
                 "could not find the address of 'fe80::1%no-such-zone'");
    char text[SH_ADDRESS_TEXT];
    sh_address none;
    sh_address_of_peer(&none, -1);
    sh_address_print(text, &none);
    assert_string_equal(text, "unknown:0");
    sh_address_of_socket(&none, -1);
    assert_int_equal(sh_address_port(&none), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numeric_hosts_are_found_and_printed),
        cmocka_unit_test(what_is_no_host_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
