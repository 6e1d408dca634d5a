/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/run_evaluation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scratch.h"
#include "store/checkpoint.h"
#include "train/job_fixture.h"
#include "train/snapshot.h"

static char folder[SH_PATH_BYTES];
static sh_run *run;
static sh_session *session;
static sh_measure *measure;

static void collect(void *context, const sh_answers *answers)
{
    sh_measure_add(*(sh_measure **)context, answers);
}

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    sh_job job = some_job();
    snprintf(job.model, sizeof job.model, "mlp:784-4-10");
    snprintf(job.data, sizeof job.data, "digits:40/200");
    assert_ok(sh_job_complete(&job));
    assert_ok(sh_session_open(&session, &job, NULL));
    session->on_answers = collect;
    session->context = &measure;
    assert_ok(sh_session_start(session, 2, 0));
    assert_ok(sh_run_open(&run, &(sh_run_options){.path = folder}));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sh_run_close(run);
    sh_session_close(session);
    scratch_remove(folder);
    return 0;
}

static char *file_of(const char *name)
{
    char path[SH_PATH_BYTES], *text = NULL;
    assert_ok(sh_run_path(run, name, path));
    return sh_file_read(&text, NULL, path, 1 << 20) == SH_OK ? text : NULL;
}

static size_t lines_of(const char *text)
{
    size_t lines = 0;
    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

static void both_files_are_there_until_they_are_forgotten(void **state)
{
    (void)state;
    char *metrics;
    const sh_run_evaluation asked = {.session = session, .measure = &measure, .run = run};
    assert_ok(sh_run_evaluation_write(&metrics, &asked));
    assert_null(measure);
    char *written = file_of(SH_RUN_FIGURES), *worst = file_of(SH_RUN_WORST);
    assert_string_equal(written, metrics);
    assert_non_null(strstr(metrics, "\"samples\":200,"));
    assert_int_equal(lines_of(worst), 1 + SH_RUN_EVALUATION_WORST);
    free(written);
    free(worst);
    free(metrics);
    sh_run_evaluation_forget(run);
    assert_null(file_of(SH_RUN_FIGURES));
    assert_null(file_of(SH_RUN_WORST));
}

static void weights_come_from_the_checkpoint_that_is_named(void **state)
{
    (void)state;
    char path[SH_PATH_BYTES], *first, *other, *again;
    const sh_run_evaluation asked = {.session = session, .measure = &measure, .run = run};
    assert_ok(sh_path_join(path, folder, SH_CHECKPOINT_LAST));
    assert_ok(
        sh_snapshot_save(folder, &session->job, &(sh_snapshot_data){"f", NULL}, session->replica));
    assert_ok(sh_run_evaluation_write(&first, &asked));
    for (size_t i = 0; i < session->replica->weight_count; i++)
        session->replica->weights[i] *= -2;
    assert_ok(sh_run_evaluation_write(&other, &asked));
    assert_string_not_equal(first, other);
    assert_ok(sh_run_evaluation_load(session->replica, path));
    assert_ok(sh_run_evaluation_write(&again, &asked));
    assert_string_equal(first, again);
    free(first);
    free(other);
    free(again);
    assert_fails(sh_run_evaluation_load(session->replica, "/nowhere/best.safetensors"),
                 SH_NOT_FOUND, "/nowhere/best.safetensors");
}

/* It is tried if the speed is unknown. */
static void a_pass_may_be_too_long(void **state)
{
    (void)state;
    char *metrics;
    const sh_run_evaluation asked = {
        .session = session, .measure = &measure, .run = run, .limit_s = 1e-9};
    assert_ok(sh_run_evaluation_write(&metrics, &asked));
    free(metrics);
    const sh_part part = {.share = {0, sh_job_grains(&session->job)},
                          .of = sh_job_grains(&session->job),
                          .engine = sh_engine_solo()};
    for (int i = 0; i < 200 && sh_trainer_speed(session->trainer).rate == 0; i++) {
        sh_step_result result;
        assert_ok(sh_trainer_step(session->trainer, &part, &result));
    }
    assert_fails(sh_run_evaluation_write(&metrics, &asked), SH_LIMIT,
                 "a pass over the validation samples would take ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_files_are_there_until_they_are_forgotten, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(weights_come_from_the_checkpoint_that_is_named, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_pass_may_be_too_long, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
