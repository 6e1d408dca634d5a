/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this device can do.
 *
 *     sh_bench_result result;
 *     sh_status status = sh_bench(&(sh_bench_options){.seconds = 1}, &result);
 *     printf("%.1f GFLOP/s\n", result.matrix.all * 1e-9);
 *     sh_bench_result_release(&result);
 *
 * The figures are kept in $XDG_CACHE_HOME/shoal/device.json (or ~/.cache/shoal), and plans are made
 * with them. A device that does other work meanwhile is measured slower than it is.
 *
 * Threads: the call blocks, and uses all lanes; the observer is called on the calling thread.
 */
#ifndef SHOAL_BENCH_H
#define SHOAL_BENCH_H

#include "shoal/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sh_bench_options {
    const char *models; /* names or specs with commas between them; NULL: all at their examples */
    uint32_t resize;    /* of `models`: pixels per side of their images; 0: those of the examples */
    double seconds;     /* approximate time for each model; 0: 1.5 */
    uint32_t lanes;     /* 0: all cores */
    sh_observer *observer; /* optional: reports the progress */
    void *context;
} sh_bench_options;

/* The rate of one core while the others are idle, and of all cores together. */
typedef struct sh_bench_rate {
    double one, all;
} sh_bench_rate;

enum { SH_BENCH_FORWARD, SH_BENCH_INPUT, SH_BENCH_WEIGHTS, SH_BENCH_PARTS };

/* A layer that multiplies (a convolution, a dense one) in that training. */
typedef struct sh_bench_layer {
    char name[96];    /* of its weights: "layer1.0.conv1" */
    char weights[64]; /* shape: "32x16x3x3", its outputs first */
    char result[64];  /* shape, of one sample: "32x16x16" */

    /* Its result, the gradients of its input and of its weights, each of one grain on one lane;
     * 0: it has none. */
    struct {
        double flops, seconds;
    } parts[SH_BENCH_PARTS];
} sh_bench_layer;

/* One model at one size of grain, trained on all lanes with samples of noise. */
typedef struct sh_bench_model {
    char model[SH_MODEL_BYTES];
    uint32_t grain;
    double grains_per_second, samples_per_second;
    double flops_per_second;  /* forward and backward */
    double step_seconds;      /* one grain on each lane */
    double predicted_seconds; /* of that step, by the time model with these figures */
    sh_bench_layer *layers;   /* owned by the result */
    size_t layer_count;
} sh_bench_model;

typedef struct sh_bench_result {
    uint32_t lanes;
    char variant[16];
    sh_bench_rate multiply_add;        /* in registers alone: floating-point operations a second */
    sh_bench_rate matrix, convolution; /* the same of a product of matrices, of a convolution */
    sh_bench_rate copy, triad;         /* bytes a second, read and written */
    double seconds;                    /* that it took */
    sh_bench_model *models;            /* owned */
    size_t model_count;
    char file[SH_RUN_BYTES]; /* where the figures are kept; empty where they could not be */
} sh_bench_result;

/* SH_INVALID names a model that there is not; a device without a cache folder gets a note. */
SHOAL_API sh_status sh_bench(const sh_bench_options *options,
                             sh_bench_result *result) SHOAL_CHECKED;
SHOAL_API void sh_bench_result_release(sh_bench_result *result);

#ifdef __cplusplus
}
#endif
#endif
