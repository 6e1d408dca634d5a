/* SPDX-License-Identifier: Apache-2.0 */
#include "train/aftermath.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "train/workbench.h"

static sh_status lose(sh_engine *engine)
{
    (void)engine;
    return sh_fail(SH_PEER_LOST, "gone");
}

/* Frames may still arrive after a failure, so the total is undefined. */
static void a_failed_reduction_has_no_total(void **state)
{
    (void)state;
    static const sh_engine_ops losing = {.name = "losing", .wait = lose};
    sh_engine engine = {&losing, 2};
    sh_workbench *bench;
    sh_step_result result;
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "mlp:h8");
    snprintf(job.data, sizeof job.data, "digits:64/10");
    assert_ok(sh_job_complete(&job));
    assert_ok(sh_workbench_open(&bench, &job, NULL));
    bench->shared = true;
    assert_ok(sh_workbench_start(bench, 1, 0));
    const uint32_t grains = sh_job_grains(&bench->job);
    const sh_part part = {.share = {0, 1}, .of = grains, .engine = &engine};
    assert_fails(sh_trainer_step(bench->trainer, &part, &result), SH_PEER_LOST, "gone");
    const sh_sum_block total = sh_sum_total(bench->replica->sum);
    memset(total.trailer, 1, total.words * sizeof *total.trailer);
    const sh_aftermath after = sh_trainer_aftermath(bench->trainer);
    assert_true(after.total == 0 && after.said == sh_replica_check(bench->replica));
    sh_workbench_close(bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_reduction_has_no_total),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
