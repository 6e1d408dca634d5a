/* SPDX-License-Identifier: Apache-2.0 */
#include "node/member/endpoints.h"

#include <stdio.h>

#include "base/scratch.h"
#include "base/test.h"
#include "store/file.h"

static sh_endpoint endpoint(const char *host, unsigned port)
{
    sh_endpoint made = {.port = (uint16_t)port};
    snprintf(made.host, sizeof made.host, "%s", host);
    return made;
}

static void add(sh_endpoints *endpoints, const char *host, unsigned port)
{
    const sh_endpoint one = endpoint(host, port);
    sh_endpoints_add(endpoints, &one);
}

static void the_newest_stands_last_and_once(void **state)
{
    (void)state;
    sh_endpoints endpoints = {0};
    add(&endpoints, "10.0.0.1", 1);
    add(&endpoints, "10.0.0.2", 1);
    add(&endpoints, "10.0.0.1", 2);
    add(&endpoints, "10.0.0.1", 1);
    assert_int_equal(endpoints.count, 3);
    assert_string_equal(endpoints.items[0].host, "10.0.0.2");
    assert_int_equal(endpoints.items[1].port, 2);
    assert_int_equal(endpoints.items[2].port, 1);
}

static void the_oldest_gives_way(void **state)
{
    (void)state;
    sh_endpoints endpoints = {0};
    for (unsigned i = 1; i <= SH_ENDPOINTS_MAX + 2; i++)
        add(&endpoints, "10.0.0.1", i);
    assert_int_equal(endpoints.count, SH_ENDPOINTS_MAX);
    assert_int_equal(endpoints.items[0].port, 3);
    assert_int_equal(endpoints.items[endpoints.count - 1].port, SH_ENDPOINTS_MAX + 2);
}

static void a_file_has_them(void **state)
{
    (void)state;
    char folder[SCRATCH_BYTES], path[SH_PATH_BYTES];
    sh_endpoints endpoints = {0}, again;
    scratch_make(folder);
    assert_ok(sh_path_join(path, folder, "doors"));
    sh_endpoints_read(&again, path);
    assert_int_equal(again.count, 0);
    add(&endpoints, "fd00::5", 7700);
    add(&endpoints, "192.168.1.5", 65535);
    assert_ok(sh_endpoints_write(&endpoints, path));
    sh_endpoints_read(&again, path);
    assert_int_equal(again.count, 2);
    assert_string_equal(again.items[0].host, "fd00::5");
    assert_int_equal(again.items[0].port, 7700);
    assert_string_equal(again.items[1].host, "192.168.1.5");
    assert_int_equal(again.items[1].port, 65535);
    scratch_remove(folder);
}

static void what_makes_no_sense_is_left_out(void **state)
{
    (void)state;
    static const char text[] =
        "\nhost\n 77\nhost 0\nhost 65536\nhost -1\nhost 7x\nhost \nfine 7\n\n";
    char folder[SCRATCH_BYTES], path[SH_PATH_BYTES];
    sh_endpoints endpoints;
    scratch_make(folder);
    assert_ok(sh_path_join(path, folder, "doors"));
    assert_ok(sh_file_replace_private(path, text, sizeof text - 1));
    sh_endpoints_read(&endpoints, path);
    assert_int_equal(endpoints.count, 1);
    assert_string_equal(endpoints.items[0].host, "fine");
    scratch_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_stands_last_and_once),
        cmocka_unit_test(the_oldest_gives_way),
        cmocka_unit_test(a_file_has_them),
        cmocka_unit_test(what_makes_no_sense_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
