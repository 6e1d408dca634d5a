/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares ten training steps with PyTorch: losses, weights and running statistics, on every
 * variant that this machine supports. test/golden/make_golden_models.py makes the expected numbers
 * and explains why its learning rates are small.
 *
 * The batch is one grain, over which both implementations normalise, and the whole training split,
 * so that its order does not matter. A loss may differ by LOSS_LIMIT, five times the difference
 * between PyTorch in float32 and in float64. The sums over a tensor may differ by their limit plus
 * SLACK times that difference: rounding alone changes values on which the loss hardly depends, such
 * as a bias before a normalisation.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/test.h"
#include "data/dataset_impl.h"
#include "train/trainer.h"

#define LOSS_LIMIT 1e-4 /* relative */
#define SLACK 5

#define SIDE 32
#define CHANNELS 3
#define CLASSES 10
#define SAMPLES 16 /* per split, and per grain */
#define PLANE ((size_t)SIDE * SIDE)
#define PIXELS (CHANNELS * PLANE)
#define STEPS 10

/* Sums over a tensor w after the last step; w0 is its initial value. */
typedef struct sums {
    double w, squares, moved; /* of w, of w^2, of (w - w0)^2 */
} sums;

typedef struct run {
    double losses[STEPS];
    double validation_loss;
    sums *tensors;
} run;

typedef struct golden_job {
    const char *model, *initial_hash;
    double lr;
    json_t *names;
    run narrow, wide; /* in float32 and in float64 */
} golden_job;

typedef struct golden {
    json_t *file, *jobs;
    json_int_t seed, data_seed;
    double momentum, weight_decay;
    const char *data_hashes[SH_SPLITS];
} golden;

/* --- the script's output --- */

#define TAKE(json, ...)                                                                            \
    do {                                                                                           \
        json_error_t take_error;                                                                   \
        if (json_unpack_ex((json), &take_error, 0, __VA_ARGS__) != 0)                              \
            fail_msg("golden_models.json: %s", take_error.text);                                   \
    } while (0)

static void take_run(run *r, json_t *object, size_t tensors)
{
    json_t *losses, *all;
    TAKE(object, "{s:o, s:F, s:o}", "losses", &losses, "validation_loss", &r->validation_loss,
         "sums", &all);
    assert_int_equal(json_array_size(losses), STEPS);
    assert_int_equal(json_array_size(all), tensors);
    for (size_t i = 0; i < STEPS; i++)
        r->losses[i] = json_real_value(json_array_get(losses, i));
    r->tensors = calloc(tensors, sizeof *r->tensors);
    assert_non_null(r->tensors);
    for (size_t t = 0; t < tensors; t++)
        TAKE(json_array_get(all, t), "[F, F, F!]", &r->tensors[t].w, &r->tensors[t].squares,
             &r->tensors[t].moved);
}

static void take_job(golden_job *job, json_t *object)
{
    json_t *narrow, *wide;
    TAKE(object, "{s:s, s:F, s:s, s:o, s:o, s:o}", "model", &job->model, "lr", &job->lr,
         "initial_hash", &job->initial_hash, "names", &job->names, "float32", &narrow, "float64",
         &wide);
    take_run(&job->narrow, narrow, json_array_size(job->names));
    take_run(&job->wide, wide, json_array_size(job->names));
}

static int start(void **state)
{
    /* Relative to this source file, for any working directory. */
    static const char here[] = __FILE__, inner[] = "src/train/golden_models_test.c";
    char path[4096];
    json_error_t error;
    golden *g = calloc(1, sizeof *g);
    assert_non_null(g);
    assert_true(sizeof here >= sizeof inner);
    snprintf(path, sizeof path, "%.*stest/golden/golden_models.json",
             (int)(sizeof here - sizeof inner), here);
    g->file = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (g->file == NULL)
        fail_msg("%s: line %d: %s", path, error.line, error.text);
    TAKE(g->file, "{s:I, s:I, s:[s, s!], s:F, s:F, s:o}", "seed", &g->seed, "data_seed",
         &g->data_seed, "data_hashes", &g->data_hashes[0], &g->data_hashes[1], "momentum",
         &g->momentum, "weight_decay", &g->weight_decay, "jobs", &g->jobs);
    *state = g;
    return 0;
}

static int end(void **state)
{
    golden *g = *state;
    json_decref(g->file);
    free(g);
    return 0;
}

/* --- the data, drawn as in make_data() of the script --- */

typedef struct drawn_set {
    sh_dataset base;
    uint64_t seed;
} drawn_set;

static sh_status draw(const sh_dataset *dataset, sh_split split, uint32_t index, void *sample,
                      void *target)
{
    uint8_t *bytes = sample;
    const drawn_set *set = (const drawn_set *)(const void *)dataset;
    const uint32_t class = index % CLASSES;
    const uint32_t row = 4 + 2 * class, column = 4 + 2 * (class * 7 % 10);
    sh_random random = sh_random_for(set->seed, SH_RANDOM_TEST, index, (uint32_t)split);
    for (uint32_t i = 0; i < PIXELS; i++)
        bytes[i] = (uint8_t)(sh_random_next(&random) >> 25);
    for (uint32_t i = 0; i < PLANE; i++)
        if (i / SIDE == row || i % SIDE == column)
            bytes[class % CHANNELS * PLANE + i] += 96;
    *(int32_t *)target = (int32_t) class;
    return SH_OK;
}

