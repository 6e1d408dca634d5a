/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the speed of this device.
 *
 *     sh_bench_result result;
 *     sh_status status = sh_bench(&(sh_bench_options){.seconds = 1}, &result);
 *     printf("%.1f GFLOP/s\n", result.matrix.all * 1e-9);
 *     sh_bench_result_release(&result);
 *
 * Saves the results for sh_plan in $XDG_CACHE_HOME/shoal/device.json (or ~/.cache/shoal). Other
 * work on the device makes the results too low.
 *
 * Threads: the call blocks and uses all lanes; calls the observer on the calling thread.
 */
#ifndef SHOAL_BENCH_H
#define SHOAL_BENCH_H

#include "shoal/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sh_bench_options {
    const char *models;    /* names or specs, separated by commas; NULL: all examples */
    uint32_t resize;       /* image side in pixels; 0: the example's */
    double seconds;        /* approximate time per model; 0: 1.5 */
    uint32_t lanes;        /* 0: all cores */
    sh_observer *observer; /* optional: progress */
    void *context;
} sh_bench_options;

/* The rate of one core while the others are idle, and of all cores. */
typedef struct sh_bench_rate {
    double one, all;
} sh_bench_rate;

enum { SH_BENCH_FORWARD, SH_BENCH_INPUT, SH_BENCH_WEIGHTS, SH_BENCH_PARTS };

/* A convolution or dense layer of the measured training. */
typedef struct sh_bench_layer {
    char name[96];    /* of the weights: "layer1.0.conv1" */
    char weights[64]; /* shape: "32x16x3x3", outputs first */
    char result[64];  /* shape for one sample: "32x16x16" */

    /* Computing the result, the input's gradient and the weights' gradient of one grain on one
     * lane; 0: not computed. */
    struct {
        double flops, seconds;
    } parts[SH_BENCH_PARTS];
} sh_bench_layer;

/* One model with one grain size, trained on all lanes with random samples. */
typedef struct sh_bench_model {
    char model[SH_MODEL_BYTES];
    uint32_t grain;
    double grains_per_second, samples_per_second;
    double flops_per_second;  /* forward and backward */
    double step_seconds;      /* one grain on each lane */
    double predicted_seconds; /* of that step, by the time model */
    sh_bench_layer *layers;   /* owned by the result */
    size_t layer_count;
} sh_bench_model;

typedef struct sh_bench_result {
    uint32_t lanes;
    char variant[16];
    sh_bench_rate multiply_add;        /* in registers: floating-point operations per second */
    sh_bench_rate matrix, convolution; /* likewise for a matrix product and a convolution */
    sh_bench_rate copy, triad;         /* bytes per second, read and written */
    double seconds;                    /* of the call */
    sh_bench_model *models;            /* owned */
    size_t model_count;
    char file[SH_RUN_BYTES]; /* the saved file, or "" */
} sh_bench_result;

/* SH_INVALID: an unknown model. Without a cache folder, the observer gets a note. */
SHOAL_API sh_status sh_bench(const sh_bench_options *options,
                             sh_bench_result *result) SHOAL_CHECKED;
SHOAL_API void sh_bench_result_release(sh_bench_result *result);

#ifdef __cplusplus
}
#endif
#endif
