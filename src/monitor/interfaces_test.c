/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/interfaces.h"

#include "base/test.h"

#define HEADINGS                                                                                   \
    "Inter-|   Receive                            |  Transmit\n"                                   \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n"
#define LOOPBACK "    lo: 1000 10 0 0 0 0 0 0 1000 10 0 0 0 0 0 0\n"

static void all_but_the_loopback_are_added(void **state)
{
    (void)state;
    sh_interfaces sums;
    assert_true(sh_interfaces_sum(&sums,
                                  HEADINGS LOOPBACK "  eth0: 100 2 9 9 9 9 9 9 300 4 9 9 9 9 9 9\n"
                                                    "wlan0:50 1 0 0 0 0 0 0 60 1 0 0 0 0 0 0\n"
                                                    "  lo2: 7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0\n"));
    assert_float_equal(sums.received_bytes, 157, 0);
    assert_float_equal(sums.received_packets, 4, 0);
    assert_float_equal(sums.sent_bytes, 368, 0);
    assert_float_equal(sums.sent_packets, 6, 0);
}

static void what_is_malformed_is_not_available(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\n\n\n",
        HEADINGS,
        HEADINGS LOOPBACK,
        HEADINGS "eth0 1 2 3 4 5 6 7 8 9 10\n",
        HEADINGS "eth0: 1 2 3 4 5 6 7 8 9\n",
        HEADINGS "eth0: 1 2 3 4 5 6 7 8 -9 10\n",
        HEADINGS "eth0: 1 2 3 4 5 6 7 8 x 10\n",
        HEADINGS "eth0: 1 2 3 4 5 6 7 8 9 10\n\n",
        HEADINGS "eth0: 1 2 3 4 5 6 7 8 9\neth1: 1 2 3 4 5 6 7 8 9 10\n",
    };
    sh_interfaces sums = {.sent_bytes = 5};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (sh_interfaces_sum(&sums, texts[i]) || sums.sent_bytes != 5)
            fail_msg("text %zu gave sums", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_but_the_loopback_are_added),
        cmocka_unit_test(what_is_malformed_is_not_available),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
