/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares training with PyTorch: with the same data and initial weights, the losses and the final
 * weights agree, for every variant that this machine supports and several grain sizes and numbers
 * of lanes. test/golden/make_golden.py makes the expected numbers.
 *
 * The batch is the whole training split, so that its order does not matter. PyTorch in float32
 * differs from PyTorch in float64 by up to 1.3e-7 in a loss and 7e-7 in the sums below. The limits
 * allow for other orders of addition, and for a pixel that falls on the other side of a ReLU or a
 * maximum.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/scratch.h"
#include "train/trainer.h"

#define LOSS_LIMIT 1e-4    /* relative */
#define SUM_LIMIT 1e-6     /* |mean error of a tensor's weights| / their root mean square */
#define SQUARES_LIMIT 1e-5 /* relative, of the sum of w^2 */
#define MOVED_LIMIT 1e-4   /* relative, of the sum of (w - w0)^2 */

#define SIDE 28
#define PIXELS ((size_t)SIDE * SIDE)
#define IMAGES_HEAD 16 /* bytes of an IDX file before the images */
#define LABELS_HEAD 8

#define STEPS 10
#define PLAIN_JOBS 4 /* pairs without and with weight decay */
#define RECIPES 12
#define JOBS (PLAIN_JOBS + RECIPES)
#define MAX_TENSORS 8
#define PRECISIONS 2 /* PyTorch's runs: in float32 and in float64 */

/* Sums over a tensor w after the last step; w0 is its initial value. */
typedef struct sums {
    double w, squares, moved; /* of w, of w^2, of (w - w0)^2 */
} sums;

typedef struct run {
    double losses[STEPS];
    double validation_loss;
    sums tensors[MAX_TENSORS];
} run;

typedef struct golden_job {
    const char *name, *model, *optimizer, *schedule;
    double lr, momentum, weight_decay, beta1, beta2, epsilon, alpha, warmup, clip_norm;
    int nesterov;
    const char *initial_hash;
    uint32_t tensors;
    const char *names[MAX_TENSORS];
    int elements[MAX_TENSORS];
    double ends[MAX_TENSORS][3]; /* the first, second and last initial weight */
    run runs[PRECISIONS];
} golden_job;

typedef struct deviations {
    double loss, w, squares, moved;
} deviations;

typedef struct bench {
    json_t *file; /* owns the texts below */
    json_int_t seed, data_seed;
    int samples[SH_SPLITS];
    const char *data_hashes[SH_SPLITS];
    golden_job jobs[JOBS];
    char folder[SCRATCH_BYTES];
    sh_pipeline *pipeline;
    deviations worst;
} bench;

typedef struct setting {
    const golden_job *job;
    const sh_kernels *kernels;
    uint32_t grain, lanes;
} setting;

/* --- golden.json --- */

#define TAKE(object, ...)                                                                          \
    do {                                                                                           \
        json_error_t error_;                                                                       \
        if (json_unpack_ex(object, &error_, 0, __VA_ARGS__) != 0)                                  \
            fail_msg("golden.json: %s", error_.text);                                              \
    } while (0)

static void take_run(run *r, json_t *object, uint32_t tensors)
{
    json_t *losses, *all;
    TAKE(object, "{s:o, s:F, s:o}", "losses", &losses, "validation_loss", &r->validation_loss,
         "sums", &all);
    assert_int_equal(json_array_size(losses), STEPS);
    assert_int_equal(json_array_size(all), tensors);
    for (size_t i = 0; i < STEPS; i++)
        r->losses[i] = json_real_value(json_array_get(losses, i));
    for (size_t t = 0; t < tensors; t++)
        TAKE(json_array_get(all, t), "[F, F, F!]", &r->tensors[t].w, &r->tensors[t].squares,
             &r->tensors[t].moved);
}

