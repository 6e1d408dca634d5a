/* SPDX-License-Identifier: Apache-2.0 */
#include "train/audited_step.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "train/session.h"

#define KEY 0x01020304U

/* An engine for two devices. The second one adds the same numbers as this one. */
static sh_span spans[SH_ENGINE_MAX_SPANS];
static uint32_t span_count;

static sh_status note_spans(sh_engine *engine, const sh_span *items, uint32_t count)
{
    (void)engine;
    memcpy(spans, items, count * sizeof *items);
    span_count = count;
    return SH_OK;
}

static sh_status double_own(sh_engine *engine)
{
    (void)engine;
    for (uint32_t s = 0; s < span_count; s++)
        for (size_t i = 0; i < spans[s].count; i++) {
            if (spans[s].word == SH_WORD_U64)
                ((uint64_t *)spans[s].total)[i] = 2 * ((const uint64_t *)spans[s].own)[i];
            else if (spans[s].word == SH_WORD_I32)
                ((uint32_t *)spans[s].total)[i] = 2 * ((const uint32_t *)spans[s].own)[i];
            else
                ((uint8_t *)spans[s].total)[i] = (uint8_t)(2 * ((const uint8_t *)spans[s].own)[i]);
        }
    return SH_OK;
}

static const sh_engine_ops doubling = {.name = "doubling", .begin = note_spans, .wait = double_own};
static uint64_t announced;

static bool announce(void *context, bool last, uint64_t *word)
{
    (void)context;
    assert_true(last);
    *word = announced;
    return true;
}

static sh_session *open_session(uint32_t wire)
{
    sh_session *session;
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "lenet");
    snprintf(job.data, sizeof job.data, "digits:96/10");
    job.batch_size = 32;
    job.grain = 4;
    job.wire = wire;
    assert_ok(sh_job_complete(&job));
    assert_ok(sh_session_open(&session, &job, NULL));
    session->shared = true;
    assert_ok(sh_session_start(session, 2, 0));
    return session;
}

static sh_step_result make_step(sh_session *session, sh_part part)
{
    static sh_engine engine = {&doubling, 2};
    sh_step_result result;
    part.share = (sh_range){0, sh_job_grains(&session->job)};
    part.of = sh_job_grains(&session->job);
    part.engine = &engine;
    part.announce = announce;
    assert_ok(sh_trainer_step(session->trainer, &part, &result));
    return result;
}

/* The weights are equal, and the grains' checks add up to the commitment. */
static void an_audited_step_is_the_same(void **state)
{
    (void)state;
    static const uint32_t wires[] = {32, 8};
    for (int w = 0; w < 2; w++) {
        sh_session *plain = open_session(wires[w]), *audited = open_session(wires[w]);
        const sh_ranges pieces[] = {{1, {{0, 3}}}, {2, {{3, 1}, {6, 2}}}, {1, {{4, 2}}}};
        sh_sum_check own, total, sum = {0}, check, twice;
        for (int step = 0; step < 3; step++) {
            announced = 0;
            assert_int_equal(make_step(plain, (sh_part){0}).audit, 0);
            announced = sh_sum_word(0, KEY);
            assert_int_equal(make_step(audited, (sh_part){0}).audit, 2 * KEY); /* both add it */
            assert_int_equal(audited->replica->steps, step);
            assert_int_equal(sh_ranges_total(sh_trainer_commit(audited->trainer, &own, &total)), 8);
            twice = own;
            sh_sum_check_merge(&twice, &own);
            assert_true(sh_sum_check_equal(&twice, &total));
            sum = (sh_sum_check){0};
            for (int p = 0; p < 3; p++) {
                assert_ok(sh_trainer_recompute(audited->trainer, &pieces[p], &check));
                sh_sum_check_merge(&sum, &check);
            }
            assert_true(sh_sum_check_equal(&sum, &own));
            assert_int_equal(sh_ranges_total(sh_trainer_held(audited->trainer)), 0);
            assert_int_equal(make_step(audited, (sh_part){.resume = true}).audit, 0);
            assert_int_equal(audited->replica->steps, step + 1);
            assert_int_equal(sh_trainer_work_done(audited->trainer).grains, 8 * (step + 1));
            assert_memory_equal(plain->replica->weights, audited->replica->weights,
                                plain->replica->weight_count * sizeof(float));
        }
        sh_session_close(plain);
        sh_session_close(audited);
    }
}

static void a_lie_shows(void **state)
{
    (void)state;
    sh_session *session = open_session(32);
    const sh_ranges all = {1, {{0, 8}}};
    sh_sum_check own, total, check;
    announced = sh_sum_word(0, KEY);
    assert_int_equal(make_step(session, (sh_part){.lies = true}).audit, 2 * KEY);
    (void)sh_trainer_commit(session->trainer, &own, &total);
    assert_ok(sh_trainer_recompute(session->trainer, &all, &check));
    assert_false(sh_sum_check_equal(&own, &check));
    sh_session_close(session);
}

static void only_a_summed_step_is_audited(void **state)
{
    (void)state;
    static sh_engine engine = {&doubling, 2};
    sh_session *session = open_session(32);
    const sh_ranges some = {1, {{0, 2}}}, beyond = {1, {{7, 2}}};
    sh_sum_check check;
    sh_step_result result;
    const sh_part part = {.share = {0, 8}, .of = 8, .engine = &engine, .resume = true};
    assert_fails(sh_trainer_recompute(session->trainer, &some, &check), SH_INVALID, "step 1");
    assert_fails(sh_trainer_step(session->trainer, &part, &result), SH_INTERNAL, "no sum waits");
    announced = sh_sum_word(0, KEY);
    (void)make_step(session, (sh_part){0});
    assert_fails(sh_trainer_recompute(session->trainer, &beyond, &check), SH_INVALID, "batch");
    sh_trainer_forget(session->trainer);
    assert_fails(sh_trainer_step(session->trainer, &part, &result), SH_INTERNAL, "no sum waits");
    announced = 0;
    assert_int_equal(make_step(session, (sh_part){0}).audit, 0);
    assert_int_equal(session->replica->steps, 1);
    sh_session_close(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_audited_step_is_the_same),
        cmocka_unit_test(a_lie_shows),
        cmocka_unit_test(only_a_summed_step_is_audited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