static void close_drawn(sh_dataset *dataset)
{
    free(dataset);
}

static const sh_dataset_ops drawn_ops = {.read = draw, .close = close_drawn};

static sh_dataset *drawn_data(const golden *g)
{
    drawn_set *set = calloc(1, sizeof *set);
    assert_non_null(set);
    *set = (drawn_set){.base = {.ops = &drawn_ops,
                                .info = {.name = "drawn",
                                         .channels = CHANNELS,
                                         .height = SIDE,
                                         .width = SIDE,
                                         .outputs = CLASSES,
                                         .count = {SAMPLES, SAMPLES},
                                         .mean = {0.25f, 0.25f, 0.25f},
                                         .deviation = {0.25f, 0.25f, 0.25f}}},
                       .seed = (uint64_t)g->data_seed};
    return &set->base;
}

static void pixels_are_those_of_the_script(void **state)
{
    const golden *g = *state;
    sh_dataset *set = drawn_data(g);
    for (int split = 0; split < SH_SPLITS; split++) {
        uint8_t bytes[PIXELS], labels[SAMPLES];
        char hex[SH_DIGEST_TEXT];
        sh_digest *digest;
        assert_ok(sh_digest_new(&digest));
        for (uint32_t i = 0; i < SAMPLES; i++) {
            int32_t label;
            assert_ok(sh_dataset_read(set, (sh_split)split, i, bytes, &label));
            sh_digest_add(digest, bytes, sizeof bytes);
            labels[i] = (uint8_t)label;
        }
        sh_digest_add(digest, labels, sizeof labels);
        assert_ok(sh_digest_finish(digest, hex));
        assert_string_equal(hex, g->data_hashes[split]);
    }
    sh_dataset_close(set);
}

/* --- one run --- */

static sh_job job_of(const golden *g, const golden_job *wanted)
{
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "%s", wanted->model);
    snprintf(job.data, sizeof job.data, "drawn");
    job.seed = (uint64_t)g->seed;
    job.batch_size = job.grain = SAMPLES;
    job.steps = STEPS;
    job.lr = (float)wanted->lr;
    job.momentum = (float)g->momentum;
    job.weight_decay = (float)g->weight_decay;
    assert_ok(sh_job_complete(&job));
    return job;
}

static size_t elements_of(const sh_replica *replica, uint32_t tensor)
{
    return sh_shape_count(&sh_replica_tensor_type(replica, tensor)->shape);
}

/* `first` has the initial weights. */
static sums sums_of(const sh_replica *replica, const sh_replica *first, uint32_t tensor)
{
    sums s = {0, 0, 0};
    for (size_t i = 0; i < elements_of(replica, tensor); i++) {
        const double w = (double)replica->parameters[tensor][i];
        const double moved = w - (double)first->parameters[tensor][i];
        s.w += w;
        s.squares += w * w;
        s.moved += moved * moved;
    }
    return s;
}

/* `replica` must be new; training changes it. */
static void train(run *out, sh_replica *replica, const sh_pipeline *data, const sh_job *job,
                  const sh_kernels *kernels)
{
    const sh_part part = {.share = {0, 1}, .of = 1, .engine = sh_engine_solo()};
    sh_trainer *trainer;
    assert_ok(sh_trainer_new(
        &trainer,
        &(sh_trainer_options){
            .job = job, .pipeline = data, .kernels = kernels, .replica = replica, .lanes = 1}));
    for (int i = 0; i < STEPS; i++) {
        sh_step_result result;
        assert_ok(sh_trainer_step(trainer, &part, &result));
        out->losses[i] = result.totals.loss / SAMPLES;
    }
    sh_sum_totals validation;
    assert_ok(sh_trainer_evaluate(trainer, &part, &validation));
    out->validation_loss = validation.loss / SAMPLES;
    sh_trainer_free(trainer);
}

/* --- the comparison --- */

typedef struct comparison {
    const char *model, *variant;
    double worst; /* deviation, as a fraction of the allowed one */
} comparison;

static void compare(comparison *c, const char *what, double got, double expected, double allowed)
{
    const double part = fabs(got - expected) / allowed;
    if (!(part <= 1))
        fail_msg("%s on %s: %s is %.9g, PyTorch has %.9g; allowed is a difference of %.1e",
                 c->model, c->variant, what, got, expected, allowed);
    c->worst = fmax(c->worst, part);
}

