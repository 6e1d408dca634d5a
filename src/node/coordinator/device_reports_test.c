/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/device_reports.h"

#include <stdlib.h>

#include "base/test.h"

static void what_devices_did_is_kept_in_the_order_of_coming(void **state)
{
    (void)state;
    sh_device_reports kept = {0};
    sh_device_report *reports;
    size_t count;
    sh_device_reports_add(&kept, 0, "boss");
    sh_device_reports_add(&kept, 7, "works");
    sh_device_reports_add(&kept, 9, "looks on");
    sh_device_reports_note(&kept, 7, &(sh_device_report){.name = "another", .grains = 3}, true);
    sh_device_reports_note(&kept, 7, &(sh_device_report){.grains = 5, .samples = 80}, false);
    sh_device_reports_note(&kept, 8, &(sh_device_report){.grains = 1}, true); /* nobody */
    sh_device_reports_note(&kept, 9, &(sh_device_report){.cpu_seconds = 1}, false);
    assert_string_equal(sh_device_reports_name(&kept, 9), "looks on");
    assert_string_equal(sh_device_reports_name(&kept, 8), "");
    assert_ok(sh_device_reports_list(&kept, &reports, &count));
    assert_int_equal(count, 2); /* device 0, though it did nothing, and who was in a view */
    assert_string_equal(reports[0].name, "boss");
    assert_string_equal(reports[1].name, "works");
    assert_int_equal(reports[1].grains, 5);
    assert_int_equal(reports[1].samples, 80);
    free(reports);
    sh_device_reports_release(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_devices_did_is_kept_in_the_order_of_coming),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
