/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/calibration.h"

#include <string.h>

#include "base/scratch.h"
#include "node/job/new_job.h"
#include "onnx/onnx_file.h"
#include "train/job_options.h"

#define THERE 40
#define GROUP 16
#define PIXELS (28 * 28)
#define CONV 0 /* nodes of digits.onnx: a convolution, its batch norm, a ReLU, a max-pooling */
#define NORM 1
#define RELU 2

typedef struct taken {
    const sh_session *session;
    uint32_t wanted;
    size_t groups, samples;
    size_t results[3];
    size_t others;
    float norm[GROUP * 8 * PIXELS];
    size_t fails_at; /* 0: never */
} taken;

static taken all;

static void check_samples(const sh_shape *shape, const float *values)
{
    static float expected[PIXELS];
    int32_t label;
    assert_int_equal(shape->rank, 2);
    assert_int_equal(shape->dim[1], PIXELS);
    for (size_t i = 0; i < shape->dim[0]; i++, all.samples++) {
        const uint32_t index = (uint32_t)(all.samples * THERE / all.wanted);
        assert_ok(
            sh_pipeline_read(all.session->pipeline, SH_SPLIT_TRAIN, 0, index, expected, &label));
        assert_memory_equal(values + i * PIXELS, expected, sizeof expected);
    }
    all.groups++;
}

static sh_status take(void *context, size_t node, const sh_shape *shape, const float *values)
{
    assert_ptr_equal(context, &all);
    if (node == SH_CALIBRATION_SAMPLES) {
        check_samples(shape, values);
        return SH_OK;
    }
    if (node > RELU) {
        all.others++;
        return SH_OK;
    }
    const size_t elements = sh_shape_count(shape);
    assert_true(elements <= sizeof all.norm / sizeof *all.norm);
    all.results[node]++;
    if (node == NORM)
        memcpy(all.norm, values, elements * sizeof *values);
    for (size_t i = 0; node == RELU && i < elements; i++)
        assert_true(values[i] == (all.norm[i] > 0 ? all.norm[i] : 0));
    return all.fails_at != 0 && --all.fails_at == 0 ? sh_fail(SH_LIMIT, "enough") : SH_OK;
}

static sh_status calibrate(uint32_t samples, uint32_t wanted, const bool *chosen)
{
    static const char here[] = __FILE__, inner[] = "src/node/job/calibration_test.c";
    char note[SH_MESSAGE_BYTES];
    sh_session *session;
    sh_onnx *model;
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "%.*stest/onnx/networks/digits.onnx",
             (int)(sizeof here - sizeof inner), here);
    snprintf(job.data, sizeof job.data, "digits:%d/8", THERE);
    assert_ok(sh_job_complete(&job));
    assert_ok(sh_onnx_open(&model, job.model));
    assert_ok(sh_new_job_open(&session, &job, &(sh_session_data){.network = NULL}, NULL, note));
    all.session = session;
    all.wanted = wanted;
    const sh_calibration asked = {.session = session,
                                  .model = model,
                                  .chosen = chosen,
                                  .samples = samples,
                                  .take = take,
                                  .context = &all};
    const sh_status status = sh_calibrate(&asked);
    sh_session_close(session);
    sh_onnx_close(model);
    return status;
}

static int set_up(void **state)
{
    if (scratch_set_up(state) != 0)
        return -1;
    memset(&all, 0, sizeof all);
    return setenv("XDG_CACHE_HOME", scratch_folder, 1);
}

/* A run may overwrite its inputs, but `take` must get the read samples. */
static void samples_are_evenly_spaced(void **state)
{
    (void)state;
    assert_ok(calibrate(35, 35, NULL));
    assert_int_equal(all.groups, 2);
    assert_int_equal(all.samples, 2 * GROUP);
    assert_int_equal(all.results[NORM], 2);
    assert_int_equal(all.results[RELU], 2);
    assert_true(all.others > 0);
}

static void there_may_be_fewer(void **state)
{
    (void)state;
    assert_ok(calibrate(5, 5, NULL));
    assert_int_equal(all.groups, 1);
    assert_int_equal(all.samples, 5);
    memset(&all, 0, sizeof all);
    assert_ok(calibrate(1000, THERE, NULL));
    assert_int_equal(all.samples, 2 * GROUP);
}

static void only_chosen_nodes_are_given(void **state)
{
    (void)state;
    bool chosen[16] = {[CONV] = true};
    assert_ok(calibrate(GROUP, GROUP, chosen));
    assert_int_equal(all.results[CONV], 1);
    assert_int_equal(all.results[NORM] + all.results[RELU] + all.others, 0);
}

static void a_failure_ends_it(void **state)
{
    (void)state;
    all.fails_at = 2;
    assert_fails(calibrate(2 * GROUP, 2 * GROUP, NULL), SH_LIMIT, "enough");
    assert_int_equal(all.groups, 1);
    assert_int_equal(all.results[CONV] + all.results[NORM] + all.results[RELU], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(samples_are_evenly_spaced, set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(there_may_be_fewer, set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(only_chosen_nodes_are_given, set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_failure_ends_it, set_up, scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
