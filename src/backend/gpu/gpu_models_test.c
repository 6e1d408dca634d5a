/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole models with several grains at once: losses, answers and integer gradients equal those of
 * the processor and the exact sum.
 */
#include "backend/gpu/gpu_fixture.h"
#include "backend/program.h"
#include "base/random.h"
#include "model/model.h"
#include "train/exact_sum.h"

#define MOST 3
#define OUTPUTS 2

typedef struct subject {
    const char *spec;
    sh_problem problem;
    size_t samples;
} subject;

static const subject subjects[] = {
    {"mlp:784-40-10", {1, 28, 28, 10, SH_TARGET_CLASS}, 5},
    {"lenet", {1, 28, 28, 10, SH_TARGET_CLASS}, 3},
    {"resnet:20", {3, 12, 12, 10, SH_TARGET_CLASS}, 3},
    {"mobilenetv2:0.35", {3, 32, 32, 10, SH_TARGET_CLASS}, 2},
    {"nin", {3, 16, 16, 10, SH_TARGET_CLASS}, 1},
    {"resnet18", {3, 32, 32, 10, SH_TARGET_CLASS}, 1},
    {"wideresnet:10-1", {3, 8, 8, 10, SH_TARGET_CLASS}, 2},
    {"squeezenet", {3, 64, 64, 10, SH_TARGET_CLASS}, 1},
    {"dscnn:s", {1, 25, 10, 12, SH_TARGET_CLASS}, 2},
    {"cnn1d:8-16", {3, 1, 32, 6, SH_TARGET_CLASS}, 3},
    {"lstm:8", {3, 1, 12, 6, SH_TARGET_CLASS}, 3},
    {"gru:8", {1, 12, 9, 5, SH_TARGET_LABELS}, 3},
    {"autoencoder", {1, 1, 13, 13, SH_TARGET_SAMPLE}, 3},
    {"cnn1d:8", {2, 30, 5, 1, SH_TARGET_NUMBERS}, 3},
};

typedef struct trial {
    const subject *of;
    sh_graph *graph;
    float *weights;
    sh_sum *sum;
    uint32_t *sum_index;
    sh_gpu_facts *facts; /* [parameters, MOST]: of the processor's gradients */
    unsigned char *outputs[OUTPUTS];
    uint32_t grain;
} trial;

static void fill_input(const trial *t, size_t index, uint32_t grain, void *place)
{
    const sh_type *type = sh_graph_type(t->graph, t->graph->inputs[index]);
    const size_t count = sh_shape_count(&type->shape);
    sh_random random = sh_random_for(7, SH_RANDOM_TEST, (uint32_t)index, grain);
    for (size_t i = 0; i < count; i++)
        if (index == SH_MODEL_LOSS_WEIGHTS)
            ((float *)place)[i] = 1.0f / 8;
        else if (type->dtype == SH_F32)
            ((float *)place)[i] = 2.0f * sh_random_unit(&random) - 1.0f;
        else
            ((int32_t *)place)[i] =
                (int32_t)sh_random_below(&random, (uint32_t)t->of->problem.outputs);
}

static size_t output_bytes(const trial *t, size_t index)
{
    return sh_type_bytes(sh_graph_type(t->graph, t->graph->outputs[index]));
}

static trial begin(const subject *of)
{
    trial t = {.of = of};
    const sh_model_options options = {.spec = of->spec, .problem = of->problem};
    assert_ok(sh_model_build(&t.graph, &options, of->samples, SH_MODEL_TRAIN));
    const size_t parameters = t.graph->parameter_count;
    t.weights = malloc(sh_model_weights(t.graph) * sizeof *t.weights);
    sh_model_initialise(t.graph, 3, t.weights);
    t.sum_index = calloc(parameters, sizeof *t.sum_index);
    t.facts = calloc(parameters * MOST, sizeof *t.facts);
    size_t *elements = calloc(parameters, sizeof *elements);
    uint32_t tensors = 0;
    for (size_t p = 0; p < parameters; p++)
        if (t.graph->parameters[p].gradient != SH_NO_VALUE) {
            elements[tensors] =
                sh_shape_count(&sh_graph_type(t.graph, t.graph->parameters[p].value)->shape);
            t.sum_index[p] = tensors++;
        }
    assert_ok(sh_sum_new(&t.sum, &(sh_sum_options){.tensor_elements = elements,
                                                   .tensors = tensors,
                                                   .bucket_bytes = 1 << 18}));
    free(elements);
    for (size_t i = 0; i < OUTPUTS; i++)
        t.outputs[i] = calloc(MOST, output_bytes(&t, i));
    return t;
}

static void end(trial *t)
{
    for (size_t i = 0; i < OUTPUTS; i++)
        free(t->outputs[i]);
    sh_sum_free(t->sum);
    free(t->sum_index);
    free(t->facts);
    free(t->weights);
    sh_graph_free(t->graph);
}

static void take_gradient(void *context, uint32_t parameter, const sh_gradient *gradient)
{
    static sh_sum_parts parts;
    trial *t = context;
    sh_gpu_facts *facts = &t->facts[parameter * MOST + t->grain];
    sh_sum_add_part(t->sum, t->sum_index[parameter], t->grain, gradient, &parts);
    for (size_t i = 0; i < gradient->count; i++) {
        uint32_t bits;
        memcpy(&bits, &gradient->values[i], sizeof bits);
        bits &= 0x7fffffff;
        facts->not_finite += bits >= 0x7f800000;
        facts->top = bits < 0x7f800000 && bits > facts->top ? bits : facts->top;
    }
}

