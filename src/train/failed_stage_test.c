/* SPDX-License-Identifier: Apache-2.0 */
#include "train/failed_stage.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "train/session.h"

static sh_status lose(sh_engine *engine)
{
    (void)engine;
    return sh_fail(SH_PEER_LOST, "gone");
}

/* Frames may still arrive after a failure. */
static void a_failed_reduction_has_no_total(void **state)
{
    (void)state;
    static const sh_engine_ops losing = {.name = "losing", .wait = lose};
    sh_engine engine = {&losing, 2};
    sh_session *session;
    sh_step_result result;
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "mlp:h8");
    snprintf(job.data, sizeof job.data, "digits:64/10");
    assert_ok(sh_job_complete(&job));
    assert_ok(sh_session_open(&session, &job, NULL));
    session->shared = true;
    assert_ok(sh_session_start(session, 1, 0));
    const uint32_t grains = sh_job_grains(&session->job);
    const sh_part part = {.share = {0, 1}, .of = grains, .engine = &engine};
    assert_fails(sh_trainer_step(session->trainer, &part, &result), SH_PEER_LOST, "gone");
    const sh_sum_block total = sh_sum_total(session->replica->sum);
    memset(total.trailer, 1, total.words * sizeof *total.trailer);
    const sh_failed_stage after = sh_trainer_failed_stage(session->trainer);
    assert_true(after.total == 0 && after.own_check == sh_replica_check(session->replica));
    sh_session_close(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_reduction_has_no_total),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
