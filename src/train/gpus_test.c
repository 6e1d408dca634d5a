/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training on a GPU, alone or with the processor, gives the weights of the processor alone, also if
 * the GPU fails. Uses the first usable GPU, perhaps PoCL's device.
 */
#include "train/gpus.h"

#include "base/digest.h"
#include "base/test.h"
#include "gpu/driver.h"
#include "train/session.h"
#include "train/step.h"

#define NO_GPU UINT32_MAX

enum { STEPS = 4 };

static uint32_t gpu_number = NO_GPU;

static int find_gpu(void **state)
{
    (void)state;
    const uint32_t count = sh_gpu_count();
    for (uint32_t i = 0; i < count && gpu_number == NO_GPU; i++) {
        sh_gpu_description about;
        if (sh_gpu_describe(&about, i) == SH_OK && about.usable)
            gpu_number = i;
    }
    return 0;
}

static void need_gpu(void)
{
    if (gpu_number == NO_GPU)
        skip_because("no GPU and no OpenCL device: apt-get install pocl-opencl-icd");
}

/* The last grain of a batch has 4 samples, and an epoch's last batch is such a grain. */
static sh_job job_of(const char *model)
{
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "%s", model);
    snprintf(job.data, sizeof job.data, "digits:76/20");
    job.batch_size = 36;
    job.grain = 8;
    job.steps = STEPS;
    assert_ok(sh_job_complete(&job));
    return job;
}

typedef struct outcome {
    char weights[SH_DIGEST_TEXT];
    double loss, validation_loss;
    uint64_t score, validation_score;
    atomic_ullong answers; /* a sum over samples, in any order */
    bool gpu_is_left, gpu_computed, gpu_validated;
} outcome;

enum { OUTPUTS = 10 };

static void add_answers(void *context, const sh_answers *answers)
{
    outcome *got = context;
    const int32_t *targets = answers->targets;
    for (uint32_t i = 0; i < answers->samples.count; i++) {
        uint64_t check = (uint32_t)targets[i] + 1;
        for (uint32_t k = 0; k <= OUTPUTS; k++) {
            const float *number =
                k == OUTPUTS ? &answers->losses[i] : &answers->given[i * OUTPUTS + k];
            uint32_t bits;
            memcpy(&bits, number, sizeof bits);
            check = check * 1000003 + bits;
        }
        atomic_fetch_add(&got->answers, check * (answers->samples.first + i + 1));
    }
}

static uint32_t finishes_left; /* until the GPU is lost */
static const sh_gpu_driver *real;

static sh_status finish_or_fail(sh_gpu *gpu)
{
    SH_TRY(real->finish(gpu));
    if (finishes_left == 0)
        return sh_fail(SH_IO, "GPU %s: computing failed: it fell off the bus",
                       gpu->description.name);
    finishes_left--;
    return SH_OK;
}

static void arm(sh_trainer *trainer, uint32_t finishes)
{
    static sh_gpu_driver failing;
    bool computed;
    const char *about =
        (const char *)sh_gpu_lane_about(sh_gpus_at(&trainer->stage, 0, SH_MODEL_TRAIN, &computed));
    sh_gpu *gpu = (sh_gpu *)(void *)(uintptr_t)(about - offsetof(sh_gpu, description));
    real = gpu->driver;
    failing = *real;
    failing.finish = finish_or_fail;
    gpu->driver = &failing;
    finishes_left = finishes;
}

