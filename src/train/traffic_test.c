/* SPDX-License-Identifier: Apache-2.0 */
#include "train/traffic.h"

#include "train/job_fixture.h"
#include "train/job_options.h"
#include "train/session.h"

static sh_traffic traffic_of(const char *model, uint32_t batch, uint32_t wire, const char *strategy)
{
    sh_job job = local_job(strategy);
    sh_session *session;
    snprintf(job.model, sizeof job.model, "%s", model);
    snprintf(job.data, sizeof job.data, "digits:320/10");
    job.batch_size = batch;
    job.wire = wire;
    assert_ok(sh_job_complete(&job));
    assert_ok(sh_session_open(&session, &job, NULL));
    session->shared = true;
    assert_ok(sh_session_start(session, 1, 0));
    const sh_traffic traffic = sh_trainer_traffic(session->trainer);
    sh_session_close(session);
    return traffic;
}

static void every_weight_is_summed(void **state)
{
    (void)state;
    const sh_traffic wide = traffic_of("lenet", 64, 32, "sync");
    assert_int_equal(wide.summed, 4 * 431080);
    assert_true(traffic_of("lenet", 64, 16, "sync").summed < wide.summed);
}

/* The layer is [500, 800]; its factors have 1300 numbers per sample. */
static void factors_spare_a_large_layer(void **state)
{
    (void)state;
    const sh_traffic traffic = traffic_of("lenet", 64, 32, "sync");
    assert_int_equal(traffic.spared, 4 * 500 * 800);
    assert_true(traffic.gathered >= 4 * 64 * 1300 && traffic.gathered < 4 * 64 * 1300 + 1024);
    /* The batch is so large that the gradient is smaller. */
    assert_int_equal(traffic_of("lenet", 320, 32, "sync").spared, 0);
}

static void strategies_without_factors_have_none(void **state)
{
    (void)state;
    const sh_traffic traffic = traffic_of("lenet", 64, 32, "local:4");
    assert_int_equal(traffic.summed, 4 * 431080);
    assert_int_equal(traffic.gathered, 0);
    assert_int_equal(traffic.spared, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_weight_is_summed),
        cmocka_unit_test(factors_spare_a_large_layer),
        cmocka_unit_test(strategies_without_factors_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