static void compare_losses(comparison *c, const run *got, const run *expected)
{
    for (int i = 0; i <= STEPS; i++) {
        char what[64] = "the validation loss";
        const double want = i < STEPS ? expected->losses[i] : expected->validation_loss;
        if (i < STEPS)
            snprintf(what, sizeof what, "the loss of step %d", i + 1);
        compare(c, what, i < STEPS ? got->losses[i] : got->validation_loss, want,
                LOSS_LIMIT * want);
    }
}

/* Limits of the differences, relative to the sums. */
typedef struct limits {
    double sum;     /* of w, relative to the number of weights times their root mean square */
    double squares; /* of w^2 */
    double moved;   /* of (w - w0)^2 */
    double noise;   /* root mean square of rounding errors */
} limits;

static const limits of_products = {1e-5, 1e-5, 1e-2, 0};   /* convolutions and dense layers */
static const limits of_scales = {1e-3, 2e-2, 2e-2, 1e-11}; /* scales and biases of normalisation */
static const limits of_running = {1e-4, 1e-4, 1e-3, 1e-6};

static const limits *limits_for(const sh_replica *replica, uint32_t tensor)
{
    if (replica->graph->parameters[tensor].statistic)
        return &of_running;
    return sh_replica_tensor_type(replica, tensor)->shape.rank > 1 ? &of_products : &of_scales;
}

static void compare_tensor(comparison *c, const sh_replica *replica, uint32_t tensor,
                           const sums *got, const sums *narrow, const sums *wide)
{
    const limits *limit = limits_for(replica, tensor);
    const double elements = (double)elements_of(replica, tensor);
    const double noise = elements * limit->noise * limit->noise;
    /* Weights are floats: changes are known to about half a unit in the last place. */
    const double stored = 0x1p-23 * sqrt(wide->moved * wide->squares);
    const struct {
        const char *what;
        double got, narrow, wide, allowed;
    } parts[] = {
        {"w", got->w, narrow->w, wide->w,
         limit->sum * sqrt(elements * wide->squares) + sqrt(elements * noise)},
        {"w^2", got->squares, narrow->squares, wide->squares,
         limit->squares * wide->squares + noise},
        {"(w - w0)^2", got->moved, narrow->moved, wide->moved,
         limit->moved * wide->moved + noise + stored},
    };
    for (int i = 0; i < 3; i++) {
        char what[128];
        const double rounding = SLACK * fabs(parts[i].narrow - parts[i].wide);
        snprintf(what, sizeof what, "the sum of %s of %s", parts[i].what,
                 sh_replica_tensor_name(replica, tensor));
        compare(c, what, parts[i].got, parts[i].wide, parts[i].allowed + rounding);
    }
}

static void follow(const golden *g, const golden_job *wanted, const sh_kernels *kernels)
{
    static const sh_problem problem = {CHANNELS, SIDE, SIDE, CLASSES, SH_TARGET_CLASS};
    comparison c = {wanted->model, kernels->name, 0};
    const sh_job job = job_of(g, wanted);
    char hash[SH_DIGEST_TEXT];
    run got;
    sh_replica *replica, *first;
    sh_pipeline *data;
    assert_ok(sh_replica_new(&first, &job, &problem));
    assert_ok(sh_replica_new(&replica, &job, &problem));
    assert_int_equal(replica->tensors, json_array_size(wanted->names));
    for (uint32_t t = 0; t < replica->tensors; t++)
        assert_string_equal(sh_replica_tensor_name(replica, t),
                            json_string_value(json_array_get(wanted->names, t)));
    assert_ok(sh_replica_hash(replica, hash));
    assert_string_equal(hash, wanted->initial_hash);
    assert_ok(sh_pipeline_adopt(&data, drawn_data(g), &(sh_pipeline_options){.resize = 0}));
    train(&got, replica, data, &job, kernels);
    sh_pipeline_close(data);
    compare_losses(&c, &got, &wanted->narrow);
    compare_losses(&c, &got, &wanted->wide);
    for (uint32_t t = 0; t < replica->tensors; t++) {
        const sums after = sums_of(replica, first, t);
        compare_tensor(&c, replica, t, &after, &wanted->narrow.tensors[t],
                       &wanted->wide.tensors[t]);
    }
    print_message("%s on %s: at most %.2f of what is allowed\n", c.model, c.variant, c.worst);
    sh_replica_free(first);
    sh_replica_free(replica);
}

static void training_follows_pytorch(void **state)
{
    const golden *g = *state;
    const size_t jobs = json_array_size(g->jobs);
    assert_int_equal(jobs, 6); /* the second has the operators of the first: one variant suffices */
    for (size_t i = 0; i < jobs; i++) {
        golden_job job;
        take_job(&job, json_array_get(g->jobs, i));
        for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++)
            if (sh_variant_runs((*all)->variant) && !(*all)->emulates &&
                (i != 1 || *all == sh_kernels_all()[0]))
                follow(g, &job, *all);
        free(job.narrow.tensors);
        free(job.wide.tensors);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_are_those_of_the_script),
        cmocka_unit_test(training_follows_pytorch),
    };
    return cmocka_run_group_tests(tests, start, end);
}
