/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the processor time of a grain by instruction on one thread. For normalisations and
 * additions, also compares bytes per second with a memcpy of a first-stage activation, alternately,
 * so that both see the same machine.
 *
 *     bench_norm_cost [MODEL [GRAIN [GRAINS]]]           resnet:20 16 40
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/program.h"
#include "base/memory.h"
#include "model/model.h"

#define COPY_BYTES ((size_t)1 << 20)

static uint64_t thread_ns(void *context)
{
    struct timespec t;
    (void)context;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const sh_clock thread_clock = {.now_ns = thread_ns};

typedef struct bench {
    sh_graph *graph;
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared, *weights, *copies;
    float **parameters;
    uint64_t copy_ns, copied;
} bench;

static sh_status set_up(bench *b, const char *model, size_t grain)
{
    const size_t side = strncmp(model, "mobilenet", 9) == 0 ? 64 : 32;
    const sh_model_options options = {.spec = model, .problem = {3, side, side, 10}};
    const sh_kernels *kernels;
    SH_TRY(sh_kernels_choose(&kernels, NULL));
    SH_TRY(sh_model_build(&b->graph, &options, grain, SH_MODEL_TRAIN));
    SH_TRY(sh_program_compile(&b->program, b->graph, kernels));
    SH_TRY(sh_block_new(&b->lane, sh_program_lane_bytes(b->program), "lane memory"));
    SH_TRY(sh_block_new(&b->shared, sh_program_shared_bytes(b->program), "shared memory"));
    SH_TRY(sh_block_new(&b->weights, sh_model_weights(b->graph) * sizeof(float), "weights"));
    SH_TRY(sh_block_new(&b->copies, 2 * COPY_BYTES, "copies"));
    memset(b->copies, 1, 2 * COPY_BYTES);
    sh_model_initialise(b->graph, 1, b->weights);
    b->parameters = calloc(b->graph->parameter_count, sizeof *b->parameters);
    if (b->parameters == NULL)
        return sh_fail_memory(b->graph->parameter_count, "the benchmark");
    float *next = b->weights;
    for (size_t i = 0; i < b->graph->parameter_count; i++) {
        b->parameters[i] = next;
        next += sh_shape_count(&sh_graph_type(b->graph, b->graph->parameters[i].value)->shape);
    }
    SH_TRY(sh_execution_new(&b->execution, b->program, b->lane, b->shared, b->parameters));
    return sh_execution_watch(b->execution, &thread_clock);
}

static void give_inputs(const bench *b, size_t grain)
{
    float *pixels = sh_execution_input(b->execution, SH_MODEL_SAMPLES);
    const sh_shape *shape = &sh_graph_type(b->graph, b->graph->inputs[0])->shape;
    for (size_t i = 0; i < sh_shape_count(shape); i++)
        pixels[i] = (float)((i * 2654435761u >> 8 & 0xffff) % 2000) / 1000.0f - 1.0f;
    for (size_t i = 0; i < grain; i++) {
        ((int32_t *)sh_execution_input(b->execution, SH_MODEL_TARGETS))[i] = (int32_t)(i % 10);
        ((float *)sh_execution_input(b->execution, SH_MODEL_LOSS_WEIGHTS))[i] = 1.0f / 128;
    }
    memset(sh_execution_input(b->execution, SH_MODEL_KEYS), 1, grain * 8);
}

static void copy(bench *b)
{
    const uint64_t began = thread_ns(NULL);
    for (int i = 0; i < 4; i++, b->copied += 2 * COPY_BYTES)
        memcpy((char *)b->copies + COPY_BYTES * (size_t)(i % 2),
               (char *)b->copies + COPY_BYTES * (size_t)(1 - i % 2), COPY_BYTES);
    b->copy_ns += thread_ns(NULL) - began;
}

static void sink(void *context, uint32_t parameter, const sh_gradient *gradient)
{
    (void)context;
    (void)parameter;
    (void)gradient;
}

typedef struct total {
    double ns, bytes;
    uint64_t instructions;
} total;

static void print_times(const bench *b, size_t grain, size_t grains)
{
    total by_op[SH_OP_COUNT] = {0}, reorders = {0}, all = {0}, convolutions = {0};
    const sh_work_time *times = sh_execution_times(b->execution);
    for (size_t i = 0; i < sh_program_length(b->program); i++) {
        const sh_work work = sh_program_work(b->program, i);
        if (work.prepares || work.kind == SH_WORK_SINK)
            continue;
        const sh_op op = work.node == SH_NO_NODE ? SH_OP_COUNT : b->graph->nodes[work.node].op;
        total *const of = work.kind == SH_WORK_REORDER ? &reorders : &by_op[op];
        total *const sums[] = {of, &all, op <= SH_OP_conv2d_grad_weight ? &convolutions : NULL};
        for (size_t j = 0; j < 3; j++)
            if (sums[j] != NULL && (j < 2 || work.kind == SH_WORK_NODE)) {
                sums[j]->ns += (double)times[i].ns / (double)grains;
                sums[j]->bytes += (double)work.bytes;
                sums[j]->instructions++;
            }
    }
    printf("memcpy of 1 MiB: %.1f GB/s read and written\n", (double)b->copied / (double)b->copy_ns);
    printf("%-22s %5s %10s %7s %7s %7s\n", "", "count", "us/sample", "share", "MB", "GB/s");
    for (int op = 0; op <= SH_OP_COUNT; op++) {
        const total *t = op == SH_OP_COUNT ? &reorders : &by_op[op];
        if (t->instructions > 0)
            printf("%-22s %5llu %10.1f %6.1f%% %7.1f %7.1f\n",
                   op == SH_OP_COUNT ? "(reorders)" : sh_op_about((sh_op)op)->name,
                   (unsigned long long)t->instructions, t->ns / 1000 / (double)grain,
                   100 * t->ns / all.ns, t->bytes / 1e6, t->bytes / t->ns);
    }
    printf("all %.1f us a sample, convolutions %.1f (%.1f %%)\n", all.ns / 1000 / (double)grain,
           convolutions.ns / 1000 / (double)grain, 100 * convolutions.ns / all.ns);
    if (getenv("SHOAL_BENCH_NODES") == NULL)
        return;
    for (size_t i = 0; i < sh_program_length(b->program); i++) {
        const sh_work work = sh_program_work(b->program, i);
        char text[SH_SHAPE_TEXT];
        if (work.prepares || work.kind == SH_WORK_SINK || work.node == SH_NO_NODE)
            continue;
        printf("%4zu %-8s %-22s %-20s %9.1f us %7.1f GB/s\n", i,
               work.kind == SH_WORK_REORDER ? "reorder" : "",
               sh_op_about(b->graph->nodes[work.node].op)->name,
               sh_shape_print(&sh_graph_type(b->graph, work.value)->shape, text),
               (double)times[i].ns / 1000 / (double)grains,
               (double)work.bytes * (double)grains / (double)times[i].ns);
    }
}

static sh_status run(bench *b, const char *model, size_t grain, size_t grains)
{
    SH_TRY(set_up(b, model, grain));
    SH_TRY(sh_execution_prepare(b->execution));
    for (size_t i = 0; i < grains + 2; i++) {
        give_inputs(b, grain);
        if (i == 2)
            sh_execution_clear_times(b->execution);
        SH_TRY(sh_execution_run(b->execution, sink, NULL));
        copy(b);
    }
    print_times(b, grain, grains);
    return SH_OK;
}

int main(int argc, char **argv)
{
    bench b = {0};
    const char *model = argc > 1 ? argv[1] : "resnet:20";
    const size_t grain = argc > 2 ? strtoul(argv[2], NULL, 10) : 16;
    const size_t grains = argc > 3 ? strtoul(argv[3], NULL, 10) : 40;
    if (argc > 4 || grain == 0 || grains == 0) {
        fprintf(stderr, "usage: bench_norm_cost [MODEL [GRAIN [GRAINS]]]\n");
        return 2;
    }
    const sh_status status = run(&b, model, grain, grains);
    if (status != SH_OK)
        fprintf(stderr, "bench_norm_cost: %s\n", sh_message());
    if (b.execution != NULL)
        sh_execution_free(b.execution);
    sh_program_free(b.program);
    sh_graph_free(b.graph);
    free(b.lane);
    free(b.shared);
    free(b.weights);
    free(b.copies);
    free(b.parameters);
    return status == SH_OK ? 0 : 1;
}
