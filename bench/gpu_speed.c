/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures images per second of a GPU: forward, backward and integer sums of gradients, with
 * samples and weights in its memory.
 *
 *     gpu_speed MODEL CHANNELS HEIGHT WIDTH CLASSES BATCH GRAIN [kernels|launches]
 *
 * Prints a line of JSON. `kernels` adds the time and rate of each kernel, `launches` those of each
 * launch, waiting for each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/gpu/gpu_program.h"
#include "base/clock.h"
#include "base/random.h"
#include "model/model.h"

#define LEAST_NS UINT64_C(1000000000) /* minimum duration */

static void must(sh_status status)
{
    if (status == SH_OK)
        return;
    fprintf(stderr, "gpu_speed: %s\n", sh_message());
    exit(1);
}

static void fill_inputs(sh_gpu_program *program, const sh_graph *graph, uint32_t grains,
                        size_t classes, sh_gpu *gpu)
{
    for (size_t i = 0; i < graph->input_count; i++) {
        const sh_type *type = sh_graph_type(graph, graph->inputs[i]);
        const size_t count = sh_shape_count(&type->shape) * grains;
        float *values = malloc(count * sizeof *values);
        sh_random random = sh_random_for(1, SH_RANDOM_TEST, (uint32_t)i, 0);
        if (values == NULL)
            exit(1);
        for (size_t k = 0; k < count; k++)
            if (type->dtype == SH_F32)
                values[k] = i == SH_MODEL_LOSS_WEIGHTS ? 0x1p-8f : sh_random_unit(&random);
            else
                ((int32_t *)values)[k] = (int32_t)sh_random_below(&random, (uint32_t)classes);
        must(sh_gpu_program_set_input(program, i, grains, values));
        must(sh_gpu_finish(gpu));
        free(values);
    }
}

static void set_weights(sh_gpu_program *program, const sh_graph *graph, sh_gpu *gpu)
{
    float *weights = malloc(sh_model_weights(graph) * sizeof *weights), *at = weights;
    if (weights == NULL)
        exit(1);
    sh_model_initialise(graph, 1, weights);
    for (size_t p = 0; p < graph->parameter_count; p++) {
        must(sh_gpu_program_set_parameter(program, p, at));
        at += sh_shape_count(&sh_graph_type(graph, graph->parameters[p].value)->shape);
    }
    must(sh_gpu_finish(gpu));
    free(weights);
}

/* The operations of a launch for all grains. If a node has several launches, only the first
 * counts. */
static double flops_of(const sh_graph *graph, const sh_gpu_time *times, size_t launch,
                       uint32_t grains)
{
    if (launch > 0 && times[launch - 1].node == times[launch].node)
        return 0;
    return sh_graph_cost(graph, &graph->nodes[times[launch].node]).flops * grains;
}

static void print_launches(const sh_graph *graph, const sh_gpu_time *times, size_t count,
                           uint32_t grains)
{
    for (size_t i = 0; i < count; i++) {
        const sh_node *node = &graph->nodes[times[i].node];
        const sh_shape *x = &graph->values[node->in[0]].type.shape,
                       *y = &graph->values[node->out[0]].type.shape;
        printf("  %-24s", times[i].kernel);
        for (size_t d = 0; d < x->rank; d++)
            printf("%s%zu", d == 0 ? " " : "x", x->dim[d]);
        for (size_t d = 0; d < y->rank; d++)
            printf("%s%zu", d == 0 ? " -> " : "x", y->dim[d]);
        printf(" %.3f ms, %.2f TFLOP/s\n", (double)times[i].ns * 1e-6,
               flops_of(graph, times, i, grains) / (double)times[i].ns * 1e-3);
    }
}

