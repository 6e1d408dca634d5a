/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures a trained model.
 *
 *     sh_eval_options options = {.model = "lenet", .data = "digits", .weights = "runs/one"};
 *     sh_eval_result result;
 *     if (sh_eval(&options, &result) == SH_OK)
 *         printf("%.2f %%\n", 100 * result.accuracy);
 *
 * Threads: the call blocks, and may be made from any thread.
 */
#ifndef SHOAL_EVAL_H
#define SHOAL_EVAL_H

#include "shoal/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sh_eval_options {
    const char *model, *data;
    const char *weights;   /* safetensors file or run folder */
    uint32_t lanes;        /* 0: all cores */
    uint64_t memory;       /* most bytes to hold resident; 0: any number */
    uint32_t resize;       /* side of the images; 0: as in the weights' training, if known */
    const char *normalize; /* as in sh_job; NULL: as in the weights' training, if known */
} sh_eval_options;

typedef struct sh_eval_result {
    uint64_t parameters, samples;
    double loss, seconds;
    double accuracy; /* NaN where numbers are predicted */
    double mae;      /* mean absolute error of numbers; else NaN */
    char weights_hash[SH_HASH_BYTES];
} sh_eval_result;

SHOAL_API sh_status sh_eval(const sh_eval_options *options, sh_eval_result *result) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
