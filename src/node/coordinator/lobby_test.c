/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/lobby.h"

#include <stdio.h>

#include "base/test.h"

static uint32_t count(const sh_lobby *lobby)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < SH_LOBBY_MAX; i++)
        taken += lobby->places[i].guest != 0;
    return taken;
}

static void a_host_displaces_its_own(void **state)
{
    (void)state;
    sh_lobby lobby = {0};
    assert_int_equal(sh_lobby_enter(&lobby, 1, "192.0.2.1", 0), 0);
    for (uint64_t guest = 2; guest < 2 + SH_LOBBY_HOST_MAX; guest++)
        assert_int_equal(sh_lobby_enter(&lobby, guest, "192.0.2.9", 0), 0);
    for (uint64_t guest = 2; guest < 500; guest++)
        assert_int_equal(sh_lobby_enter(&lobby, guest + SH_LOBBY_HOST_MAX, "192.0.2.9", 0), guest);
    assert_int_equal(count(&lobby), 1 + SH_LOBBY_HOST_MAX);
    sh_lobby_leave(&lobby, 1); /* still there */
    assert_int_equal(count(&lobby), SH_LOBBY_HOST_MAX);
}

static void of_many_hosts_the_first_to_come_gives_way(void **state)
{
    (void)state;
    sh_lobby lobby = {0};
    char host[SH_ADDRESS_TEXT];
    for (uint64_t guest = 1; guest <= 512; guest++) {
        snprintf(host, sizeof host, "192.0.2.%d", (int)(guest % 200));
        assert_int_equal(sh_lobby_enter(&lobby, guest, host, 0),
                         guest > SH_LOBBY_MAX ? guest - SH_LOBBY_MAX : 0);
    }
    assert_int_equal(count(&lobby), SH_LOBBY_MAX);
}

static void who_says_nothing_has_to_go(void **state)
{
    (void)state;
    sh_lobby lobby = {0};
    assert_int_equal(sh_lobby_enter(&lobby, 1, "a", 100), 0);
    assert_int_equal(sh_lobby_enter(&lobby, 2, "b", 200), 0);
    assert_int_equal(sh_lobby_enter(&lobby, 3, "c", 300), 0);
    sh_lobby_leave(&lobby, 2);
    assert_int_equal(sh_lobby_overdue(&lobby, 99 + SH_LOBBY_PATIENCE_MS), 0);
    assert_int_equal(sh_lobby_overdue(&lobby, 100 + SH_LOBBY_PATIENCE_MS), 1);
    assert_int_equal(sh_lobby_overdue(&lobby, 299 + SH_LOBBY_PATIENCE_MS), 0);
    assert_int_equal(sh_lobby_overdue(&lobby, 300 + SH_LOBBY_PATIENCE_MS), 3);
    assert_int_equal(sh_lobby_overdue(&lobby, 9 * SH_LOBBY_PATIENCE_MS), 0);
    sh_lobby_leave(&lobby, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_displaces_its_own),
        cmocka_unit_test(of_many_hosts_the_first_to_come_gives_way),
        cmocka_unit_test(who_says_nothing_has_to_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