static void take_job(golden_job *job, json_t *object)
{
    json_t *tensors, *runs[PRECISIONS];
    job->name = "plain";
    TAKE(object,
         "{s?:s, s:s, s?:s, s?:s, s?:F, s?:F, s:F, s?:F, s?:F, s?:F, s?:F, s?:F, s?:F, s?:b, s:s, "
         "s:o, s:o, s:o}",
         "name", &job->name, "model", &job->model, "optimizer", &job->optimizer, "schedule",
         &job->schedule, "lr", &job->lr, "momentum", &job->momentum, "weight_decay",
         &job->weight_decay, "beta1", &job->beta1, "beta2", &job->beta2, "epsilon", &job->epsilon,
         "alpha", &job->alpha, "warmup", &job->warmup, "clip_norm", &job->clip_norm, "nesterov",
         &job->nesterov, "initial_hash", &job->initial_hash, "tensors", &tensors, "float32",
         &runs[0], "float64", &runs[1]);
    job->tensors = (uint32_t)json_array_size(tensors);
    assert_in_range(job->tensors, 1, MAX_TENSORS);
    for (size_t t = 0; t < job->tensors; t++)
        TAKE(json_array_get(tensors, t), "{s:s, s:i, s:[F, F, F!]}", "name", &job->names[t],
             "elements", &job->elements[t], "ends", &job->ends[t][0], &job->ends[t][1],
             &job->ends[t][2]);
    for (int i = 0; i < PRECISIONS; i++)
        take_run(&job->runs[i], runs[i], job->tensors);
}

static void load(bench *b)
{
    /* Relative to this source file, for any working directory. */
    static const char here[] = __FILE__, inner[] = "src/train/golden_test.c";
    char path[SCRATCH_BYTES];
    double lr, momentum;
    json_error_t error;
    json_t *jobs, *recipes;
    assert_true(sizeof here >= sizeof inner);
    snprintf(path, sizeof path, "%.*stest/golden/golden.json", (int)(sizeof here - sizeof inner),
             here);
    b->file = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (b->file == NULL)
        fail_msg("%s: line %d: %s", path, error.line, error.text);
    TAKE(b->file, "{s:I, s:I, s:[i, i!], s:[s, s!], s:F, s:F, s:o, s:o}", "seed", &b->seed,
         "data_seed", &b->data_seed, "samples", &b->samples[0], &b->samples[1], "data_hashes",
         &b->data_hashes[0], &b->data_hashes[1], "lr", &lr, "momentum", &momentum, "jobs", &jobs,
         "recipes", &recipes);
    assert_int_equal(json_array_size(jobs), PLAIN_JOBS);
    assert_int_equal(json_array_size(recipes), RECIPES);
    for (size_t i = 0; i < PLAIN_JOBS; i++) {
        b->jobs[i].lr = lr;
        b->jobs[i].momentum = momentum;
        take_job(&b->jobs[i], json_array_get(jobs, i));
    }
    for (size_t i = 0; i < RECIPES; i++)
        take_job(&b->jobs[PLAIN_JOBS + i], json_array_get(recipes, i));
}

/* --- the data, drawn as in make_data() of make_golden.py --- */

static void draw_image(const bench *b, uint8_t *pixels, uint32_t index, sh_split split)
{
    const uint32_t label = index % 10;
    sh_random random =
        sh_random_for((uint64_t)b->data_seed, SH_RANDOM_TEST, index, (uint32_t)split);
    const uint32_t row = 4 + 2 * label, column = 4 + 2 * (label * 7 % 10);
    for (uint32_t y = 0; y < SIDE; y++)
        for (uint32_t x = 0; x < SIDE; x++) {
            const uint32_t noise = sh_random_next(&random) >> 26;
            *pixels++ = (uint8_t)(noise + (y == row || x == column ? 192 : 0));
        }
}

