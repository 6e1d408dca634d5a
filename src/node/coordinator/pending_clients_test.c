/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/pending_clients.h"

#include <stdio.h>

#include "base/test.h"

static uint32_t count(const sh_pending_clients *pending)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < SH_PENDING_CLIENTS_MAX; i++)
        taken += pending->places[i].client != 0;
    return taken;
}

static void a_host_displaces_its_own(void **state)
{
    (void)state;
    sh_pending_clients pending = {0};
    assert_int_equal(sh_pending_clients_enter(&pending, 1, "192.0.2.1", 0), 0);
    for (uint64_t client = 2; client < 2 + SH_PENDING_CLIENTS_HOST_MAX; client++)
        assert_int_equal(sh_pending_clients_enter(&pending, client, "192.0.2.9", 0), 0);
    for (uint64_t client = 2; client < 500; client++)
        assert_int_equal(sh_pending_clients_enter(&pending, client + SH_PENDING_CLIENTS_HOST_MAX,
                                                  "192.0.2.9", 0),
                         client);
    assert_int_equal(count(&pending), 1 + SH_PENDING_CLIENTS_HOST_MAX);
    sh_pending_clients_leave(&pending, 1); /* still there */
    assert_int_equal(count(&pending), SH_PENDING_CLIENTS_HOST_MAX);
}

static void of_many_hosts_the_first_to_come_gives_way(void **state)
{
    (void)state;
    sh_pending_clients pending = {0};
    char host[SH_ADDRESS_TEXT];
    for (uint64_t client = 1; client <= 512; client++) {
        snprintf(host, sizeof host, "192.0.2.%d", (int)(client % 200));
        assert_int_equal(sh_pending_clients_enter(&pending, client, host, 0),
                         client > SH_PENDING_CLIENTS_MAX ? client - SH_PENDING_CLIENTS_MAX : 0);
    }
    assert_int_equal(count(&pending), SH_PENDING_CLIENTS_MAX);
}

static void who_says_nothing_has_to_go(void **state)
{
    (void)state;
    sh_pending_clients pending = {0};
    assert_int_equal(sh_pending_clients_enter(&pending, 1, "a", 100), 0);
    assert_int_equal(sh_pending_clients_enter(&pending, 2, "b", 200), 0);
    assert_int_equal(sh_pending_clients_enter(&pending, 3, "c", 300), 0);
    sh_pending_clients_leave(&pending, 2);
    assert_int_equal(sh_pending_clients_overdue(&pending, 99 + SH_PENDING_CLIENTS_PATIENCE_MS), 0);
    assert_int_equal(sh_pending_clients_overdue(&pending, 100 + SH_PENDING_CLIENTS_PATIENCE_MS), 1);
    assert_int_equal(sh_pending_clients_overdue(&pending, 299 + SH_PENDING_CLIENTS_PATIENCE_MS), 0);
    assert_int_equal(sh_pending_clients_overdue(&pending, 300 + SH_PENDING_CLIENTS_PATIENCE_MS), 3);
    assert_int_equal(sh_pending_clients_overdue(&pending, 9 * SH_PENDING_CLIENTS_PATIENCE_MS), 0);
    sh_pending_clients_leave(&pending, 3);
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
