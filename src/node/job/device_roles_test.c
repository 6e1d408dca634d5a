/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/device_roles.h"

#include <stdio.h>

#include "base/test.h"

static sh_train_options options_of(const char *strategy, const char *servers)
{
    sh_train_options options;
    sh_train_options_init(&options);
    sh_job_init(&options.job);
    snprintf(options.job.strategy, sizeof options.job.strategy, "%s", strategy);
    options.servers = servers;
    options.devices = 3;
    return options;
}

static void the_strategy_says_whether_devices_serve(void **state)
{
    (void)state;
    sh_device_roles roles;
    sh_train_options options = options_of("sync", NULL);
    assert_ok(sh_device_roles_choose(&roles, &options, &options.job));
    assert_false(roles.serving.on);
    options = options_of("ps-sync", NULL);
    assert_ok(sh_device_roles_choose(&roles, &options, &options.job));
    assert_true(roles.serving.on);
    assert_int_equal(roles.serving.count, 0);
    options = options_of("ps-sync", "2,0");
    assert_ok(sh_device_roles_choose(&roles, &options, &options.job));
    assert_true(roles.serving.on);
    assert_int_equal(roles.serving.count, 2);
}

static void all_compute_where_each_does_by_itself(void **state)
{
    (void)state;
    sh_device_roles roles;
    sh_train_options options = options_of("sync", NULL);
    assert_ok(sh_device_roles_choose(&roles, &options, &options.job));
    assert_int_equal(roles.used, SH_STANDBY_AUTO);
    options.devices_used = "3";
    assert_ok(sh_device_roles_choose(&roles, &options, &options.job));
    assert_int_equal(roles.used, 3);
    options = options_of("ps-async", NULL);
    assert_ok(sh_device_roles_choose(&roles, &options, &options.job));
    assert_int_equal(roles.used, SH_STANDBY_ALL);
    options.devices_used = "2";
    assert_fails(sh_device_roles_choose(&roles, &options, &options.job), SH_INVALID,
                 "--devices-used 2: with --strategy ps-async each device computes by itself");
    options.devices_used = "two";
    options.resume = "run";
    assert_fails(sh_train_options_check(&options), SH_INVALID, "--devices-used two: must be auto");
}

static void choices_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *strategy, *servers, *part;
    } bad[] = {
        {"sync", "0",
         "--servers 0: --strategy sync has no servers; ps-sync, ps-async and ps-bounded:K have"},
        {"ps-sync", "x", "--servers x: must be a list of numbers"},
        {"ps-sync", "0,3",
         "--servers 0,3: there is no device 3: those started here (--devices) are 0 to 2, and "
         "without --listen"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sh_device_roles roles;
        sh_train_options options = options_of(bad[i].strategy, bad[i].servers);
        assert_fails(sh_device_roles_choose(&roles, &options, &options.job), SH_INVALID,
                     bad[i].part);
        assert_fails(sh_train_options_check(&options), SH_INVALID, bad[i].part);
        options.resume = "run"; /* the strategy is not yet known */
        assert_ok(sh_train_options_check(&options));
    }
    sh_train_options options = options_of("ps-sync", "7");
    options.listen = ":0";
    assert_ok(sh_train_options_check(&options));
    options = options_of("ps-sync", "1");
    options.devices = 0;
    assert_fails(sh_train_options_check(&options), SH_INVALID, "are 0 to 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_strategy_says_whether_devices_serve),
        cmocka_unit_test(all_compute_where_each_does_by_itself),
        cmocka_unit_test(choices_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