static void put_u32(uint8_t *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void write_file(const bench *b, const char *name, const void *bytes, size_t count)
{
    char path[SCRATCH_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", b->folder, name);
    scratch_write(path, bytes, count);
}

static void write_split(const bench *b, sh_split split, const char *prefix)
{
    const uint32_t count = (uint32_t)b->samples[split];
    char name[64], hex[SH_DIGEST_TEXT];
    uint8_t *images = calloc(1, IMAGES_HEAD + count * PIXELS);
    uint8_t *labels = calloc(1, LABELS_HEAD + (size_t)count);
    sh_digest *digest;
    assert_true(images != NULL && labels != NULL);
    put_u32(images, 0x803);
    put_u32(images + 4, count);
    put_u32(images + 8, SIDE);
    put_u32(images + 12, SIDE);
    put_u32(labels, 0x801);
    put_u32(labels + 4, count);
    for (uint32_t i = 0; i < count; i++) {
        draw_image(b, images + IMAGES_HEAD + i * PIXELS, i, split);
        labels[LABELS_HEAD + i] = (uint8_t)(i % 10);
    }
    assert_ok(sh_digest_new(&digest));
    sh_digest_add(digest, images + IMAGES_HEAD, count * PIXELS);
    sh_digest_add(digest, labels + LABELS_HEAD, count);
    assert_ok(sh_digest_finish(digest, hex));
    assert_string_equal(hex, b->data_hashes[split]);
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", prefix);
    write_file(b, name, images, IMAGES_HEAD + count * PIXELS);
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", prefix);
    write_file(b, name, labels, LABELS_HEAD + (size_t)count);
    free(images);
    free(labels);
}

/* --- one run --- */

static void set_recipe(sh_job *job, const golden_job *golden)
{
    snprintf(job->optimizer, sizeof job->optimizer, "%s", golden->optimizer);
    snprintf(job->schedule, sizeof job->schedule, "%s", golden->schedule);
    job->nesterov = golden->nesterov != 0;
    job->beta1 = (float)golden->beta1;
    job->beta2 = (float)golden->beta2;
    job->epsilon = (float)golden->epsilon;
    job->alpha = (float)golden->alpha;
    job->warmup = (float)golden->warmup;
    job->clip_norm = (float)golden->clip_norm;
}

static sh_job job_of(const bench *b, const setting *s)
{
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "%s", s->job->model);
    const int length = snprintf(job.data, sizeof job.data, "mnist:%s", b->folder);
    assert_in_range(length, 1, sizeof job.data - 1);
    job.seed = (uint64_t)b->seed;
    job.batch_size = (uint32_t)b->samples[SH_SPLIT_TRAIN];
    job.grain = s->grain;
    job.steps = STEPS;
    job.lr = (float)s->job->lr;
    job.momentum = (float)s->job->momentum;
    job.weight_decay = (float)s->job->weight_decay;
    if (s->job->optimizer != NULL)
        set_recipe(&job, s->job);
    assert_ok(sh_job_complete(&job));
    return job;
}

static sh_replica *replica_of(const sh_pipeline *pipeline, const sh_job *job)
{
    sh_replica *replica;
    const sh_dataset_info *info = sh_pipeline_about(pipeline);
    const sh_problem problem = {info->channels, info->height, info->width, info->outputs,
                                SH_TARGET_CLASS};
    assert_ok(sh_replica_new(&replica, job, &problem));
    return replica;
}

static sums sums_of(const sh_replica *replica, uint32_t tensor, const float *initial)
{
    sums s = {0, 0, 0};
    const float *weights = replica->parameters[tensor];
    const size_t first = (size_t)(weights - replica->weights);
    const size_t count = sh_sum_elements(replica->sum, tensor);
    for (size_t i = 0; i < count; i++) {
        const double w = (double)weights[i], moved = w - (double)initial[first + i];
        s.w += w;
        s.squares += w * w;
        s.moved += moved * moved;
    }
    return s;
}

static void train(const bench *b, const setting *s, run *out)
{
    const sh_job job = job_of(b, s);
    const uint32_t grains = (job.batch_size + job.grain - 1) / job.grain;
    const sh_part part = {.share = {0, grains}, .of = grains, .engine = sh_engine_solo()};
    sh_replica *replica = replica_of(b->pipeline, &job);
    const size_t bytes = replica->weight_count * sizeof *replica->weights;
    float *initial = malloc(bytes);
    sh_trainer *trainer;
    assert_non_null(initial);
    memcpy(initial, replica->weights, bytes);
    assert_ok(sh_trainer_new(&trainer, &(sh_trainer_options){.job = &job,
                                                             .pipeline = b->pipeline,
                                                             .kernels = s->kernels,
                                                             .replica = replica,
                                                             .lanes = s->lanes}));
    for (int i = 0; i < STEPS; i++) {
        sh_step_result result;
        assert_ok(sh_trainer_step(trainer, &part, &result));
        assert_int_equal(result.totals.samples, job.batch_size);
        out->losses[i] = result.totals.loss / (double)result.totals.samples;
    }
    sh_sum_totals validation;
    assert_ok(sh_trainer_evaluate(trainer, &part, &validation));
    assert_int_equal(validation.samples, b->samples[SH_SPLIT_VALIDATION]);
    out->validation_loss = validation.loss / (double)validation.samples;
    for (uint32_t t = 0; t < s->job->tensors; t++)
        out->tensors[t] = sums_of(replica, t, initial);
    sh_trainer_free(trainer);
    sh_replica_free(replica);
    free(initial);
}

/* --- the comparison --- */

/* Raises *worst to the deviation. */
static void compare(const setting *s, const char *what, double got, double expected, double scale,
                    double limit, double *worst)
{
    const double deviation = fabs(got - expected) / scale;
    if (!(deviation <= limit))
        fail_msg("%s, %s, decay %g, variant %s, grain %u, %u lanes: %s is %.9g, PyTorch has %.9g: "
                 "deviation %.2e, limit %.0e",
                 s->job->name, s->job->model, s->job->weight_decay, s->kernels->name, s->grain,
                 s->lanes, what, got, expected, deviation, limit);
    *worst = fmax(*worst, deviation);
}

static void compare_tensors(bench *b, const setting *s, const run *got, const run *expected)
{
    for (uint32_t t = 0; t < s->job->tensors; t++) {
        char what[128];
        const char *name = s->job->names[t];
        const sums *have = &got->tensors[t], *want = &expected->tensors[t];
        snprintf(what, sizeof what, "%s: sum of w", name);
        compare(s, what, have->w, want->w, sqrt((double)s->job->elements[t] * want->squares),
                SUM_LIMIT, &b->worst.w);
        snprintf(what, sizeof what, "%s: sum of w^2", name);
        compare(s, what, have->squares, want->squares, want->squares, SQUARES_LIMIT,
                &b->worst.squares);
        snprintf(what, sizeof what, "%s: sum of (w - w0)^2", name);
        compare(s, what, have->moved, want->moved, want->moved, MOVED_LIMIT, &b->worst.moved);
    }
}

static void compare_runs(bench *b, const setting *s, const run *got, const run *expected)
{
    for (int i = 0; i < STEPS; i++) {
        char what[64];
        snprintf(what, sizeof what, "the loss of step %d", i + 1);
        compare(s, what, got->losses[i], expected->losses[i], expected->losses[i], LOSS_LIMIT,
                &b->worst.loss);
    }
    compare(s, "the validation loss", got->validation_loss, expected->validation_loss,
            expected->validation_loss, LOSS_LIMIT, &b->worst.loss);
    compare_tensors(b, s, got, expected);
}

/* Not every combination is needed: trainer_test.c shows that lanes do not affect the bits. */
static void follow_job(bench *b, const golden_job *job, const sh_kernels *kernels)
{
    static const struct {
        uint32_t grain, lanes;
        bool varied; /* for jobs with weight decay or a recipe */
    } cuts[] = {{16, 1, false}, {64, 1, false}, {7, 2, false}, {16, 2, true}};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        const setting s = {job, kernels, cuts[i].grain, cuts[i].lanes};
        run got;
        if (cuts[i].varied != (job->weight_decay > 0 || job->optimizer != NULL))
            continue;
        train(b, &s, &got);
        for (int k = 0; k < PRECISIONS; k++)
            compare_runs(b, &s, &got, &job->runs[k]);
    }
}

