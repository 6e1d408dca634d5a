/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/inventory.h"

#include "base/test.h"
#include "plan/device_list.h"

static void groups_are_read(void **state)
{
    (void)state;
    sh_inventory found;
    assert_ok(sh_inventory_parse(&found, " This@1Gbit, 8x pi4@100Mbit ,2x12.5gflops@500kbit"));
    assert_int_equal(found.kinds, 3);
    assert_int_equal(found.devices, 11);
    assert_string_equal(found.kind[0].name, "this");
    assert_true(found.kind[0].flops == 0 && found.kind[0].link == 1.25e8 && !found.kind[0].board);
    assert_string_equal(found.kind[1].name, "pi4");
    assert_int_equal(found.kind[1].count, 8);
    assert_true(found.kind[1].board);
    assert_true(found.kind[1].flops == 24e9); /* half of four cores at 1.5 GHz times 8 */
    assert_true(found.kind[1].link == 1.25e7);
    assert_true(found.kind[2].flops == 12.5e9 && found.kind[2].link == 62500);
    assert_false(found.kind[2].board);
    assert_ok(sh_inventory_parse(&found, "pi5"));
    assert_true(found.devices == 1 && found.kind[0].link == 0 && found.kind[0].watts == 10);
    assert_ok(sh_inventory_parse(&found, "2x pi4@1gbit/4.5W, 9gflops/3w, this"));
    assert_true(found.kind[0].watts == 4.5 && found.kind[0].link == 1.25e8);
    assert_true(found.kind[1].watts == 3 && found.kind[2].watts == 0);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "expected devices with commas"},
        {"pi4,,pi5", "expected devices with commas"},
        {"pi4,", "expected devices with commas"},
        {"pi44", "unknown device 'pi44'; did you mean 'pi4'?"},
        {"8xpi9000@1gbit", "unknown device 'pi9000'"},
        {"pi4@fast", "link 'fast': expected a rate such as 100mbit"},
        {"pi4@", "link ''"},
        {"pi4@0mbit", "link '0mbit'"},
        {"pi4@5000gbit", "link '5000gbit'"},
        {"pi4@1gbit@1gbit", "link '1gbit@1gbit'"},
        {"pi4/", "power ''"},
        {"pi4@1gbit/6", "power '6': expected watts such as 6.5w"},
        {"pi4/6w@1gbit", "power '6w@1gbit'"},
        {"pi4/0w", "power '0w'"},
        {"pi4/6w/6w", "power '6w/6w'"},
        {"0xpi4", "from 1 to 256 devices"},
        {"257x pi4", "from 1 to 256 devices"},
        {"99999999999x pi4", "from 1 to 256 devices"},
        {"200x pi4, 57x pi5", "257 devices: at most 256"},
        {"0gflops", "unknown device '0gflops'"},
        {"-3gflops", "unknown device '-3gflops'"},
        {"1e9gflops", "unknown device '1e9gflops'"},
    };
    sh_inventory found = {.devices = 7};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(sh_inventory_parse(&found, cases[i].text), SH_INVALID, cases[i].message);
    char many[(SH_INVENTORY_KINDS + 1) * 5] = "";
    for (size_t i = 0; i <= SH_INVENTORY_KINDS; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "%s", i == 0 ? "this" : ",this");
    assert_fails(sh_inventory_parse(&found, many), SH_INVALID, "at most 64 groups");
    assert_int_equal(found.devices, 7);
}

static void a_list_is_taken_as_it_was_measured(void **state)
{
    (void)state;
    sh_device_info devices[4];
    const sh_device_list list = {.count = 4, .devices = devices};
    sh_inventory found;
    for (size_t i = 0; i < 4; i++) {
        sh_device_info_clear(&devices[i]);
        snprintf(devices[i].name, sizeof devices[i].name, "board-with-a-very-long-name-%zu", i);
    }
    assert_fails(sh_inventory_of_list(&found, &list), SH_NOT_FOUND, "run shoal bench on them");
    devices[0].flops_per_second = 30e9;
    devices[1].flops_per_second = 10e9;
    devices[1].in_bytes_per_second = 2e6;
    devices[1].out_bytes_per_second = 1e6;
    devices[1].power_watts = 6;
    devices[1].delay_seconds = 0.02;
    devices[2] = devices[1];
    devices[3].in_bytes_per_second = 5e6;
    assert_ok(sh_inventory_of_list(&found, &list));
    assert_true(found.listed && found.devices == 4 && found.kinds == 3 && found.guessed == 1);
    assert_string_equal(found.kind[0].name, "board-with-a-very-long-");
    assert_true(found.kind[0].flops == 30e9 && found.kind[0].link == 0 && found.kind[0].watts == 0);
    assert_true(found.kind[1].count == 2 && found.kind[1].link == 1e6 && found.kind[1].watts == 6);
    assert_true(found.kind[1].delay_s == 0.02 && found.kind[0].delay_s == 0);
    assert_true(found.kind[2].flops == 50e9 / 3 && found.kind[2].link == 5e6);

    static sh_device_info many[SH_INVENTORY_KINDS + 1];
    for (size_t i = 0; i <= SH_INVENTORY_KINDS; i++) {
        sh_device_info_clear(&many[i]);
        many[i].flops_per_second = 1e9 + (double)i;
    }
    assert_fails(sh_inventory_of_list(
                     &found, &(sh_device_list){.count = SH_INVENTORY_KINDS + 1, .devices = many}),
                 SH_LIMIT, "more than 64 different devices");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_read),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(a_list_is_taken_as_it_was_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