/* Prints each kernel's total, share and rate. */
static void print_kernels(const sh_graph *graph, sh_gpu_time *times, size_t count, uint32_t grains)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++)
        all += times[i].ns;
    for (size_t i = 0; i < count; i++) {
        uint64_t ns = 0, launches = 0;
        double flops = 0;
        for (size_t k = i; k < count && times[i].kernel != NULL; k++)
            if (times[k].kernel != NULL && strcmp(times[k].kernel, times[i].kernel) == 0) {
                ns += times[k].ns;
                flops += flops_of(graph, times, k, grains);
                launches++;
                if (k > i)
                    times[k].kernel = NULL;
            }
        if (launches > 0)
            printf("  %-24s %4llu launches %10.3f ms %5.1f %% %7.2f TFLOP/s\n", times[i].kernel,
                   (unsigned long long)launches, (double)ns * 1e-6, 100 * (double)ns / (double)all,
                   flops / (double)ns * 1e-3);
    }
}

static void print_profile(sh_gpu_program *program, const sh_graph *graph, uint32_t grains,
                          const float *units, bool each)
{
    const size_t launches = sh_gpu_program_launches(program);
    sh_gpu_time *times = calloc(launches, sizeof *times);
    if (times == NULL)
        exit(1);
    must(sh_gpu_program_measure(program, grains, units, sh_clock_system(), times));
    if (each)
        print_launches(graph, times, launches, grains);
    print_kernels(graph, times, launches, grains);
    free(times);
}

int main(int argc, char **argv)
{
    sh_gpu *gpu;
    sh_gpu_kernels *kernels;
    sh_gpu_program *program;
    sh_graph *graph;
    if (argc < 8)
        return 2;
    const sh_clock *clock = sh_clock_system();
    const size_t classes = strtoul(argv[5], NULL, 10);
    const sh_problem problem = {strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10),
                                strtoul(argv[4], NULL, 10), classes, SH_TARGET_CLASS};
    const uint32_t batch = (uint32_t)strtoul(argv[6], NULL, 10),
                   grain = (uint32_t)strtoul(argv[7], NULL, 10);
    const uint32_t grains = batch / grain;
    must(sh_gpu_open(&gpu, 0));
    const uint64_t begin = sh_clock_now_ns(clock);
    must(sh_gpu_kernels_new(&kernels, gpu));
    const uint64_t compiled = sh_clock_now_ns(clock);
    must(sh_model_build(&graph, &(sh_model_options){.spec = argv[1], .problem = problem}, grain,
                        SH_MODEL_TRAIN));
    must(sh_gpu_program_new(&program, graph, kernels, grains));
    set_weights(program, graph, gpu);
    fill_inputs(program, graph, grains, classes, gpu);
    float *units = malloc(graph->parameter_count * sizeof *units);
    for (size_t p = 0; p < graph->parameter_count; p++)
        units[p] = 0x1p40f;
    for (int i = 0; i < 3; i++)
        must(sh_gpu_program_run(program, grains, units));
    must(sh_gpu_finish(gpu));
    uint64_t steps = 0;
    const uint64_t start = sh_clock_now_ns(clock);
    uint64_t now = start;
    while (now - start < LEAST_NS) {
        for (int i = 0; i < 5; i++, steps++) {
            must(sh_gpu_program_clear_sums(program));
            must(sh_gpu_program_run(program, grains, units));
        }
        must(sh_gpu_finish(gpu));
        now = sh_clock_now_ns(clock);
    }
    const double seconds = (double)(now - start) * 1e-9;
    printf("{\"device\": \"%s\", \"model\": \"%s\", \"image\": %zu, \"batch\": %u, \"grain\": %u, "
           "\"images_s\": %.0f, "
           "\"step_ms\": %.3f, \"launches\": %zu, \"bytes\": %zu, \"compile_s\": %.2f}\n",
           sh_gpu_describe_open(gpu)->name, argv[1], problem.height, batch, grain,
           (double)(steps * batch) / seconds, seconds / (double)steps * 1e3,
           sh_gpu_program_launches(program), sh_gpu_program_bytes(program),
           (double)(compiled - begin) * 1e-9);
    if (argc > 8)
        print_profile(program, graph, grains, units, strcmp(argv[8], "launches") == 0);
    free(units);
    sh_gpu_program_free(program);
    sh_gpu_kernels_free(kernels);
    sh_gpu_close(gpu);
    sh_graph_free(graph);
    return 0;
}
