/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/probe.h"

#include <math.h>

#include "base/scratch.h"

static char folder[SCRATCH_BYTES], path[SCRATCH_BYTES + 16];

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

static void put(const char *text)
{
    scratch_write(path, text, strlen(text));
}

static void a_file_is_read_again_and_again(void **state)
{
    (void)state;
    char text[16];
    put("12\nmore\n");
    sh_probe probe = sh_probe_open("%s/%s", folder, "file");
    assert_true(sh_probe_is_open(&probe));
    assert_true(sh_probe_text(&probe, text, sizeof text));
    assert_string_equal(text, "12\nmore\n");
    assert_true(sh_probe_line(&probe, text, sizeof text));
    assert_string_equal(text, "12");
    assert_float_equal(sh_probe_number(&probe), 12, 0);
    put("13 ");
    assert_float_equal(sh_probe_number(&probe), 13, 0);
    sh_probe_close(&probe);
    assert_false(sh_probe_is_open(&probe));
    sh_probe_close(&probe);
    assert_true(sh_probe_once(text, sizeof text, "%s", path));
    assert_string_equal(text, "13 ");
}

/* Truncation could cut a number. */
static void what_has_no_room_is_not_available(void **state)
{
    (void)state;
    char text[9];
    put("12345678");
    sh_probe probe = sh_probe_open("%s", path);
    assert_true(sh_probe_text(&probe, text, sizeof text));
    assert_true(sh_probe_line(&probe, text, sizeof text));
    assert_false(sh_probe_text(&probe, text, 8));
    assert_false(sh_probe_line(&probe, text, 8));
    put("123456\n8");
    assert_true(sh_probe_line(&probe, text, 8));
    assert_string_equal(text, "123456");
    sh_probe_close(&probe);
}

static void no_file_or_nothing_in_it_gives_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", "\n5\n", "x", "5 x", "5\t\t6", "0x5"};
    char text[16];
    sh_probe probe = sh_probe_open("%s/none", folder);
    assert_false(sh_probe_is_open(&probe));
    assert_false(sh_probe_text(&probe, text, sizeof text));
    assert_false(sh_probe_line(&probe, text, sizeof text));
    assert_true(isnan(sh_probe_number(&probe)));
    assert_false(sh_probe_once(text, sizeof text, "%s/none", folder));
    probe = sh_probe_open("%s%5000s", folder, "");
    assert_false(sh_probe_is_open(&probe));

    put("5");
    probe = sh_probe_open("%s", path);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put(texts[i]);
        assert_true(isnan(sh_probe_number(&probe)));
        assert_int_equal(sh_probe_line(&probe, text, sizeof text), i > 2);
    }
    sh_probe_close(&probe);
}

static void what_cannot_be_read_gives_nothing(void **state)
{
    (void)state;
    char text[16];
    sh_probe probe = sh_probe_open("%s", folder);
    assert_false(sh_probe_text(&probe, text, sizeof text));
    assert_false(sh_probe_line(&probe, text, sizeof text));
    sh_probe_close(&probe);
}

static void several_are_found_by_name(void **state)
{
    (void)state;
    sh_probes probes = {0};
    for (int i = 0; i < SH_PROBES_MAX + 2; i++) {
        char name[SCRATCH_BYTES + 32], text[16];
        snprintf(name, sizeof name, "%s/temp%02d_input", folder, i);
        scratch_write(name, text, (size_t)snprintf(text, sizeof text, "%d\n", i));
    }
    sh_probes_find(&probes, folder, "/nothing*");
    assert_int_equal(probes.count, 0);
    sh_probes_find(&probes, folder, "/temp1?_input");
    assert_int_equal(probes.count, 10);
    assert_float_equal(sh_probe_number(&probes.items[3]), 13, 0);
    sh_probes_find(&probes, folder, "/temp*");
    assert_int_equal(probes.count, SH_PROBES_MAX);
    assert_false(sh_probes_add(&probes, (sh_probe){.fd = -1}));
    sh_probes_close(&probes);
    assert_int_equal(probes.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_read_again_and_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_has_no_room_is_not_available, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_file_or_nothing_in_it_gives_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_gives_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_are_found_by_name, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
