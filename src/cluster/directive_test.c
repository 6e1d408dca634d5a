/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/directive.h"

#include "base/test.h"

/* Rows: from seat; columns: to seat. */
static void links_are_a_ring_or_those_of_servers(void **state)
{
    (void)state;
    static const struct {
        uint32_t seats;
        const char *serve, *links[4];
    } cases[] = {
        {1, "0", {"0"}},
        {2, "00", {"01", "10"}},
        {4, "0000", {"0100", "0010", "0001", "1000"}},
        {1, "1", {"0"}},
        {2, "11", {"01", "00"}},
        {2, "01", {"01", "00"}},
        {4, "1111", {"0111", "0011", "0001", "0000"}},
        {4, "0100", {"0100", "0011", "0000", "0000"}},
        {4, "1001", {"0111", "0001", "0001", "0000"}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        sh_directive directive = {.seat_count = cases[c].seats};
        for (uint32_t i = 0; i < cases[c].seats; i++)
            directive.seats[i].serves = cases[c].serve[i] == '1';
        for (uint32_t i = 0; i < cases[c].seats; i++)
            for (uint32_t k = 0; k < cases[c].seats; k++)
                assert_int_equal(sh_directive_links(&directive, i, k), cases[c].links[i][k] - '0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_are_a_ring_or_those_of_servers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
