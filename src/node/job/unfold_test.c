/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/unfold.h"

#include <math.h>
#include <stdlib.h>

#include "base/scratch.h"
#include "node/job/new_job.h"
#include "train/forward.h"
#include "train/job_options.h"

#define SAMPLES 32
#define CLASSES 10

static int set_up(void **state)
{
    if (scratch_set_up(state) != 0)
        return -1;
    return setenv("XDG_CACHE_HOME", scratch_folder, 1);
}

static void collect(void *context, const sh_answers *told)
{
    memcpy((float *)context + told->samples.first * CLASSES, told->given,
           told->samples.count * CLASSES * sizeof *told->given);
}

static sh_status begin(sh_session **session, const char *model, bool unfold)
{
    static const char here[] = __FILE__, inner[] = "src/node/job/unfold_test.c";
    char note[SH_MESSAGE_BYTES];
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "%s", model);
    if (strchr(model, '.') != NULL)
        snprintf(job.model, sizeof job.model, "%.*stest/onnx/networks/%s",
                 (int)(sizeof here - sizeof inner), here, model);
    snprintf(job.data, sizeof job.data, "digits:100/%d", SAMPLES);
    job.unfold = unfold;
    assert_ok(sh_job_complete(&job));
    const sh_session_data data = {.network = NULL};
    const sh_status status = sh_new_job_open(session, &job, &data, NULL, note);
    if (status == SH_OK && unfold && strstr(note, "1 batch norms were restored") == NULL)
        fail_msg("the note is '%s'", note);
    return status;
}

static void compute(float *given, char model[SH_MODEL_BYTES], char hash[SH_DIGEST_TEXT],
                    bool unfold)
{
    sh_session *session;
    sh_forward *forward;
    assert_ok(begin(&session, "digits.onnx", unfold));
    snprintf(model, SH_MODEL_BYTES, "%s", session->job.model);
    snprintf(hash, SH_DIGEST_TEXT, "%s", session->job.pretrained);
    session->on_answers = collect;
    session->context = given;
    assert_ok(sh_forward_new(&forward, session, 1, 0));
    assert_ok(sh_forward_run(forward, SAMPLES));
    bool found = false;
    for (uint32_t t = 0; t < session->replica->tensors; t++)
        found = found || strcmp(sh_replica_tensor_name(session->replica, t), "4.unfolded.var") == 0;
    assert_int_equal(found, unfold);
    sh_forward_free(forward);
    sh_session_close(session);
}

static void test_the_function_stays(void **state)
{
    (void)state;
    static float before[SAMPLES * CLASSES], after[SAMPLES * CLASSES], again[SAMPLES * CLASSES];
    char model[3][SH_MODEL_BYTES], hash[3][SH_DIGEST_TEXT];
    float largest = 0;
    compute(before, model[0], hash[0], false);
    compute(after, model[1], hash[1], true);
    compute(again, model[2], hash[2], true);
    for (size_t i = 0; i < SAMPLES * CLASSES; i++) {
        assert_true(fabsf(before[i] - after[i]) < 1e-4f);
        largest = fmaxf(largest, fabsf(before[i]));
    }
    assert_true(largest > 0.1f);
    assert_string_not_equal(model[0], model[1]);
    assert_string_not_equal(hash[0], hash[1]);
    assert_string_equal(model[1], model[2]);
    assert_string_equal(hash[1], hash[2]);
}

static void test_what_has_none_is_refused(void **state)
{
    (void)state;
    sh_session *session = NULL;
    assert_fails(begin(&session, "lenet", true), SH_INVALID, "--unfold: is for an ONNX file");
    sh_session_close(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_function_stays, set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_what_has_none_is_refused, set_up, scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
