/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/member_state.h"

#include "cluster/membership_fixture.h"

static sh_member_state state_of(uint32_t device)
{
    sh_member_state found = {.grains = 77};
    assert_true(sh_membership_member(&found, membership, device));
    return found;
}

static void each_role_is_told(void **state)
{
    (void)state;
    const sh_link_speed link = {2e6, 1e6, 0.004};
    sh_member_state found;
    begin(1);
    settle();
    assert_false(sh_membership_member(&found, membership, 1));
    come(1);
    assert_int_equal(state_of(0).state, SH_DEVICE_COMPUTES);
    assert_int_equal(state_of(0).grains, GRAINS);
    assert_int_equal(state_of(1).state, SH_DEVICE_PREPARES);
    assert_int_equal(state_of(1).grains, 0);

    coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_LINK, .device = 1, .link = &link});
    sh_roster_entry *one = sh_membership_find(membership, 1);
    one->on_standby = true;
    snprintf(one->why, sizeof one->why, "its link is slow");
    found = state_of(1);
    assert_int_equal(found.state, SH_DEVICE_STANDBY);
    assert_string_equal(found.why, "its link is slow");
    assert_true(found.link.in == 1e6 && found.link.out == 2e6 && found.link.delay_s == 0.004);
}

static void shares_and_speeds_are_told(void **state)
{
    (void)state;
    work_with(2);
    speed_of[0] = speed_of[1] = (sh_speed){.rate = 30, .error = 0.01f};
    for (uint64_t steps = 1; steps < 20; steps++)
        (void)step(parts[0].notice.view, steps);
    const sh_member_state first = state_of(0), second = state_of(1);
    assert_int_equal(first.state, SH_DEVICE_COMPUTES);
    assert_int_equal(second.state, SH_DEVICE_COMPUTES);
    assert_int_equal(first.grains + second.grains, GRAINS);
    assert_true(first.rate == 30);
    assert_string_equal(second.why, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_role_is_told),
        cmocka_unit_test(shares_and_speeds_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