/* The GPU fails after `finishes` waiting calls; 0: never. */
static outcome train(const char *model, uint32_t lanes, bool on_gpu, uint32_t finishes)
{
    const sh_job job = job_of(model);
    outcome got = {.loss = 0};
    sh_session *session;
    sh_sum_totals validation = {.loss = -1};
    assert_ok(sh_session_open(&session, &job, NULL));
    session->gpus = &gpu_number;
    session->gpu_count = on_gpu ? 1 : 0;
    session->on_answers = add_answers;
    session->context = &got;
    assert_ok(sh_session_start(session, lanes, 0));
    if (finishes > 0)
        arm(session->trainer, finishes);
    const uint32_t grains = (job.batch_size + job.grain - 1) / job.grain;
    const sh_part part = {.share = {0, grains}, .of = grains, .engine = sh_engine_solo()};
    for (int i = 0; i < STEPS; i++) {
        sh_step_result result;
        assert_ok(sh_trainer_step(session->trainer, &part, &result));
        got.loss += result.totals.loss;
        got.score += result.totals.score;
        if (sh_trainer_is_over(session->trainer) || session->replica->phase == SH_PHASE_VALIDATION)
            assert_ok(sh_trainer_evaluate(session->trainer, &part, &validation));
    }
    got.validation_loss = validation.loss;
    got.validation_score = validation.score;
    uint8_t digest[SH_DIGEST_BYTES];
    assert_ok(sh_digest_block(digest, session->replica->weights,
                              session->replica->weight_count * sizeof(float)));
    sh_digest_print(got.weights, digest);
    const sh_stage *stage = &session->trainer->stage;
    got.gpu_is_left = sh_gpus_at(stage, 0, SH_MODEL_TRAIN, &got.gpu_computed) != NULL &&
                      sh_gpus_at(stage, 0, SH_MODEL_EVALUATE, &got.gpu_validated) != NULL;
    sh_session_close(session);
    return got;
}

static void assert_same(const outcome *got, const outcome *want)
{
    assert_string_equal(got->weights, want->weights);
    assert_true(got->loss == want->loss && got->validation_loss == want->validation_loss);
    assert_true(got->answers == want->answers && want->answers != 0);
    assert_int_equal(got->score, want->score);
    assert_int_equal(got->validation_score, want->validation_score);
}

static void a_gpu_has_the_weights_of_the_processor(void **state)
{
    (void)state;
    static const char *const models[] = {"mlp:784-32-10", "lenet"};
    need_gpu();
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const outcome want = train(models[i], 1, false, 0);
        const outcome alone = train(models[i], 0, true, 0), mixed = train(models[i], 2, true, 0);
        assert_same(&alone, &want);
        assert_same(&mixed, &want);
        assert_true(alone.gpu_is_left && alone.gpu_computed && alone.gpu_validated);
        assert_true(mixed.gpu_is_left && mixed.gpu_computed);
    }
}

static void a_gpu_that_is_lost_costs_nothing(void **state)
{
    (void)state;
    need_gpu();
    const outcome want = train("mlp:784-32-10", 1, false, 0);
    for (uint32_t finishes = 1; finishes <= 9; finishes += 1 + finishes / 3) {
        const outcome got = train("mlp:784-32-10", finishes % 2, true, finishes);
        assert_same(&got, &want);
        assert_false(got.gpu_is_left);
    }
}

static void what_gpus_cannot_do_is_refused(void **state)
{
    (void)state;
    static const uint32_t none = SH_GPU_MAX, first = 0;
    static const struct {
        const char *strategy;
        uint32_t wire;
        const uint32_t *gpu;
        sh_status status;
        const char *part;
    } cases[] = {
        {"sync", 16, &first, SH_UNSUPPORTED, "--wire 16: GPUs add gradients only in 32 bits"},
        {"local:2", 32, &first, SH_UNSUPPORTED,
         "--strategy local:2: GPUs train only with sync and ps-sync"},
        {"sync", 32, &none, SH_NOT_FOUND, "GPU"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_session *session;
        sh_job job = job_of("mlp:784-32-10");
        snprintf(job.strategy, sizeof job.strategy, "%s", cases[i].strategy);
        job.wire = cases[i].wire;
        assert_ok(sh_job_complete(&job));
        assert_ok(sh_session_open(&session, &job, NULL));
        session->gpus = cases[i].gpu;
        session->gpu_count = 1;
        assert_fails(sh_session_start(session, 1, 0), cases[i].status, cases[i].part);
        sh_session_close(session);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_has_the_weights_of_the_processor),
        cmocka_unit_test(a_gpu_that_is_lost_costs_nothing),
        cmocka_unit_test(what_gpus_cannot_do_is_refused),
    };
    return cmocka_run_group_tests(tests, find_gpu, NULL);
}