static float **pointers_to(const trial *t)
{
    float **pointers = calloc(t->graph->parameter_count, sizeof *pointers), *at = t->weights;
    for (size_t p = 0; p < t->graph->parameter_count; p++) {
        pointers[p] = at;
        at += sh_shape_count(&sh_graph_type(t->graph, t->graph->parameters[p].value)->shape);
    }
    return pointers;
}

static void compute_by_processor(trial *t, uint32_t grains)
{
    const sh_kernels *kernels;
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
    float **pointers = pointers_to(t);
    assert_ok(sh_kernels_choose(&kernels, NULL));
    assert_ok(sh_program_compile(&program, t->graph, kernels));
    assert_ok(sh_block_new(&lane, sh_program_lane_bytes(program), "lane memory"));
    assert_ok(sh_block_new(&shared, sh_program_shared_bytes(program), "shared memory"));
    assert_ok(sh_execution_new(&execution, program, lane, shared, pointers));
    assert_ok(sh_execution_prepare(execution));
    for (t->grain = 0; t->grain < grains; t->grain++) {
        for (size_t i = 0; i < t->graph->input_count; i++)
            fill_input(t, i, t->grain, sh_execution_input(execution, i));
        assert_ok(sh_execution_run(execution, take_gradient, t));
        for (size_t i = 0; i < OUTPUTS; i++)
            memcpy(t->outputs[i] + t->grain * output_bytes(t, i), sh_execution_output(execution, i),
                   output_bytes(t, i));
    }
    sh_execution_free(execution);
    sh_program_free(program);
    free(lane);
    free(shared);
    free(pointers);
}

static sh_gpu_program *start_on_gpu(const trial *t, uint32_t grains)
{
    sh_gpu_program *program;
    float **pointers = pointers_to(t);
    assert_ok(sh_gpu_program_new(&program, t->graph, gpu_kernels, MOST));
    for (size_t p = 0; p < t->graph->parameter_count; p++)
        assert_ok(sh_gpu_program_set_parameter(program, p, pointers[p]));
    for (size_t i = 0; i < t->graph->input_count; i++) {
        const size_t bytes = sh_type_bytes(sh_graph_type(t->graph, t->graph->inputs[i]));
        unsigned char *all = malloc(bytes * grains);
        for (uint32_t g = 0; g < grains; g++)
            fill_input(t, i, g, all + g * bytes);
        assert_ok(sh_gpu_program_set_input(program, i, grains, all));
        assert_ok(sh_gpu_finish(gpu));
        free(all);
    }
    free(pointers);
    return program;
}

static void compare_sums(const trial *t, sh_gpu_program *program, uint32_t grains)
{
    for (size_t p = 0; p < t->graph->parameter_count; p++) {
        const sh_parameter *parameter = &t->graph->parameters[p];
        sh_gpu_facts facts[MOST];
        if (parameter->gradient == SH_NO_VALUE)
            continue;
        const size_t count = sh_sum_elements(t->sum, t->sum_index[p]);
        const int32_t *right = (const int32_t *)sh_sum_own(t->sum).accumulator +
                               sh_sum_first_element(t->sum, t->sum_index[p]);
        int32_t *got = malloc(count * sizeof *got);
        assert_ok(sh_gpu_program_read_sums(program, p, got, facts));
        assert_ok(sh_gpu_finish(gpu));
        for (size_t i = 0; i < count; i++)
            if (got[i] != right[i])
                fail_msg("%s: %s: element %zu of the sum of %u grains is %d, not %d", t->of->spec,
                         parameter->name, i, grains, got[i], right[i]);
        for (uint32_t g = 0; g < grains; g++) {
            assert_int_equal(facts[g].top, t->facts[p * MOST + g].top);
            assert_int_equal(facts[g].not_finite, t->facts[p * MOST + g].not_finite);
        }
        free(got);
    }
}

static void compare(const subject *of, uint32_t grains)
{
    trial t = begin(of);
    compute_by_processor(&t, grains);
    sh_gpu_program *program = start_on_gpu(&t, grains);
    float *units = calloc(t.graph->parameter_count, sizeof *units);
    for (size_t p = 0; p < t.graph->parameter_count; p++)
        units[p] = 1.0f / sh_sum_scale(t.sum, t.sum_index[p]);
    assert_ok(sh_gpu_program_run(program, grains, units)); /* inputs are kept for a second run */
    assert_ok(sh_gpu_program_clear_sums(program));
    assert_ok(sh_gpu_program_run(program, grains, units));
    for (size_t i = 0; i < OUTPUTS; i++) {
        unsigned char *got = malloc(grains * output_bytes(&t, i));
        assert_ok(sh_gpu_program_read_output(program, i, grains, got));
        assert_ok(sh_gpu_finish(gpu));
        assert_memory_equal(got, t.outputs[i], grains * output_bytes(&t, i));
        free(got);
    }
    compare_sums(&t, program, grains);
    free(units);
    sh_gpu_program_free(program);
    end(&t);
}

static void models_have_the_gradients_of_the_processor(void **state)
{
    (void)state;
    need_gpu();
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        compare(&subjects[i], i % 2 == 0 ? MOST : 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_have_the_gradients_of_the_processor),
    };
    return cmocka_run_group_tests(tests, open_any_gpu, close_gpu);
}
