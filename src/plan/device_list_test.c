/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/device_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scratch.h"
#include "base/test.h"
#include "plan/shares.h"

#define HEAD "{\"format\": \"shoal.devices\", \"version\": 1, \"devices\": ["

static sh_status parse(sh_device_list *list, const char *text)
{
    return sh_device_list_parse(list, text, strlen(text));
}

static void a_list_is_read(void **state)
{
    (void)state;
    sh_device_list list;
    assert_ok(parse(&list, HEAD
                    "{\"name\": \"a\", \"state\": \"computes\", \"lanes\": 4, \"grains\": 3,"
                    " \"flops_per_second\": 2.5e10, \"power_watts\": null, \"color\": \"red\"},"
                    "{\"name\": \"b\", \"state\": \"standby\", \"why\": \"slow link\","
                    " \"temperature_celsius\": -7, \"in_bytes_per_second\": 1000}], \"more\": 1}"));
    assert_int_equal(list.count, 2);
    assert_string_equal(list.model, "");
    const sh_device_info *a = &list.devices[0], *b = &list.devices[1];
    assert_true(a->state == SH_DEVICE_COMPUTES && a->lanes == 4 && a->grains == 3);
    assert_true(a->flops_per_second == 2.5e10 && isnan(a->power_watts) && isnan(a->delay_seconds));
    assert_string_equal(b->why, "slow link");
    assert_string_equal(sh_device_state_text(b->state), "standby");
    assert_true(b->temperature_celsius == -7 && b->in_bytes_per_second == 1000);
    assert_true(isnan(b->flops_per_second) && b->lanes == 0);
    sh_device_list_release(&list);
    assert_int_equal(list.count, 0);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        sh_status status;
        const char *message;
    } cases[] = {
        {"", SH_FORMAT, "line 1"},
        {"[1]", SH_FORMAT, "not a list of devices: shoal devices --json FILE writes one"},
        {"{\"format\": \"shoal.devices\", \"version\": 2}", SH_VERSION, "another version than 1"},
        {HEAD "]}", SH_FORMAT, "at least one device"},
        {HEAD "7]}", SH_FORMAT, "device 1 of the list is not an object"},
        {HEAD "{\"name\": \"a\"}, {}]}", SH_FORMAT, "device 2 of the list: \"name\""},
        {HEAD "{\"name\": \"\"}]}", SH_FORMAT, "\"name\": expected a text"},
        {HEAD "{\"name\": \"a\\u0000b\"}]}", SH_FORMAT, ""},
        {HEAD "{\"name\": \"a\", \"state\": \"sleeps\"}]}", SH_FORMAT,
         "\"state\": expected idle, prepares, standby or computes"},
        {HEAD "{\"name\": \"a\", \"lanes\": -1}]}", SH_FORMAT, "\"lanes\": expected a whole"},
        {HEAD "{\"name\": \"a\", \"grains\": 4294967296}]}", SH_FORMAT, "\"grains\""},
        {HEAD "{\"name\": \"a\", \"power_watts\": -1}]}", SH_FORMAT,
         "\"power_watts\": expected a number that is not negative"},
        {HEAD "{\"name\": \"a\", \"delay_seconds\": 1e19}]}", SH_FORMAT, "\"delay_seconds\""},
        {HEAD "{\"name\": \"a\", \"delay_seconds\": \"1\"}]}", SH_FORMAT, "\"delay_seconds\""},
        {HEAD "{\"name\": \"a\", \"name\": \"b\"}]}", SH_FORMAT, "duplicate"},
    };
    sh_device_list list = {.count = 9};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(parse(&list, cases[i].text), cases[i].status, cases[i].message);
    assert_int_equal(list.count, 9);
}

static void a_plan_takes_so_many(void **state)
{
    (void)state;
    static char text[32 * (SH_DEVICES_MAX + 2)];
    sh_device_list list;
    for (uint32_t count = SH_DEVICES_MAX; count <= SH_DEVICES_MAX + 1; count++) {
        size_t used = (size_t)snprintf(text, sizeof text, "%s", HEAD);
        for (uint32_t i = 0; i < count; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s{\"name\": \"d%u\"}",
                                     i > 0 ? "," : "", i);
        snprintf(text + used, sizeof text - used, "]}");
        if (count > SH_DEVICES_MAX) {
            assert_fails(parse(&list, text), SH_LIMIT, "257 devices: at most 256");
            return;
        }
        assert_ok(parse(&list, text));
        assert_int_equal(list.count, count);
        sh_device_list_release(&list);
    }
}

static void a_file_is_named(void **state)
{
    (void)state;
    char folder[SCRATCH_BYTES], path[SCRATCH_BYTES + 16];
    sh_device_list list;
    scratch_make(folder);
    snprintf(path, sizeof path, "%s/list.json", folder);
    assert_fails(sh_devices_read(&list, path), SH_NOT_FOUND, "list.json");
    scratch_write(path, "{}", 2);
    assert_fails(sh_devices_read(&list, path), SH_FORMAT, "list.json: not a list of devices");
    scratch_write(path, HEAD "{\"name\": \"a\"}]}", strlen(HEAD "{\"name\": \"a\"}]}"));
    assert_ok(sh_devices_read(&list, path));
    sh_device_list_release(&list);
    scratch_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_read),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(a_plan_takes_so_many),
        cmocka_unit_test(a_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