/* --- the tests --- */

static void pixels_are_normalised_as_in_the_script(void **state)
{
    const bench *b = *state;
    float pixels[PIXELS];
    int32_t label;
    uint8_t bytes[PIXELS];
    for (uint32_t i = 0; i < (uint32_t)b->samples[SH_SPLIT_TRAIN]; i++) {
        draw_image(b, bytes, i, SH_SPLIT_TRAIN);
        assert_ok(sh_pipeline_read(b->pipeline, SH_SPLIT_TRAIN, 0, i, pixels, &label));
        assert_int_equal(label, i % 10);
        for (size_t k = 0; k < PIXELS; k++)
            assert_true(fabs((double)pixels[k] - (bytes[k] / 255.0 - 0.1307) / 0.3081) < 1e-6);
    }
}

/* The single weights help to locate a difference. */
static void initial_weights_are_the_same_bits(void **state)
{
    const bench *b = *state;
    for (size_t j = 0; j < JOBS; j++) {
        char hash[SH_DIGEST_TEXT];
        const golden_job *golden = &b->jobs[j];
        const sh_job job = job_of(b, &(setting){.job = golden, .grain = 1});
        sh_replica *replica = replica_of(b->pipeline, &job);
        assert_int_equal(replica->tensors, golden->tensors);
        for (uint32_t t = 0; t < replica->tensors; t++) {
            const float *weights = replica->parameters[t];
            const double *ends = golden->ends[t];
            const size_t elements = sh_sum_elements(replica->sum, t);
            assert_int_equal(elements, golden->elements[t]);
            assert_string_equal(sh_replica_tensor_name(replica, t), golden->names[t]);
            assert_true((double)weights[0] == ends[0]);
            assert_true((double)weights[1] == ends[1]);
            assert_true((double)weights[elements - 1] == ends[2]);
        }
        assert_ok(sh_replica_hash(replica, hash));
        assert_string_equal(hash, golden->initial_hash);
        sh_replica_free(replica);
    }
}

