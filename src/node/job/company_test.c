/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/company.h"

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
    sh_serving serving;
    sh_train_options options = options_of("sync", NULL);
    assert_ok(sh_company_choose_servers(&serving, &options, &options.job));
    assert_false(serving.on);
    options = options_of("ps-sync", NULL);
    assert_ok(sh_company_choose_servers(&serving, &options, &options.job));
    assert_true(serving.on);
    assert_int_equal(serving.count, 0);
    options = options_of("ps-sync", "2,0");
    assert_ok(sh_company_choose_servers(&serving, &options, &options.job));
    assert_true(serving.on);
    assert_int_equal(serving.count, 2);
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
         "--servers 0,3: there will be no device 3: those started here "
         "(--devices) count from 0 to 2, and without --listen"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sh_serving serving;
        sh_train_options options = options_of(bad[i].strategy, bad[i].servers);
        assert_fails(sh_company_choose_servers(&serving, &options, &options.job), SH_INVALID,
                     bad[i].part);
        assert_fails(sh_train_options_check(&options), SH_INVALID, bad[i].part);
        options.resume = "run"; /* which strategy it has is not known yet */
        assert_ok(sh_train_options_check(&options));
    }
    sh_train_options options = options_of("ps-sync", "7");
    options.listen = ":0"; /* it may join */
    assert_ok(sh_train_options_check(&options));
    options = options_of("ps-sync", "1");
    options.devices = 0; /* one */
    assert_fails(sh_train_options_check(&options), SH_INVALID, "count from 0 to 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_strategy_says_whether_devices_serve),
        cmocka_unit_test(choices_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
