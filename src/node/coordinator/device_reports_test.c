/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/device_reports.h"

#include <stdlib.h>

#include "base/test.h"

static const unsigned char one[SH_MESSAGE_ORIGIN_BYTES] = {1}, two[SH_MESSAGE_ORIGIN_BYTES] = {2},
                           three[SH_MESSAGE_ORIGIN_BYTES] = {2, 3};

static void what_devices_did_is_kept_in_the_order_of_coming(void **state)
{
    (void)state;
    sh_device_reports kept = {0};
    sh_device_report *reports;
    size_t count;
    sh_device_reports_add(&kept, 0, "boss", one);
    sh_device_reports_add(&kept, 7, "works", two);
    sh_device_reports_add(&kept, 9, "looks on", three);
    sh_device_reports_note(&kept, 7, &(sh_device_report){.name = "another", .grains = 3}, true);
    sh_device_reports_note(&kept, 7, &(sh_device_report){.grains = 5, .samples = 80}, false);
    sh_device_reports_note(&kept, 8, &(sh_device_report){.grains = 1}, true);
    sh_device_reports_note(&kept, 9, &(sh_device_report){.cpu_seconds = 1}, false);
    assert_string_equal(sh_device_reports_name(&kept, 9), "looks on");
    assert_string_equal(sh_device_reports_name(&kept, 8), "");
    assert_ok(sh_device_reports_list(&kept, &reports, &count));
    assert_int_equal(count, 2); /* device 0, although it did nothing, and devices of a view */
    assert_string_equal(reports[0].name, "boss");
    assert_string_equal(reports[1].name, "works");
    assert_int_equal(reports[1].grains, 5);
    assert_int_equal(reports[1].samples, 80);
    free(reports);
    sh_device_reports_release(&kept);
}

static void a_device_that_comes_back_is_one(void **state)
{
    (void)state;
    sh_device_reports kept = {0};
    sh_device_report *reports;
    size_t count;
    sh_device_reports_add(&kept, 0, "boss", one);
    sh_device_reports_add(&kept, 1, "guest", two);
    sh_device_reports_add(&kept, 2, "guest", three);
    sh_device_reports_add(&kept, 3, "guest", two);
    sh_device_reports_add(&kept, 4, "ghost", two);
    sh_device_reports_add(&kept, 5, "guest", two);
    static const sh_device_report lives[] = {
        {.grains = 5,
         .samples = 50,
         .cpu_seconds = 1,
         .peak_rss_bytes = 900,
         .bytes_sent = 7,
         .bytes_received = 70},
        {.grains = 100, .samples = 1000},
        {.grains = 6,
         .samples = 60,
         .cpu_seconds = 3,
         .peak_rss_bytes = 800,
         .bytes_sent = 8,
         .bytes_received = 80},
        {.grains = 1, .samples = 10},
        {.cpu_seconds = 3.5, .peak_rss_bytes = 850, .bytes_sent = 9, .bytes_received = 90},
    };
    for (uint32_t i = 0; i < 5; i++)
        sh_device_reports_note(&kept, i + 1, &lives[i], i < 4);
    assert_int_equal(sh_device_reports_first(&kept, 1), 1);
    assert_int_equal(sh_device_reports_first(&kept, 2), 2);
    assert_int_equal(sh_device_reports_first(&kept, 4), 4);
    assert_int_equal(sh_device_reports_first(&kept, 5), 1);
    assert_int_equal(sh_device_reports_first(&kept, 77), 77);
    assert_string_equal(sh_device_reports_name(&kept, 5), "guest");

    assert_ok(sh_device_reports_list(&kept, &reports, &count));
    assert_int_equal(count, 4);
    assert_int_equal(reports[1].grains, 11);
    assert_int_equal(reports[1].samples, 110);
    assert_true(reports[1].cpu_seconds == 3.5);
    assert_int_equal(reports[1].peak_rss_bytes, 900);
    assert_int_equal(reports[1].bytes_sent, 24);
    assert_int_equal(reports[1].bytes_received, 240);
    assert_int_equal(reports[2].grains, 100);
    assert_string_equal(reports[3].name, "ghost");
    free(reports);
    sh_device_reports_release(&kept);
}

/* It was lost before its first view and took part after it rejoined. */
static void any_life_in_a_view_counts(void **state)
{
    (void)state;
    sh_device_reports kept = {0};
    sh_device_report *reports;
    size_t count;
    sh_device_reports_add(&kept, 0, "boss", one);
    sh_device_reports_add(&kept, 1, "guest", two);
    sh_device_reports_add(&kept, 2, "guest", two);
    sh_device_reports_note(&kept, 2, &(sh_device_report){.grains = 1}, true);
    assert_ok(sh_device_reports_list(&kept, &reports, &count));
    assert_int_equal(count, 2);
    assert_int_equal(reports[1].grains, 1);
    free(reports);
    sh_device_reports_release(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_devices_did_is_kept_in_the_order_of_coming),
        cmocka_unit_test(a_device_that_comes_back_is_one),
        cmocka_unit_test(any_life_in_a_view_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