static void training_follows_pytorch(void **state)
{
    bench *b = *state;
    for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++) {
        if (!sh_variant_runs((*all)->variant) || (*all)->emulates)
            continue;
        b->worst = (deviations){0, 0, 0, 0};
        for (size_t j = 0; j < JOBS; j++)
            follow_job(b, &b->jobs[j], *all);
        print_message("%s: largest deviations from PyTorch: loss %.1e, sum %.1e, squares %.1e, "
                      "moved %.1e\n",
                      (*all)->name, b->worst.loss, b->worst.w, b->worst.squares, b->worst.moved);
    }
}

/* The limits detect jobs that differ slightly, such as only in weight decay. */
static void another_job_goes_elsewhere(void **state)
{
    const bench *b = *state;
    for (size_t j = 0; j + 1 < PLAIN_JOBS; j += 2) {
        const run *plain = &b->jobs[j].runs[0], *decayed = &b->jobs[j + 1].runs[0];
        const double last = plain->losses[STEPS - 1];
        assert_string_equal(b->jobs[j].model, b->jobs[j + 1].model);
        assert_true(fabs(decayed->losses[STEPS - 1] - last) > 2 * LOSS_LIMIT * last);
        assert_true(last < 0.9 * plain->losses[0]);
    }
    for (size_t j = PLAIN_JOBS; j < JOBS; j++)
        for (size_t other = PLAIN_JOBS; other < j; other++) {
            const double a = b->jobs[j].runs[0].validation_loss;
            assert_true(fabs(a - b->jobs[other].runs[0].validation_loss) > 2 * LOSS_LIMIT * a);
        }
}

static int start(void **state)
{
    char spec[SCRATCH_BYTES + 16];
    bench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    load(b);
    scratch_make(b->folder);
    write_split(b, SH_SPLIT_TRAIN, "train");
    write_split(b, SH_SPLIT_VALIDATION, "t10k");
    snprintf(spec, sizeof spec, "mnist:%s", b->folder);
    assert_ok(sh_pipeline_open(&b->pipeline, spec, &(sh_pipeline_options){.resize = 0}));
    *state = b;
    return 0;
}

static int end(void **state)
{
    bench *b = *state;
    sh_pipeline_close(b->pipeline);
    scratch_remove(b->folder);
    json_decref(b->file);
    free(b);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_are_normalised_as_in_the_script),
        cmocka_unit_test(initial_weights_are_the_same_bits),
        cmocka_unit_test(another_job_goes_elsewhere),
        cmocka_unit_test(training_follows_pytorch),
    };
    return cmocka_run_group_tests(tests, start, end);
}
